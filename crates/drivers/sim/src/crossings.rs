//! A log of the packets of followed connections, by connection.
//!
//! A connection's crossings lie in chunks of one list. Where there is little room, the chunks of connections that are
//! given up are used again.

use slotline_net::frame::{Kind, Packet, RETRANSMITTED, Span, TIMED_OUT};

/// One packet of a followed connection over one link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Crossing {
    /// When its first bit left, ps.
    pub start: u64,
    /// When its last bit arrives at the far end, ps.
    pub arrive: u64,
    /// The port it left by in the low 24 bits, and what it is in the high 8.
    port: u32,
    /// [`Packet::seq`].
    pub seq: u32,
    /// [`Packet::stamp`].
    pub stamp: u32,
    /// The first range of [`Packet::sack`].
    pub sack: Span,
}

const PORT_BITS: u32 = 24;
const ACK: u8 = 1;
const _: () = assert!(ACK & (RETRANSMITTED | TIMED_OUT) == 0);
const _: () = assert!(std::mem::size_of::<Crossing>() == 32);

impl Crossing {
    #[inline]
    pub(crate) fn of(packet: &Packet, port: u32, start: u64, arrive: u64) -> Crossing {
        let kind = if packet.kind == Kind::Ack { ACK } else { 0 };
        let what = packet.flags & (RETRANSMITTED | TIMED_OUT) | kind;
        let port = port | u32::from(what) << PORT_BITS;
        let (seq, stamp, sack) = (packet.seq, packet.stamp, packet.sack[0]);
        Crossing { start, arrive, port, seq, stamp, sack }
    }

    /// The port it left by: the ports of all nodes are counted in order.
    pub fn port(&self) -> u32 {
        self.port & ((1 << PORT_BITS) - 1)
    }

    /// Whether it is an acknowledgement.
    pub fn is_ack(&self) -> bool {
        self.has(ACK)
    }

    /// Whether it is a segment that was sent again.
    pub fn resent(&self) -> bool {
        self.has(RETRANSMITTED)
    }

    /// Whether it was sent again because a timer had expired.
    pub fn timed_out(&self) -> bool {
        self.has(TIMED_OUT)
    }

    /// Distinguishes the packets of a connection that are in flight at the same time.
    #[inline]
    pub fn identity(&self) -> u128 {
        let (what, span) = (u32::from(self.what()), self.sack);
        let sack = u32::from(span.start) << 16 | u32::from(span.end);
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        u128::from(pair(what, self.seq)) << 64 | u128::from(pair(self.stamp, sack))
    }

    fn what(&self) -> u8 {
        (self.port >> PORT_BITS) as u8
    }

    fn has(&self, what: u8) -> bool {
        self.what() & what != 0
    }
}

/// The number of crossings in a chunk.
const CHUNK: usize = 8;
const NONE: u32 = u32::MAX;

/// A connection's part of a log.
#[derive(Clone, Copy, Debug)]
struct Track {
    first: u32,
    last: u32,
    /// The number of crossings.
    len: u32,
    /// The highest number of a segment or an acknowledgement.
    reached: u32,
}

impl Track {
    const EMPTY: Track = Track { first: NONE, last: NONE, len: 0, reached: 0 };
}

/// The crossings that one shard has recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// By connection: whether it is followed, 64 to a word.
    followed: Vec<u64>,
    /// By connection.
    tracks: Vec<Track>,
    /// Connections that are not given up.
    lasting: Vec<u32>,
    crossings: Vec<Crossing>,
    /// By chunk: the next one of its connection.
    next: Vec<u32>,
    free: Vec<u32>,
    /// The number of chunks above which connections are given up.
    room: usize,
}

impl Log {
    /// A log of connections with room for about `room` crossings. `lasting` are in order.
    pub fn new(conns: &[u32], lasting: Vec<u32>, room: u64) -> Log {
        let all = conns.iter().max().map_or(0, |last| *last as usize + 1);
        let mut followed = vec![0; all.div_ceil(64)];
        conns.iter().for_each(|conn| followed[*conn as usize / 64] |= 1 << (conn % 64));
        let mut log = Log { followed, tracks: vec![Track::EMPTY; all], lasting, ..Log::default() };
        log.room = usize::try_from(room).unwrap_or(usize::MAX) / CHUNK;
        if room < u64::MAX {
            // A list that grows is copied, and memory that is not used costs nothing.
            log.crossings.reserve_exact(log.room * CHUNK);
            log.next.reserve_exact(log.room);
        }
        log
    }

    /// Whether the packets of `conn` are recorded.
    #[inline]
    pub fn follows(&self, conn: u32) -> bool {
        let word = self.followed.get(conn as usize / 64);
        word.is_some_and(|word| word >> (conn % 64) & 1 == 1)
    }

    /// The connections whose packets are recorded.
    pub fn conns(&self) -> impl Iterator<Item = u32> {
        (0..64 * self.followed.len() as u32).filter(|conn| self.follows(*conn))
    }

    /// Records a crossing of `conn`, which is followed. Where there is no room, those connections are given up first of which
    /// `worth` is lowest. It is given the [progress](Log::progress) of a connection.
    #[inline]
    pub fn push(&mut self, conn: u32, crossing: Crossing, worth: impl Fn(u32, (u64, u32)) -> u64) {
        let within = self.tracks[conn as usize].len as usize % CHUNK;
        if within == 0 && !self.lengthen(conn, worth) {
            return;
        }
        let track = &mut self.tracks[conn as usize];
        track.len += 1;
        track.reached = track.reached.max(crossing.seq);
        self.crossings[track.last as usize * CHUNK + within] = crossing;
    }

    /// Adds a chunk to a connection. Returns false if the connection is given up.
    #[cold]
    fn lengthen(&mut self, conn: u32, worth: impl Fn(u32, (u64, u32)) -> u64) -> bool {
        if self.free.is_empty() && self.next.len() >= self.room {
            self.make_room(worth);
        }
        if !self.follows(conn) {
            return false;
        }
        let chunk = self.chunk();
        let track = &mut self.tracks[conn as usize];
        let before = std::mem::replace(&mut track.last, chunk);
        match self.next.get_mut(before as usize) {
            Some(next) => *next = chunk,
            None => track.first = chunk,
        }
        true
    }

    fn chunk(&mut self) -> u32 {
        let chunk = self.free.pop().unwrap_or_else(|| {
            self.crossings.resize(self.crossings.len() + CHUNK, Crossing::default());
            self.next.push(NONE);
            self.next.len() as u32 - 1
        });
        self.next[chunk as usize] = NONE;
        chunk
    }

    /// When the first packet of a connection left a port of this shard, in ps, and the highest number of a segment or an
    /// acknowledgement.
    pub fn progress(&self, conn: u32) -> (u64, u32) {
        let Some(track) = self.tracks.get(conn as usize) else { return (0, 0) };
        let first = self.crossings.get(track.first as usize * CHUNK);
        (first.map_or(0, |crossing| crossing.start), track.reached)
    }

    /// Gives up the connections of the lowest worth, until an eighth of the room is free: those that are worth nothing, and then
    /// those that take more room than most. Others would free little.
    #[cold]
    fn make_room(&mut self, worth: impl Fn(u32, (u64, u32)) -> u64) {
        let conns = (0..).zip(&self.tracks).filter(|(_, track)| track.len > 0);
        let mean = self.next.len() * CHUNK / conns.clone().count().max(1);
        let rank = |(conn, track): (u32, &Track)| {
            let worth = worth(conn, self.progress(conn));
            (worth > 0 && (track.len as usize) < mean, worth, conn)
        };
        let mut ranked: Vec<(bool, u64, u32)> = conns.map(rank).collect();
        ranked.sort_unstable();
        for (_, _, conn) in ranked {
            if self.free.len() > self.room / 8 {
                break;
            }
            self.give_up(conn);
        }
    }

    /// Forgets a connection that need not be followed any more, unless it is a lasting one.
    pub fn give_up(&mut self, conn: u32) {
        if !self.follows(conn) || self.lasting.binary_search(&conn).is_ok() {
            return;
        }
        self.followed[conn as usize / 64] &= !(1 << (conn % 64));
        let given = std::mem::replace(&mut self.tracks[conn as usize], Track::EMPTY);
        self.free.extend(chunks(&self.next, given.first));
    }

    /// The crossings of a connection, in the order in which they were recorded.
    pub fn of(&self, conn: u32) -> impl Iterator<Item = Crossing> {
        let track = self.tracks.get(conn as usize).copied().unwrap_or(Track::EMPTY);
        let at = |chunk: u32| &self.crossings[chunk as usize * CHUNK..][..CHUNK];
        chunks(&self.next, track.first).flat_map(at).take(track.len as usize).copied()
    }
}

/// A chunk and those after it.
fn chunks(next: &[u32], first: u32) -> impl Iterator<Item = u32> {
    let known = |chunk: u32| (chunk != NONE).then_some(chunk);
    std::iter::successors(known(first), move |&chunk| known(next[chunk as usize]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn crossing(seq: u32) -> Crossing {
        Crossing { seq, ..Crossing::default() }
    }

    /// The worth of connections of which those that are behind are kept.
    fn behind(_conn: u32, (_, reached): (u64, u32)) -> u64 {
        u64::MAX - u64::from(reached)
    }

    #[test]
    fn a_crossing_tells_what_the_packet_was() {
        let flags = RETRANSMITTED | slotline_net::frame::CE;
        let sack = [Span { start: 3, end: 9 }, Span::default(), Span::default()];
        let packet = Packet { flags, kind: Kind::Ack, seq: 5, stamp: 6, sack, ..Packet::default() };
        let it = Crossing::of(&packet, 0xff_ffff, 1, 2);
        assert_eq!(
            (it.port(), it.is_ack(), it.resent(), it.timed_out()),
            (0xff_ffff, true, true, false)
        );
        let what = u128::from(RETRANSMITTED | ACK);
        assert_eq!(it.identity(), what << 96 | 5 << 64 | 6 << 32 | 3 << 16 | 9);
    }

    #[test]
    fn connections_that_are_ahead_are_given_up() {
        let mut log = Log::new(&[0, 1, 2, 3], vec![3], 96 * CHUNK as u64);
        for seq in 0..64 * CHUNK as u32 {
            for conn in (0..4).filter(|conn| seq % (4 - conn) == 0) {
                if log.follows(conn) {
                    log.push(conn, crossing(seq / (4 - conn)), behind);
                }
            }
        }
        let kept: Vec<u32> = (0..5).filter(|&conn| log.follows(conn)).collect();
        assert_eq!(kept, [0, 3], "0 is behind, and 3 is not given up");
        assert!(log.of(0).map(|it| it.seq).eq(0..16 * CHUNK as u32));
        assert_eq!(log.of(1).count(), 0);
    }

    proptest! {
        /// Each connection that is still followed has all its crossings, in order.
        #[test]
        fn followed_connections_are_complete(
            pushes in prop::collection::vec(0u32..6, 0..2000),
            room in 0u64..40,
        ) {
            let mut log = Log::new(&[0, 1, 2, 3, 4, 5], vec![2, 4], room * CHUNK as u64);
            let mut sent = [0u32; 6];
            for conn in pushes {
                if log.follows(conn) {
                    log.push(conn, crossing(sent[conn as usize]), behind);
                }
                sent[conn as usize] += 1;
            }
            for conn in 0..6 {
                let expected = if log.follows(conn) { sent[conn as usize] } else { 0 };
                prop_assert!(log.of(conn).map(|it| it.seq).eq(0..expected));
            }
            prop_assert!(log.follows(2) && log.follows(4));
        }
    }
}
