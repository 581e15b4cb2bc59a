//! Solstice: decomposes demand into matchings by thresholds that are halved.

use crate::circuit_timing::CircuitTiming;
use crate::demand::Demand;
use crate::max_min::MaxMinFair;
use crate::perfect_matching::{Graph, Matcher};
use crate::plan::Plan;
use crate::remaining_time::RemainingTime;
use crate::rotation_fallback::RotationFallback;
use crate::scheduler::{Note, Scheduler};
use crate::stuffing::Stuffing;
use crate::week::Week;

/// Options of Solstice that Etalon's code adds to the paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SolsticeSpec {
    /// If a demand has at least this number of bytes, smaller demands are left to the packet switch.
    pub prefilter: Option<u64>,
    /// The demand is scaled up until its largest row or column fills half of the week.
    pub inflate: bool,
    /// The week is filled by longer days. Time and circuits that the decomposition leaves serve nothing else.
    pub decomposition_only: bool,
    /// The plan for a demand that Solstice's own days serve badly.
    pub fallback: Fallback,
}

/// The plan for a demand that Solstice's own days serve badly.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fallback {
    /// A rotation, if it serves more than Solstice's days.
    #[default]
    Better,
    /// A rotation, if Solstice finds no days.
    Empty,
    /// If Solstice finds no days or if there is no demand, one day for the whole week, from each rack to the
    /// one before it. Etalon's code does this.
    Ring,
}

/// Plans by thresholds that are halved.
///
/// The demand is clipped max-min fair to what circuits carry in a week, and stuffed until all rows and
/// columns have the same sum (QuickStuff). The threshold begins at a quarter of the week. As long as the
/// cells of at least the threshold have a perfect matching, that matching becomes a day with the length of
/// its smallest cell. Otherwise the threshold is halved, down to the shortest day or two nights (BigSlice).
/// Finally, the days are made to fill the week. Unless only the decomposition is wanted, as in the paper, the demand that is left is served by
/// circuits that would only serve stuffing and in the rest of the week: circuits are exchanged, and days are
/// added and lengthened.
///
/// If no threshold has a perfect matching, as with many racks that send the same to all others, Etalon's
/// Solstice plans one useless day. If one source or destination has much more demand than the others, it
/// plans days for the stuffing. Here the week is a rotation if a rotation serves more, and the note says so.
/// [`Fallback`] changes this.
///
/// Source: Liu et al., CoNEXT 2015, §4; for weeks of a given length, Etalon §3.2.
#[derive(Clone, Debug)]
pub struct Solstice {
    fallback: RotationFallback,
    spec: SolsticeSpec,
    /// The demand as loaded, and the part that is not planned yet.
    cells: Vec<i32>,
    rest: Vec<i32>,
    /// The demand that is clipped.
    clipped_cells: Vec<u32>,
    max_min: MaxMinFair<u32>,
    stuffing: Stuffing,
    graph: Graph,
    matcher: Matcher,
    plan: Plan,
    remaining_time: RemainingTime,
}

impl Solstice {
    /// A scheduler for a number of racks.
    pub fn new(racks: usize, timing: CircuitTiming, spec: SolsticeSpec) -> Solstice {
        Solstice {
            fallback: RotationFallback::new(racks, timing),
            spec,
            cells: Vec::new(),
            rest: Vec::new(),
            clipped_cells: Vec::new(),
            max_min: MaxMinFair::default(),
            stuffing: Stuffing::default(),
            graph: Graph::default(),
            matcher: Matcher::default(),
            plan: Plan::default(),
            remaining_time: RemainingTime::default(),
        }
    }
    /// Loads a demand, applies the options and measures it. Returns the largest sum of a row or column.
    fn load(&mut self, demand: &Demand) -> i64 {
        let (size, week) = (demand.racks(), i64::from(self.fallback.ticks.week));
        self.fallback.ticks.load(demand, &mut self.cells);
        self.rest.clone_from(&self.cells);
        self.prefilter(demand);
        let largest = self.stuffing.measure(size, &self.rest);
        if self.spec.inflate {
            inflate(&mut self.rest, largest, week / 2);
        }
        if self.spec.prefilter.is_some() || self.spec.inflate {
            // A rotation is compared by the filtered and inflated demand, not by the reported one.
            self.cells.clone_from(&self.rest);
        }
        if largest > week {
            self.clip(size);
        }
        let changed = self.spec.inflate || largest > week;
        if changed { self.stuffing.measure(size, &self.rest) } else { largest }
    }
    fn prefilter(&mut self, demand: &Demand) {
        let Some(least) = self.spec.prefilter else { return };
        if demand.cells().iter().any(|&bytes| bytes >= least) {
            let small = self.rest.iter_mut().zip(demand.cells());
            small.filter(|(_, bytes)| **bytes < least).for_each(|(cell, _)| *cell = 0);
        }
    }
    fn clip(&mut self, size: usize) {
        self.clipped_cells.clear();
        self.clipped_cells.extend(self.rest.iter().map(|&cell| cell as u32));
        self.max_min.clip(size, &mut self.clipped_cells, self.fallback.ticks.week as u64);
        for (cell, &clipped) in self.rest.iter_mut().zip(&self.clipped_cells) {
            *cell = (clipped as i32).max(1).min(*cell);
        }
    }
    /// The smallest threshold, in ticks: the shortest day or two nights.
    fn least(&self) -> i32 {
        self.fallback.ticks.min_day.max(2 * self.fallback.ticks.night).max(1)
    }
    /// Decomposes the stuffed matrix into days.
    fn decompose(&mut self, size: usize, total: i64) {
        let least = self.least();
        let mut threshold = (self.fallback.ticks.week / 4).max(least);
        let mut left = total;
        self.plan.clear(size);
        self.matcher.begin(size);
        while left >= i64::from(least) {
            self.graph.at_least(size, &self.rest, threshold);
            self.matcher.remove_outside(&self.graph);
            while self.matcher.perfect(&self.graph) {
                left -= i64::from(self.take_day(size, threshold));
            }
            if threshold == least {
                return;
            }
            threshold = (threshold / 2).max(least);
        }
    }
    /// Makes the days fill the week. No days remain if a rotation is wanted because it serves more.
    fn fit_to_week(&mut self, size: usize) {
        if self.plan.days() == 0 {
            return;
        }
        let better = self.spec.fallback == Fallback::Better;
        if self.spec.decomposition_only {
            self.plan.shorten_to_week(&self.fallback.ticks);
            self.plan.stretch(&self.fallback.ticks);
            let served = self.fallback.served_by_plan(&self.plan, &self.cells);
            if better && served < self.fallback.served_by_rotation(&self.cells) {
                self.plan.clear(size);
            }
            return;
        }
        let rotation = if better { self.fallback.served_by_rotation(&self.cells) } else { 0 };
        let (least, ticks) = (self.least(), self.fallback.ticks);
        self.plan.shorten_to_week(&ticks);
        self.remaining_time.begin(size, &self.cells, least, &mut self.plan, &ticks);
        if better && self.remaining_time.most(&self.cells, &self.plan) < rotation {
            return self.plan.clear(size);
        }
        self.remaining_time.fill(&mut self.plan, &ticks);
        if better && self.remaining_time.served(&self.cells) < rotation {
            self.plan.clear(size);
        }
    }
    /// The plan if there are no days.
    fn without_days(&mut self, note: Note, out: &mut Week) -> Note {
        if self.spec.fallback != Fallback::Ring {
            return self.fallback.rotate(note, out);
        }
        let racks = self.fallback.racks();
        let before: Vec<u16> = (0..racks).map(|src| ((src + racks - 1) % racks) as u16).collect();
        self.plan.clear(racks);
        self.plan.push(self.fallback.ticks.min_day, &before);
        self.plan.stretch(&self.fallback.ticks);
        self.fallback.emit(&self.plan, note, out)
    }
    /// Makes a day of the current matching and returns its length. Pairs that fall below the threshold are
    /// removed from the matching.
    fn take_day(&mut self, size: usize, threshold: i32) -> i32 {
        let columns = self.matcher.columns();
        let circuits = self.rest.chunks_exact(size).zip(columns);
        let length = circuits.map(|(cells, &column)| cells[usize::from(column)]).min().unwrap_or(0);
        self.plan.push(length, columns);
        for (row, cells) in self.rest.chunks_exact_mut(size).enumerate() {
            let column = usize::from(self.matcher.columns()[row]);
            cells[column] -= length;
            if cells[column] < threshold {
                self.graph.remove(row, column);
                self.matcher.remove_row(row);
            }
        }
        length
    }
}

/// Scales all cells up so that the largest sum becomes `least`. It does nothing if that sum is zero or not
/// smaller.
fn inflate(cells: &mut [i32], largest: i64, least: i64) {
    if 0 < largest && largest < least {
        let scaled = |cell: i32| (i64::from(cell) * least).div_euclid(largest) as i32;
        cells.iter_mut().for_each(|cell| *cell = scaled(*cell));
    }
}

impl Scheduler for Solstice {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        self.fallback.check_racks(demand);
        let largest = self.load(demand);
        if largest == 0 {
            return self.without_days(Note::NoDemand, out);
        }
        self.stuffing.stuff(demand.racks(), &mut self.rest);
        self.decompose(demand.racks(), largest);
        self.fit_to_week(demand.racks());
        if self.plan.days() == 0 {
            return self.without_days(Note::Rotation, out);
        }
        self.fallback.emit(&self.plan, Note::Planned, out)
    }
}
