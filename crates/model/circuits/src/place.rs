//! Which link is at which panel: each rack has one port at each, a core switch a few.

use crate::cores::Cores;
use crate::heaviest::{Heaviest, Search};
use crate::loads::Links;
use crate::panels::Panels;
use crate::wants::{NO_EDGE, Wants};

/// What a link joins: two racks; or a rack and a core switch (side 0: the rack sends).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Link {
    Direct(usize, usize),
    Core { side: usize, rack: usize, core: usize },
}

impl Link {
    /// What joins two ends.
    pub fn between(cores: &Cores, src: usize, dst: usize) -> Link {
        let racks = cores.racks;
        let (from, to) = (cores.seat(src), cores.seat(dst));
        match (from.checked_sub(racks), to.checked_sub(racks)) {
            (None, None) => Link::Direct(from, to),
            (None, Some(core)) => Link::Core { side: 0, rack: from, core },
            (Some(core), _) => Link::Core { side: 1, rack: to, core },
        }
    }
}

/// Panels, and the links that they are to have and have not yet. What is pinned stays.
#[derive(Clone, Debug)]
pub(crate) struct Placer {
    cores: Cores,
    panels: Panels,
    links: Links,
    /// By side, rack and core switch: links.
    at_core: [Vec<usize>; 2],
}

impl Placer {
    pub fn new(cores: Cores, panels: Panels, links: Links) -> Placer {
        let none = || vec![0; cores.racks * cores.cores];
        Placer { cores, panels, links, at_core: [none(), none()] }
    }
    /// What is there and wanted stays at its panel, as far as others find a place then.
    pub fn moving_little(mut self) -> Panels {
        self.keep();
        self.fill();
        self.panels
    }
    /// All are placed anew, panel by panel, those first that have the fewest panels left: a heaviest matching for
    /// each. Where that finds no place for some, it begins with another panel.
    pub fn afresh(mut self) -> Panels {
        let before = self.panels.clone();
        let moves: Vec<_> = before.all().filter(|at| !before.is_pinned(at.0, at.1)).collect();
        moves.into_iter().for_each(|(panel, src, _)| self.panels.cut(panel, src));
        let all = self.cores.panels;
        let tries = (0..all).map(|first| {
            let mut panels = self.panels.clone();
            let mut fresh = Fresh::new(&self.cores, &panels, &self.links);
            let order: Vec<usize> = (first..all).chain(0..first).collect();
            (0..all).for_each(|at| fresh.place(&order[at..], &before, &mut panels));
            (fresh.degree[0].iter().sum::<usize>(), panels)
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
        Placer { panels: best.1, ..self }.moving_little()
    }
    /// What is there stays as far as it is wanted, and is taken off what is; all else is cut. Of links to a core switch
    /// the first is always wanted.
    fn keep(&mut self) {
        let cores = self.cores.cores;
        let mut rest = Vec::new();
        let mut now: Vec<_> = self.panels.all().collect();
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
                _ => self.panels.cut(panel, src),
            }
        }
    }
    /// A link to the core is there.
    fn count(&mut self, side: usize, rack: usize, core: usize) {
        self.at_core[side][rack * self.cores.cores + core] += 1;
        self.links.core[side][rack] = self.links.core[side][rack].saturating_sub(1);
    }
    /// All that is not there yet: a link to each core switch and one from it, direct links, and the rest to the core.
    fn fill(&mut self) {
        let Cores { racks, cores, .. } = self.cores;
        let sides = || (0..2).flat_map(|side| (0..racks).map(move |rack| (side, rack)));
        for ((side, rack), core) in sides().flat_map(|at| (0..cores).map(move |core| (at, core))) {
            if self.at_core[side][rack * cores + core] == 0 {
                self.join(side, rack, core..core + 1);
            }
        }
        for (src, dst) in pairs(racks) {
            let wanted = 0..self.links.direct[src * racks + dst];
            // What is pinned may be in the way.
            wanted.for_each(|_| _ = self.panels.add(src, dst));
        }
        for (side, rack) in sides() {
            while self.links.core[side][rack] > 0 && self.join(side, rack, 0..cores) {}
        }
    }
    /// A rack gets a link more to the core, or from it: of those with room to that where it has fewest. Whether
    /// there was room.
    fn join(&mut self, side: usize, rack: usize, among: std::ops::Range<usize>) -> bool {
        let (cores, at_core) = (self.cores, &self.at_core[side]);
        let free = |port: usize| match side {
            0 => self.panels.free_destinations(port),
            _ => self.panels.free_sources(port),
        };
        let ports = among.flat_map(|core| cores.slots_of(core).map(move |port| (core, port)));
        let mut ports: Vec<_> = ports.filter(|(_, port)| free(*port) > 0).collect();
        ports.sort_by_key(|&(core, port)| {
            (at_core[rack * cores.cores + core], usize::MAX - free(port))
        });
        let found = ports.into_iter().find(|&(_, port)| {
            let (src, dst) = if side == 0 { (rack, port) } else { (port, rack) };
            self.panels.add(src, dst).is_some()
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

/// Links that have no panel yet, by the seats that they join.
struct Fresh<'a> {
    cores: &'a Cores,
    seats: usize,
    /// By source and destination seat.
    left: Vec<usize>,
    /// By side and seat: how many are left.
    degree: [Vec<usize>; 2],
    cells: Vec<i32>,
    wants: Wants,
    heaviest: Heaviest,
    search: Search,
}

impl<'a> Fresh<'a> {
    /// All that is wanted and not pinned. Links of a rack to the core are spread over the core switches.
    fn new(cores: &'a Cores, pinned: &Panels, links: &Links) -> Fresh<'a> {
        let (racks, seats) = (cores.racks, cores.racks + cores.cores);
        let mut left = vec![0; seats * seats];
        for (src, dst) in pairs(racks) {
            left[src * seats + dst] = links.direct[src * racks + dst];
        }
        for rack in 0..racks {
            let core = |at: usize| racks + (rack + at) % cores.cores;
            (0..links.core[0][rack]).for_each(|at| left[rack * seats + core(at)] += 1);
            (0..links.core[1][rack]).for_each(|at| left[core(at) * seats + rack] += 1);
        }
        for (_, src, dst) in pinned.all() {
            let left = &mut left[cores.seat(src) * seats + cores.seat(dst)];
            *left = left.saturating_sub(1);
        }
        let sum = |of: &dyn Fn(usize, usize) -> usize| {
            (0..seats).map(|seat| (0..seats).map(|other| of(seat, other)).sum()).collect()
        };
        let degree = [
            sum(&|seat, other| left[seat * seats + other]),
            sum(&|seat, other| left[other * seats + seat]),
        ];
        Fresh {
            cores,
            seats,
            left,
            degree,
            cells: Vec::new(),
            wants: Wants::default(),
            heaviest: Heaviest::default(),
            search: Search::default(),
        }
    }
    /// At which of some panels a port of a seat is free, and how many ports are.
    fn free(
        &self,
        panels: &Panels,
        side: usize,
        seat: usize,
        left: &[usize],
    ) -> (Vec<bool>, usize) {
        let ends = match seat.checked_sub(self.cores.racks) {
            None => seat..seat + 1,
            Some(core) => self.cores.slots_of(core),
        };
        let at =
            |panel: usize| ends.clone().filter(|&end| panels.is_free(side, panel, end)).count();
        let counts: Vec<usize> = left.iter().map(|&panel| at(panel)).collect();
        (counts.iter().map(|&count| count > 0).collect(), counts.iter().sum())
    }
    /// How much a link presses that could do without so many panels.
    fn press(slack: usize) -> i32 {
        4096 >> (2 * slack.min(5))
    }
    /// Fills the first of the panels that are left.
    fn place(&mut self, left: &[usize], before: &Panels, panels: &mut Panels) {
        let (ends, seats, panel) = (self.cores.ends(), self.seats, left[0]);
        let free = [0, 1].map(|side| {
            (0..seats).map(|seat| self.free(panels, side, seat, left)).collect::<Vec<_>>()
        });
        let slots = |seat: usize| if seat < self.cores.racks { 1 } else { self.cores.slots };
        let slack = |side: usize, seat: usize| {
            free[side][seat].1.saturating_sub(self.degree[side][seat]) / slots(seat)
        };
        let press = [0, 1]
            .map(|side| (0..seats).map(|seat| Fresh::press(slack(side, seat))).collect::<Vec<_>>());
        let pair = |from: usize, to: usize| {
            let both = free[0][from].0.iter().zip(&free[1][to].0);
            let common = both.filter(|(one, other)| **one && **other).count();
            let slack = common.saturating_sub(self.left[from * seats + to]);
            press[0][from] + press[1][to] + 2 * Fresh::press(slack)
        };
        self.cells.clear();
        self.cells.resize(ends * ends, 0);
        for src in (0..ends).filter(|&end| panels.is_free(0, panel, end)) {
            for dst in (0..ends).filter(|&end| panels.is_free(1, panel, end)) {
                let (from, to) = (self.cores.seat(src), self.cores.seat(dst));
                if self.left[from * seats + to] > 0 {
                    let stays = before.destination(panel, src) == Some(dst);
                    // What waits in a core switch for a link that goes has no other way.
                    let core = from.max(to) >= self.cores.racks;
                    let stay = if core { 256 } else { 8 };
                    self.cells[src * ends + dst] = pair(from, to) + if stays { stay } else { 0 };
                }
            }
        }
        self.wants.load(ends, &self.cells);
        self.heaviest.solve(&self.wants, i32::MAX, &mut self.search);
        for (src, &edge) in self.heaviest.matched().iter().enumerate().filter(|at| *at.1 != NO_EDGE)
        {
            let dst = self.wants.end(1, edge);
            panels.put(panel, src, dst);
            let (from, to) = (self.cores.seat(src), self.cores.seat(dst));
            self.left[from * seats + to] -= 1;
            self.degree[0][from] -= 1;
            self.degree[1][to] -= 1;
        }
    }
}
