//! A placement for any demand: the best of several placements, each improved by local search.

use super::annealing::{Annealing, default_c};
use super::first_fit::{add_flow, first_fit};
use crate::placement::Flow;
use crate::placement::bipartite::{bijective, by_colours};
use crate::placement::network::max_min;
use crate::placement::network::{Fabric, Shape};
use crate::placement::network::{FlowPart, Load, PathModel};
use slotline_net::rng::Stream;

/// A method to place flows; `None` if it does not fit them.
type Method = fn(&mut Fabric, &[Flow]) -> Option<Vec<Flow>>;

/// The most rounds of local search.
const ROUNDS: usize = 16;
/// The number of annealing runs in a small fabric. Chance decides which run is best.
const STARTS: u64 = 4;
/// The most hosts of a small fabric.
const SMALL: usize = 1_024;

/// Places `flows` and returns the remaining excess. Flows keep their paths if these are as good.
///
/// Bijective traffic is placed exactly. For any other traffic there are several candidates: the paths that flows
/// have; Global First Fit; Euler splits of the graph of flows, heaviest first, so that all links of a switch have
/// about the same load; and annealing. Local search improves each candidate: a flow on an overloaded link moves to
/// where it adds the least excess. The candidate with the largest sum of max-min fair rates is chosen.
pub fn best(fabric: &mut Fabric, flows: &mut [Flow]) -> i64 {
    fabric.prepare(flows);
    let mut candidates = Candidates { flows, chosen: None };
    if candidates.flows.iter().all(|flow| flow.path.is_some()) {
        candidates.add(fabric, candidates.flows.to_vec());
    }
    let methods: [Method; 3] = [exact, fit, halved];
    for method in methods {
        if !candidates.is_over()
            && let Some(placed) = method(fabric, candidates.flows)
        {
            candidates.add(fabric, placed);
        }
    }
    let starts = if fabric.hosts() <= SMALL { STARTS } else { 1 };
    for start in 0..starts {
        if !candidates.is_over() {
            let placed = annealed(fabric, candidates.flows, start);
            candidates.add(fabric, placed);
        }
    }
    let Some((excess, _, placed)) = candidates.chosen else { return 0 };
    flows.iter_mut().zip(placed).for_each(|(flow, placed)| flow.path = placed.path);
    excess
}

/// Placements of the same flows, of which the best is kept.
struct Candidates<'a> {
    flows: &'a [Flow],
    /// The excess of the best placement, the sum of the rates of its flows, and the placement itself.
    chosen: Option<(i64, f64, Vec<Flow>)>,
}

impl Candidates<'_> {
    /// Adds a placement as it is, and the placement after local search.
    fn add(&mut self, fabric: &Fabric, placed: Vec<Flow>) {
        let (excess, better) = improved(fabric, placed.clone());
        if excess > 0 && placed.iter().all(|flow| flow.path.is_some()) {
            self.compare(fabric, i64::MAX, placed);
        }
        self.compare(fabric, excess, better);
    }
    fn compare(&mut self, fabric: &Fabric, excess: i64, placed: Vec<Flow>) {
        let value = max_min(fabric, &placed, |_| 0).iter().sum::<f64>();
        let better = |(least, most, _): &(i64, f64, Vec<Flow>)| {
            excess == 0 && *least > 0 || value > *most * (1.0 + 1e-9)
        };
        if self.chosen.as_ref().is_none_or(better) {
            self.chosen = Some((excess, value, placed));
        }
    }
    /// Whether every flow gets its demand.
    fn is_over(&self) -> bool {
        self.chosen.as_ref().is_some_and(|(excess, ..)| *excess == 0)
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

/// Halves the flows, heaviest first, until each aggregation switch and core has its share.
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

/// Improves a placement by local search. Returns its excess, and the placement.
fn improved(fabric: &Fabric, mut flows: Vec<Flow>) -> (i64, Vec<Flow>) {
    let excess = match &fabric.shape {
        Shape::Tiers(tiers) => improve(fabric, tiers, &mut flows),
        Shape::Listed(listed) => improve(fabric, listed, &mut flows),
    };
    (excess, flows)
}

fn improve<T: PathModel>(fabric: &Fabric, model: &T, flows: &mut [Flow]) -> i64 {
    let mut load = Load::new(fabric.capacities());
    flows.iter().for_each(|flow| add_flow(fabric, &mut load, flow));
    for round in 0..ROUNDS {
        let before = load.excess();
        if before == 0 && round > 0 {
            break;
        }
        let mut moved = false;
        for (at, flow) in flows.iter_mut().enumerate() {
            let choices = fabric.choices(flow);
            if choices > 0 {
                moved |= relocate(fabric, model, &mut load, flow, choices, at + round);
            }
        }
        if !moved {
            break;
        }
    }
    load.excess()
}

/// Moves a flow off overloaded links, to the path where it adds the least excess. Of equal paths the first from
/// `turn` on is taken, so that the remaining excess moves around. Returns whether the flow was moved.
fn relocate<T: PathModel>(
    fabric: &Fabric,
    model: &T,
    load: &mut Load,
    flow: &mut Flow,
    choices: u32,
    turn: usize,
) -> bool {
    let parts: Vec<FlowPart> = fabric.parts(flow).collect();
    let now = flow.path.map(|path| u32::from(path) % choices);
    if let Some(now) = now {
        let full = |part: &FlowPart| model.wires(part, now).any(|wire| load.over(wire) > 0);
        if !parts.iter().any(full) {
            return false;
        }
        parts.iter().for_each(|part| load.take(model, part, now));
    }
    let cost = |path: u32| parts.iter().map(|part| load.cost(model, part, path)).sum::<i64>();
    let mut best = now.map(|now| (cost(now), now));
    let first = turn as u32 % choices;
    for path in (first..choices).chain(0..first) {
        let added = cost(path);
        if best.is_none_or(|(least, at)| added < least || added == least && Some(at) == now) {
            best = Some((added, path));
        }
        if added == 0 {
            break;
        }
    }
    let (_, path) = best.unwrap_or((0, 0));
    parts.iter().for_each(|part| load.put(model, part, path));
    flow.path = Some(path as u16);
    now != Some(path)
}
