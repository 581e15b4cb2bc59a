//! Measures the quality of the schedules of the arbiter, against maximum matchings and exact max-min fairness.

use crate::Row;
use slotline_fastpass::{Allocator, Grant, Policy};
use slotline_net::rng::Stream;

/// Pairs of endpoints.
type Pairs = Vec<(u16, u16)>;

const BATCH: f64 = 64.0;
const BATCHES: u32 = 512;

/// Different random pairs of endpoints. No endpoint is paired with itself.
pub fn random_pairs(endpoints: u16, pairs: usize, seed: u64) -> Pairs {
    let mut stream = Stream::named(seed, "bench.arbiter.pairs", 0);
    let all = (0..endpoints).flat_map(|s| (0..endpoints).map(move |d| (s, d)));
    let mut all: Pairs = all.filter(|(src, dst)| src != dst).collect();
    stream.shuffle(&mut all);
    all.truncate(pairs);
    all
}

/// The largest number of pairs that one slot can serve (augmenting paths; Kuhn, 1955).
pub fn largest_matching(endpoints: u16, pairs: &[(u16, u16)]) -> usize {
    let mut of = vec![Vec::new(); endpoints.into()];
    pairs.iter().for_each(|&(src, dst)| of[usize::from(src)].push(dst));
    let mut partner = vec![None; endpoints.into()];
    (0..endpoints)
        .filter(|&src| augment(src, &of, &mut partner, &mut vec![false; endpoints.into()]))
        .count()
}

fn augment(src: u16, of: &[Vec<u16>], partner: &mut [Option<u16>], seen: &mut [bool]) -> bool {
    of[usize::from(src)].iter().any(|&dst| {
        let dst = usize::from(dst);
        !std::mem::replace(&mut seen[dst], true)
            && partner[dst].is_none_or(|other| augment(other, of, partner, seen))
            && partner[dst].replace(src).is_none_or(|_| true)
    })
}

/// Exact max-min fair shares of pairs that are always backlogged, in slots per slot. All shares rise at the same rate
/// until an endpoint is full. The shares of its pairs then stop, and the others continue.
pub fn fair_shares(endpoints: u16, pairs: &[(u16, u16)]) -> Vec<f64> {
    let ends =
        |(src, dst): (u16, u16)| [usize::from(src), usize::from(endpoints) + usize::from(dst)];
    let mut room = vec![1.0f64; 2 * usize::from(endpoints)];
    let mut shares = vec![None; pairs.len()];
    while shares.iter().any(Option::is_none) {
        let mut rising = vec![0u32; room.len()];
        for (&pair, _) in pairs.iter().zip(&shares).filter(|(_, share)| share.is_none()) {
            ends(pair).into_iter().for_each(|end| rising[end] += 1);
        }
        let level = |end: usize| room[end] / f64::from(rising[end]);
        let used = (0..room.len()).filter(|&end| rising[end] > 0);
        let Some(full) = used.min_by(|&a, &b| level(a).total_cmp(&level(b))) else { break };
        let least = level(full);
        for (&pair, share) in pairs.iter().zip(&mut shares) {
            if share.is_none() && ends(pair).contains(&full) {
                *share = Some(least);
                ends(pair).into_iter().for_each(|end| room[end] = (room[end] - least).max(0.0));
            }
        }
    }
    shares.into_iter().flatten().collect()
}

/// The quality of an allocator's schedules for pairs that are always backlogged.
#[derive(Clone, Debug)]
pub struct Quality {
    /// Packets per slot divided by the size of a largest matching: the mean over all slots.
    pub matching: f64,
    /// The same value in the worst slot.
    pub worst_matching: f64,
    /// The sum of all granted slots divided by the sum of the max-min fair shares.
    pub served: f64,
    /// The mean distance of a pair from its max-min fair share, relative to that share.
    pub mean_distance: f64,
    /// The same for the pair that is furthest below its share.
    pub worst_below: f64,
    /// Jain's index of granted slots divided by fair shares: 1 if all pairs got the same part of their shares.
    pub jain: f64,
}

/// Serves the pairs for some time, each with endless demand.
pub fn quality(endpoints: u16, pairs: &[(u16, u16)], quantum: u32, strict: bool) -> Quality {
    let policy = Policy::MaxMin { quantum };
    let arbiter = Allocator::new(endpoints.into(), policy).expect("these can be served");
    let mut arbiter = arbiter.with_strict_turns(strict);
    for &(src, dst) in pairs {
        arbiter.add_demand(src, dst, u32::MAX).expect("these endpoints exist");
    }
    let largest = largest_matching(endpoints, pairs) as f64;
    let place: std::collections::BTreeMap<_, _> = pairs.iter().copied().zip(0..).collect();
    let (mut got, mut filled) = (vec![0u32; pairs.len()], Vec::new());
    for _ in 0..BATCHES {
        let mut grants = Vec::new();
        arbiter.allocate_batch(&mut grants);
        for Grant { src, dst, slots } in &grants {
            got[place[&(*src, *dst)]] += slots.count_ones();
        }
        let in_slot =
            |slot: u32| grants.iter().filter(|grant| grant.slots >> slot & 1 == 1).count();
        filled.extend((0..64).map(|slot| in_slot(slot) as f64 / largest));
    }
    let fair = fair_shares(endpoints, pairs);
    let per_slot = |&slots: &u32| f64::from(slots) / (BATCH * f64::from(BATCHES));
    let got: Vec<f64> = got.iter().map(per_slot).collect();
    let ratios: Vec<f64> = got.iter().zip(&fair).map(|(got, fair)| got / fair).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let distances: Vec<f64> = ratios.iter().map(|ratio| (ratio - 1.0).abs()).collect();
    let squares: Vec<f64> = ratios.iter().map(|ratio| ratio * ratio).collect();
    Quality {
        matching: mean(&filled),
        worst_matching: filled.iter().copied().fold(f64::INFINITY, f64::min),
        served: got.iter().sum::<f64>() / fair.iter().sum::<f64>(),
        mean_distance: mean(&distances),
        worst_below: 1.0 - ratios.iter().copied().fold(f64::INFINITY, f64::min),
        jain: mean(&ratios).powi(2) / mean(&squares),
    }
}

/// The quality part of `slotline bench arbiter`: 64 endpoints, 4 to 32 random pairs for each on average.
pub fn rows() -> Vec<Row> {
    let turns = [(1, false), (4, false), (64, false), (1, true)];
    let cases = [4usize, 8, 32].into_iter().flat_map(|pairs| turns.map(|turns| (pairs, turns)));
    cases.flat_map(|(pairs, turns)| case_rows(pairs, turns)).collect()
}

fn case_rows(pairs: usize, (quantum, strict): (u32, bool)) -> Vec<Row> {
    let found = quality(64, &random_pairs(64, 64 * pairs, 1), quantum, strict);
    let turns = if strict { ", strict" } else { "" };
    let row = |name: &str, value: f64, unit: &str| Row {
        name: format!("quality/{name}"),
        scenario: format!("64, {pairs} pairs each"),
        scheme: format!("quantum {quantum}{turns}"),
        threads: 1,
        value,
        unit: unit.into(),
    };
    vec![
        row("matching", found.matching, "of the largest"),
        row("worst_matching", found.worst_matching, "of the largest"),
        row("served", found.served, "of max-min"),
        row("mean_distance", found.mean_distance, "of the share"),
        row("worst_below", found.worst_below, "of the share"),
        row("jain", found.jain, "1: equal"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three pairs at one source, one of which shares its destination with a fourth pair.
    #[test]
    fn fair_shares_fill_the_fullest_end_first() {
        let shares = fair_shares(6, &[(0, 1), (0, 2), (0, 3), (4, 3)]);
        let third = 1.0 / 3.0;
        let expected = [third, third, third, 1.0 - third];
        assert!(shares.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{shares:?}");
        assert_eq!(largest_matching(6, &[(0, 1), (0, 2), (0, 3), (4, 3)]), 2);
    }

    /// Every slot has at least half of the largest matching, and shares are near max-min fairness.
    #[test]
    fn schedules_are_near_the_optimum() {
        for (seed, pairs) in [(1, 20), (2, 40), (3, 80), (4, 240)] {
            let chosen = random_pairs(16, pairs, seed);
            for (quantum, strict) in [(1, false), (4, false), (64, false), (1, true)] {
                let found = quality(16, &chosen, quantum, strict);
                assert!(found.worst_matching >= 0.5, "{pairs} pairs, quantum {quantum}: {found:?}");
                assert!(found.matching > 0.7 && found.served > 0.7, "{quantum}: {found:?}");
                assert!(found.jain > 0.8, "{pairs} pairs, quantum {quantum}: {found:?}");
            }
        }
    }

    /// With one receiver, only the order of visits matters, and all pairs get the same.
    #[test]
    fn a_single_receiver_is_shared_exactly() {
        for senders in 2..32 {
            let pairs: Pairs = (1..=senders).map(|src| (src, 0)).collect();
            let found = quality(33, &pairs, 1, false);
            assert_eq!(found.matching, 1.0);
            assert!(found.mean_distance < 0.01 && found.jain > 0.9999, "{senders}: {found:?}");
        }
    }
}
