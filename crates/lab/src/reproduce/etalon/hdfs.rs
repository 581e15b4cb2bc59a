//! Files written to HDFS, with replicas in any rack or in the next: Figures 19 to 22.

use crate::output::report::plot::{Division, Figure, Measure};
use crate::record::{FlowRow, RunRecord};
use crate::reproduce::draw::{Values, View};
use crate::reproduce::quantity::{completion_times, ended_ps, percentile};
use crate::reproduce::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use crate::scenario::Scenario;
use crate::statistics::Estimate;
use slotline_net::workload::WorkloadSpec;
use slotline_net::workload::hdfs::Placement;

/// Figures 19 to 22.
pub(super) const WRITES: Experiment = Experiment {
    id: "et-8",
    about: "Figures 19 to 22: DFSIO writes 64 files of 400 MB, with HDFS' placement and reHDFS'; scaled from 50 MB",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/et-8.toml",
        text: include_str!("../../../../../scenarios/reproduce/et-8.toml"),
        axis: &[0, 1],
        set,
        compare,
        figures,
    }),
};

/// By how much files and blocks are shorter than the paper's.
const SCALE: f64 = 8.0;
/// Bytes of a whole block; the paper's times are of these.
const BLOCK: u64 = (128 << 20) / SCALE as u64;
const PLACEMENTS: [&str; 2] = ["HDFS", "reHDFS"];

const MEDIAN: Quantity = Quantity {
    key: "median",
    name: "median write time, scaled",
    unit: "s",
    of: |run| percentile(&writes(run), 50.0),
};
const TAIL: Quantity = Quantity {
    key: "tail",
    name: "99th percentile of the write time, scaled",
    unit: "s",
    of: |run| percentile(&writes(run), 99.0),
};
const LONGEST: Quantity = Quantity {
    key: "max",
    name: "longest write time, scaled",
    unit: "s",
    of: |run| percentile(&writes(run), 100.0),
};
const JOB: Quantity = Quantity {
    key: "job",
    name: "job time, scaled",
    unit: "s",
    of: |run| ended_ps(run) as f64 / 1e12 * SCALE,
};
const THROUGHPUT: Quantity = Quantity {
    key: "throughput",
    name: "bytes written over the job's time",
    unit: "Gbit/s",
    of: |run| {
        let bytes: u64 = run.flows.iter().map(|flow| flow.delivered_bytes).sum();
        bytes as f64 * 8e3 / ended_ps(run) as f64
    },
};
const ALL: [Quantity; 5] = [MEDIAN, TAIL, LONGEST, JOB, THROUGHPUT];

fn whole(flow: &FlowRow) -> bool {
    flow.bytes == BLOCK
}

/// Write times of whole blocks in seconds.
fn writes(run: &RunRecord) -> Vec<f64> {
    completion_times(run, whole).into_iter().map(|time| time * SCALE).collect()
}

fn set(scenario: &mut Scenario, x: u32) -> String {
    for workload in &mut scenario.workload {
        if let WorkloadSpec::Hdfs(hdfs) = workload {
            hdfs.placement = if x == 0 { Placement::Hdfs } else { Placement::Rehdfs };
        }
    }
    PLACEMENTS[x as usize].into()
}

fn figures(view: &View) -> Vec<Figure> {
    let values = |id, title| Values {
        id,
        title,
        label: "write time of a block, scaled",
        unit: Measure::Seconds,
        scale: Division::LogFirst,
    };
    vec![
        view.distribution(0, &values("hdfs", "HDFS: write times"), writes, &[]),
        view.distribution(1, &values("rehdfs", "reHDFS: write times"), writes, &[]),
        view.bars("tail", "99th percentile of the write time", &[TAIL]),
        view.bars("throughput", "Write throughput", &[THROUGHPUT]),
        view.bars(
            "use",
            "Utilisation of both networks",
            &[super::rings::CIRCUIT_USE, super::rings::PACKET_USE],
        ),
    ]
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let shares = [super::rings::CIRCUIT_USE, super::rings::PACKET_USE];
    let mut rows = Vec::new();
    for point in points {
        for scheme in ["voq", "resized", "reTCP"] {
            let quantities = ALL.iter().chain(&shares);
            rows.extend(quantities.filter_map(|quantity| point.row(scheme, quantity, None, "")));
        }
    }
    let [hdfs, rehdfs] = points else { return rows };
    let (slow, fast) = ((hdfs, "voq"), (rehdfs, "voq"));
    let with_resizing = (hdfs, "resized");
    let job = "the paper's job has much beside writing: with 5 times the throughput it is only 1.9 times as fast";
    let gains = [
        (MEDIAN, slow, fast, "median write time, HDFS over reHDFS", 4.7, ""),
        (TAIL, slow, fast, "99th of the write time, HDFS over reHDFS", 7.6, ""),
        (LONGEST, slow, fast, "longest write time, HDFS over reHDFS", 9.0, ""),
        (JOB, slow, fast, "job time, HDFS over reHDFS", 1.0 / 0.53, job),
        (THROUGHPUT, fast, slow, "throughput, reHDFS over HDFS", 5.0, ""),
        (
            TAIL,
            slow,
            with_resizing,
            "99th of the write time, HDFS over HDFS with resizing",
            1.0 / 0.8,
            "",
        ),
        (
            TAIL,
            with_resizing,
            fast,
            "99th of the write time, HDFS with resizing over reHDFS",
            1.0 / 0.16,
            "",
        ),
    ];
    for (quantity, over, under, name, paper, note) in gains {
        rows.extend(gain(&quantity, over, under, name, paper, note));
    }
    rows
}

/// How many times as much `over` has as `under`.
fn gain(
    quantity: &Quantity,
    over: (&Measured, &str),
    under: (&Measured, &str),
    name: &'static str,
    paper: f64,
    note: &str,
) -> Option<Row> {
    let mean = |(point, scheme): (&Measured, &str)| {
        point.mean(scheme, quantity.of).map(|estimate| estimate.mean)
    };
    Some(Row {
        x: None,
        point: String::new(),
        scheme: String::new(),
        quantity: name,
        unit: "times",
        paper: Some(Stated::About(paper)),
        ours: Estimate::of(&[mean(over)? / mean(under)?])?,
        note: note.into(),
    })
}
