//! Our own: greedy days for what packets leave over, polished, and never worse than the others it looks at.

use crate::bvn::Bvn;
use crate::demand::Demand;
use crate::eclipse::Eclipse;
use crate::greedy::{Greedy, Lengths};
use crate::max_weight::MaxWeight;
use crate::plan::Plan;
use crate::polish::Polish;
use crate::scheduler::{Note, Scheduler};
use crate::select::Selection;
use crate::served::Meter;
use crate::settle::Settle;
use crate::solstice::{Solstice, SolsticeSpec};
use crate::terms::Terms;
use crate::wants::Wants;
use crate::week::Week;

/// How much worse than the best day a picked one may be, and at how many lengths is looked for it.
const EFFORT: (f64, usize) = (0.03, 12);
/// What an edge that is looked at takes, in picoseconds, with all that goes with it.
const EDGE: u64 = 4_000;
/// What it takes, in picoseconds per pair of racks: measuring a week, and the plans of others, at their slowest.
const METER: u64 = 16_000;
const MAX_WEIGHT: u64 = 60_000;
const SOLSTICE: u64 = 60_000;
const BVN: u64 = 350_000;
const ECLIPSE: u64 = 4_500_000;

/// The most of a week. Of each pair's demand is taken off what the packet switch can serve beside; for the rest days
/// are picked greedily as [`Eclipse`] does, and then polished: days change their matchings, and give each other time,
/// as long as that serves more. In large networks with short weeks only the largest demands of each rack are looked
/// at. As far as the time to compute suffices, the same is done with all demand, and the plans of the other
/// schedulers are measured, too: the week that serves most is taken, and the note says whose it is.
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
    polish: Polish,
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
    solstice: Solstice,
    bvn: Bvn,
    eclipse: Eclipse,
}

impl Harvest {
    /// For so many racks; it computes for about half a week at most.
    pub fn new(racks: usize, terms: Terms) -> Harvest {
        Harvest::with_budget(racks, terms, terms.week() / 2)
    }
    /// For so many racks; it computes for about so many picoseconds at most, on one core of a machine of today.
    /// Loading the demand and the first plan are always done.
    pub fn with_budget(racks: usize, terms: Terms, budget: u64) -> Harvest {
        let others = Others {
            max_weight: MaxWeight::new(racks, terms, None).expect("a week has room for a day"),
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
            polish: Polish::default(),
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
        let looks = self.budget / EDGE / (4 * racks * days) as u64;
        looks.clamp(8, racks as u64) as usize
    }
    /// What a rack's link to the packet switch carries in a week, in ticks of circuits.
    fn packets(&self) -> i64 {
        let share = self.terms.packet() as f64 / self.terms.circuit() as f64;
        (f64::from(self.settle.clock.week) * share) as i64
    }
    /// Greedy days for what is wanted, polished.
    fn reap(&mut self) {
        let clock = self.settle.clock;
        self.polish.begin(&self.wants);
        self.greedy.begin();
        let mut left = clock.week;
        while let Some(lengths) = Lengths::within(&clock, left) {
            let picked = self.greedy.pick(&self.wants, lengths, EFFORT);
            let Some((length, edges)) = picked else { break };
            self.wants.serve(edges, length);
            self.polish.push(length, edges);
            left -= length + clock.night;
        }
        self.left = self.left.saturating_sub(self.greedy.work() * EDGE);
        let before = self.polish.work();
        self.polish.run(&clock, &mut self.wants, self.left / 2 / EDGE);
        self.left = self.left.saturating_sub((self.polish.work() - before) * EDGE);
        self.write();
    }
    /// The polished days as a week to be measured, if there is any.
    fn write(&mut self) {
        self.plan.clear(self.wants.size);
        for (length, edges) in self.polish.days() {
            self.plan.push_edges(length, edges, &self.wants);
        }
        self.plan.stretch(&self.settle.clock);
        match self.plan.days() {
            0 => self.settle.rotate(Note::Planned, &mut self.week),
            _ => self.settle.emit(&self.plan, Note::Planned, &mut self.week),
        };
    }
    /// Keeps the week at hand if it serves more than the best one.
    fn judge(&mut self, name: &'static str, demand: &Demand, out: &mut Week) {
        let weeks = std::slice::from_ref(&self.week);
        let served = self.meter.served(weeks, demand, &self.terms).total();
        if self.best.is_none_or(|best| best < served) {
            self.best = Some(served);
            self.note = Note::Chosen(name);
            out.copy_from(&self.week);
        }
    }
    /// Whether there is time for what takes so much per pair of racks; then it is taken.
    fn afford(&mut self, demand: &Demand, cost: u64) -> bool {
        let cost = (demand.racks() * demand.racks()) as u64 * (cost + METER);
        let can = cost <= self.left;
        self.left -= if can { cost } else { 0 };
        can
    }
    /// The same for all demand, and what others plan, from the fastest to the slowest.
    fn try_others(&mut self, demand: &Demand, out: &mut Week) {
        self.judge("greedy beside packets", demand, out);
        self.settle.rotate(Note::Planned, &mut self.week);
        self.judge("rotor", demand, out);
        if self.afford(demand, SOLSTICE) {
            self.others.solstice.week(demand, &mut self.week);
            self.judge("solstice", demand, out);
        }
        self.wants.left.clone_from(&self.selection.sizes);
        self.reap();
        self.judge("greedy", demand, out);
        if self.afford(demand, MAX_WEIGHT) {
            self.others.max_weight.week(demand, &mut self.week);
            self.judge("max-weight", demand, out);
        }
        if self.afford(demand, ECLIPSE) {
            self.others.eclipse.week(demand, &mut self.week);
            self.judge("eclipse", demand, out);
        }
        if self.afford(demand, BVN) {
            self.others.bvn.week(demand, &mut self.week);
            self.judge("bvn", demand, out);
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
        self.selection.leave_to_packets(self.packets(), &mut self.wants);
        (self.left, self.best) = (self.budget, None);
        self.reap();
        if self.afford(demand, METER) {
            self.try_others(demand, out);
            return self.note;
        }
        out.copy_from(&self.week);
        Note::Chosen("greedy beside packets")
    }
}
