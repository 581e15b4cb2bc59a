//! The effect of latency in a bump on flows: Figure 5.3.

use crate::quantity::round_trips;
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_net::time::Time;
use slotline_report::plot::Measure;
use slotline_scenario::Scenario;

/// Figure 5.3.
pub(super) const LATENCY: Experiment = Experiment {
    id: "nb-1",
    about: "Figure 5.3: answers of 1 B and 1 MB through a bump, by the one-way latency that it adds",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/nb-1.toml",
        text: include_str!("../../../../../scenarios/reproduce/nb-1.toml"),
        axis: &[0, 10, 20, 50, 100, 200, 500],
        set,
        compare,
        figures: |view| {
            let by = |quantity| {
                view.against_in("added one-way latency", Measure::Seconds, 1e-6, quantity)
            };
            vec![by(&SHORT), by(&LONG)]
        },
    }),
};

const SHORT: Quantity =
    Quantity { key: "short", name: "answer of 1 B", unit: "us", of: |run| mean(run, 0) * 1e6 };
const LONG: Quantity =
    Quantity { key: "long", name: "answer of 1 MB", unit: "ms", of: |run| mean(run, 1) * 1e3 };

fn mean(run: &RunRecord, group: u16) -> f64 {
    let all = round_trips(run, group);
    all.iter().sum::<f64>() / all.len().max(1) as f64
}

fn set(scenario: &mut Scenario, us: u32) -> String {
    let bumps = scenario.scheme.iter_mut().filter_map(|scheme| scheme.bump.as_mut());
    bumps.for_each(|bump| bump.latency = Time::us(us.into()));
    format!("{us} us")
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let row = |point: &Measured| {
        let base = point.x == 0;
        let paper = |value| base.then_some(Stated::About(value));
        let short = "the 50 us of each link, which represent the paper's hosts, are derived from this value";
        let long = "the paper's value includes its hosts' TCP; its dependence on latency is only in the figure";
        [point.row("bump", &SHORT, paper(213.0), short), point.row("bump", &LONG, paper(9.0), long)]
    };
    points.iter().flat_map(row).flatten().collect()
}
