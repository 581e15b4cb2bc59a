//! Direct links between pods in proportion to their demand: topology engineering with patch panels.

use crate::circuit_timing::CircuitTiming;
use crate::demand::Demand;
use crate::matching::{DARK, Matching};
use crate::max_weight_matching::{MaxWeightMatching, Search};
use crate::residual_graph::{NO_EDGE, ResidualGraph};
use crate::scheduler::{JointScheduler, Note, restrict};
use crate::week::Week;

/// Plans direct links in proportion to demand. A week is one night and one day, as the mirrors of patch
/// panels move slowly.
///
/// The first switches never change. They have rotations over which every rack reaches every other in at most
/// two hops. The circuits of the other switches are apportioned by the method of D'Hondt: each switch gets a
/// maximum-weight matching, in which the weight of a pair is its demand divided by the number of circuits
/// that it would then have. Existing circuits weigh a quarter more, and stay if no other circuit needs their
/// ends, because circuits that move are dark for a night.
///
/// Source: Poutievski et al., "Jupiter Evolving", SIGCOMM 2022, §4 (topology engineering of directly
/// connected pods). Its multi-commodity optimisation is not modelled.
#[derive(Clone, Debug)]
pub struct Mesh {
    racks: usize,
    timing: CircuitTiming,
    /// Whether circuits that do not change carry traffic during nights.
    unchanged_stay_up: bool,
    /// The distances of the permanent rotations.
    base: Vec<usize>,
    /// The current destination by switch that may change and source.
    current: Vec<Vec<u16>>,
    /// The number of circuits of each pair in the new plan and in the one before.
    circuits: Vec<u32>,
    before: Vec<u32>,
    cells: Vec<i32>,
    residual: ResidualGraph,
    max_weight: MaxWeightMatching,
    search: Search,
}

/// The error that there are too few switches for a mesh.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooFewSwitches {
    /// The number of switches with permanent circuits. A mesh needs more than these.
    pub base: usize,
}

/// The weight of the largest demand for its first circuit.
const MAX_WEIGHT: u64 = 1 << 24;

impl Mesh {
    /// A scheduler for a number of racks and switches. If `unchanged_stay_up`, circuits that do not change
    /// carry traffic during nights.
    ///
    /// # Errors
    /// There are not more switches than the permanent rotations need.
    pub fn new(
        racks: usize,
        switches: usize,
        timing: CircuitTiming,
        unchanged_stay_up: bool,
    ) -> Result<Mesh, TooFewSwitches> {
        let base = base(racks);
        if switches <= base.len() {
            return Err(TooFewSwitches { base: base.len() });
        }
        let others = (1..racks).filter(|distance| !base.contains(distance));
        let others = others.chain((1..racks).cycle()).take(switches - base.len());
        let current: Vec<Vec<u16>> = others.map(|distance| rotation(racks, distance)).collect();
        let mut mesh = Mesh {
            racks,
            timing,
            unchanged_stay_up,
            base,
            current,
            circuits: vec![0; racks * racks],
            before: vec![0; racks * racks],
            cells: Vec::new(),
            residual: ResidualGraph::default(),
            max_weight: MaxWeightMatching::default(),
            search: Search::default(),
        };
        mesh.count_circuits();
        Ok(mesh)
    }
    /// The circuits that never change, as source and destination.
    pub fn permanent(&self) -> Vec<(u16, u16)> {
        let sources = || (0..self.racks as u16).map(usize::from);
        let of = |&distance: &usize| {
            let there = move |src: usize| ((src + distance) % self.racks) as u16;
            sources().map(move |src| (src as u16, there(src)))
        };
        self.base.iter().flat_map(of).collect()
    }
    /// Writes the current circuits as a week of each switch.
    pub fn current_weeks(&self, out: &mut [Week]) {
        let (base, current) = (self.base.iter(), self.current.iter());
        let all = base.map(|&distance| rotation(self.racks, distance)).chain(current.cloned());
        out.iter_mut().zip(all).for_each(|(week, columns)| self.emit(&columns, &columns, week));
    }
    /// Counts the current circuits of each pair.
    fn count_circuits(&mut self) {
        self.circuits.fill(0);
        let base = self.base.iter().map(|&distance| rotation(self.racks, distance));
        for columns in base.chain(self.current.iter().cloned()) {
            let lit = columns.iter().enumerate().filter(|(_, dst)| **dst != DARK);
            lit.for_each(|(src, dst)| self.circuits[src * self.racks + usize::from(*dst)] += 1);
        }
    }
    /// The circuits of the next switch, by source.
    fn next_matching(&mut self, demand: &Demand, most: u64) -> Vec<u16> {
        let (circuits, before) = (&self.circuits, &self.before);
        let weight = |(cell, &bytes): (usize, &u64)| {
            let scaled = u128::from(bytes) * u128::from(MAX_WEIGHT) / u128::from(most.max(1));
            let weight = scaled as u64 / u64::from(circuits[cell] + 1);
            let is_there = circuits[cell] < before[cell];
            (if is_there { weight + weight / 4 } else { weight }) as i32
        };
        self.cells.clear();
        self.cells.extend(demand.cells().iter().enumerate().map(weight));
        self.residual.load(self.racks, &self.cells);
        self.max_weight.solve(&self.residual, i32::MAX, &mut self.search);
        let column = |&edge: &u32| {
            if edge == NO_EDGE { DARK } else { self.residual.endpoint(1, edge) as u16 }
        };
        let columns: Vec<u16> = self.max_weight.matched().iter().map(column).collect();
        for (src, &dst) in columns.iter().enumerate().filter(|(_, dst)| **dst != DARK) {
            self.circuits[src * self.racks + usize::from(dst)] += 1;
        }
        columns
    }
    /// Assigns each matching to the switch that already has most of its circuits, or to the switches in order
    /// unless `any` switch may be chosen. Existing circuits stay if their ends are free.
    fn assign_to_switches(&mut self, matchings: Vec<Vec<u16>>, any: bool) {
        let mut free: Vec<usize> = (0..self.current.len()).collect();
        for mut columns in matchings {
            let alike = |&at: &usize| {
                let both = self.current[at].iter().zip(&columns);
                both.filter(|(current, new)| current == new && **new != DARK).count()
            };
            let most = free.iter().map(alike).max().unwrap_or(0);
            let Some(found) = free.iter().position(|at| !any || alike(at) == most) else { return };
            let at = free.remove(found);
            for (src, &dst) in self.current[at].iter().enumerate() {
                if dst != DARK && columns[src] == DARK && !columns.contains(&dst) {
                    columns[src] = dst;
                }
            }
            self.current[at] = columns;
        }
    }
    /// Writes a week: a night, which has the circuits that do not change, and a day.
    fn emit(&self, before: &[u16], columns: &[u16], out: &mut Week) {
        let mut matching = Matching::dark(self.racks);
        let connect = |matching: &mut Matching, restrict: &dyn Fn(usize) -> bool| {
            matching.clear(self.racks);
            let lit =
                columns.iter().enumerate().filter(|(src, dst)| **dst != DARK && restrict(*src));
            lit.for_each(|(src, &dst)| {
                matching.connect(src, dst.into()).expect("the columns are a matching");
            });
        };
        out.clear(self.racks);
        connect(&mut matching, &|src| self.unchanged_stay_up && before[src] == columns[src]);
        out.push(self.timing.night(), matching.circuits());
        connect(&mut matching, &|_| true);
        out.push(self.timing.week() - self.timing.night(), matching.circuits());
    }
}

impl JointScheduler for Mesh {
    fn weeks(
        &mut self,
        demand: &Demand,
        works: &dyn Fn(usize, usize) -> bool,
        out: &mut [Week],
    ) -> Note {
        assert_eq!(demand.racks(), self.racks, "the demand has another number of racks");
        assert_eq!(out.len(), self.base.len() + self.current.len(), "one week per switch");
        self.current_weeks(out);
        let most = demand.cells().iter().copied().max().unwrap_or(0);
        if most == 0 {
            return Note::NoDemand;
        }
        self.count_circuits();
        std::mem::swap(&mut self.circuits, &mut self.before);
        self.circuits.fill(0);
        for (src, dst) in self.permanent() {
            self.circuits[usize::from(src) * self.racks + usize::from(dst)] += 1;
        }
        let (base, switches) = (self.base.len(), self.current.len());
        let mut restricted = demand.clone();
        let mut one = |at: usize| {
            restrict(demand, |rack| works(base + at, rack), &mut restricted);
            self.next_matching(&restricted, most)
        };
        let matchings = (0..switches).map(&mut one).collect();
        let before = self.current.clone();
        let pairs = (0..out.len()).flat_map(|at| (0..self.racks).map(move |rack| (at, rack)));
        let any = pairs.into_iter().all(|(switch, rack)| works(switch, rack));
        self.assign_to_switches(matchings, any);
        let changed = out.iter_mut().skip(self.base.len()).zip(before.iter().zip(&self.current));
        changed.for_each(|(week, (before, current))| self.emit(before, current, week));
        Note::Planned
    }
}

/// The permutation in which each source sends to the rack at a distance.
fn rotation(racks: usize, distance: usize) -> Vec<u16> {
    (0..racks).map(|src| ((src + distance) % racks) as u16).collect()
}

/// Distances such that any rack reaches any other by one or two of them. Each is chosen greedily as the one
/// that reaches the most racks.
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

    fn mesh(racks: usize, more: usize) -> Mesh {
        let base = Mesh::new(racks, 0, timing(), true).unwrap_err().base;
        Mesh::new(racks, base + more, timing(), true).unwrap()
    }

    fn plan(mesh: &mut Mesh, demand: &Demand) -> Vec<Week> {
        let mut weeks = vec![Week::default(); mesh.base.len() + mesh.current.len()];
        mesh.weeks(demand, &|_, _| true, &mut weeks);
        weeks
    }

    /// The number of circuits of a pair during the day.
    fn circuits(weeks: &[Week], src: usize, dst: usize) -> usize {
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
        // Rack 0 has eight circuits, two of them permanent, so that the shares are 4, 2 and 2.
        assert_eq!([1, 2, 3].map(|dst| circuits(&weeks, 0, dst)), [4, 2, 2]);
        let moved = weeks.iter().map(|week| week.slices().next().unwrap().circuits.pairs().count());
        assert!(moved.sum::<usize>() < 32, "circuits that move are dark in the night");
        // The same demand moves nothing, and all circuits stay up during the night.
        let again = plan(&mut mesh, &demand);
        for week in &again {
            let slices: Vec<_> = week.slices().collect();
            assert!(slices.iter().all(|slice| slice.circuits == slices[0].circuits));
        }
        assert_eq!(again.iter().map(Week::span).max(), Some(timing().week()));
    }

    #[test]
    fn ports_that_do_not_work_get_nothing_new() {
        let mut mesh = mesh(4, 3);
        let mut demand = Demand::new(4).unwrap();
        (1..4).for_each(|dst| demand.set(0, dst, 100));
        let mut weeks = vec![Week::default(); 5];
        mesh.weeks(&demand, &|switch, rack| switch != 2 || rack != 0, &mut weeks);
        let initial = rotation(4, 3);
        assert_eq!(mesh.current[0][0], initial[0], "no other circuit needs its ends");
    }

    proptest! {
        /// For any demand the circuits are matchings, and every rack reaches every other in at most two hops.
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
                let direct = |src, dst| circuits(&weeks, src, dst) > 0;
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
