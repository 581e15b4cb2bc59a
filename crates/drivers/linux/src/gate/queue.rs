//! A queue of netfilter, and the rules that direct packets into it. The kernel keeps the packets and shows their headers.
//!
//! Where the kernel has what that needs, a packet is released before its time and leaves at it ([`departures`]), and a gate
//! that is open lets packets pass without the queue.
//!
//! If no program listens on the queue, packets pass (`--queue-bypass`). A killed program therefore does not cut off its
//! host.

use super::{Gate, Held, Joined, Kind, Origin};
use crate::departures::{self, Departures};
use crate::hold::{Hold, Leave, Ticket};
use crate::nfqueue::{NfQueue, Settings, Verdict};
use crate::opening::Opening;
use crate::rules::{Chain, Family};
use crate::segments::{Limits, Segments};
use std::fmt::Write;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// The number of bytes copied of each packet, enough for the headers of IP and of its payload's protocol.
const COPIED: u16 = 96;
/// Types of ICMPv6 messages that hosts need to find each other.
const NEIGHBOURS: [u8; 5] = [133, 134, 135, 136, 137];

/// What a gate needs BPF for.
const TIMES: &str = "the kernel does not keep packets until their time";
const PASSING: &str =
    "packets that leave at once go through the agent, where a program in BPF would let them pass";

/// The value; or notes what is lacking without it.
fn lacking<T>(what: &str, tried: io::Result<T>, lacks: &mut Vec<String>) -> Option<T> {
    tried.map_err(|why| lacks.push(format!("{what}: {why}"))).ok()
}

/// The queue and its rules. Dropping the gate removes the rules.
#[derive(Debug)]
pub struct QueueGate {
    queue: NfQueue,
    held: Held,
    departures: Option<Departures>,
    opening: Option<Opening>,
    /// What the kernel does not do for the gate, and why.
    lacks: Vec<String>,
    passing: bool,
    /// The packets that had passed when all were last held again, and when they were last counted.
    told: u64,
    counted: u64,
    /// Packets of fewer bytes pass without the queue.
    exempt_below: u32,
    /// The limits of interfaces; `None` if they have no limit of the gate's.
    limits: Option<Limits>,
}

impl QueueGate {
    /// Starts to hold packets of the present network namespace. Segments are held one by one if they cannot be held within
    /// their room. With `killed`, a killed program may have left limits of interfaces.
    ///
    /// # Errors
    /// What the kernel or `iptables` refuses.
    pub fn open(held: Held, killed: bool) -> io::Result<QueueGate> {
        if let Joined::Within(room) = &held.joined
            && let Ok(limits) = Limits::set(&held.hosts, room.bytes, room.framing, killed)
            && let Ok(gate) = QueueGate::limited(held.clone(), Some(limits))
        {
            return Ok(gate);
        }
        QueueGate::limited(held, None)
    }

    fn limited(held: Held, limits: Option<Limits>) -> io::Result<QueueGate> {
        let settings = Settings {
            number: held.queue,
            copied: COPIED,
            verdict: Verdict::Accept,
            pass_when_full: false,
            as_they_are: held.joined == Joined::All || limits.is_some(),
        };
        let mut queue = NfQueue::open(settings)?;
        if limits.is_some() {
            queue.also_split(held.next_queue())?;
        }
        let timed = held.timed.then(|| Departures::towards(&held.hosts));
        let mut lacks = Vec::new();
        let departures = timed.and_then(|tried| lacking(TIMES, tried, &mut lacks));
        let opening = lacking(PASSING, Opening::new(held.queue), &mut lacks);
        let mut gate = QueueGate {
            queue,
            held,
            departures,
            opening,
            lacks,
            passing: false,
            told: 0,
            counted: 0,
            exempt_below: 0,
            limits,
        };
        let added = gate.add_rules();
        if added.is_err() && gate.opening.is_some() {
            // `iptables` may lack the condition.
            gate.held.remove_rules();
            gate.opening = None;
            gate.lacks.push(format!("{PASSING}: `iptables` has no match `bpf`"));
            return gate.add_rules().map(|()| gate);
        }
        added.map(|()| gate)
    }

    /// The condition of the rule by which packets pass, with a space before it.
    fn condition(&self) -> String {
        self.opening.as_ref().map_or(String::new(), |opening| format!(" {}", opening.condition()))
    }

    fn add_rules(&self) -> io::Result<()> {
        let open = self.opening.as_ref().map(|_| self.condition() + " -j RETURN\n");
        let open = open.map_or(String::new(), |rest| self.held.chain().line() + &rest);
        for family in self.held.families() {
            let lines = self.held.rules(family, self.segments()).unwrap_or_default();
            self.held
                .chain()
                .install(family, &(open.clone() + &lines))
                .map_err(io::Error::other)?;
        }
        Ok(())
    }
}

impl Gate for QueueGate {
    fn kind(&self) -> Kind {
        Kind::Queue
    }

    fn segments(&self) -> Option<Segments> {
        self.limits.as_ref().map(Limits::segments)
    }

    fn is_timed(&self) -> bool {
        self.departures.is_some()
    }

    fn lacks(&self) -> &[String] {
        &self.lacks
    }

    fn keep(&self, slots: Option<departures::Slots>) -> io::Result<()> {
        let missing = || io::Error::other("this gate has no departure times");
        self.departures.as_ref().ok_or_else(missing)?.keep(slots)
    }

    fn open_until(&self, at: u64) -> bool {
        self.opening.as_ref().is_some_and(|opening| opening.until(at).is_ok())
    }

    fn pass(&mut self, pass: bool) -> io::Result<()> {
        if pass == self.passing {
            return Ok(());
        }
        if !self.open_until(if pass { u64::MAX } else { 0 }) {
            let change = |family| self.held.chain().pass(family, pass);
            self.held.families().into_iter().try_for_each(change).map_err(io::Error::other)?;
        }
        self.passing = pass;
        // A rule that is added again counts anew.
        self.told = if self.opening.is_some() && !pass { self.counted } else { self.told };
        Ok(())
    }

    fn exempt_below(&mut self, bytes: u32) -> io::Result<()> {
        if bytes != self.exempt_below {
            let (chain, old) = (self.held.chain(), self.exempt_below);
            let change = |family| chain.exempt_below(family, old, bytes);
            self.held.families().into_iter().try_for_each(change).map_err(io::Error::other)?;
            self.exempt_below = bytes;
        }
        Ok(())
    }

    fn passes(&self) -> bool {
        self.passing
    }

    fn passed(&mut self) -> io::Result<u64> {
        let condition = self.condition();
        let passed = self.held.families().into_iter();
        let passed = passed.map(|family| self.held.chain().passed(family, &condition));
        self.counted = passed.sum::<Result<u64, String>>().map_err(io::Error::other)?;
        Ok(self.counted.saturating_sub(self.told))
    }
}

impl AsFd for QueueGate {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}

impl Hold for QueueGate {
    fn fill(&mut self) -> io::Result<()> {
        self.queue.fill()
    }
    fn next(&mut self, head: &mut Vec<u8>) -> Option<Ticket> {
        self.queue.next(head)
    }
    fn release(&mut self, packet: Ticket, how: Leave) {
        let how = match (how, &self.departures) {
            (Leave::At(at), Some(_)) => Leave::Marked(departures::mark(at)),
            (how, _) => how,
        };
        self.queue.release(packet, how);
    }
    fn discard(&mut self, packet: Ticket) {
        self.queue.discard(packet);
    }
    fn flush(&mut self) -> io::Result<()> {
        self.queue.flush()
    }
}

impl Drop for QueueGate {
    fn drop(&mut self) {
        self.held.remove_rules();
    }
}

impl Held {
    /// The number of the queue of packets that are split.
    fn next_queue(&self) -> u16 {
        self.queue.wrapping_add(1)
    }

    /// The families of which packets are held.
    fn families(&self) -> Vec<Family> {
        let held = |family: &Family| self.prefixes(*family).next().is_some();
        Family::ALL.into_iter().filter(held).collect()
    }

    /// Removes the rules, including those that a killed program left. Returns whether there were any.
    pub(super) fn remove_rules(&self) -> bool {
        let removed = self.families().into_iter().map(|family| self.chain().remove(family));
        removed.fold(false, |any, one| any | one)
    }

    fn chain(&self) -> Chain {
        let hook = match self.origin {
            Origin::Applications => "POSTROUTING",
            Origin::Hosts(_) => "PREROUTING",
        };
        Chain { hook, queue: self.queue }
    }

    fn prefixes(&self, family: Family) -> impl Iterator<Item = &String> {
        of_family(&self.network, family)
    }

    /// The conditions on the source of packets, one for each rule.
    fn sources(&self, family: Family) -> Vec<String> {
        match &self.origin {
            Origin::Applications => vec![String::new()],
            Origin::Hosts(hosts) => {
                of_family(hosts, family).map(|prefix| format!("-s {prefix} ")).collect()
            }
        }
    }

    /// The rules of a family, where these segments are held as one packet; `None` if no packet of the family is held.
    fn rules(&self, family: Family, joined: Option<Segments>) -> Option<String> {
        self.prefixes(family).next()?;
        let line = self.chain().line();
        let longer = |of: Segments| self.chain().longer(of.longest(), self.next_queue());
        let targets: Vec<String> =
            joined.map(longer).into_iter().chain([self.chain().target()]).collect();
        let mut rules = String::new();
        if self.origin == Origin::Applications {
            let _ = writeln!(rules, "{line} -o lo -j RETURN");
        }
        if family == Family::V6 {
            for kind in NEIGHBOURS {
                let _ = writeln!(rules, "{line} -p icmpv6 --icmpv6-type {kind} -j RETURN");
            }
        }
        for port in &self.exempt_ports {
            for (protocol, side) in
                [("tcp", "dport"), ("tcp", "sport"), ("udp", "dport"), ("udp", "sport")]
            {
                let _ = writeln!(rules, "{line} -p {protocol} --{side} {port} -j RETURN");
            }
        }
        for prefix in self.prefixes(family) {
            for source in self.sources(family) {
                for target in &targets {
                    let _ = writeln!(rules, "{line} {source}-d {prefix} {target}");
                }
            }
        }
        Some(rules)
    }
}

fn of_family(prefixes: &[String], family: Family) -> impl Iterator<Item = &String> {
    let of = |prefix: &str| if prefix.contains(':') { Family::V6 } else { Family::V4 };
    prefixes.iter().filter(move |prefix| of(prefix) == family)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_of_the_families_that_are_held() {
        let network = vec!["10.1.0.0/24".to_string()];
        let held = Held {
            origin: Origin::Applications,
            network,
            exempt_ports: vec![22],
            queue: 7,
            joined: Joined::No,
            hosts: vec![],
            timed: false,
        };
        let rules = held.rules(Family::V4, None).unwrap();
        assert!(rules.starts_with("-A SLOTLINE-7 -o lo -j RETURN\n"));
        assert!(rules.contains("-A SLOTLINE-7 -p tcp --dport 22 -j RETURN\n"));
        let queue = rules.find("-d 10.1.0.0/24 -j NFQUEUE --queue-num 7 --queue-bypass\n");
        assert!(queue > rules.find("RETURN"), "exempt first");
        assert_eq!(held.rules(Family::V6, None), None);
        let joined = held.rules(Family::V4, Some(Segments { mtu: 1_500, most: 2 })).unwrap();
        let split =
            joined.find("-d 10.1.0.0/24 -m length --length 2961:65535 -j NFQUEUE --queue-num 8 ");
        assert!(
            split.is_some() && split < joined.find("-d 10.1.0.0/24 -j NFQUEUE"),
            "longer ones first"
        );
        let held = Held { network: vec!["fd00::/64".into()], ..held };
        assert!(held.rules(Family::V6, None).unwrap().contains("--icmpv6-type 135 -j RETURN"));
    }

    #[test]
    fn rules_of_forwarded_packets_name_their_sources() {
        let prefixes = |of: &[&str]| of.iter().map(|prefix| prefix.to_string()).collect();
        let origin = Origin::Hosts(prefixes(&["10.1.0.0/24", "fd00:1::/64"]));
        let network = prefixes(&["10.2.0.0/24", "10.3.0.0/24", "fd00:2::/64"]);
        let held = Held {
            origin,
            network,
            exempt_ports: Vec::new(),
            queue: 7,
            joined: Joined::No,
            hosts: vec![],
            timed: false,
        };
        assert_eq!(held.chain().hook, "PREROUTING");
        assert_eq!(
            held.rules(Family::V4, None).unwrap(),
            "-A SLOTLINE-7 -s 10.1.0.0/24 -d 10.2.0.0/24 -j NFQUEUE --queue-num 7 --queue-bypass\n\
             -A SLOTLINE-7 -s 10.1.0.0/24 -d 10.3.0.0/24 -j NFQUEUE --queue-num 7 --queue-bypass\n"
        );
        assert!(
            held.rules(Family::V6, None)
                .unwrap()
                .contains("-s fd00:1::/64 -d fd00:2::/64 -j NFQUEUE")
        );
    }
}
