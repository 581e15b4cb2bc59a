//! Sets of hosts, 64 to a word.

/// The first member of a set, 64 to a word, at or after `from`, and then round from the beginning; for
/// which `take` holds.
#[inline]
pub(super) fn find(set: &[u64], from: usize, mut take: impl FnMut(usize) -> bool) -> Option<usize> {
    let mut take_of = |at: usize, mut word: u64| {
        while word != 0 {
            let member = at * 64 + word.trailing_zeros() as usize;
            if take(member) {
                return Some(member);
            }
            word &= word - 1;
        }
        None
    };
    let first = from / 64;
    let (before, after) = set.split_at_checked(first)?;
    let (&at_first, after) = after.split_first()?;
    let late = u64::MAX << (from % 64);
    take_of(first, at_first & late)
        .or_else(|| (first + 1..).zip(after).find_map(|(at, &word)| take_of(at, word)))
        .or_else(|| (0..).zip(before).find_map(|(at, &word)| take_of(at, word)))
        .or_else(|| take_of(first, at_first & !late))
}

#[inline]
pub(super) fn set_bit(set: &mut [u64], at: usize, value: bool) {
    let bit = 1 << (at % 64);
    set[at / 64] = if value { set[at / 64] | bit } else { set[at / 64] & !bit };
}
