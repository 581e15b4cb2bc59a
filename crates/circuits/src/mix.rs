//! Pods and core switches at the same patch panels: direct links where demand is heavy, the rest to the core.

use crate::demand::Demand;
use crate::matching::Matching;
use crate::panels::Panels;
use crate::scheduler::{Note, Scheduler};
use crate::terms::Terms;
use crate::week::Week;

/// Racks (pods) and core switches whose ports end at the same panels. At each panel a rack has one port, a core switch
/// `slots`. Ends of matchings are the racks, then the ports of the first core switch, then of the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cores {
    /// Racks.
    pub racks: usize,
    /// Core switches.
    pub cores: usize,
    /// Ports of each core switch at each panel.
    pub slots: usize,
    /// Panels.
    pub panels: usize,
}

impl Cores {
    /// Ends of a panel's matchings.
    pub fn ends(&self) -> usize {
        self.racks + self.cores * self.slots
    }
    /// Links of each rack to each core switch, where all core ports are in use.
    pub fn links(&self) -> usize {
        self.slots * self.panels / self.racks.max(1)
    }
    /// The ends of a core switch.
    fn slots_of(&self, core: usize) -> std::ops::Range<usize> {
        let first = self.racks + core * self.slots;
        first..first + self.slots
    }
    /// A rack, or from `racks` on a core switch, by its end.
    fn seat(&self, end: usize) -> usize {
        if end < self.racks { end } else { self.racks + (end - self.racks) / self.slots }
    }
    /// The folded Clos: each rack has as many links to each core switch, both ways, the first of which are pinned.
    fn wire(&self) -> Panels {
        let mut panels = Panels::new(self.ends(), self.panels);
        for core in 0..self.cores {
            for at in 0..self.racks * self.links() {
                let (rack, slot) = (at % self.racks, at / self.panels);
                panels.add(rack, self.slots_of(core).start + slot).expect("no end has too many");
            }
        }
        let up: Vec<_> = panels.all().collect();
        let mut pinned = vec![false; self.racks * self.cores];
        for (panel, rack, port) in up {
            panels.put(panel, port, rack);
            let first = &mut pinned[rack * self.cores + self.seat(port) - self.racks];
            if !std::mem::replace(first, true) {
                panels.pin(panel, rack);
                panels.pin(panel, port);
            }
        }
        panels
    }
    /// The folded Clos as a week of one day for each panel: it never changes. Uplinks for which there are no core
    /// ports stay dark.
    pub fn clos(&self, span: u64) -> Vec<Week> {
        let panels = self.wire();
        let mut matching = Matching::dark(self.ends());
        let one = |panel| {
            let mut week = Week::default();
            panels.matching(panel, |_, _| true, &mut matching);
            week.clear(self.ends());
            week.push(span, matching.circuits());
            week
        };
        (0..self.panels).map(one).collect()
    }
}

/// A week is one day, with the night before it. Of the uplinks of each rack, one to each core switch never changes, so
/// that all reach each other at any time. The others begin as a Clos and go where they relieve most: pairs of racks
/// get direct links, the pair first that has most demand per link that it would have, as many at once as it takes for
/// these to be no fuller than what carries its demand now, and as long as the fullest of the links concerned (direct
/// ones, and those to the core at both racks) gets emptier by it. A pair with direct links uses no others.
///
/// Panels are rewired as little as the new links allow: those that are there stay where they are, unless new ones find
/// no place at any panel otherwise.
///
/// Source: Poutievski et al., "Jupiter Evolving", SIGCOMM 2022, for the idea; with a core left, as on its way from
/// Clos to direct links. Farrington et al., "Helios", SIGCOMM 2010: core packet switches and circuit switches side
/// by side.
#[derive(Clone, Debug)]
pub struct Mix {
    cores: Cores,
    terms: Terms,
    stays: bool,
    panels: Panels,
    /// Ports that do not work, by panel and end.
    dead: Vec<bool>,
}

/// How many links each pair of racks and each rack has.
#[derive(Clone, PartialEq, Debug)]
struct Plan {
    /// By source and destination rack: direct links.
    direct: Vec<usize>,
    /// By rack: links to the core, and from it.
    core: [Vec<usize>; 2],
}

impl Mix {
    /// At first links are as if all had the same for all. `stays`: what does not change is up in nights.
    ///
    /// # Panics
    /// Where there are more core ports than uplinks of racks, or fewer than a rack needs for one to each core switch.
    pub fn new(cores: Cores, terms: Terms, stays: bool) -> Mix {
        assert!(
            cores.cores * cores.links() <= cores.panels && cores.links() > 0,
            "a fabric's numbers"
        );
        let dead = vec![false; cores.ends() * cores.panels];
        let mut mix = Mix { cores, terms, stays, panels: cores.wire(), dead };
        let mut even = Demand::new(cores.racks).expect("racks of a fabric");
        let pairs = (0..cores.racks).flat_map(|src| (0..cores.racks).map(move |dst| (src, dst)));
        pairs.for_each(|(src, dst)| even.set(src, dst, 1_000));
        mix.rewire(&even);
        mix
    }
    /// The week of what is there now, for each panel.
    pub fn held(&self, out: &mut [Week]) {
        self.emit(&self.panels, out);
    }
    /// A night in which is up what was `before` and stays, and a day.
    fn emit(&self, before: &Panels, out: &mut [Week]) {
        let mut matching = Matching::dark(self.cores.ends());
        for (panel, week) in out.iter_mut().enumerate() {
            week.clear(self.cores.ends());
            let stays = |src, dst| self.stays && before.destination(panel, src) == Some(dst);
            self.panels.matching(panel, stays, &mut matching);
            week.push(self.terms.night(), matching.circuits());
            self.panels.matching(panel, |_, _| true, &mut matching);
            week.push(self.terms.week() - self.terms.night(), matching.circuits());
        }
    }
    /// Uplinks of a rack that work, to send by or to hear by alike.
    fn uplinks(&self, rack: usize) -> usize {
        let (ends, panels) = (self.cores.ends(), self.cores.panels);
        (0..panels).filter(|panel| !self.dead[panel * ends + rack]).count()
    }
    /// Gives links to pairs as long as that relieves any.
    fn plan(&self, demand: &Demand) -> Plan {
        let racks = self.cores.racks;
        let uplinks: Vec<usize> = (0..racks).map(|rack| self.uplinks(rack)).collect();
        let mut loads = Loads::new(&self.cores, demand, &uplinks);
        let before = self.links();
        // The neediest first, after each step anew.
        while loads.order(&before).into_iter().any(|(src, dst)| loads.relieve(src, dst)) {}
        Plan { core: [loads.core(0), loads.core(1)], direct: loads.direct }
    }
    /// Direct links by source and destination, as they are.
    fn links(&self) -> Vec<usize> {
        let racks = self.cores.racks;
        let mut links = vec![0; racks * racks];
        let direct = self.panels.all().filter(|(_, src, dst)| *src.max(dst) < racks);
        direct.for_each(|(_, src, dst)| links[src * racks + dst] += 1);
        links
    }
    /// The panels as a demand wants them.
    fn rewire(&mut self, demand: &Demand) {
        let Plan { mut direct, mut core } = self.plan(demand);
        let Cores { racks, cores, .. } = self.cores;
        // What is there stays as far as it is wanted.
        let mut now: Vec<_> = self.panels.all().collect();
        now.sort_by_key(|&(panel, src, _)| !self.panels.is_pinned(panel, src));
        let mut at_core = [vec![0; racks * cores], vec![0; racks * cores]];
        for (panel, src, dst) in now {
            let (from, to) = (self.cores.seat(src), self.cores.seat(dst));
            let wanted = match (from.checked_sub(racks), to.checked_sub(racks)) {
                (None, None) => &mut direct[from * racks + to],
                (None, Some(_)) => &mut core[0][from],
                (Some(_), _) => &mut core[1][to],
            };
            if *wanted == 0 && !self.panels.is_pinned(panel, src) {
                self.panels.cut(panel, src);
                continue;
            }
            *wanted = wanted.saturating_sub(1);
            match (from.checked_sub(racks), to.checked_sub(racks)) {
                (None, None) => {}
                (None, Some(core)) => at_core[0][from * cores + core] += 1,
                (Some(core), _) => at_core[1][to * cores + core] += 1,
            }
        }
        for (src, dst) in (0..racks).flat_map(|src| (0..racks).map(move |dst| (src, dst))) {
            let wanted = 0..direct[src * racks + dst];
            let missed = wanted.filter(|_| self.panels.add(src, dst).is_none()).count();
            // Links that never change are in the way: the core has what is left.
            core[0][src] += missed;
            core[1][dst] += missed;
        }
        for (side, wanted) in core.iter().enumerate() {
            for (rack, &links) in wanted.iter().enumerate() {
                (0..links).for_each(|_| self.join(side, rack, &mut at_core[side]));
            }
        }
    }
    /// A rack gets a link more to the core, or from it: of the core switches with room, at that where it has fewest.
    fn join(&mut self, side: usize, rack: usize, at_core: &mut [usize]) {
        let cores = self.cores.cores;
        let free = |port: usize| match side {
            0 => self.panels.free_destinations(port),
            _ => self.panels.free_sources(port),
        };
        let ports =
            (0..cores).flat_map(|core| self.cores.slots_of(core).map(move |port| (core, port)));
        let mut ports: Vec<_> = ports.filter(|(_, port)| free(*port) > 0).collect();
        ports.sort_by_key(|&(core, port)| (at_core[rack * cores + core], usize::MAX - free(port)));
        let found = ports.into_iter().find(|&(_, port)| {
            let (src, dst) = if side == 0 { (rack, port) } else { (port, rack) };
            self.panels.add(src, dst).is_some()
        });
        if let Some((core, _)) = found {
            at_core[rack * cores + core] += 1;
        }
    }
}

/// How full links would be, while links are given to pairs.
struct Loads<'a> {
    racks: usize,
    demand: &'a Demand,
    /// Most links of a rack to the core, and fewest.
    most: usize,
    fewest: usize,
    uplinks: &'a [usize],
    direct: Vec<usize>,
    /// By side (sending, hearing) and rack: direct links, and demand that goes by the core.
    used: [Vec<usize>; 2],
    by_core: [Vec<u64>; 2],
}

impl<'a> Loads<'a> {
    fn new(cores: &Cores, demand: &'a Demand, uplinks: &'a [usize]) -> Loads<'a> {
        let racks = cores.racks;
        Loads {
            racks,
            demand,
            most: cores.cores * cores.links(),
            fewest: cores.cores,
            uplinks,
            direct: vec![0; racks * racks],
            used: [vec![0; racks], vec![0; racks]],
            by_core: [
                (0..racks).map(|rack| demand.row_sum(rack)).collect(),
                (0..racks).map(|rack| demand.column_sum(rack)).collect(),
            ],
        }
    }
    /// Links of each rack with the core.
    fn core(&self, side: usize) -> Vec<usize> {
        (0..self.racks).map(|rack| self.core_links(side, rack, 0)).collect()
    }
    /// The same of one rack, with so many direct links more.
    fn core_links(&self, side: usize, rack: usize, more: usize) -> usize {
        self.most.min(self.uplinks[rack].saturating_sub(self.used[side][rack] + more))
    }
    /// Pairs with demand, those first that have most per link they would have; a link that is there counts a quarter
    /// more, so that equals do not change places from week to week.
    fn order(&self, before: &[usize]) -> Vec<(usize, usize)> {
        let pairs = (0..self.racks).flat_map(|src| (0..self.racks).map(move |dst| (src, dst)));
        let mut pairs: Vec<_> = pairs.filter(|&(src, dst)| self.demand.get(src, dst) > 0).collect();
        let weight = |&(src, dst): &(usize, usize)| {
            let at = src * self.racks + dst;
            let weight = self.demand.get(src, dst) as f64 / (self.direct[at] + 1) as f64;
            if self.direct[at] < before[at] { weight * 1.25 } else { weight }
        };
        pairs.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then(a.cmp(b)));
        pairs
    }
    /// Gives a pair as many links more as it takes, if that relieves what is fullest of what is concerned.
    fn relieve(&mut self, src: usize, dst: usize) -> bool {
        let (at, wants) = (src * self.racks + dst, self.demand.get(src, dst));
        let has = self.direct[at];
        let ends = [src, dst];
        let fullness = |bytes: u64, links: usize| match (bytes, links) {
            (0, _) => 0.0,
            (_, 0) => f64::INFINITY,
            (bytes, links) => bytes as f64 / links as f64,
        };
        let core = |side: usize, more: usize, less: u64| {
            let bytes = self.by_core[side][ends[side]] - less;
            fullness(bytes, self.core_links(side, ends[side], more))
        };
        let now = if has > 0 { fullness(wants, has) } else { core(0, 0, 0).max(core(1, 0, 0)) };
        let more = match has {
            0 => ((wants as f64 / now).ceil() as usize).max(1),
            _ => 1,
        };
        let room = |side: usize| {
            let rack = ends[side];
            self.used[side][rack] + more + self.fewest <= self.uplinks[rack]
        };
        if !room(0) || !room(1) {
            return false;
        }
        let moved = if has == 0 { wants } else { 0 };
        let before = now.max(core(0, 0, 0)).max(core(1, 0, 0));
        let links = fullness(wants, has + more);
        let after = core(0, more, moved).max(core(1, more, moved)).max(links);
        let same = |side: usize| {
            self.core_links(side, ends[side], more) == self.core_links(side, ends[side], 0)
        };
        let costs_nothing = same(0) && same(1) && links <= now;
        if after >= before && !costs_nothing {
            return false;
        }
        self.direct[at] += more;
        for (side, rack) in ends.into_iter().enumerate() {
            self.used[side][rack] += more;
            self.by_core[side][rack] -= moved;
        }
        true
    }
}

impl Scheduler for Mix {
    /// # Panics
    /// Always: one panel alone is no mix.
    fn week(&mut self, _demand: &Demand, _out: &mut Week) -> Note {
        unreachable!("panels are planned as a whole")
    }
    fn weeks(
        &mut self,
        demand: &Demand,
        works: &dyn Fn(usize, usize) -> bool,
        out: &mut [Week],
    ) -> Option<Note> {
        assert_eq!(demand.racks(), self.cores.racks, "a demand of other racks");
        assert_eq!(out.len(), self.cores.panels, "weeks of other panels");
        let before = self.panels.clone();
        let ends = self.cores.ends();
        for (panel, end) in (0..out.len()).flat_map(|at| (0..ends).map(move |end| (at, end))) {
            self.dead[panel * ends + end] = !works(panel, end);
            self.panels.works(panel, end, works(panel, end));
        }
        let idle = demand.total() == 0;
        if !idle {
            self.rewire(demand);
        }
        self.emit(&before, out);
        Some(if idle { Note::NoDemand } else { Note::Planned })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::TermsSpec;
    use proptest::prelude::*;

    fn terms() -> Terms {
        let ms = 1_000_000_000;
        let spec =
            TermsSpec { week: 100 * ms, night: 20 * ms, min_day: ms, ..TermsSpec::etalon(0) };
        spec.build().expect("good terms")
    }

    fn demand(racks: usize, of: impl Fn(usize, usize) -> u64) -> Demand {
        let mut demand = Demand::new(racks).unwrap();
        let pairs = (0..racks).flat_map(|src| (0..racks).map(move |dst| (src, dst)));
        pairs.for_each(|(src, dst)| demand.set(src, dst, of(src, dst)));
        demand
    }

    fn plan(mix: &mut Mix, demand: &Demand) -> Vec<Week> {
        let mut weeks = vec![Week::default(); mix.cores.panels];
        mix.weeks(demand, &|_, _| true, &mut weeks);
        weeks
    }

    /// By seat of source and destination, circuits in the day, or in the night.
    fn links(cores: Cores, weeks: &[Week], day: bool) -> Vec<usize> {
        let seats = cores.racks + cores.cores;
        let mut links = vec![0; seats * seats];
        for week in weeks {
            let slice = if day { week.slices().next_back() } else { week.slices().next() };
            for (src, dst) in slice.unwrap().circuits.pairs() {
                links[cores.seat(src) * seats + cores.seat(dst)] += 1;
            }
        }
        links
    }

    #[test]
    fn a_clos_has_as_many_links_from_each_rack_to_each_core() {
        for (racks, cores, slots, panels) in [
            (8, 2, 1, 8),
            (8, 4, 1, 8),
            (8, 4, 2, 8),
            (4, 2, 2, 4),
            (6, 2, 3, 4),
            (2, 1, 1, 2),
            (3, 3, 1, 6),
        ] {
            let cores = Cores { racks, cores, slots, panels };
            let links = links(cores, &cores.clos(1_000), true);
            let seats = racks + cores.cores;
            for (at, &count) in links.iter().enumerate() {
                let (src, dst) = (at / seats, at % seats);
                let joins = (src < racks) != (dst < racks);
                assert_eq!(count, if joins { cores.links() } else { 0 }, "{cores:?} {src} {dst}");
            }
        }
    }

    #[test]
    fn heavy_pairs_get_direct_links_and_the_rest_goes_by_the_core() {
        // Two of eight uplinks of each rack are for the core at least, four at most.
        let cores = Cores { racks: 4, cores: 2, slots: 1, panels: 8 };
        let mut mix = Mix::new(cores, terms(), true);
        let heavy = |src: usize, dst: usize| if src / 2 == dst / 2 { 900 } else { 50 };
        let weeks = plan(&mut mix, &demand(4, heavy));
        let links = links(cores, &weeks, true);
        for src in 0..4 {
            for dst in (0..4).filter(|dst| *dst != src) {
                let count = links[src * 6 + dst];
                assert!(
                    if src / 2 == dst / 2 { count >= 4 } else { count <= 1 },
                    "{src} {dst}: {count}"
                );
            }
            assert_eq!(
                links[src * 6..][..6].iter().sum::<usize>(),
                8,
                "all uplinks of {src} are in use"
            );
        }
        // The same again: nothing moves, all are up in the night.
        let again = plan(&mut mix, &demand(4, heavy));
        for week in &again {
            let slices: Vec<_> = week.slices().collect();
            assert!(slices.iter().all(|slice| slice.circuits == slices[0].circuits));
        }
        assert!(again.iter().all(|week| week.span() == terms().week()));
    }

    #[test]
    fn the_neediest_come_first() {
        let cores = Cores { racks: 8, cores: 2, slots: 2, panels: 8 };
        let mut mix = Mix::new(cores, terms(), true);
        let skewed = |src: usize, dst: usize| if (src + 4) % 8 == dst { 180 } else { 2 };
        let demand = demand(8, skewed);
        let wanted = mix.plan(&demand).direct;
        let links = links(cores, &plan(&mut mix, &demand), true);
        for src in 0..8 {
            let dst = (src + 4) % 8;
            assert_eq!(wanted[src * 8 + dst], 6, "all but what the core has at least");
            // Each of the two has links at two panels that never change, at worst at four different ones.
            assert!((4..=6).contains(&links[src * 10 + dst]));
            assert!(links[src * 10..][..10].iter().sum::<usize>() >= 6, "few are left dark");
        }
    }

    #[test]
    fn ports_that_do_not_work_get_nothing_new() {
        let cores = Cores { racks: 4, cores: 2, slots: 1, panels: 8 };
        let mut mix = Mix::new(cores, terms(), true);
        let mut weeks = vec![Week::default(); 8];
        for n in 0..3 {
            let demand = demand(4, |src, dst| if (src + n) % 4 == dst { 900 } else { 1 });
            mix.weeks(&demand, &|panel, end| (panel, end) != (3, 0), &mut weeks);
            let day = weeks[3].slices().next_back().unwrap().circuits;
            let touched = day.pairs().filter(|&(src, dst)| src == 0 || dst == 0);
            let pinned = |&(src, _): &(usize, usize)| mix.panels.is_pinned(3, src);
            assert!(touched.into_iter().all(|pair| pinned(&pair)));
        }
    }

    proptest! {
        /// Whatever the demand, week after week: every rack has a link to each core switch and one from it, in days
        /// and in nights; no port has two circuits; no core switch has more than its ports.
        #[test]
        fn all_stay_joined_by_the_core(
            racks in 2usize..7, cores in 1usize..4, more in 1usize..3,
            cells in prop::collection::vec(prop::collection::vec(0u64..1_000_000, 36), 1..4)
        ) {
            let cores = Cores { racks, cores: cores.min(racks), slots: 1, panels: racks * more };
            let mut mix = Mix::new(cores, terms(), true);
            for cells in cells {
                let weeks = plan(&mut mix, &demand(racks, |src, dst| cells[src * racks + dst]));
                for day in [true, false] {
                    let links = links(cores, &weeks, day);
                    let seats = racks + cores.cores;
                    for rack in 0..racks {
                        for core in racks..seats {
                            prop_assert!(links[rack * seats + core] > 0 && links[core * seats + rack] > 0);
                        }
                    }
                }
            }
        }

        /// No link of the plan is fuller than the fullest of the Clos that it began as.
        #[test]
        fn no_demand_is_worse_off_than_in_a_clos(cells in prop::collection::vec(0u64..1_000, 25)) {
            let cores = Cores { racks: 5, cores: 2, slots: 1, panels: 10 };
            let demand = demand(5, |src, dst| cells[src * 5 + dst]);
            let mix = Mix::new(cores, terms(), true);
            let Plan { direct, core } = mix.plan(&demand);
            let sums = (0..5).map(|rack| demand.row_sum(rack).max(demand.column_sum(rack)));
            let clos = sums.max().unwrap_or(0) as f64 / (2 * cores.links()) as f64;
            for (rack, (links_up, links_down)) in core[0].iter().zip(&core[1]).enumerate() {
                let by_core = |pair: &dyn Fn(usize) -> (usize, usize)| -> u64 {
                    let others = (0..5).map(pair).filter(|(src, dst)| direct[src * 5 + dst] == 0);
                    others.map(|(src, dst)| demand.get(src, dst)).sum()
                };
                let up = by_core(&|other| (rack, other)) as f64 / *links_up as f64;
                let down = by_core(&|other| (other, rack)) as f64 / *links_down as f64;
                prop_assert!(up <= clos * 1.000_001 && down <= clos * 1.000_001);
            }
            for (at, &links) in direct.iter().enumerate().filter(|(_, links)| **links > 0) {
                prop_assert!(demand.get(at / 5, at % 5) as f64 / links as f64 <= clos * 1.000_001);
            }
        }
    }
}
