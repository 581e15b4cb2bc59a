//! Rules of iptables that direct packets into a queue of netfilter, in a chain of their own.

use crate::command::{command, output};

/// The protocols that have rules of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    V4,
    V6,
}

impl Family {
    pub const ALL: [Family; 2] = [Family::V4, Family::V6];

    /// Gives `rules` to `iptables-restore`. The legacy program comes first, because some kernels support the queue only
    /// in the legacy interface and not in nftables.
    fn restore(self, rules: &str) -> Result<(), String> {
        let programs = match self {
            Family::V4 => ["iptables-legacy-restore", "iptables-restore"],
            Family::V6 => ["ip6tables-legacy-restore", "ip6tables-restore"],
        };
        let arguments = ["--noflush", "--wait"];
        command(programs[0], &arguments, rules)
            .or_else(|why| command(programs[1], &arguments, rules).map_err(|_| why))
    }

    /// The rules of the table `mangle` with their counters, as `iptables-save` writes them.
    fn save(self) -> Result<String, String> {
        let programs = match self {
            Family::V4 => ["iptables-legacy-save", "iptables-save"],
            Family::V6 => ["ip6tables-legacy-save", "ip6tables-save"],
        };
        let arguments = ["--counters", "--table", "mangle"];
        output(programs[0], &arguments, "")
            .or_else(|why| output(programs[1], &arguments, "").map_err(|_| why))
    }
}

/// The chain of rules for one queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    /// The built-in chain of the table `mangle` that calls this chain.
    pub hook: &'static str,
    /// The number of the queue, which the chain is named after.
    pub queue: u16,
}

impl Chain {
    fn name(self) -> String {
        format!("SLOTLINE-{}", self.queue)
    }
    /// The beginning of a rule.
    pub fn line(self) -> String {
        format!("-A {}", self.name())
    }
    /// The end of a rule whose packets go to the queue. They pass if no program listens on it.
    pub fn target(self) -> String {
        target(self.queue)
    }
    /// The same for packets of more than `longest` bytes, which go to another queue.
    pub fn longer(self, longest: u16, queue: u16) -> String {
        format!("-m length --length {}:{} {}", longest.saturating_add(1), u16::MAX, target(queue))
    }
    /// The input of `iptables-restore` that adds the chain with these lines.
    pub fn text(self, lines: &str) -> String {
        let (name, hook) = (self.name(), self.hook);
        format!("*mangle\n:{name} - [0:0]\n{lines}-A {hook} -j {name}\nCOMMIT\n")
    }
    /// Adds the chain with these lines.
    pub fn install(self, family: Family, lines: &str) -> Result<(), String> {
        family.restore(&self.text(lines))
    }
    /// Lets all packets pass without the queue, or ends that.
    pub fn pass(self, family: Family, pass: bool) -> Result<(), String> {
        let name = self.name();
        let change = if pass { format!("-I {name} 1") } else { format!("-D {name}") };
        family.restore(&format!("*mangle\n{change} -j RETURN\nCOMMIT\n"))
    }
    /// Lets packets of fewer bytes than `new` pass without the queue, where those of fewer than `old` did; 0 for none. The
    /// rule is the first one.
    pub fn exempt_below(self, family: Family, old: u32, new: u32) -> Result<(), String> {
        let name = self.name();
        let rule = |bytes: u32| format!("-m length --length 0:{} -j RETURN", most_below(bytes));
        let remove = (old > 0).then(|| format!("-D {name} {}\n", rule(old)));
        let add = (new > 0).then(|| format!("-I {name} 1 {}\n", rule(new)));
        let changes: String = remove.into_iter().chain(add).collect();
        family.restore(&format!("*mangle\n{changes}COMMIT\n"))
    }
    /// The packets that have passed by the rule with this condition.
    pub fn passed(self, family: Family, condition: &str) -> Result<u64, String> {
        Ok(packets(&family.save()?, &format!("-A {}{condition} -j RETURN", self.name())))
    }
    /// Removes the chain if it exists, and returns whether it did. A killed program may have left it.
    pub fn remove(self, family: Family) -> bool {
        let (name, hook) = (self.name(), self.hook);
        let removed = family.restore(&format!("*mangle\n-D {hook} -j {name}\nCOMMIT\n")).is_ok();
        let _ = family.restore(&format!("*mangle\n-F {name}\n-X {name}\nCOMMIT\n"));
        removed
    }
}

/// The most bytes of packets of fewer than `bytes`.
fn most_below(bytes: u32) -> u32 {
    (bytes - 1).min(u16::MAX.into())
}

fn target(queue: u16) -> String {
    format!("-j NFQUEUE --queue-num {queue} --queue-bypass")
}

/// The packets that `rule` has counted, in the output of `iptables-save --counters`.
fn packets(rules: &str, rule: &str) -> u64 {
    let counters = rules.lines().find_map(|line| line.strip_suffix(rule));
    let count =
        counters.and_then(|text| text.trim().strip_prefix('[')?.split(':').next()?.parse().ok());
    count.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packets_of_a_rule_are_read() {
        let rules = "*mangle\n:SLOTLINE-1 - [0:0]\n[7:600] -A POSTROUTING -j SLOTLINE-1\n[41:5000] -A SLOTLINE-1 -j RETURN\n\
                     [3:90] -A SLOTLINE-1 -o lo -j RETURN\nCOMMIT\n";
        assert_eq!(packets(rules, "-A SLOTLINE-1 -j RETURN"), 41);
        assert_eq!(packets(rules, "-A SLOTLINE-2 -j RETURN"), 0);
        assert_eq!(packets("[x:1] -A SLOTLINE-1 -j RETURN", "-A SLOTLINE-1 -j RETURN"), 0);
    }
}
