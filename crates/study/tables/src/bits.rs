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
pub(crate) fn pack(numbers: impl Iterator<Item = u64>, bits: u32, out: &mut Vec<u8>) {
    let mut packer = Packer { out, waiting: 0, count: 0 };
    match bits.checked_sub(HALF) {
        Some(upper) if upper > 0 => numbers.for_each(|number| {
            packer.add(u64::from(number as u32), HALF);
            packer.add(number >> HALF, upper);
        }),
        _ => numbers.for_each(|number| packer.add(number, bits)),
    }
    let Packer { out, waiting, count } = packer;
    out.extend_from_slice(&waiting.to_le_bytes()[..count.div_ceil(8) as usize]);
}

const HALF: u32 = u32::BITS;

/// Bits that do not fill a word yet.
struct Packer<'a> {
    out: &'a mut Vec<u8>,
    waiting: u64,
    count: u32,
}

impl Packer<'_> {
    /// Adds a number of `bits` bits, at most a word.
    #[inline]
    fn add(&mut self, number: u64, bits: u32) {
        self.waiting |= number << self.count;
        self.count += bits;
        if self.count >= HALF {
            self.out.extend_from_slice(&(self.waiting as u32).to_le_bytes());
            self.waiting >>= HALF;
            self.count -= HALF;
        }
    }
}
