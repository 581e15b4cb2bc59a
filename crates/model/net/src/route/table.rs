//! The forwarding table, laid out for one lookup per packet and switch.

use crate::id::{HostId, NodeId, PortId};
use crate::prefetch::prefetch;
use crate::rng::mix32;
use crate::topology::{End, Wiring};
use std::hint::select_unpredictable;

/// Routes of a network.
///
/// Destinations attached to the same switches form a group. Nodes that forward to other groups in the same way share a
/// row. A cell (row, group) is usually a range of equal ports. A lookup then takes three loads and a multiplication,
/// without a branch that depends on the packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Routes {
    pub(super) nodes: Vec<NodeEntry>,
    pub(super) hosts: Vec<HostEntry>,
    pub(super) host_nodes: Vec<NodeId>,
    pub(super) groups: usize,
    pub(super) cells: Vec<Cell>,
    /// Sets of ports that are not consecutive: the number of ports, then the ports in ascending order.
    pub(super) sets: Vec<u16>,
    /// The ports of hosts with several switches, one entry for each switch.
    pub(super) homes: Vec<Cell>,
    pub(super) choice: Choice,
    /// Ends of links that some switch avoids for some destinations, ascending.
    pub(super) uneven: Vec<NodeId>,
}

/// The method that chooses one of several equal ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Choice {
    /// A hash of the packet's entropy with the node's key.
    Hashed,
    /// The packet's entropy divided by the node's key.
    Numbered,
    /// The sum of the destination's port at its switch and the node's key.
    Suffix,
}

/// The data of a node for lookups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NodeEntry {
    /// Its row's first cell.
    pub row: u32,
    /// The key of the hash, or the divisor if paths are pinned. With two-level tables it is the node's index
    /// among the nodes of its tier and pod.
    pub key: u32,
    /// The group that is attached to this switch and to no other; [`NO_GROUP`] if there is none.
    pub home: u32,
}

/// The data of a destination for lookups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct HostEntry {
    pub group: u32,
    /// Its ports at its switch. If it has several switches, its first entry in [`Routes::homes`], which has one for
    /// each switch of its group, in order.
    pub home: Cell,
}

/// The ports of an entry. Below [`SETS`]: a range of ports, with its length in the upper half and its first port in the
/// lower half. From [`SETS`] on: an index into [`Routes::sets`]. From [`HOMES`] on: the destination is attached here,
/// and to other switches, and the cell minus [`HOMES`] is the index of this switch among them. The last value is [`NONE`].
pub(super) type Cell = u32;
pub(super) const SETS: Cell = 1 << 31;
pub(super) const HOMES: Cell = 3 << 30;
/// In place of a group.
pub(super) const NO_GROUP: u32 = u32::MAX;
/// Unreachable.
pub(super) const NONE: Cell = Cell::MAX;

/// The sizes of the tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableSizes {
    /// The number of different rows.
    pub rows: usize,
    /// The number of groups of destinations: the cells per row.
    pub groups: usize,
    /// The bytes of all arrays.
    pub bytes: usize,
}

/// Equal ports, in ascending order.
#[derive(Clone, Copy, Debug)]
pub struct Choices<'a> {
    first: u16,
    len: u16,
    /// The ports, if they are not consecutive.
    set: &'a [u16],
}

impl<'a> Choices<'a> {
    pub(super) fn range(cell: Cell) -> Choices<'a> {
        Choices { first: cell as u16, len: (cell >> 16) as u16, set: &[] }
    }
    pub(super) fn set(ports: &'a [u16]) -> Choices<'a> {
        Choices { first: 0, len: ports.len() as u16, set: ports }
    }
    /// The number of ports.
    pub fn len(&self) -> usize {
        self.len.into()
    }
    /// Whether there is no port: the destination cannot be reached.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// All ports.
    pub fn iter(self) -> impl Iterator<Item = PortId> + use<'a> {
        (0..self.len).map(move |at| {
            PortId(self.set.get(usize::from(at)).copied().unwrap_or(self.first + at))
        })
    }
    /// Whether `port` is one of them.
    pub fn contains(&self, port: PortId) -> bool {
        match self.set {
            [] => (self.first..self.first + self.len).contains(&port.0),
            set => set.binary_search(&port.0).is_ok(),
        }
    }
}

/// The routes of one node.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    routes: &'a Routes,
    cells: &'a [Cell],
    key: u32,
    home: u32,
}

impl<'a> Row<'a> {
    /// As [`Routes::next`].
    #[inline(always)]
    pub fn next(&self, dst: HostId, entropy: u16) -> Option<PortId> {
        let host = &self.routes.hosts[dst.at()];
        let cell = self.cells[host.group as usize];
        // Whether a packet goes up or down cannot be predicted.
        let cell = select_unpredictable(host.group == self.home, host.home, cell);
        if cell >= SETS {
            return self.routes.uncommon(cell, self.key, host.home, entropy);
        }
        let chosen = self.routes.choose(cell >> 16, self.key, entropy, host.home);
        Some(PortId(cell as u16 + chosen))
    }

    /// All ports by which a packet for `dst` may leave.
    pub fn choices(&self, dst: HostId) -> Choices<'a> {
        let host = &self.routes.hosts[dst.at()];
        let cell = match self.cells[host.group as usize] {
            _ if host.group == self.home => host.home,
            NONE => return Choices::range(0),
            cell @ HOMES.. => self.routes.homes[(host.home + (cell - HOMES)) as usize],
            cell => cell,
        };
        self.routes.listed(cell)
    }
}

impl Routes {
    /// The port by which a packet for `dst` leaves `at`, a switch or the sending host. `None` if `dst` cannot be
    /// reached.
    #[inline]
    pub fn next(&self, at: NodeId, dst: HostId, entropy: u16) -> Option<PortId> {
        self.row(at).next(dst, entropy)
    }

    /// Requests the cell that [`Routes::next`] reads.
    #[inline]
    pub fn prefetch(&self, at: NodeId, dst: HostId) {
        prefetch(&self.cells, self.nodes[at.at()].row + self.hosts[dst.at()].group);
    }

    /// The node of each host.
    pub fn host_nodes(&self) -> &[NodeId] {
        &self.host_nodes
    }

    /// All ports by which a packet for `dst` may leave `at`.
    pub fn choices(&self, at: NodeId, dst: HostId) -> Choices<'_> {
        self.row(at).choices(dst)
    }

    /// The row of `at`, for many lookups.
    #[inline]
    pub fn row(&self, at: NodeId) -> Row<'_> {
        let node = &self.nodes[at.at()];
        let cells = &self.cells[node.row as usize..][..self.groups];
        Row { routes: self, cells, key: node.key, home: node.home }
    }

    /// The index of the chosen port among `len` equal ports.
    #[inline]
    fn choose(&self, len: u32, key: u32, entropy: u16, home: Cell) -> u16 {
        if self.choice == Choice::Hashed {
            let hash = mix32(u32::from(entropy) ^ key);
            return ((u64::from(hash) * u64::from(len)) >> 32) as u16;
        }
        let number = match self.choice {
            // If a host has only one home, its lower half is the host's port there.
            Choice::Suffix => (home & 0xffff) + key,
            _ => u32::from(entropy) / key,
        };
        (number % len) as u16
    }

    /// The lookup for ports that are not consecutive, for destinations with several switches, and for missing paths.
    fn uncommon(&self, cell: Cell, key: u32, home: Cell, entropy: u16) -> Option<PortId> {
        let cell = match cell {
            NONE => return None,
            HOMES.. => self.homes[(home + (cell - HOMES)) as usize],
            _ => cell,
        };
        let Some(set) = cell.checked_sub(SETS) else {
            return Some(PortId(cell as u16 + self.choose(cell >> 16, key, entropy, home)));
        };
        let ports = &self.sets[set as usize..];
        Some(PortId(ports[1 + usize::from(self.choose(ports[0].into(), key, entropy, home))]))
    }

    /// The ports by which a packet leaves each node on its path from `src` to `dst`, the sending host's first.
    /// The path is empty if they are the same host, and `None` if there is none. `wiring` is that of the graph
    /// for which the routes were built.
    pub fn path(
        &self,
        wiring: &Wiring,
        src: HostId,
        dst: HostId,
        entropy: u16,
    ) -> Option<Vec<End>> {
        let mut hops = Vec::new();
        self.visit(wiring, (src, dst), entropy, |end| hops.push(end)).then_some(hops)
    }

    /// Calls `visit` with the port by which a packet leaves each node on its path, the sending host's first. Returns
    /// whether the path reaches `dst`. If switches do not know of a failure yet, `visit` gets the path up to the
    /// failure. If there is no path, `visit` is not called.
    pub fn visit(
        &self,
        wiring: &Wiring,
        (src, dst): (HostId, HostId),
        entropy: u16,
        mut visit: impl FnMut(End),
    ) -> bool {
        let (mut node, goal) = (self.host_nodes[src.at()], self.host_nodes[dst.at()]);
        while node != goal {
            let Some(port) = self.next(node, dst, entropy) else { return false };
            visit(End { node, port });
            node = wiring.of(node)[port.at()].far.node;
        }
        true
    }

    /// Whether packets choose their path by number: [`super::RoutingSpec::Pinned`].
    pub fn is_pinned(&self) -> bool {
        self.choice == Choice::Numbered
    }

    /// The number of path numbers between two hosts if routes are pinned. The numbers below it name all equal paths of
    /// a tree. It is zero if there is no path, or both are the same host.
    pub fn numbers(&self, wiring: &Wiring, src: HostId, dst: HostId) -> u32 {
        let mut most = 0;
        let mut widest = |end: End| {
            let node = self.row(end.node);
            most = most.max(node.key.saturating_mul(node.choices(dst).len() as u32));
        };
        self.visit(wiring, (src, dst), 0, &mut widest);
        most.min(1 << u16::BITS)
    }

    /// The number of the pinned path that `other`, routes of the same network, gives packets with `entropy`. `None` if
    /// no number names that path. This is possible if a packet chooses among equal ports on its way down.
    pub fn number_of(
        &self,
        wiring: &Wiring,
        ends: (HostId, HostId),
        other: &Routes,
        entropy: u16,
    ) -> Option<u16> {
        let (mut hops, mut number) = (Vec::new(), 0u32);
        let reaches = other.visit(wiring, ends, entropy, |end| {
            let node = self.row(end.node);
            let mut ports = node.choices(ends.1).iter();
            let digit = ports.position(|port| port == end.port).unwrap_or(0) as u32;
            number = number.saturating_add(digit.saturating_mul(node.key));
            hops.push(end);
        });
        let number = u16::try_from(number).ok().filter(|_| reaches)?;
        let mut at = hops.iter();
        let mut same = true;
        let arrives = self.visit(wiring, ends, number, |end| same &= at.next() == Some(&end));
        (arrives && same && at.next().is_none()).then_some(number)
    }

    /// The sizes of the tables.
    pub fn table_sizes(&self) -> TableSizes {
        let rows = self.cells.len().checked_div(self.groups).unwrap_or(0);
        let bytes = size_of_val(&*self.nodes)
            + size_of_val(&*self.hosts)
            + size_of_val(&*self.host_nodes)
            + size_of_val(&*self.cells)
            + size_of_val(&*self.sets)
            + size_of_val(&*self.homes);
        TableSizes { rows, groups: self.groups, bytes }
    }
}
