//! Pods and core switches at the same patch panels: direct links where demand is heavy, the rest to the core.

use crate::cores::Cores;
use crate::demand::Demand;
use crate::loads::{Fullness, Links, Room};
use crate::matching::Matching;
use crate::panels::Panels;
use crate::place::{Link, Placer, pairs};
use crate::scheduler::{Note, Together};
use crate::terms::Terms;
use crate::week::Week;

/// How much fuller links may be than they could be, if that spares moving any.
const NEARLY: f64 = 1.05;

/// How often links are planned for a week, where some find no place.
const TRIES: usize = 3;

/// A week is one day, with the night before it. Each rack has a link to each core switch, and one from it, and as many
/// to each. Those of one core switch, the *anchor*, never move, so that all reach each other in nights, too; it is
/// another one only where that has more of these links that work. The fullest link is to be as empty as may be: all
/// pairs get as many direct links as that takes, and where a rack has too few, those pairs go by the core that would
/// fill theirs least. What is left goes to the fullest. A pair with direct links uses no others.
///
/// Panels are rewired as little as the new links allow, and not at all where that would make little difference.
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
    /// The core switch whose links are pinned.
    anchor: usize,
    /// Ports that do not work, by panel and end.
    dead: Vec<bool>,
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
        let mut mix = Mix { cores, terms, stays, panels: cores.wire(), anchor: 0, dead };
        let mut even = Demand::new(cores.racks).expect("racks of a fabric");
        pairs(cores.racks).for_each(|(src, dst)| even.set(src, dst, 1_000));
        mix.pin();
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
    /// Links with core switches that work: panel, source, side and rack in one number, core switch.
    fn to_core(&self, panels: &Panels) -> Vec<(usize, usize, usize, usize)> {
        let ends = self.cores.ends();
        let works = |panel: usize, end: usize| !self.dead[panel * ends + end];
        let all = panels.all().filter(|&(panel, src, dst)| works(panel, src) && works(panel, dst));
        let core = |(panel, src, dst)| match Link::between(&self.cores, src, dst) {
            Link::Core { side, rack, core } => {
                Some((panel, src, side * self.cores.racks + rack, core))
            }
            Link::Direct(..) => None,
        };
        all.filter_map(core).collect()
    }
    /// Pins a link of each rack to the anchor, and one from it: that which is pinned, as long as it works.
    fn pin(&mut self) {
        let links = self.to_core(&self.panels);
        let joined = |core: usize| {
            let here = links.iter().filter(|link| link.3 == core);
            let mut racks: Vec<usize> = here.map(|link| link.2).collect();
            racks.sort_unstable();
            racks.dedup();
            racks.len()
        };
        let most = (0..self.cores.cores).map(joined).max().unwrap_or(0);
        if joined(self.anchor) < most {
            self.anchor = (0..self.cores.cores).find(|&core| joined(core) == most).unwrap_or(0);
        }
        let mut pinned = vec![false; 2 * self.cores.racks];
        let was =
            |&(panel, src, ..): &(usize, usize, usize, usize)| self.panels.is_pinned(panel, src);
        let (old, new): (Vec<_>, Vec<_>) =
            links.iter().filter(|link| link.3 == self.anchor).copied().partition(was);
        let ends = self.cores.ends();
        let all = (0..self.cores.panels).flat_map(|panel| (0..ends).map(move |end| (panel, end)));
        all.for_each(|(panel, end)| self.panels.unpin(panel, end));
        for (panel, src, rack, _) in old.into_iter().chain(new) {
            if !std::mem::replace(&mut pinned[rack], true) {
                self.panels.pin(panel, src);
            }
        }
    }
    /// What there is to give links from: a core switch that has failed has none.
    fn room(&self) -> Room {
        let Cores { racks, cores, panels, .. } = self.cores;
        let ends = self.cores.ends();
        let ports = |core: usize| {
            let all = (0..panels)
                .flat_map(|panel| self.cores.slots_of(core).map(move |end| (panel, end)));
            all.filter(|(panel, end)| !self.dead[panel * ends + end]).count()
        };
        let ports = (0..cores).map(ports).filter(|ports| *ports > 0);
        Room {
            uplinks: (0..racks).map(|rack| self.uplinks(rack)).collect(),
            most: ports.clone().min().unwrap_or(0).div_ceil(racks),
            cores: ports.count(),
            before: Links::of(&self.cores, &self.panels).direct,
        }
    }
    /// The panels as a demand wants them: as they are, if that is nearly as good; else with as few moves as may be, if
    /// all links find a place so. Where some find none, racks concerned try with a link less, too.
    fn rewire(&mut self, demand: &Demand) {
        let mut room = self.room();
        let mut best: Option<(Panels, Worth)> = None;
        for _ in 0..TRIES {
            let links = room.plan(demand);
            let placer = Placer::new(self.cores, self.panels.clone(), links.clone());
            let little = placer.clone().moving_little();
            let is_placed = Links::of(&self.cores, &little) == links;
            let afresh = (!is_placed).then(|| placer.afresh());
            let missed =
                afresh.as_ref().map(|panels| links.without(&Links::of(&self.cores, panels)));
            for panels in std::iter::once(little).chain(afresh) {
                let worth = self.worth(&panels, demand);
                let is_worth_it = |best: &Worth| worth.better(best) && !best.is_nearly(&worth);
                if best.as_ref().is_none_or(|best| is_worth_it(&best.1)) {
                    best = Some((panels, worth));
                }
            }
            match missed {
                Some(racks) if !racks.is_empty() => room.lessen(&racks),
                _ => break,
            }
        }
        let now = self.worth(&self.panels, demand);
        if let Some((panels, _)) = best.filter(|(_, worth)| !now.is_nearly(worth)) {
            self.panels = panels;
        }
    }
    /// What panels are worth for a demand.
    fn worth(&self, panels: &Panels, demand: &Demand) -> Worth {
        let mut joined: Vec<_> =
            self.to_core(panels).into_iter().map(|link| (link.2, link.3)).collect();
        joined.sort_unstable();
        joined.dedup();
        let fullness = Links::of(&self.cores, panels).fullness(demand);
        Worth { joined: joined.len(), fullness }
    }
}

/// How good panels are.
#[derive(Clone, Copy)]
struct Worth {
    /// In how many of all ways a rack can have a link to a core switch, or from it, there is one.
    joined: usize,
    fullness: Fullness,
}

impl Worth {
    fn better(&self, other: &Worth) -> bool {
        let as_joined = self.joined == other.joined;
        self.joined > other.joined || as_joined && self.fullness.better(&other.fullness)
    }
    /// Whether nothing has to move for the other.
    fn is_nearly(&self, other: &Worth) -> bool {
        self.joined >= other.joined && self.fullness.within(&other.fullness, NEARLY)
    }
}

impl Together for Mix {
    fn weeks(
        &mut self,
        demand: &Demand,
        works: &dyn Fn(usize, usize) -> bool,
        out: &mut [Week],
    ) -> Note {
        assert_eq!(demand.racks(), self.cores.racks, "a demand of other racks");
        assert_eq!(out.len(), self.cores.panels, "weeks of other panels");
        let before = self.panels.clone();
        let ends = self.cores.ends();
        for (panel, end) in (0..out.len()).flat_map(|at| (0..ends).map(move |end| (at, end))) {
            self.dead[panel * ends + end] = !works(panel, end);
        }
        self.pin();
        for (panel, end) in (0..out.len()).flat_map(|at| (0..ends).map(move |end| (at, end))) {
            self.panels.works(panel, end, works(panel, end));
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
        let wanted = mix.room().plan(&demand).direct;
        let links = links(cores, &plan(&mut mix, &demand), true);
        for src in 0..8 {
            let dst = (src + 4) % 8;
            assert_eq!(wanted[src * 8 + dst], 6, "all but what the core has at least");
            assert_eq!(links[src * 10 + dst], 6, "no pinned link is in the way");
            assert_eq!(links[src * 10..][..10].iter().sum::<usize>(), 8, "none is left dark");
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
            assert!(!day.pairs().any(|(src, dst)| src == 0 || dst == 0), "nor pinned ones");
        }
    }

    proptest! {
        /// Whatever the demand, week after week: every rack has a link to each core switch and one from it in days, and
        /// to one and the same in nights; no port has two circuits; no core switch has more than its ports.
        #[test]
        fn all_stay_joined_by_the_core(
            racks in 2usize..7, cores in 1usize..4, more in 1usize..3,
            cells in prop::collection::vec(prop::collection::vec(0u64..1_000_000, 36), 1..4)
        ) {
            let cores = Cores { racks, cores: cores.min(racks), slots: 1, panels: racks * more };
            let mut mix = Mix::new(cores, terms(), true);
            for cells in cells {
                let weeks = plan(&mut mix, &demand(racks, |src, dst| cells[src * racks + dst]));
                let seats = racks + cores.cores;
                let joined = |links: &[usize], core: usize| {
                    (0..racks).all(|rack| links[rack * seats + core] > 0 && links[core * seats + rack] > 0)
                };
                let (day, night) = (links(cores, &weeks, true), links(cores, &weeks, false));
                prop_assert!((racks..seats).all(|core| joined(&day, core)));
                prop_assert!(joined(&night, racks + mix.anchor));
            }
        }

        /// No link is fuller than the fullest of the Clos that it began as, or but little: nothing moves for less.
        #[test]
        fn no_demand_is_worse_off_than_in_a_clos(
            cells in prop::collection::vec(prop::collection::vec(0u64..1_000, 25), 1..4)
        ) {
            let cores = Cores { racks: 5, cores: 2, slots: 1, panels: 10 };
            let mut mix = Mix::new(cores, terms(), true);
            for cells in cells {
                let demand = demand(5, |src, dst| cells[src * 5 + dst]);
                plan(&mut mix, &demand);
                let full = |panels: &Panels| Links::of(&cores, panels).fullness(&demand).fullest;
                prop_assert!(full(&mix.panels) <= full(&cores.wire()) * NEARLY);
            }
        }
    }

    /// Ports of the anchor that fail, or all of it: another one takes its place, and nights are never without.
    #[test]
    fn another_core_switch_takes_the_place_of_one_that_fails() {
        let cores = Cores { racks: 4, cores: 2, slots: 1, panels: 8 };
        let mut mix = Mix::new(cores, terms(), true);
        let mut weeks = vec![Week::default(); 8];
        let works = |_: usize, end: usize| end != 4;
        for n in 0..3 {
            let demand = demand(4, |src, dst| if (src + n) % 4 == dst { 900 } else { 1 });
            mix.weeks(&demand, &works, &mut weeks);
            assert_eq!(mix.anchor, 1);
            for day in [true, false] {
                let links = links(cores, &weeks, day);
                assert!((0..4).all(|rack| links[rack * 6 + 5] > 0 && links[5 * 6 + rack] > 0));
                assert!((0..4).all(|rack| links[rack * 6 + 4] + links[4 * 6 + rack] == 0));
            }
        }
    }
}
