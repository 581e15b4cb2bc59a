//! Sets of hosts, 64 to a word.

/// The first member of a set, 64 to a word, for which `take` holds. The search begins at `from` and continues from
/// the beginning.
#[inline]
pub(crate) fn find(set: &[u64], from: usize, take: impl FnMut(usize) -> bool) -> Option<usize> {
    find_in(set.len(), from, |at| set[at], take)
}

/// Like [`find`], in a set of `words` words, each of which is computed when it is needed.
#[inline]
pub(crate) fn find_in(
    words: usize,
    from: usize,
    word: impl Fn(usize) -> u64,
    mut take: impl FnMut(usize) -> bool,
) -> Option<usize> {
    let first = from / 64;
    if first >= words {
        return None;
    }
    let late = u64::MAX << (from % 64);
    for at in first..=first + words {
        let place = if at < words { at } else { at - words };
        let part = match at {
            _ if at == first => late,
            _ if at == first + words => !late,
            _ => u64::MAX,
        };
        let mut left = word(place) & part;
        while left != 0 {
            let member = place * 64 + left.trailing_zeros() as usize;
            if take(member) {
                return Some(member);
            }
            left &= left - 1;
        }
    }
    None
}

#[inline]
pub(crate) fn has_bit(set: &[u64], at: usize) -> bool {
    set[at / 64] >> (at % 64) & 1 == 1
}

#[inline]
pub(crate) fn set_bit(set: &mut [u64], at: usize, value: bool) {
    let bit = 1 << (at % 64);
    set[at / 64] = if value { set[at / 64] | bit } else { set[at / 64] & !bit };
}
