//! A link whose rate flaps between 10 and 1 Gbit/s: Figures 12 and 13.

use crate::draw::{Values, View};
use crate::quantity::{rates, samples};
use crate::{Experiment, Measured, Quantity, Row, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_net::units::Bytes;
use slotline_report::plot::{Division, Figure, Measure};
use slotline_scenario::Scenario;

/// Figures 12 and 13.
pub(super) const FLAPPING: Experiment = Experiment {
    id: "tdma-8",
    about: "Figures 12 and 13: TCP over a link that changes between 10 and 1 Gbit/s every 10 ms",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/tdma-8.toml",
        text: include_str!("../../../../../scenarios/reproduce/tdma-8.toml"),
        axis: &[30, 64, 100, 150, 300],
        set: set_buffer,
        compare,
        figures,
    }),
};

/// Gives the port between the rates a buffer of `kilobytes`. The paper's switch is a host, whose buffer it does not state.
fn set_buffer(scenario: &mut Scenario, kilobytes: u32) -> String {
    for scheme in &mut scenario.scheme {
        scheme.queue.limit = Bytes(u64::from(kilobytes) * 1_000);
    }
    format!("buffer of {kilobytes} KB")
}

/// The number of samples over which the bandwidth is averaged: 2.5 ms of 500 us each, as in the paper.
const SMOOTH: usize = 5;
/// The buffer whose course is drawn, in kilobytes.
const SHOWN: u32 = 64;
/// The time between changes of the rate in seconds.
const PERIOD: f64 = 10e-3;

const FAST: Quantity = mean("fast", "throughput in the 10 Gbit/s phases", |run| phase(run, 0));
const SLOW: Quantity = mean("slow", "throughput in the 1 Gbit/s phases", |run| phase(run, 1));
const BELOW: Quantity = Quantity {
    key: "below",
    name: "time below 0.9 Gbit/s",
    unit: "%",
    of: |run| {
        let time_series = smoothed(run);
        let low = time_series.iter().filter(|(_, rate)| *rate < 0.9e9).count();
        100.0 * low as f64 / time_series.len().max(1) as f64
    },
};

const fn mean(key: &'static str, name: &'static str, of: fn(&RunRecord) -> f64) -> Quantity {
    Quantity { key, name, unit: "Gbit/s", of }
}

fn time_series(run: &RunRecord) -> Vec<(f64, f64)> {
    rates(&samples(run, "s0", "h1"))
}

/// Means of neighbouring intervals.
fn smoothed(run: &RunRecord) -> Vec<(f64, f64)> {
    let part = |part: &[(f64, f64)]| {
        (part[SMOOTH - 1].0, part.iter().map(|(_, rate)| rate).sum::<f64>() / SMOOTH as f64)
    };
    time_series(run).windows(SMOOTH).map(part).collect()
}

/// Mean throughput in even (0) or odd (1) periods, without the first two.
fn phase(run: &RunRecord, odd: u64) -> f64 {
    let own = |(at, _): &(f64, f64)| *at > 2.0 * PERIOD && (at / PERIOD) as u64 % 2 == odd;
    let all: Vec<f64> = time_series(run).into_iter().filter(own).map(|(_, rate)| rate).collect();
    all.iter().sum::<f64>() / all.len().max(1) as f64 / 1e9
}

fn figures(view: &View) -> Vec<Figure> {
    let values = Values {
        id: "course",
        title: "Bandwidth at the receiver, means of 2.5 ms",
        label: "bandwidth",
        unit: Measure::BitsPerSecond,
        scale: Division::Linear,
    };
    vec![
        view.time_series(SHOWN, &values, smoothed),
        view.bars("fast", "Throughput in the 10 Gbit/s phases", &[FAST]),
    ]
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let ramp = "\"does not ramp up quickly enough\": no number in the text";
    let drops = "\"frequently drops to below 1 Gbit/s\": no number in the text";
    let follows = "no number in the text: the figure's TCP flow follows the capacity. Ours learns a new rate in the \
                   next round";
    let of = |point: &Measured| {
        [
            point.row("tcp", &FAST, None, ramp),
            point.row("tcp", &SLOW, None, drops),
            point.row("tcp", &BELOW, None, drops),
            point.row("tdma", &FAST, None, follows),
            point.row("tdma", &SLOW, None, follows),
            point.row("tdma", &BELOW, None, follows),
        ]
    };
    points.iter().flat_map(of).flatten().collect()
}
