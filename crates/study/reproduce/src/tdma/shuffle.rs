//! All-to-all transfers: Figures 7 and 8.

use crate::draw::{Values, View};
use crate::quantity::{completion_times, ended_ps};
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_net::units::Bytes;
use slotline_net::workload::WorkloadSpec;
use slotline_report::plot::{Division, Figure, Measure};
use slotline_scenario::Scenario;

/// Figure 7.
pub(super) const ONE_SWITCH: Experiment = Experiment {
    id: "tdma-4",
    about: "Figure 7: all-to-all among 24 hosts at one switch, scaled to 10 GB for each pair",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/tdma-4.toml",
        text: include_str!("../../../../../scenarios/reproduce/tdma-4.toml"),
        axis: &[10, 40],
        set: set_size,
        compare: |points| compare(points, &Paper { tcp: 225.0, tdma: 194.0, ideal: 184.0 }),
        figures,
    }),
};

/// Figure 8.
pub(super) const TREE: Experiment = Experiment {
    id: "tdma-5",
    about: "Figure 8: all-to-all among 24 hosts at three switches below a fourth, scaled to 10 GB",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/tdma-5.toml",
        text: include_str!("../../../../../scenarios/reproduce/tdma-5.toml"),
        axis: &[10, 40],
        set: set_size,
        compare: |points| compare(points, &Paper { tcp: 1225.0, tdma: 1075.0, ideal: 1024.0 }),
        figures,
    }),
};

/// The paper's values for 10 GB, in seconds.
struct Paper {
    tcp: f64,
    tdma: f64,
    ideal: f64,
}

const SCALED: Quantity =
    Quantity { key: "time", name: "time, scaled to 10 GB", unit: "s", of: scaled };

fn set_size(scenario: &mut Scenario, mb: u32) -> String {
    for workload in &mut scenario.workload {
        if let WorkloadSpec::Shuffle(shuffle) = workload {
            shuffle.size = Bytes(u64::from(mb) * 1_000_000);
        }
    }
    format!("{mb} MB")
}

fn scaled(run: &RunRecord) -> f64 {
    let size = run.flows.first().map_or(1, |flow| flow.bytes);
    ended_ps(run) as f64 / 1e12 * 10e9 / size as f64
}

fn figures(view: &View) -> Vec<Figure> {
    let times = Values {
        id: "flows",
        title: "When each flow is complete, 40 MB",
        label: "time",
        unit: Measure::Seconds,
        scale: Division::Linear,
    };
    vec![
        view.distribution(40, &times, |run| completion_times(run, |_| true), &[]),
        view.against_in("transfer", Measure::Bytes, 1e6, &SCALED),
    ]
}

fn compare(points: &[Measured], paper: &Paper) -> Vec<Row> {
    let tcp = "the paper measures TCP of Linux 2.6.32, with its hosts' interrupts and buffers; ours is CUBIC in a \
               network without them";
    let tdma = "beyond the ideal: guard times (5 %), headers and framing of packets (5.3 %), which the paper's ideal \
                leaves out, and 1 % of the links for acknowledgements; the last slot of each pair, which is not full, \
                and the last rounds weigh less with larger transfers";
    let of = |point: &Measured| {
        [
            point.row("tcp", &SCALED, Some(Stated::About(paper.tcp)), tcp),
            point.row("tdma", &SCALED, Some(Stated::About(paper.tdma)), tdma),
        ]
    };
    let mut rows: Vec<Row> = points.iter().flat_map(of).flatten().collect();
    rows.extend(ratio(points, paper));
    rows
}

/// TDMA's time divided by TCP's and by the ideal, with the largest transfer; and its time for the difference between
/// the largest and the smallest transfer, which excludes the beginning and the end.
fn ratio(points: &[Measured], paper: &Paper) -> Vec<Row> {
    let (Some(first), Some(point)) = (points.first(), points.last()) else { return vec![] };
    let mean = |scheme| point.mean(scheme, scaled).map_or(f64::NAN, |estimate| estimate.mean);
    let row = |quantity, unit, stated: f64, ours: f64, note: &str| {
        Some(Row {
            x: None,
            point: point.setup.clone(),
            scheme: "tdma".into(),
            quantity,
            unit,
            paper: Some(Stated::About(stated)),
            ours: point.mean("tdma", |_| ours)?,
            note: note.into(),
        })
    };
    let (tcp, tdma) = (mean("tcp"), mean("tdma"));
    let seconds = |of: &Measured| {
        of.mean("tdma", |run| ended_ps(run) as f64 / 1e12).map_or(f64::NAN, |e| e.mean)
    };
    let more = f64::from(point.x) - f64::from(first.x);
    let further = (seconds(point) - seconds(first)) / more * 10e3;
    let without =
        "without the rounds at the beginning and the end: the larger transfer less the smaller one";
    [
        row("time over TCP's", "1", paper.tdma / paper.tcp, tdma / tcp, ""),
        row("time over the ideal", "1", paper.tdma / paper.ideal, tdma / paper.ideal, ""),
        row("time of further bytes, scaled to 10 GB", "s", paper.tdma, further, without),
    ]
    .into_iter()
    .flatten()
    .collect()
}
