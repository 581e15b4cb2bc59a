//! Packets of this machine's applications that are held until somebody lets them go: a queue of netfilter and the rules
//! that lead packets into it.
//!
//! Without anybody at the queue, packets pass (`--queue-bypass`): a program that is killed does not cut off its host.

use crate::command::command;
use crate::nfqueue::{NfQueue, Settings, Verdict};
use std::fmt::Write;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Bytes that are copied of each packet: headers of IP and of what it carries.
const COPIED: u16 = 96;
/// Types of ICMPv6 messages that hosts need to find each other.
const NEIGHBOURS: [u8; 5] = [133, 134, 135, 136, 137];

/// Which packets are held.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Held {
    /// Prefixes of destinations.
    pub network: Vec<String>,
    /// TCP and UDP ports, on either side, that are never held.
    pub exempt_ports: Vec<u16>,
    /// The number of the queue, which the chain is named after.
    pub queue: u16,
}

/// The queue, whose rules are removed with it.
#[derive(Debug)]
pub struct Gate {
    /// The queue.
    pub queue: NfQueue,
    held: Held,
}

impl Gate {
    /// Holds packets of the present network namespace from now on.
    ///
    /// # Errors
    /// What the kernel or `iptables` refuses.
    pub fn open(held: Held) -> io::Result<Gate> {
        let settings = Settings { number: held.queue, copied: COPIED, verdict: Verdict::Accept };
        let queue = NfQueue::open(settings)?;
        let gate = Gate { queue, held };
        gate.remove_rules();
        for family in Family::ALL {
            gate.add_rules(family).map_err(io::Error::other)?;
        }
        Ok(gate)
    }

    /// What to wait for: it is readable where packets wait.
    pub fn queue_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }

    fn add_rules(&self, family: Family) -> Result<(), String> {
        match self.held.rules(family) {
            Some(rules) => family.restore(&rules),
            None => Ok(()),
        }
    }

    /// Also those that a program has left that was killed. There may be none.
    fn remove_rules(&self) {
        let chain = self.held.chain();
        for family in Family::ALL {
            if self.held.prefixes(family).next().is_some() {
                let _ = family.restore(&format!("*mangle\n-D POSTROUTING -j {chain}\nCOMMIT\n"));
                let _ = family.restore(&format!("*mangle\n-F {chain}\n-X {chain}\nCOMMIT\n"));
            }
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.remove_rules();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    V4,
    V6,
}

impl Family {
    const ALL: [Family; 2] = [Family::V4, Family::V6];

    /// Kernels without nftables' queue have that of the older interface.
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

impl Held {
    fn chain(&self) -> String {
        format!("SLOTLINE-{}", self.queue)
    }

    fn prefixes(&self, family: Family) -> impl Iterator<Item = &String> {
        let of = |prefix: &str| if prefix.contains(':') { Family::V6 } else { Family::V4 };
        self.network.iter().filter(move |prefix| of(prefix) == family)
    }

    /// What `iptables-restore` reads; `None` where nothing of the family is held.
    fn rules(&self, family: Family) -> Option<String> {
        self.prefixes(family).next()?;
        let chain = self.chain();
        let mut rules = format!("*mangle\n:{chain} - [0:0]\n-A {chain} -o lo -j RETURN\n");
        if family == Family::V6 {
            for kind in NEIGHBOURS {
                let _ = writeln!(rules, "-A {chain} -p icmpv6 --icmpv6-type {kind} -j RETURN");
            }
        }
        for port in &self.exempt_ports {
            for (protocol, side) in
                [("tcp", "dport"), ("tcp", "sport"), ("udp", "dport"), ("udp", "sport")]
            {
                let _ = writeln!(rules, "-A {chain} -p {protocol} --{side} {port} -j RETURN");
            }
        }
        for prefix in self.prefixes(family) {
            let queue = self.queue;
            let _ = writeln!(
                rules,
                "-A {chain} -d {prefix} -j NFQUEUE --queue-num {queue} --queue-bypass"
            );
        }
        let _ = write!(rules, "-A POSTROUTING -j {chain}\nCOMMIT\n");
        Some(rules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_of_the_families_that_are_held() {
        let network = vec!["10.1.0.0/24".to_string()];
        let held = Held { network, exempt_ports: vec![22], queue: 7 };
        let rules = held.rules(Family::V4).unwrap();
        assert!(rules.starts_with("*mangle\n:SLOTLINE-7 - [0:0]\n"));
        assert!(rules.contains("-A SLOTLINE-7 -p tcp --dport 22 -j RETURN\n"));
        let queue = rules.find("-d 10.1.0.0/24 -j NFQUEUE --queue-num 7 --queue-bypass\n");
        assert!(queue > rules.find("RETURN"), "exempt first");
        assert_eq!(held.rules(Family::V6), None);
        let held = Held { network: vec!["fd00::/64".into()], ..held };
        assert!(held.rules(Family::V6).unwrap().contains("--icmpv6-type 135 -j RETURN"));
    }
}
