//! Packets on their way over two circuits: what waits between them, and which of a rack's own go that way.

use super::shares::Turns;
use crate::{Hops, RelaySpec, Voq};
use slotline_net::frame::Packet;
use slotline_net::time::Time;

/// What a rack relays for others, and whose turn it is to be relayed elsewhere.
pub(super) struct Relay {
    hops: Hops,
    /// Packets of other racks, by destination.
    stored: Vec<Voq>,
    /// Own queues that have something.
    pub turns: Turns,
    /// By rack, those that it ever has a circuit to: packets for others would wait there for good.
    reach: Vec<Turns>,
}

/// Where the next packet for a circuit comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// Other racks: on its second circuit.
    Stored,
    /// The own queue for this rack.
    Own(usize),
}

impl Relay {
    /// `circuits` are all that ever are, each from its first rack to its second.
    pub fn new(spec: RelaySpec, racks: usize, circuits: &[(u16, u16)]) -> Relay {
        let stored = vec![Voq::new(spec.packets); racks];
        let mut reach = vec![Turns::new(racks); racks];
        for &(from, to) in circuits {
            reach[usize::from(from)].set(to.into(), true);
        }
        // A packet for the rack between is at its end there.
        (0..racks).for_each(|rack| reach[rack].set(rack, true));
        Relay { hops: spec.hops, stored, turns: Turns::new(racks), reach }
    }

    /// Which packet a circuit to `to` takes next; `own` says whether the own queue for `to` has any.
    pub fn choose(&mut self, to: usize, own: bool) -> Option<Source> {
        if !self.stored[to].is_empty() {
            return Some(Source::Stored);
        }
        if own && self.hops == Hops::Opportunistic {
            return Some(Source::Own(to));
        }
        self.turns.peek_among(&self.reach[to]).map(Source::Own)
    }

    /// A packet of another rack; whether there was room.
    pub fn store(&mut self, to: usize, packet: Packet, now: Time) -> bool {
        self.stored[to].push(packet, now)
    }

    pub fn first(&self, to: usize) -> Option<&Packet> {
        self.stored[to].first()
    }

    pub fn pop(&mut self, to: usize, now: Time) -> Option<(Packet, Time)> {
        self.stored[to].pop(now)
    }

    /// Packets that were stored, and those that found no room.
    pub fn sums(&self) -> (u64, u64) {
        let stats = self.stored.iter().map(|voq| voq.stats);
        stats.fold((0, 0), |sum, one| (sum.0 + one.arrived - one.refused, sum.1 + one.refused))
    }
}
