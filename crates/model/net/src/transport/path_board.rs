//! The scoreboard of a window with several paths: received, lost and retransmitted segments, and the path of each
//! segment's last transmission. If a segment overtakes another one on another path, this is no sign of loss.

use crate::frame::{Circuits, Span};
use std::collections::VecDeque;

/// The number of classes of paths.
pub(super) const PATHS: usize = Circuits::CLASSES;
/// One number for each class of paths.
pub(super) type ByPath = [u32; PATHS];

/// A segment is lost when this many later segments of the same path were received.
const DUPLICATES: usize = 3;

const RECEIVED: u8 = 1;
const LOST: u8 = 2;
const AGAIN: u8 = 4;
const PATH: u32 = 3;

fn path_of(flag: u8) -> usize {
    usize::from(flag >> PATH) % PATHS
}

/// Whether a segment with this flag is probably in the network.
fn is_under_way(flag: u8) -> bool {
    flag & RECEIVED == 0 && flag & (LOST | AGAIN) != LOST
}

/// A segment that was sent again.
#[derive(Clone, Copy, Debug)]
struct Resent {
    segment: u32,
    /// The next new segment at the time of the retransmission.
    before: u32,
    path: u8,
}

/// The state of all segments from `base`, the first unacknowledged one, up to `end`, the next to be sent.
#[derive(Clone, Debug)]
pub(super) struct PathBoard {
    base: u32,
    end: u32,
    /// Ring of flags: segment s at `s & mask`.
    flags: Vec<u8>,
    mask: u32,
    under_way: ByPath,
    /// By path, the highest segments received over it, plus one, in descending order.
    highest: [[u32; DUPLICATES]; PATHS],
    /// By path, losses are decided for segments below this.
    judged: ByPath,
    /// The lost segments that were not sent again. None is below `cursor`.
    waiting: u32,
    cursor: u32,
    resent: VecDeque<Resent>,
}

impl PathBoard {
    /// A board for windows of up to `window` segments.
    pub fn new(window: u32) -> PathBoard {
        let size = (window + 1).next_power_of_two().max(64);
        PathBoard {
            base: 0,
            end: 0,
            flags: vec![0; size as usize],
            mask: size - 1,
            under_way: [0; PATHS],
            highest: [[0; DUPLICATES]; PATHS],
            judged: [0; PATHS],
            waiting: 0,
            cursor: 0,
            resent: VecDeque::new(),
        }
    }

    fn flag(&mut self, segment: u32) -> &mut u8 {
        &mut self.flags[(segment & self.mask) as usize]
    }

    /// Segments in the network, by path.
    pub fn under_way(&self) -> ByPath {
        self.under_way
    }

    /// Whether a lost segment waits to be sent again.
    pub fn has_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// The next segment is sent for the first time, on `path`.
    pub fn send(&mut self, path: u8) {
        let segment = self.end;
        *self.flag(segment) = path << PATH;
        self.under_way[usize::from(path)] += 1;
        self.end += 1;
    }

    /// The next lost segment, which is sent again on `path`.
    pub fn send_again(&mut self, path: u8) -> Option<u32> {
        if self.waiting == 0 {
            return None;
        }
        while *self.flag(self.cursor) & (RECEIVED | LOST | AGAIN) != LOST {
            self.cursor += 1;
        }
        let segment = self.cursor;
        *self.flag(segment) = LOST | AGAIN | path << PATH;
        self.under_way[usize::from(path)] += 1;
        self.waiting -= 1;
        self.cursor += 1;
        self.resent.push_back(Resent { segment, before: self.end, path });
        Some(segment)
    }

    /// All segments below `una` and within `spans`, which are relative to it, were received. The latest of them took
    /// the path `taken`. Returns the number of newly received segments, by the path of their last transmission. If that
    /// is not `taken`, the sender knew of a change too late, and nothing is concluded about losses.
    pub fn receive(&mut self, una: u32, spans: &[Span], taken: u8) -> ByPath {
        let mut news = [0; PATHS];
        while self.base < una {
            let at = self.base;
            self.note(at, taken, &mut news);
            self.base += 1;
        }
        self.cursor = self.cursor.max(una);
        for span in spans.iter().filter(|span| span.end > span.start) {
            let end = (una + u32::from(span.end)).min(self.end);
            for segment in una + u32::from(span.start)..end {
                self.note(segment, taken, &mut news);
            }
        }
        news
    }

    /// A segment was received.
    fn note(&mut self, segment: u32, taken: u8, news: &mut ByPath) {
        let flag = *self.flag(segment);
        if flag & RECEIVED != 0 {
            return;
        }
        let path = path_of(flag);
        match is_under_way(flag) {
            true => self.under_way[path] -= 1,
            false => self.waiting -= 1,
        }
        *self.flag(segment) = RECEIVED | flag & (!0 << PATH);
        news[path] += 1;
        let highest = &mut self.highest[path];
        if path == usize::from(taken) && segment + 1 > highest[DUPLICATES - 1] {
            highest[DUPLICATES - 1] = segment + 1;
            highest.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// Marks segments as lost if enough later segments of their path were received. Returns how many are newly lost, by
    /// path.
    pub fn judge(&mut self) -> ByPath {
        let mut lost = [0; PATHS];
        for (path, lost) in lost.iter_mut().enumerate() {
            let limit = self.highest[path][DUPLICATES - 1].saturating_sub(1);
            for segment in self.judged[path].max(self.base)..limit {
                let flag = *self.flag(segment);
                if path_of(flag) == path && flag & (RECEIVED | LOST) == 0 {
                    self.lose(segment);
                    *lost += 1;
                }
            }
            self.judged[path] = self.judged[path].max(limit);
        }
        let mut resent = std::mem::take(&mut self.resent);
        resent.retain(|&Resent { segment, before, path }| {
            let done = segment < self.base || *self.flag(segment) & AGAIN == 0;
            let overtaken = self.highest[usize::from(path)][DUPLICATES - 1] > before;
            if !done && overtaken {
                self.lose(segment);
                lost[usize::from(path)] += 1;
            }
            !done && !overtaken
        });
        self.resent = resent;
        lost
    }

    /// A segment in transit is lost.
    fn lose(&mut self, segment: u32) {
        let flag = self.flag(segment);
        let path = path_of(*flag);
        *flag = LOST | *flag & (!0 << PATH);
        self.under_way[path] -= 1;
        self.waiting += 1;
        self.cursor = self.cursor.min(segment);
    }

    /// Handles a time-out: all unacknowledged segments are lost.
    pub fn lose_all(&mut self) {
        for segment in self.base..self.end {
            if is_under_way(*self.flag(segment)) {
                self.lose(segment);
            }
        }
        self.resent.clear();
        self.judged = [self.end; PATHS];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn by(path: usize, count: u32) -> ByPath {
        std::array::from_fn(|at| if at == path { count } else { 0 })
    }

    fn span(start: u16, end: u16) -> [Span; 1] {
        [Span { start, end }]
    }

    /// Segments 0 and 1 by path 0, 2 to 5 by path 1, 6 to 8 by path 0.
    fn board() -> PathBoard {
        let mut board = PathBoard::new(100);
        [0, 0, 1, 1, 1, 1, 0, 0, 0].into_iter().for_each(|path| board.send(path));
        assert_eq!(board.under_way(), [5, 4, 0, 0, 0, 0, 0, 0]);
        board
    }

    #[test]
    fn what_overtakes_on_another_path_says_nothing() {
        let mut board = board();
        assert_eq!(board.receive(0, &span(2, 6), 1), by(1, 4));
        assert_eq!(
            board.judge(),
            [0; PATHS],
            "three or more of path 1 were received beyond 0 and 1"
        );
        assert_eq!(board.receive(0, &span(6, 8), 0), by(0, 2));
        assert_eq!(board.judge(), [0; PATHS]);
        assert_eq!(board.receive(0, &span(8, 9), 0), by(0, 1));
        assert_eq!(board.judge(), by(0, 2), "three of their own path were received");
        assert_eq!((board.under_way(), board.has_waiting()), ([0; PATHS], true));
    }

    /// The sender assumed path 0 for segments that took path 1. They are no sign of loss.
    #[test]
    fn what_took_another_path_than_meant_says_nothing() {
        let mut board = PathBoard::new(100);
        (0..8).for_each(|_| board.send(0));
        assert_eq!(board.receive(0, &span(1, 6), 1), by(0, 5));
        assert_eq!(board.judge(), [0; PATHS]);
        board.receive(0, &span(6, 8), 0);
        assert_eq!(board.judge(), [0; PATHS]);
        (0..3).for_each(|_| board.send(0));
        board.receive(0, &span(8, 9), 0);
        assert_eq!(board.judge(), by(0, 1));
    }

    #[test]
    fn a_segment_sent_again_by_another_path_is_judged_there() {
        let mut board = board();
        board.receive(1, &span(5, 8), 0);
        assert_eq!(board.judge(), by(0, 1), "segment 1, which three of path 0 overtook");
        assert_eq!((board.send_again(1), board.send_again(1)), (Some(1), None));
        assert_eq!(board.under_way(), by(1, 5));
        (0..4).for_each(|_| board.send(0)); // 9 to 12
        board.receive(1, &span(8, 12), 0);
        assert_eq!(board.judge(), [0; PATHS], "path 0 is no sign of loss on path 1");
        (0..3).for_each(|_| board.send(1)); // 13 to 15
        board.receive(1, &span(12, 15), 1);
        assert_eq!(board.judge(), by(1, 5), "2 to 5 for the first time, and 1 again");
    }

    #[test]
    fn a_time_out_loses_all() {
        let mut board = board();
        board.receive(1, &span(2, 3), 1);
        board.lose_all();
        assert_eq!(board.under_way(), [0; PATHS]);
        let again: Vec<u32> = std::iter::from_fn(|| board.send_again(2)).collect();
        assert_eq!(again, [1, 2, 4, 5, 6, 7, 8]);
        assert_eq!(board.receive(9, &[], 2), by(2, 7));
        assert_eq!(board.under_way(), [0; PATHS]);
    }

    proptest! {
        /// In all cases, the counts by path are those of the flags, and no lost segment is forgotten.
        #[test]
        fn counts_agree_with_flags(
            steps in prop::collection::vec((0u8..5, 0u8..8, 0u32..20, 1u16..8), 1..200),
        ) {
            let mut board = PathBoard::new(63);
            for (what, path, at, len) in steps {
                match what {
                    0 | 1 if board.end - board.base < 60 => board.send(path),
                    2 => { board.send_again(path); }
                    3 => {
                        let una = (board.base + at / 6).min(board.end);
                        board.receive(una, &span(at as u16, at as u16 + len), path);
                        board.judge();
                    }
                    4 if at == 0 => board.lose_all(),
                    _ => {}
                }
                let (mut under_way, mut waiting) = ([0; PATHS], 0);
                for segment in board.base..board.end {
                    let flag = *board.flag(segment);
                    under_way[path_of(flag)] += u32::from(is_under_way(flag));
                    waiting += u32::from(flag & (RECEIVED | LOST | AGAIN) == LOST);
                }
                prop_assert_eq!(board.under_way(), under_way);
                prop_assert_eq!(board.waiting, waiting);
            }
            while board.send_again(0).is_some() {}
            let left = board.end - board.base;
            let got: u32 = board.receive(board.end, &[], 0).iter().sum();
            prop_assert!(got <= left);
            prop_assert_eq!(board.under_way(), [0; PATHS]);
        }
    }
}
