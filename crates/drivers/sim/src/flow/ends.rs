//! The end times of many items, which change often.

use super::agenda::Agenda;
use slotline_net::prefetch::prefetch;

/// Entries that no longer count are removed when they are more than this and those that count. Tests remove them often.
const LEFTOVERS: usize = if cfg!(test) { 1 } else { 1024 };

/// The times of an item.
#[derive(Clone, Copy, Debug)]
struct Item {
    /// The time at which it ends.
    due: u64,
    /// Its time in the queue, which may be earlier; [`u64::MAX`] if it is not there. The queue itself is far away in
    /// memory, and most changes need not touch it.
    queued: u64,
}

impl Item {
    const NEVER: Item = Item { due: u64::MAX, queued: u64::MAX };
}

/// By item, the time at which it ends.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends {
    items: Vec<Item>,
    /// An entry counts if its time is that of its item in the queue.
    agenda: Agenda,
    /// The number of items in the queue.
    queued: usize,
}

impl Ends {
    /// Sets the end of an item to `due`; [`u64::MAX`] means never.
    #[inline]
    pub fn set(&mut self, item: u32, due: u64) {
        if self.items.len() <= item as usize {
            self.items.resize(item as usize + 1, Item::NEVER);
        }
        let entry = &mut self.items[item as usize];
        entry.due = due;
        if due < entry.queued {
            self.queued += usize::from(entry.queued == u64::MAX);
            entry.queued = due;
            self.agenda.push((due, item));
            if self.agenda.len() > 2 * self.queued + LEFTOVERS {
                let items = &self.items;
                self.agenda.retain(|(at, item)| items[item as usize].queued == at);
            }
        }
    }

    /// The time of the first end, and its item.
    pub fn first(&mut self) -> Option<(u64, u32)> {
        loop {
            let (at, item) = self.agenda.first()?;
            let entry = &mut self.items[item as usize];
            if entry.due == at {
                return Some((at, item));
            }
            self.agenda.pop();
            if entry.queued == at {
                entry.queued = entry.due;
                match entry.due {
                    u64::MAX => self.queued -= 1,
                    due => self.agenda.push((due, item)),
                }
            }
        }
    }

    /// Requests the times of an item.
    #[inline]
    pub fn prefetch(&self, item: u32) {
        prefetch(&self.items, item);
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

    proptest! {
        #[test]
        fn the_first_is_the_least(
            steps in prop::collection::vec((0u32..20, prop::option::of(0u64..50)), 1..200),
        ) {
            let (mut ends, mut plain) = (Ends::default(), BTreeMap::new());
            for (item, due) in steps {
                let due = due.unwrap_or(u64::MAX);
                ends.set(item, due);
                plain.insert(item, due);
                let least = plain.values().copied().min().filter(|due| *due < u64::MAX);
                prop_assert_eq!(ends.first().map(|(due, _)| due), least);
                prop_assert!(ends.first().is_none_or(|(due, item)| plain[&item] == due));
            }
        }
    }
}
