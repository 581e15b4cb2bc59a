//! Memory for the packets that wait in the queues of one node.

/// Items in places that are used again, the last free one first, so that they stay in the cache. An item may be linked
/// to the one behind it.
#[derive(Clone, Debug)]
pub struct Pool<T> {
    slots: Vec<Slot<T>>,
    /// The first free place; free places are linked.
    free: u32,
    held: u32,
}

/// A place: one cache line for a packet with its times.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Slot<T> {
    item: T,
    next: u32,
}

const NONE: u32 = u32::MAX;

impl<T> Default for Pool<T> {
    fn default() -> Pool<T> {
        Pool { slots: Vec::new(), free: NONE, held: 0 }
    }
}

impl<T> Pool<T> {
    /// The number of items.
    pub fn held(&self) -> u64 {
        self.held.into()
    }

    /// Adds an item. Returns its place.
    #[inline(always)]
    pub fn keep(&mut self, item: T) -> u32 {
        self.held += 1;
        let place = self.free;
        let Some(slot) = self.slots.get_mut(place as usize) else { return self.grow(item) };
        self.free = slot.next;
        slot.item = item;
        place
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, item: T) -> u32 {
        self.slots.push(Slot { item, next: NONE });
        self.slots.len() as u32 - 1
    }

    /// The item at `place` is followed by the one at `next`.
    #[inline]
    pub fn link(&mut self, place: u32, next: u32) {
        self.slots[place as usize].next = next;
    }

    /// Frees `place`. Returns the item that was there, and the place of the one that followed it.
    #[inline(always)]
    pub fn release(&mut self, place: u32) -> (&T, u32) {
        self.held -= 1;
        let slot = &mut self.slots[place as usize];
        let next = std::mem::replace(&mut slot.next, self.free);
        self.free = place;
        (&slot.item, next)
    }

    /// The items from one place to another that follows it.
    pub fn from_to(&self, first: u32, last: u32) -> impl Iterator<Item = &T> {
        let next = move |at: &u32| (*at != last).then(|| self.slots[*at as usize].next);
        std::iter::successors(Some(first), next).map(|at| &self.slots[at as usize].item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_used_again() {
        let mut pool = Pool::default();
        let places = ["a", "b", "c"].map(|item| pool.keep(item));
        pool.link(places[0], places[2]);
        assert_eq!(pool.from_to(places[0], places[2]).collect::<Vec<_>>(), [&"a", &"c"]);
        assert_eq!(pool.release(places[0]), (&"a", places[2]));
        assert_eq!(pool.keep("d"), places[0]);
        assert_eq!(pool.release(places[0]).0, &"d");
        assert_eq!(pool.held(), 2);
    }
}
