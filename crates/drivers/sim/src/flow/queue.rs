//! A queue of links to check, roughly in order of their levels, the lowest first. The order saves work. No result
//! depends on it.

/// Marks a link that is in no bucket.
pub(super) const OUT: u32 = u32::MAX;
/// Marks the last link of its bucket.
const LAST: u32 = u32::MAX - 1;
/// Levels that differ only in lower bits are in one bucket: there are 128 buckets for each power of two.
const SHIFT: u32 = 52 - 7;
/// The number of buckets, for 64 powers of two.
const BUCKETS: i64 = 8192;
/// The number of buckets above that of the greatest capacity.
const ABOVE: i64 = 1024;

/// Links in buckets. The links of a bucket form a chain: the caller stores the next link of each.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    heads: Vec<u32>,
    /// By bucket, whether it has any link.
    used: Vec<u64>,
    /// All buckets below this are empty.
    at: usize,
    /// The number of links.
    count: usize,
    /// The bits of a level of the first bucket.
    base: i64,
}

impl Queue {
    /// An empty queue for levels up to some above `greatest`.
    pub fn new(greatest: f64) -> Queue {
        Queue {
            heads: vec![LAST; BUCKETS as usize],
            used: vec![0; BUCKETS as usize / 64],
            at: 0,
            count: 0,
            base: upper_bits(greatest) + ABOVE - BUCKETS,
        }
    }

    /// Adds a link to the bucket of `key`. Returns its `next` from now on.
    #[inline]
    pub fn push(&mut self, link: u32, key: f64) -> u32 {
        let bucket = (upper_bits(key) - self.base).clamp(0, BUCKETS - 1) as usize;
        self.used[bucket / 64] |= 1 << (bucket % 64);
        self.at = if self.count == 0 { bucket } else { self.at.min(bucket) };
        self.count += 1;
        std::mem::replace(&mut self.heads[bucket], link)
    }

    /// Removes a link of the lowest bucket. The caller gives its `next`, and marks it as removed.
    #[inline]
    pub fn pop(&mut self, next: impl FnOnce(u32) -> u32) -> Option<u32> {
        if self.count == 0 {
            return None;
        }
        let mut word = self.at / 64;
        while self.used[word] == 0 {
            word += 1;
        }
        self.at = word * 64 + self.used[word].trailing_zeros() as usize;
        let link = self.heads[self.at];
        let next = next(link);
        self.heads[self.at] = next;
        self.used[word] &= !(u64::from(next == LAST) << (self.at % 64));
        self.count -= 1;
        Some(link)
    }
}

/// The bits that distinguish buckets. For numbers that are not negative their order is that of the numbers.
fn upper_bits(level: f64) -> i64 {
    (level.to_bits() >> SHIFT) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every link comes out once. Links whose levels differ by more than a bucket come out in order.
        #[test]
        fn is_a_rough_heap(
            steps in prop::collection::vec((0.5f64..1.0, any::<bool>(), -30i32..3), 1..300),
        ) {
            let mut queue = Queue::new(1.0);
            let mut nexts = vec![OUT; steps.len()];
            let mut plain: Vec<(f64, u32)> = Vec::new();
            let pop = |queue: &mut Queue, nexts: &mut [u32], plain: &mut Vec<(f64, u32)>| {
                let link = queue.pop(|link| std::mem::replace(&mut nexts[link as usize], OUT));
                let at = plain.iter().position(|(_, other)| Some(*other) == link);
                let key = at.map(|at| plain.swap_remove(at).0);
                let rest = plain.iter().fold(f64::INFINITY, |least, (key, _)| least.min(*key));
                prop_assert_eq!(key.is_none(), link.is_none());
                prop_assert!(key.unwrap_or(rest) <= rest * (1.0 + 1.0 / 64.0));
                Ok(())
            };
            for (link, (part, push, power)) in (0..).zip(steps) {
                if push {
                    let key = part * 2f64.powi(power);
                    nexts[link as usize] = queue.push(link, key);
                    plain.push((key, link));
                } else {
                    pop(&mut queue, &mut nexts, &mut plain)?;
                }
            }
            while !plain.is_empty() {
                pop(&mut queue, &mut nexts, &mut plain)?;
            }
            prop_assert_eq!(queue.pop(|_| LAST), None);
        }
    }

    #[test]
    fn takes_levels_beyond_its_buckets() {
        let mut queue = Queue::new(1.0);
        let mut nexts = [OUT; 3];
        for (link, key) in [(0, 1e300), (1, 0.0), (2, 1.0)] {
            nexts[link as usize] = queue.push(link, key);
        }
        let mut pop = || queue.pop(|link| nexts[link as usize]);
        assert_eq!([pop(), pop(), pop(), pop()], [Some(1), Some(2), Some(0), None]);
    }
}
