//! Solstice compared with the C program of Etalon's emulator (`lib/sols.c` of its Click) on the same
//! matrices.

use slotline_circuits::{
    CircuitTiming, CircuitTimingSpec, Demand, DemandPattern, Fallback, Scheduler, Solstice,
    SolsticeSpec, Week, served,
};

/// Four large demands of each rack.
const FEW: DemandPattern = DemandPattern::Sparse { large: 4 };

/// Demand patterns with the number of racks, for weeks of 200 us per other rack, and the share of demand in
/// percent that circuits serve by the C program, measured on the same matrices.
const ETALON: [(DemandPattern, usize, f64); 6] = [
    (DemandPattern::Ring, 8, 98.57),
    (FEW, 64, 89.41),
    (DemandPattern::AllToAll, 64, 90.00),
    (DemandPattern::Random, 64, 69.20),
    (FEW, 256, 91.05),
    (DemandPattern::AllToAll, 256, 90.00),
];

/// The share of demand in percent that the circuits of Solstice serve.
fn share_served(class: DemandPattern, racks: usize, spec: SolsticeSpec) -> f64 {
    let timing =
        CircuitTimingSpec::etalon((racks as u64 - 1) * 200_000_000).build().expect("a good week");
    let bytes = timing.circuit_bytes(timing.week());
    let demand = class.demand(racks, bytes, 1).expect("a demand");
    let mut week = Week::default();
    Solstice::new(racks, timing, spec).week(&demand, &mut week);
    let served = served(&week, &demand, &timing);
    100.0 * served.circuit as f64 / served.demand as f64
}

#[test]
fn solstice_serves_what_etalons_does() {
    for (class, racks, theirs) in ETALON {
        let ours = share_served(class, racks, SolsticeSpec::default());
        assert!(ours >= theirs - 0.01, "{class}, {racks} racks: {ours} of {theirs}");
    }
}

/// Without the use of what the decomposition leaves, it serves about as much as the C program, and not more than with it.
#[test]
fn the_decomposition_alone_serves_about_what_etalons_does() {
    let only = SolsticeSpec { decomposition_only: true, ..SolsticeSpec::default() };
    for (class, racks, theirs) in ETALON {
        let (ours, more) =
            (share_served(class, racks, only), share_served(class, racks, SolsticeSpec::default()));
        assert!(
            (ours - theirs).abs() < 2.5 && ours <= more,
            "{class}, {racks} racks: {ours} of {theirs}, {more}"
        );
    }
}

/// Kinds of random demand. All but the first oversubscribe some racks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// The sum of six random permutations. Each row and column fills the week.
    Balanced,
    /// Each rack has four large demands for random racks.
    Sparse,
    /// Half of all pairs have demand, about 1.4 times what circuits carry in a week.
    HalfFull,
    /// All pairs have demand, by a Pareto distribution with exponent 1 and a range of 256.
    HeavyTail,
    /// Twice the demand of a heavy tail.
    HeavyTailTwice,
    /// All pairs have demand, uniform between zero and twice the mean.
    Dense,
}
use Kind::{Balanced, Dense, HalfFull, HeavyTail, HeavyTailTwice, Sparse};

/// Kinds with the number of racks, the week in us, and the share of demand in percent that circuits serve by the
/// C program, and circuits and packets together. They are means of the seeds 1 to 20 with five random seeds of
/// the program (`rand`) for each, with days of 180 us (160 without the night), and time in 1/20 us as in
/// the emulator.
const BY_KIND: [(Kind, usize, u64, f64, f64); 36] = [
    (Balanced, 8, 2000, 91.28, 99.45),
    (Balanced, 8, 1400, 83.41, 93.81),
    (Balanced, 16, 2000, 89.60, 98.63),
    (Balanced, 16, 3000, 93.39, 99.94),
    (Balanced, 32, 2000, 88.15, 97.95),
    (Balanced, 32, 6200, 96.77, 100.00),
    (Sparse, 8, 2000, 72.55, 80.26),
    (Sparse, 8, 1400, 69.60, 77.56),
    (Sparse, 16, 2000, 71.40, 79.49),
    (Sparse, 16, 3000, 74.43, 82.07),
    (Sparse, 32, 2000, 65.93, 74.29),
    (Sparse, 32, 6200, 75.13, 82.15),
    (HalfFull, 8, 2000, 56.73, 63.67),
    (HalfFull, 8, 1400, 54.65, 61.69),
    (HalfFull, 16, 2000, 47.60, 55.40),
    (HalfFull, 16, 3000, 56.50, 64.02),
    (HalfFull, 32, 2000, 3.13, 11.67),
    (HalfFull, 32, 6200, 57.13, 65.14),
    (HeavyTail, 8, 2000, 43.91, 57.74),
    (HeavyTail, 8, 1400, 37.82, 52.01),
    (HeavyTail, 16, 2000, 34.98, 47.23),
    (HeavyTail, 16, 3000, 41.27, 53.45),
    (HeavyTail, 32, 2000, 23.43, 36.29),
    (HeavyTail, 32, 6200, 49.61, 62.43),
    (Dense, 8, 2000, 73.63, 86.59),
    (Dense, 8, 1400, 51.95, 65.93),
    (Dense, 16, 2000, 6.73, 20.04),
    (Dense, 16, 3000, 60.92, 74.00),
    (Dense, 32, 2000, 3.22, 16.17),
    (Dense, 32, 6200, 66.30, 79.15),
    (HeavyTailTwice, 8, 2000, 35.73, 42.67),
    (HeavyTailTwice, 8, 1400, 31.34, 38.50),
    (HeavyTailTwice, 16, 2000, 21.85, 27.99),
    (HeavyTailTwice, 16, 3000, 29.48, 35.58),
    (HeavyTailTwice, 32, 2000, 2.78, 9.21),
    (HeavyTailTwice, 32, 6200, 33.67, 40.08),
];

/// The number of seeds of each kind.
const SEEDS: u64 = 20;

impl Kind {
    fn demand(self, racks: usize, bytes: u64, seed: u64) -> Demand {
        let mut random = SplitMix64(seed);
        let mut demand = Demand::new(racks).expect("a few racks");
        match self {
            Balanced => add_permutations(&mut demand, &mut random, bytes),
            Sparse => {
                for at in 0..4 * racks {
                    let step = 1 + random.below(racks as u64 - 1) as usize;
                    let large = bytes / 8 + random.below(bytes / 4);
                    demand.add(at / 4, (at / 4 + step) % racks, large);
                }
            }
            HalfFull => fill(&mut demand, || {
                let on = random.below(2) == 1;
                let large = random.below(6 * bytes / racks as u64);
                if on { large } else { 0 }
            }),
            HeavyTail => fill(&mut demand, || bytes / racks as u64 * 42 / (1 + random.below(256))),
            HeavyTailTwice => {
                fill(&mut demand, || 2 * (bytes / racks as u64 * 42 / (1 + random.below(256))));
            }
            Dense => fill(&mut demand, || random.below(2 * bytes / racks as u64)),
        }
        demand
    }
}

/// Draws a number for each pair, the diagonal included.
fn fill(demand: &mut Demand, mut bytes: impl FnMut() -> u64) {
    let racks = demand.racks();
    for cell in 0..racks * racks {
        let bytes = bytes();
        if cell / racks != cell % racks {
            demand.set(cell / racks, cell % racks, bytes);
        }
    }
}

fn add_permutations(demand: &mut Demand, random: &mut SplitMix64, bytes: u64) {
    let racks = demand.racks();
    let weights: Vec<u64> = (0..6).map(|_| 1 + random.below(1_000)).collect();
    let total: u64 = weights.iter().sum();
    for weight in weights {
        let mut order: Vec<usize> = (0..racks).collect();
        for last in (1..racks).rev() {
            order.swap(last, random.below(last as u64 + 1) as usize);
        }
        for at in 0..racks {
            demand.add(order[at], order[(at + 1) % racks], bytes / total * weight);
        }
    }
}

/// The random number generator SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct SplitMix64(u64);

impl SplitMix64 {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(x ^ (x >> 31)) * u128::from(n)) >> 64) as u64
    }
}

/// The mean share in percent that circuits serve, and circuits and packets together.
fn mean_share(kind: Kind, racks: usize, timing: CircuitTiming, fallback: Fallback) -> [f64; 2] {
    let spec = SolsticeSpec { fallback, ..SolsticeSpec::default() };
    let mut solstice = Solstice::new(racks, timing, spec);
    let mut week = Week::default();
    let mut mean = [0.0; 2];
    for seed in 1..=SEEDS {
        let demand = kind.demand(racks, timing.circuit_bytes(timing.week()), seed);
        solstice.week(&demand, &mut week);
        let served = served(&week, &demand, &timing);
        for (mean, bytes) in mean.iter_mut().zip([served.circuit, served.total()]) {
            *mean += 100.0 * bytes as f64 / served.demand as f64 / SEEDS as f64;
        }
    }
    mean
}

/// The shares of the C program have two decimals.
#[test]
fn solstice_serves_at_least_what_etalons_does_for_each_kind_of_demand() {
    let mut weaker = Vec::new();
    for (kind, racks, week_us, circuits, total) in BY_KIND {
        let timing = CircuitTimingSpec::etalon(week_us * 1_000_000).build().expect("a good week");
        for fallback in [Fallback::Better, Fallback::Empty, Fallback::Ring] {
            let ours = mean_share(kind, racks, timing, fallback);
            if ours[0] < circuits - 0.005 || ours[1] < total - 0.005 {
                let theirs = [circuits, total];
                weaker.push(format!(
                    "{kind:?}, {racks} racks, {week_us} us, {fallback:?}: {ours:.2?} of {theirs:.2?}"
                ));
            }
        }
    }
    assert!(weaker.is_empty(), "{}", weaker.join("\n"));
}
