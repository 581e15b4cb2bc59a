//! The events of a node in a window, and their order.

use crate::calendar::Entry;
use crate::engine::LONGEST_WINDOW;
use crate::line::PORT_MASK;

/// An event of one node in a window. The key is made of the time since the window's start and the port. The others
/// are the position of the event in the calendar and, at a switch, the port by which the packet leaves.
#[derive(Clone, Copy)]
pub(crate) struct Item {
    key: u64,
    pub position: u32,
    pub out: u32,
}

impl Item {
    /// The event at `position` of the calendar, in a window that begins at `start`. A packet leaves by `out`.
    #[inline]
    pub fn new(entry: &Entry, position: u32, start: u64, out: u32) -> Item {
        let key = (entry.time - start) << PORT_BITS | u64::from(entry.to & PORT_MASK);
        Item { key, position, out }
    }
    /// The index of the port of arrival, or the node's own slot.
    #[inline]
    pub fn port(&self) -> u32 {
        self.key as u32 & PORT_MASK
    }
    /// The time, in a window that begins at `start`.
    #[inline]
    pub fn time(&self, start: u64) -> u64 {
        start + (self.key >> PORT_BITS)
    }
}

const PORT_BITS: u32 = PORT_MASK.count_ones();
/// No event has a higher key: windows are shorter than [`LONGEST_WINDOW`].
const LAST_KEY: u64 = LONGEST_WINDOW << PORT_BITS;
/// No position, and no port.
pub(crate) const NONE: u32 = u32::MAX;
/// Items that come after all events.
const PADDING: [Item; 16] = [Item { key: LAST_KEY, position: NONE, out: NONE }; 16];
/// In place of a position: the node has had no event since its last samples, and these found it idle. No position is as high.
pub(crate) const IDLE: u32 = NONE - 1;

/// Sorts by key, stably: packets that enter from outside at the same time keep their order. Short lists (nearly all of
/// them) are ranked instead of sorted, because their order is random, and a comparison without a branch costs a tenth of
/// a misprediction.
#[inline(never)]
pub(crate) fn sort(items: &mut Vec<Item>) {
    match items.len() {
        0 | 1 => {}
        2 => rank::<2>(items),
        3..=4 => rank::<4>(items),
        5..=8 => rank::<8>(items),
        9..=16 => rank::<16>(items),
        17..=32 => rank::<32>(items),
        _ => items.sort_by_key(|item| item.key),
    }
}

/// Moves each of `N / 2` to `N` items to the place that the number of smaller ones gives it. Copies have a length known to
/// the compiler: padding is cheaper than a call for each short list, or a loop whose end cannot be predicted.
#[inline]
fn rank<const N: usize>(items: &mut Vec<Item>) {
    let len = items.len();
    items.extend_from_slice(&PADDING[..N / 2]);
    let Some(places) = items.first_chunk_mut::<N>() else { return };
    let given = *places;
    let ranks = ranks(&given);
    for at in 0..N {
        places[ranks[at] as usize & (N - 1)] = given[at];
    }
    items.truncate(len);
}

/// By item, the number of those that come before it. Each is compared with all at once, in vectors of the processor, which
/// compare signed numbers. At equal keys the earlier item comes first, as if the key of the later one were larger by one.
#[inline]
fn ranks<const N: usize>(items: &[Item; N]) -> [i64; N] {
    let keys: [i64; N] = std::array::from_fn(|at| items[at].key as i64);
    let mut ranks = [0; N];
    for (one, key) in keys.iter().enumerate() {
        for other in 0..N {
            ranks[other] += i64::from(*key < keys[other] + i64::from(other > one));
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Lists of all lengths, with many equal keys.
        #[test]
        fn equal_keys_keep_their_order(
            keys in prop::collection::vec(prop_oneof![0u64..3, LAST_KEY - 3..=LAST_KEY], 0..200),
        ) {
            let item = |(position, key)| Item { key, position, out: NONE };
            let mut items: Vec<Item> = (0..).zip(keys).map(item).collect();
            sort(&mut items);
            prop_assert!(items.is_sorted_by_key(|item| (item.key, item.position)));
        }
    }
}
