//! Round trips under load: Figures 8 and 18.

use crate::draw::{Values, View};
use crate::quantity::{percentile, round_trips, round_trips_over_time};
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_net::workload::WorkloadSpec;
use slotline_report::plot::{Division, Figure, Measure};
use slotline_scenario::Scenario;

/// Figures 8 and 18.
pub(super) const PING: Experiment = Experiment {
    id: "xco-6",
    about: "Figures 8 and 18: ping across 10 Gbit/s that a mix of TCP and UDP saturates",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/xco-6.toml",
        text: include_str!("../../../../../scenarios/reproduce/xco-6.toml"),
        axis: &[0, 13],
        set: set_senders,
        compare,
        figures,
    }),
};

/// The workload of the pings, which is the first one.
const PINGS: u16 = 0;

const LEAST: Quantity = quantity("least", "least round trip", |run| at(run, 0.0));
const MEDIAN: Quantity = quantity("median", "median round trip", |run| at(run, 50.0));
const MOST: Quantity = quantity("most", "longest round trip", |run| at(run, 100.0));
const LOST: Quantity = Quantity {
    key: "lost",
    name: "pings without an answer",
    unit: "%",
    of: |run| {
        let sent = run.flows.iter().filter(|flow| flow.group == PINGS && flow.request).count();
        100.0 * (1.0 - round_trips(run, PINGS).len() as f64 / sent.max(1) as f64)
    },
};

const fn quantity(key: &'static str, name: &'static str, of: fn(&RunRecord) -> f64) -> Quantity {
    Quantity { key, name, unit: "us", of }
}

fn at(run: &RunRecord, percent: f64) -> f64 {
    percentile(&round_trips(run, PINGS), percent) * 1e6
}

/// Sets the number of senders. Without any, the ping is alone.
fn set_senders(scenario: &mut Scenario, senders: u32) -> String {
    scenario.workload.retain(|workload| senders > 0 || matches!(workload, WorkloadSpec::Probe(_)));
    match senders {
        0 => "idle".into(),
        n => format!("{n} senders"),
    }
}

fn figures(view: &View) -> Vec<Figure> {
    let time = Values {
        id: "course",
        title: "Round trips over time, beside 13 senders",
        label: "round trip",
        unit: Measure::Seconds,
        scale: Division::LinearFirst,
    };
    let all = Values { id: "cdf", title: "Round trips beside 13 senders", ..time };
    let loaded = 13;
    vec![
        view.time_series(loaded, &time, |run| round_trips_over_time(run, PINGS)),
        view.distribution(loaded, &all, |run| round_trips(run, PINGS), &[]),
    ]
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let idle = "by construction: the delays of the links add up to it";
    let least = "the least of the paper's range; ours is that of the empty path if a ping finds short queues";
    let most = "the end of the paper's range; our queues cannot be longer than a port's 128 KiB, which the \
                10 Gbit/s link drains in 0.1 ms: for 20 ms the paper's switch, or its hosts, must have held far \
                more";
    let slices = "in ours nothing queues in the network, as no more is permitted than the link carries; the \
                  paper's 2 ms must come from its hosts: the ping's machine has to be scheduled, too";
    let none = "no number in the text";
    let of = |point: &Measured| match point.x {
        0 => vec![point.row("without", &MEDIAN, Some(Stated::About(86.0)), idle)],
        _ => vec![
            point.row("without", &LEAST, Some(Stated::About(100.0)), least),
            point.row("without", &MEDIAN, None, none),
            point.row("without", &MOST, Some(Stated::About(20_000.0)), most),
            point.row(
                "without",
                &LOST,
                None,
                "not in the text; a small packet often finds room where a full one does not",
            ),
            point.row("timeslice", &LEAST, Some(Stated::About(100.0)), slices),
            point.row("timeslice", &MEDIAN, None, none),
            point.row("timeslice", &MOST, Some(Stated::About(2_000.0)), slices),
            point.row("timeslice", &LOST, None, none),
        ],
    };
    points.iter().flat_map(of).flatten().collect()
}
