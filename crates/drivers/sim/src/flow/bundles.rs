//! Bundles: groups of links that always carry the same load, if every flow is spread evenly over its equal paths.
//!
//! If packets are sprayed over all equal ports, the fluid flow is split into equal shares at every switch. In a
//! fat-tree such a flow uses a thousand links and more. Many of these links are equivalent, and the slowest of
//! them limits all. Two nodes are of the same *kind* if refinement does not separate them: each host is of a
//! separate kind, and two switches are of the same kind if they have the same links from and to nodes of each
//! kind (the coarsest equitable partition). By induction over the hops from a host, all nodes of a kind receive
//! the same share of each of its flows: they are equally far from the destination, have the same number of ports
//! towards it, and are reached by the same number of links of each kind. Therefore, all links from nodes of one
//! kind to nodes of another carry the same load. They are a *bundle*.
//!
//! If a switch avoids a link for some destinations, both ends are of separate kinds. The link is then a bundle by
//! itself.

use super::fabric::Fabric;
use slotline_net::id::{HostId, NodeId, PortId};
use slotline_net::time::Time;
use std::collections::BTreeMap;

/// Marks a link that no route uses.
const UNUSED: u32 = u32::MAX;
/// Marks the beginning of a path.
const START: u32 = u32::MAX;

/// The bundles of a network, under the routes in force.
#[derive(Clone, Debug)]
pub(super) struct Bundles {
    /// By node, its kind.
    kinds: Vec<u32>,
    /// By link, its bundle.
    of: Vec<u32>,
    /// By bundle, the number of its links.
    sizes: Vec<u32>,
    /// By link, the bytes that it carried under earlier routes.
    before: Vec<f64>,
}

/// The bundles of a flow that is spread over all its equal paths.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Fan {
    /// The bundles that it uses.
    pub bundles: Vec<u32>,
    /// The share of the flow that each link of a bundle carries.
    pub shares: Vec<f64>,
    /// The links of the slowest path.
    pub slowest: Vec<u32>,
}

impl Fan {
    fn clear(&mut self) {
        self.bundles.clear();
        self.shares.clear();
        self.slowest.clear();
    }

    /// Adds a part of the flow to a bundle. The bundles from `first` on are equally far from the source.
    fn add(&mut self, first: usize, bundle: u32, part: f64) {
        match self.bundles[first..].iter().rposition(|other| *other == bundle) {
            Some(at) => self.shares[first + at] += part,
            None => {
                self.bundles.push(bundle);
                self.shares.push(part);
            }
        }
    }
}

/// All nodes of one kind that a part of a flow reaches.
#[derive(Clone, Copy)]
struct Reached {
    /// One of these nodes.
    node: NodeId,
    /// The part of the flow that they receive in total.
    amount: f64,
    /// The arrival time over the slowest path, and the last step of that path.
    late: Time,
    step: u32,
}

impl Bundles {
    /// The bundles of `fabric` under its routes.
    pub fn new(fabric: &Fabric) -> Bundles {
        let before = vec![0.0; fabric.links()];
        let mut bundles = Bundles { kinds: vec![], of: vec![], sizes: vec![], before };
        bundles.find(fabric);
        bundles
    }

    /// Finds the bundles under changed routes. The bytes that bundles have `carried` are stored for each link, and set
    /// to zero.
    pub fn renew(&mut self, fabric: &Fabric, carried: &mut [f64]) {
        for (before, &bundle) in self.before.iter_mut().zip(&self.of) {
            *before += carried.get(bundle as usize).copied().unwrap_or(0.0);
        }
        carried.fill(0.0);
        self.find(fabric);
    }

    /// The bundle of a link, if a route uses it.
    pub fn of(&self, link: u32) -> Option<u32> {
        Some(self.of[link as usize]).filter(|bundle| *bundle != UNUSED)
    }

    /// The bytes that a link carried under earlier routes.
    pub fn before(&self, link: u32) -> f64 {
        self.before[link as usize]
    }

    /// By bundle, the capacity of each of its links. Entries beyond the last bundle, up to the number of links
    /// plus one, are zero.
    pub fn capacities(&self, fabric: &Fabric) -> Vec<f64> {
        let mut least = vec![f64::INFINITY; self.sizes.len()];
        for (link, &bundle) in (0..).zip(&self.of).filter(|(_, bundle)| **bundle != UNUSED) {
            let least = &mut least[bundle as usize];
            *least = least.min(fabric.capacity(link));
        }
        least.resize(self.of.len() + 1, 0.0);
        least
    }

    /// Replaces `out` with the bundles of flows from `src` to `dst`. It is empty if any part of the flow has no
    /// path.
    pub fn spread(&self, fabric: &Fabric, src: HostId, dst: HostId, out: &mut Fan) {
        out.clear();
        let goal = fabric.host(dst);
        let start = Reached { node: fabric.host(src), amount: 1.0, late: Time::ZERO, step: START };
        let (mut here, mut steps) = (vec![start], Vec::new());
        // Equal paths have the same number of links, so all parts arrive after the same number of hops.
        while here.iter().any(|reached| reached.node != goal) {
            let first = out.bundles.len();
            let mut next = Vec::new();
            for from in &here {
                let choices = fabric.routes().choices(from.node, dst);
                if choices.is_empty() {
                    return out.clear();
                }
                let amount = from.amount / choices.len() as f64;
                for link in choices.iter().map(|port| fabric.link(from.node, port)) {
                    out.add(first, self.of[link as usize], amount);
                    let late = from.late.after(fabric.hop_time(link));
                    let to = Reached { node: fabric.far(link), amount, late, step: from.step };
                    self.arrive(&mut next, to, link, &mut steps);
                }
            }
            here = next;
        }
        for (share, &bundle) in out.shares.iter_mut().zip(&out.bundles) {
            *share /= f64::from(self.sizes[bundle as usize]);
        }
        let mut last = here.first().map_or(START, |reached| reached.step);
        while let Some(&(before, link)) = steps.get(last as usize) {
            out.slowest.push(link);
            last = before;
        }
        out.slowest.reverse();
    }

    /// Adds a part of a flow that arrives over `link`.
    fn arrive(
        &self,
        there: &mut Vec<Reached>,
        to: Reached,
        link: u32,
        steps: &mut Vec<(u32, u32)>,
    ) {
        let kind = self.kinds[to.node.at()];
        let known = there.iter_mut().rfind(|other| self.kinds[other.node.at()] == kind);
        let late = known.as_ref().is_none_or(|known| to.late > known.late);
        let step = steps.len() as u32;
        steps.extend(late.then_some((to.step, link)));
        match known {
            None => there.push(Reached { step, ..to }),
            Some(known) => {
                known.amount += to.amount;
                if late {
                    (known.late, known.step) = (to.late, step);
                }
            }
        }
    }

    fn find(&mut self, fabric: &Fabric) {
        let used = fabric.used();
        let (kinds, alone) = kinds(fabric, &used);
        let mut numbers: BTreeMap<(u32, u32, u32), u32> = BTreeMap::new();
        self.sizes.clear();
        self.of.clear();
        for link in 0..fabric.links() as u32 {
            if !used[link as usize] {
                self.of.push(UNUSED);
                continue;
            }
            let ends = [fabric.near(link), fabric.far(link)].map(|node| kinds[node.at()]);
            // Of several links between two such nodes, some may be avoided and others not.
            let own = if ends.iter().all(|kind| *kind < alone) { link } else { UNUSED };
            let new = self.sizes.len() as u32;
            let bundle = *numbers.entry((ends[0], ends[1], own)).or_insert(new);
            if bundle == new {
                self.sizes.push(0);
            }
            self.sizes[bundle as usize] += 1;
            self.of.push(bundle);
        }
        self.kinds = kinds;
    }
}

/// A link of a node: the kind of the other end, whether routes use each direction, and the time that a
/// packet takes.
type Neighbour = (u32, bool, bool, Time);

/// The kind of each node, and the number of kinds that have one node by definition. These kinds come first.
fn kinds(fabric: &Fabric, used: &[bool]) -> (Vec<u32>, u32) {
    let nodes = fabric.nodes();
    let mut kinds = vec![UNUSED; nodes];
    let mut alone = 0;
    for node in fabric.hosts().iter().chain(fabric.routes().uneven()) {
        if kinds[node.at()] == UNUSED {
            kinds[node.at()] = alone;
            alone += 1;
        }
    }
    let rest: Vec<NodeId> =
        (0..nodes as u32).map(NodeId).filter(|node| kinds[node.at()] == UNUSED).collect();
    let mut count = 1;
    loop {
        let mut known: BTreeMap<(u32, Vec<Neighbour>), u32> = BTreeMap::new();
        let mut kind_of = |&node: &NodeId| {
            let next = alone + known.len() as u32;
            let alike = (kinds[node.at()], neighbours(fabric, used, &kinds, node));
            *known.entry(alike).or_insert(next)
        };
        let new: Vec<u32> = rest.iter().map(&mut kind_of).collect();
        rest.iter().zip(new).for_each(|(node, kind)| kinds[node.at()] = kind);
        if known.len() <= count {
            return (kinds, alone);
        }
        count = known.len();
    }
}

fn neighbours(fabric: &Fabric, used: &[bool], kinds: &[u32], node: NodeId) -> Vec<Neighbour> {
    let wires = (0..).map(PortId).zip(fabric.wiring().of(node));
    let mut neighbours: Vec<Neighbour> = wires
        .map(|(port, wire)| {
            let (there, back) =
                (fabric.link(node, port), fabric.link(wire.far.node, wire.far.port));
            let [out, back] = [there, back].map(|link| used[link as usize]);
            (kinds[wire.far.node.at()], out, back, fabric.hop_time(there))
        })
        .filter(|(_, out, back, _)| *out || *back)
        .collect();
    neighbours.sort_unstable();
    neighbours
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use slotline_net::route::recovery::{Avoid, NodeAvoid};
    use slotline_net::route::{Routes, RoutingSpec};
    use slotline_net::topology::{Down, FatTreeSpec, Graph, LeafSpineSpec, NodeKind, TopologySpec};
    use std::sync::Arc;

    fn fabric_of(graph: &Graph, down: &Down, avoid: &Avoid) -> Fabric {
        let routes = Routes::build_avoiding(graph, RoutingSpec::Spray, down, avoid, 1);
        Fabric::new(graph, Arc::new(routes))
    }

    /// By link, the share of a flow that it carries, computed node by node without symmetry.
    fn plainly(fabric: &Fabric, src: HostId, dst: HostId) -> Option<Vec<f64>> {
        let mut shares = vec![0.0; fabric.links()];
        let mut here = BTreeMap::from([(fabric.host(src), 1.0)]);
        while here.keys().any(|node| *node != fabric.host(dst)) {
            let mut next = BTreeMap::new();
            for (node, amount) in here {
                let choices = fabric.routes().choices(node, dst);
                if choices.is_empty() {
                    return None;
                }
                for port in choices.iter() {
                    let link = fabric.link(node, port);
                    let part = amount / choices.len() as f64;
                    shares[link as usize] += part;
                    *next.entry(fabric.far(link)).or_insert(0.0) += part;
                }
            }
            here = next;
        }
        Some(shares)
    }

    fn same(
        fabric: &Fabric,
        pairs: impl Iterator<Item = (u32, u32)>,
    ) -> Result<usize, TestCaseError> {
        let bundles = Bundles::new(fabric);
        let (mut fan, mut most) = (Fan::default(), 0);
        for (src, dst) in pairs.filter(|(src, dst)| src != dst) {
            let (src, dst) = (HostId(src), HostId(dst));
            bundles.spread(fabric, src, dst, &mut fan);
            let Some(right) = plainly(fabric, src, dst) else {
                prop_assert!(fan.bundles.is_empty());
                continue;
            };
            most = most.max(fan.bundles.len());
            for (link, right) in (0..).zip(right) {
                let at = fan.bundles.iter().position(|bundle| Some(*bundle) == bundles.of(link));
                let share = at.map_or(0.0, |at| fan.shares[at]);
                prop_assert!((share - right).abs() < 1e-12, "link {link}: {share}, not {right}");
            }
            let hops = fan.slowest.len();
            prop_assert!(fan.slowest.windows(2).all(|l| fabric.far(l[0]) == fabric.near(l[1])));
            prop_assert_eq!(fabric.far(fan.slowest[hops - 1]), fabric.host(dst));
        }
        Ok(most)
    }

    fn fat_tree(k: u32) -> Graph {
        TopologySpec::FatTree(FatTreeSpec::new(k)).build().expect("a fat-tree")
    }

    #[test]
    fn a_whole_fat_tree_has_one_bundle_for_each_step() {
        for k in [4, 8] {
            let fabric = fabric_of(&fat_tree(k), &Down::default(), &Avoid::default());
            let pairs = (0..16).flat_map(|src| (0..16).map(move |dst| (src, dst)));
            assert_eq!(same(&fabric, pairs).expect("the same"), if k == 4 { 6 } else { 4 });
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Whatever links are down or avoided, each link carries the share that is computed node by node.
        #[test]
        fn all_links_of_a_bundle_carry_the_same(
            tree in any::<bool>(),
            down in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
            avoided in prop::collection::vec(
                (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<bool>()), 0..4),
        ) {
            let graph = if tree { fat_tree(4) } else {
                TopologySpec::LeafSpine(LeafSpineSpec::new(4, 3, 2)).build().expect("leaves and spines")
            };
            let links = down.iter().map(|link| link.index(graph.links.len()));
            let down = Down { links: links.collect(), ..Down::default() };
            let switch = |at: usize| graph.nodes[at].kind == NodeKind::Switch;
            let switches: Vec<usize> = (0..graph.nodes.len()).filter(|at| switch(*at)).collect();
            let mut avoid = Avoid::default();
            for (at, port, whole) in avoided {
                let at = NodeId(switches[at.index(switches.len())] as u32);
                let port = PortId(port.index(graph.wiring().of(at).len()) as u16);
                let mut own = NodeAvoid::default();
                let edge = graph.wiring().of(graph.hosts[0])[0].far.node;
                if whole { own.down.insert(port); } else { own.tagged.insert((port, edge)); }
                avoid.set(at, own);
            }
            let fabric = fabric_of(&graph, &down, &avoid);
            let hosts = graph.hosts.len() as u32;
            same(&fabric, (0..hosts).flat_map(|src| (0..hosts).map(move |dst| (src, dst))))?;
        }
    }
}
