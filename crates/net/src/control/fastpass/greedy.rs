//! Service with visits that take all that a pair can use: one visit to each pair in a batch, whose
//! grants need no second look.

use super::active::ActivePairs;
use super::allocate::Grant;
use super::visit::{Ends, Head, hopeful, join, ones};

/// What pairs go through.
pub(super) struct Greedy<'a> {
    pub(super) ends: &'a mut Ends,
    pub(super) active: &'a mut ActivePairs,
    pub(super) out: &'a mut Vec<Grant>,
    /// Those that got something and wait for more, in order.
    pub(super) served: &'a mut Vec<Head>,
    /// Those that got all.
    pub(super) done: &'a mut Vec<u32>,
}

impl Greedy<'_> {
    /// Visits the pairs behind place `from`; those that get nothing stay there, in order. Those that can
    /// get something are found first, 64 pairs at a time.
    #[inline(never)]
    pub(super) fn waiting(
        &mut self,
        waiting: &mut Vec<Head>,
        from: usize,
        take: impl Fn(u64, u32) -> (u64, u32),
    ) {
        let mut none = from;
        let most = waiting.len() - from;
        self.served.resize(most + 1, Head::default());
        self.done.resize(most + 1, 0);
        let (served, done) = (&mut self.served[..], &mut self.done[..]);
        let (mut waits, mut ends) = (0, 0);
        for from in (from..waiting.len()).step_by(64) {
            let some = from..waiting.len().min(from + 64);
            let mut can = hopeful(&waiting[some.clone()], self.ends);
            for i in ones(can) {
                let head = waiting[from + i];
                let free = self.ends.free(head);
                if free == 0 {
                    can ^= 1 << i;
                    continue;
                }
                let (slots, count) = take(free, head.left());
                self.ends.take(head, slots);
                self.out.push(Grant { src: head.src(), dst: head.dst(), slots });
                let after = head.less(count);
                served[waits] = after;
                done[ends] = head.key();
                waits += usize::from(after.left() != 0);
                ends += usize::from(after.left() == 0);
            }
            for i in ones(!can & (!0 >> (64 - some.len()))) {
                waiting[none] = waiting[from + i];
                none += 1;
            }
        }
        waiting.truncate(none);
        self.served.truncate(waits);
        self.done.truncate(ends);
    }
    /// Visits pairs that asked since the last batch. Those that get nothing are appended to `waiting`; those
    /// that get all at once never become active.
    #[inline(never)]
    pub(super) fn asked(
        &mut self,
        asked: &mut Vec<Head>,
        waiting: &mut Vec<Head>,
        take: impl Fn(u64, u32) -> (u64, u32),
    ) {
        let mut kept = 0;
        for at in 0..asked.len() {
            let head = asked[at];
            if self.active.is_active(head.key()) {
                asked[kept] = head;
                kept += usize::from(!join(head, self.active, self.ends));
                continue;
            }
            match self.visit(head, &take) {
                Some(after) if after.left() == 0 => self.ends.leave(head),
                Some(after) => {
                    self.active.begin(head.key());
                    self.served.push(after);
                }
                None => {
                    self.active.begin(head.key());
                    waiting.push(head);
                }
            }
        }
        asked.truncate(kept);
    }
    #[inline(always)]
    fn visit(&mut self, head: Head, take: &impl Fn(u64, u32) -> (u64, u32)) -> Option<Head> {
        let free = self.ends.free(head);
        if free == 0 {
            return None;
        }
        let (slots, count) = take(free, head.left());
        self.ends.take(head, slots);
        self.out.push(Grant { src: head.src(), dst: head.dst(), slots });
        Some(head.less(count))
    }
}
