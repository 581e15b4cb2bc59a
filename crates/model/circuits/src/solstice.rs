//! Solstice: cuts demand into matchings by thresholds that are halved.

use crate::demand::Demand;
use crate::fair::Fair;
use crate::matcher::{Graph, Matcher};
use crate::plan::Plan;
use crate::scheduler::{Note, Scheduler};
use crate::settle::Settle;
use crate::stuff::Stuffing;
use crate::terms::Terms;
use crate::week::Week;

/// What Etalon adds to Solstice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SolsticeSpec {
    /// If any demand has so many bytes, those that have less are left to the packet switch.
    pub prefilter: Option<u64>,
    /// Demand is scaled up so that the largest row or column fills at least half of the week.
    pub inflate: bool,
    /// What is planned where its own days serve little.
    pub fallback: Fallback,
}

/// What a week of Solstice is where its own days serve little, or where it finds none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fallback {
    /// A rotation, wherever that serves more.
    #[default]
    Better,
    /// A rotation where there are no days at all.
    Empty,
    /// Where there are no days at all, one for the whole week: from each rack to the one before it. So it is in
    /// Etalon's code, also without demand.
    Ring,
}

/// Demand is clipped max-min fair to what circuits carry in a week, and stuffed until all rows and columns are
/// equal. Then cells of at least a threshold, from a quarter of the week on, are searched for perfect matchings; each
/// found one becomes a day of the length of its smallest cell. If there is none any more, the threshold is halved,
/// down to the shortest day or two nights. The days are made to fit the week.
///
/// Where no threshold has a matching (many racks with the same to send to all others), Etalon's Solstice plans one
/// useless day, and where one source or destination has much more than others, days for what it stuffed. Where a
/// rotation serves more, here it is a rotation, and the note says so; [`Fallback`] says otherwise.
///
/// Source: Liu et al., CoNEXT 2015, §4; for a week of a given length, Etalon §3.2.
#[derive(Clone, Debug)]
pub struct Solstice {
    settle: Settle,
    spec: SolsticeSpec,
    /// As loaded, and what is not yet cut.
    cells: Vec<i32>,
    rest: Vec<i32>,
    /// The same in 64 bits, where it must be clipped.
    wide: Vec<u64>,
    fair: Fair,
    stuffing: Stuffing,
    graph: Graph,
    matcher: Matcher,
    plan: Plan,
}

impl Solstice {
    /// For so many racks.
    pub fn new(racks: usize, terms: Terms, spec: SolsticeSpec) -> Solstice {
        Solstice {
            settle: Settle::new(racks, terms),
            spec,
            cells: Vec::new(),
            rest: Vec::new(),
            wide: Vec::new(),
            fair: Fair::default(),
            stuffing: Stuffing::default(),
            graph: Graph::default(),
            matcher: Matcher::default(),
            plan: Plan::default(),
        }
    }
    /// Loads a demand as this scheduler sees it; returns whether there is any.
    fn load(&mut self, demand: &Demand) -> bool {
        let (size, week) = (demand.racks(), i64::from(self.settle.clock.week));
        self.settle.clock.load(demand, &mut self.cells);
        self.rest.clone_from(&self.cells);
        self.prefilter(demand);
        let largest = self.stuffing.measure(size, &self.rest);
        if self.spec.inflate {
            inflate(&mut self.rest, largest, week / 2);
        }
        if self.spec.prefilter.is_some() || self.spec.inflate {
            // A rotation has to serve what is asked for now, not what was reported.
            self.cells.clone_from(&self.rest);
        }
        if largest > week {
            self.clip(size);
        }
        largest > 0
    }
    fn prefilter(&mut self, demand: &Demand) {
        let Some(least) = self.spec.prefilter else { return };
        if demand.cells().iter().any(|&bytes| bytes >= least) {
            let small = self.rest.iter_mut().zip(demand.cells());
            small.filter(|(_, bytes)| **bytes < least).for_each(|(cell, _)| *cell = 0);
        }
    }
    fn clip(&mut self, size: usize) {
        self.wide.clear();
        self.wide.extend(self.rest.iter().map(|&cell| cell as u64));
        self.fair.clip(size, &mut self.wide, self.settle.clock.week as u64);
        for (cell, &clipped) in self.rest.iter_mut().zip(&self.wide) {
            *cell = (clipped as i32).max(1).min(*cell);
        }
    }
    /// Cuts the stuffed matrix into days.
    fn slice(&mut self, size: usize, total: i64) {
        let least = self.settle.clock.min_day.max(2 * self.settle.clock.night).max(1);
        let mut threshold = (self.settle.clock.week / 4).max(least);
        let mut left = total;
        self.plan.clear(size);
        self.matcher.begin(size);
        while left >= i64::from(least) {
            self.graph.at_least(size, &self.rest, threshold);
            self.matcher.part_all_outside(&self.graph);
            while self.matcher.perfect(&self.graph) {
                left -= i64::from(self.cut(size, threshold));
            }
            if threshold == least {
                return;
            }
            threshold = (threshold / 2).max(least);
        }
    }
    /// A week for which nothing is planned.
    fn without_days(&mut self, note: Note, out: &mut Week) -> Note {
        if self.spec.fallback != Fallback::Ring {
            return self.settle.rotate(note, out);
        }
        let racks = self.settle.racks();
        let before: Vec<u16> = (0..racks).map(|src| ((src + racks - 1) % racks) as u16).collect();
        self.plan.clear(racks);
        self.plan.push(self.settle.clock.min_day, &before);
        self.plan.stretch(&self.settle.clock);
        self.settle.emit(&self.plan, note, out)
    }
    /// Makes a day of the matching that was found; its pairs that fall below the threshold are parted.
    fn cut(&mut self, size: usize, threshold: i32) -> i32 {
        let place = |(row, &column): (usize, &u16)| row * size + usize::from(column);
        let pairs = self.matcher.columns().iter().enumerate();
        let length = pairs.map(|pair| self.rest[place(pair)]).min().unwrap_or(0);
        self.plan.push(length, self.matcher.columns());
        for row in 0..size {
            let column = usize::from(self.matcher.columns()[row]);
            let cell = &mut self.rest[row * size + column];
            *cell -= length;
            if *cell < threshold {
                self.graph.remove(row, column);
                self.matcher.part(row);
            }
        }
        length
    }
}

/// Scales cells up so that the largest sum becomes `least`, if it is less.
fn inflate(cells: &mut [i32], largest: i64, least: i64) {
    if 0 < largest && largest < least {
        let scaled = |cell: i32| (i64::from(cell) * least).div_euclid(largest) as i32;
        cells.iter_mut().for_each(|cell| *cell = scaled(*cell));
    }
}

impl Scheduler for Solstice {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        self.settle.check(demand);
        if !self.load(demand) {
            return self.without_days(Note::NoDemand, out);
        }
        let total = self.stuffing.stuff(demand.racks(), &mut self.rest);
        self.slice(demand.racks(), total);
        self.plan.fit(&self.settle.clock);
        match self.spec.fallback {
            Fallback::Better => self.settle.emit_guarded(&self.plan, &self.cells, out),
            _ if self.plan.days() == 0 => self.without_days(Note::Rotation, out),
            _ => self.settle.emit(&self.plan, Note::Planned, out),
        }
    }
}
