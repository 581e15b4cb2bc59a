//! The time until new flows are served: Figure 22.

use crate::draw::{Values, View};
use crate::quantity::{percentile, rates, samples};
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_report::plot::{Division, Figure, Measure};

/// Figure 22.
pub(super) const RESPONSE: Experiment = Experiment {
    id: "xco-10",
    about: "Figure 22: two sets of three UDP senders take turns every 2 s",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/xco-10.toml",
        text: include_str!("../../../../../scenarios/reproduce/xco-10.toml"),
        axis: &[2],
        set: |_, seconds| format!("every {seconds} s"),
        compare,
        figures,
    }),
};

/// The times at which one set follows the other, in seconds.
const TURNS: [f64; 4] = [2.0, 4.0, 6.0, 8.0];
/// The time before and after a turn that is evaluated, in seconds.
const AROUND: f64 = 0.05;
/// An interval below this fraction of the usual rate belongs to the gap.
const LOW: f64 = 0.9;

const GAP: Quantity = Quantity { key: "gap", name: "longest gap at a turn", unit: "ms", of: gap };
const PEAK: Quantity =
    Quantity { key: "rate", name: "usual throughput of the link", unit: "Mbit/s", of: usual };

/// Throughput of the receiver's link over time.
fn time_series(run: &RunRecord) -> Vec<(f64, f64)> {
    rates(&samples(run, "tor1", "h6"))
}

fn usual(run: &RunRecord) -> f64 {
    let all: Vec<f64> = time_series(run).iter().map(|(_, rate)| *rate).collect();
    percentile(&all, 50.0) / 1e6
}

/// The longest time over all turns in which the rate stayed low.
fn gap(run: &RunRecord) -> f64 {
    let low = LOW * usual(run) * 1e6;
    let time_series = time_series(run);
    let step = time_series.windows(2).next().map_or(0.0, |pair| pair[1].0 - pair[0].0);
    let longest = |turn: f64| {
        let near = time_series.iter().filter(|(at, _)| (at - turn).abs() < AROUND);
        let mut span = (0, 0);
        for (_, rate) in near {
            let now = if *rate < low { span.0 + 1 } else { 0 };
            span = (now, span.1.max(now));
        }
        span.1 as f64 * step * 1e3
    };
    TURNS.map(longest).into_iter().fold(0.0, f64::max)
}

/// The throughput around the first turn, with times relative to it, as means over milliseconds as in the paper.
fn first_turn(run: &RunRecord) -> Vec<(f64, f64)> {
    let near = |(at, _): &(f64, f64)| (at - TURNS[0]).abs() < AROUND;
    let fine: Vec<(f64, f64)> = time_series(run).into_iter().filter(near).collect();
    let mean = |part: &[(f64, f64)]| {
        let n = part.len() as f64;
        let (at, rate) = part.iter().fold((0.0, 0.0), |sum, p| (sum.0 + p.0, sum.1 + p.1));
        (at / n - TURNS[0], rate / n)
    };
    fine.chunks(10).map(mean).collect()
}

fn figures(view: &View) -> Vec<Figure> {
    let turn = Values {
        id: "turn",
        title: "Throughput of the receiver's link, 1 ms means; the first turn is at 0",
        label: "throughput",
        unit: Measure::BitsPerSecond,
        scale: Division::Linear,
    };
    vec![view.time_series(2, &turn, first_turn)]
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let gap = "most of the paper's 10 ms are the start of processes in virtual machines, which are not modelled; \
               control takes less than 1 ms of them. Ours is only control: a report, a decision, a permission";
    let none = "no number in the text";
    let of = |point: &Measured| {
        [
            point.row(
                "without",
                &GAP,
                None,
                "not in the text: the flows themselves, without control",
            ),
            point.row("without", &PEAK, None, none),
            point.row("timeslice", &GAP, Some(Stated::Under(10.0)), gap),
            point.row("timeslice", &PEAK, None, none),
        ]
    };
    points.iter().flat_map(of).flatten().collect()
}
