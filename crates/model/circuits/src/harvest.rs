//! Our own: greedy days for what packets leave over, polished, and never worse than the others it looks at.

use crate::bvn::Bvn;
use crate::demand::Demand;
use crate::eclipse::Eclipse;
use crate::estimate::Estimate;
use crate::greedy::{Greedy, Lengths};
use crate::joint::Joint;
use crate::max_weight::MaxWeight;
use crate::plan::Plan;
use crate::polish::Polish;
use crate::recent::Recent;
use crate::roll::Roll;
use crate::scheduler::{Note, Scheduler};
use crate::select::Selection;
use crate::served::Meter;
use crate::settle::Settle;
use crate::solstice::{Solstice, SolsticeSpec};
use crate::terms::Terms;
use crate::wants::Wants;
use crate::week::Week;

/// How much worse than the best day a picked one may be.
const SLACK: f64 = 0.03;
/// What an edge that is looked at takes, in picoseconds, with all that goes with it.
const EDGE: u64 = 3_000;
/// The same where the largest demands have to be looked for again, and where more goes with it.
const ROLLED: u64 = 4_000;
const DEAR: u64 = 5_000;
/// The same in an auction, with all the days that follow.
const BID: u64 = 6_000;
/// What it takes, in picoseconds per pair of racks: loading a demand, selecting all pairs that want something or the largest,
/// measuring a week, and the plans of others at their slowest.
const LOAD: u64 = 3_000;
const SELECT: u64 = 2_000;
const LARGEST: u64 = 4_000;
const METER: u64 = 16_000;
const SOLSTICE: u64 = 60_000;
const BVN: u64 = 350_000;
/// What a pair that is selected takes, and what it takes in a heaviest matching; how many of these Eclipse makes for a
/// day.
const PAIR: u64 = 20_000;
const MATCH: u64 = 35_000;
const SEARCHES: u64 = 3;

/// The most of a week. A first plan takes one matching per day, the heaviest of the largest demands that are left of each
/// rack; where no pair needs more than the shortest day, all days are found at once in an auction. It is polished:
/// days change their matchings, and give each other time, as long as that serves more. As far as the time to compute
/// suffices, the same is done with days picked as [`Eclipse`] does, with and without the smallest demands, which the
/// packet switch can serve beside, and with the plans of the other schedulers: the week that serves most is taken, and the
/// note says whose it is.
///
/// Racks without a circuit on a day get one to whom they sent of late.
///
/// How far it goes is counted in steps, not by a clock: the same demands always give the same weeks.
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
    joint: Joint,
    roll: Roll,
    rest: Vec<i32>,
    polish: Polish,
    plan: Plan,
    others: Others,
    estimate: Estimate,
    recent: Recent,
    meter: Meter,
    /// The week that is measured, and what the best one so far serves.
    week: Week,
    best: Option<Score>,
    note: Note,
}

/// What a week serves.
#[derive(Clone, Copy, Debug)]
struct Score {
    /// Never more, in ticks; and, if it was measured, hardly less.
    bound: i64,
    floor: i64,
    /// In bytes, if there was time to measure it.
    served: Option<u64>,
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
            joint: Joint::default(),
            roll: Roll::default(),
            rest: Vec::new(),
            polish: Polish::default(),
            plan: Plan::default(),
            others,
            estimate: Estimate::default(),
            recent: Recent::default(),
            meter: Meter::default(),
            week: Week::default(),
            best: None,
            note: Note::Planned,
        }
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
        let (most, days) = (self.left / 4 * 3 / DEAR, clock.most_days() as u64);
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
        self.left = self.left.saturating_sub(self.greedy.work() * DEAR);
        self.polish();
    }
    /// Days for the largest demands that are left of each rack.
    fn roll(&mut self, racks: usize, pairs: usize) {
        let edge = if pairs > Roll::LOOK * racks { ROLLED } else { EDGE };
        let (clock, before) = (self.settle.clock, self.roll.work());
        self.rest.clone_from(&self.cells);
        self.roll.fill(&clock, &mut self.rest, self.left / edge, &mut self.plan, racks);
        self.left = self.left.saturating_sub((self.roll.work() - before) * edge);
        self.emit();
    }
    /// Days for the largest demands of each rack, where none is longer than the shortest day.
    fn join(&mut self, racks: usize) {
        let (clock, before) = (self.settle.clock, self.joint.work());
        let days = clock.most_days();
        self.selection.select(racks, &self.cells, 3 * days / 2 + 8, &mut self.wants);
        self.left = self.left.saturating_sub((racks * racks) as u64 * LARGEST);
        let length = clock.week / days as i32 - clock.night;
        self.joint.fill(&self.wants, days, length, self.left / BID, &mut self.plan);
        self.left = self.left.saturating_sub((self.joint.work() - before) * BID);
        self.emit();
    }
    /// Polishes the days there are, and writes them as a week.
    fn polish(&mut self) {
        let (clock, before) = (self.settle.clock, self.polish.work());
        self.polish.complete(&self.wants, &self.selection.sizes);
        self.polish.run(&clock, &mut self.wants, self.left / 2 / DEAR);
        self.polish.complete(&self.wants, &self.selection.sizes);
        self.left = self.left.saturating_sub((self.polish.work() - before) * DEAR);
        self.write();
    }
    /// Polishes the days of the week at hand.
    fn take_up(&mut self) {
        self.wants.left.clone_from(&self.selection.sizes);
        self.polish.begin(&self.wants);
        for day in self.week.days() {
            let length = (day.length / self.settle.clock.tick) as i32;
            self.polish.push_pairs(length, day.circuits.pairs(), &self.wants);
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
    /// Keeps the week at hand if it serves more than the best one, and returns whether it does. It is measured only where
    /// it may be better, and there is time.
    fn judge(&mut self, name: &'static str, demand: &Demand, out: &mut Week) -> bool {
        let clock = self.settle.clock;
        let bound = self.estimate.bound(&self.week, &self.cells, &clock, self.packets());
        if self.best.is_some_and(|best| bound <= best.floor) {
            return false;
        }
        let can = self.afford(demand, METER * all(demand));
        let weeks = std::slice::from_ref(&self.week);
        let served = can.then(|| self.meter.served(weeks, demand, &self.terms).total());
        let better = match (self.best, served) {
            (None, _) => true,
            (Some(Score { served: Some(best), .. }), Some(served)) => best < served,
            (Some(best), _) => best.bound < bound,
        };
        if better {
            let floor = served.map_or(bound, |bytes| clock.whole(bytes));
            self.best = Some(Score { bound, floor, served });
            self.note = Note::Chosen(name);
            out.copy_from(&self.week);
        }
        better
    }
    /// Whether there is something left to serve, and so much time; then it is taken.
    fn afford(&mut self, demand: &Demand, cost: u64) -> bool {
        let can = cost <= self.left && !self.is_done(demand);
        self.left -= if can { cost } else { 0 };
        can
    }
    /// Whether all is served.
    fn is_done(&self, demand: &Demand) -> bool {
        self.best.is_some_and(|best| best.served == Some(demand.total()))
    }
    /// The first plan: all days at once, or one after another.
    fn begin(&mut self, demand: &Demand, pairs: usize, out: &mut Week) {
        let (racks, clock) = (demand.racks(), self.settle.clock);
        let short = self.cells.iter().all(|&cell| cell <= clock.min_day);
        if short && pairs > racks * clock.most_days() {
            self.join(racks);
            self.judge("joint", demand, out);
        } else {
            self.roll(racks, pairs);
            self.judge("rolled", demand, out);
        }
    }
    /// What others plan that is fast, the best of it polished, and then what takes longer.
    fn try_others(&mut self, demand: &Demand, out: &mut Week) {
        let (all, days) = (all(demand), self.settle.clock.most_days() as u64);
        let edges = self.wants.left.len() as u64;
        let one = all * SELECT + edges * MATCH;
        let held = all * SELECT + edges * days * MATCH;
        self.ask(held, "max-weight, held", |others| &mut others.held, demand, out);
        self.ask(held * SEARCHES, "eclipse", |others| &mut others.eclipse, demand, out);
        self.ask(all * SOLSTICE, "solstice", |others| &mut others.solstice, demand, out);
        self.improve(demand, out);
        for beside in [false, true] {
            if self.left / 4 * 3 > edges * days * DEAR && !self.is_done(demand) {
                self.wants.left.clone_from(&self.selection.sizes);
                if beside {
                    self.selection.leave_to_packets(self.packets(), &mut self.wants);
                }
                self.reap();
                self.judge(if beside { "greedy beside packets" } else { "greedy" }, demand, out);
            }
        }
        let better = self.ask(one, "max-weight", |others| &mut others.max_weight, demand, out)
            | self.ask(all * BVN, "bvn", |others| &mut others.bvn, demand, out);
        if better {
            self.improve(demand, out);
        }
    }
    /// Asks another scheduler if there is time for what it takes; returns whether its plan is the best.
    fn ask<S: Scheduler>(
        &mut self,
        cost: u64,
        name: &'static str,
        other: impl Fn(&mut Others) -> &mut S,
        demand: &Demand,
        out: &mut Week,
    ) -> bool {
        self.afford(demand, cost) && {
            other(&mut self.others).week(demand, &mut self.week);
            self.judge(name, demand, out)
        }
    }
    /// Polishes the best plan.
    fn improve(&mut self, demand: &Demand, out: &mut Week) {
        if let Note::Chosen(name) = self.note {
            self.week.copy_from(out);
            self.take_up();
            self.judge(name, demand, out);
        }
    }
}

/// How many pairs of racks there are.
fn all(demand: &Demand) -> u64 {
    (demand.racks() * demand.racks()) as u64
}

impl Scheduler for Harvest {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        self.settle.check(demand);
        let racks = demand.racks();
        self.settle.clock.load(demand, &mut self.cells);
        let pairs = self.cells.iter().filter(|&&cell| cell > 0).count();
        self.recent.note(&self.cells);
        if pairs == 0 {
            return self.settle.rotate(Note::NoDemand, out);
        }
        let all = all(demand);
        (self.left, self.best) = (self.budget.saturating_sub(all * LOAD), None);
        self.estimate.load(racks, &self.cells);
        self.begin(demand, pairs, out);
        self.settle.rotate(Note::Planned, &mut self.week);
        self.judge("rotor", demand, out);
        let select = all * SELECT + pairs as u64 * PAIR;
        if select < self.left && !self.is_done(demand) {
            self.left -= select;
            self.selection.select(racks, &self.cells, racks, &mut self.wants);
            self.try_others(demand, out);
        }
        self.recent.light(demand, out);
        self.note
    }
}
