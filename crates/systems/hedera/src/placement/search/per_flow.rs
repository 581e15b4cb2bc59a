//! Simulated annealing with a path for each flow, for traffic that one core for each destination cannot carry.

use super::annealing::accepts;
use super::first_fit::add_flow;
use crate::placement::network::{Fabric, Shape};
use crate::placement::network::{FlowPart, Load, PathModel};
use crate::placement::{Flow, UNIT};
use slotline_net::rng::Stream;

/// A flow and its parts.
struct MovableFlow {
    parts: [FlowPart; 2],
    count: usize,
    choices: u32,
    path: u32,
}

/// Searches better paths for `flows` in `iterations` steps. Flows begin with the path that they have, or else with a
/// random one. `c` is that of [`crate::placement::Annealing::place`]. A step gives one flow another path.
/// Returns the excess of the best placement found.
pub fn anneal_per_flow(
    fabric: &mut Fabric,
    flows: &mut [Flow],
    iterations: u32,
    c: f64,
    stream: &mut Stream,
) -> i64 {
    fabric.prepare(flows);
    for flow in flows.iter_mut() {
        let choices = fabric.choices(flow);
        let somewhere = stream.below(choices.into()) as u16;
        flow.path = (choices > 0).then(|| flow.path.unwrap_or(somewhere));
    }
    match &fabric.shape {
        Shape::Tiers(tiers) => search(fabric, tiers, flows, iterations, c, stream),
        Shape::Listed(listed) => search(fabric, listed, flows, iterations, c, stream),
    }
}

fn search<T: PathModel>(
    fabric: &Fabric,
    model: &T,
    flows: &mut [Flow],
    iterations: u32,
    c: f64,
    stream: &mut Stream,
) -> i64 {
    let mut load = Load::new(fabric.capacities());
    flows.iter().for_each(|flow| add_flow(fabric, &mut load, flow));
    let mut flows_to_move: Vec<MovableFlow> =
        flows.iter().map(|flow| movable(fabric, flow)).collect();
    let free: Vec<u32> =
        (0..).zip(&flows_to_move).filter(|(_, m)| m.choices > 1).map(|(at, _)| at).collect();
    let factor = c * f64::from(iterations) / f64::from(UNIT);
    let (mut best, mut since) = (load.excess(), Vec::new());
    for temperature in (1..=iterations).rev() {
        if best == 0 || free.is_empty() {
            break;
        }
        let at = free[stream.below(free.len() as u64) as usize];
        let movable = &mut flows_to_move[at as usize];
        let to = stream.below(movable.choices.into()) as u32;
        let (from, before) = (movable.path, load.excess());
        movable.go(model, &mut load, to);
        if !accepts(load.excess() - before, factor / f64::from(temperature), stream) {
            movable.go(model, &mut load, from);
        } else if load.excess() < best {
            best = load.excess();
            since.clear();
        } else {
            since.push((at, from));
        }
    }
    for (at, from) in since.into_iter().rev() {
        flows_to_move[at as usize].path = from;
    }
    for (flow, movable) in flows.iter_mut().zip(flows_to_move) {
        flow.path = flow.path.map(|_| movable.path as u16);
    }
    best
}

fn movable(fabric: &Fabric, flow: &Flow) -> MovableFlow {
    let (mut parts, mut count) = ([FlowPart::default(); 2], 0);
    for part in fabric.parts(flow) {
        parts[count] = part;
        count += 1;
    }
    let choices = fabric.choices(flow);
    let path = flow.path.map_or(0, u32::from).checked_rem(choices).unwrap_or(0);
    MovableFlow { parts, count, choices, path }
}

impl MovableFlow {
    #[inline]
    fn go<T: PathModel>(&mut self, model: &T, load: &mut Load, to: u32) {
        for part in &self.parts[..self.count] {
            load.shift(model, part, self.path, to);
        }
        self.path = to;
    }
}
