//! Random early detection in a bump: Figure 5.14.

use super::{BUFFERS, SHARED, set_buffer};
use crate::draw::Values;
use crate::quantity::{goodput, percentile, samples};
use crate::{Experiment, Measured, Quantity, Row, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_report::plot::{Division, Measure};

/// Figure 5.14.
pub(super) const RED: Experiment = Experiment {
    id: "nb-5",
    about: "Figure 5.14: the queue behind a bump that does RED, for two max_p, four TCP flows, 1 Gbit/s",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/nb-5.toml",
        text: include_str!("../../../../../scenarios/reproduce/nb-5.toml"),
        axis: &BUFFERS,
        set: set_buffer,
        compare,
        figures: |view| {
            let time_series = Values {
                id: "queue",
                title: "Queue over time",
                label: "queue",
                unit: Measure::Bytes,
                scale: Division::LinearFirst,
            };
            let cdf = Values { id: "cdf", title: "Distribution of the queue", ..time_series };
            let points = |run: &RunRecord| {
                let all = samples(run, "s1", "h4").into_iter();
                all.map(|s| (s.t_ps as f64 / 1e12, s.queue_bytes as f64)).collect()
            };
            vec![
                view.time_series(SHARED, &time_series, points),
                view.distribution(SHARED, &cdf, queue, &[]),
            ]
        },
    }),
};

const MEAN: Quantity = Quantity {
    key: "mean",
    name: "mean queue",
    unit: "KB",
    of: |run| {
        let all = queue(run);
        all.iter().sum::<f64>() / all.len().max(1) as f64 / 1e3
    },
};
const P95: Quantity = Quantity {
    key: "p95",
    name: "95th percentile of the queue",
    unit: "KB",
    of: |run| percentile(&queue(run), 95.0) / 1e3,
};
const RATE: Quantity =
    Quantity { key: "goodput", name: "goodput", unit: "Mbit/s", of: |run| goodput(run, |_| true) };

/// The time from which the rates of flows are stable, in picoseconds.
const STEADY_FROM_PS: u64 = 200_000_000_000;

fn queue(run: &RunRecord) -> Vec<f64> {
    let all = samples(run, "s1", "h4").into_iter().filter(|sample| sample.t_ps >= STEADY_FROM_PS);
    all.map(|sample| sample.queue_bytes as f64).collect()
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let note = "no number in the text: \"reduced buffering given a higher marking probability\"; it does not say \
                which two max_p";
    let of = |point: &Measured| {
        ["drop-tail", "red 0.01", "red 0.1"].map(|scheme| {
            [MEAN, P95, RATE].map(|quantity| point.row(scheme, &quantity, None, note))
        })
    };
    points.iter().flat_map(of).flatten().flatten().collect()
}
