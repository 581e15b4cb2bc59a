//! The forwarding table, laid out for one lookup per packet and switch.

use crate::id::{HostId, NodeId, PortId};
use crate::rng::mix32;
use crate::topology::{End, Wiring};

/// Routes of a network.
///
/// Destinations attached to the same switches form a group; nodes that forward alike share a row. A
/// cell (row, group) is a single port, a set of equal ports, a switch the destination is attached to,
/// or nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Routes {
    pub(super) nodes: Vec<NodeEntry>,
    pub(super) hosts: Vec<HostEntry>,
    pub(super) groups: u32,
    pub(super) cells: Vec<u32>,
    /// Each set of ports: its length, then its ports in ascending order.
    pub(super) sets: Vec<u16>,
    /// The ports of hosts at the switches they are attached to.
    pub(super) homes: Vec<u32>,
    pub(super) pinned: bool,
}

/// What a lookup needs to know of the node it is made at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NodeEntry {
    /// Its row's first cell.
    pub row: u32,
    /// What the entropy is hashed with, or where paths are pinned, divided by.
    pub key: u32,
}

/// What a lookup needs to know of the destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct HostEntry {
    pub group: u32,
    /// Its first entry in [`Routes::homes`]; one for each switch of its group, in order.
    pub home: u32,
    pub node: NodeId,
}

/// Cells below are a port.
pub(super) const SETS: u32 = 1 << 16;
/// Cells from here to [`HOMES`] are an index into [`Routes::sets`], [`SETS`] added. From here to
/// [`NONE`] they say which of the destination's switches this is.
pub(super) const HOMES: u32 = 0xffff_0000;
/// Unreachable.
pub(super) const NONE: u32 = u32::MAX;

/// How much memory routes take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableSizes {
    /// Different rows.
    pub rows: usize,
    /// Groups of destinations: cells per row.
    pub groups: usize,
    /// Different sets of more than one port.
    pub sets: usize,
    /// Bytes of all arrays.
    pub bytes: usize,
}

impl Routes {
    /// The port by which a packet for `dst` leaves `at`: a switch, or the host that sends it. `None`
    /// where `dst` cannot be reached.
    #[inline]
    pub fn next(&self, at: NodeId, dst: HostId, entropy: u16) -> Option<PortId> {
        let (node, host) = (&self.nodes[at.at()], &self.hosts[dst.at()]);
        let mut cell = self.cells[(node.row + host.group) as usize];
        if cell >= HOMES {
            if cell == NONE {
                return None;
            }
            cell = self.homes[(host.home + (cell - HOMES)) as usize];
        }
        Some(if cell < SETS { PortId(cell as u16) } else { self.choose(cell, node.key, entropy) })
    }

    #[inline]
    fn choose(&self, cell: u32, key: u32, entropy: u16) -> PortId {
        let set = (cell - SETS) as usize;
        let len = u32::from(self.sets[set]);
        let choice = if self.pinned {
            (u32::from(entropy) / key) % len
        } else {
            let hash = mix32(u32::from(entropy) ^ key);
            ((u64::from(hash) * u64::from(len)) >> 32) as u32
        };
        PortId(self.sets[set + 1 + choice as usize])
    }

    /// The ports by which a packet leaves each node on its way from `src` to `dst`, the sending host's
    /// first. Empty where they are the same host; `None` where there is no way. `wiring` is that of
    /// the graph the routes were built for.
    pub fn path(
        &self,
        wiring: &Wiring,
        src: HostId,
        dst: HostId,
        entropy: u16,
    ) -> Option<Vec<End>> {
        let (mut node, goal) = (self.hosts[src.at()].node, self.hosts[dst.at()].node);
        let mut hops = Vec::new();
        while node != goal {
            let port = self.next(node, dst, entropy)?;
            hops.push(End { node, port });
            node = wiring.of(node)[port.at()].far.node;
        }
        Some(hops)
    }

    /// How large the tables are.
    pub fn table_sizes(&self) -> TableSizes {
        let groups = self.groups as usize;
        let mut at = 0;
        let mut sets = 0;
        while let Some(&len) = self.sets.get(at) {
            at += 1 + usize::from(len);
            sets += 1;
        }
        let bytes = std::mem::size_of_val(&*self.nodes)
            + std::mem::size_of_val(&*self.hosts)
            + std::mem::size_of_val(&*self.cells)
            + std::mem::size_of_val(&*self.sets)
            + std::mem::size_of_val(&*self.homes);
        TableSizes { rows: self.cells.len().checked_div(groups).unwrap_or(0), groups, sets, bytes }
    }
}
