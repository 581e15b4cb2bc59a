//! All disciplines at one port: Fastpass's bulk transfer without an arbiter.

use crate::draw::Values;
use crate::quantity::{goodput, percentile, samples};
use crate::{Experiment, Measured, Quantity, Row, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_report::plot::{Division, Measure};

/// The baseline of experiment A of Fastpass under each discipline.
pub(super) const ALL: Experiment = Experiment {
    id: "nb-A",
    about: "Queue and throughput of Fastpass's bulk transfer (fp-A's baseline) under each discipline",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/nb-A.toml",
        text: include_str!("../../../../../scenarios/reproduce/nb-A.toml"),
        axis: &[80],
        set: |_, flows| format!("{flows} flows"),
        compare,
        figures: |view| {
            let cdf = Values {
                id: "cdf",
                title: "Distribution of the queue",
                label: "queue",
                unit: Measure::Bytes,
                scale: Division::LogFirst,
            };
            vec![view.distribution(80, &cdf, queue, &[]), view.bars("rate", "Goodput", &[RATE])]
        },
    }),
};

const MEDIAN: Quantity =
    Quantity { key: "median", name: "median queue", unit: "KB", of: |run| queue_at(run, 50.0) };
const P99: Quantity = Quantity {
    key: "p99",
    name: "99th percentile of the queue",
    unit: "KB",
    of: |run| queue_at(run, 99.0),
};
const RATE: Quantity = Quantity {
    key: "goodput",
    name: "goodput",
    unit: "Gbit/s",
    of: |run| goodput(run, |_| true) / 1e3,
};
const DROPS: Quantity = Quantity {
    key: "drops",
    name: "packets dropped",
    unit: "",
    of: |run| run.census.lost() as f64,
};

/// The time from which the rates of flows are stable, in picoseconds.
const STEADY_FROM_PS: u64 = 200_000_000_000;

fn queue(run: &RunRecord) -> Vec<f64> {
    let all = samples(run, "s0", "h4").into_iter().filter(|sample| sample.t_ps >= STEADY_FROM_PS);
    all.map(|sample| sample.queue_bytes as f64).collect()
}

fn queue_at(run: &RunRecord, percent: f64) -> f64 {
    percentile(&queue(run), percent) / 1e3
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let note = "not in the paper";
    let of = |point: &Measured| {
        ["drop-tail", "red", "dctcp", "codel", "pie", "avq", "qcn"].map(|scheme| {
            [MEDIAN, P99, RATE, DROPS].map(|quantity| point.row(scheme, &quantity, None, note))
        })
    };
    points.iter().flat_map(of).flatten().flatten().collect()
}
