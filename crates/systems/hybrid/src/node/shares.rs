//! Turns: one after the other among those that have something.

/// A set of small numbers, from which they are taken in turn.
#[derive(Clone, Debug)]
pub struct Turns {
    words: Vec<u64>,
    size: usize,
    last: usize,
}

impl Turns {
    /// Nobody of `size`.
    pub fn new(size: usize) -> Turns {
        Turns { words: vec![0; size.div_ceil(64)], size, last: size.saturating_sub(1) }
    }
    /// Whether `at` takes part from now on.
    #[inline]
    pub fn set(&mut self, at: usize, takes_part: bool) {
        let bit = 1 << (at % 64);
        if takes_part {
            self.words[at / 64] |= bit;
        } else {
            self.words[at / 64] &= !bit;
        }
    }
    /// Whose turn it is: the next after the last one who had it.
    #[inline]
    pub fn next(&mut self) -> Option<usize> {
        let found = self.peek()?;
        self.last = found;
        Some(found)
    }
    /// Whose turn it is, without taking it.
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
    /// Whose turn it is among those in `others`, without taking it.
    pub fn peek_among(&self, others: &Turns) -> Option<usize> {
        let words = self.words.iter().zip(&others.words).map(|(own, other)| own & other);
        Turns { words: words.collect(), size: self.size, last: self.last }.peek()
    }
    /// `at` has had its turn.
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
        /// Against a list that is walked round.
        #[test]
        fn turns_go_round(
            size in 1usize..150, steps in prop::collection::vec((any::<bool>(), any::<u16>()), 1..200)
        ) {
            let mut turns = Turns::new(size);
            let (mut list, mut last) = (vec![false; size], size - 1);
            for (set, number) in steps {
                let at = usize::from(number) % size;
                if set {
                    list[at] = !list[at];
                    turns.set(at, list[at]);
                } else {
                    let want = (1..=size).map(|n| (last + n) % size).find(|&at| list[at]);
                    let mut even = Turns::new(size);
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
