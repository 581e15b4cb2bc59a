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
        axis: &BUFFERS,
        set: set_buffer,
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
        axis: &BUFFERS,
        set: set_buffer,
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

/// The buffers of a port in kilobytes. The paper does not state its switch's. At 0 the buffer is that of the scenario
/// and the transfer is a tenth as long.
const BUFFERS: [u32; 6] = [30, 60, 100, 300, 1000, 0];
/// The buffer of the scenario.
const OWN: u32 = 100;

fn set_buffer(scenario: &mut Scenario, kb: u32) -> String {
    for scheme in scenario.scheme.iter_mut().filter(|_| kb > 0) {
        scheme.queue.limit = Bytes(u64::from(kb) * 1_000);
    }
    for workload in &mut scenario.workload {
        if let WorkloadSpec::Shuffle(shuffle) = workload
            && kb == 0
        {
            shuffle.size = Bytes(shuffle.size.0 / 10);
        }
    }
    match kb {
        0 => format!("buffer of {OWN} KB, a tenth as long"),
        _ => format!("buffer of {kb} KB"),
    }
}

fn scaled(run: &RunRecord) -> f64 {
    let size = run.flows.first().map_or(1, |flow| flow.bytes);
    ended_ps(run) as f64 / 1e12 * 10e9 / size as f64
}

fn figures(view: &View) -> Vec<Figure> {
    let times = Values {
        id: "flows",
        title: "When each flow is complete, buffer of 100 KB",
        label: "time",
        unit: Measure::Seconds,
        scale: Division::Linear,
    };
    vec![
        view.distribution(OWN, &times, |run| completion_times(run, |_| true), &[]),
        view.against_in("buffer of a port", Measure::Bytes, 1e3, &SCALED),
    ]
}

const TIMEOUTS: Quantity = Quantity {
    key: "timeouts",
    name: "time-outs of a flow",
    unit: "1",
    of: |run| {
        let all: u64 = run.flows.iter().map(|flow| u64::from(flow.timeouts)).sum();
        all as f64 / run.flows.len().max(1) as f64
    },
};

fn compare(points: &[Measured], paper: &Paper) -> Vec<Row> {
    let tcp = "the paper does not state its switch's buffer";
    let tdma = "beyond the ideal: guard times (5 %), headers and framing of jumbo frames (1 %), which the paper's \
                ideal leaves out, and 1 % of the links for acknowledgements";
    let of = |point: &Measured| {
        let ratio = TimesOver { of: "tdma", over: mean(point, "tcp") };
        let ideal = TimesOver { of: "tdma", over: paper.ideal };
        let mut rows = vec![
            point.row("tcp", &SCALED, Some(Stated::About(paper.tcp)), tcp),
            point.row("tcp", &TIMEOUTS, None, ""),
            point.row("tdma", &SCALED, Some(Stated::About(paper.tdma)), tdma),
            ratio.row(point, "time over TCP's", paper.tdma / paper.tcp),
            ideal.row(point, "time over the ideal", paper.tdma / paper.ideal),
        ];
        if point.x == 0 {
            // This point is not on the axis of buffers.
            rows.iter_mut().flatten().for_each(|row| row.x = None);
        }
        rows
    };
    points.iter().flat_map(of).flatten().collect()
}

/// The mean over seeds of a scheme's time.
fn mean(point: &Measured, scheme: &str) -> f64 {
    point.mean(scheme, scaled).map_or(f64::NAN, |estimate| estimate.mean)
}

/// The time of a scheme divided by another time.
struct TimesOver {
    of: &'static str,
    over: f64,
}

impl TimesOver {
    fn row(&self, point: &Measured, quantity: &'static str, stated: f64) -> Option<Row> {
        Some(Row {
            x: None,
            point: point.setup.clone(),
            scheme: self.of.into(),
            quantity,
            unit: "1",
            paper: Some(Stated::About(stated)),
            ours: point.mean(self.of, |run| scaled(run) / self.over)?,
            note: String::new(),
        })
    }
}
