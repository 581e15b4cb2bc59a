//! The end times of many items, which change often.

use super::agenda::Agenda;

/// By item, the time at which it ends.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends {
    due: Vec<u64>,
    agenda: Agenda,
}

impl Ends {
    /// Sets the end of an item to `due`; [`u64::MAX`] means never.
    #[inline]
    pub fn set(&mut self, item: u32, due: u64) {
        if self.due.len() <= item as usize {
            self.due.resize(item as usize + 1, u64::MAX);
        }
        self.due[item as usize] = due;
        if due < u64::MAX {
            self.agenda.advance(item, due);
        }
    }

    /// The time of the first end, and its item.
    pub fn first(&mut self) -> Option<(u64, u32)> {
        loop {
            let (at, item) = self.agenda.first()?;
            match self.due[item as usize] {
                due if due <= at => return Some((due, item)),
                u64::MAX => self.agenda.remove(item),
                due => self.agenda.put_off_first(due),
            }
        }
    }

    /// The items of which one is likely to end soon.
    pub fn soon(&self) -> impl Iterator<Item = u32> {
        self.agenda.next().iter().map(|(_, item)| *item)
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
