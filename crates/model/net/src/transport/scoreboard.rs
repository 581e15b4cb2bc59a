//! The scoreboard of a window: received, lost and retransmitted segments (RFC 2018, RFC 6675).

use crate::frame::Span;

/// A segment is lost when this many above it were received.
const DUPLICATES: u32 = 3;

const SACKED: u8 = 1;
const LOST: u8 = 2;
const RETRANSMITTED: u8 = 4;

/// The state of segments from `base` (the first unacknowledged) upwards. It exists only while there is loss or
/// reordering.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    base: u32,
    /// Ring of flags: segment s at `s & mask`.
    flags: Vec<u8>,
    mask: u32,
    /// One past the highest segment received.
    top: u32,
    /// Losses are decided for segments below this.
    judged: u32,
    sacked: u32,
    lost: u32,
    retransmitted: u32,
    /// No lost segment below this waits for retransmission.
    cursor: u32,
    /// Retransmissions in transit, in order: the segment, and the next new segment at that time.
    under_way: std::collections::VecDeque<(u32, u32)>,
}

impl Scoreboard {
    /// An empty board for a window of up to `window` segments from `base`.
    pub fn new(base: u32, window: u32) -> Scoreboard {
        let size = (window + 1).next_power_of_two().max(64);
        Scoreboard {
            base,
            flags: vec![0; size as usize],
            mask: size - 1,
            top: base,
            judged: base,
            cursor: base,
            ..Scoreboard::default()
        }
    }

    fn flag(&mut self, segment: u32) -> &mut u8 {
        &mut self.flags[(segment & self.mask) as usize]
    }

    /// All segments below `una` are acknowledged. Returns how many of them are newly acknowledged, and calls `acked`
    /// with each.
    pub fn advance(&mut self, una: u32, mut acked: impl FnMut(u32)) -> u32 {
        let mut news = 0;
        while self.base < una {
            let at = self.base;
            let flag = std::mem::take(self.flag(at));
            self.base += 1;
            if flag & SACKED == 0 {
                news += 1;
                acked(at);
            }
            self.sacked -= u32::from(flag & SACKED != 0);
            self.lost -= u32::from(flag & LOST != 0);
            self.retransmitted -= u32::from(flag & RETRANSMITTED != 0);
        }
        self.top = self.top.max(una);
        self.judged = self.judged.max(una);
        self.cursor = self.cursor.max(una);
        news
    }

    /// Marks received segments. Returns how many are newly acknowledged, and calls `acked` with each.
    pub fn receive(
        &mut self,
        ack: u32,
        spans: &[Span],
        nxt: u32,
        mut acked: impl FnMut(u32),
    ) -> u32 {
        let mut news = 0;
        for span in spans.iter().filter(|s| s.end > s.start) {
            let first = (ack + u32::from(span.start)).max(self.base);
            let end = (ack + u32::from(span.end)).min(nxt);
            for segment in first..end {
                if self.receive_one(segment) {
                    news += 1;
                    acked(segment);
                }
            }
            self.top = self.top.max(end);
        }
        news
    }

    /// Marks one received segment. Returns whether it is newly acknowledged.
    fn receive_one(&mut self, segment: u32) -> bool {
        let flag = self.flag(segment);
        if *flag & SACKED != 0 {
            return false;
        }
        let was = std::mem::replace(flag, SACKED);
        self.sacked += 1;
        self.lost -= u32::from(was & LOST != 0);
        self.retransmitted -= u32::from(was & RETRANSMITTED != 0);
        true
    }

    /// Marks lost segments: those with enough received segments above them, and retransmissions if segments that were
    /// sent later were received.
    pub fn judge(&mut self) {
        let mut above = 0;
        let mut segment = self.top;
        while segment > self.judged && above < DUPLICATES {
            segment -= 1;
            above += u32::from(*self.flag(segment) & SACKED != 0);
        }
        if above == DUPLICATES {
            for at in self.judged..segment {
                self.lose(at);
            }
            self.judged = self.judged.max(segment);
        }
        while let Some(&(segment, sent_before)) = self.under_way.front() {
            let done = segment < self.base || *self.flag(segment) & RETRANSMITTED == 0;
            if !done && self.top < sent_before + DUPLICATES {
                break;
            }
            self.under_way.pop_front();
            if !done {
                *self.flag(segment) &= !RETRANSMITTED;
                self.retransmitted -= 1;
                self.cursor = self.cursor.min(segment);
            }
        }
    }

    fn lose(&mut self, segment: u32) {
        let flag = self.flag(segment);
        if *flag & (SACKED | LOST) == 0 {
            *flag |= LOST;
            self.lost += 1;
            self.cursor = self.cursor.min(segment);
        }
    }

    /// A segment in transit is lost, perhaps a retransmission.
    pub fn lose_by_time(&mut self, segment: u32) {
        let flag = self.flag(segment);
        if *flag & RETRANSMITTED != 0 {
            *flag &= !RETRANSMITTED;
            self.retransmitted -= 1;
            self.cursor = self.cursor.min(segment);
        }
        self.lose(segment);
        self.judged = self.judged.max(segment + 1);
    }

    /// Whether a segment is probably in the network.
    pub fn is_under_way(&self, segment: u32) -> bool {
        let flag = self.flags[(segment & self.mask) as usize];
        segment >= self.base && flag & SACKED == 0 && flag & (LOST | RETRANSMITTED) != LOST
    }

    /// Segments known to be received beyond the first unacknowledged one.
    pub fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Handles a time-out: all unacknowledged segments are lost, including retransmissions.
    pub fn lose_all(&mut self, nxt: u32) {
        for segment in self.base..nxt {
            let flag = self.flag(segment);
            if *flag & RETRANSMITTED != 0 {
                *flag &= !RETRANSMITTED;
                self.retransmitted -= 1;
            }
            self.lose(segment);
        }
        self.under_way.clear();
        self.cursor = self.base;
        self.judged = nxt;
    }

    /// The next lost segment, which is sent again. With `nxt`, the next new segment, [`Self::judge`] can detect whether
    /// it is lost again.
    pub fn retransmit(&mut self, nxt: Option<u32>) -> Option<u32> {
        let segment = self.next_lost()?;
        *self.flag(segment) |= RETRANSMITTED;
        self.retransmitted += 1;
        self.cursor = segment + 1;
        self.under_way.extend(nxt.map(|nxt| (segment, nxt)));
        Some(segment)
    }

    /// The next lost segment that has not been sent again.
    pub fn next_lost(&mut self) -> Option<u32> {
        if self.lost == self.retransmitted {
            return None;
        }
        let end = self.judged;
        while self.cursor < end {
            if *self.flag(self.cursor) & (LOST | RETRANSMITTED | SACKED) == LOST {
                return Some(self.cursor);
            }
            self.cursor += 1;
        }
        None
    }

    /// Whether any segment is marked lost.
    pub fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// Segments not in the network: received, or lost and not sent again.
    pub fn absent(&self) -> u32 {
        self.sacked + self.lost - self.retransmitted
    }

    /// Whether no segment beyond the acknowledged ones is marked.
    pub fn is_clean(&self) -> bool {
        self.sacked == 0 && self.lost == 0
    }
}
