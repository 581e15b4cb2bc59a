//! A portfolio scheduler: it plans by several algorithms, improves the plans by local search and takes the
//! best.

use crate::b_matching::BMatching;
use crate::bvn::Bvn;
use crate::circuit_timing::CircuitTiming;
use crate::demand::Demand;
use crate::eclipse::Eclipse;
use crate::greedy::{DayLengths, Greedy};
use crate::local_search::LocalSearch;
use crate::max_weight::MaxWeight;
use crate::pair_selection::PairSelection;
use crate::plan::Plan;
use crate::recent_demand::RecentDemand;
use crate::residual_graph::ResidualGraph;
use crate::rolling_greedy::RollingGreedy;
use crate::rotation_fallback::RotationFallback;
use crate::scheduler::{Note, Scheduler};
use crate::served::Meter;
use crate::solstice::{Solstice, SolsticeSpec};
use crate::upper_bound::UpperBound;
use crate::week::Week;

/// The factor by which the best day may be better than the chosen day, minus one.
const SLACK: f64 = 0.03;
/// The time to visit an edge, in picoseconds, with all work that belongs to it.
const EDGE_COST: u64 = 3_000;
/// The same if the largest demands have to be selected repeatedly, and for dense graphs.
const SELECTED_EDGE_COST: u64 = 4_000;
const DENSE_EDGE_COST: u64 = 5_000;
/// The time of a bid, in picoseconds, with the assignment of days that follows.
const BID_COST: u64 = 6_000;
/// The time per pair of racks, in picoseconds: to load a demand, to select all pairs or the largest ones, to
/// measure a week, and to plan by two other schedulers in the worst case.
const LOAD_COST: u64 = 3_000;
const SELECT_COST: u64 = 2_000;
const SELECT_LARGEST_COST: u64 = 4_000;
const MEASURE_COST: u64 = 16_000;
const SOLSTICE_COST: u64 = 60_000;
const BVN_COST: u64 = 350_000;
/// The time per selected pair, in picoseconds: to select it, and to match it. Eclipse computes several
/// matchings per day.
const PAIR_COST: u64 = 20_000;
const MATCH_COST: u64 = 35_000;
const MATCHINGS_PER_DAY: u64 = 3;

/// Serves the most in a week that it can find in limited time.
///
/// The first plan has one matching per day, found by rolling greedy. If no pair needs more than the shortest
/// day, an auction finds all days at once as a b-matching. As far as the time allows, it then tries the days
/// of [`Eclipse`], with and without the small demands that the packet switch can serve, and the plans of the
/// other schedulers. Local search improves the plans. It takes the week that serves most, and the note names
/// its origin.
///
/// Racks without a circuit on a day are connected to racks that they recently sent to.
///
/// The computing time is counted in steps and not by a clock, so that the same demands always give the same
/// weeks.
///
/// Source: our own.
#[derive(Clone, Debug)]
pub struct Portfolio {
    timing: CircuitTiming,
    fallback: RotationFallback,
    /// The computing time allowed for a week and the time that remains, in picoseconds.
    budget: u64,
    time_left: u64,
    cells: Vec<i32>,
    selection: PairSelection,
    residual: ResidualGraph,
    greedy: Greedy,
    b_matching: BMatching,
    rolling_greedy: RollingGreedy,
    rest: Vec<i32>,
    local_search: LocalSearch,
    plan: Plan,
    members: Members,
    upper_bound: UpperBound,
    recent: RecentDemand,
    meter: Meter,
    /// The candidate week, and the score of the best week so far.
    week: Week,
    best: Option<Score>,
    note: Note,
}

/// The score of a week.
#[derive(Clone, Copy, Debug)]
struct Score {
    /// An upper bound in ticks, and an estimate from below if the week was measured.
    bound: i64,
    floor: i64,
    /// The bytes served, if there was time to measure them.
    served: Option<u64>,
}

/// The other schedulers of the portfolio.
#[derive(Clone, Debug)]
struct Members {
    max_weight: MaxWeight,
    held: MaxWeight,
    solstice: Solstice,
    bvn: Bvn,
    eclipse: Eclipse,
}

impl Portfolio {
    /// A scheduler for a number of racks that computes for at most about seven tenths of a week.
    pub fn new(racks: usize, timing: CircuitTiming) -> Portfolio {
        Portfolio::with_budget(racks, timing, timing.week() / 10 * 7)
    }
    /// A scheduler for a number of racks that computes for at most about `budget` picoseconds on one core of
    /// a current machine. It always loads the demand and makes the first plan, even if that takes longer.
    pub fn with_budget(racks: usize, timing: CircuitTiming, budget: u64) -> Portfolio {
        let held = |hold| MaxWeight::new(racks, timing, hold).expect("a week has room for a day");
        let members = Members {
            max_weight: held(None),
            held: held(Some(timing.min_day())),
            solstice: Solstice::new(racks, timing, SolsticeSpec::default()),
            bvn: Bvn::new(racks, timing),
            eclipse: Eclipse::new(racks, timing),
        };
        Portfolio {
            timing,
            fallback: RotationFallback::new(racks, timing),
            budget,
            time_left: 0,
            cells: Vec::new(),
            selection: PairSelection::default(),
            residual: ResidualGraph::default(),
            greedy: Greedy::default(),
            b_matching: BMatching::default(),
            rolling_greedy: RollingGreedy::default(),
            rest: Vec::new(),
            local_search: LocalSearch::default(),
            plan: Plan::default(),
            members,
            upper_bound: UpperBound::default(),
            recent: RecentDemand::default(),
            meter: Meter::default(),
            week: Week::default(),
            best: None,
            note: Note::Planned,
        }
    }
    /// The demand that a rack's link to the packet switch carries in a week, in ticks.
    fn packet_capacity(&self) -> i64 {
        let share = self.timing.packet() as f64 / self.timing.circuit() as f64;
        (f64::from(self.fallback.ticks.week) * share) as i64
    }
    /// Plans days greedily and improves them. The days may use three quarters of the remaining time, each its
    /// share, and local search may use most of the rest.
    fn plan_greedily(&mut self) {
        let ticks = self.fallback.ticks;
        self.local_search.begin(&self.residual);
        self.greedy.reset();
        let (most, days) = (self.time_left / 4 * 3 / DENSE_EDGE_COST, ticks.most_days() as u64);
        let mut week_left = ticks.week;
        let mut day = 0;
        while let Some(lengths) = DayLengths::within(&ticks, week_left) {
            day += 1;
            self.greedy.limit(most * day / days);
            let picked = self.greedy.pick(&self.residual, lengths, SLACK);
            let Some((length, edges)) = picked else { break };
            self.residual.serve(edges, length);
            self.local_search.push(length, edges);
            week_left -= length + ticks.night;
        }
        self.time_left = self.time_left.saturating_sub(self.greedy.work() * DENSE_EDGE_COST);
        self.improve_days();
    }
    /// Plans days for the largest residual demands of each rack.
    fn plan_rolling_greedy(&mut self, racks: usize, pairs: usize) {
        let edge = if pairs > RollingGreedy::PAIRS_PER_RACK * racks {
            SELECTED_EDGE_COST
        } else {
            EDGE_COST
        };
        let (ticks, before) = (self.fallback.ticks, self.rolling_greedy.work());
        self.rest.clone_from(&self.cells);
        self.rolling_greedy.fill_week(
            &ticks,
            &mut self.rest,
            self.time_left / edge,
            &mut self.plan,
            racks,
        );
        self.time_left =
            self.time_left.saturating_sub((self.rolling_greedy.work() - before) * edge);
        self.emit();
    }
    /// Plans all days at once for the largest demands of each rack, if none needs more than the shortest day.
    fn plan_b_matching(&mut self, racks: usize) {
        let (ticks, before) = (self.fallback.ticks, self.b_matching.work());
        let days = ticks.most_days();
        self.selection.select(racks, &self.cells, 3 * days / 2 + 8, &mut self.residual);
        self.time_left =
            self.time_left.saturating_sub((racks * racks) as u64 * SELECT_LARGEST_COST);
        let length = ticks.week / days as i32 - ticks.night;
        self.b_matching.fill_week(
            &self.residual,
            days,
            length,
            self.time_left / BID_COST,
            &mut self.plan,
        );
        self.time_left =
            self.time_left.saturating_sub((self.b_matching.work() - before) * BID_COST);
        self.emit();
    }
    /// Improves the days in the local search and writes them to the candidate week.
    fn improve_days(&mut self) {
        let (ticks, before) = (self.fallback.ticks, self.local_search.work());
        self.local_search.connect_idle_racks(&self.residual, &self.selection.sizes);
        self.local_search.improve(&ticks, &mut self.residual, self.time_left / 2 / DENSE_EDGE_COST);
        self.local_search.connect_idle_racks(&self.residual, &self.selection.sizes);
        self.time_left =
            self.time_left.saturating_sub((self.local_search.work() - before) * DENSE_EDGE_COST);
        self.emit_days();
    }
    /// Improves the days of the candidate week.
    fn improve_week(&mut self) {
        self.residual.remaining.clone_from(&self.selection.sizes);
        self.local_search.begin(&self.residual);
        for day in self.week.days() {
            let length = (day.length / self.fallback.ticks.tick) as i32;
            self.local_search.push_pairs(length, day.circuits.pairs(), &self.residual);
        }
        self.improve_days();
    }
    /// Writes the days of the local search to the candidate week.
    fn emit_days(&mut self) {
        self.plan.clear(self.residual.size);
        for (length, edges) in self.local_search.days() {
            self.plan.push_edges(length, edges, &self.residual);
        }
        self.emit();
    }
    /// Writes the plan to the candidate week, or a rotation if the plan has no days.
    fn emit(&mut self) {
        self.plan.stretch(&self.fallback.ticks);
        match self.plan.days() {
            0 => self.fallback.rotate(Note::Planned, &mut self.week),
            _ => self.fallback.emit(&self.plan, Note::Planned, &mut self.week),
        };
    }
    /// Copies the candidate week to `out` if it serves more than the best week so far, and returns whether it
    /// does. It measures the week only if its bound allows that and if there is time.
    fn keep_if_better(&mut self, name: &'static str, demand: &Demand, out: &mut Week) -> bool {
        let ticks = self.fallback.ticks;
        let bound = self.upper_bound.bound(&self.week, &self.cells, &ticks, self.packet_capacity());
        if self.best.is_some_and(|best| bound <= best.floor) {
            return false;
        }
        let can = self.spend(demand, MEASURE_COST * pairs_of_racks(demand));
        let weeks = std::slice::from_ref(&self.week);
        let served = can.then(|| self.meter.served(weeks, demand, &self.timing).total());
        let better = match (self.best, served) {
            (None, _) => true,
            (Some(Score { served: Some(best), .. }), Some(served)) => best < served,
            (Some(best), _) => best.bound < bound,
        };
        if better {
            let floor = served.map_or(bound, |bytes| ticks.whole(bytes));
            self.best = Some(Score { bound, floor, served });
            self.note = Note::Chosen(name);
            out.copy_from(&self.week);
        }
        better
    }
    /// Spends computing time if there is enough and if some demand is not served yet. Returns whether it did.
    fn spend(&mut self, demand: &Demand, cost: u64) -> bool {
        let can = cost <= self.time_left && !self.all_served(demand);
        self.time_left -= if can { cost } else { 0 };
        can
    }
    /// Whether the best week serves all demand.
    fn all_served(&self, demand: &Demand) -> bool {
        self.best.is_some_and(|best| best.served == Some(demand.total()))
    }
    /// Makes the first plan: all days at once, or one after another.
    fn plan_first(&mut self, demand: &Demand, pairs: usize, out: &mut Week) {
        let (racks, ticks) = (demand.racks(), self.fallback.ticks);
        let short = self.cells.iter().all(|&cell| cell <= ticks.min_day);
        if short && pairs > racks * ticks.most_days() {
            self.plan_b_matching(racks);
            self.keep_if_better("b-matching", demand, out);
        } else {
            self.plan_rolling_greedy(racks, pairs);
            self.keep_if_better("rolling greedy", demand, out);
        }
    }
    /// Tries the fast schedulers, improves the best plan, and then tries those that take longer.
    fn try_members(&mut self, demand: &Demand, out: &mut Week) {
        let (pairs_of_racks, days) =
            (pairs_of_racks(demand), self.fallback.ticks.most_days() as u64);
        let edges = self.residual.remaining.len() as u64;
        let one = pairs_of_racks * SELECT_COST + edges * MATCH_COST;
        let held = pairs_of_racks * SELECT_COST + edges * days * MATCH_COST;
        self.try_member(held, "max-weight, held", |members| &mut members.held, demand, out);
        self.try_member(
            held * MATCHINGS_PER_DAY,
            "eclipse",
            |members| &mut members.eclipse,
            demand,
            out,
        );
        self.try_member(
            pairs_of_racks * SOLSTICE_COST,
            "solstice",
            |members| &mut members.solstice,
            demand,
            out,
        );
        self.improve_best(demand, out);
        for beside in [false, true] {
            if self.time_left / 4 * 3 > edges * days * DENSE_EDGE_COST && !self.all_served(demand) {
                self.residual.remaining.clone_from(&self.selection.sizes);
                if beside {
                    self.selection
                        .leave_to_packet_switch(self.packet_capacity(), &mut self.residual);
                }
                self.plan_greedily();
                self.keep_if_better(
                    if beside { "greedy with packets" } else { "greedy" },
                    demand,
                    out,
                );
            }
        }
        let better =
            self.try_member(one, "max-weight", |members| &mut members.max_weight, demand, out)
                | self.try_member(
                    pairs_of_racks * BVN_COST,
                    "bvn",
                    |members| &mut members.bvn,
                    demand,
                    out,
                );
        if better {
            self.improve_best(demand, out);
        }
    }
    /// Tries another scheduler if there is time for its cost. Returns whether its plan is the best so far.
    fn try_member<S: Scheduler>(
        &mut self,
        cost: u64,
        name: &'static str,
        member: impl Fn(&mut Members) -> &mut S,
        demand: &Demand,
        out: &mut Week,
    ) -> bool {
        self.spend(demand, cost) && {
            member(&mut self.members).week(demand, &mut self.week);
            self.keep_if_better(name, demand, out)
        }
    }
    /// Improves the best plan.
    fn improve_best(&mut self, demand: &Demand, out: &mut Week) {
        if let Note::Chosen(name) = self.note {
            self.week.copy_from(out);
            self.improve_week();
            self.keep_if_better(name, demand, out);
        }
    }
}

/// The number of pairs of racks.
fn pairs_of_racks(demand: &Demand) -> u64 {
    (demand.racks() * demand.racks()) as u64
}

impl Scheduler for Portfolio {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        self.fallback.check_racks(demand);
        let racks = demand.racks();
        self.fallback.ticks.load(demand, &mut self.cells);
        let pairs = self.cells.iter().filter(|&&cell| cell > 0).count();
        self.recent.record(&self.cells);
        if pairs == 0 {
            return self.fallback.rotate(Note::NoDemand, out);
        }
        let pairs_of_racks = pairs_of_racks(demand);
        (self.time_left, self.best) =
            (self.budget.saturating_sub(pairs_of_racks * LOAD_COST), None);
        self.upper_bound.load(racks, &self.cells);
        self.plan_first(demand, pairs, out);
        self.fallback.rotate(Note::Planned, &mut self.week);
        self.keep_if_better("rotor", demand, out);
        let select = pairs_of_racks * SELECT_COST + pairs as u64 * PAIR_COST;
        if select < self.time_left && !self.all_served(demand) {
            self.time_left -= select;
            self.selection.select(racks, &self.cells, racks, &mut self.residual);
            self.try_members(demand, out);
        }
        self.recent.connect_idle(demand, out);
        self.note
    }
}
