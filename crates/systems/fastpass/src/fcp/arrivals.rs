//! Which packet carried which slots. This distinguishes lost slots from slots that a report did not count
//! yet.

use std::collections::VecDeque;

/// Slots that arrived with a packet.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    number: u64,
    dst: u32,
    slots: u32,
}

/// The slots of recent packets, and the packet up to which slots have been reported.
#[derive(Clone, Default, Debug)]
pub(super) struct Arrivals {
    slots: VecDeque<Arrival>,
    /// By destination, the latest packet with a report: slots granted up to it have arrived or are given up.
    /// The list has only recent packets, because older ones are refused. It is mostly empty.
    reports: Vec<(u32, u64)>,
}

impl Arrivals {
    pub(super) fn clear(&mut self) {
        self.slots.clear();
        self.reports.clear();
    }
    #[inline]
    pub(super) fn note(&mut self, number: u64, dst: u32, slots: u32) {
        match self.slots.back_mut() {
            Some(last) if (last.number, last.dst) == (number, dst) => last.slots += slots,
            _ => self.slots.push_back(Arrival { number, dst, slots }),
        }
    }
    /// The slots to `dst` in packets after this one.
    pub(super) fn after(&self, number: u64, dst: u32) -> u32 {
        let later = self.slots.iter().filter(|a| a.number > number && a.dst == dst);
        later.map(|a| a.slots).sum()
    }
    /// Whether this packet, or a later one, had a report of `dst`.
    #[inline]
    pub(super) fn is_reported(&self, dst: u32, number: u64) -> bool {
        self.reports.iter().any(|&(node, reported)| node == dst && reported >= number)
    }
    /// Notes that a packet has a report of `dst`, the latest so far.
    pub(super) fn report(&mut self, dst: u32, number: u64) {
        match self.reports.iter_mut().find(|report| report.0 == dst) {
            Some(report) => report.1 = number,
            None => self.reports.push((dst, number)),
        }
    }
    /// Forgets packets that are refused from now on.
    pub(super) fn forget(&mut self, highest: u64) {
        let oldest = highest.saturating_sub(64);
        while self.slots.pop_front_if(|arrival| arrival.number < oldest).is_some() {}
        self.reports.retain(|report| report.1 >= oldest);
    }
}
