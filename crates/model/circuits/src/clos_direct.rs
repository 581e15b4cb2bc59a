//! Direct links between pods that share patch panels with core switches: pairs with heavy demand get direct
//! links, the others use the core.

use crate::circuit_timing::CircuitTiming;
use crate::demand::Demand;
use crate::link_allocation::{LinkBudget, LinkCounts, LinkLoad};
use crate::link_placement::{Link, Placer, pairs};
use crate::matching::Matching;
use crate::panel_layout::PanelLayout;
use crate::panels::Panels;
use crate::scheduler::{JointScheduler, Note};
use crate::week::Week;

/// The factor by which the load may exceed the planned load before any link moves.
const TOLERANCE: f64 = 1.05;

/// The number of allocations tried in a week if some links find no panel.
const ROUNDS: usize = 3;

/// Plans direct links and links to the core.
///
/// A week is one night and one day. Each rack has the same number of links to and from each core switch, at
/// least one. The links of one core switch, the *anchor*, never move, so that all racks reach each other
/// during nights too. The anchor changes only if another core switch has more working links. The maximum load
/// of a link is to be as low as possible. All pairs get as many direct links as this requires. If a rack has
/// too few uplinks, the pairs that add the least load to the core use the core. The remaining links go to the
/// pairs and racks with the highest load. A pair with direct links uses no other links.
///
/// As few circuits as possible change, and none changes if the gain would be small.
///
/// Source: our own, after Poutievski et al., "Jupiter Evolving", SIGCOMM 2022 (the step from a Clos network
/// to direct links, with the core still in use), and Farrington et al., "Helios", SIGCOMM 2010 (core packet
/// switches beside circuit switches).
#[derive(Clone, Debug)]
pub struct ClosDirect {
    cores: PanelLayout,
    timing: CircuitTiming,
    unchanged_stay_up: bool,
    panels: Panels,
    /// The core switch whose links are pinned.
    anchor: usize,
    /// Whether a port has failed, by panel and end.
    dead: Vec<bool>,
}

impl ClosDirect {
    /// A scheduler that begins with the links for an even demand. If `unchanged_stay_up`, circuits that do
    /// not change carry traffic during nights.
    ///
    /// # Panics
    /// There are more core ports than uplinks of racks, or too few for a link of each rack to each core
    /// switch.
    pub fn new(cores: PanelLayout, timing: CircuitTiming, unchanged_stay_up: bool) -> ClosDirect {
        assert!(
            cores.cores * cores.links() <= cores.panels && cores.links() > 0,
            "the number of core ports does not fit the racks and panels"
        );
        let dead = vec![false; cores.ends() * cores.panels];
        let mut clos_direct = ClosDirect {
            cores,
            timing,
            unchanged_stay_up,
            panels: cores.clos_wiring(),
            anchor: 0,
            dead,
        };
        let mut even = Demand::new(cores.racks).expect("racks of a fabric");
        pairs(cores.racks).for_each(|(src, dst)| even.set(src, dst, 1_000));
        clos_direct.pin();
        clos_direct.rewire(&even);
        clos_direct
    }
    /// Writes the current circuits as a week of each panel.
    pub fn current_weeks(&self, out: &mut [Week]) {
        self.emit(&self.panels, out);
    }
    /// Writes a week for each panel: a night and a day. The night has the circuits of `before` that stay up.
    fn emit(&self, before: &Panels, out: &mut [Week]) {
        let mut matching = Matching::dark(self.cores.ends());
        for (panel, week) in out.iter_mut().enumerate() {
            week.clear(self.cores.ends());
            let unchanged_stay_up =
                |src, dst| self.unchanged_stay_up && before.destination(panel, src) == Some(dst);
            self.panels.matching(panel, unchanged_stay_up, &mut matching);
            week.push(self.timing.night(), matching.circuits());
            self.panels.matching(panel, |_, _| true, &mut matching);
            week.push(self.timing.week() - self.timing.night(), matching.circuits());
        }
    }
    /// The working uplinks of a rack. A port works in both directions or in none.
    fn uplinks(&self, rack: usize) -> usize {
        let (ends, panels) = (self.cores.ends(), self.cores.panels);
        (0..panels).filter(|panel| !self.dead[panel * ends + rack]).count()
    }
    /// The working links to and from core switches.
    fn to_core(&self, panels: &Panels) -> Vec<CoreLink> {
        let ends = self.cores.ends();
        let works = |panel: usize, end: usize| !self.dead[panel * ends + end];
        let all =
            panels.circuits().filter(|&(panel, src, dst)| works(panel, src) && works(panel, dst));
        let core = |(panel, src, dst)| match Link::between(&self.cores, src, dst) {
            Link::Core { side, rack, core } => {
                Some(CoreLink { panel, src, rack: side * self.cores.racks + rack, core })
            }
            Link::Direct(..) => None,
        };
        all.filter_map(core).collect()
    }
    /// Pins a link from each rack to the anchor and one back. Links that are pinned already and work are
    /// preferred.
    fn pin(&mut self) {
        let links = self.to_core(&self.panels);
        let joined = |core: usize| {
            let here = links.iter().filter(|link| link.core == core);
            let mut racks: Vec<usize> = here.map(|link| link.rack).collect();
            racks.sort_unstable();
            racks.dedup();
            racks.len()
        };
        let most = (0..self.cores.cores).map(joined).max().unwrap_or(0);
        if joined(self.anchor) < most {
            self.anchor = (0..self.cores.cores).find(|&core| joined(core) == most).unwrap_or(0);
        }
        let mut pinned = vec![false; 2 * self.cores.racks];
        let was = |link: &CoreLink| self.panels.is_pinned(link.panel, link.src);
        let (old, new): (Vec<_>, Vec<_>) =
            links.iter().filter(|link| link.core == self.anchor).copied().partition(was);
        let ends = self.cores.ends();
        let all = (0..self.cores.panels).flat_map(|panel| (0..ends).map(move |end| (panel, end)));
        all.for_each(|(panel, end)| self.panels.unpin(panel, end));
        for CoreLink { panel, src, rack, .. } in old.into_iter().chain(new) {
            if !std::mem::replace(&mut pinned[rack], true) {
                self.panels.pin(panel, src);
            }
        }
    }
    /// The links that can be allocated. A core switch without a working port does not count.
    fn link_budget(&self) -> LinkBudget {
        let PanelLayout { racks, cores, panels, .. } = self.cores;
        let ends = self.cores.ends();
        let ports = |core: usize| {
            let all = (0..panels)
                .flat_map(|panel| self.cores.ends_of_core(core).map(move |end| (panel, end)));
            all.filter(|(panel, end)| !self.dead[panel * ends + end]).count()
        };
        let ports = (0..cores).map(ports).filter(|ports| *ports > 0);
        LinkBudget {
            uplinks: (0..racks).map(|rack| self.uplinks(rack)).collect(),
            most: ports.clone().min().unwrap_or(0).div_ceil(racks),
            cores: ports.count(),
            existing: LinkCounts::of(&self.cores, &self.panels).direct,
        }
    }
    /// Rewires the panels for a demand. They stay as they are if that is about as good. Otherwise it moves
    /// few links, or places all links anew if some find no panel. If a link still finds no panel, it tries
    /// again with one link fewer at the racks concerned.
    fn rewire(&mut self, demand: &Demand) {
        let mut link_budget = self.link_budget();
        let mut best: Option<(Panels, Quality)> = None;
        for _ in 0..ROUNDS {
            let links = link_budget.plan(demand);
            let placer = Placer::new(self.cores, self.panels.clone(), links.clone());
            let few_moves = placer.clone().place_with_few_moves();
            let is_placed = LinkCounts::of(&self.cores, &few_moves) == links;
            let place_all = (!is_placed).then(|| placer.place_all());
            let missed = place_all
                .as_ref()
                .map(|panels| links.racks_short_of(&LinkCounts::of(&self.cores, panels)));
            for panels in std::iter::once(few_moves).chain(place_all) {
                let quality = self.quality(&panels, demand);
                let is_worth_it =
                    |best: &Quality| quality.better(best) && !best.is_about_as_good(&quality);
                if best.as_ref().is_none_or(|best| is_worth_it(&best.1)) {
                    best = Some((panels, quality));
                }
            }
            match missed {
                Some(racks) if !racks.is_empty() => link_budget.remove_uplinks(&racks),
                _ => break,
            }
        }
        let now = self.quality(&self.panels, demand);
        if let Some((panels, _)) = best.filter(|(_, quality)| !now.is_about_as_good(quality)) {
            self.panels = panels;
        }
    }
    /// The quality of a wiring for a demand.
    fn quality(&self, panels: &Panels, demand: &Demand) -> Quality {
        let mut joined: Vec<_> =
            self.to_core(panels).into_iter().map(|link| (link.rack, link.core)).collect();
        joined.sort_unstable();
        joined.dedup();
        let load = LinkCounts::of(&self.cores, panels).load(demand);
        Quality { joined: joined.len(), load }
    }
}

/// A link between a rack and a core switch.
#[derive(Clone, Copy)]
struct CoreLink {
    panel: usize,
    /// The end that sends.
    src: usize,
    /// The rack, counted from the number of racks on if the core switch sends.
    rack: usize,
    core: usize,
}

/// The quality of a wiring.
#[derive(Clone, Copy)]
struct Quality {
    /// The number of pairs of a rack and a core switch that are linked, counted in each direction.
    joined: usize,
    load: LinkLoad,
}

impl Quality {
    fn better(&self, other: &Quality) -> bool {
        let as_joined = self.joined == other.joined;
        self.joined > other.joined || as_joined && self.load.is_better(&other.load)
    }
    /// Whether moving links to the other wiring would gain little.
    fn is_about_as_good(&self, other: &Quality) -> bool {
        self.joined >= other.joined && self.load.within(&other.load, TOLERANCE)
    }
}

impl JointScheduler for ClosDirect {
    fn weeks(
        &mut self,
        demand: &Demand,
        works: &dyn Fn(usize, usize) -> bool,
        out: &mut [Week],
    ) -> Note {
        assert_eq!(demand.racks(), self.cores.racks, "the demand has another number of racks");
        assert_eq!(out.len(), self.cores.panels, "one week per panel");
        let before = self.panels.clone();
        let ends = self.cores.ends();
        for (panel, end) in (0..out.len()).flat_map(|at| (0..ends).map(move |end| (at, end))) {
            self.dead[panel * ends + end] = !works(panel, end);
        }
        self.pin();
        for (panel, end) in (0..out.len()).flat_map(|at| (0..ends).map(move |end| (at, end))) {
            self.panels.set_working(panel, end, works(panel, end));
        }
        let idle = demand.total() == 0;
        if !idle {
            self.rewire(demand);
        }
        self.emit(&before, out);
        if idle { Note::NoDemand } else { Note::Planned }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit_timing::CircuitTimingSpec;
    use proptest::prelude::*;

    fn timing() -> CircuitTiming {
        let ms = 1_000_000_000;
        let spec = CircuitTimingSpec {
            week: 100 * ms,
            night: 20 * ms,
            min_day: ms,
            ..CircuitTimingSpec::etalon(0)
        };
        spec.build().expect("valid timing")
    }

    fn demand(racks: usize, of: impl Fn(usize, usize) -> u64) -> Demand {
        let mut demand = Demand::new(racks).unwrap();
        let pairs = (0..racks).flat_map(|src| (0..racks).map(move |dst| (src, dst)));
        pairs.for_each(|(src, dst)| demand.set(src, dst, of(src, dst)));
        demand
    }

    fn plan(clos_direct: &mut ClosDirect, demand: &Demand) -> Vec<Week> {
        let mut weeks = vec![Week::default(); clos_direct.cores.panels];
        clos_direct.weeks(demand, &|_, _| true, &mut weeks);
        weeks
    }

    /// The number of circuits by source and destination node, during the day or the night.
    fn links(cores: PanelLayout, weeks: &[Week], day: bool) -> Vec<usize> {
        let seats = cores.racks + cores.cores;
        let mut links = vec![0; seats * seats];
        for week in weeks {
            let slice = if day { week.slices().next_back() } else { week.slices().next() };
            for (src, dst) in slice.unwrap().circuits.pairs() {
                links[cores.node(src) * seats + cores.node(dst)] += 1;
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
            let cores = PanelLayout { racks, cores, slots, panels };
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
        // Two of each rack's eight uplinks go to the core at least, and four at most.
        let cores = PanelLayout { racks: 4, cores: 2, slots: 1, panels: 8 };
        let mut clos_direct = ClosDirect::new(cores, timing(), true);
        let heavy = |src: usize, dst: usize| if src / 2 == dst / 2 { 900 } else { 50 };
        let weeks = plan(&mut clos_direct, &demand(4, heavy));
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
        // The same demand moves nothing, and all circuits stay up during the night.
        let again = plan(&mut clos_direct, &demand(4, heavy));
        for week in &again {
            let slices: Vec<_> = week.slices().collect();
            assert!(slices.iter().all(|slice| slice.circuits == slices[0].circuits));
        }
        assert!(again.iter().all(|week| week.span() == timing().week()));
    }

    #[test]
    fn the_neediest_come_first() {
        let cores = PanelLayout { racks: 8, cores: 2, slots: 2, panels: 8 };
        let mut clos_direct = ClosDirect::new(cores, timing(), true);
        let skewed = |src: usize, dst: usize| if (src + 4) % 8 == dst { 180 } else { 2 };
        let demand = demand(8, skewed);
        let planned = clos_direct.link_budget().plan(&demand).direct;
        let links = links(cores, &plan(&mut clos_direct, &demand), true);
        for src in 0..8 {
            let dst = (src + 4) % 8;
            assert_eq!(
                planned[src * 8 + dst],
                6,
                "all links except those that always go to the core"
            );
            assert_eq!(links[src * 10 + dst], 6, "no pinned link blocks a direct link");
            assert_eq!(links[src * 10..][..10].iter().sum::<usize>(), 8, "no uplink stays dark");
        }
    }

    #[test]
    fn ports_that_do_not_work_get_nothing_new() {
        let cores = PanelLayout { racks: 4, cores: 2, slots: 1, panels: 8 };
        let mut clos_direct = ClosDirect::new(cores, timing(), true);
        let mut weeks = vec![Week::default(); 8];
        for n in 0..3 {
            let demand = demand(4, |src, dst| if (src + n) % 4 == dst { 900 } else { 1 });
            clos_direct.weeks(&demand, &|panel, end| (panel, end) != (3, 0), &mut weeks);
            let day = weeks[3].slices().next_back().unwrap().circuits;
            assert!(
                !day.pairs().any(|(src, dst)| src == 0 || dst == 0),
                "no circuit uses the failed port, pinned or not"
            );
        }
    }

    proptest! {
        /// For any demand, week after week: during days every rack has a link to and from each core switch,
        /// and during nights to and from the anchor. No port has two circuits.
        #[test]
        fn all_stay_joined_by_the_core(
            racks in 2usize..7, cores in 1usize..4, more in 1usize..3,
            cells in prop::collection::vec(prop::collection::vec(0u64..1_000_000, 36), 1..4)
        ) {
            let cores = PanelLayout { racks, cores: cores.min(racks), slots: 1, panels: racks * more };
            let mut clos_direct = ClosDirect::new(cores, timing(), true);
            for cells in cells {
                let weeks = plan(&mut clos_direct, &demand(racks, |src, dst| cells[src * racks + dst]));
                let seats = racks + cores.cores;
                let joined = |links: &[usize], core: usize| {
                    (0..racks).all(|rack| links[rack * seats + core] > 0 && links[core * seats + rack] > 0)
                };
                let (day, night) = (links(cores, &weeks, true), links(cores, &weeks, false));
                prop_assert!((racks..seats).all(|core| joined(&day, core)));
                prop_assert!(joined(&night, racks + clos_direct.anchor));
            }
        }

        /// The maximum load is at most that of the initial Clos network, within the tolerance.
        #[test]
        fn no_demand_is_worse_off_than_in_a_clos(
            cells in prop::collection::vec(prop::collection::vec(0u64..1_000, 25), 1..4)
        ) {
            let cores = PanelLayout { racks: 5, cores: 2, slots: 1, panels: 10 };
            let mut clos_direct = ClosDirect::new(cores, timing(), true);
            for cells in cells {
                let demand = demand(5, |src, dst| cells[src * 5 + dst]);
                plan(&mut clos_direct, &demand);
                let full = |panels: &Panels| LinkCounts::of(&cores, panels).load(&demand).max;
                prop_assert!(full(&clos_direct.panels) <= full(&cores.clos_wiring()) * TOLERANCE);
            }
        }
    }

    /// If the anchor or some of its ports fail, another core switch becomes the anchor. There is an anchor in
    /// every night.
    #[test]
    fn another_core_switch_takes_the_place_of_one_that_fails() {
        let cores = PanelLayout { racks: 4, cores: 2, slots: 1, panels: 8 };
        let mut clos_direct = ClosDirect::new(cores, timing(), true);
        let mut weeks = vec![Week::default(); 8];
        let works = |_: usize, end: usize| end != 4;
        for n in 0..3 {
            let demand = demand(4, |src, dst| if (src + n) % 4 == dst { 900 } else { 1 });
            clos_direct.weeks(&demand, &works, &mut weeks);
            assert_eq!(clos_direct.anchor, 1);
            for day in [true, false] {
                let links = links(cores, &weeks, day);
                assert!((0..4).all(|rack| links[rack * 6 + 5] > 0 && links[5 * 6 + rack] > 0));
                assert!((0..4).all(|rack| links[rack * 6 + 4] + links[4 * 6 + rack] == 0));
            }
        }
    }
}
