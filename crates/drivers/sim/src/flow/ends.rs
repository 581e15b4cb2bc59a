//! The end times of many items, which change often.

use super::agenda::Agenda;

/// Entries that no longer count are removed when they are more than this and those that count. Tests remove them often.
const LEFTOVERS: usize = if cfg!(test) { 1 } else { 1024 };

/// An item that ends.
pub(super) trait Timed {
    /// The time at which it ends; [`u64::MAX`] if never.
    fn due(&self) -> u64;
    /// Its time in the queue, which may be earlier; [`u64::MAX`] if it is not there, as at first. The queue itself is far
    /// away in memory, and most changes need not touch it.
    fn queued(&mut self) -> &mut u64;
}

/// The order in which items end. The caller has the items, and passes them to each call.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends {
    /// An entry counts if its time is that of its item in the queue.
    agenda: Agenda,
    /// The number of items in the queue.
    queued: usize,
}

impl Ends {
    /// The end of an item has changed.
    #[inline]
    pub fn update(&mut self, items: &mut [impl Timed], item: u32) {
        let entry = &mut items[item as usize];
        let due = entry.due();
        let queued = entry.queued();
        if due < *queued {
            self.queued += usize::from(*queued == u64::MAX);
            *queued = due;
            self.agenda.push((due, item));
            if self.agenda.len() > 2 * self.queued + LEFTOVERS {
                self.agenda.retain(|(at, item)| *items[item as usize].queued() == at);
            }
        }
    }

    /// The time of the first end, and its item.
    pub fn first(&mut self, items: &mut [impl Timed]) -> Option<(u64, u32)> {
        loop {
            let (at, item) = self.agenda.first()?;
            let entry = &mut items[item as usize];
            let due = entry.due();
            if due == at {
                return Some((at, item));
            }
            self.agenda.pop();
            let queued = entry.queued();
            if *queued == at {
                *queued = due;
                match due {
                    u64::MAX => self.queued -= 1,
                    due => self.agenda.push((due, item)),
                }
            }
        }
    }

    /// The items of which one is likely to end soon.
    pub fn soon(&self) -> impl Iterator<Item = u32> {
        self.agenda.next().map(|(_, item)| item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Clone, Debug)]
    struct Timer {
        due: u64,
        queued: u64,
    }

    impl Timed for Timer {
        fn due(&self) -> u64 {
            self.due
        }

        fn queued(&mut self) -> &mut u64 {
            &mut self.queued
        }
    }

    proptest! {
        #[test]
        fn the_first_is_the_least(
            steps in prop::collection::vec((0u32..20, prop::option::of(0u64..50)), 1..200),
        ) {
            let (mut ends, mut plain) = (Ends::default(), BTreeMap::new());
            let mut timers = vec![Timer { due: u64::MAX, queued: u64::MAX }; 20];
            for (item, due) in steps {
                let due = due.unwrap_or(u64::MAX);
                timers[item as usize].due = due;
                ends.update(&mut timers, item);
                plain.insert(item, due);
                let least = plain.values().copied().min().filter(|due| *due < u64::MAX);
                prop_assert_eq!(ends.first(&mut timers).map(|(due, _)| due), least);
                prop_assert!(ends.first(&mut timers).is_none_or(|(due, item)| plain[&item] == due));
            }
        }
    }
}
