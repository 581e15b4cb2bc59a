//! Colours for the edges of a bipartite graph, and from them an exact placement of bijective traffic.
//!
//! The edge switches of a fat-tree are the nodes of a graph, and flows are its edges. A colouring in which no switch
//! has two edges of one colour is a choice of aggregation switches without conflict. The flows of each
//! aggregation switch are edges between pods, whose colours are core switches.

use super::split::{Edge, Splitter};
use crate::placement::network::Tiers;
use crate::placement::network::{Fabric, Shape};
use crate::placement::{Flow, UNIT};

const NONE: u32 = u32::MAX;

/// Gives each of `edges` (left node, right node) one of `colours`. Where no node has more edges than
/// there are colours, no node has two edges of one colour (Kőnig). Otherwise the edges of a node are spread
/// over the colours evenly, the first edges most evenly.
pub fn colour(nodes: (usize, usize), edges: &[(u32, u32)], colours: u32) -> Vec<u32> {
    let edge = |(id, &(left, right)): (u32, &(u32, u32))| Edge { left, right, id };
    let mut edges: Vec<Edge> = (0..).zip(edges).map(edge).collect();
    let mut out = vec![0; edges.len()];
    let mut colourer = EdgeColourer::new(nodes);
    colourer.colour(&mut edges, 0, colours, &mut |edge, colour| out[edge.id as usize] = colour);
    out
}

struct EdgeColourer {
    splitter: Splitter,
    nodes: (usize, usize),
}

impl EdgeColourer {
    fn new(nodes: (usize, usize)) -> EdgeColourer {
        EdgeColourer { splitter: Splitter::new(nodes.0, nodes.1), nodes }
    }
    /// Gives edges `colours` colours from `first` on. Halves the graph while the number of colours is even.
    fn colour(
        &mut self,
        edges: &mut [Edge],
        first: u32,
        colours: u32,
        out: &mut impl FnMut(&Edge, u32),
    ) {
        if colours <= 1 {
            return edges.iter().for_each(|edge| out(edge, first));
        }
        if colours % 2 == 1 {
            return self.colour_odd(edges, first, colours, out);
        }
        let middle = self.splitter.halve(edges);
        let (one, other) = edges.split_at_mut(middle);
        self.colour(one, first, colours / 2, out);
        self.colour(other, first + colours / 2, colours / 2, out);
    }
    /// Gives colours edge by edge. Where the two nodes have no free colour in common, a chain of two colours is
    /// exchanged. Where nodes have more edges than there are colours, an edge gets the colour that is least used at
    /// its nodes.
    fn colour_odd(
        &self,
        edges: &[Edge],
        first: u32,
        colours: u32,
        out: &mut impl FnMut(&Edge, u32),
    ) {
        let mut chains = Chains::new(self.nodes, colours, edges);
        let mut colour_of = vec![NONE; edges.len()];
        for (at, edge) in (0u32..).zip(edges) {
            chains.add(at, edge, edges, &mut colour_of);
        }
        edges.iter().zip(colour_of).for_each(|(edge, colour)| out(edge, first + colour));
    }
}

/// By node and colour, an edge of that colour, and the number of such edges.
struct Chains {
    colours: u32,
    lefts: usize,
    /// Whether there are enough colours for all nodes.
    exact: bool,
    edge: Vec<u32>,
    count: Vec<u32>,
}

impl Chains {
    fn new((lefts, rights): (usize, usize), colours: u32, edges: &[Edge]) -> Chains {
        let cells = (lefts + rights) * colours as usize;
        let mut degree = vec![0; lefts + rights];
        for edge in edges {
            degree[edge.left as usize] += 1;
            degree[lefts + edge.right as usize] += 1;
        }
        let exact = degree.iter().all(|&edges| edges <= colours);
        Chains { colours, lefts, exact, edge: vec![NONE; cells], count: vec![0; cells] }
    }
    fn ends(&self, edge: &Edge) -> [usize; 2] {
        [edge.left as usize, self.lefts + edge.right as usize]
    }
    fn cell(&self, node: usize, colour: u32) -> usize {
        node * self.colours as usize + colour as usize
    }
    fn free(&self, node: usize) -> Option<u32> {
        (0..self.colours).find(|&colour| self.count[self.cell(node, colour)] == 0)
    }
    fn set(&mut self, at: u32, edge: &Edge, colour: u32) {
        for node in self.ends(edge) {
            let cell = self.cell(node, colour);
            self.edge[cell] = at;
            self.count[cell] += 1;
        }
    }
    fn add(&mut self, at: u32, edge: &Edge, edges: &[Edge], colour_of: &mut [u32]) {
        let [a, b] = self.ends(edge);
        let load =
            |colour: &u32| self.count[self.cell(a, *colour)].max(self.count[self.cell(b, *colour)]);
        let least = (0..self.colours).min_by_key(load).unwrap_or(0);
        let colour = match (load(&least), self.free(a), self.free(b)) {
            (1.., Some(at_a), Some(at_b)) if self.exact => {
                self.exchange(b, [at_a, at_b], edges, colour_of);
                at_a
            }
            _ => least,
        };
        colour_of[at as usize] = colour;
        self.set(at, edge, colour);
    }
    /// Exchanges two colours along the chain that begins at `node`, which has the first and lacks the
    /// second. Afterwards it lacks the first. The chain does not lead to a node on the other side that lacks the
    /// first colour, because it would have to arrive there by an edge of that colour.
    fn exchange(
        &mut self,
        mut node: usize,
        [one, other]: [u32; 2],
        edges: &[Edge],
        colour_of: &mut [u32],
    ) {
        let (mut chain, mut colour) = (Vec::new(), one);
        while self.edge[self.cell(node, colour)] != NONE {
            let at = self.edge[self.cell(node, colour)];
            chain.push(at);
            let [a, b] = self.ends(&edges[at as usize]);
            node = if node == a { b } else { a };
            colour = one + other - colour;
        }
        for &at in &chain {
            for node in self.ends(&edges[at as usize]) {
                let cell = self.cell(node, colour_of[at as usize]);
                self.count[cell] -= 1;
                self.edge[cell] = NONE;
            }
        }
        for &at in &chain {
            let turned = one + other - colour_of[at as usize];
            colour_of[at as usize] = turned;
            self.set(at, &edges[at as usize], turned);
        }
    }
}

/// Gives each flow a path such that no wire has two flows, if each host sends and receives at most one flow. This
/// is 100 % of the bisection for any pattern. `None` if hosts have more flows, or if the fabric is not a
/// regular one whose switches have as many links up as down.
pub fn bijective(fabric: &Fabric, flows: &mut [Flow]) -> Option<()> {
    let Shape::Tiers(tiers) = &fabric.shape else { return None };
    let most = tiers.locations.hosts.iter().map(Vec::len).max()? as u32;
    let aggs = tiers.locations.edges.iter().map(Vec::len).max()? as u32;
    let pods = tiers.locations.edges.len();
    if most > tiers.aggs || pods > 1 && aggs > tiers.cores || !is_bijective(fabric, flows) {
        return None;
    }
    if fabric.capacities().iter().any(|&capacity| capacity < UNIT) {
        return None;
    }
    by_colours(tiers, flows);
    Some(())
}

/// Whether no host sends or receives more than one flow.
fn is_bijective(fabric: &Fabric, flows: &[Flow]) -> bool {
    let mut seen = vec![0u8; fabric.hosts()];
    flows.iter().all(|flow| {
        let (src, dst) = (flow.src.at(), flow.dst.at());
        let fresh = seen[src] & 1 == 0 && seen[dst] & 2 == 0;
        seen[src] |= 1;
        seen[dst] |= 2;
        fresh
    })
}

/// Gives flows between edge switches aggregation switches as colours, then the flows of each aggregation switch its
/// cores. The first flows are spread most evenly.
pub(in crate::placement) fn by_colours(tiers: &Tiers, flows: &mut [Flow]) {
    let locations = &*tiers.locations;
    let edge = |(id, flow): (u32, &Flow)| {
        let (left, right, _) = locations.of(flow.src, flow.dst);
        Edge { left, right, id }
    };
    let mut edges: Vec<Edge> = (0..).zip(&*flows).map(edge).filter(|e| e.left != e.right).collect();
    let count = locations.pod.len();
    let mut of_agg = vec![Vec::new(); tiers.aggs as usize];
    let mut colourer = EdgeColourer::new((count, count));
    colourer.colour(&mut edges, 0, tiers.aggs, &mut |edge, agg| {
        flows[edge.id as usize].path = Some(agg as u16);
        let (left, right) = (locations.pod[edge.left as usize], locations.pod[edge.right as usize]);
        if left != right {
            of_agg[agg as usize].push(Edge { left, right, id: edge.id });
        }
    });
    let mut colourer = EdgeColourer::new((locations.edges.len(), locations.edges.len()));
    for (agg, mut edges) in (0..tiers.aggs).zip(of_agg) {
        colourer.colour(&mut edges, 0, tiers.cores, &mut |edge, core| {
            flows[edge.id as usize].path = Some((agg + core * tiers.aggs) as u16);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Edges of a graph whose nodes have at most `degree` each.
    fn graph(nodes: u32, degree: usize) -> impl Strategy<Value = Vec<(u32, u32)>> {
        prop::collection::vec((0..nodes, 0..nodes), 0..80).prop_map(move |edges| {
            let mut degrees = vec![[0; 2]; nodes as usize];
            let mut fits = |edge: &(u32, u32)| {
                let (a, b) = (edge.0 as usize, edge.1 as usize);
                let fits = degrees[a][0] < degree && degrees[b][1] < degree;
                if fits {
                    degrees[a][0] += 1;
                    degrees[b][1] += 1;
                }
                fits
            };
            edges.into_iter().filter(|edge| fits(edge)).collect()
        })
    }

    proptest! {
        /// Kőnig's theorem, for even and odd numbers.
        #[test]
        fn no_node_has_a_colour_twice(
            (degree, edges) in (1usize..9).prop_flat_map(|d| (Just(d), graph(7, d))),
        ) {
            let colours = colour((7, 7), &edges, degree as u32);
            for node in 0..7 {
                for side in [0, 1] {
                    let of = |e: &(u32, u32)| [e.0, e.1][side] == node;
                    let mut own: Vec<u32> =
                        edges.iter().zip(&colours).filter(|(e, _)| of(e)).map(|(_, c)| *c).collect();
                    let all = own.len();
                    own.sort_unstable();
                    own.dedup();
                    prop_assert_eq!(own.len(), all);
                    prop_assert!(own.iter().all(|&c| c < degree as u32));
                }
            }
        }

        /// Any permutation, in fat-trees with odd and even halves.
        #[test]
        fn bijective_traffic_is_placed_without_conflict(
            (k, order) in prop::sample::select(vec![4u32, 6, 8, 10]).prop_flat_map(|k| {
                let hosts: Vec<u32> = (0..k * k * k / 4).collect();
                (Just(k), Just(hosts).prop_shuffle())
            }),
        ) {
            let mut fabric = Fabric::fat_tree(k);
            let mut flows: Vec<Flow> =
                (0..).zip(&order).map(|(src, &dst)| Flow::new(src, dst, 1.0)).collect();
            prop_assert_eq!(bijective(&fabric, &mut flows), Some(()));
            let load = crate::placement::first_fit(&mut fabric, &mut flows);
            prop_assert_eq!(load.excess(), 0);
        }
    }

    #[test]
    fn other_traffic_is_left_to_others() {
        let fabric = Fabric::fat_tree(4);
        let mut flows = [Flow::new(0, 5, 0.5), Flow::new(1, 5, 0.5)];
        assert_eq!(bijective(&fabric, &mut flows), None);
    }
}
