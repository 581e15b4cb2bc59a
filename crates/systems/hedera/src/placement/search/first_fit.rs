//! Global First Fit (§4.2.3): each flow gets the first path that has room for it.

use crate::placement::Flow;
use crate::placement::network::{Fabric, Shape};
use crate::placement::network::{FlowPart, Load, PathModel};

/// Places `flows` in their order and returns the load of all reservations. Flows that have a path keep it. A flow
/// that fits on no path gets none: its hash decides, and nothing is reserved.
pub fn first_fit(fabric: &mut Fabric, flows: &mut [Flow]) -> Load {
    fabric.prepare(flows);
    let mut load = Load::new(fabric.capacities());
    for flow in flows.iter().filter(|flow| flow.path.is_some()) {
        add_flow(fabric, &mut load, flow);
    }
    for flow in flows.iter_mut().filter(|flow| flow.path.is_none()) {
        let parts: Vec<FlowPart> = fabric.parts(flow).collect();
        flow.path = match &fabric.shape {
            Shape::Tiers(tiers) => first(tiers, &load, &parts, fabric.choices(flow)),
            Shape::Listed(listed) => first(listed, &load, &parts, fabric.choices(flow)),
        };
        add_flow(fabric, &mut load, flow);
    }
    load
}

/// Adds a flow that has a path to the load of its wires.
pub(super) fn add_flow(fabric: &Fabric, load: &mut Load, flow: &Flow) {
    let Some(path) = flow.path.map(u32::from) else { return };
    let Some(path) = path.checked_rem(fabric.choices(flow)) else { return };
    for part in fabric.parts(flow) {
        match &fabric.shape {
            Shape::Tiers(tiers) => load.put(tiers, &part, path),
            Shape::Listed(listed) => load.put(listed, &part, path),
        }
    }
}

/// The first path on which all parts fit. The `<` of the thesis would leave links half empty, as a flow may need
/// exactly the free capacity.
fn first<T: PathModel>(model: &T, load: &Load, parts: &[FlowPart], choices: u32) -> Option<u16> {
    let fits = |path: &u32| parts.iter().all(|part| load.fits(model, part, *path));
    (0..choices).find(fits).map(|path| path as u16)
}
