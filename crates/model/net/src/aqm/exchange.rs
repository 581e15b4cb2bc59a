//! Updates between bumps in front of one switch (NetBump, 5.2.2): each bump reports the packets that have passed
//! it, and merges the reports of the others.

use super::bank::Bank;
use super::discipline::Discipline;
use crate::id::PortId;
use crate::time::Time;
use crate::wire::bump::{MOST_PACKETS, Update};

/// Collects the packets that pass one bump into updates for its neighbours.
#[derive(Clone, Debug)]
pub struct Reporter {
    every: usize,
    next: Update,
}

impl Reporter {
    /// Sends an update after every `every` packets, at most [`MOST_PACKETS`].
    pub fn new(every: u32) -> Reporter {
        let every = (every as usize).clamp(1, MOST_PACKETS);
        Reporter { every, next: Update::default() }
    }

    /// A packet to `port` passes. Returns the update to send now, if there is one.
    pub fn passed(&mut self, len: u16, port: PortId) -> Option<Update> {
        self.next.packets.push((len, port));
        if self.next.packets.len() < self.every {
            return None;
        }
        let seq = self.next.seq.wrapping_add(1);
        Some(std::mem::replace(&mut self.next, Update { seq, packets: Vec::new() }))
    }
}

/// Merges the updates of one neighbour. A late update still counts, from its arrival on. Lost updates are detected by
/// the numbers of updates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Merger {
    expected: u32,
    /// The number of merged updates.
    pub merged: u64,
    /// The number of updates that are missing so far.
    pub lost: u64,
    /// The number of updates that arrived after later ones.
    pub late: u64,
}

impl Merger {
    /// An update has arrived.
    pub fn take<D: Discipline>(&mut self, update: &Update, bank: &mut Bank<D>, now: Time) {
        let ahead = update.seq.wrapping_sub(self.expected);
        if ahead < 1 << 31 {
            self.lost += u64::from(ahead);
            self.expected = update.seq.wrapping_add(1);
        } else {
            self.late += 1;
            self.lost = self.lost.saturating_sub(1);
        }
        self.merged += 1;
        for &(len, port) in &update.packets {
            bank.see(port.at(), u32::from(len), now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bank::Entry;
    use super::super::virtual_queue::VirtualQueue;
    use super::super::{DropTail, Marker};
    use super::*;
    use crate::units::{Bytes, Rate};
    use proptest::prelude::*;

    fn bank() -> Bank<Marker> {
        let queue = VirtualQueue::new(Rate(1_000_000_000).inverse_rate(), Bytes(1_000_000));
        Bank::new(vec![Entry::new(queue, Marker::DropTail(DropTail)); 2])
    }

    proptest! {
        /// Two bumps share the traffic and get an update of each packet at once. Both know the whole queue.
        #[test]
        fn with_updates_at_once_both_know_everything(
            packets in prop::collection::vec((0u64..30, 64u16..1500, any::<bool>()), 1..200)
        ) {
            let (mut banks, mut whole) = ([bank(), bank()], bank());
            let (mut reporters, mut mergers) = ([Reporter::new(1), Reporter::new(1)], [Merger::default(); 2]);
            let mut now = Time::ZERO;
            for (gap, len, second) in packets {
                now += Time::us(gap);
                let own = usize::from(second);
                whole.see(1, u32::from(len), now);
                banks[own].see(1, u32::from(len), now);
                let update = reporters[own].passed(len, PortId(1)).expect("one for each packet");
                mergers[1 - own].take(&update, &mut banks[1 - own], now);
                prop_assert_eq!(banks[0].bytes(1, now), whole.bytes(1, now));
                prop_assert_eq!(banks[1].bytes(1, now), whole.bytes(1, now));
            }
        }
    }

    #[test]
    fn lost_and_late_updates_are_noticed() {
        let (mut bank, mut merger) = (bank(), Merger::default());
        let mut reporter = Reporter::new(2);
        let all: Vec<Update> = (0..12).filter_map(|_| reporter.passed(1000, PortId(0))).collect();
        assert_eq!(all.len(), 6);
        // The second is late, the fourth lost.
        for at in [0, 2, 1, 4, 5] {
            merger.take(&all[at], &mut bank, Time::ZERO);
        }
        assert_eq!(merger, Merger { expected: 6, merged: 5, lost: 1, late: 1 });
        assert_eq!(bank.bytes(0, Time::ZERO), 10_000);
    }
}
