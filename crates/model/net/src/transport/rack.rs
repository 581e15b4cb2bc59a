//! Loss detection by transmission times: RACK (RFC 8985, section 6).
//!
//! A segment is lost when another one that was sent later has been received, and more than the round-trip time plus the
//! reordering window has passed since it was sent. The reordering window is zero if nothing was ever reordered and
//! three segments were received beyond the segment. RACK is then as fast as three duplicate acknowledgements. Unlike
//! these it also detects the loss of the last segments of a window, and of retransmissions. Receivers here report no
//! duplicates (RFC 2883), so the window stays at a quarter of the least round-trip time.

use super::scoreboard::Scoreboard;
use crate::time::Time;
use std::collections::VecDeque;

/// The number of segments received beyond a hole that ends the wait for late ones (RFC 6675's DupThresh).
const DUPLICATES: u32 = 3;

/// A segment's last transmission.
#[derive(Clone, Copy, Default, Debug)]
struct Sent {
    at: Time,
    /// Whether it was a retransmission.
    again: bool,
}

/// The transmissions of a connection.
#[derive(Debug)]
pub(super) struct Rack {
    /// Ring: segment s at `s & mask`. It has room for all segments from `una` on, and grows with them.
    sent: Vec<Sent>,
    mask: u32,
    una: u32,
    /// The transmissions in order. Only the last one of each segment is valid.
    order: VecDeque<(Time, u32)>,
    /// The received segment that was sent last (RACK.xmit_ts, RACK.end_seq), and its round-trip time.
    latest: (Time, u32),
    rtt: Time,
    least_rtt: Time,
    /// One past the highest segment received (RACK.fack).
    top: u32,
    reordered: bool,
}

/// The segments that a ring has room for at first.
const ROOM: u32 = 64;

impl Rack {
    /// The state of a connection that has sent nothing.
    pub fn new() -> Rack {
        Rack {
            sent: vec![Sent::default(); ROOM as usize],
            mask: ROOM - 1,
            una: 0,
            order: VecDeque::new(),
            latest: (Time::ZERO, 0),
            rtt: Time::ZERO,
            least_rtt: Time::MAX,
            top: 0,
            reordered: false,
        }
    }

    /// Doubles the ring, which is full up to `segment`.
    #[cold]
    fn grow(&mut self, segment: u32) {
        let mask = 2 * self.mask + 1;
        let mut sent = vec![Sent::default(); mask as usize + 1];
        for before in self.una..segment {
            sent[(before & mask) as usize] = self.sent(before);
        }
        (self.sent, self.mask) = (sent, mask);
    }

    fn sent(&self, segment: u32) -> Sent {
        self.sent[(segment & self.mask) as usize]
    }

    /// A segment is sent, for the first time or `again`.
    #[inline]
    pub fn send(&mut self, segment: u32, again: bool, now: Time) {
        if segment - self.una > self.mask {
            self.grow(segment);
        }
        self.sent[(segment & self.mask) as usize] = Sent { at: now, again };
        self.order.push_back((now, segment));
    }

    /// A segment is newly known to be received, by an acknowledgement that echoes `stamp`. Of several segments the
    /// lowest comes first (section 6.2, steps 1 to 3).
    #[inline]
    pub fn receive(&mut self, segment: u32, stamp: u32, now: Time) {
        let sent = self.sent(segment);
        self.reordered |= segment < self.top && !sent.again;
        self.top = self.top.max(segment + 1);
        let rtt = now.since(sent.at);
        let of_earlier = (stamp.wrapping_sub(sent.at.as_ns() as u32) as i32) < 0;
        let too_early = self.least_rtt < Time::MAX && rtt < self.least_rtt;
        if sent.again && (of_earlier || too_early) {
            return;
        }
        self.least_rtt = self.least_rtt.min(rtt);
        self.rtt = rtt;
        self.latest = self.latest.max((sent.at, segment));
    }

    /// All segments below `una` are received.
    #[inline]
    pub fn forget(&mut self, una: u32) {
        self.una = una;
        while self.order.front().is_some_and(|&(_, segment)| segment < una) {
            self.order.pop_front();
        }
    }

    /// How long to wait for late segments (step 4). `sacked`: segments received beyond a hole.
    pub fn patience(&self, recovering: bool, sacked: u32, srtt: Time) -> Time {
        if !self.reordered && (recovering || sacked >= DUPLICATES) {
            return Time::ZERO;
        }
        let quarter = Time::ps(self.least_rtt.as_ps() / 4);
        if srtt == Time::ZERO { quarter } else { quarter.min(srtt) }
    }

    /// Marks lost segments on `board` (step 5). Returns the time at which more segments will count as lost, if no
    /// others are received.
    pub fn detect(&mut self, board: &mut Scoreboard, patience: Time, now: Time) -> Option<Time> {
        let mut later = None;
        for &(at, segment) in &self.order {
            if (at, segment) >= self.latest {
                break;
            }
            if self.sent(segment).at != at || !board.is_under_way(segment) {
                continue;
            }
            let limit = at.after(self.rtt).after(patience);
            match limit <= now {
                true => board.lose_by_time(segment),
                false => later = later.max(Some(limit)),
            }
        }
        while let Some(&(at, segment)) = self.order.front()
            && (self.sent(segment).at != at || !board.is_under_way(segment))
        {
            self.order.pop_front();
        }
        later
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Span;

    /// Segments 0 to `count` - 1 are sent, one each 1 us, from time 0 on.
    fn sent(count: u32) -> (Rack, Scoreboard) {
        let mut rack = Rack::new();
        (0..count).for_each(|segment| rack.send(segment, false, Time::us(segment.into())));
        (rack, Scoreboard::new(0, count))
    }

    /// `segment`, sent at `at`, is received. The sender learns of it at `now`.
    fn receive(rack: &mut Rack, board: &mut Scoreboard, segment: u16, at: Time, now: Time) {
        let span = Span { start: segment, end: segment + 1 };
        board.receive(0, &[span], 100, |segment| rack.receive(segment, at.as_ns() as u32, now));
    }

    #[test]
    fn the_ring_grows_with_the_segments_that_are_not_acknowledged() {
        let (mut rack, mut board) = sent(1_000);
        receive(&mut rack, &mut board, 7, Time::us(7), Time::us(2_000));
        assert_eq!(rack.rtt, Time::us(1_993));
        assert!(rack.sent.len() == 1024 && rack.sent(999).at == Time::us(999));
        rack.forget(1_000);
        (1_000..2_000).for_each(|segment| rack.send(segment, false, Time::ms(3)));
        assert_eq!(rack.sent.len(), 1024);
    }

    /// RFC 8985, section 3.3: if only the last segment of a flight is received, all others are lost a quarter of a
    /// round trip later.
    #[test]
    fn the_last_of_a_flight_shows_that_the_others_are_lost() {
        let (mut rack, mut board) = sent(3);
        receive(&mut rack, &mut board, 2, Time::us(2), Time::us(102));
        let patience = rack.patience(false, 1, Time::us(100));
        assert_eq!(patience, Time::us(25));
        assert_eq!(rack.detect(&mut board, patience, Time::us(102)), Some(Time::us(126)));
        assert!(!board.has_lost());
        assert_eq!(rack.detect(&mut board, patience, Time::us(125)), Some(Time::us(126)));
        assert_eq!(rack.detect(&mut board, patience, Time::us(126)), None);
        let lost: Vec<u32> = std::iter::from_fn(|| board.retransmit(None)).collect();
        assert_eq!(lost, [0, 1]);
    }

    #[test]
    fn after_three_nothing_is_waited_for_unless_something_was_reordered() {
        let (mut rack, mut board) = sent(5);
        for segment in 1..4 {
            receive(&mut rack, &mut board, segment, Time::us(segment.into()), Time::us(200));
        }
        assert_eq!(rack.patience(false, 3, Time::us(100)), Time::ZERO);
        assert_eq!(rack.detect(&mut board, Time::ZERO, Time::us(200)), None);
        assert_eq!((board.retransmit(None), board.retransmit(None)), (Some(0), None));
        // Segment 0 arrives after all, before it is sent again.
        rack.receive(0, 0, Time::us(201));
        assert!(rack.patience(true, 3, Time::us(100)) > Time::ZERO);
    }

    /// A retransmission is lost, which counting of segments cannot detect.
    #[test]
    fn a_lost_retransmission_is_found() {
        let (mut rack, mut board) = sent(10);
        for segment in 1..4 {
            receive(&mut rack, &mut board, segment, Time::us(segment.into()), Time::us(100));
        }
        rack.detect(&mut board, Time::ZERO, Time::us(100));
        assert_eq!(board.retransmit(None), Some(0));
        rack.send(0, true, Time::us(100));
        rack.send(10, false, Time::us(101));
        receive(&mut rack, &mut board, 4, Time::us(4), Time::us(110));
        rack.detect(&mut board, Time::ZERO, Time::us(110));
        assert_eq!(
            board.retransmit(None),
            None,
            "only segments from before the second 0 were received"
        );
        receive(&mut rack, &mut board, 10, Time::us(101), Time::us(201));
        rack.detect(&mut board, Time::ZERO, Time::us(201));
        let lost: Vec<u32> = std::iter::from_fn(|| board.retransmit(None)).collect();
        assert_eq!(lost, [0, 5, 6, 7, 8, 9]);
    }

    /// Section 6.2, step 2: an acknowledgement of the first transmission gives no time for the second one.
    #[test]
    fn an_echo_of_the_first_transmission_does_not_count_for_the_second() {
        let (mut rack, _) = sent(2);
        rack.send(0, true, Time::us(500));
        rack.receive(0, Time::us(0).as_ns() as u32, Time::us(501));
        assert_eq!(rack.latest, (Time::ZERO, 0));
        rack.send(1, true, Time::us(600));
        rack.receive(1, Time::us(600).as_ns() as u32, Time::us(700));
        assert_eq!((rack.latest, rack.rtt), ((Time::us(600), 1), Time::us(100)));
    }
}
