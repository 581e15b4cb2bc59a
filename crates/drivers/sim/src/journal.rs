//! A record of single packets: those of followed connections, and those that leave captured ports.
//!
//! The record does not affect a run: a recorded run has the same digest.

use crate::line::Line;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{NodeId, PortId};
use slotline_net::time::Time;
use std::collections::VecDeque;

/// The packets that are recorded.
#[derive(Clone, Default)]
pub struct Follow {
    /// Connections whose packets are all recorded at every port, acknowledgements included.
    pub conns: Vec<u32>,
    /// Ports at which every packet that leaves is recorded.
    pub ports: Vec<(NodeId, PortId)>,
    /// The largest number of packets recorded at each of these ports. Later packets are only counted.
    pub limit: u64,
    /// Notes of nodes are recorded up to this time, or to the end if packets are recorded.
    pub notes_until: Time,
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    /// Hops of followed connections, in order of arrival, then of node and port.
    pub hops: Vec<Hop>,
    /// By captured port: the packets that left it, in order, and the number of further packets.
    pub captures: Vec<(Vec<Hop>, u64)>,
}

/// Records packets in one shard.
pub(crate) struct Recorder {
    conns: Vec<u64>,
    /// By port of the shard: its place in `captures`, if it is captured.
    ports: Vec<u16>,
    /// By captured port: the number of packets that may still be recorded.
    left: Vec<u64>,
    /// By port of the shard: followed packets that had not started when their departure was decided, in order.
    expected: Vec<VecDeque<Hop>>,
    journal: Journal,
}

const NOT_CAPTURED: u16 = u16::MAX;

impl Recorder {
    /// A recorder for a shard with `ports` ports. `captured` has the place of each captured port in the shard, and its
    /// place in [`Follow::ports`].
    pub fn new(follow: &Follow, ports: usize, captured: &[(usize, u16)]) -> Recorder {
        let words = follow.conns.iter().max().map_or(0, |last| *last as usize / 64 + 1);
        let mut conns = vec![0u64; words];
        follow.conns.iter().for_each(|conn| conns[*conn as usize / 64] |= 1 << (conn % 64));
        let mut places = vec![NOT_CAPTURED; ports];
        captured.iter().for_each(|&(port, place)| places[port] = place);
        let captures = vec![(Vec::new(), 0); follow.ports.len()];
        let left = vec![follow.limit; captures.len()];
        let journal = Journal { hops: Vec::new(), captures };
        let expected = vec![VecDeque::new(); ports];
        Recorder { conns, ports: places, left, expected, journal }
    }

    /// Whether all packets of a port are recorded.
    pub fn captures(&self) -> bool {
        !self.left.is_empty()
    }

    /// Whether a packet that leaves by the shard's port `at` is recorded.
    #[inline]
    pub fn wants(&self, at: usize, packet: &Packet) -> bool {
        self.ports[at] != NOT_CAPTURED || self.follows(packet)
    }

    /// Records a packet that was given to the line of the shard's port `at`.
    pub fn note(&mut self, at: usize, line: &Line, hop: Hop) {
        let capture = self.ports[at];
        let followed = self.follows(&hop.packet);
        let hop = hop.on(line);
        if followed {
            self.journal.hops.push(hop);
        }
        if capture != NOT_CAPTURED {
            self.capture(usize::from(capture), hop);
        }
    }

    /// Records a followed packet that was given to the line of the shard's port `at` at `now` and has not started. Its
    /// departure may still change.
    pub fn expect(&mut self, at: usize, line: &Line, hop: Hop, now: u64) {
        self.settle(at, now);
        self.expected[at].push_back(hop.on(line));
    }

    /// The packets of the shard's port `at` that have not started before `now` leave at another time.
    pub fn take_back(&mut self, at: usize, now: u64) {
        self.settle(at, now);
        self.expected[at].clear();
    }

    /// The packets of the shard's port `at` that start before `now` have left.
    fn settle(&mut self, at: usize, now: u64) {
        while let Some(hop) = self.expected[at].pop_front_if(|hop| hop.start < now) {
            self.journal.hops.push(hop);
        }
    }

    fn capture(&mut self, place: usize, hop: Hop) {
        let (hops, omitted) = &mut self.journal.captures[place];
        match self.left[place].checked_sub(1) {
            Some(left) => {
                self.left[place] = left;
                hops.push(hop);
            }
            None => *omitted += 1,
        }
    }

    /// Takes the packets that left captured ports since the last call, each with the place of its port in
    /// [`Follow::ports`].
    pub fn take(&mut self) -> impl Iterator<Item = (usize, Hop)> {
        let captures = self.journal.captures.iter_mut().enumerate();
        captures.flat_map(|(place, (hops, _))| hops.drain(..).map(move |hop| (place, hop)))
    }

    #[inline]
    fn follows(&self, packet: &Packet) -> bool {
        let of_conn = matches!(packet.kind, Kind::Data | Kind::Ack);
        let word = self.conns.get(packet.flow as usize / 64);
        of_conn && word.is_some_and(|word| word >> (packet.flow % 64) & 1 == 1)
    }

    pub fn finish(mut self) -> Journal {
        self.journal.hops.extend(self.expected.into_iter().flatten());
        self.journal
    }
}

impl Hop {
    /// The hop of a packet that was given to `line` last.
    fn on(self, line: &Line) -> Hop {
        let leave = line.free_at;
        Hop { start: leave - line.time_for(self.packet.len), leave, ..self }
    }
}

impl Journal {
    /// Adds what another shard recorded.
    pub(crate) fn absorb(&mut self, other: Journal) {
        add(&mut self.hops, other.hops);
        self.captures.resize_with(other.captures.len(), Default::default);
        for (mine, theirs) in self.captures.iter_mut().zip(other.captures) {
            add(&mut mine.0, theirs.0);
            mine.1 += theirs.1;
        }
    }

    /// Puts hops into an order that does not depend on shards.
    pub(crate) fn sort(&mut self) {
        self.hops.sort_unstable_by_key(|hop| (hop.arrive, hop.node, hop.port));
    }
}

/// Adds hops. The first are not copied, so that a long journal is in memory once.
fn add(mine: &mut Vec<Hop>, theirs: Vec<Hop>) {
    if mine.is_empty() {
        *mine = theirs;
    } else {
        mine.extend(theirs);
    }
}
