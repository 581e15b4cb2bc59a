//! A placement for any demand: the best of several ways to begin, made better flow by flow.

use super::Flow;
use super::annealing::{Annealing, default_c};
use super::colour::{bijective, by_colours};
use super::fabric::{Fabric, Shape};
use super::first_fit::{first_fit, put};
use super::load::{Item, Load, Terrain};
use super::quality::max_min;
use slotline_net::rng::Stream;

/// A way to place flows; `None` where it does not fit them.
type Way = fn(&mut Fabric, &[Flow]) -> Option<Vec<Flow>>;

/// How often flows on full links are looked at again.
const ROUNDS: usize = 16;
/// Annealing begins so often anew, where fabrics are no larger than this: it is chance which is best.
const STARTS: u64 = 4;
const SMALL: usize = 1_024;

/// Places `flows`. Those that have a place keep it where that is as good. The excess that is left.
///
/// Bijective traffic is placed exactly. Any other is tried in several ways: with the places that flows
/// have; as Global First Fit has it; as halving the graph of flows has it, heaviest first, so that
/// every switch's links weigh about the same; and by annealing. Each is also made better by local
/// search: a flow on a link that has too much goes where it does least harm. The placement in which
/// flows get most, by max-min fairness, wins.
pub fn best(fabric: &mut Fabric, flows: &mut [Flow]) -> i64 {
    fabric.prepare(flows);
    let mut contest = Contest { flows, winner: None };
    if contest.flows.iter().all(|flow| flow.path.is_some()) {
        contest.enter(fabric, contest.flows.to_vec());
    }
    let ways: [Way; 3] = [exact, fit, halved];
    for way in ways {
        if !contest.is_over()
            && let Some(placed) = way(fabric, contest.flows)
        {
            contest.enter(fabric, placed);
        }
    }
    let starts = if fabric.hosts() <= SMALL { STARTS } else { 1 };
    for start in 0..starts {
        if !contest.is_over() {
            let placed = annealed(fabric, contest.flows, start);
            contest.enter(fabric, placed);
        }
    }
    let Some((excess, _, placed)) = contest.winner else { return 0 };
    flows.iter_mut().zip(placed).for_each(|(flow, placed)| flow.path = placed.path);
    excess
}

/// Placements of the same flows, of which one wins.
struct Contest<'a> {
    flows: &'a [Flow],
    /// Its excess, what its flows get, and itself.
    winner: Option<(i64, f64, Vec<Flow>)>,
}

impl Contest<'_> {
    /// A placement, as it is and made better.
    fn enter(&mut self, fabric: &Fabric, placed: Vec<Flow>) {
        let (excess, better) = improved(fabric, placed.clone());
        if excess > 0 && placed.iter().all(|flow| flow.path.is_some()) {
            self.compare(fabric, (i64::MAX, placed));
        }
        self.compare(fabric, (excess, better));
    }
    fn compare(&mut self, fabric: &Fabric, (excess, placed): (i64, Vec<Flow>)) {
        let value = max_min(fabric, &placed, |_| 0).iter().sum::<f64>();
        let wins = |(least, most, _): &(i64, f64, Vec<Flow>)| {
            excess == 0 && *least > 0 || value > *most * (1.0 + 1e-9)
        };
        if self.winner.as_ref().is_none_or(wins) {
            self.winner = Some((excess, value, placed));
        }
    }
    /// Whether every flow gets its demand.
    fn is_over(&self) -> bool {
        self.winner.as_ref().is_some_and(|(excess, ..)| *excess == 0)
    }
}

fn exact(fabric: &mut Fabric, flows: &[Flow]) -> Option<Vec<Flow>> {
    let mut flows = flows.to_vec();
    bijective(fabric, &mut flows).map(|()| flows)
}

fn fit(fabric: &mut Fabric, flows: &[Flow]) -> Option<Vec<Flow>> {
    let mut flows: Vec<Flow> = flows.iter().map(|flow| Flow { path: None, ..*flow }).collect();
    first_fit(fabric, &mut flows);
    Some(flows)
}

fn annealed(fabric: &mut Fabric, flows: &[Flow], start: u64) -> Vec<Flow> {
    let mut flows = flows.to_vec();
    let mut stream = Stream::named(flows.len() as u64, "placement.best", start);
    let iterations = (16 * fabric.hosts() as u32).clamp(20_000, 50_000);
    let mut map = Annealing::new(fabric);
    map.place(fabric, &mut flows, iterations, default_c(fabric.hosts()), &mut stream);
    flows
}

/// Flows heaviest first, halved until each aggregation switch and core has its part.
fn halved(fabric: &mut Fabric, flows: &[Flow]) -> Option<Vec<Flow>> {
    let Shape::Tiers(tiers) = &fabric.shape else { return None };
    let mut order: Vec<usize> = (0..flows.len()).collect();
    order.sort_by(|&a, &b| flows[b].demand.total_cmp(&flows[a].demand));
    let mut sorted: Vec<Flow> = order.iter().map(|&at| flows[at]).collect();
    by_colours(tiers, &mut sorted);
    let mut out = flows.to_vec();
    order.iter().zip(sorted).for_each(|(&at, flow)| out[at].path = flow.path);
    Some(out)
}

/// The excess after local search, and the placement.
fn improved(fabric: &Fabric, mut flows: Vec<Flow>) -> (i64, Vec<Flow>) {
    let excess = match &fabric.shape {
        Shape::Tiers(tiers) => improve(fabric, tiers, &mut flows),
        Shape::Listed(listed) => improve(fabric, listed, &mut flows),
    };
    (excess, flows)
}

fn improve<T: Terrain>(fabric: &Fabric, terrain: &T, flows: &mut [Flow]) -> i64 {
    let mut load = Load::new(fabric.rooms());
    flows.iter().for_each(|flow| put(fabric, &mut load, flow));
    for round in 0..ROUNDS {
        let before = load.excess();
        if before == 0 && round > 0 {
            break;
        }
        let mut moved = false;
        for (at, flow) in flows.iter_mut().enumerate() {
            let choices = fabric.choices(flow);
            if choices > 0 {
                moved |= relocate(fabric, terrain, &mut load, (flow, choices), at + round);
            }
        }
        if !moved {
            break;
        }
    }
    load.excess()
}

/// Moves a flow off links that have too much, to where it does least harm; in a draw to where the
/// `turn` comes first, so that what stays too much wanders.
fn relocate<T: Terrain>(
    fabric: &Fabric,
    terrain: &T,
    load: &mut Load,
    (flow, choices): (&mut Flow, u32),
    turn: usize,
) -> bool {
    let items: Vec<Item> = fabric.items(flow).collect();
    let now = flow.path.map(|path| u32::from(path) % choices);
    if let Some(now) = now {
        let full = |item: &Item| terrain.wires(item, now).any(|wire| load.over(wire) > 0);
        if !items.iter().any(full) {
            return false;
        }
        items.iter().for_each(|item| load.take(terrain, item, now));
    }
    let cost = |path: u32| items.iter().map(|item| load.cost(terrain, item, path)).sum::<i64>();
    let mut best = now.map(|now| (cost(now), now));
    let first = turn as u32 % choices;
    for path in (first..choices).chain(0..first) {
        let harm = cost(path);
        if best.is_none_or(|(least, at)| harm < least || harm == least && Some(at) == now) {
            best = Some((harm, path));
        }
        if harm == 0 {
            break;
        }
    }
    let (_, path) = best.unwrap_or((0, 0));
    items.iter().for_each(|item| load.put(terrain, item, path));
    flow.path = Some(path as u16);
    now != Some(path)
}
