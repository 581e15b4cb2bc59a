//! Packets that go over two circuits: packets that wait here for their second circuit, and the rack's own packets that
//! may be relayed.

use super::round_robin::RoundRobin;
use crate::{Hops, RelaySpec, Voq};
use slotline_net::frame::Packet;
use slotline_net::time::Time;

/// The packets that a rack relays, and the round robin of its own packets to relay.
pub(super) struct Relay {
    hops: Hops,
    /// Packets of other racks, by destination rack.
    stored: Vec<Voq>,
    /// The own queues that have packets.
    pub turns: RoundRobin,
    /// By rack, the racks to which it may have a circuit: packets for other racks would wait there for ever.
    reach: Vec<RoundRobin>,
}

/// The queue from which a circuit takes its next packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// The queue of packets from other racks, which then take their second circuit.
    Stored,
    /// The rack's own queue for this destination.
    Own(usize),
}

impl Relay {
    /// A relay of `racks` racks. `circuits` are all that may exist, from rack to rack.
    pub fn new(spec: RelaySpec, racks: usize, circuits: &[(u16, u16)]) -> Relay {
        let stored = vec![Voq::new(spec.packets); racks];
        let mut reach = vec![RoundRobin::new(racks); racks];
        for &(from, to) in circuits {
            reach[usize::from(from)].set(to.into(), true);
        }
        // A packet for the relaying rack itself has arrived there.
        (0..racks).for_each(|rack| reach[rack].set(rack, true));
        Relay { hops: spec.hops, stored, turns: RoundRobin::new(racks), reach }
    }

    /// Which packet a circuit to `to` takes next. `own` says whether the rack's own queue for `to` has packets.
    pub fn choose(&mut self, to: usize, own: bool) -> Option<Source> {
        if !self.stored[to].is_empty() {
            return Some(Source::Stored);
        }
        if own && self.hops == Hops::Opportunistic {
            return Some(Source::Own(to));
        }
        self.turns.peek_among(&self.reach[to]).map(Source::Own)
    }

    /// Whether a circuit to `to` has a packet to take.
    #[inline]
    pub fn has_any(&self, to: usize) -> bool {
        !self.stored[to].is_empty() || self.turns.meets(&self.reach[to])
    }

    /// Whether a circuit to `next` may take the rack's own packets for `to`.
    #[inline]
    pub fn leads(&self, next: usize, to: usize) -> bool {
        self.reach[next].has(to)
    }

    /// Stores a packet of another rack. Returns whether there was room.
    pub fn store(&mut self, to: usize, packet: &Packet, now: Time) -> bool {
        self.stored[to].push(*packet, now)
    }

    pub fn first(&self, to: usize) -> Option<&Packet> {
        self.stored[to].first()
    }

    pub fn pop(&mut self, to: usize, now: Time) -> Option<(&Packet, Time)> {
        self.stored[to].pop(now)
    }

    /// The number of packets that were stored, and of those that found no room.
    pub fn counts(&self) -> (u64, u64) {
        let stats = self.stored.iter().map(|voq| voq.stats);
        stats.fold((0, 0), |sum, one| (sum.0 + one.arrived - one.refused, sum.1 + one.refused))
    }
}
