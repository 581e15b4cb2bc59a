//! Halves a bipartite graph such that each node has half of its edges in each half (Euler split).

/// An edge of a bipartite graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Edge {
    pub left: u32,
    pub right: u32,
    /// The number of the flow for which the edge stands.
    pub id: u32,
}

const NONE: u32 = u32::MAX;
/// The mark of an edge that belongs to no half yet.
const OPEN: u8 = 2;

/// The working memory of [`Splitter::halve`].
#[derive(Default)]
pub(super) struct Splitter {
    /// By node, an edge that has no partner yet: left nodes, then right ones.
    open: [Vec<u32>; 2],
    /// By edge, its partners at its two nodes.
    partner: Vec<[u32; 2]>,
    half: Vec<u8>,
    spare: Vec<Edge>,
}

impl Splitter {
    /// A splitter for graphs of `lefts` and `rights` nodes.
    pub fn new(lefts: usize, rights: usize) -> Splitter {
        Splitter { open: [vec![NONE; lefts], vec![NONE; rights]], ..Splitter::default() }
    }
    /// Puts one half of `edges` first and returns the number of edges in it. Both halves keep their order. Two
    /// edges of a node that follow each other in `edges` are in different halves, so if edges are in the order
    /// of their weights, both halves of a node have about the same weight.
    pub fn halve(&mut self, edges: &mut [Edge]) -> usize {
        self.pair(edges);
        self.half.clear();
        self.half.resize(edges.len(), OPEN);
        let mut start = 0;
        for edge in 0..edges.len() {
            if self.half[edge] == OPEN {
                self.half[edge] = start;
                self.follow(edge, 0);
                self.follow(edge, 1);
                // Chains of partners begin in both halves in turn, so that odd edges are spread evenly.
                start ^= 1;
            }
        }
        self.separate(edges)
    }
    /// Gives each edge a partner at both nodes, except for the last edge of an odd number.
    fn pair(&mut self, edges: &[Edge]) {
        self.partner.clear();
        self.partner.resize(edges.len(), [NONE; 2]);
        for (at, edge) in (0u32..).zip(edges) {
            for (side, node) in [edge.left, edge.right].into_iter().enumerate() {
                let open = &mut self.open[side][node as usize];
                if *open == NONE {
                    *open = at;
                } else {
                    self.partner[at as usize][side] = *open;
                    self.partner[*open as usize][side] = at;
                    *open = NONE;
                }
            }
        }
        for edge in edges {
            self.open[0][edge.left as usize] = NONE;
            self.open[1][edge.right as usize] = NONE;
        }
    }
    /// Follows the partners of an edge, in turn on both sides, and puts each into the other half. A cycle of partners
    /// has an even length, so its halves agree where it closes.
    fn follow(&mut self, edge: usize, mut side: usize) {
        let (mut at, mut half) = (edge, self.half[edge]);
        loop {
            let next = self.partner[at][side] as usize;
            if self.half.get(next) != Some(&OPEN) {
                return;
            }
            half ^= 1;
            self.half[next] = half;
            (at, side) = (next, side ^ 1);
        }
    }
    fn separate(&mut self, edges: &mut [Edge]) -> usize {
        self.spare.clear();
        let mut length = 0;
        for (at, half) in self.half.iter().enumerate() {
            let edge = edges[at];
            if *half == 0 {
                edges[length] = edge;
                length += 1;
            } else {
                self.spare.push(edge);
            }
        }
        edges[length..].copy_from_slice(&self.spare);
        length
    }
}
