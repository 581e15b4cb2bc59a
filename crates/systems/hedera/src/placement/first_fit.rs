//! Global First Fit (§4.2.3): each flow on the first path that has room for it.

use super::Flow;
use super::fabric::{Fabric, Shape};
use super::load::{Item, Load, Terrain};

/// Places `flows` in their order; returns the load of all reservations. Flows that have a place keep
/// it. One that fits nowhere gets none: it stays where its hash puts it, and nothing is reserved.
pub fn first_fit(fabric: &mut Fabric, flows: &mut [Flow]) -> Load {
    fabric.prepare(flows);
    let mut load = Load::new(fabric.rooms());
    for flow in flows.iter().filter(|flow| flow.path.is_some()) {
        put(fabric, &mut load, flow);
    }
    for flow in flows.iter_mut().filter(|flow| flow.path.is_none()) {
        let items: Vec<Item> = fabric.items(flow).collect();
        flow.path = match &fabric.shape {
            Shape::Tiers(tiers) => first(tiers, &load, &items, fabric.choices(flow)),
            Shape::Listed(listed) => first(listed, &load, &items, fabric.choices(flow)),
        };
        put(fabric, &mut load, flow);
    }
    load
}

/// Puts a flow that has a path onto its wires.
pub(super) fn put(fabric: &Fabric, load: &mut Load, flow: &Flow) {
    let Some(path) = flow.path.map(u32::from) else { return };
    let Some(path) = path.checked_rem(fabric.choices(flow)) else { return };
    for item in fabric.items(flow) {
        match &fabric.shape {
            Shape::Tiers(tiers) => load.put(tiers, &item, path),
            Shape::Listed(listed) => load.put(listed, &item, path),
        }
    }
}

/// The first path on which all items fit. The printed `<` would leave links half empty: a flow may
/// need exactly what there is.
fn first<T: Terrain>(terrain: &T, load: &Load, items: &[Item], choices: u32) -> Option<u16> {
    let fits = |path: &u32| items.iter().all(|item| load.fits(terrain, item, *path));
    (0..choices).find(fits).map(|path| path as u16)
}
