//! Rules of iptables that direct packets into a queue of netfilter, in a chain of their own.

use crate::command::command;

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
        format!("-j NFQUEUE --queue-num {} --queue-bypass", self.queue)
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
    /// Removes the chain if it exists. A killed program may have left it.
    pub fn remove(self, family: Family) {
        let (name, hook) = (self.name(), self.hook);
        let _ = family.restore(&format!("*mangle\n-D {hook} -j {name}\nCOMMIT\n"));
        let _ = family.restore(&format!("*mangle\n-F {name}\n-X {name}\nCOMMIT\n"));
    }
}
