//! A queue of plain records that allocates memory only when it is longer than before.

/// A FIFO whose last record can also be removed.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    /// The number of slots is a power of two, or zero.
    slots: Vec<T>,
    head: usize,
    len: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring { slots: Vec::new(), head: 0, len: 0 }
    }
}

impl<T: Copy + Default> Ring<T> {
    /// The number of records.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there are no records.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The index of the `n`-th record.
    #[inline]
    fn place(&self, n: usize) -> usize {
        self.head.wrapping_add(n) & self.slots.len().wrapping_sub(1)
    }
    /// Adds a record at the end.
    #[inline]
    pub fn push(&mut self, item: T) {
        if self.len == self.slots.len() {
            self.grow();
        }
        let at = self.place(self.len);
        self.slots[at] = item;
        self.len += 1;
    }
    #[cold]
    fn grow(&mut self) {
        let ordered: Vec<T> = (0..self.len).map(|n| self.slots[self.place(n)]).collect();
        self.slots = ordered;
        self.slots.resize((self.len * 2).max(16), T::default());
        self.head = 0;
    }
    /// The first record.
    #[inline]
    pub fn first(&self) -> Option<&T> {
        if self.len == 0 { None } else { self.slots.get(self.head) }
    }
    /// Takes the first record, which stays in its place until another one is added: the caller copies it once.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<&T> {
        let at = self.head;
        self.len = self.len.checked_sub(1)?;
        self.head = self.place(1);
        self.slots.get(at)
    }
    /// Takes the last record.
    pub fn pop_last(&mut self) -> Option<&T> {
        self.len = self.len.checked_sub(1)?;
        self.slots.get(self.place(self.len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// The ring behaves like the queue of the standard library.
        #[test]
        fn it_is_a_queue(steps in prop::collection::vec(0u8..6, 0..400)) {
            let (mut ring, mut queue) = (Ring::default(), VecDeque::new());
            for (n, step) in steps.into_iter().enumerate() {
                match step {
                    0..=2 => { ring.push(n); queue.push_back(n); }
                    3 | 4 => prop_assert_eq!(ring.pop().copied(), queue.pop_front()),
                    _ => prop_assert_eq!(ring.pop_last().copied(), queue.pop_back()),
                }
                prop_assert_eq!((ring.len(), ring.first()), (queue.len(), queue.front()));
            }
        }

        /// A ring that has been long once allocates no more memory.
        #[test]
        fn memory_is_used_again(most in 1usize..200) {
            let mut ring = Ring::default();
            (0..most).for_each(|n| ring.push(n));
            let (before, capacity) = (ring.slots.as_ptr(), ring.slots.capacity());
            for n in 0..1_000 {
                ring.pop();
                ring.push(n);
            }
            prop_assert_eq!((ring.slots.as_ptr(), ring.slots.capacity()), (before, capacity));
        }
    }
}
