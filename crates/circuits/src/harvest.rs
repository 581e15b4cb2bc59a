//! Our own: greedy days for what packets leave over, polished, and never worse than the others it looks at.

use crate::bvn::Bvn;
use crate::demand::Demand;
use crate::eclipse::Eclipse;
use crate::greedy::{Greedy, Lengths};
use crate::levels::Levels;
use crate::max_weight::MaxWeight;
use crate::plan::Plan;
use crate::polish::Polish;
use crate::scheduler::{Note, Scheduler};
use crate::select::Selection;
use crate::served::Meter;
use crate::settle::Settle;
use crate::solstice::{Solstice, SolsticeSpec};
use crate::terms::Terms;
use crate::wants::{NONE, Wants};
use crate::week::Week;

/// How much worse than the best day a picked one may be.
const SLACK: f64 = 0.03;
/// What an edge that is looked at takes, in picoseconds, with all that goes with it.
const EDGE: u64 = 3_000;
/// What it takes, in picoseconds per pair of racks: loading a demand, measuring a week, and the plans of others at their slowest, some
/// of them per day.
const LOAD: u64 = 6_000;
const METER: u64 = 16_000;
const LEVELS: u64 = 10_000;
const LEVELS_DAY: u64 = 500;
const MAX_WEIGHT: u64 = 20_000;
const SOLSTICE: u64 = 60_000;
const BVN: u64 = 350_000;
const ECLIPSE: u64 = 40_000;

/// The most of a week. Days are picked greedily as [`Eclipse`] does, and then polished: days change their matchings, and
/// give each other time, as long as that serves more. In large networks only the largest demands of each rack are
/// looked at; where these are less than half, days are large matchings of all demands above a level that falls. As far
/// as the time to compute suffices, the same is done without the smallest demands, which the packet switch can serve
/// beside, and the plans of the other schedulers are measured, too, and the best of them polished: the week that
/// serves most is taken, and the note says whose it is.
///
/// How far it goes is counted in steps, not by a clock: the same demand always gives the same week.
#[derive(Clone, Debug)]
pub struct Harvest {
    terms: Terms,
    settle: Settle,
    /// Picoseconds that may be computed, and that are left.
    budget: u64,
    left: u64,
    cells: Vec<i32>,
    selection: Selection,
    wants: Wants,
    greedy: Greedy,
    levels: Levels,
    rest: Vec<i32>,
    polish: Polish,
    /// By row, the column of a day at hand.
    columns: Vec<u16>,
    plan: Plan,
    others: Others,
    meter: Meter,
    /// The week that is measured, and what the best one so far serves.
    week: Week,
    best: Option<u64>,
    note: Note,
}

/// Who is asked for plans beside.
#[derive(Clone, Debug)]
struct Others {
    max_weight: MaxWeight,
    held: MaxWeight,
    solstice: Solstice,
    bvn: Bvn,
    eclipse: Eclipse,
}

impl Harvest {
    /// For so many racks; it computes for about seven tenths of a week at most.
    pub fn new(racks: usize, terms: Terms) -> Harvest {
        Harvest::with_budget(racks, terms, terms.week() / 10 * 7)
    }
    /// For so many racks; it computes for about so many picoseconds at most, on one core of a machine of today.
    /// Loading the demand and the first plan are always done.
    pub fn with_budget(racks: usize, terms: Terms, budget: u64) -> Harvest {
        let held = |hold| MaxWeight::new(racks, terms, hold).expect("a week has room for a day");
        let others = Others {
            max_weight: held(None),
            held: held(Some(terms.min_day())),
            solstice: Solstice::new(racks, terms, SolsticeSpec::default()),
            bvn: Bvn::new(racks, terms),
            eclipse: Eclipse::new(racks, terms),
        };
        Harvest {
            terms,
            settle: Settle::new(racks, terms),
            budget,
            left: 0,
            cells: Vec::new(),
            selection: Selection::default(),
            wants: Wants::default(),
            greedy: Greedy::default(),
            levels: Levels::default(),
            rest: Vec::new(),
            polish: Polish::default(),
            columns: Vec::new(),
            plan: Plan::default(),
            others,
            meter: Meter::default(),
            week: Week::default(),
            best: None,
            note: Note::Planned,
        }
    }
    /// How many demands of each rack are worth a look: as many as there is time for.
    fn most(&self, racks: usize) -> usize {
        let days = self.settle.clock.most_days();
        let looks = self.budget / EDGE / (10 * racks * days) as u64;
        looks.max(8).min(racks as u64) as usize
    }
    /// What a rack's link to the packet switch carries in a week, in ticks of circuits.
    fn packets(&self) -> i64 {
        let share = self.terms.packet() as f64 / self.terms.circuit() as f64;
        (f64::from(self.settle.clock.week) * share) as i64
    }
    /// Greedy days for what is wanted, polished. Days may take their share of three quarters of the time, and
    /// the polishing most of what is left.
    fn reap(&mut self) {
        let clock = self.settle.clock;
        self.polish.begin(&self.wants);
        self.greedy.begin();
        let (most, days) = (self.left / 4 * 3 / EDGE, clock.most_days() as u64);
        let mut left = clock.week;
        let mut day = 0;
        while let Some(lengths) = Lengths::within(&clock, left) {
            day += 1;
            self.greedy.limit(most * day / days);
            let picked = self.greedy.pick(&self.wants, lengths, SLACK);
            let Some((length, edges)) = picked else { break };
            self.wants.serve(edges, length);
            self.polish.push(length, edges);
            left -= length + clock.night;
        }
        self.left = self.left.saturating_sub(self.greedy.work() * EDGE);
        self.polish();
    }
    /// Days of large matchings, of all demands: where many have much for many.
    fn fill_levels(&mut self) {
        let clock = self.settle.clock;
        self.left = self.left.saturating_sub(self.cells.len() as u64 * self.levels_cost());
        self.rest.clone_from(&self.cells);
        self.levels.fill(&clock, self.wants.size, &mut self.rest, &mut self.plan);
        self.emit();
    }
    fn levels_cost(&self) -> u64 {
        LEVELS + LEVELS_DAY * self.settle.clock.most_days() as u64
    }
    /// Polishes the days there are, and writes them as a week.
    fn polish(&mut self) {
        let (clock, before) = (self.settle.clock, self.polish.work());
        self.polish.run(&clock, &mut self.wants, self.left / 2 / EDGE);
        self.polish.complete(&self.wants, &self.selection.sizes);
        self.left = self.left.saturating_sub((self.polish.work() - before) * EDGE);
        self.write();
    }
    /// Polishes the days of the week at hand.
    fn take_up(&mut self) {
        self.wants.left.clone_from(&self.selection.sizes);
        self.polish.begin(&self.wants);
        for day in self.week.days() {
            self.columns.clear();
            self.columns.resize(self.wants.size, NONE);
            day.circuits.pairs().for_each(|(src, dst)| self.columns[src] = dst as u16);
            let length = (day.length / self.settle.clock.tick) as i32;
            self.polish.push_columns(length, &self.columns, &self.wants);
        }
        self.polish();
    }
    /// The polished days as a week to be measured.
    fn write(&mut self) {
        self.plan.clear(self.wants.size);
        for (length, edges) in self.polish.days() {
            self.plan.push_edges(length, edges, &self.wants);
        }
        self.emit();
    }
    /// The plan as a week to be measured; a rotation where it has no day.
    fn emit(&mut self) {
        self.plan.stretch(&self.settle.clock);
        match self.plan.days() {
            0 => self.settle.rotate(Note::Planned, &mut self.week),
            _ => self.settle.emit(&self.plan, Note::Planned, &mut self.week),
        };
    }
    /// Keeps the week at hand if it serves more than the best one, and returns whether it does.
    fn judge(&mut self, name: &'static str, demand: &Demand, out: &mut Week) -> bool {
        let weeks = std::slice::from_ref(&self.week);
        let served = self.meter.served(weeks, demand, &self.terms).total();
        let better = self.best.is_none_or(|best| best < served);
        if better {
            self.best = Some(served);
            self.note = Note::Chosen(name);
            out.copy_from(&self.week);
        }
        better
    }
    /// Whether there is something left to serve, and time for what takes so much per pair of racks; then it is taken.
    fn afford(&mut self, demand: &Demand, cost: u64) -> bool {
        let cost = (demand.racks() * demand.racks()) as u64 * (cost + METER);
        let can = cost <= self.left && self.best != Some(demand.total());
        self.left -= if can { cost } else { 0 };
        can
    }
    /// The same beside packets, and what others plan, from the fastest to the slowest.
    fn try_others(&mut self, demand: &Demand, out: &mut Week) {
        if self.afford(demand, 0) {
            self.settle.rotate(Note::Planned, &mut self.week);
            self.judge("rotor", demand, out);
        }
        self.ask(SOLSTICE, "solstice", |others| &mut others.solstice, demand, out);
        if self.selection.is_half() && self.afford(demand, self.levels_cost()) {
            self.fill_levels();
            self.judge("levels", demand, out);
        }
        if self.left > self.budget / 4 && self.afford(demand, 0) {
            self.wants.left.clone_from(&self.selection.sizes);
            self.selection.leave_to_packets(self.packets(), &mut self.wants);
            self.reap();
            self.judge("greedy beside packets", demand, out);
        }
        let days = self.settle.clock.most_days() as u64;
        self.ask(MAX_WEIGHT, "max-weight", |others| &mut others.max_weight, demand, out);
        self.ask(MAX_WEIGHT * days, "max-weight, held", |others| &mut others.held, demand, out);
        self.ask(ECLIPSE * days, "eclipse", |others| &mut others.eclipse, demand, out);
        self.ask(BVN, "bvn", |others| &mut others.bvn, demand, out);
    }
    /// Asks another scheduler if there is time for what it takes per pair of racks, and polishes its plan if that is the
    /// best.
    fn ask<S: Scheduler>(
        &mut self,
        cost: u64,
        name: &'static str,
        other: impl Fn(&mut Others) -> &mut S,
        demand: &Demand,
        out: &mut Week,
    ) {
        if self.afford(demand, cost) {
            other(&mut self.others).week(demand, &mut self.week);
            if self.judge(name, demand, out) {
                self.take_up();
                self.judge(name, demand, out);
            }
        }
    }
}

impl Scheduler for Harvest {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        self.settle.check(demand);
        let racks = demand.racks();
        self.settle.clock.load(demand, &mut self.cells);
        self.selection.select(racks, &self.cells, self.most(racks), &mut self.wants);
        if self.wants.left.is_empty() {
            return self.settle.rotate(Note::NoDemand, out);
        }
        (self.left, self.best) = (self.budget.saturating_sub((racks * racks) as u64 * LOAD), None);
        let name = if self.selection.is_half() { "greedy" } else { "levels" };
        match name {
            "greedy" => self.reap(),
            _ => self.fill_levels(),
        }
        if self.afford(demand, 0) {
            self.judge(name, demand, out);
            self.try_others(demand, out);
            return self.note;
        }
        out.copy_from(&self.week);
        Note::Chosen(name)
    }
}
