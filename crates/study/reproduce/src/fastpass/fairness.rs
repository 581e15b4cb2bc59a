//! How evenly senders share a receiver: §7.1, experiment C.

use crate::draw::{Values, View};
use crate::quantity::{rates, samples};
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_report::plot::{Division, Figure, Measure};

/// Experiment C.
pub(super) const FAIRNESS: Experiment = Experiment {
    id: "fp-C",
    about: "Experiment C: deviation of five senders' throughput, who join and leave one after the other",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/fp-C.toml",
        text: include_str!("../../../../../scenarios/reproduce/fp-C.toml"),
        axis: &[5],
        set: |_, senders| format!("{senders} senders"),
        compare,
        figures,
    }),
};

/// The span in which all five senders are active, in seconds: see the scenario.
const ALL: std::ops::Range<f64> = 1.0..11.0;
/// Samples in a second.
const SECOND: usize = 10;

const DEVIATION: Quantity = Quantity {
    key: "deviation",
    name: "standard deviation of throughput over 1 s",
    unit: "Mbit/s",
    of: deviation,
};

/// Throughput of one sender's rack over time.
fn time_series(run: &RunRecord, sender: usize) -> Vec<(f64, f64)> {
    rates(&samples(run, &format!("tor{}", sender + 1), "core"))
}

/// The standard deviation of the five senders' rates in a second, averaged over the seconds in which all are active.
fn deviation(run: &RunRecord) -> f64 {
    let all_series: Vec<Vec<(f64, f64)>> = (0..5).map(|sender| time_series(run, sender)).collect();
    let intervals = all_series.iter().map(Vec::len).min().unwrap_or(0);
    let inside: Vec<usize> =
        (0..intervals).filter(|&at| ALL.contains(&all_series[0][at].0)).collect();
    let spread = |second: &[usize]| {
        let rate = |time_series: &Vec<(f64, f64)>| {
            second.iter().map(|&at| time_series[at].1 / 1e6).sum::<f64>() / second.len() as f64
        };
        let rates: Vec<f64> = all_series.iter().map(rate).collect();
        let mean = rates.iter().sum::<f64>() / 5.0;
        (rates.iter().map(|rate| (rate - mean) * (rate - mean)).sum::<f64>() / 4.0).sqrt()
    };
    let all: Vec<f64> = inside.chunks(SECOND).map(spread).collect();
    all.iter().sum::<f64>() / all.len().max(1) as f64
}

fn figures(view: &View) -> Vec<Figure> {
    let values = Values {
        id: "first",
        title: "Throughput of the first sender, who stays throughout",
        label: "throughput",
        unit: Measure::BitsPerSecond,
        scale: Division::LinearFirst,
    };
    vec![
        view.time_series(5, &values, |run| time_series(run, 0)),
        view.bars("deviation", "Deviation of throughput", &[DEVIATION]),
    ]
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let note = "the text has only the ratio; ours is measured over ten seconds, after senders joined every 0.2 s \
                instead of every 30 s, at ports that carry the senders' data alone";
    let ratio = "how uneven TCP is depends on how the windows of its flows are synchronised";
    let of = |point: &Measured| {
        let mean = |scheme| point.mean(scheme, deviation).map_or(f64::NAN, |e| e.mean);
        let times = mean("baseline") / mean("fastpass").max(1e-9);
        let lower = Row {
            x: None,
            quantity: "times lower".into(),
            unit: "1".into(),
            paper: Some(Stated::Over(5_200.0)),
            ours: point.mean("fastpass", |_| times)?,
            ..point.row("fastpass", &DEVIATION, None, ratio)?
        };
        Some([
            point.row("baseline", &DEVIATION, None, note)?,
            point.row("fastpass", &DEVIATION, None, note)?,
            lower,
        ])
    };
    points.iter().filter_map(of).flatten().collect()
}
