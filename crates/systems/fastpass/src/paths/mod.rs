//! Path selection (§4): the packets of one timeslot get paths so that no link carries more than it can.
//!
//! Racks form a bipartite multigraph with one edge per packet, from the up-links of its source's rack to the
//! down-links of its destination's rack. A path (a spine) with room for `r` packets per rack and slot is `r`
//! colours. A colouring of the edges with no colour twice at a rack is a choice of paths. By Kőnig's theorem,
//! as many colours suffice as there are packets at the busiest rack.
//!
//! Most packets get the lowest colour that is free at both ends. Where there is none, one other packet at
//! either rack changes its colour, if it can. Otherwise two colours are exchanged along an alternating chain,
//! as in the proof of the theorem.
//!
//! [`Fabric`] finds out which racks and paths a network has, and makes the [`Selector`] that fits: for two
//! tiers, for a fat-tree, or for any topology.

mod batch;
mod by_slot;
mod colouring;
mod fabric;
mod fat_tree;
mod routes;
mod two_tiers;

pub use batch::{PathGrant, SelectError, Selector, Topology};
pub use by_slot::BySlot;
pub use fabric::Fabric;
pub use fat_tree::{FatTree, TierChoice, Tiers};
pub use routes::{RouteError, RouteSelector};
pub use two_tiers::PathSelector;

/// Where a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Choice {
    /// Both ends are in one rack, and the packet needs no path.
    #[default]
    Local,
    /// Over this path.
    Over(u16),
    /// No path has room for the packet: there are too many packets or too many failures.
    Unplaced,
}

/// The reason why a selector cannot be made or a link is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PathError {
    /// There is no path, no room on a path, or more colours than can be counted.
    #[error(
        "there are {paths} paths with room for {room} packets each, but the product has to be from 1 to 4,096"
    )]
    Paths {
        /// Paths.
        paths: u16,
        /// Packets per slot.
        room: u16,
    },
    /// There are more edge switches than numbers for them.
    #[error(
        "there are {pods} pods of {edges} edge switches, but only 65,535 switches can have numbers"
    )]
    Racks {
        /// Pods.
        pods: u16,
        /// Edge switches in each.
        edges: u16,
    },
    /// A path that does not exist.
    #[error("path {path} does not exist; there are {paths}, counted from 0")]
    Path {
        /// Its number.
        path: u16,
        /// How many there are.
        paths: u16,
    },
    /// A rack that does not exist.
    #[error("rack {rack} does not exist; there are {racks}, counted from 0")]
    Rack {
        /// Its number.
        rack: u16,
        /// How many there are.
        racks: u16,
    },
}
