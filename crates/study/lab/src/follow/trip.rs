//! Assembles the trips of packets of followed connections from their crossings over single links.

use crate::collect::Scene;
use slotline_net::id::{HostId, NodeId};
use slotline_net::order::ascending_large;
use slotline_sim::{Crossing, Journal};

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
    /// The packet, on its first link.
    pub packet: Crossing,
    /// When it arrived at its last node, ps.
    arrive: u64,
    /// The node that its last link leads to.
    at: NodeId,
    /// Whether that link is a circuit.
    circuit: bool,
    /// The links that it crossed, at least one, in [`Trace::legs`].
    legs: (u32, u32),
}

impl Trip {
    /// The time at which it entered its first link.
    pub fn start(&self) -> u64 {
        self.packet.start
    }

    /// The time at which it arrived at its last node.
    pub fn arrive(&self) -> u64 {
        self.arrive
    }

    /// The time at which its host made it, rounded down to nanoseconds: the time stamp of a data segment.
    pub fn made_ns(&self) -> u64 {
        let start = self.start() / 1000;
        start - u64::from((start as u32).wrapping_sub(self.packet.stamp))
    }

    /// Whether it is a retransmitted segment.
    pub fn resent(&self) -> bool {
        self.packet.resent()
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
    legs: Vec<Leg>,
}

/// A port's link.
#[derive(Clone, Copy)]
struct Link {
    from: NodeId,
    to: NodeId,
    delay: u64,
    /// Whether it leads to a circuit switch.
    circuit: bool,
}

/// The recorded packets of a run, from which the trace of each connection is assembled when it is needed.
pub(super) struct Traces<'a> {
    journal: &'a Journal,
    scene: &'a Scene,
    /// By port, in the order of [`RunRecord::ports`](crate::record::RunRecord::ports).
    links: Vec<Link>,
}

impl<'a> Traces<'a> {
    /// The traces of what `journal` has of a run in `scene`.
    pub fn of(journal: &'a Journal, scene: &'a Scene) -> Traces<'a> {
        let links_of = |node: u32| {
            let from = NodeId(node);
            scene.wiring.of(from).iter().map(move |wire| {
                let (to, delay) = (wire.far.node, wire.lane.delay.as_ps());
                Link { from, to, delay, circuit: scene.circuits.contains(&to) }
            })
        };
        let links = (0..scene.graph.nodes.len() as u32).flat_map(links_of).collect();
        Traces { journal, scene, links }
    }

    /// The trace of a connection; `None` if it has none.
    pub fn get(&self, conn: u32) -> Option<Trace> {
        let crossings = by_packet(&self.journal.crossings(conn));
        let same = |a: &Crossing, b: &Crossing| a.identity() == b.identity();
        let mut trace = Trace { legs: Vec::with_capacity(crossings.len()), ..Trace::default() };
        let mut owners = Vec::new();
        for group in crossings.chunk_by(same) {
            let trips = if group[0].is_ack() { &mut trace.acks } else { &mut trace.data };
            self.assemble(group, trips, &mut trace.legs, &mut owners);
        }
        let ends = &self.scene.plan.traffic.conns[conn as usize];
        let host = |host: HostId| self.scene.graph.hosts[host.at()];
        trace.index(host(ends.src), host(ends.dst));
        (!crossings.is_empty()).then_some(trace)
    }

    /// Adds the trips of packets that cannot be distinguished, whose crossings are in order of arrival. `owners` is a buffer.
    fn assemble(
        &self,
        group: &[Crossing],
        trips: &mut Vec<Trip>,
        legs: &mut Vec<Leg>,
        owners: &mut Vec<usize>,
    ) {
        let first = trips.len();
        owners.clear();
        for &packet in group {
            let leg = self.leg(&packet);
            let at = self.links[leg.port as usize].to;
            let goes_on =
                |trip: &Trip| (trip.at == leg.from || trip.circuit) && trip.arrive <= leg.start;
            match trips[first..].iter().position(goes_on) {
                Some(owner) => {
                    let trip = &mut trips[first + owner];
                    (trip.arrive, trip.at, trip.circuit) = (leg.arrive, at, leg.circuit);
                    owners.push(owner);
                }
                None => {
                    owners.push(trips.len() - first);
                    let Leg { arrive, circuit, .. } = leg;
                    trips.push(Trip { packet, arrive, at, circuit, legs: (0, 0) });
                }
            }
        }
        for (number, trip) in trips[first..].iter_mut().enumerate() {
            let start = legs.len() as u32;
            for (crossing, owner) in group.iter().zip(&*owners) {
                if *owner == number {
                    legs.push(self.leg(crossing));
                }
            }
            trip.legs = (start, legs.len() as u32);
        }
    }

    fn leg(&self, crossing: &Crossing) -> Leg {
        let Crossing { start, arrive, .. } = *crossing;
        let port = crossing.port();
        let Link { from, delay, circuit, .. } = self.links[port as usize];
        Leg { start, leave: arrive - delay, arrive, port, from, circuit }
    }
}

/// The crossings of each packet together, in order of arrival.
fn by_packet(crossings: &[Crossing]) -> Vec<Crossing> {
    let number = |it: &Crossing| u64::from(it.seq) << 1 | u64::from(it.is_ack());
    let order = ascending_large(crossings.iter().map(number).collect());
    let mut ordered: Vec<Crossing> = order.into_iter().map(|at| crossings[at as usize]).collect();
    // Few packets have the same number.
    let within = |it: &Crossing| (it.identity(), it.arrive, it.port());
    for group in ordered.chunk_by_mut(|a, b| number(a) == number(b)) {
        if !group.is_sorted_by_key(within) {
            group.sort_unstable_by_key(within);
        }
    }
    ordered
}

impl Trace {
    fn index(&mut self, src: NodeId, dst: NodeId) {
        let arrived = |trips: &[Trip], there: NodeId| {
            let indexed = (0..).zip(trips).filter(|(_, trip)| trip.at == there);
            let mut arrived: Vec<(u64, u32)> =
                indexed.map(|(at, trip)| (trip.arrive(), at)).collect();
            arrived.sort_unstable();
            arrived
        };
        self.data.sort_by_key(|trip| (trip.start(), trip.arrive()));
        self.acks.sort_by_key(|trip| (trip.start(), trip.arrive()));
        self.arrived_data = arrived(&self.data, dst);
        self.arrived_acks = arrived(&self.acks, src);
    }

    /// The links that a packet crossed, at least one.
    pub fn legs(&self, trip: &Trip) -> &[Leg] {
        &self.legs[trip.legs.0 as usize..trip.legs.1 as usize]
    }

    /// The first link that a packet crossed.
    pub fn first_leg(&self, trip: &Trip) -> &Leg {
        &self.legs[trip.legs.0 as usize]
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
            let (seq, next, span) = (self.data[*at].packet.seq, ack.packet.seq, ack.packet.sack);
            let beyond = seq.wrapping_sub(next);
            seq + 1 == next || (u32::from(span.start)..u32::from(span.end)).contains(&beyond)
        };
        const NEAR: usize = 4096;
        let named = latest().take(NEAR).filter(echoed).find(about);
        named.or_else(|| latest().take(NEAR).find(echoed)).or_else(|| latest().next())
    }
}
