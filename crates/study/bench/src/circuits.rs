//! Measures the cost of the schedulers of circuit switches, and the share of the demand that their weeks serve. CPU
//! time of one thread.

use crate::Row;
use slotline_circuits::{
    Bvn, CircuitTiming, CircuitTimingSpec, Demand, DemandPattern, Eclipse, MaxWeight, Portfolio,
    Rotor, Scheduler, Solstice, SolsticeSpec, Week, served,
};
use slotline_lab::usage;
use std::hint::black_box;

/// One case of the circuits benchmark: Etalon's rates, days and nights, and as much demand as circuits can carry in a
/// week.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Case {
    /// Racks.
    pub racks: usize,
    /// The length of a week.
    pub span: Span,
    /// Kind of demand.
    pub class: DemandPattern,
    /// The scheduler.
    pub planner: Planner,
}

/// The length of a week.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Span {
    /// 2 ms, as in Etalon.
    Etalon,
    /// A day and a night for each of the others: `(N - 1) · 200 us`.
    Rotation,
}

/// The scheduler of a week.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Planner {
    /// Rotation.
    Rotor,
    /// The heaviest matching, held for the week.
    MaxWeight,
    /// Birkhoff and von Neumann.
    Bvn,
    /// Solstice.
    Solstice,
    /// Eclipse.
    Eclipse,
    /// The scheduler of this program.
    Portfolio,
}

/// All schedulers.
pub const PLANNERS: [Planner; 6] = [
    Planner::Rotor,
    Planner::MaxWeight,
    Planner::Bvn,
    Planner::Solstice,
    Planner::Eclipse,
    Planner::Portfolio,
];

impl Planner {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Planner::Rotor => "rotor",
            Planner::MaxWeight => "max-weight",
            Planner::Bvn => "bvn",
            Planner::Solstice => "solstice",
            Planner::Eclipse => "eclipse",
            Planner::Portfolio => "portfolio",
        }
    }
    fn build(self, racks: usize, terms: CircuitTiming) -> Box<dyn Scheduler> {
        match self {
            Planner::Rotor => Box::new(Rotor::new(racks, terms)),
            Planner::MaxWeight => {
                let held = MaxWeight::new(racks, terms, None);
                Box::new(held.expect("a week has room for a day"))
            }
            Planner::Bvn => Box::new(Bvn::new(racks, terms)),
            Planner::Solstice => Box::new(Solstice::new(racks, terms, SolsticeSpec::default())),
            Planner::Eclipse => Box::new(Eclipse::new(racks, terms)),
            Planner::Portfolio => Box::new(Portfolio::new(racks, terms)),
        }
    }
}

/// The cases of `slotline bench circuits`.
pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for racks in [8, 16, 32, 64, 128, 256] {
        for span in [Span::Etalon, Span::Rotation] {
            for class in
                DemandPattern::ALL.into_iter().filter(|class| *class != DemandPattern::Empty)
            {
                all.extend(PLANNERS.map(|planner| Case { racks, span, class, planner }));
            }
        }
    }
    all
}

/// The duration of a sample in seconds, and the number of samples.
const SAMPLE: f64 = 0.01;
const SAMPLES: usize = 5;

impl Case {
    fn week(&self) -> u64 {
        match self.span {
            Span::Etalon => 2_000_000_000,
            Span::Rotation => (self.racks as u64 - 1) * 200_000_000,
        }
    }
    /// The time to plan a week, and the share that it serves.
    pub fn run(&self) -> Vec<Row> {
        let terms =
            CircuitTimingSpec::etalon(self.week()).build().expect("a week of a day or more");
        let bytes = terms.circuit_bytes(terms.week());
        let demand = self.class.demand(self.racks, bytes, 1).expect("two racks or more");
        let mut scheduler = self.planner.build(self.racks, terms);
        let mut week = Week::default();
        scheduler.week(&demand, &mut week);
        let share = 100.0 * served(&week, &demand, &terms).share();
        let us = 1e6 * least_time(|| scheduler.week(&demand, &mut week));
        let mut rows = vec![self.row("time", us, "us"), self.row("served", share, "% of demand")];
        if self.planner == Planner::Portfolio {
            rows.push(self.advantage(share, &demand, terms));
        }
        rows
    }
    /// The additional share that this scheduler serves compared with the best of the others.
    fn advantage(&self, share: f64, demand: &Demand, terms: CircuitTiming) -> Row {
        let held = MaxWeight::new(self.racks, terms, Some(terms.min_day()));
        let held: Box<dyn Scheduler> = Box::new(held.expect("a week has room for a day"));
        let others = PLANNERS.iter().filter(|planner| **planner != Planner::Portfolio);
        let others = others.map(|planner| (planner.name(), planner.build(self.racks, terms)));
        let mut week = Week::default();
        let served = others.chain([("max-weight, held", held)]).map(|(name, mut other)| {
            other.week(demand, &mut week);
            (100.0 * served(&week, demand, &terms).share(), name)
        });
        let (best, name) = served.max_by(|a, b| a.0.total_cmp(&b.0)).expect("there are others");
        // Differences smaller than rounding to ticks do not count.
        let side = if share < best - 1e-3 { "BEHIND" } else { "ahead of" };
        self.row("lead", share - best, &format!("points, {side} {name}"))
    }
    fn row(&self, name: &str, value: f64, unit: &str) -> Row {
        let ms = self.week() as f64 / 1e9;
        Row {
            name: format!("circuits/{name}"),
            scenario: format!("{} racks, {ms} ms, {}", self.racks, self.class),
            scheme: self.planner.name().into(),
            threads: 1,
            value,
            unit: unit.into(),
        }
    }
}

/// The smallest time of a call in seconds, over a few samples. A sample of a slow call is a single call.
fn least_time<T>(mut call: impl FnMut() -> T) -> f64 {
    let mut sample = || {
        let (began, mut calls) = (usage::thread_cpu_s(), 0_u32);
        loop {
            let more = calls.max(1);
            (0..more).for_each(|_| {
                black_box(call());
            });
            calls += more;
            let took = usage::thread_cpu_s() - began;
            if took >= SAMPLE {
                return took / f64::from(calls);
            }
        }
    };
    let first = sample();
    let more = if first > 0.2 { 1 } else { SAMPLES };
    (0..more).map(|_| sample()).fold(first, f64::min)
}

/// Measures all cases.
pub fn rows() -> Vec<Row> {
    cases().iter().flat_map(Case::run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_has_a_time_and_a_share() {
        let case = Case {
            racks: 8,
            span: Span::Rotation,
            class: DemandPattern::AllToAll,
            planner: Planner::Rotor,
        };
        let rows = case.run();
        assert_eq!(rows[0].scenario, "8 racks, 1.4 ms, all-to-all");
        assert!(rows[0].value > 0.0);
        assert_eq!(rows[1].value, 100.0);
        assert_eq!(cases().len(), 6 * 2 * 7 * PLANNERS.len());
    }
}
