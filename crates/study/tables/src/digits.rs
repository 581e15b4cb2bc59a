//! Numbers as decimal digits, eight at a time.

/// The numbers of eight digits or less.
const EIGHT: u64 = 100_000_000;

/// Adds the decimal digits of `value` to `out`. Tables have many numbers of few digits: to copy a text of any length would cost more
/// than to compute all eight digits and keep some of them.
#[inline]
pub(crate) fn push(value: u64, out: &mut Vec<u8>) {
    if value < 10 {
        return out.push(b'0' + value as u8);
    }
    if value >= EIGHT {
        push(value / EIGHT, out);
        return out.extend_from_slice(&text(digits((value % EIGHT) as u32)));
    }
    let digits = digits(value as u32);
    let zeros = digits.trailing_zeros() / 8;
    let end = out.len() + 8 - zeros as usize;
    out.extend_from_slice(&text(digits >> (8 * zeros)));
    out.truncate(end);
}

/// The eight digits of a number below [`EIGHT`], one in each byte, the first in the lowest.
#[inline]
fn digits(value: u32) -> u64 {
    // Two numbers below 10,000, then four below 100, then eight digits. The products are quotients for all of these.
    let fours = u64::from(value / 10_000) | u64::from(value % 10_000) << 32;
    let hundreds = ((fours * 5_243) >> 19) & 0x7f_0000_007f;
    let twos = hundreds | (fours - hundreds * 100) << 16;
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | (twos - tens * 10) << 8
}

#[inline]
fn text(digits: u64) -> [u8; 8] {
    // A digit that was shifted away becomes a zero, and is cut off.
    (digits | 0x3030_3030_3030_3030).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pushed(value: u64) -> String {
        let mut out = b"a,".to_vec();
        push(value, &mut out);
        String::from_utf8(out).expect("digits")
    }

    #[test]
    fn numbers_around_each_power_of_ten() {
        let around = |power: u64| [power - 1, power, power + 1];
        let powers = (0..20).map(|exponent| 10u64.pow(exponent));
        for value in powers.flat_map(around).chain([u64::MAX, u64::MAX - 1]) {
            assert_eq!(pushed(value), format!("a,{value}"));
        }
    }

    #[test]
    fn each_part_of_four_digits() {
        (0..10_000)
            .for_each(|value| assert_eq!(pushed(value * 10_001), format!("a,{}", value * 10_001)));
    }

    proptest! {
        #[test]
        fn any_number(value: u64, shift in 0u32..64) {
            prop_assert_eq!(pushed(value >> shift), format!("a,{}", value >> shift));
        }
    }
}
