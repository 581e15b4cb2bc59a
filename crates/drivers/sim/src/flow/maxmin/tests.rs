use super::*;
use good_lp::{Expression, ProblemVariables, Solution, SolverModel, constraint, variable};
use proptest::prelude::*;

mod spread;

/// A flow for the reference computations: its links, the share that each of them carries (all of the flow if there
/// are no shares), its weight and its cap.
#[derive(Clone, Debug)]
struct Plain {
    links: Vec<u32>,
    shares: Vec<f64>,
    weight: f64,
    cap: f64,
}

impl Plain {
    fn over(links: &[u32]) -> Plain {
        Plain { links: links.to_vec(), shares: vec![], weight: 1.0, cap: f64::INFINITY }
    }
    /// The share of the flow that a link carries.
    fn share(&self, link: usize) -> f64 {
        let at = self.links.iter().position(|other| *other == link as u32);
        at.map_or(0.0, |at| self.shares.get(at).copied().unwrap_or(1.0))
    }
    /// Adds the flow to a solver. It never ends.
    fn enter(&self, solver: &mut MaxMin) -> FlowKey {
        solver.insert(&self.links, self.weight, self.cap, f64::INFINITY)
    }
}

/// Progressive filling: all rates grow in proportion to weights until a link or a cap stops some.
fn filled(capacities: &[f64], flows: &[Plain]) -> Vec<f64> {
    let mut rates = vec![0.0; flows.len()];
    let mut growing: Vec<usize> = (0..flows.len()).collect();
    while !growing.is_empty() {
        let room = |link: usize, rates: &[f64]| {
            let on = flows.iter().zip(rates).map(|(flow, rate)| flow.share(link) * rate);
            capacities[link] - on.sum::<f64>()
        };
        let weight = |link: usize| {
            growing.iter().map(|&at| flows[at].share(link) * flows[at].weight).sum::<f64>()
        };
        let by_links = (0..capacities.len()).filter(|&link| weight(link) > 0.0);
        let by_caps = growing.iter().map(|&at| (flows[at].cap - rates[at]) / flows[at].weight);
        let steps = by_links.map(|link| room(link, &rates) / weight(link)).chain(by_caps);
        let step = steps.fold(f64::INFINITY, f64::min).max(0.0);
        growing.iter().for_each(|&at| rates[at] += step * flows[at].weight);
        let full: Vec<bool> =
            (0..capacities.len()).map(|l| room(l, &rates) <= 1e-11 * capacities[l]).collect();
        growing.retain(|&at| {
            let stopped = flows[at].links.iter().any(|&link| full[link as usize]);
            !stopped && rates[at] < flows[at].cap * (1.0 - 1e-13)
        });
    }
    rates
}

/// Maximises `goal` of the rates and the common share under all capacities; some rates are known.
fn program(
    capacities: &[f64],
    flows: &[Plain],
    known: &[Option<f64>],
    goal: Option<usize>,
    share: Option<f64>,
) -> f64 {
    let mut variables = ProblemVariables::new();
    let rate: Vec<_> = flows.iter().map(|_| variables.add(variable().min(0.0))).collect();
    let level = variables.add(variable().min(0.0).max(share.unwrap_or(1e6)));
    let objective = goal.map_or(Expression::from(level), |at| Expression::from(rate[at]));
    let mut model = variables.maximise(objective).using(good_lp::microlp);
    for (link, &capacity) in capacities.iter().enumerate() {
        let on = (0..flows.len()).map(|at| flows[at].share(link) * rate[at]);
        model = model.with(constraint!(on.sum::<Expression>() <= capacity));
    }
    for (at, flow) in flows.iter().enumerate() {
        if flow.cap < f64::INFINITY {
            model = model.with(constraint!(rate[at] <= flow.cap));
        }
        model = match known[at] {
            Some(value) => model.with(constraint!(rate[at] <= value)),
            None => model,
        };
        let least = known[at].map_or(flow.weight * level, |value| Expression::from(value - 1e-9));
        model = model.with(constraint!(rate[at] >= least));
    }
    if let Some(share) = share {
        model = model.with(constraint!(level >= share - 1e-9));
    }
    let solution = model.solve().expect("zero rates are a solution");
    goal.map_or_else(|| solution.value(level), |at| solution.value(rate[at]))
}

/// The lexicographic optimum by linear programs. The first maximises the common share. Flows that cannot get more are
/// fixed at that share, the next program maximises the share of the others, and so on.
fn optimum(capacities: &[f64], flows: &[Plain]) -> Vec<f64> {
    let mut known = vec![None; flows.len()];
    while known.iter().any(Option::is_none) {
        let share = program(capacities, flows, &known, None, None);
        let before = known.clone();
        for at in (0..flows.len()).filter(|&at| before[at].is_none()) {
            let most = program(capacities, flows, &before, Some(at), Some(share));
            if most <= share * flows[at].weight + 1e-6 {
                known[at] = Some(share * flows[at].weight);
            }
        }
        assert_ne!(known, before, "no flow is at its limit");
    }
    known.into_iter().flatten().collect()
}

fn flow(links: usize) -> impl Strategy<Value = Plain> {
    let some = prop::collection::btree_set(0..links as u32, 1..5);
    let weight = prop::sample::select(vec![1.0, 1.0, 2.0, 0.5, 3.0]);
    (some, weight, prop::option::of(0.1f64..5.0)).prop_map(|(links, weight, cap)| Plain {
        links: links.into_iter().collect(),
        shares: vec![],
        weight,
        cap: cap.unwrap_or(f64::INFINITY),
    })
}

fn solved(capacities: &[f64], flows: &[Plain]) -> Vec<f64> {
    let mut solver = MaxMin::new(capacities);
    let keys: Vec<_> = flows.iter().map(|flow| flow.enter(&mut solver)).collect();
    solver.solve();
    keys.into_iter().map(|key| solver.rate(key)).collect()
}

#[test]
fn the_textbook_example() {
    // Bertsekas and Gallager, section 6.5.2: a long flow shares a link with two, another with one.
    let flows = [Plain::over(&[0, 1]), Plain::over(&[0]), Plain::over(&[0]), Plain::over(&[1])];
    let rates = solved(&[1.0, 1.0], &flows);
    for (rate, right) in rates.iter().zip([1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 2.0 / 3.0]) {
        assert!((rate - right).abs() < 1e-12, "{rates:?}");
    }
}

#[test]
fn long_ways_and_no_flows() {
    let links: Vec<u32> = (0..40).collect();
    let mut solver = MaxMin::new(&[2.0; 40]);
    solver.solve();
    let short = Plain::over(&[3]).enter(&mut solver);
    let long = Plain { weight: 3.0, ..Plain::over(&links) }.enter(&mut solver);
    solver.solve();
    assert_eq!((solver.rate(short), solver.rate(long)), (0.5, 1.5));
    let mut path = Vec::new();
    solver.copy_path(long, &mut path);
    assert_eq!(path, links);
    solver.remove(long);
    solver.solve();
    assert_eq!(solver.rate(short), 2.0);
}

/// One random change: a flow is removed, rerouted or given another cap, a link's capacity changes, or a flow is added.
fn step(
    solver: &mut MaxMin,
    capacities: &mut [f64],
    there: &mut Vec<(FlowKey, Plain)>,
    (plain, pick, what): (Plain, u16, u8),
) {
    let pick = usize::from(pick);
    let chosen = pick % there.len().max(1);
    match what {
        0 if !there.is_empty() => {
            let (key, ..) = there.swap_remove(chosen);
            solver.remove(key);
        }
        1 => {
            let link = pick % capacities.len();
            capacities[link] = [0.0, 0.5, 1.0, 2.0, 4.0, 0.0, 3.25][pick % 7];
            solver.set_capacity(link as u32, capacities[link]);
        }
        2 if !there.is_empty() => {
            let (key, old) = &mut there[chosen];
            solver.reroute(*key, &plain.links);
            old.links = plain.links;
        }
        3 if there.get(chosen).is_some_and(|(_, old)| old.cap < f64::INFINITY) => {
            let (key, old) = &mut there[chosen];
            old.cap = if pick % 3 == 0 { 0.0 } else { (pick % 11) as f64 * 0.3 };
            solver.set_cap(*key, old.cap);
        }
        _ => {
            there.push((plain.enter(solver), plain));
        }
    }
}

proptest! {
    /// After any changes, with one or several before rates are computed, all rates are those of a solution from the
    /// beginning.
    #[test]
    fn equals_progressive_filling(
        capacities in prop::collection::vec(prop::sample::select(vec![1.0f64, 1.0, 2.0, 10.0, 2.5]), 6),
        steps in prop::collection::vec(((flow(6), any::<u16>(), 0u8..7), any::<bool>()), 1..60),
    ) {
        let mut capacities = capacities;
        let mut solver = MaxMin::new(&capacities);
        let mut there: Vec<(FlowKey, Plain)> = Vec::new();
        for (what, asked) in steps {
            step(&mut solver, &mut capacities, &mut there, what);
            if !asked {
                continue;
            }
            solver.solve();
            let plain: Vec<Plain> = there.iter().map(|f| f.1.clone()).collect();
            for ((key, plain), right) in there.iter().zip(filled(&capacities, &plain)) {
                let rate = solver.rate(*key);
                prop_assert!((rate - right).abs() <= 1e-9 * right.max(1.0), "{plain:?}: {rate}, not {right}");
            }
        }
    }

    /// Many changes on a larger network: sums that are stored from one solution to the next do not drift.
    #[test]
    fn equals_a_solution_from_the_beginning(seed in any::<u64>()) {
        let mut rng = slotline_net::rng::Stream::named(seed, "test", 0);
        let capacities: Vec<f64> = (0..40).map(|_| 1e9 * (1 + rng.below(4)) as f64).collect();
        let mut any = || Plain {
            links: {
                let mut links: Vec<u32> = (0..40).collect();
                rng.shuffle(&mut links);
                links.truncate(1 + rng.below(6) as usize);
                links
            },
            shares: vec![],
            weight: [1.0, 2.0, 0.25][rng.below(3) as usize],
            cap: f64::INFINITY,
        };
        let mut solver = MaxMin::new(&capacities);
        let mut there: Vec<(FlowKey, Plain)> = Vec::new();
        for n in 0..600usize {
            let plain = any();
            there.push((plain.enter(&mut solver), plain));
            if there.len() > 100 {
                let (key, _) = there.swap_remove(n * 7919 % 100);
                solver.remove(key);
            }
            solver.solve();
            if n % 60 == 0 {
                let plain: Vec<Plain> = there.iter().map(|f| f.1.clone()).collect();
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
    fn equals_the_linear_programs(
        capacities in prop::collection::vec(prop::sample::select(vec![1.0f64, 2.0, 2.5, 7.0]), 4),
        flows in prop::collection::vec(flow(4), 1..6),
    ) {
        let right = optimum(&capacities, &flows);
        for (rate, right) in solved(&capacities, &flows).iter().zip(&right) {
            prop_assert!((rate - right).abs() <= 1e-5 * right.max(1.0), "{rate}, not {right}");
        }
    }
}

proptest! {
    /// With a tolerance, rates stay near the exact ones after many changes.
    #[test]
    fn rough_rates_are_nearly_right(seed in any::<u64>()) {
        let mut rng = slotline_net::rng::Stream::named(seed, "test", 0);
        let capacities = [1e9; 30];
        let (mut exact, mut rough) = (MaxMin::new(&capacities), MaxMin::rough(&capacities, 1e-6));
        let mut there: Vec<(FlowKey, FlowKey)> = Vec::new();
        for _ in 0..400 {
            let mut links: Vec<u32> = (0..30).collect();
            rng.shuffle(&mut links);
            let links = &links[..1 + rng.below(4) as usize];
            let plain = Plain::over(links);
            there.push((plain.enter(&mut exact), plain.enter(&mut rough)));
            if there.len() > 60 {
                let (one, other) = there.swap_remove(rng.below(60) as usize);
                exact.remove(one);
                rough.remove(other);
            }
            exact.solve();
            rough.solve();
        }
        for (one, other) in there {
            let (right, rate) = (exact.rate(one), rough.rate(other));
            prop_assert!((rate / right - 1.0).abs() < 1e-3, "{rate}, not {right}");
        }
    }
}

/// A flow with its remaining bytes, by the reference computation.
struct Sending {
    key: FlowKey,
    plain: Plain,
    left: f64,
}

/// Removes the flows that have ended. By the reference, they have no bytes left.
fn take_ended(solver: &mut MaxMin, there: &mut Vec<Sending>) -> Result<(), TestCaseError> {
    let mut ended = Vec::new();
    while solver.next_end().is_some_and(|end| end <= solver.now) {
        solver.ended(&mut ended);
        for key in ended.drain(..) {
            let at = there.iter().position(|flow| flow.key == key).expect("a flow that is there");
            let flow = there.swap_remove(at);
            prop_assert!(flow.left.abs() < 1e-5, "{} left", flow.left);
            prop_assert!((solver.left(key) - flow.left).abs() < 1e-5);
            solver.remove(key);
        }
    }
    Ok(())
}

proptest! {
    /// Flows are added, grow and end when their bytes are sent, however their rates and limits change meanwhile. The
    /// remaining bytes of each follow from its rates.
    #[test]
    fn flows_end_when_all_is_sent(
        steps in prop::collection::vec((flow(6), 1u32..200, 0u64..50_000_000_000, 0u8..6), 1..80),
    ) {
        let capacities = [1.0, 2.0, 1.0, 10.0, 2.5, 1.0].map(|capacity| capacity * 1e3);
        let mut solver = MaxMin::new(&capacities);
        let mut there: Vec<Sending> = Vec::new();
        for (plain, bytes, wait, what) in steps {
            let plain = Plain { cap: plain.cap * 1e3, ..plain };
            let until = solver.now + wait;
            loop {
                let next = solver.next_end().unwrap_or(u64::MAX).min(until);
                let span = (next - solver.now) as f64 * 1e-12;
                let rates: Vec<Plain> = there.iter().map(|flow| flow.plain.clone()).collect();
                for (flow, rate) in there.iter_mut().zip(filled(&capacities, &rates)) {
                    flow.left -= rate * span;
                    prop_assert!(flow.left > -1e-5, "{} left", flow.left);
                }
                solver.advance(next);
                take_ended(&mut solver, &mut there)?;
                solver.solve();
                if next == until {
                    break;
                }
            }
            match there.get_mut(wait as usize % 5) {
                Some(flow) if what == 0 => {
                    solver.extend(flow.key, f64::from(bytes));
                    flow.left += f64::from(bytes);
                }
                Some(flow) if what == 1 => {
                    solver.reroute(flow.key, &plain.links);
                    flow.plain.links = plain.links;
                }
                _ => {
                    let left = f64::from(bytes);
                    let key = solver.insert(&plain.links, plain.weight, plain.cap, left);
                    there.push(Sending { key, plain, left });
                }
            }
            solver.solve();
            for flow in &there {
                prop_assert!((solver.left(flow.key) - flow.left).abs() < 1e-5);
            }
        }
    }
}
