//! One random stream per named component.
//!
//! A stream is keyed by the run's seed and the component's name, so adding a component never shifts
//! another's stream. The generator is PCG-64 (MCG) from `rand_pcg`, pinned to an exact version;
//! transcendental functions come from `libm`, so results are the same on every machine.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A deterministic random stream.
#[derive(Clone, Debug)]
pub struct Stream(Pcg64Mcg);

/// 64-bit finaliser (SplitMix64): every input bit reaches every output bit.
#[inline]
pub const fn mix64(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// 32-bit finaliser, for per-packet hashing.
#[inline]
pub const fn mix32(mut x: u32) -> u32 {
    x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

/// The key of a component, computed from its name alone. It does not depend on any number of the component.
pub fn name_key(name: &str) -> u64 {
    name.bytes().fold(mix64(0x9e37_79b9_7f4a_7c15), |key, byte| mix64(key ^ u64::from(byte)))
}

/// The key of component number `second` within component `first`, or of an ordered pair.
#[inline]
pub const fn pair_key(first: u64, second: u64) -> u64 {
    mix64(mix64(first).wrapping_add(second))
}

impl Stream {
    /// The stream of component `name` (for example `"workload.incast"`), instance `index`.
    pub fn named(seed: u64, name: &str, index: u64) -> Stream {
        let key =
            name.bytes().fold(mix64(seed ^ 0x9e37_79b9_7f4a_7c15), |h, b| mix64(h ^ u64::from(b)));
        Stream(Pcg64Mcg::seed_from_u64(mix64(key ^ mix64(index.wrapping_add(1)))))
    }
    /// 64 uniform bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }
    /// Uniform in `0..n`; zero where `n` is zero. The bias is below n / 2⁶⁴.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }
    /// Uniform in `[0, 1)`.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
    /// Exponential with the given mean.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log1p(-self.unit())
    }
    /// A uniformly random order of `items` (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_reproducible_and_distinct() {
        let first = |name, index| Stream::named(1, name, index).bits();
        assert_eq!(first("a", 0), first("a", 0));
        assert_ne!(first("a", 0), first("a", 1));
        assert_ne!(first("a", 0), first("b", 0));
        assert_eq!(Stream::named(1, "golden", 0).bits(), Stream::named(1, "golden", 0).bits());
    }

    #[test]
    fn keys_depend_on_the_name_and_on_the_order() {
        let names = ["", "a", "b", "ab", "ba", "h1", "h10", "h2"];
        let keys: std::collections::BTreeSet<u64> = names.map(name_key).into();
        assert_eq!(keys.len(), names.len());
        let (a, b) = (name_key("a"), name_key("b"));
        assert_ne!(pair_key(a, b), pair_key(b, a));
        assert_ne!(pair_key(a, 0), pair_key(a, 1));
    }

    #[test]
    fn draws_have_the_right_means() {
        let mut rng = Stream::named(7, "test", 0);
        let n = 100_000;
        let mean = |f: &mut dyn FnMut() -> f64| (0..n).map(|_| f()).sum::<f64>() / f64::from(n);
        assert!((mean(&mut || rng.unit()) - 0.5).abs() < 0.01);
        assert!((mean(&mut || rng.exponential(3.0)) - 3.0).abs() < 0.05);
        assert!((mean(&mut || rng.below(10) as f64) - 4.5).abs() < 0.05);
    }
}
