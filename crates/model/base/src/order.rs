//! Sorting of many values. Results and traffic are sorted in crates that are compiled with little optimisation, in which a
//! generic sort would take ten times as long.

/// Sorts numbers in ascending order, as [`f64::total_cmp`] does.
#[inline(never)]
pub fn sort_numbers(values: &mut [f64]) {
    values.sort_unstable_by(f64::total_cmp);
}

/// The indices of `keys` in ascending order of the keys; equal keys stay in their order.
pub fn ascending(keys: impl IntoIterator<Item = u32>) -> Vec<u32> {
    // A key and its index in one number.
    let mut all: Vec<u64> = (0..).zip(keys).map(|(at, key)| u64::from(key) << 32 | at).collect();
    sort(&mut all);
    all.into_iter().map(|key_and_index| key_and_index as u32).collect()
}

#[inline(never)]
fn sort(values: &mut [u64]) {
    values.sort_unstable();
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equal_keys_stay_in_their_order(keys in prop::collection::vec(0u32..9, 0..100)) {
            let mut want: Vec<u32> = (0..keys.len() as u32).collect();
            want.sort_by_key(|&at| keys[at as usize]);
            prop_assert_eq!(ascending(keys), want);
        }

        #[test]
        fn numbers_ascend(values in prop::collection::vec(any::<f64>(), 0..100)) {
            let mut sorted = values;
            sort_numbers(&mut sorted);
            prop_assert!(sorted.is_sorted_by(|one, next| one.total_cmp(next).is_le()));
        }
    }
}
