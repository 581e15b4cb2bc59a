//! A priority queue of times that change often: a heap with the index of each entry.

/// Marks an item that is not in the queue.
const ABSENT: u32 = u32::MAX;
/// The number of children of an entry.
const FAN: usize = 4;

/// Items by the time at which they must be checked, the earliest first. Of items with equal times, the one
/// with the lowest number comes first. If an item's time becomes later, the queue may keep the old time: the
/// caller corrects it when the item comes first.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    heap: Vec<(u64, u32)>,
    place: Vec<u32>,
}

impl Agenda {
    /// Makes sure that item number `item` is checked no later than at `time`.
    pub fn advance(&mut self, item: u32, time: u64) {
        if self.place.len() <= item as usize {
            self.place.resize(item as usize + 1, ABSENT);
        }
        let mut at = self.place[item as usize];
        if at == ABSENT {
            at = self.heap.len() as u32;
            self.heap.push((time, item));
        } else if self.heap[at as usize].0 <= time {
            return;
        }
        self.rise(at as usize, (time, item));
    }

    /// Postpones the first item to `time`.
    pub fn put_off_first(&mut self, time: u64) {
        if let Some(&(_, item)) = self.heap.first() {
            self.sink(0, (time, item));
        }
    }

    /// The first item and its time.
    pub fn first(&self) -> Option<(u64, u32)> {
        self.heap.first().copied()
    }

    /// The items of which one becomes the first when the first one is removed.
    pub fn next(&self) -> &[(u64, u32)] {
        self.heap.get(1..self.heap.len().min(1 + FAN)).unwrap_or(&[])
    }

    /// Removes item number `item`.
    pub fn remove(&mut self, item: u32) {
        let at = self.place.get(item as usize).copied().unwrap_or(ABSENT);
        if at == ABSENT {
            return;
        }
        self.place[item as usize] = ABSENT;
        let Some(last) = self.heap.pop() else { return };
        if (at as usize) < self.heap.len() {
            self.rise(at as usize, last);
            let now_at = self.place[last.1 as usize] as usize;
            self.sink(now_at, last);
        }
    }

    /// Moves `entry` from `at` up to its position.
    fn rise(&mut self, mut at: usize, entry: (u64, u32)) {
        while at > 0 {
            let parent = (at - 1) / FAN;
            if self.heap[parent] <= entry {
                break;
            }
            self.put(at, self.heap[parent]);
            at = parent;
        }
        self.put(at, entry);
    }

    /// Moves `entry` from `at` down to its position.
    fn sink(&mut self, mut at: usize, entry: (u64, u32)) {
        loop {
            let first = at * FAN + 1;
            let last = (first + FAN).min(self.heap.len());
            let Some(least) = (first..last).min_by_key(|&child| self.heap[child]) else { break };
            if self.heap[least] >= entry {
                break;
            }
            self.put(at, self.heap[least]);
            at = least;
        }
        self.put(at, entry);
    }

    fn put(&mut self, at: usize, entry: (u64, u32)) {
        self.heap[at] = entry;
        self.place[entry.1 as usize] = at as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn is_a_sorted_map(steps in prop::collection::vec((0u8..4, 0u32..20, 0u64..50), 1..200)) {
            let mut agenda = Agenda::default();
            let mut plain: BTreeMap<u32, u64> = BTreeMap::new();
            for (what, item, time) in steps {
                let first = plain.iter().map(|(item, time)| (*time, *item)).min();
                match what {
                    0 => {
                        agenda.remove(item);
                        plain.remove(&item);
                    }
                    1 => {
                        if let Some((at, item)) = first {
                            agenda.put_off_first(at + time);
                            plain.insert(item, at + time);
                        }
                    }
                    _ => {
                        agenda.advance(item, time);
                        let known = plain.entry(item).or_insert(time);
                        *known = time.min(*known);
                    }
                }
                let first = plain.iter().map(|(item, time)| (*time, *item)).min();
                prop_assert_eq!(agenda.first(), first);
            }
        }
    }
}
