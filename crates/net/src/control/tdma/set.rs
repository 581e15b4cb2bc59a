//! Sets of hosts, 64 to a word.

/// The first member of a set, 64 to a word, at or after `from`, and then round from the beginning; for
/// which `take` holds.
#[inline]
pub(super) fn find(set: &[u64], from: usize, mut take: impl FnMut(usize) -> bool) -> Option<usize> {
    let words = set.len();
    if words == 0 {
        return None;
    }
    let (first, bit) = ((from / 64) % words, from % 64);
    for step in 0..=words {
        let at = (first + step) % words;
        let mask = match step {
            0 => u64::MAX << bit,
            _ if step == words => !(u64::MAX << bit),
            _ => u64::MAX,
        };
        let mut word = set[at] & mask;
        while word != 0 {
            let member = at * 64 + word.trailing_zeros() as usize;
            if take(member) {
                return Some(member);
            }
            word &= word - 1;
        }
    }
    None
}

#[inline]
pub(super) fn set_bit(set: &mut [u64], at: usize, value: bool) {
    let bit = 1 << (at % 64);
    set[at / 64] = if value { set[at / 64] | bit } else { set[at / 64] & !bit };
}
