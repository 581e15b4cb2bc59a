//! Assembles the trips of packets of followed connections from single hops.

use crate::collect::{RowOf, Scene};
use slotline_net::frame::{Kind, Packet, RETRANSMITTED, Span};
use slotline_net::id::NodeId;
use slotline_sim::Hop;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// One link of a trip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    /// When the first bit left, ps.
    pub start: u64,
    /// When the last bit left, ps.
    pub leave: u64,
    /// When the last bit arrived, ps.
    pub arrive: u64,
    /// The port through which it left: an index into the ports of the record.
    pub port: u32,
    /// The node that it left.
    pub from: NodeId,
    /// Whether the link is a circuit, which ends where the next leg begins.
    pub circuit: bool,
}

/// The trip of a packet through the network.
#[derive(Clone, Debug)]
pub(super) struct Trip {
    /// The packet as it left its host.
    pub packet: Packet,
    /// The links that it crossed, at least one.
    pub legs: Vec<Leg>,
    /// The node that the last leg leads to.
    at: NodeId,
}

impl Trip {
    /// The time at which it entered its first link.
    pub fn start(&self) -> u64 {
        self.legs[0].start
    }

    /// The time at which it arrived at its last node.
    pub fn arrive(&self) -> u64 {
        self.legs[self.legs.len() - 1].arrive
    }

    /// The time at which its host made it, rounded down to nanoseconds: the time stamp of a data segment.
    pub fn made_ns(&self) -> u64 {
        let start = self.start() / 1000;
        start - u64::from((start as u32).wrapping_sub(self.packet.stamp))
    }

    /// Whether it is a retransmitted segment.
    pub fn resent(&self) -> bool {
        self.packet.has(RETRANSMITTED)
    }
}

/// All trips of a connection. Trips that ended in a drop are not in `arrived…`.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// Segments, in the order in which they left their host.
    pub data: Vec<Trip>,
    /// Acknowledgements, in that order.
    pub acks: Vec<Trip>,
    /// Segments that reached the receiver: time, and index into `data`; in order of time.
    pub arrived_data: Vec<(u64, u32)>,
    /// Acknowledgements that reached the sender: time, and index into `acks`; in order of time.
    pub arrived_acks: Vec<(u64, u32)>,
}

/// Connections by number.
pub(super) struct Traces(BTreeMap<u32, Trace>);

/// The fields that distinguish the packets of a connection that are in flight at the same time.
type Key = (u8, u32, u32, bool, [(u16, u16); 3]);

fn key(packet: &Packet) -> Key {
    let span = |span: Span| (span.start, span.end);
    let kind = packet.kind as u8;
    (kind, packet.seq, packet.stamp, packet.has(RETRANSMITTED), packet.sack.map(span))
}

impl Traces {
    /// Assembles trips from `hops`, which are in order of arrival.
    pub fn of(hops: Vec<Hop>, scene: &Scene, rows: &RowOf) -> Traces {
        let mut open: BTreeMap<(u32, Key), Vec<Trip>> = BTreeMap::new();
        let mut traces: BTreeMap<u32, Trace> = BTreeMap::new();
        for hop in hops {
            let wire = &scene.wiring.of(hop.node)[hop.port.at()];
            let Hop { start, leave, arrive, .. } = hop;
            let at = wire.far.node;
            let leg = Leg {
                start,
                leave,
                arrive,
                port: rows[&(hop.node, hop.port)],
                from: hop.node,
                circuit: scene.circuits.contains(&at),
            };
            let mut trips = match open.entry((hop.packet.flow, key(&hop.packet))) {
                Entry::Occupied(trips) => trips,
                Entry::Vacant(place) => place.insert_entry(Vec::with_capacity(1)),
            };
            let goes_on = |trip: &Trip| {
                (trip.at == hop.node || scene.circuits.contains(&trip.at)) && trip.arrive() <= start
            };
            let place = trips.get().iter().position(goes_on).unwrap_or_else(|| {
                let legs = Vec::with_capacity(6);
                trips.get_mut().push(Trip { packet: hop.packet, legs, at });
                trips.get().len() - 1
            });
            let trip = &mut trips.get_mut()[place];
            trip.legs.push(leg);
            trip.at = at;
            if at == scene.graph.hosts[hop.packet.dst.at()] {
                let trip = trips.get_mut().swap_remove(place);
                traces.entry(hop.packet.flow).or_default().add(trip);
                if trips.get().is_empty() {
                    trips.remove();
                }
            }
        }
        let lost = open
            .into_iter()
            .flat_map(|((conn, _), trips)| trips.into_iter().map(move |t| (conn, t)));
        lost.for_each(|(conn, trip)| traces.entry(conn).or_default().add(trip));
        traces.values_mut().for_each(|trace| trace.index(scene));
        Traces(traces)
    }

    /// The trace of a connection.
    pub fn get(&self, conn: u32) -> Option<&Trace> {
        self.0.get(&conn)
    }
}

impl Trace {
    fn add(&mut self, trip: Trip) {
        if trip.packet.kind == Kind::Ack { self.acks.push(trip) } else { self.data.push(trip) }
    }

    fn index(&mut self, scene: &Scene) {
        let arrived = |trips: &[Trip]| {
            let there = |trip: &Trip| trip.at == scene.graph.hosts[trip.packet.dst.at()];
            let indexed = (0..).zip(trips).filter(|(_, trip)| there(trip));
            let mut arrived: Vec<(u64, u32)> =
                indexed.map(|(at, trip)| (trip.arrive(), at)).collect();
            arrived.sort_unstable();
            arrived
        };
        self.data.sort_by_key(Trip::start);
        self.acks.sort_by_key(Trip::start);
        self.arrived_data = arrived(&self.data);
        self.arrived_acks = arrived(&self.acks);
    }

    /// The segment that arrived at the receiver at exactly `time`.
    pub fn data_at(&self, time: u64) -> Option<usize> {
        let at = self.arrived_data.binary_search_by_key(&time, |(arrive, _)| *arrive).ok()?;
        Some(self.arrived_data[at].1 as usize)
    }

    /// The last acknowledgement that arrived at the sender by the end of nanosecond `ns`.
    pub fn ack_until(&self, ns: u64) -> Option<usize> {
        let after = self.arrived_acks.partition_point(|(arrive, _)| arrive / 1000 <= ns);
        Some(self.arrived_acks[after.checked_sub(1)?].1 as usize)
    }

    /// The segment whose arrival caused the acknowledgement `ack`. It has the time stamp that `ack` echoes. Of several
    /// such segments it is the one that `ack` acknowledges.
    pub fn answered(&self, ack: &Trip) -> Option<usize> {
        let before = self.arrived_data.partition_point(|(arrive, _)| *arrive <= ack.start());
        let latest = || self.arrived_data[..before].iter().rev().map(|(_, at)| *at as usize);
        let echoed = |at: &usize| self.data[*at].packet.stamp == ack.packet.stamp;
        let about = |at: &usize| {
            let (seq, next, span) = (self.data[*at].packet.seq, ack.packet.seq, ack.packet.sack[0]);
            let beyond = seq.wrapping_sub(next);
            seq + 1 == next || (u32::from(span.start)..u32::from(span.end)).contains(&beyond)
        };
        const NEAR: usize = 4096;
        let named = latest().take(NEAR).filter(echoed).find(about);
        named.or_else(|| latest().take(NEAR).find(echoed)).or_else(|| latest().next())
    }
}
