//! Halving a bipartite graph: every node has half its edges in each half (Euler split).

/// An edge of a bipartite graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Edge {
    pub left: u32,
    pub right: u32,
    /// What it stands for.
    pub id: u32,
}

const NONE: u32 = u32::MAX;
/// An edge that belongs to no half yet.
const OPEN: u8 = 2;

/// Working memory of [`Splitter::halve`].
#[derive(Default)]
pub(super) struct Splitter {
    /// By node, an edge that has no partner yet; left nodes, then right ones.
    open: [Vec<u32>; 2],
    /// By edge, its partners at both nodes.
    partner: Vec<[u32; 2]>,
    half: Vec<u8>,
    spare: Vec<Edge>,
}

impl Splitter {
    /// For graphs with so many nodes on each side.
    pub fn new(lefts: usize, rights: usize) -> Splitter {
        Splitter { open: [vec![NONE; lefts], vec![NONE; rights]], ..Splitter::default() }
    }
    /// Puts one half of `edges` first and returns how many these are; both keep their order. Of each
    /// node's edges, which follow each other in `edges`, every two are in different halves: where they
    /// are in order of their weights, both halves of a node weigh about the same.
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
                // Odd ends are shared out in turn.
                start ^= 1;
            }
        }
        self.separate(edges)
    }
    /// Gives each edge a partner at either node, but for the last of an odd number.
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
    /// From partner to partner, in turn on both sides, always into the other half. A round of partners
    /// is even: it ends where it began, in the other half.
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
        let mut kept = 0;
        for (at, half) in self.half.iter().enumerate() {
            let edge = edges[at];
            if *half == 0 {
                edges[kept] = edge;
                kept += 1;
            } else {
                self.spare.push(edge);
            }
        }
        edges[kept..].copy_from_slice(&self.spare);
        kept
    }
}
