//! Memory for the packets that wait in the queues of one node.

use crate::prefetch::prefetch;

/// Items in places that are used again, the last free one first, so that they stay in the cache. An item may be linked
/// to the one behind it.
#[derive(Clone, Debug)]
pub struct Pool<T> {
    items: Vec<Place<T>>,
    /// By place, the one that follows it, of the same queue or also free. They are apart from the items, so that an item that
    /// nobody reads is not read for them.
    next: Vec<u32>,
    /// The first free place.
    free: u32,
    held: u32,
}

/// One cache line for a packet with its times.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Place<T>(T);

const NONE: u32 = u32::MAX;

impl<T> Default for Pool<T> {
    fn default() -> Pool<T> {
        Pool { items: Vec::new(), next: Vec::new(), free: NONE, held: 0 }
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
        let Some(kept) = self.items.get_mut(place as usize) else { return self.grow(item) };
        kept.0 = item;
        self.free = self.next[place as usize];
        place
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, item: T) -> u32 {
        self.items.push(Place(item));
        self.next.push(NONE);
        self.next.len() as u32 - 1
    }

    /// The item at `place` is followed by the one at `next`.
    #[inline]
    pub fn link(&mut self, place: u32, next: u32) {
        self.next[place as usize] = next;
    }

    /// Frees `place`. Returns the item that was there, and the place of the one that followed it.
    #[inline(always)]
    pub fn release(&mut self, place: u32) -> (&T, u32) {
        self.held -= 1;
        let next = std::mem::replace(&mut self.next[place as usize], self.free);
        self.free = place;
        (&self.items[place as usize].0, next)
    }

    /// Requests the item at `place`, which is needed soon, and the place of the next item to be added.
    #[inline(always)]
    pub fn expect(&self, place: u32) {
        prefetch(&self.items, place);
        prefetch(&self.items, self.free);
    }

    /// The items from one place to another that follows it.
    pub fn from_to(&self, first: u32, last: u32) -> impl Iterator<Item = &T> {
        let next = move |at: &u32| (*at != last).then(|| self.next[*at as usize]);
        std::iter::successors(Some(first), next).map(|at| &self.items[at as usize].0)
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
