//! Synthetic demand patterns for tests and benchmarks.

use crate::demand::{Demand, DemandError};
use std::fmt;

/// A demand pattern. Unless a variant says otherwise, all racks send about the same number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DemandPattern {
    /// There is no demand.
    Empty,
    /// Each rack sends to the next one.
    Ring,
    /// Each rack sends to one other rack: a random permutation.
    Permutation,
    /// Each rack has a few large demands: a sum of random permutations, each between half and one and a half
    /// times the mean.
    Sparse {
        /// The number of large demands of each rack.
        large: usize,
    },
    /// Each rack sends the same to all others.
    AllToAll,
    /// Each rack sends to all others, each demand uniform between zero and twice the mean.
    Random,
    /// Each rack has four large demands with 70 % of the bytes, and twelve small demands with the rest
    /// (Solstice: Liu et al., CoNEXT 2015, §4).
    Skewed,
    /// Each rack sends half of its bytes to the first rack, and the rest evenly to all others.
    Hotspot,
}

impl DemandPattern {
    /// All patterns, each once.
    pub const ALL: [DemandPattern; 8] = [
        DemandPattern::Empty,
        DemandPattern::Ring,
        DemandPattern::Permutation,
        DemandPattern::Sparse { large: 4 },
        DemandPattern::AllToAll,
        DemandPattern::Random,
        DemandPattern::Skewed,
        DemandPattern::Hotspot,
    ];

    /// A demand of this pattern with about `bytes` from each rack. The same seed gives the same demand.
    ///
    /// # Errors
    /// There are fewer than two racks, or too many.
    pub fn demand(self, racks: usize, bytes: u64, seed: u64) -> Result<Demand, DemandError> {
        let mut demand = Demand::new(racks)?;
        let mut random = SplitMix64(seed ^ 0x5107_11e5);
        let others = racks as u64 - 1;
        match self {
            DemandPattern::Empty => {}
            DemandPattern::Ring => {
                (0..racks).for_each(|src| demand.set(src, (src + 1) % racks, bytes))
            }
            DemandPattern::Permutation => add_permutation(&mut demand, &mut random, |_| bytes),
            DemandPattern::Sparse { large } => {
                add_permutations(&mut demand, &mut random, large, bytes)
            }
            DemandPattern::AllToAll => fill(&mut demand, || bytes / others),
            DemandPattern::Random => fill(&mut demand, || random.below(2 * bytes / others + 1)),
            DemandPattern::Skewed => {
                add_permutations(&mut demand, &mut random, 4.min(racks - 1), bytes * 7 / 10);
                add_permutations(&mut demand, &mut random, 12.min(racks - 1), bytes * 3 / 10);
            }
            DemandPattern::Hotspot => {
                fill(&mut demand, || bytes / 2 / others);
                (1..racks).for_each(|src| demand.add(src, 0, bytes / 2));
            }
        }
        Ok(demand)
    }
}

impl fmt::Display for DemandPattern {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            DemandPattern::Empty => "empty",
            DemandPattern::Ring => "ring",
            DemandPattern::Permutation => "permutation",
            DemandPattern::Sparse { large } => return write!(f, "sparse-{large}"),
            DemandPattern::AllToAll => "all-to-all",
            DemandPattern::Random => "random",
            DemandPattern::Skewed => "skewed",
            DemandPattern::Hotspot => "hotspot",
        })
    }
}

fn fill(demand: &mut Demand, mut bytes: impl FnMut() -> u64) {
    let racks = demand.racks();
    let pairs = (0..racks * racks).map(|cell| (cell / racks, cell % racks));
    pairs.filter(|(src, dst)| src != dst).for_each(|(src, dst)| demand.add(src, dst, bytes()));
}

/// Adds `count` random permutations. Each has between half and one and a half times its share of the bytes.
fn add_permutations(demand: &mut Demand, random: &mut SplitMix64, count: usize, bytes: u64) {
    let share = bytes / count.max(1) as u64;
    for _ in 0..count {
        add_permutation(demand, random, |random| share / 2 + random.below(share + 1));
    }
}

/// Adds a random cyclic permutation, so that no rack sends to itself.
fn add_permutation(
    demand: &mut Demand,
    random: &mut SplitMix64,
    bytes: impl Fn(&mut SplitMix64) -> u64,
) {
    let mut order: Vec<usize> = (0..demand.racks()).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, random.below(last as u64 + 1) as usize);
    }
    for (at, &src) in order.iter().enumerate() {
        let bytes = bytes(random);
        demand.add(src, order[(at + 1) % order.len()], bytes);
    }
}

/// The random number generator SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct SplitMix64(u64);

impl SplitMix64 {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
    /// A uniform number below `n`, or zero if `n` is zero.
    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }
}
