//! The links that routes use.

use super::Routes;
use super::table::{Cell, Choices, HOMES, SETS};
use crate::id::{HostId, NodeId, PortId};
use crate::topology::Wiring;
use std::collections::{BTreeMap, BTreeSet};

impl Routes {
    /// By node, then port: whether any route uses it. `wiring` is that of the graph for which the routes were
    /// built.
    pub fn used(&self, wiring: &Wiring) -> Vec<Vec<bool>> {
        let hosts: BTreeMap<NodeId, HostId> =
            self.host_nodes.iter().copied().zip((0..).map(HostId)).collect();
        let mut rows: BTreeMap<u32, BTreeSet<PortId>> = BTreeMap::new();
        let mut of_node = |at: NodeId| {
            let row = self.nodes[at.at()].row;
            let onward = rows.entry(row).or_insert_with(|| self.onward(row));
            let used = |(port, wire): (PortId, &crate::topology::Wire)| {
                let home = hosts.get(&wire.far.node);
                onward.contains(&port)
                    || home.is_some_and(|host| self.choices(at, *host).contains(port))
            };
            (0..).map(PortId).zip(wiring.of(at)).map(used).collect()
        };
        (0..self.nodes.len() as u32).map(|at| of_node(NodeId(at))).collect()
    }

    /// The ports of a row, without the ports to attached hosts.
    fn onward(&self, row: u32) -> BTreeSet<PortId> {
        let cells = &self.cells[row as usize..][..self.groups];
        let mut ports = BTreeSet::new();
        for cell in cells.chunk_by(|one, next| one == next).filter_map(<[Cell]>::first) {
            match *cell {
                // This also covers unreachable destinations.
                HOMES.. => {}
                cell => ports.extend(self.listed(cell).iter()),
            }
        }
        ports
    }

    /// The ends of links that some switch avoids for some destinations, in ascending order.
    pub fn uneven(&self) -> &[NodeId] {
        &self.uneven
    }

    /// The ports of a cell below [`HOMES`].
    pub(super) fn listed(&self, cell: Cell) -> Choices<'_> {
        match cell.checked_sub(SETS) {
            None => Choices::range(cell),
            Some(set) => {
                let len = self.sets[set as usize];
                let ports = &self.sets[set as usize + 1..];
                Choices::set(&ports[..usize::from(len)])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::id::NodeId;
    use crate::route::{Routes, RoutingSpec};
    use crate::topology::{Down, FatTreeSpec, TopologySpec};

    /// All ports of a fat-tree are used, except both ends of a link that is down.
    #[test]
    fn all_links_but_those_that_are_down() {
        let graph = TopologySpec::FatTree(FatTreeSpec::new(4)).build().expect("a fat-tree");
        let wiring = graph.wiring();
        for down in 0..graph.links.len() {
            let without = Down { links: [down].into(), ..Down::default() };
            let used = Routes::build(&graph, RoutingSpec::Spray, &without, 1).used(&wiring);
            for (at, used) in (0..).map(NodeId).zip(used) {
                let up: Vec<bool> = wiring.of(at).iter().map(|wire| wire.link != down).collect();
                let host =
                    graph.links[down].ends().iter().any(|end| graph.hosts.contains(&end.node));
                // A host without a link reaches no other host, and no host reaches it. The other entries do not change.
                assert!(used == up || host, "link {down}, node {at:?}: {used:?}");
                assert!(used.iter().zip(&up).all(|(used, up)| *up || !used));
            }
        }
    }
}
