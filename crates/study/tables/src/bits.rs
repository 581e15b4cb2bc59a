//! Numbers as Parquet has them inside pages: in groups of seven bits, or packed with a given number of bits.

/// A number in groups of seven bits, the lowest first; the eighth bit says that there are more.
pub(crate) fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 1 << 7 {
        out.push(number as u8 | 1 << 7);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A number with a sign, which is the lowest bit, in groups of seven bits.
pub(crate) fn signed_varint(number: i64, out: &mut Vec<u8>) {
    varint((number << 1 ^ number >> 63) as u64, out);
}

/// Numbers of `bits` bits each, the lowest first. Zeros may follow them.
pub(crate) fn pack<N: Copy + Into<u64>>(numbers: &[N], bits: u32, out: &mut Vec<u8>) {
    if bits == 0 {
        return;
    }
    let start = out.len();
    let end = start + (numbers.len() * bits as usize).div_ceil(8);
    // Bits are written as words.
    out.resize(end + size_of::<u64>(), 0);
    let mut packer = Packer { out: &mut out[start..], at: 0, waiting: 0, count: 0 };
    match MOST / bits {
        0 => numbers.iter().for_each(|number| packer.add_large((*number).into(), bits)),
        1 => packer.add_each::<1, N>(numbers, bits),
        2..4 => packer.add_each::<2, N>(numbers, bits),
        4..8 => packer.add_each::<4, N>(numbers, bits),
        _ => packer.add_each::<8, N>(numbers, bits),
    }
    out.truncate(end);
}

/// The most bits that can be written at once, behind those of a byte that is not full.
const MOST: u32 = u64::BITS - 8;
const HALF: u32 = u32::BITS;

/// Writes bits. Whether a number fills a byte cannot be predicted, so nothing branches on it.
struct Packer<'a> {
    out: &'a mut [u8],
    /// The byte that is not full yet, its bits, and their number.
    at: usize,
    waiting: u64,
    count: u32,
}

impl Packer<'_> {
    /// Adds a number of `bits` bits, at most [`MOST`].
    #[inline]
    fn add(&mut self, number: u64, bits: u32) {
        self.waiting |= number << self.count;
        self.out[self.at..][..size_of::<u64>()].copy_from_slice(&self.waiting.to_le_bytes());
        self.count += bits;
        self.at += (self.count / 8) as usize;
        self.waiting >>= self.count & !7;
        self.count %= 8;
    }

    /// Adds a number of any size.
    fn add_large(&mut self, number: u64, bits: u32) {
        self.add(u64::from(number as u32), HALF);
        self.add(number >> HALF, bits - HALF);
    }

    /// Adds numbers, always `TOGETHER` of them, which have at most [`MOST`] bits.
    #[inline]
    fn add_each<const TOGETHER: usize, N: Copy + Into<u64>>(&mut self, numbers: &[N], bits: u32) {
        let joined = |group: &[N]| {
            group.iter().rev().fold(0, |all, number| all << bits | Into::<u64>::into(*number))
        };
        let (groups, rest) = numbers.as_chunks::<TOGETHER>();
        groups.iter().for_each(|group| self.add(joined(group), bits * TOGETHER as u32));
        rest.iter().for_each(|number| self.add((*number).into(), bits));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::rng::mix64;

    /// Packs `count` random numbers of `bits` bits, and compares them with their bits one after the other.
    fn are_packed(bits: u32, count: u64) {
        let number = |at: u64| mix64(at).checked_shr(u64::BITS - bits).unwrap_or(0);
        let numbers: Vec<u64> = (0..count).map(number).collect();
        let mut out = vec![7];
        pack(&numbers, bits, &mut out);
        let of_one = |number: u64| (0..bits).map(move |bit| number >> bit & 1 == 1);
        let all: Vec<bool> = numbers.into_iter().flat_map(of_one).collect();
        let byte = |bits: &[bool]| (0..).zip(bits).map(|(bit, set)| u8::from(*set) << bit).sum();
        let expected: Vec<u8> = std::iter::once(7).chain(all.chunks(8).map(byte)).collect();
        assert_eq!(out, expected, "{count} numbers of {bits} bits");
    }

    #[test]
    fn numbers_follow_each_other() {
        for bits in 0..=u64::BITS {
            (0..40).for_each(|count| are_packed(bits, count));
        }
    }
}
