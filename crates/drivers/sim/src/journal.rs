//! A record of single packets: those of followed connections, and those that leave captured ports.
//!
//! The record does not affect a run: a recorded run has the same digest.

use crate::crossings::{Crossing, Log};
use crate::line::Line;
use crate::network::Layout;
use crate::slowest::{Ranking, Slowest};
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, NodeId, PortId};
use slotline_net::node::host::Plan;
use slotline_net::time::Time;
use slotline_net::workload::Start;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// The packets that are recorded.
#[derive(Clone, Default)]
pub struct Follow {
    /// Connections whose packets are all recorded at every port, acknowledgements included.
    pub conns: Vec<u32>,
    /// The plan of these connections, which says which notes of permissions explain them. All notes are kept without it.
    pub plan: Option<Arc<Plan>>,
    /// The room for these; `None` for no limit.
    pub room: Option<Room>,
    /// Ports at which every packet that leaves is recorded.
    pub ports: Vec<(NodeId, PortId)>,
    /// The largest number of packets recorded at each of these ports. Later packets are only counted.
    pub limit: u64,
    /// Notes of nodes are recorded up to this time, or to the end if packets are recorded.
    pub notes_until: Time,
}

/// The room for the packets of followed connections. Where it is used up, connections are given up: those first whose flows
/// are not among the slowest, then those whose flows are likely to be the fastest.
#[derive(Clone, Debug)]
pub struct Room {
    /// The number of crossings.
    pub crossings: u64,
    /// The connections that are not given up, in order.
    pub lasting: Vec<u32>,
    /// The search for the slowest flows.
    pub slowest: Slowest,
}

impl Follow {
    /// Whether packets are recorded.
    pub(crate) fn any(&self) -> bool {
        !self.conns.is_empty() || !self.ports.is_empty()
    }
}

/// One packet over one link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop {
    /// When its first bit left, ps.
    pub start: u64,
    /// When its last bit left, ps.
    pub leave: u64,
    /// When its last bit arrives at the far end, ps.
    pub arrive: u64,
    /// The node it left.
    pub node: NodeId,
    /// The port it left by.
    pub port: PortId,
    /// The packet, with the marks it left with.
    pub packet: Packet,
}

/// The recorded packets.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    /// What each shard recorded of followed connections.
    logs: Vec<Log>,
    /// By captured port: the packets that left it, in order, and the number of further packets.
    pub captures: Vec<(Vec<Hop>, u64)>,
}

/// A port of a recorder's shard.
#[derive(Clone, Copy)]
struct Place {
    node: NodeId,
    port: PortId,
    /// Its place in [`Follow::ports`], if it is captured.
    capture: u16,
}

/// Records packets in one shard.
pub(crate) struct Recorder {
    log: Log,
    plan: Option<Arc<Plan>>,
    /// The flows that have been completed, if the room is limited.
    ranking: Option<Ranking>,
    /// The index of the shard's first port.
    first: u32,
    /// By port of the shard.
    places: Vec<Place>,
    /// By captured port: the number of packets that may still be recorded.
    left: Vec<u64>,
    /// By port of the shard: followed packets that had not started when their departure was decided, in order.
    expected: Vec<VecDeque<(u32, Crossing)>>,
    captures: Vec<(Vec<Hop>, u64)>,
}

const NOT_CAPTURED: u16 = u16::MAX;

impl Recorder {
    /// A recorder for one of `shards` shards, that with the ports `own`.
    pub fn new(
        follow: &Follow,
        layout: &Layout,
        own: std::ops::Range<u32>,
        shards: u64,
    ) -> Recorder {
        let place = |index: u32| {
            let node = layout.node[index as usize];
            let port = PortId((index - layout.first[node as usize]) as u16);
            Place { node: NodeId(node), port, capture: NOT_CAPTURED }
        };
        let mut places: Vec<Place> = own.clone().map(place).collect();
        for (number, &(node, port)) in (0..).zip(&follow.ports) {
            let index = layout.port(node, port);
            if own.contains(&index) {
                places[(index - own.start) as usize].capture = number;
            }
        }
        Recorder {
            log: match &follow.room {
                None => Log::new(&follow.conns, Vec::new(), u64::MAX),
                Some(room) => {
                    Log::new(&follow.conns, room.lasting.clone(), room.crossings / shards)
                }
            },
            plan: follow.plan.clone(),
            ranking: follow.room.as_ref().map(|room| Ranking::new(&room.slowest)),
            first: own.start,
            left: vec![follow.limit; follow.ports.len()],
            expected: vec![VecDeque::new(); places.len()],
            captures: vec![(Vec::new(), 0); follow.ports.len()],
            places,
        }
    }

    /// The senders and receivers of followed connections that may have begun at `now`, if the plan is known.
    pub fn pairs(&self, now: Time) -> Option<BTreeSet<(HostId, HostId)>> {
        let plan = self.plan.as_ref()?;
        let conns = self.log.conns().map(|conn| plan.conn(conn));
        let begun = conns
            .filter(|conn| !matches!(plan.flow(conn.first.0).start, Start::At(at) if at > now));
        Some(begun.map(|conn| (conn.src, conn.dst)).collect())
    }

    /// Whether all packets of a port are recorded.
    pub fn captures(&self) -> bool {
        !self.left.is_empty()
    }

    /// Records a packet that was given to `line`, that of the shard's port `at`, if it is wanted. It leaves with `flags`
    /// added.
    #[inline]
    pub fn note(&mut self, at: usize, line: &Line, packet: &Packet, flags: u8, arrive: u64) {
        if self.follows(packet) {
            self.push(packet.flow, self.crossing(at, line, packet, arrive));
        }
        if self.captures() && self.places[at].capture != NOT_CAPTURED {
            let packet = Packet { flags: packet.flags | flags, ..*packet };
            self.capture(at, line, packet, arrive);
        }
    }

    /// As [`Recorder::note`], for a packet that arrived at `now` at a port whose departures are decided ahead. If it waits, its
    /// departure may still change. No port is captured then.
    #[cold]
    pub fn note_ahead(
        &mut self,
        at: usize,
        line: &Line,
        packet: &Packet,
        (waits, arrive): (bool, u64),
        now: u64,
    ) {
        if !self.follows(packet) {
            return;
        }
        let crossing = self.crossing(at, line, packet, arrive);
        if !waits {
            return self.push(packet.flow, crossing);
        }
        self.settle(at, now);
        self.expected[at].push_back((packet.flow, crossing));
    }

    /// The packets of the shard's port `at` that have not started before `now` leave at another time.
    pub fn take_back(&mut self, at: usize, now: u64) {
        self.settle(at, now);
        self.expected[at].clear();
    }

    /// The packets of the shard's port `at` that start before `now` have left.
    fn settle(&mut self, at: usize, now: u64) {
        while let Some((conn, crossing)) = self.expected[at].pop_front_if(|(_, it)| it.start < now)
        {
            self.push_if_followed(conn, crossing);
        }
    }

    /// Records a crossing of a connection that may have been given up.
    fn push_if_followed(&mut self, conn: u32, crossing: Crossing) {
        if self.log.follows(conn) {
            self.push(conn, crossing);
        }
    }

    #[inline]
    fn push(&mut self, conn: u32, crossing: Crossing) {
        let Recorder { log, ranking, .. } = self;
        log.push(conn, crossing, |conn, progress| {
            ranking.as_ref().map_or(0, |of| of.expected(conn, progress, crossing.start))
        });
    }

    /// A flow is complete at `now`.
    pub fn complete(&mut self, flow: u32, now: u64) {
        let Some(ranking) = &mut self.ranking else { return };
        let since = |conn: u32| self.log.progress(conn).0;
        if let Some(conn) = ranking.complete(flow, since, now) {
            self.log.give_up(conn);
        }
    }

    #[inline]
    fn crossing(&self, at: usize, line: &Line, packet: &Packet, arrive: u64) -> Crossing {
        // The slot for each node's own events does not count as a port.
        let port = self.first + at as u32 - self.places[at].node.0;
        Crossing::of(packet, port, line.free_at - line.time_for(packet.len), arrive)
    }

    fn capture(&mut self, at: usize, line: &Line, packet: Packet, arrive: u64) {
        let Place { node, port, capture } = self.places[at];
        let (hops, omitted) = &mut self.captures[usize::from(capture)];
        let left = &mut self.left[usize::from(capture)];
        if *left == 0 {
            *omitted += 1;
            return;
        }
        *left -= 1;
        let leave = line.free_at;
        let start = leave - line.time_for(packet.len);
        hops.push(Hop { start, leave, arrive, node, port, packet });
    }

    /// Takes the packets that left captured ports since the last call, each with the place of its port in
    /// [`Follow::ports`].
    pub fn take(&mut self) -> impl Iterator<Item = (usize, Hop)> {
        let captures = self.captures.iter_mut().enumerate();
        captures.flat_map(|(place, (hops, _))| hops.drain(..).map(move |hop| (place, hop)))
    }

    #[inline]
    fn follows(&self, packet: &Packet) -> bool {
        matches!(packet.kind, Kind::Data | Kind::Ack) && self.log.follows(packet.flow)
    }

    pub fn finish(mut self) -> Journal {
        for (conn, crossing) in std::mem::take(&mut self.expected).into_iter().flatten() {
            self.push_if_followed(conn, crossing);
        }
        Journal { logs: vec![self.log], captures: self.captures }
    }
}

impl Journal {
    /// Whether all packets of a connection were recorded.
    pub fn has(&self, conn: u32) -> bool {
        !self.logs.is_empty() && self.logs.iter().all(|log| log.follows(conn))
    }

    /// The recorded packets of a connection, in no particular order.
    pub fn crossings(&self, conn: u32) -> Vec<Crossing> {
        self.logs.iter().flat_map(|log| log.of(conn)).collect()
    }

    /// Adds what another shard recorded.
    pub(crate) fn absorb(&mut self, other: Journal) {
        self.logs.extend(other.logs);
        self.captures.resize_with(other.captures.len(), Default::default);
        for (mine, theirs) in self.captures.iter_mut().zip(other.captures) {
            mine.0.extend(theirs.0);
            mine.1 += theirs.1;
        }
    }
}
