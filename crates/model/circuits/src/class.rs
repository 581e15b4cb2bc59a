//! Kinds of demand, for tests and measurements.

use crate::demand::{Demand, DemandError};
use std::fmt;

/// A kind of demand. Each rack has about the same to send, but where it is said otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// None at all.
    Empty,
    /// Each rack to the next one.
    Ring,
    /// Each rack to another one: a random permutation.
    Permutation,
    /// A few large ones per rack, and as many to each rack: a sum of random permutations, half to one and a half
    /// times the mean.
    Sparse {
        /// How many.
        large: usize,
    },
    /// Each rack to all others alike.
    AllToAll,
    /// Each rack to all others, nothing to twice the mean.
    Random,
    /// Four large ones per rack with 70 % of the bytes, twelve small ones with the rest (Solstice, Liu et al., CoNEXT
    /// 2015, §4).
    Skewed,
    /// Half of what each rack has is for the first rack, the rest for all alike.
    Hotspot,
}

impl Class {
    /// One of each.
    pub const ALL: [Class; 8] = [
        Class::Empty,
        Class::Ring,
        Class::Permutation,
        Class::Sparse { large: 4 },
        Class::AllToAll,
        Class::Random,
        Class::Skewed,
        Class::Hotspot,
    ];

    /// A demand of this kind, with about so many bytes from each rack.
    pub fn demand(self, racks: usize, bytes: u64, seed: u64) -> Result<Demand, DemandError> {
        let mut demand = Demand::new(racks)?;
        let mut draws = Draws(seed ^ 0x5107_11e5);
        let others = racks as u64 - 1;
        match self {
            Class::Empty => {}
            Class::Ring => (0..racks).for_each(|src| demand.set(src, (src + 1) % racks, bytes)),
            Class::Permutation => add_permutation(&mut demand, &mut draws, |_| bytes),
            Class::Sparse { large } => add_permutations(&mut demand, &mut draws, large, bytes),
            Class::AllToAll => fill(&mut demand, || bytes / others),
            Class::Random => fill(&mut demand, || draws.below(2 * bytes / others + 1)),
            Class::Skewed => {
                add_permutations(&mut demand, &mut draws, 4.min(racks - 1), bytes * 7 / 10);
                add_permutations(&mut demand, &mut draws, 12.min(racks - 1), bytes * 3 / 10);
            }
            Class::Hotspot => {
                fill(&mut demand, || bytes / 2 / others);
                (1..racks).for_each(|src| demand.add(src, 0, bytes / 2));
            }
        }
        Ok(demand)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Class::Empty => "empty",
            Class::Ring => "ring",
            Class::Permutation => "permutation",
            Class::Sparse { large } => return write!(f, "sparse-{large}"),
            Class::AllToAll => "all-to-all",
            Class::Random => "random",
            Class::Skewed => "skewed",
            Class::Hotspot => "hotspot",
        })
    }
}

fn fill(demand: &mut Demand, mut bytes: impl FnMut() -> u64) {
    let racks = demand.racks();
    let pairs = (0..racks * racks).map(|cell| (cell / racks, cell % racks));
    pairs.filter(|(src, dst)| src != dst).for_each(|(src, dst)| demand.add(src, dst, bytes()));
}

/// So many random permutations, of half to one and a half times their share of the bytes.
fn add_permutations(demand: &mut Demand, draws: &mut Draws, count: usize, bytes: u64) {
    let share = bytes / count.max(1) as u64;
    for _ in 0..count {
        add_permutation(demand, draws, |draws| share / 2 + draws.below(share + 1));
    }
}

/// A random order of all racks; each sends to the next one in it. Nobody sends to itself.
fn add_permutation(demand: &mut Demand, draws: &mut Draws, bytes: impl Fn(&mut Draws) -> u64) {
    let mut order: Vec<usize> = (0..demand.racks()).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, draws.below(last as u64 + 1) as usize);
    }
    for (at, &src) in order.iter().enumerate() {
        let bytes = bytes(draws);
        demand.add(src, order[(at + 1) % order.len()], bytes);
    }
}

/// SplitMix64.
struct Draws(u64);

impl Draws {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
    /// Uniform below `n`; zero where `n` is zero.
    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }
}
