//! DCTCP by marks of a bump: Figure 5.16. It is no data, because fairness is that of rates at five ports at each moment.

use super::{BUFFERS, SHARED, set_buffer};
use crate::draw::Values;
use crate::quantity::{rates, samples};
use crate::{Experiment, Measured, Quantity, Row, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_report::plot::{Division, Measure};

/// Figure 5.16.
pub(super) const CONVERGENCE: Experiment = Experiment {
    id: "nb-6",
    about: "Figure 5.16: five flows that join one after another, TCP and DCTCP with a bump, 1 Gbit/s",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/nb-6.toml",
        text: include_str!("../../../../../scenarios/reproduce/nb-6.toml"),
        axis: &BUFFERS,
        set: set_buffer,
        compare: convergence,
        figures: |view| {
            let first = Values {
                id: "first",
                title: "Throughput of the first flow",
                label: "throughput",
                unit: Measure::BitsPerSecond,
                scale: Division::LinearFirst,
            };
            let last = Values { id: "last", title: "Throughput of the last flow", ..first };
            vec![
                view.time_series(SHARED, &first, |run| rates(&samples(run, "t0", "s0"))),
                view.time_series(SHARED, &last, |run| rates(&samples(run, "t4", "s0"))),
                view.bars("fairness", "Fairness of five flows", &[JAIN, WORST]),
            ]
        },
    }),
};

/// The nodes in front of the senders of nb-6, which measure what they send.
const SENDERS: [&str; 5] = ["t0", "t1", "t2", "t3", "t4"];
/// The time from which all five flows have been active for 5 of 125 s.
fn steady_from(run: &RunRecord) -> f64 {
    (run.engine.sim_time_ps / 125 * 105) as f64 / 1e12
}
const JAIN: Quantity = Quantity {
    key: "jain",
    name: "Jain's index of five flows, over 20 s",
    unit: "",
    of: |run| jain(&shares(run)),
};
const WORST: Quantity = Quantity {
    key: "worst",
    name: "Jain's index in the worst 100 ms",
    unit: "",
    of: |run| each_moment(run).iter().map(|at| jain(at)).fold(1.0, f64::min),
};
const USE: Quantity = Quantity {
    key: "use",
    name: "goodput of all",
    unit: "Mbit/s",
    of: |run| shares(run).iter().sum::<f64>() / 1e6,
};
fn steady(run: &RunRecord, node: &str) -> Vec<f64> {
    let all = rates(&samples(run, node, "s0")).into_iter();
    all.filter(|(at, _)| *at >= steady_from(run)).map(|(_, rate)| rate).collect()
}

/// The mean rate of each flow while all five are there.
fn shares(run: &RunRecord) -> Vec<f64> {
    let mean = |rates: Vec<f64>| rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    SENDERS.iter().map(|node| mean(steady(run, node))).collect()
}

/// The rates of all five flows, in each sampling interval.
fn each_moment(run: &RunRecord) -> Vec<Vec<f64>> {
    let flows: Vec<Vec<f64>> = SENDERS.iter().map(|node| steady(run, node)).collect();
    let moments = flows.iter().map(Vec::len).min().unwrap_or(0);
    (0..moments).map(|at| flows.iter().map(|flow| flow[at]).collect()).collect()
}

fn jain(rates: &[f64]) -> f64 {
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(s, q), r| (s + r, q + r * r));
    if squares > 0.0 { sum * sum / (rates.len() as f64 * squares) } else { 0.0 }
}

fn convergence(points: &[Measured]) -> Vec<Row> {
    let note = "no number in the text: TCP \"unfairly\" with \"wide oscillation\", DCTCP \"fair\"";
    let of = |point: &Measured| {
        ["tcp", "dctcp"].map(|scheme| {
            [JAIN, WORST, USE].map(|quantity| point.row(scheme, &quantity, None, note))
        })
    };
    points.iter().flat_map(of).flatten().flatten().collect()
}
