//! Simulated annealing with a path for each flow: where one core for each destination cannot do.

use super::annealing::accepts;
use super::fabric::{Fabric, Shape};
use super::first_fit::put;
use super::load::{Item, Load, Terrain};
use super::{Flow, UNIT};
use slotline_net::rng::Stream;

/// A flow and its parts.
struct Mover {
    items: [Item; 2],
    parts: usize,
    choices: u32,
    path: u32,
}

/// Searches for `iterations` better paths for `flows`, from those they have on, others from where the
/// stream puts them; `c` as for [`super::Annealing::place`]. A step gives one flow another path. The
/// excess of the best found.
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
        Shape::Tiers(tiers) => search(fabric, tiers, flows, (iterations, c), stream),
        Shape::Listed(listed) => search(fabric, listed, flows, (iterations, c), stream),
    }
}

fn search<T: Terrain>(
    fabric: &Fabric,
    terrain: &T,
    flows: &mut [Flow],
    (iterations, c): (u32, f64),
    stream: &mut Stream,
) -> i64 {
    let mut load = Load::new(fabric.rooms());
    flows.iter().for_each(|flow| put(fabric, &mut load, flow));
    let mut movers: Vec<Mover> = flows.iter().map(|flow| mover(fabric, flow)).collect();
    let free: Vec<u32> =
        (0..).zip(&movers).filter(|(_, m)| m.choices > 1).map(|(at, _)| at).collect();
    let factor = c * f64::from(iterations) / f64::from(UNIT);
    let (mut best, mut since) = (load.excess(), Vec::new());
    for temperature in (1..=iterations).rev() {
        if best == 0 || free.is_empty() {
            break;
        }
        let at = free[stream.below(free.len() as u64) as usize];
        let mover = &mut movers[at as usize];
        let to = stream.below(mover.choices.into()) as u32;
        let (from, before) = (mover.path, load.excess());
        mover.go(terrain, &mut load, to);
        if !accepts(load.excess() - before, factor / f64::from(temperature), stream) {
            mover.go(terrain, &mut load, from);
        } else if load.excess() < best {
            best = load.excess();
            since.clear();
        } else {
            since.push((at, from));
        }
    }
    for (at, from) in since.into_iter().rev() {
        movers[at as usize].path = from;
    }
    for (flow, mover) in flows.iter_mut().zip(movers) {
        flow.path = flow.path.map(|_| mover.path as u16);
    }
    best
}

fn mover(fabric: &Fabric, flow: &Flow) -> Mover {
    let (mut items, mut parts) = ([Item::default(); 2], 0);
    for item in fabric.items(flow) {
        items[parts] = item;
        parts += 1;
    }
    let choices = fabric.choices(flow);
    let path = flow.path.map_or(0, u32::from).checked_rem(choices).unwrap_or(0);
    Mover { items, parts, choices, path }
}

impl Mover {
    #[inline]
    fn go<T: Terrain>(&mut self, terrain: &T, load: &mut Load, to: u32) {
        for item in &self.items[..self.parts] {
            load.shift(terrain, item, self.path, to);
        }
        self.path = to;
    }
}
