//! Decimal numbers as bytes, read exactly, without floating point.

/// The whole number in `text`: digits only.
pub fn whole(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then_some(())?;
        value.checked_mul(10)?.checked_add(digit.into())
    })
}

/// The number in `text` times ten to the power of `scale`, rounded to the nearest whole number. Reads
/// `12`, `0.5`, `.5`, `3e-6`, but no signs before the number and no spaces.
pub fn scaled(text: &[u8], scale: i32) -> Option<u64> {
    if let Some((mantissa, after_point)) = short(text) {
        return shifted(mantissa, scale - after_point);
    }
    let (number, exponent) = match text.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        Some(at) => (&text[..at], exponent(&text[at + 1..])?),
        None => (text, 0),
    };
    let (mantissa, after_point) = mantissa(number)?;
    shifted(mantissa, scale + exponent - after_point)
}

/// The limit of the digits that are used. Further digits cannot change a 64-bit result.
const DIGITS: u128 = 10u128.pow(36);

/// The number in a text of at most this many bytes fits into 64 bits.
const SHORT: usize = 19;

/// [`mantissa`] of a short text, without 128-bit arithmetic. Most texts are short.
fn short(text: &[u8]) -> Option<(u128, i32)> {
    if text.len() > SHORT {
        return None;
    }
    let (mut value, mut point) = (0u64, None);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'0'..=b'9' => value = value * 10 + u64::from(byte - b'0'),
            b'.' if point.is_none() => point = Some(at),
            _ => return None,
        }
    }
    let digits = text.len() - usize::from(point.is_some());
    let behind = point.map_or(0, |at| text.len() - at - 1);
    (digits > 0).then_some((value.into(), behind as i32))
}

/// All digits as one number, and the number of digits after the point.
fn mantissa(text: &[u8]) -> Option<(u128, i32)> {
    if let Some(found) = short(text) {
        return Some(found);
    }
    let (mut value, mut behind, mut point, mut digits) = (0u128, 0, false, 0u32);
    for byte in text {
        match byte {
            b'.' if !point => point = true,
            b'0'..=b'9' => {
                digits += 1;
                if value < DIGITS {
                    value = value * 10 + u128::from(byte - b'0');
                    behind += i32::from(point);
                } else if !point {
                    return None;
                }
            }
            _ => return None,
        }
    }
    (digits > 0).then_some((value, behind))
}

fn exponent(text: &[u8]) -> Option<i32> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let value = i32::try_from(whole(digits)?).ok().filter(|value| *value < 1_000)?;
    Some(if negative { -value } else { value })
}

/// `value` times ten to the power of `power`, rounded half up.
fn shifted(value: u128, power: i32) -> Option<u64> {
    if value == 0 {
        return Some(0);
    }
    if let (Ok(value), Ok(up @ 0..=19)) = (u64::try_from(value), u32::try_from(power)) {
        return value.checked_mul(10u64.pow(up));
    }
    let exact = match u32::try_from(power) {
        Ok(up) => value.checked_mul(10u128.checked_pow(up)?)?,
        Err(_) => match 10u128.checked_pow(power.unsigned_abs()) {
            Some(by) => value / by + u128::from(value % by >= by.div_ceil(2)),
            None => 0,
        },
    };
    u64::try_from(exact).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_read_exactly() {
        for (text, value) in [
            ("0", 0),
            ("2", 2_000_000_000_000),
            ("2.000000123", 2_000_000_123_000),
            ("0.1", 100_000_000_000),
            (".5", 500_000_000_000),
            ("1e-6", 1_000_000),
            ("2.5E+2", 250_000_000_000_000),
            ("0.30000000000000004", 300_000_000_000),
            ("0.0000000000005", 1),
            ("0.00000000000049999999999999999999999999999999", 0),
            ("1e-999", 0),
            ("18446744.073709551615", u64::MAX),
        ] {
            assert_eq!(scaled(text.as_bytes(), 12), Some(value), "{text}");
        }
        for text in
            ["", ".", "-1", "+1", "1e", "1e-", "inf", "nan", "1.2.3", "1 ", "18446745", "1e30"]
        {
            assert_eq!(scaled(text.as_bytes(), 12), None, "{text}");
        }
        assert_eq!(whole(b"18446744073709551615"), Some(u64::MAX));
        for text in ["", "18446744073709551616", "1.0", "-1", "x"] {
            assert_eq!(whole(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        /// Whatever is printed is read back to the last digit.
        #[test]
        fn what_is_printed_is_read_back(ps in any::<u64>()) {
            let text = format!("{}.{:012}", ps / 1_000_000_000_000, ps % 1_000_000_000_000);
            prop_assert_eq!(scaled(text.as_bytes(), 12), Some(ps));
            prop_assert_eq!(scaled(ps.to_string().as_bytes(), 0), Some(ps));
            prop_assert_eq!(whole(ps.to_string().as_bytes()), Some(ps));
        }

        #[test]
        fn any_text_is_read_or_refused(text in any::<Vec<u8>>(), scale in -20i32..20) {
            let _ = scaled(&text, scale);
        }

        /// The result agrees with floating point, if that is exact enough.
        #[test]
        fn floats_agree(number in 0.0f64..1e3) {
            let exact = scaled(format!("{number:e}").as_bytes(), 12).unwrap() as f64;
            prop_assert!((exact - number * 1e12).abs() < 2.0);
        }
    }
}
