//! Retransmissions of a web-like service: §7.4, experiment H.

use crate::draw::{Values, View};
use crate::quantity::completion_times;
use crate::{Experiment, Measured, Quantity, Row, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_report::plot::{Division, Figure, Measure};

/// Experiment H.
pub(super) const SERVICE: Experiment = Experiment {
    id: "fp-H",
    about: "Experiment H: retransmissions under a latency-sensitive service of web servers and caches",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/fp-H.toml",
        text: include_str!("../../../../../scenarios/reproduce/fp-H.toml"),
        axis: &[32],
        set: |_, hosts| format!("{hosts} hosts"),
        compare,
        figures,
    }),
};

const AGAIN: Quantity = Quantity {
    key: "again",
    name: "retransmissions",
    unit: "1",
    of: |run| run.flows.iter().map(|flow| f64::from(flow.retransmits)).sum(),
};
const TIMEOUTS: Quantity = Quantity {
    key: "timeouts",
    name: "time-outs",
    unit: "1",
    of: |run| run.flows.iter().map(|flow| f64::from(flow.timeouts)).sum(),
};

fn figures(view: &View) -> Vec<Figure> {
    let values = Values {
        id: "cdf",
        title: "Completion times of responses",
        label: "completion time",
        unit: Measure::Seconds,
        scale: Division::LogFirst,
    };
    vec![
        view.distribution(32, &values, |run: &RunRecord| completion_times(run, |_| true), &[]),
        view.bars("again", "Retransmissions", &[AGAIN, TIMEOUTS]),
    ]
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let note = "the paper measures a company's production service; ours is an on/off service of the same kind: web \
                servers send requests to many caches at once";
    let ratio = "the paper has about 2.5 times fewer than without Fastpass: only part of its rack used Fastpass' schedule \
                 for what it received, and the rest of the data center was not scheduled; in ours all hosts are \
                 scheduled, and nothing is lost, so there is no ratio to compare";
    let of = |point: &Measured| {
        Some([
            point.row("baseline", &AGAIN, None, note)?,
            point.row("fastpass", &AGAIN, None, ratio)?,
            point.row("baseline", &TIMEOUTS, None, note)?,
            point.row("fastpass", &TIMEOUTS, None, note)?,
        ])
    };
    points.iter().filter_map(of).flatten().collect()
}
