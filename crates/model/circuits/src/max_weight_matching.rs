//! Exact maximum-weight matchings of a sparse bipartite graph, warm-started from an earlier matching.
//!
//! Each vertex has a price, which is its dual variable. No price is negative, and the two prices of an edge
//! sum to at least its weight, and to exactly its weight if the edge is matched. If no unmatched vertex has a
//! price above zero, the matching has maximum weight, and that weight is the sum of all prices (complementary
//! slackness). An unmatched vertex with a price above zero is *active*. A shortest augmenting path either
//! matches an active vertex, or leaves it or another vertex of its side unmatched with price zero. This is
//! the Hungarian method with searches from both sides (Kuhn, 1955; Edmonds and Karp, 1972), after a start by
//! an auction (Bertsekas, 1988). A search never goes further than the price of its active vertex, so that it
//! stays close to what has changed. If the work is limited, some vertices may remain active. The sum of
//! prices is then an upper bound.
//!
//! The weight of an edge is its residual demand, capped at what a circuit can carry in a day.

use crate::residual_graph::{NO_EDGE, ResidualGraph};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The average number of bids of a vertex before the searches begin.
const BIDS: usize = 8;
/// The cost of a step of a search, in edges visited.
const STEP: u64 = 16;
/// The distance of vertices that are not reached.
const FAR: i32 = i32::MAX;

/// A matching and its prices. Side 0 has the rows, side 1 the columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct MaxWeightMatching {
    prices: [Vec<i32>; 2],
    /// The matched edge by side and vertex.
    matched: [Vec<u32>; 2],
}

/// The weights of edges: their residual demand up to a cap.
#[derive(Clone, Copy, Debug)]
struct Weights<'a> {
    graph: &'a ResidualGraph,
    cap: i32,
}

/// Working memory for searches.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    /// The distance of each vertex of the opposite side, and the edge by which it was reached.
    distance: Vec<i32>,
    from: Vec<u32>,
    /// The vertices that have a distance.
    reached: Vec<u16>,
    heap: BinaryHeap<Reverse<(i32, u16)>>,
    /// The vertices at the same distance as the current one. They do not need the heap.
    tied: Vec<u16>,
    /// The vertices whose distance is final.
    tree: Vec<(u16, i32)>,
    /// The distance of the nearest end of a path.
    bound: i32,
    end: PathEnd,
    active: Vec<u16>,
    /// The number of edges visited. Other work counts as the number of edges that take the same time.
    pub work: u64,
    /// No search begins after this amount of work, so that some vertices may remain active.
    pub most_work: u64,
}

/// The end of an augmenting path.
#[derive(Clone, Copy, Debug, Default)]
enum PathEnd {
    /// The active vertex remains unmatched.
    #[default]
    Root,
    /// This vertex of the same side becomes unmatched.
    Unmatch(usize),
    /// This vertex of the opposite side was free.
    Free(usize),
}

impl MaxWeightMatching {
    /// Finds a maximum-weight matching without earlier knowledge.
    pub fn solve(&mut self, residual: &ResidualGraph, cap: i32, search: &mut Search) {
        for side in 0..2 {
            self.prices[side].clear();
            self.prices[side].resize(residual.size, 0);
            self.matched[side].clear();
            self.matched[side].resize(residual.size, NO_EDGE);
        }
        self.solve_warm(residual, cap, search);
    }
    /// Finds a maximum-weight matching. It starts with the prices found for other weights of the same graph.
    pub fn solve_warm(&mut self, residual: &ResidualGraph, cap: i32, search: &mut Search) {
        let weights = Weights { graph: residual, cap };
        for row in 0..residual.size {
            let (best, _) = self.best_two(weights, 0, row, search);
            self.prices[0][row] = best.0;
        }
        self.solve_decreased(residual, cap, search);
    }
    /// Finds a maximum-weight matching. It starts with the column prices found for another graph.
    pub fn solve_other_graph(&mut self, residual: &ResidualGraph, cap: i32, search: &mut Search) {
        self.matched.iter_mut().for_each(|matched| matched.fill(NO_EDGE));
        self.solve_warm(residual, cap, search);
    }
    /// Finds a maximum-weight matching if no weight has risen since the last call.
    pub fn solve_decreased(&mut self, residual: &ResidualGraph, cap: i32, search: &mut Search) {
        let weights = Weights { graph: residual, cap };
        search.work += 8 * residual.size as u64;
        (0..residual.size).for_each(|row| self.remove_if_slack(residual, cap, row));
        for side in 0..2 {
            self.find_active(side, search);
            self.auction(weights, side, search);
        }
        for side in 0..2 {
            self.find_active(side, search);
            while let Some(vertex) = search.active.pop().filter(|_| search.work < search.most_work)
            {
                if self.is_active(side, vertex.into()) {
                    self.search(weights, side, vertex.into(), search);
                }
            }
        }
    }
    /// Active vertices bid for their best neighbour and outbid others, as in an auction. It finds most of the
    /// matching at little cost. The searches find the rest.
    fn auction(&mut self, weights: Weights, side: usize, search: &mut Search) {
        let residual = weights.graph;
        for bid in 0..BIDS * residual.size {
            if bid >= residual.size && search.work >= search.most_work {
                return;
            }
            let Some(vertex) = search.active.pop().map(usize::from) else { return };
            let (best, second) = self.best_two(weights, side, vertex, search);
            self.prices[side][vertex] = best.0;
            if best.0 == 0 {
                continue;
            }
            let across = residual.endpoint(1 - side, best.1);
            let before = self.matched[1 - side][across];
            if before != NO_EDGE {
                if best.0 == second {
                    // Neither bidder can outbid the other, so a search decides.
                    continue;
                }
                let outbid = residual.endpoint(side, before);
                self.matched[side][outbid] = NO_EDGE;
                search.active.push(outbid as u16);
            }
            self.prices[side][vertex] = second;
            self.prices[1 - side][across] += best.0 - second;
            self.add_edge(residual, best.1);
        }
    }
    /// The weight minus the price of the best neighbour with its edge, and the same for the second best, or
    /// zero. Of equally good neighbours it prefers a free one.
    fn best_two(
        &self,
        weights: Weights,
        side: usize,
        vertex: usize,
        search: &mut Search,
    ) -> ((i32, u32), i32) {
        let (prices, matched) = (&self.prices[1 - side], &self.matched[1 - side]);
        let (mut best, mut second) = ((0, NO_EDGE), 0);
        let cap = weights.cap;
        weights.graph.for_each_edge(side, vertex, |edge, across, left| {
            search.work += 1;
            let worth = left.min(cap) - prices[across];
            if worth > best.0 {
                second = best.0;
                best = (worth, edge);
            } else if worth > second {
                second = worth;
            }
            if worth == best.0 && worth > 0 && best.1 != edge && matched[across] == NO_EDGE {
                best.1 = edge;
            }
        });
        (best, second)
    }
    /// The matched edge of each row.
    pub fn matched(&self) -> &[u32] {
        &self.matched[0]
    }
    /// The weight of the matching. If vertices remain active, it is an upper bound of the maximum weight.
    pub fn value(&self) -> i64 {
        self.prices.iter().flatten().map(|&price| i64::from(price)).sum()
    }
    /// Copies another matching and reuses the memory of this one.
    pub fn copy_from(&mut self, other: &MaxWeightMatching) {
        for side in 0..2 {
            self.prices[side].clone_from(&other.prices[side]);
            self.matched[side].clone_from(&other.matched[side]);
        }
    }
    fn add_edge(&mut self, residual: &ResidualGraph, edge: u32) {
        self.matched[0][residual.endpoint(0, edge)] = edge;
        self.matched[1][residual.endpoint(1, edge)] = edge;
    }
    /// Removes the edge of a row if its weight is less than the sum of its prices.
    fn remove_if_slack(&mut self, residual: &ResidualGraph, cap: i32, row: usize) {
        let edge = self.matched[0][row];
        if edge == NO_EDGE {
            return;
        }
        let column = residual.endpoint(1, edge);
        if self.prices[0][row] + self.prices[1][column] > residual.remaining[edge as usize].min(cap)
        {
            self.matched[0][row] = NO_EDGE;
            self.matched[1][column] = NO_EDGE;
        }
    }
    fn find_active(&self, side: usize, search: &mut Search) {
        let all = (0..self.prices[side].len()).rev();
        search.active.clear();
        search.active.extend(all.filter(|&at| self.is_active(side, at)).map(|at| at as u16));
    }
    fn is_active(&self, side: usize, vertex: usize) -> bool {
        self.matched[side][vertex] == NO_EDGE && self.prices[side][vertex] > 0
    }
    /// Finds the nearest end of a path, changes prices so that the path is tight, and augments along it.
    fn search(&mut self, weights: Weights, side: usize, root: usize, search: &mut Search) {
        let residual = weights.graph;
        search.work += STEP;
        search.begin(residual.size, self.prices[side][root]);
        self.relax_edges(weights, side, root, 0, search);
        while let Some((distance, vertex)) = search.next() {
            let across = usize::from(vertex);
            if distance >= search.bound {
                break;
            }
            if distance > search.distance[across] {
                continue;
            }
            search.work += STEP;
            search.tree.push((vertex, distance));
            let partner = residual.endpoint(side, self.matched[1 - side][across]);
            let unmatched = distance + self.prices[side][partner];
            if unmatched < search.bound {
                (search.bound, search.end) = (unmatched, PathEnd::Unmatch(partner));
            }
            self.relax_edges(weights, side, partner, distance, search);
        }
        self.reprice(residual, side, root, search);
        self.augment(residual, side, root, search);
    }
    /// Relaxes all edges of a vertex at a distance.
    fn relax_edges(
        &self,
        weights: Weights,
        side: usize,
        vertex: usize,
        distance: i32,
        search: &mut Search,
    ) {
        let base = distance + self.prices[side][vertex];
        let (prices, matched) = (&self.prices[1 - side], &self.matched[1 - side]);
        let cap = weights.cap;
        weights.graph.for_each_edge(side, vertex, |edge, across, left| {
            search.work += 1;
            let reached = base + prices[across] - left.min(cap);
            if reached < search.bound && reached < search.distance[across] {
                search.reach(across, reached, edge);
                if matched[across] == NO_EDGE {
                    (search.bound, search.end) = (reached, PathEnd::Free(across));
                } else if reached == distance {
                    search.tied.push(across as u16);
                } else {
                    search.heap.push(Reverse((reached, across as u16)));
                }
            }
        });
    }
    fn reprice(&mut self, residual: &ResidualGraph, side: usize, root: usize, search: &Search) {
        self.prices[side][root] -= search.bound;
        for &(vertex, distance) in &search.tree {
            let by = search.bound - distance;
            let partner = residual.endpoint(side, self.matched[1 - side][usize::from(vertex)]);
            self.prices[1 - side][usize::from(vertex)] += by;
            self.prices[side][partner] -= by;
        }
    }
    fn augment(&mut self, residual: &ResidualGraph, side: usize, root: usize, search: &Search) {
        let mut across = match search.end {
            PathEnd::Root => return,
            PathEnd::Free(across) => across,
            PathEnd::Unmatch(partner) => {
                let edge = std::mem::replace(&mut self.matched[side][partner], NO_EDGE);
                residual.endpoint(1 - side, edge)
            }
        };
        loop {
            let edge = search.from[across];
            let partner = residual.endpoint(side, edge);
            let before = self.matched[side][partner];
            self.add_edge(residual, edge);
            if partner == root {
                return;
            }
            across = residual.endpoint(1 - side, before);
        }
    }
}

impl Default for Search {
    fn default() -> Search {
        Search {
            distance: Vec::new(),
            from: Vec::new(),
            reached: Vec::new(),
            heap: BinaryHeap::new(),
            tied: Vec::new(),
            tree: Vec::new(),
            bound: 0,
            end: PathEnd::Root,
            active: Vec::new(),
            work: 0,
            most_work: u64::MAX,
        }
    }
}

impl Search {
    fn begin(&mut self, size: usize, bound: i32) {
        if self.distance.len() != size {
            self.distance.clear();
            self.distance.resize(size, FAR);
            self.from.resize(size, NO_EDGE);
        } else {
            self.reached.iter().for_each(|&vertex| self.distance[usize::from(vertex)] = FAR);
        }
        self.reached.clear();
        self.heap.clear();
        self.tied.clear();
        self.tree.clear();
        self.bound = bound;
        self.end = PathEnd::Root;
    }
    /// The next vertex in the order of distance: first those at the same distance as the last one.
    fn next(&mut self) -> Option<(i32, u16)> {
        match self.tied.pop() {
            Some(vertex) => Some((self.distance[usize::from(vertex)], vertex)),
            None => self.heap.pop().map(|Reverse(found)| found),
        }
    }
    fn reach(&mut self, vertex: usize, distance: i32, edge: u32) {
        if self.distance[vertex] == FAR {
            self.reached.push(vertex as u16);
        }
        self.distance[vertex] = distance;
        self.from[vertex] = edge;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn capped(residual: &ResidualGraph, edge: u32, cap: i32) -> i64 {
        residual.remaining[edge as usize].min(cap).into()
    }

    /// The maximum weight over all matchings.
    fn brute_force(residual: &ResidualGraph, cap: i32, row: usize, taken: u32) -> i64 {
        if row == residual.size {
            return 0;
        }
        let mut best = brute_force(residual, cap, row + 1, taken);
        residual.for_each_edge(0, row, |edge, column, _| {
            if taken >> column & 1 == 0 {
                let rest = brute_force(residual, cap, row + 1, taken | 1 << column);
                best = best.max(capped(residual, edge, cap) + rest);
            }
        });
        best
    }

    /// Whether the prices prove that the matching has maximum weight.
    fn is_optimal(found: &MaxWeightMatching, residual: &ResidualGraph, cap: i32) -> bool {
        let price = |side: usize, at: usize| i64::from(found.prices[side][at]);
        let edges = 0..residual.remaining.len() as u32;
        let mut covered = edges.map(|edge| {
            price(0, residual.endpoint(0, edge)) + price(1, residual.endpoint(1, edge))
                >= capped(residual, edge, cap)
        });
        let matched = found.matched().iter().enumerate();
        let edges: Vec<u32> =
            matched.clone().map(|(_, &edge)| edge).filter(|&e| e != NO_EDGE).collect();
        let mutual = matched.filter(|(_, edge)| **edge != NO_EDGE).all(|(row, &edge)| {
            residual.endpoint(0, edge) == row
                && found.matched[1][residual.endpoint(1, edge)] == edge
        });
        let weight: i64 = edges.iter().map(|&edge| capped(residual, edge, cap)).sum();
        let positive = found.prices.iter().flatten().all(|&price| price >= 0);
        covered.all(|covered| covered) && mutual && positive && weight == found.value()
    }

    fn residual(most: usize) -> impl Strategy<Value = ResidualGraph> {
        (1..most).prop_flat_map(|size| {
            let cell = prop_oneof![2 => Just(0), 1 => 0..30, 1 => 0..1 << 26];
            proptest::collection::vec(cell, size * size).prop_map(move |cells| {
                let mut residual = ResidualGraph::default();
                residual.load(size, &cells);
                residual
            })
        })
    }

    proptest! {
        #[test]
        fn it_is_the_heaviest(residual in residual(7), caps in proptest::collection::vec(1..1 << 26, 4)) {
            let (mut found, mut search) = (MaxWeightMatching::default(), Search::default());
            for (turn, cap) in caps.into_iter().enumerate() {
                match turn {
                    0 => found.solve(&residual, cap, &mut search),
                    _ => found.solve_warm(&residual, cap, &mut search),
                }
                prop_assert!(is_optimal(&found, &residual, cap));
                prop_assert_eq!(found.value(), brute_force(&residual, cap, 0, 0));
            }
        }

        #[test]
        fn it_goes_on_where_weights_fall(mut residual in residual(40), falls in proptest::collection::vec((any::<prop::sample::Index>(), 0..1 << 26), 60)) {
            let (mut found, mut search) = (MaxWeightMatching::default(), Search::default());
            let cap = 1 << 25;
            found.solve(&residual, cap, &mut search);
            for falls in falls.chunks(20) {
                for (at, by) in falls {
                    if !residual.remaining.is_empty() {
                        let at = at.index(residual.remaining.len());
                        residual.remaining[at] = (residual.remaining[at] - by).max(0);
                    }
                }
                found.solve_decreased(&residual, cap, &mut search);
                prop_assert!(is_optimal(&found, &residual, cap));
            }
        }

        #[test]
        fn a_smaller_graph_comes_after_a_larger_one(sizes in proptest::collection::vec(residual(9), 3)) {
            let (mut found, mut search) = (MaxWeightMatching::default(), Search::default());
            for residual in sizes {
                found.solve(&residual, 1 << 20, &mut search);
                prop_assert!(is_optimal(&found, &residual, 1 << 20));
            }
        }
    }
}
