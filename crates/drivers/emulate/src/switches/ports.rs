//! What the ports of real switches and the cards of hosts have sent, dropped and hold.

use super::cables::interface;
use crate::namespace;
use slotline_linux::queues::{QueueState, Queues};
use slotline_net::id::{NodeId, PortId};
use slotline_net::topology::{End, Graph, Wiring};
use slotline_sim::PortState;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// The discipline of all queues.
const DISCIPLINE: &str = "tbf";

/// A port of a node.
pub type Place = (NodeId, PortId);

/// What a port has counted, and what waits there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counted {
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent, framing included.
    pub bytes: u64,
    /// Packets dropped because the queue was full.
    pub dropped: u64,
    /// Bytes that wait, framing included.
    pub waiting: u64,
}

/// All ports, in the order of nodes and of their ports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counts {
    places: Vec<Place>,
    counted: Vec<Counted>,
}

impl Counts {
    /// All ports.
    pub fn all(&self) -> impl Iterator<Item = (Place, Counted)> + '_ {
        self.places.iter().copied().zip(self.counted.iter().copied())
    }

    /// A port; zeros if there is none.
    pub fn of(&self, place: Place) -> Counted {
        let found = self.places.binary_search(&place).ok();
        found.map(|at| self.counted[at]).unwrap_or_default()
    }

    /// What was counted since `before`, of the same ports.
    #[must_use]
    pub fn since(&self, before: &Counts) -> Counts {
        let since = |(now, before): (&Counted, &Counted)| Counted {
            packets: now.packets.saturating_sub(before.packets),
            bytes: now.bytes.saturating_sub(before.bytes),
            dropped: now.dropped.saturating_sub(before.dropped),
            waiting: now.waiting,
        };
        let counted = self.counted.iter().zip(&before.counted).map(since).collect();
        Counts { places: self.places.clone(), counted }
    }

    /// The packets of all hosts.
    pub fn passed(&self, graph: &Graph, wiring: &Wiring) -> Passed {
        let is_host = |node: NodeId| graph.hosts.contains(&node);
        let mut passed = Passed::default();
        for ((node, port), counted) in self.all() {
            match (is_host(node), is_host(wiring.of(node)[port.at()].far.node)) {
                // The sockets of a host wait for its card.
                (true, _) => passed.sent += counted.packets,
                (false, to_host) => {
                    passed.delivered += if to_host { counted.packets } else { 0 };
                    passed.dropped += counted.dropped;
                }
            }
        }
        passed
    }

    /// The state of all ports.
    pub fn states(&self) -> Vec<PortState> {
        let state = |((node, port), counted): (Place, Counted)| PortState {
            node,
            port,
            queued: counted.waiting,
            sent: counted.bytes,
        };
        self.all().map(state).collect()
    }
}

/// Packets of hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Passed {
    /// Those that left hosts.
    pub sent: u64,
    /// Those that left switches for hosts.
    pub delivered: u64,
    /// Those for which a queue had no room.
    pub dropped: u64,
}

/// Reads the queues of a network.
pub(super) struct Ports {
    /// The queues of switches. Each is that of the interface at the far end of its link.
    switches: Queues,
    /// By number of this interface, the place in `counts`.
    interfaces: BTreeMap<u32, usize>,
    /// The queues of hosts' cards, and their places in `counts`.
    hosts: Vec<(Queues, usize)>,
    counts: Counts,
}

impl Ports {
    /// Finds the queues of a network, whose switches are in the present network namespace, and whose hosts have these.
    pub fn open(graph: &Graph, wiring: &Wiring, hosts: &[OwnedFd]) -> io::Result<Ports> {
        let places: Vec<Place> = (0..graph.nodes.len() as u32)
            .map(NodeId)
            .flat_map(|node| {
                (0..wiring.of(node).len() as u16).map(move |port| (node, PortId(port)))
            })
            .collect();
        let mut interfaces = BTreeMap::new();
        let of_switch = |(_, (node, _)): &(usize, &Place)| !graph.hosts.contains(node);
        for (at, (node, port)) in places.iter().enumerate().filter(of_switch) {
            let far: End = wiring.of(*node)[port.at()].far;
            interfaces.insert(slotline_rings::index(&interface(graph, far))?, at);
        }
        let card = |(namespace, node): (&OwnedFd, &NodeId)| {
            let at = places.partition_point(|place| *place < (*node, PortId(0)));
            Ok((namespace::inside(namespace.as_fd(), Queues::open)?, at))
        };
        let hosts = hosts.iter().zip(&graph.hosts).map(card).collect::<io::Result<_>>()?;
        let counts = Counts { counted: vec![Counted::default(); places.len()], places };
        Ok(Ports { switches: Queues::open()?, interfaces, hosts, counts })
    }

    /// The present state of all ports.
    pub fn read(&mut self) -> io::Result<Counts> {
        let counted = &mut self.counts.counted;
        for (queues, at) in &mut self.hosts {
            queues.read(DISCIPLINE, |state| counted[*at] = Counted::from(state))?;
        }
        self.read_switches()?;
        Ok(self.counts.clone())
    }

    /// The present state of the ports of switches; of hosts' cards the one that was read last.
    pub fn read_switches(&mut self) -> io::Result<&Counts> {
        let Ports { switches, interfaces, counts, .. } = self;
        switches.read(DISCIPLINE, |state| {
            if let Some(at) = interfaces.get(&state.interface) {
                counts.counted[*at] = Counted::from(state);
            }
        })?;
        Ok(counts)
    }
}

impl From<QueueState> for Counted {
    fn from(state: QueueState) -> Counted {
        let QueueState { packets, bytes, dropped, waiting, .. } = state;
        Counted { packets, bytes, dropped, waiting }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::topology::{StarSpec, TopologySpec};

    fn counts(numbers: [u64; 4]) -> Counts {
        let places = vec![
            (NodeId(0), PortId(0)),
            (NodeId(1), PortId(0)),
            (NodeId(2), PortId(0)),
            (NodeId(2), PortId(1)),
        ];
        let counted =
            numbers.map(|n| Counted { packets: n, bytes: 10 * n, dropped: 1, waiting: n });
        Counts { places, counted: counted.to_vec() }
    }

    /// Two hosts at a switch: what hosts send, and what the switch sends to them.
    #[test]
    fn packets_of_hosts_are_counted_at_both_ends() {
        let graph = TopologySpec::Star(StarSpec::new(2)).build().unwrap();
        let wiring = graph.wiring();
        let since = counts([5, 6, 7, 9]).since(&counts([1, 2, 3, 4]));
        assert_eq!(
            since.of((NodeId(2), PortId(1))),
            Counted { packets: 5, bytes: 50, dropped: 0, waiting: 9 }
        );
        assert_eq!(since.of((NodeId(2), PortId(2))), Counted::default());
        let passed = since.passed(&graph, &wiring);
        assert_eq!(passed, Passed { sent: 4 + 4, delivered: 4 + 5, dropped: 0 });
        let full = counts([1, 1, 1, 1]).passed(&graph, &wiring);
        assert_eq!(full.dropped, 2, "a host's sockets wait for its card");
    }
}
