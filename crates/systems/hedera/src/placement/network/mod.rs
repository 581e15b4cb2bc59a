//! A network as placement sees it: the locations of hosts, the wires of paths, and the load of wires.

mod fabric;
mod fair_rates;
mod load;
mod locations;
mod tiers;

pub use fabric::Fabric;
pub(super) use fabric::Shape;
pub use fair_rates::max_min;
pub use load::Load;
pub(super) use load::{Changes, FlowPart, PathModel};
pub(super) use locations::HostLocations;
pub(super) use tiers::Tiers;
