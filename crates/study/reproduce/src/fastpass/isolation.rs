//! A failure that only lost packets show: §5.2.

use crate::draw::View;
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::{NEVER, RunRecord};
use slotline_net::workload::WorkloadSpec;
use slotline_report::plot::Figure;
use slotline_scenario::{EventKind, Scenario};

/// §5.2.
pub(super) const ISOLATION: Experiment = Experiment {
    id: "fp-J",
    about: "Section 5.2: how soon a failed link, or a failed switch, is found and avoided, by load",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/fp-J.toml",
        text: include_str!("../../../../../scenarios/reproduce/fp-J.toml"),
        axis: &[5, 20, 50, 80, SWITCH + 5, SWITCH + 20, SWITCH + 50, SWITCH + 80],
        set: set_failure,
        compare,
        figures,
    }),
};

/// Points from here on have a failed switch. The rest is the load in percent.
const SWITCH: u32 = 100;
/// The time of the failure: see the scenario.
const FAILED_PS: u64 = 5_000_000_000;

const FOUND: Quantity = Quantity {
    key: "found",
    name: "failure to finding",
    unit: "ms",
    of: |run| first(run, |fault| fault.found_ps),
};
const AVOIDED: Quantity = Quantity {
    key: "avoided",
    name: "failure to the first timeslot that avoids it",
    unit: "ms",
    of: |run| first(run, |fault| fault.avoided_ps),
};
const LOST: Quantity =
    Quantity { key: "lost", name: "packets lost", unit: "1", of: |run| run.census.lost() as f64 };
const OTHERS: Quantity = Quantity {
    key: "others",
    name: "working parts that were avoided",
    unit: "1",
    of: |run| run.faults.len().saturating_sub(1) as f64,
};

/// The time from the failure to the first of these times, in milliseconds; NaN if there is none.
fn first(run: &RunRecord, time: fn(&slotline_lab::record::FaultRow) -> u64) -> f64 {
    let times = run.faults.iter().map(time).filter(|at| *at < NEVER);
    times.min().map_or(f64::NAN, |at| (at as f64 - FAILED_PS as f64) / 1e9)
}

fn set_failure(scenario: &mut Scenario, x: u32) -> String {
    for workload in &mut scenario.workload {
        if let WorkloadSpec::Poisson(poisson) = workload {
            poisson.load = f64::from(x % SWITCH) / 100.0;
        }
    }
    for event in scenario.event.iter_mut().filter(|_| x > SWITCH) {
        event.kind = EventKind::SwitchDown { switch: "spine1".into() };
    }
    format!("{}, load {} %", if x > SWITCH { "switch" } else { "link" }, x % SWITCH)
}

fn figures(view: &View) -> Vec<Figure> {
    vec![view.bars("times", "Time from the failure", &[FOUND, AVOIDED])]
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let order = "\"on the order of milliseconds\"; ours needs ten lost packets that senders have noticed, and a quarter of \
                 the window of 1 ms, and grows as the load falls";
    let of = |point: &Measured| {
        [
            point.row("fastpass", &FOUND, Some(Stated::Under(10.0)), order),
            point.row("fastpass", &AVOIDED, Some(Stated::Under(10.0)), order),
            point.row("fastpass", &LOST, None, ""),
            point.row("fastpass", &OTHERS, None, ""),
        ]
    };
    points.iter().flat_map(of).flatten().collect()
}
