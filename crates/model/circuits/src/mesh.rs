//! Links between pods, in proportion to what these have for each other: topology engineering of patch panels.

use crate::demand::Demand;
use crate::heaviest::{Heaviest, Search};
use crate::matching::{DARK, Matching};
use crate::scheduler::{Note, Together, keep};
use crate::terms::Terms;
use crate::wants::{NO_EDGE, Wants};
use crate::week::Week;

/// A week is one day, with the night before it: circuits are held for long, as mirrors move slowly.
///
/// The first switches are never changed: they have rotations, over which every rack reaches every other in two hops
/// at most. The circuits of all others are allotted as seats are to parties (D'Hondt): the next ones go to the
/// heaviest matching, where a pair weighs its demand over the circuits that it would then have. A circuit that is
/// there weighs a quarter more, and stays where nothing else wants its ends: what moves is dark for a night.
///
/// Source: Poutievski et al., "Jupiter Evolving", SIGCOMM 2022, section 4 (topology engineering of pods that are
/// joined directly by optical circuit switches); its multi-commodity optimisation is not modelled.
#[derive(Clone, Debug)]
pub struct Mesh {
    racks: usize,
    terms: Terms,
    /// Whether circuits that stay are up in nights, too.
    stays: bool,
    /// Distances of the rotations that stay.
    base: Vec<usize>,
    /// By switch that changes and source: the destination now.
    now: Vec<Vec<u16>>,
    /// Circuits by pair: of the plan in the making, and of the one before.
    links: Vec<u32>,
    before: Vec<u32>,
    cells: Vec<i32>,
    wants: Wants,
    heaviest: Heaviest,
    search: Search,
}

/// Too few switches for a mesh.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooFew {
    /// Those that never change.
    pub base: usize,
}

/// The weight of the largest demand for its first circuit.
const HEAVIEST: u64 = 1 << 24;

impl Mesh {
    /// For so many racks and switches; `stays`: what does not change is up in nights.
    ///
    /// # Errors
    /// There are no more switches than are needed to reach all.
    pub fn new(racks: usize, switches: usize, terms: Terms, stays: bool) -> Result<Mesh, TooFew> {
        let base = base(racks);
        if switches <= base.len() {
            return Err(TooFew { base: base.len() });
        }
        let others = (1..racks).filter(|distance| !base.contains(distance));
        let others = others.chain((1..racks).cycle()).take(switches - base.len());
        let now: Vec<Vec<u16>> = others.map(|distance| rotation(racks, distance)).collect();
        let mut mesh = Mesh {
            racks,
            terms,
            stays,
            base,
            now,
            links: vec![0; racks * racks],
            before: vec![0; racks * racks],
            cells: Vec::new(),
            wants: Wants::default(),
            heaviest: Heaviest::default(),
            search: Search::default(),
        };
        mesh.count();
        Ok(mesh)
    }
    /// Circuits that are never changed, from rack to rack.
    pub fn always(&self) -> Vec<(u16, u16)> {
        let sources = || (0..self.racks as u16).map(usize::from);
        let of = |&distance: &usize| {
            let there = move |src: usize| ((src + distance) % self.racks) as u16;
            sources().map(move |src| (src as u16, there(src)))
        };
        self.base.iter().flat_map(of).collect()
    }
    /// The week of what is there now, for each switch.
    pub fn held(&self, out: &mut [Week]) {
        let (base, now) = (self.base.iter(), self.now.iter());
        let all = base.map(|&distance| rotation(self.racks, distance)).chain(now.cloned());
        out.iter_mut().zip(all).for_each(|(week, columns)| self.emit(&columns, &columns, week));
    }
    /// How many circuits each pair has now.
    fn count(&mut self) {
        self.links.fill(0);
        let base = self.base.iter().map(|&distance| rotation(self.racks, distance));
        for columns in base.chain(self.now.iter().cloned()) {
            let lit = columns.iter().enumerate().filter(|(_, dst)| **dst != DARK);
            lit.for_each(|(src, dst)| self.links[src * self.racks + usize::from(*dst)] += 1);
        }
    }
    /// The circuits of one more switch, by source.
    fn allot(&mut self, demand: &Demand, most: u64) -> Vec<u16> {
        let (links, before) = (&self.links, &self.before);
        let weight = |(cell, &bytes): (usize, &u64)| {
            let scaled = u128::from(bytes) * u128::from(HEAVIEST) / u128::from(most.max(1));
            let weight = scaled as u64 / u64::from(links[cell] + 1);
            let is_there = links[cell] < before[cell];
            (if is_there { weight + weight / 4 } else { weight }) as i32
        };
        self.cells.clear();
        self.cells.extend(demand.cells().iter().enumerate().map(weight));
        self.wants.load(self.racks, &self.cells);
        self.heaviest.solve(&self.wants, i32::MAX, &mut self.search);
        let column =
            |&edge: &u32| if edge == NO_EDGE { DARK } else { self.wants.end(1, edge) as u16 };
        let columns: Vec<u16> = self.heaviest.matched().iter().map(column).collect();
        for (src, &dst) in columns.iter().enumerate().filter(|(_, dst)| **dst != DARK) {
            self.links[src * self.racks + usize::from(dst)] += 1;
        }
        columns
    }
    /// Gives each matching to the switch that has most of its circuits already, unless all are for certain ones, and
    /// keeps what is in nobody's way.
    fn place(&mut self, matchings: Vec<Vec<u16>>, any: bool) {
        let mut free: Vec<usize> = (0..self.now.len()).collect();
        for mut columns in matchings {
            let alike = |&at: &usize| {
                let both = self.now[at].iter().zip(&columns);
                both.filter(|(now, new)| now == new && **new != DARK).count()
            };
            let most = free.iter().map(alike).max().unwrap_or(0);
            let Some(found) = free.iter().position(|at| !any || alike(at) == most) else { return };
            let at = free.remove(found);
            for (src, &dst) in self.now[at].iter().enumerate() {
                if dst != DARK && columns[src] == DARK && !columns.contains(&dst) {
                    columns[src] = dst;
                }
            }
            self.now[at] = columns;
        }
    }
    /// A night in which is up what was before, and a day.
    fn emit(&self, before: &[u16], columns: &[u16], out: &mut Week) {
        let mut matching = Matching::dark(self.racks);
        let connect = |matching: &mut Matching, keep: &dyn Fn(usize) -> bool| {
            matching.clear(self.racks);
            let lit = columns.iter().enumerate().filter(|(src, dst)| **dst != DARK && keep(*src));
            lit.for_each(|(src, &dst)| {
                matching.connect(src, dst.into()).expect("a matching, as all here are");
            });
        };
        out.clear(self.racks);
        connect(&mut matching, &|src| self.stays && before[src] == columns[src]);
        out.push(self.terms.night(), matching.circuits());
        connect(&mut matching, &|_| true);
        out.push(self.terms.week() - self.terms.night(), matching.circuits());
    }
}

impl Together for Mesh {
    fn weeks(
        &mut self,
        demand: &Demand,
        works: &dyn Fn(usize, usize) -> bool,
        out: &mut [Week],
    ) -> Note {
        assert_eq!(demand.racks(), self.racks, "a demand of other racks");
        assert_eq!(out.len(), self.base.len() + self.now.len(), "weeks of other switches");
        self.held(out);
        let most = demand.cells().iter().copied().max().unwrap_or(0);
        if most == 0 {
            return Note::NoDemand;
        }
        self.count();
        std::mem::swap(&mut self.links, &mut self.before);
        self.links.fill(0);
        for (src, dst) in self.always() {
            self.links[usize::from(src) * self.racks + usize::from(dst)] += 1;
        }
        let (base, switches) = (self.base.len(), self.now.len());
        let mut wanted = demand.clone();
        let mut one = |at: usize| {
            keep(demand, |rack| works(base + at, rack), &mut wanted);
            self.allot(&wanted, most)
        };
        let matchings = (0..switches).map(&mut one).collect();
        let before = self.now.clone();
        let pairs = (0..out.len()).flat_map(|at| (0..self.racks).map(move |rack| (at, rack)));
        let any = pairs.into_iter().all(|(switch, rack)| works(switch, rack));
        self.place(matchings, any);
        let changed = out.iter_mut().skip(self.base.len()).zip(before.iter().zip(&self.now));
        changed.for_each(|(week, (before, now))| self.emit(before, now, week));
        Note::Planned
    }
}

/// Each source sends to the rack so many further on.
fn rotation(racks: usize, distance: usize) -> Vec<u16> {
    (0..racks).map(|src| ((src + distance) % racks) as u16).collect()
}

/// Distances of rotations of which one or two lead from any rack to any other: always the one that reaches most.
fn base(racks: usize) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    loop {
        let reached = |chosen: &[usize]| {
            let mut reached = vec![false; racks];
            for (at, first) in chosen.iter().enumerate() {
                reached[*first] = true;
                chosen[..=at].iter().for_each(|second| reached[(first + second) % racks] = true);
            }
            reached.iter().skip(1).filter(|reached| **reached).count()
        };
        let with = |distance: usize| reached(&[&chosen[..], &[distance]].concat());
        if reached(&chosen) + 1 >= racks {
            return chosen;
        }
        let most = (1..racks).map(with).max();
        chosen.extend((1..racks).find(|&distance| Some(with(distance)) == most));
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

    fn mesh(racks: usize, more: usize) -> Mesh {
        let base = Mesh::new(racks, 0, terms(), true).unwrap_err().base;
        Mesh::new(racks, base + more, terms(), true).unwrap()
    }

    fn plan(mesh: &mut Mesh, demand: &Demand) -> Vec<Week> {
        let mut weeks = vec![Week::default(); mesh.base.len() + mesh.now.len()];
        mesh.weeks(demand, &|_, _| true, &mut weeks);
        weeks
    }

    /// Circuits of a pair, in the day.
    fn links(weeks: &[Week], src: usize, dst: usize) -> usize {
        let days = weeks.iter().filter_map(|week| week.slices().next_back());
        days.filter(|day| day.circuits.source(dst) == Some(src)).count()
    }

    #[test]
    fn two_rotations_lead_anywhere() {
        for racks in 2..70 {
            let base = base(racks);
            let sums = base.iter().flat_map(|a| base.iter().map(move |b| (a + b) % racks));
            let mut all: Vec<usize> = sums.chain(base.iter().copied()).filter(|d| *d > 0).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), racks - 1, "{racks}: {base:?}");
        }
        assert_eq!((base(2).len(), base(4).len(), base(8).len()), (1, 2, 3));
    }

    #[test]
    fn links_follow_demand_in_proportion() {
        let mut mesh = mesh(4, 6);
        let mut demand = Demand::new(4).unwrap();
        demand.set(0, 1, 400);
        demand.set(0, 2, 200);
        demand.set(0, 3, 200);
        let weeks = plan(&mut mesh, &demand);
        // Eight circuits from rack 0, two of which are there anyway: 4, 2 and 2.
        assert_eq!([1, 2, 3].map(|dst| links(&weeks, 0, dst)), [4, 2, 2]);
        let moved = weeks.iter().map(|week| week.slices().next().unwrap().circuits.pairs().count());
        assert!(moved.sum::<usize>() < 32, "what moves is dark in the night");
        // The same again: nothing moves, all are up in the night.
        let again = plan(&mut mesh, &demand);
        for week in &again {
            let slices: Vec<_> = week.slices().collect();
            assert!(slices.iter().all(|slice| slice.circuits == slices[0].circuits));
        }
        assert_eq!(again.iter().map(Week::span).max(), Some(terms().week()));
    }

    #[test]
    fn ports_that_do_not_work_get_nothing_new() {
        let mut mesh = mesh(4, 3);
        let mut demand = Demand::new(4).unwrap();
        (1..4).for_each(|dst| demand.set(0, dst, 100));
        let mut weeks = vec![Week::default(); 5];
        mesh.weeks(&demand, &|switch, rack| switch != 2 || rack != 0, &mut weeks);
        let kept = rotation(4, 3);
        assert_eq!(mesh.now[0][0], kept[0], "as it was, as nothing wants it elsewhere");
    }

    proptest! {
        /// Whatever the demand: matchings, and every rack stays within two hops of every other.
        #[test]
        fn all_stay_reachable(
            racks in 2usize..12, more in 1usize..5,
            cells in prop::collection::vec(prop::collection::vec(0u64..1_000_000, 144), 1..4)
        ) {
            let mut mesh = mesh(racks, more);
            for cells in cells {
                let mut demand = Demand::new(racks).unwrap();
                for src in 0..racks {
                    (0..racks).for_each(|dst| demand.set(src, dst, cells[src * racks + dst]));
                }
                let weeks = plan(&mut mesh, &demand);
                let direct = |src, dst| links(&weeks, src, dst) > 0;
                for src in 0..racks {
                    for dst in (0..racks).filter(|dst| *dst != src) {
                        let two = (0..racks).any(|by| direct(src, by) && direct(by, dst));
                        prop_assert!(direct(src, dst) || two);
                    }
                }
            }
        }
    }
}
