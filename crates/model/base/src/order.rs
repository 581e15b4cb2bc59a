//! Sorting of many values. Results and traffic are sorted in crates that are compiled with little optimisation, in which a
//! generic sort would take ten times as long.

/// Sorts numbers in ascending order, as [`f64::total_cmp`] does.
#[inline(never)]
pub fn sort_numbers(values: &mut [f64]) {
    if values.len() < MANY {
        return values.sort_unstable_by(f64::total_cmp);
    }
    let mut bits: Vec<u64> = values.iter().map(|value| ordered_bits(*value)).collect();
    sort_by_digits(&mut bits, 0);
    values.iter_mut().zip(bits).for_each(|(value, bits)| *value = number(bits));
}

/// A number of which the order is that of `value` by [`f64::total_cmp`].
fn ordered_bits(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// The value of which these are the [`ordered_bits`].
fn number(ordered: u64) -> f64 {
    f64::from_bits(if ordered & SIGN == 0 { !ordered } else { ordered & !SIGN })
}

const SIGN: u64 = 1 << 63;

/// The indices of `keys` in ascending order of the keys; equal keys stay in their order.
pub fn ascending(keys: impl IntoIterator<Item = u32>) -> Vec<u32> {
    ascending_large(keys.into_iter().map(u64::from).collect())
}

/// The indices of `keys` in ascending order of the keys; equal keys stay in their order.
#[inline(never)]
pub fn ascending_large(mut keys: Vec<u64>) -> Vec<u32> {
    let highest = keys.iter().fold(0, |any, key| any | key);
    let bits = usize::BITS - keys.len().leading_zeros();
    if bits > highest.leading_zeros() {
        let mut all: Vec<u32> = (0..).take(keys.len()).collect();
        all.sort_by_key(|&at| keys[at as usize]);
        return all;
    }
    // A key and its index in one number.
    (0..).zip(&mut keys).for_each(|(at, key)| *key = *key << bits | at);
    if keys.len() < MANY {
        sort(&mut keys);
    } else {
        sort_by_digits(&mut keys, bits);
    }
    keys.into_iter().map(|key_and_index| (key_and_index & ((1 << bits) - 1)) as u32).collect()
}

#[inline(never)]
fn sort(values: &mut [u64]) {
    values.sort_unstable();
}

/// With fewer values, comparisons take less time than digits.
const MANY: usize = 256;
const DIGIT: u32 = 11;

/// Sorts by the bits from `lowest` on, digit by digit, and so without comparisons that cannot be predicted. Values that are
/// equal in these bits stay in their order. Digits that all values share take no time.
#[inline(never)]
fn sort_by_digits(values: &mut Vec<u64>, lowest: u32) {
    let all = values.iter().fold(!0, |all, value| all & value);
    let differing = values.iter().fold(0, |any, value| any | value) & !all;
    let mut sorted = vec![0; values.len()];
    for shift in (lowest..u64::BITS).step_by(DIGIT as usize) {
        let digit = |value: u64| (value >> shift) as usize & ((1 << DIGIT) - 1);
        if digit(differing) == 0 {
            continue;
        }
        let mut places = [0u32; 1 << DIGIT];
        values.iter().for_each(|value| places[digit(*value)] += 1);
        let mut before = 0;
        for place in &mut places {
            before += std::mem::replace(place, before);
        }
        for value in &*values {
            let place = &mut places[digit(*value)];
            sorted[*place as usize] = *value;
            *place += 1;
        }
        std::mem::swap(values, &mut sorted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equal_keys_stay_in_their_order(most in 1u32.., keys in prop::collection::vec(any::<u32>(), 0..3 * MANY)) {
            let keys: Vec<u32> = keys.into_iter().map(|key| key % most).collect();
            let mut want: Vec<u32> = (0..keys.len() as u32).collect();
            want.sort_by_key(|&at| keys[at as usize]);
            prop_assert_eq!(ascending(keys), want);
        }

        /// Some keys leave no bits for an index.
        #[test]
        fn equal_large_keys_stay_in_their_order(bits in 0u32..64, keys in prop::collection::vec(any::<u64>(), 0..3 * MANY)) {
            let keys: Vec<u64> = keys.into_iter().map(|key| key >> bits).collect();
            let mut want: Vec<u32> = (0..keys.len() as u32).collect();
            want.sort_by_key(|&at| keys[at as usize]);
            prop_assert_eq!(ascending_large(keys), want);
        }

        #[test]
        fn numbers_ascend(values in prop::collection::vec(any::<f64>(), 0..3 * MANY)) {
            let (mut sorted, mut expected) = (values.clone(), values);
            sort_numbers(&mut sorted);
            expected.sort_by(f64::total_cmp);
            let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
            prop_assert!(sorted.iter().zip(&expected).all(same));
        }
    }
}
