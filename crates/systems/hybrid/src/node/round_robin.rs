//! Round robin among the members of a set.

/// A set of small numbers that are taken in turn.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    words: Vec<u64>,
    size: usize,
    last: usize,
}

impl RoundRobin {
    /// An empty set of numbers below `size`.
    pub fn new(size: usize) -> RoundRobin {
        RoundRobin { words: vec![0; size.div_ceil(64)], size, last: size.saturating_sub(1) }
    }
    /// Adds `at` to the set, or removes it.
    #[inline]
    pub fn set(&mut self, at: usize, member: bool) {
        let bit = 1 << (at % 64);
        if member {
            self.words[at / 64] |= bit;
        } else {
            self.words[at / 64] &= !bit;
        }
    }
    /// Takes the next member after the last one that was taken.
    #[inline]
    pub fn next(&mut self) -> Option<usize> {
        let found = self.peek()?;
        self.last = found;
        Some(found)
    }
    /// The next member. It is not taken.
    #[inline]
    pub fn peek(&self) -> Option<usize> {
        let start = if self.last + 1 >= self.size { 0 } else { self.last + 1 };
        if let [word] = self.words[..] {
            let later = word & (u64::MAX << start);
            let found = if later == 0 { word } else { later };
            return (found != 0).then(|| found.trailing_zeros() as usize);
        }
        self.first_from(start).or_else(|| self.first_from(0))
    }
    /// The next member that is also in `others`. It is not taken.
    pub fn peek_among(&self, others: &RoundRobin) -> Option<usize> {
        let words = self.words.iter().zip(&others.words).map(|(own, other)| own & other);
        RoundRobin { words: words.collect(), size: self.size, last: self.last }.peek()
    }
    /// Takes `at`.
    pub fn taken(&mut self, at: usize) {
        self.last = at;
    }
    fn first_from(&self, start: usize) -> Option<usize> {
        let first = start / 64;
        let mut mask = u64::MAX << (start % 64);
        for (at, word) in self.words.iter().enumerate().skip(first) {
            let left = word & mask;
            if left != 0 {
                return Some(at * 64 + left.trailing_zeros() as usize);
            }
            mask = u64::MAX;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The result is the same as that of a walk around a list.
        #[test]
        fn turns_go_round(
            size in 1usize..150, steps in prop::collection::vec((any::<bool>(), any::<u16>()), 1..200)
        ) {
            let mut turns = RoundRobin::new(size);
            let (mut list, mut last) = (vec![false; size], size - 1);
            for (set, number) in steps {
                let at = usize::from(number) % size;
                if set {
                    list[at] = !list[at];
                    turns.set(at, list[at]);
                } else {
                    let want = (1..=size).map(|n| (last + n) % size).find(|&at| list[at]);
                    let mut even = RoundRobin::new(size);
                    (0..size).step_by(2).for_each(|at| even.set(at, true));
                    let mut round = (1..=size).map(|n| (last + n) % size);
                    let among = round.find(|&at| list[at] && at % 2 == 0);
                    prop_assert_eq!(turns.peek_among(&even), among);
                    prop_assert_eq!(turns.next(), want);
                    last = want.unwrap_or(last);
                }
            }
        }
    }
}
