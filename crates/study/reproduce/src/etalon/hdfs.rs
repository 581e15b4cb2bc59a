//! Files written to HDFS, with replicas in any rack or in the next: Figures 19 to 22.

use super::rings::{CIRCUITS, PACKETS};
use crate::draw::{Values, View};
use crate::quantity::{completion_times, ended_ps, percentile};
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::{FlowRow, RunRecord};
use slotline_lab::statistics::Estimate;
use slotline_net::time::Time;
use slotline_net::workload::WorkloadSpec;
use slotline_net::workload::hdfs::Placement;
use slotline_report::plot::{Division, Figure, Measure};
use slotline_scenario::Scenario;
use std::collections::BTreeMap;

/// Figures 19 to 22.
pub(super) const WRITES: Experiment = Experiment {
    id: "et-8",
    about: "Figures 19 to 22: DFSIO writes 64 files of 400 MB, with HDFS' placement and reHDFS'",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/et-8.toml",
        text: include_str!("../../../../../scenarios/reproduce/et-8.toml"),
        axis: &[0, 1],
        set,
        compare,
        figures,
    }),
};

/// Section 6.1's last proposal, which the paper does not measure.
pub(super) const CHANGING: Experiment = Experiment {
    id: "et-9",
    about: "Section 6.1: reHDFS whose distance between racks changes at an interval",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/et-9.toml",
        text: include_str!("../../../../../scenarios/reproduce/et-9.toml"),
        axis: &[0, 200, 100, 50, 20],
        set: set_interval,
        compare: |points| {
            let of = |point: &Measured| {
                let row = |quantity| point.row("voq", quantity, None, "");
                [&MEDIAN, &TAIL, &LONGEST, &JOB].map(row)
            };
            points.iter().flat_map(of).flatten().collect()
        },
        figures: |view| vec![view.bars("times", "Write times", &[MEDIAN, TAIL, LONGEST])],
    }),
};

/// An interval of `ms`; zero for none.
fn set_interval(scenario: &mut Scenario, ms: u32) -> String {
    for workload in &mut scenario.workload {
        if let WorkloadSpec::Hdfs(hdfs) = workload {
            hdfs.shift_every = (ms > 0).then(|| Time::ms(ms.into()));
        }
    }
    match ms {
        0 => "never".into(),
        ms => format!("every {ms} ms"),
    }
}

/// Bytes of a whole block. The paper's times are those of whole blocks.
const BLOCK: u64 = 128 << 20;
const PLACEMENTS: [&str; 2] = ["HDFS", "reHDFS"];
const SCHEMES: [&str; 3] = ["voq", "resized", "reTCP"];

const MEDIAN: Quantity = Quantity {
    key: "median",
    name: "median write time",
    unit: "ms",
    of: |run| 1e3 * percentile(&writes(run), 50.0),
};
const TAIL: Quantity = Quantity {
    key: "tail",
    name: "99th percentile of the write time",
    unit: "ms",
    of: |run| 1e3 * percentile(&writes(run), 99.0),
};
const LONGEST: Quantity = Quantity {
    key: "max",
    name: "longest write time",
    unit: "ms",
    of: |run| 1e3 * percentile(&writes(run), 100.0),
};
const JOB: Quantity =
    Quantity { key: "job", name: "job time", unit: "ms", of: |run| ended_ps(run) as f64 / 1e9 };
const THROUGHPUT: Quantity = Quantity {
    key: "throughput",
    name: "throughput as in Figure 21",
    unit: "Gbit/s",
    of: throughput,
};
const ALL: [Quantity; 7] = [MEDIAN, TAIL, LONGEST, JOB, THROUGHPUT, PACKETS, CIRCUITS];
const GIB: f64 = (1u64 << 30) as f64;

/// Figures 19 to 22 in the authors' public source. For each placement: the median and the longest write time of the
/// first scheme. For each scheme: the 99th percentile, the throughput, and GiB by the packet switch and by circuits.
const FIGURES: [([f64; 2], [[f64; 4]; 3]); 2] = [
    (
        [385.0, 1486.0],
        [[1369.0, 72.0, 15.1, 14.6], [1101.0, 87.0, 12.5, 17.3], [999.0, 86.0, 11.9, 17.7]],
    ),
    (
        [80.6, 184.0],
        [[173.0, 381.0, 0.47, 26.3], [128.0, 565.0, 0.59, 26.3], [127.0, 600.0, 0.37, 26.4]],
    ),
];

/// The value of the figures for a quantity of a scheme.
fn stated(placement: usize, scheme: usize, quantity: &Quantity) -> Option<Stated> {
    let ([median, longest], bars) = FIGURES[placement];
    let place = [TAIL, THROUGHPUT, PACKETS, CIRCUITS].iter().position(|it| it.key == quantity.key);
    match (quantity.key, place) {
        (_, Some(place)) => Some(Stated::About(bars[scheme][place])),
        ("median", _) if scheme == 0 => Some(Stated::About(median)),
        ("max", _) if scheme == 0 => Some(Stated::About(longest)),
        _ => None,
    }
}

fn whole(flow: &FlowRow) -> bool {
    flow.bytes == BLOCK
}

/// Write times of whole blocks in seconds.
fn writes(run: &RunRecord) -> Vec<f64> {
    completion_times(run, whole)
}

/// DFSIO's "throughput" as the authors compute it, in Gibit/s: bytes of all files divided by the sum of their write
/// times, times the number of files, and half of that. Each host writes one file.
fn throughput(run: &RunRecord) -> f64 {
    let mut files: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for flow in &run.flows {
        let end = if flow.finished() { flow.finish_ps } else { run.engine.sim_time_ps };
        let file = files.entry(flow.src).or_insert((u64::MAX, 0));
        *file = (file.0.min(flow.start_ps), file.1.max(end));
    }
    let bytes: u64 = run.flows.iter().map(|flow| flow.delivered_bytes).sum();
    let seconds: f64 =
        files.values().map(|(start, end)| end.saturating_sub(*start) as f64 / 1e12).sum();
    bytes as f64 * 8.0 / GIB * files.len() as f64 / seconds / 2.0
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
        label: "write time of a block",
        unit: Measure::Seconds,
        scale: Division::LogFirst,
    };
    vec![
        view.distribution(0, &values("hdfs", "HDFS: write times"), writes, &[]),
        view.distribution(1, &values("rehdfs", "reHDFS: write times"), writes, &[]),
        view.bars("tail", "99th percentile of the write time", &[TAIL]),
        view.bars("throughput", "Write throughput", &[THROUGHPUT]),
        view.bars("use", "Sent by each network", &[PACKETS, CIRCUITS]),
    ]
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (placement, point) in points.iter().enumerate() {
        for (at, scheme) in SCHEMES.into_iter().enumerate() {
            let row = |quantity| point.row(scheme, quantity, stated(placement, at, quantity), "");
            rows.extend(ALL.iter().filter_map(row));
        }
    }
    let [hdfs, rehdfs] = points else { return rows };
    let (slow, fast) = ((hdfs, "voq"), (rehdfs, "voq"));
    let with_resizing = (hdfs, "resized");
    let gains = [
        (MEDIAN, slow, fast, "median write time, HDFS over reHDFS", 4.7),
        (TAIL, slow, fast, "99th of the write time, HDFS over reHDFS", 7.6),
        (LONGEST, slow, fast, "longest write time, HDFS over reHDFS", 9.0),
        (JOB, slow, fast, "job time, HDFS over reHDFS", 1.0 / 0.53),
        (THROUGHPUT, fast, slow, "throughput, reHDFS over HDFS", 5.0),
        (TAIL, slow, with_resizing, "99th of the write time, HDFS over HDFS with resizing", 1.25),
        (
            TAIL,
            with_resizing,
            fast,
            "99th of the write time, HDFS with resizing over reHDFS",
            1.0 / 0.16,
        ),
    ];
    for (quantity, over, under, name, paper) in gains {
        rows.extend(gain(&quantity, over, under, name, paper));
    }
    // "Improves 99th percentile latency by 87% compared to HDFS", and "buffer resizing ... an additional 3%".
    let less = [("reHDFS", "voq", 87.0), ("reHDFS with resizing", "resized", 90.0)];
    rows.extend(
        less.into_iter()
            .filter_map(|(name, scheme, paper)| reduction(name, slow, (rehdfs, scheme), paper)),
    );
    rows
}

/// The reduction of the 99th percentile of `slow` in `fast`, in percent, seed by seed.
fn reduction(
    name: &str,
    slow: (&Measured, &str),
    fast: (&Measured, &str),
    paper: f64,
) -> Option<Row> {
    let row = gain(&TAIL, fast, slow, "99th of the write time, below that of HDFS", paper)?;
    let percent = |share: f64| 100.0 * (1.0 - share);
    let (mean, half) = (percent(row.ours.mean), row.ours.half.map(|half| 100.0 * half));
    let ours = Estimate { mean, half, ..row.ours };
    Some(Row { point: name.into(), unit: "%".into(), ours, ..row })
}

/// The ratio of a quantity of `over` to that of `under`, seed by seed.
fn gain(
    quantity: &Quantity,
    over: (&Measured, &str),
    under: (&Measured, &str),
    name: &'static str,
    paper: f64,
) -> Option<Row> {
    let of = |(point, scheme): (&Measured, &str)| {
        point.of(scheme).map(quantity.of).collect::<Vec<f64>>()
    };
    let ratios: Vec<f64> = of(over).iter().zip(of(under)).map(|(a, b)| a / b).collect();
    Some(Row {
        x: None,
        point: String::new(),
        scheme: String::new(),
        quantity: name.into(),
        unit: "times".into(),
        paper: Some(Stated::About(paper)),
        ours: Estimate::of(&ratios)?,
        note: String::new(),
    })
}
