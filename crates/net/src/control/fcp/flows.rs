//! One entry per destination, and which of them the other end still has to be told of.

use std::collections::VecDeque;

/// No destination: a network has fewer nodes.
const NONE: u32 = u32::MAX;

/// What is counted for a destination. Counts are modulo 2³².
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Flow {
    dst: u32,
    /// Slots demanded in this epoch.
    pub(super) demanded: u32,
    /// Slots granted in this epoch; at the endpoint, those that arrived or were given up.
    pub(super) granted: u32,
    /// Waits to be reported.
    due: bool,
}

const EMPTY: Flow = Flow { dst: NONE, demanded: 0, granted: 0, due: false };

impl Flow {
    /// Slots demanded and not granted.
    pub(super) const fn wanted(&self) -> u32 {
        self.demanded.wrapping_sub(self.granted)
    }
}

/// A table with open addressing and linear probing, at most half full, that only grows; and the queue of
/// what is due. Four entries share a cache line.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    entries: Vec<Flow>,
    used: usize,
    shift: u32,
    due: VecDeque<u32>,
}

impl Flows {
    pub(super) fn new() -> Flows {
        Flows { entries: vec![EMPTY; 4], used: 0, shift: 62, due: VecDeque::new() }
    }
    /// Where the destination is, or would be.
    #[inline]
    fn find(&self, dst: u32) -> usize {
        let mask = self.entries.len() - 1;
        let mut at = (u64::from(dst).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        while self.entries[at & mask].dst != dst && self.entries[at & mask].dst != NONE {
            at += 1;
        }
        at & mask
    }
    /// What is counted for `dst`: nothing, if it was never named.
    pub(super) fn get(&self, dst: u32) -> Flow {
        self.entries[self.find(dst)]
    }
    /// To count something for `dst`.
    #[inline]
    pub(super) fn entry(&mut self, dst: u32) -> &mut Flow {
        let mut at = self.find(dst);
        if self.entries[at].dst == NONE {
            at = self.add(dst);
        }
        &mut self.entries[at]
    }
    fn add(&mut self, dst: u32) -> usize {
        self.used += 1;
        if self.used * 2 > self.entries.len() {
            self.grow();
        }
        let at = self.find(dst);
        self.entries[at].dst = dst;
        at
    }
    fn grow(&mut self) {
        let twice = vec![EMPTY; self.entries.len() * 2];
        let old = std::mem::replace(&mut self.entries, twice);
        self.shift -= 1;
        for flow in old.into_iter().filter(|flow| flow.dst != NONE) {
            let at = self.find(flow.dst);
            self.entries[at] = flow;
        }
    }
    /// Has this destination reported, once.
    #[inline]
    pub(super) fn report(&mut self, dst: u32) {
        let flow = self.entry(dst);
        if !std::mem::replace(&mut flow.due, true) {
            self.due.push_back(dst);
        }
    }
    /// Whether anything is due.
    pub(super) fn is_due(&self) -> bool {
        !self.due.is_empty()
    }
    /// What is due longest, no longer due.
    #[inline]
    pub(super) fn take(&mut self) -> Option<(u32, Flow)> {
        let dst = self.due.pop_front()?;
        let flow = self.entry(dst);
        flow.due = false;
        Some((dst, *flow))
    }
    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.entries.fill(EMPTY);
        self.used = 0;
        self.due.clear();
    }
    /// A new epoch: what is wanted becomes the demand, all of it due.
    pub(super) fn restart(&mut self) {
        let wanted = self.entries.iter().filter(|flow| flow.wanted() > 0);
        let mut wanted: Vec<(u32, u32)> = wanted.map(|flow| (flow.dst, flow.wanted())).collect();
        // Not in the order of the table.
        wanted.sort_unstable();
        self.clear();
        for (dst, slots) in wanted {
            self.entry(dst).demanded = slots;
            self.report(dst);
        }
    }
}
