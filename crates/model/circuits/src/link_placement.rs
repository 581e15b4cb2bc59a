//! The placement of links at panels. A rack has one port at each panel, a core switch has several.

use crate::link_allocation::LinkCounts;
use crate::max_weight_matching::{MaxWeightMatching, Search};
use crate::panel_layout::PanelLayout;
use crate::panels::Panels;
use crate::residual_graph::{NO_EDGE, ResidualGraph};

/// A link: between two racks, or between a rack and a core switch. On side 0 the rack is the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Link {
    Direct(usize, usize),
    Core { side: usize, rack: usize, core: usize },
}

impl Link {
    /// The link between two ends.
    pub fn between(cores: &PanelLayout, src: usize, dst: usize) -> Link {
        let racks = cores.racks;
        let (from, to) = (cores.node(src), cores.node(dst));
        match (from.checked_sub(racks), to.checked_sub(racks)) {
            (None, None) => Link::Direct(from, to),
            (None, Some(core)) => Link::Core { side: 0, rack: from, core },
            (Some(core), _) => Link::Core { side: 1, rack: to, core },
        }
    }
}

/// Panels, and the links that are still to be placed. Pinned circuits stay.
#[derive(Clone, Debug)]
pub(crate) struct Placer {
    cores: PanelLayout,
    panels: Panels,
    links: LinkCounts,
    /// The number of links by side, rack and core switch.
    at_core: [Vec<usize>; 2],
}

impl Placer {
    pub fn new(cores: PanelLayout, panels: Panels, links: LinkCounts) -> Placer {
        let none = || vec![0; cores.racks * cores.cores];
        Placer { cores, panels, links, at_core: [none(), none()] }
    }
    /// Places the links so that few move. Existing links stay at their panel unless others find no panel
    /// then.
    pub fn place_with_few_moves(mut self) -> Panels {
        self.keep_existing();
        self.add_missing();
        self.panels
    }
    /// Places all links anew, panel by panel, by a maximum-weight matching each. Links with the fewest
    /// remaining panels have the highest weight. If some links find no panel, it tries again with another
    /// first panel.
    pub fn place_all(mut self) -> Panels {
        let before = self.panels.clone();
        let moves: Vec<_> = before.circuits().filter(|at| !before.is_pinned(at.0, at.1)).collect();
        moves.into_iter().for_each(|(panel, src, _)| self.panels.disconnect(panel, src));
        let all = self.cores.panels;
        let tries = (0..all).map(|first| {
            let mut panels = self.panels.clone();
            let mut unplaced = Unplaced::new(&self.cores, &panels, &self.links);
            let order: Vec<usize> = (first..all).chain(0..first).collect();
            (0..all).for_each(|at| unplaced.fill_panel(&order[at..], &before, &mut panels));
            (unplaced.degree[0].iter().sum::<usize>(), panels)
        });
        let mut best = (usize::MAX, self.panels.clone());
        for (missed, panels) in tries {
            if missed < best.0 {
                best = (missed, panels);
            }
            if best.0 == 0 {
                break;
            }
        }
        Placer { panels: best.1, ..self }.place_with_few_moves()
    }
    /// Keeps existing links as far as they are needed, and removes all others. The first link to a core
    /// switch is always needed.
    fn keep_existing(&mut self) {
        let cores = self.cores.cores;
        let mut rest = Vec::new();
        let mut now: Vec<_> = self.panels.circuits().collect();
        now.sort_by_key(|&(panel, src, _)| !self.panels.is_pinned(panel, src));
        for (panel, src, dst) in now {
            match Link::between(&self.cores, src, dst) {
                Link::Core { side, rack, core } if self.at_core[side][rack * cores + core] == 0 => {
                    self.count(side, rack, core);
                }
                link => rest.push((panel, src, link)),
            }
        }
        for (panel, src, link) in rest {
            match link {
                Link::Direct(from, to) if self.links.direct[from * self.cores.racks + to] > 0 => {
                    self.links.direct[from * self.cores.racks + to] -= 1;
                }
                Link::Core { side, rack, core } if self.links.core[side][rack] > 0 => {
                    self.count(side, rack, core);
                }
                _ => self.panels.disconnect(panel, src),
            }
        }
    }
    /// Counts a placed link to the core.
    fn count(&mut self, side: usize, rack: usize, core: usize) {
        self.at_core[side][rack * self.cores.cores + core] += 1;
        self.links.core[side][rack] = self.links.core[side][rack].saturating_sub(1);
    }
    /// Places the missing links: first one to and from each core switch, then the direct links, then all
    /// others to the core.
    fn add_missing(&mut self) {
        let PanelLayout { racks, cores, .. } = self.cores;
        let sides = || (0..2).flat_map(|side| (0..racks).map(move |rack| (side, rack)));
        for ((side, rack), core) in sides().flat_map(|at| (0..cores).map(move |core| (at, core))) {
            if self.at_core[side][rack * cores + core] == 0 {
                self.add_core_link(side, rack, core..core + 1);
            }
        }
        for (src, dst) in pairs(racks) {
            let missing = 0..self.links.direct[src * racks + dst];
            // A pinned circuit may leave no room for the link.
            missing.for_each(|_| _ = self.panels.add_circuit(src, dst));
        }
        for (side, rack) in sides() {
            while self.links.core[side][rack] > 0 && self.add_core_link(side, rack, 0..cores) {}
        }
    }
    /// Adds a link between a rack and one of the core switches `among`, where the rack has the fewest links.
    /// Returns whether there was room.
    fn add_core_link(&mut self, side: usize, rack: usize, among: std::ops::Range<usize>) -> bool {
        let (cores, at_core) = (self.cores, &self.at_core[side]);
        let free = |port: usize| match side {
            0 => self.panels.free_destinations(port),
            _ => self.panels.free_sources(port),
        };
        let ports = among.flat_map(|core| cores.ends_of_core(core).map(move |port| (core, port)));
        let mut ports: Vec<_> = ports.filter(|(_, port)| free(*port) > 0).collect();
        ports.sort_by_key(|&(core, port)| {
            (at_core[rack * cores.cores + core], usize::MAX - free(port))
        });
        let found = ports.into_iter().find(|&(_, port)| {
            let (src, dst) = if side == 0 { (rack, port) } else { (port, rack) };
            self.panels.add_circuit(src, dst).is_some()
        });
        if let Some((core, _)) = found {
            self.count(side, rack, core);
        }
        found.is_some()
    }
}

/// All pairs of racks.
pub(crate) fn pairs(racks: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..racks).flat_map(move |src| (0..racks).map(move |dst| (src, dst)))
}

/// The links without a panel, by the nodes that they connect.
struct Unplaced<'a> {
    cores: &'a PanelLayout,
    nodes: usize,
    /// The number of such links by source and destination node.
    left: Vec<usize>,
    /// The number of such links by side and node.
    degree: [Vec<usize>; 2],
    cells: Vec<i32>,
    residual: ResidualGraph,
    max_weight: MaxWeightMatching,
    search: Search,
}

impl<'a> Unplaced<'a> {
    /// All links that are needed and not pinned. The links of a rack to the core are spread over the core
    /// switches.
    fn new(cores: &'a PanelLayout, pinned: &Panels, links: &LinkCounts) -> Unplaced<'a> {
        let (racks, nodes) = (cores.racks, cores.racks + cores.cores);
        let mut left = vec![0; nodes * nodes];
        for (src, dst) in pairs(racks) {
            left[src * nodes + dst] = links.direct[src * racks + dst];
        }
        for rack in 0..racks {
            let core = |at: usize| racks + (rack + at) % cores.cores;
            (0..links.core[0][rack]).for_each(|at| left[rack * nodes + core(at)] += 1);
            (0..links.core[1][rack]).for_each(|at| left[core(at) * nodes + rack] += 1);
        }
        for (_, src, dst) in pinned.circuits() {
            let left = &mut left[cores.node(src) * nodes + cores.node(dst)];
            *left = left.saturating_sub(1);
        }
        let sum = |of: &dyn Fn(usize, usize) -> usize| {
            (0..nodes).map(|node| (0..nodes).map(|other| of(node, other)).sum()).collect()
        };
        let degree = [
            sum(&|node, other| left[node * nodes + other]),
            sum(&|node, other| left[other * nodes + node]),
        ];
        Unplaced {
            cores,
            nodes,
            left,
            degree,
            cells: Vec::new(),
            residual: ResidualGraph::default(),
            max_weight: MaxWeightMatching::default(),
            search: Search::default(),
        }
    }
    /// Whether a node has a free port at each of some panels, and the number of its free ports at all of
    /// them.
    fn free(
        &self,
        panels: &Panels,
        side: usize,
        node: usize,
        left: &[usize],
    ) -> (Vec<bool>, usize) {
        let ends = match node.checked_sub(self.cores.racks) {
            None => node..node + 1,
            Some(core) => self.cores.ends_of_core(core),
        };
        let at =
            |panel: usize| ends.clone().filter(|&end| panels.is_free(side, panel, end)).count();
        let counts: Vec<usize> = left.iter().map(|&panel| at(panel)).collect();
        (counts.iter().map(|&count| count > 0).collect(), counts.iter().sum())
    }
    /// The weight of a link for which `slack` more panels are free than it needs.
    fn urgency(slack: usize) -> i32 {
        4096 >> (2 * slack.min(5))
    }
    /// Places links at the first of the remaining panels.
    fn fill_panel(&mut self, left: &[usize], before: &Panels, panels: &mut Panels) {
        let (ends, nodes, panel) = (self.cores.ends(), self.nodes, left[0]);
        let free = [0, 1].map(|side| {
            (0..nodes).map(|node| self.free(panels, side, node, left)).collect::<Vec<_>>()
        });
        let slots = |node: usize| if node < self.cores.racks { 1 } else { self.cores.slots };
        let slack = |side: usize, node: usize| {
            free[side][node].1.saturating_sub(self.degree[side][node]) / slots(node)
        };
        let urgency = [0, 1].map(|side| {
            (0..nodes).map(|node| Unplaced::urgency(slack(side, node))).collect::<Vec<_>>()
        });
        let pair = |from: usize, to: usize| {
            let both = free[0][from].0.iter().zip(&free[1][to].0);
            let common = both.filter(|(one, other)| **one && **other).count();
            let slack = common.saturating_sub(self.left[from * nodes + to]);
            urgency[0][from] + urgency[1][to] + 2 * Unplaced::urgency(slack)
        };
        self.cells.clear();
        self.cells.resize(ends * ends, 0);
        for src in (0..ends).filter(|&end| panels.is_free(0, panel, end)) {
            for dst in (0..ends).filter(|&end| panels.is_free(1, panel, end)) {
                let (from, to) = (self.cores.node(src), self.cores.node(dst));
                if self.left[from * nodes + to] > 0 {
                    let stays = before.destination(panel, src) == Some(dst);
                    // Packets that wait in a core switch have no other path if its link is removed.
                    let core = from.max(to) >= self.cores.racks;
                    let stay = if core { 256 } else { 8 };
                    self.cells[src * ends + dst] = pair(from, to) + if stays { stay } else { 0 };
                }
            }
        }
        self.residual.load(ends, &self.cells);
        self.max_weight.solve(&self.residual, i32::MAX, &mut self.search);
        for (src, &edge) in
            self.max_weight.matched().iter().enumerate().filter(|at| *at.1 != NO_EDGE)
        {
            let dst = self.residual.endpoint(1, edge);
            panels.connect(panel, src, dst);
            let (from, to) = (self.cores.node(src), self.cores.node(dst));
            self.left[from * nodes + to] -= 1;
            self.degree[0][from] -= 1;
            self.degree[1][to] -= 1;
        }
    }
}
