//! Flows that are on several paths at once, compared with the same references.

use super::*;

fn enter(plain: &Plain, solver: &mut MaxMin<Parts>) -> FlowKey {
    let path = FlowPath { links: &plain.links, shares: &plain.shares };
    solver.insert_spread(path, plain.weight, plain.cap, f64::INFINITY)
}

fn solved(capacities: &[f64], flows: &[Plain]) -> Vec<f64> {
    let mut solver = MaxMin::spread(capacities, 0.0);
    let keys: Vec<_> = flows.iter().map(|flow| enter(flow, &mut solver)).collect();
    solver.solve();
    keys.into_iter().map(|key| solver.rate(key)).collect()
}

/// A flow with up to `most` links, each with a share: fractions as of equal paths, or any.
fn spread(links: u32, most: usize) -> impl Strategy<Value = Plain> {
    let fraction = prop::sample::select(vec![1.0, 0.5, 1.0 / 3.0, 0.25, 0.125, 2.0 / 3.0]);
    let share = prop_oneof![fraction, 0.05f64..1.0];
    let some = prop::collection::btree_map(0..links, share, 1..most);
    let weight = prop::sample::select(vec![1.0, 1.0, 2.0, 0.5, 3.0]);
    (some, weight, prop::option::of(0.1f64..5.0)).prop_map(|(links, weight, cap)| Plain {
        links: links.keys().copied().collect(),
        shares: links.into_values().collect(),
        weight,
        cap: cap.unwrap_or(f64::INFINITY),
    })
}

#[test]
fn a_flow_over_two_paths_gets_both() {
    // Link 0 is shared by a flow that is on it whole and one that has half of it there, half on link 1.
    let half = Plain { shares: vec![0.5, 0.5], ..Plain::over(&[0, 1]) };
    let rates = solved(&[1.0, 1.0], &[Plain::over(&[0]), half.clone()]);
    assert!(rates.iter().all(|rate| (rate - 2.0 / 3.0).abs() < 1e-12), "{rates:?}");
    let rates = solved(&[1.0, 1.0], std::slice::from_ref(&half));
    assert_eq!(rates, [2.0]);
    // The lower of the two paths limits all of it.
    assert_eq!(solved(&[1.0, 0.25], &[half]), [0.5]);
}

proptest! {
    /// After any changes, rates are those of progressive filling. Paths may be longer than a row.
    #[test]
    fn equals_progressive_filling_of_shares(
        capacities in prop::collection::vec(prop::sample::select(vec![1.0f64, 1.0, 2.0, 10.0, 2.5]), 9),
        steps in prop::collection::vec(((spread(9, 9), any::<u16>(), 0u8..7), any::<bool>()), 1..60),
    ) {
        let mut capacities = capacities;
        let mut solver = MaxMin::spread(&capacities, 0.0);
        let mut there: Vec<(FlowKey, Plain)> = Vec::new();
        for ((plain, pick, what), asked) in steps {
            let pick = usize::from(pick);
            let chosen = pick % there.len().max(1);
            match what {
                0 if !there.is_empty() => solver.remove(there.swap_remove(chosen).0),
                1 => {
                    let link = pick % capacities.len();
                    capacities[link] = [0.0, 0.5, 1.0, 2.0, 4.0, 0.0, 3.25][pick % 7];
                    solver.set_capacity(link as u32, capacities[link]);
                }
                2 if !there.is_empty() => {
                    let (key, old) = &mut there[chosen];
                    solver.reroute_spread(*key, FlowPath { links: &plain.links, shares: &plain.shares });
                    prop_assert_eq!(solver.shares(*key).collect::<Vec<_>>(), &plain.shares[..]);
                    (old.links, old.shares) = (plain.links, plain.shares);
                }
                3 if there.get(chosen).is_some_and(|(_, old)| old.cap < f64::INFINITY) => {
                    let (key, old) = &mut there[chosen];
                    old.cap = if pick % 3 == 0 { 0.0 } else { (pick % 11) as f64 * 0.3 };
                    solver.set_cap(*key, old.cap);
                }
                _ => there.push((enter(&plain, &mut solver), plain)),
            }
            if !asked {
                continue;
            }
            solver.solve();
            let plain: Vec<Plain> = there.iter().map(|flow| flow.1.clone()).collect();
            for ((key, plain), right) in there.iter().zip(filled(&capacities, &plain)) {
                let rate = solver.rate(*key);
                prop_assert!((rate - right).abs() <= 1e-9 * right.max(1.0), "{plain:?}: {rate}, not {right}");
            }
        }
    }

    /// Many changes on a larger network: sums of fractions do not drift.
    #[test]
    fn shares_equal_a_solution_from_the_beginning(seed in any::<u64>()) {
        let mut rng = slotline_net::rng::Stream::named(seed, "test", 0);
        let capacities: Vec<f64> = (0..40).map(|_| 1e9 * (1 + rng.below(4)) as f64).collect();
        let mut any = || {
            let mut links: Vec<u32> = (0..40).collect();
            rng.shuffle(&mut links);
            links.truncate(1 + rng.below(12) as usize);
            let shares = links.iter().map(|_| 1.0 / (1 + rng.below(6)) as f64).collect();
            Plain { links, shares, ..Plain::over(&[]) }
        };
        let mut solver = MaxMin::spread(&capacities, 0.0);
        let mut there: Vec<(FlowKey, Plain)> = Vec::new();
        for n in 0..400usize {
            let plain = any();
            there.push((enter(&plain, &mut solver), plain));
            if there.len() > 80 {
                let (key, _) = there.swap_remove(n * 7919 % 80);
                solver.remove(key);
            }
            solver.solve();
            if n % 50 == 0 {
                let plain: Vec<Plain> = there.iter().map(|flow| flow.1.clone()).collect();
                for ((key, _), right) in there.iter().zip(solved(&capacities, &plain)) {
                    let rate = solver.rate(*key);
                    prop_assert!((rate - right).abs() <= 1e-9 * right, "{rate}, not {right}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn shares_equal_the_linear_programs(
        capacities in prop::collection::vec(prop::sample::select(vec![1.0f64, 2.0, 2.5, 7.0]), 4),
        flows in prop::collection::vec(spread(4, 5), 1..6),
    ) {
        let right = optimum(&capacities, &flows);
        for (rate, right) in solved(&capacities, &flows).iter().zip(&right) {
            prop_assert!((rate - right).abs() <= 1e-4 * right.max(1.0), "{rate}, not {right}");
        }
    }
}
