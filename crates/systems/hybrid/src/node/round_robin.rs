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
        let word = &mut self.words[at / 64];
        *word = *word & !(1 << (at % 64)) | u64::from(member) << (at % 64);
    }
    /// Removes `at` unless it `stays`, without a branch on that.
    #[inline]
    pub fn keep(&mut self, at: usize, stays: bool) {
        self.words[at / 64] &= !(u64::from(!stays) << (at % 64));
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
        self.next_where(|_| u64::MAX)
    }
    /// The next member that is also in `others`. It is not taken.
    #[inline]
    pub fn peek_among(&self, others: &RoundRobin) -> Option<usize> {
        self.next_where(|at| others.words[at])
    }
    /// Whether a member is also in `others`.
    #[inline]
    pub fn meets(&self, others: &RoundRobin) -> bool {
        self.words.iter().zip(&others.words).any(|(own, other)| own & other != 0)
    }
    /// Whether `at` is a member.
    #[inline]
    pub fn has(&self, at: usize) -> bool {
        self.words[at / 64] >> (at % 64) & 1 == 1
    }
    /// The next member among those that `mask` leaves of each word.
    #[inline]
    fn next_where(&self, mask: impl Fn(usize) -> u64) -> Option<usize> {
        let start = if self.last + 1 >= self.size { 0 } else { self.last + 1 };
        if let [word] = self.words[..] {
            let all = word & mask(0);
            let later = all & (u64::MAX << start);
            let found = if later == 0 { all } else { later };
            return (found != 0).then(|| found.trailing_zeros() as usize);
        }
        self.first_from(start, &mask).or_else(|| self.first_from(0, &mask))
    }
    /// Takes `at`.
    pub fn taken(&mut self, at: usize) {
        self.last = at;
    }
    fn first_from(&self, start: usize, mask: impl Fn(usize) -> u64) -> Option<usize> {
        let mut later = u64::MAX << (start % 64);
        for (at, word) in self.words.iter().enumerate().skip(start / 64) {
            let left = word & mask(at) & later;
            if left != 0 {
                return Some(at * 64 + left.trailing_zeros() as usize);
            }
            later = u64::MAX;
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
                    match (list[at], number % 2) {
                        (false, 0) => turns.keep(at, false),
                        (stays, _) => turns.set(at, stays),
                    }
                    turns.keep(at, true);
                    prop_assert_eq!(turns.has(at), list[at]);
                } else {
                    let want = (1..=size).map(|n| (last + n) % size).find(|&at| list[at]);
                    let mut even = RoundRobin::new(size);
                    (0..size).step_by(2).for_each(|at| even.set(at, true));
                    let mut round = (1..=size).map(|n| (last + n) % size);
                    let among = round.find(|&at| list[at] && at % 2 == 0);
                    prop_assert_eq!(turns.peek_among(&even), among);
                    prop_assert_eq!(turns.meets(&even), among.is_some());
                    prop_assert_eq!(turns.next(), want);
                    last = want.unwrap_or(last);
                }
            }
        }
    }
}
