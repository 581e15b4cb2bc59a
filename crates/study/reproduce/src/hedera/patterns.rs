//! Traffic patterns among 16 hosts: Figure 4.6 and Table 4.3.

use crate::draw::View;
use crate::quantity::completion_times;
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::{FlowRow, RunRecord};
use slotline_lab::statistics::Estimate;
use slotline_net::route::RoutingSpec;
use slotline_net::topology::TopologySpec;
use slotline_net::units::{Bytes, Rate};
use slotline_net::workload::WorkloadSpec;
use slotline_net::workload::pairs::{HotSpot, Random, RandomBijective, Staggered, Stride};
use slotline_report::plot::Figure;
use slotline_scenario::Scenario;

/// Figure 4.6.
pub(super) const BISECTION: Experiment = Experiment {
    id: "hed-2",
    about: "Figure 4.6: bisection bandwidth of 16 hosts for stride, staggered, random and hot-spot traffic",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/hed-2.toml",
        text: include_str!("../../../../../scenarios/reproduce/hed-2.toml"),
        axis: &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110],
        set,
        compare: compare_bisection,
        figures: |view| vec![view.against("pattern", &BANDWIDTH)],
    }),
};

/// Table 4.3.
pub(super) const TRANSFERS: Experiment = Experiment {
    id: "hed-4",
    about: "Table 4.3: all of 16 hosts send 1 MB at once, packet by packet, least time-out 200 ms",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/hed-4.toml",
        text: include_str!("../../../../../scenarios/reproduce/hed-4.toml"),
        axis: &[1, 2, 3, 4, 5, 6, 7, 8, 9, 101, 102, 103, 104, 105, 106, 107, 108, 109],
        set,
        compare: compare_transfers,
        figures,
    }),
};

/// Section 4.4.2 on time-outs.
pub(super) const TIMEOUTS: Experiment = Experiment {
    id: "hed-13",
    about: "Section 4.4.2: retransmission time-outs of a hash of destinations and of both placements",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/hed-13.toml",
        text: include_str!("../../../../../scenarios/reproduce/hed-13.toml"),
        axis: &[4_030, 8_030, 4_150, 8_150],
        set: set_buffer,
        compare: compare_timeouts,
        figures: |view| vec![view.bars("timeouts", "Time-outs", &[LOST])],
    }),
};

fn figures(view: &View) -> Vec<Figure> {
    vec![view.against("pattern", &TIME), view.against("pattern", &AGGREGATE)]
}

/// The offset of a pattern's number for the same pattern on the non-blocking network.
const CONTROL: u32 = 100;

const NAMES: [&str; 10] = [
    "stride(1)",
    "stride(2)",
    "stride(4)",
    "stride(8)",
    "staggered(1, 0)",
    "staggered(0.5, 0.3)",
    "staggered(0.2, 0.3)",
    "random bijective",
    "random",
    "hot spot",
];

/// The workload of pattern number `at`, with the size and the duration of `like`.
fn pattern(at: u32, like: &Stride) -> WorkloadSpec {
    let &Stride { size, duration, .. } = like;
    let stride = |by| WorkloadSpec::Stride(Stride { by, ..like.clone() });
    let staggered = |edge, pod| {
        // Section 3.5.2: each host receives from exactly one host.
        let base = Staggered { one_to_one: true, redraw: false, ..Staggered::default() };
        WorkloadSpec::Staggered(Staggered { edge, pod, size, duration, ..base })
    };
    match at {
        1..=4 => stride(1 << (at - 1)),
        5 => staggered(1.0, 0.0),
        6 => staggered(0.5, 0.3),
        7 => staggered(0.2, 0.3),
        8 => {
            let base = RandomBijective::default();
            WorkloadSpec::RandomBijective(RandomBijective { size, duration, redraw: false, ..base })
        }
        9 => {
            let base = Random::default();
            WorkloadSpec::Random(Random { size, duration, redraw: false, ..base })
        }
        _ => {
            let base = HotSpot::default();
            WorkloadSpec::HotSpot(HotSpot { size, duration, redraw: false, ..base })
        }
    }
}

fn set(scenario: &mut Scenario, x: u32) -> String {
    let at = x % CONTROL;
    if let Some(WorkloadSpec::Stride(like)) = scenario.workload.first().cloned() {
        scenario.workload = vec![pattern(at, &like)];
    }
    let name = NAMES[at as usize - 1];
    if x < CONTROL {
        return name.into();
    }
    // No path between switches can be full: the same traffic on a non-blocking network.
    if let TopologySpec::FatTree(tree) = &mut scenario.fabric {
        tree.host_rate = Some(tree.rate);
        tree.rate = Rate(tree.rate.0 * 100);
    }
    scenario.scheme.truncate(1);
    scenario.scheme[0].name = "control".into();
    scenario.scheme[0].routing = RoutingSpec::Ecmp;
    format!("{name}, non-blocking")
}

const BANDWIDTH: Quantity = Quantity {
    key: "bisection",
    name: "bisection bandwidth",
    unit: "Gbit/s",
    of: |run| {
        let (from, to) = (run.engine.sim_time_ps / 6, run.engine.sim_time_ps * 5 / 6);
        let bytes: f64 = run.flows.iter().map(|flow| within(flow, run, from, to)).sum();
        bytes * 8e3 / (to - from) as f64
    },
};
const TIME: Quantity = Quantity {
    key: "time",
    name: "mean completion time",
    unit: "ms",
    of: |run| mean(&completion_times(run, |_| true)) * 1e3,
};
const AGGREGATE: Quantity = Quantity {
    key: "bandwidth",
    name: "sum of flows' own rates",
    unit: "Gbit/s",
    of: |run| {
        let rate = |flow: &FlowRow| match flow.finished() {
            true => flow.bytes as f64 * 8e3 / (flow.finish_ps - flow.start_ps).max(1) as f64,
            false => 0.0,
        };
        run.flows.iter().map(rate).sum()
    },
};

const LOST: Quantity = Quantity {
    key: "timeouts",
    name: "time-outs",
    unit: "",
    of: |run| run.flows.iter().map(|flow| f64::from(flow.timeouts)).sum(),
};

/// Pattern `x` / 1000 with `x` % 1000 KB for each port.
fn set_buffer(scenario: &mut Scenario, x: u32) -> String {
    let (pattern, limit) = (x / 1_000, x % 1_000);
    let name = set(scenario, pattern);
    scenario
        .scheme
        .iter_mut()
        .for_each(|scheme| scheme.queue.limit = Bytes(u64::from(limit) * 1_000));
    format!("{name}, {limit} KB")
}

fn compare_timeouts(points: &[Measured]) -> Vec<Row> {
    let row = |point: &Measured, scheme: &str| point.row(scheme, &LOST, None, "");
    let of = |point: &Measured| {
        schemes(point).iter().filter_map(|scheme| row(point, scheme)).collect::<Vec<_>>()
    };
    let mut rows: Vec<Row> = points.iter().flat_map(of).collect();
    let cases =
        [30, 150].into_iter().flat_map(|kb| ["first-fit", "annealing"].map(|one| (kb, one)));
    for (kb, scheme) in cases {
        let total = |scheme: &str| {
            let here = points.iter().filter(|point| point.x % 1_000 == kb);
            here.filter_map(|point| point.mean(scheme, LOST.of)).map(|sum| sum.mean).sum::<f64>()
        };
        let ours = Estimate::of(&[total("ecmp") / total(scheme)]);
        rows.extend(ours.filter(|ours| ours.mean.is_finite()).map(|ours| Row {
            x: None,
            point: format!("both patterns, {kb} KB"),
            scheme: scheme.into(),
            quantity: "time-outs of ecmp over its own".into(),
            unit: "times".into(),
            paper: Some(Stated::Over(5.0)),
            ours,
            note: String::new(),
        }));
    }
    rows
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Bytes of a flow that arrived between two times, on the assumption of a constant rate.
pub(super) fn within(flow: &FlowRow, run: &RunRecord, from: u64, to: u64) -> f64 {
    if !flow.started() {
        return 0.0;
    }
    let end = if flow.finished() { flow.finish_ps } else { run.engine.sim_time_ps };
    let both = end.min(to).saturating_sub(flow.start_ps.max(from));
    // A flow of a real host may start while the run ends.
    let took = end.saturating_sub(flow.start_ps).max(1);
    flow.delivered_bytes as f64 * both as f64 / took as f64
}

/// The values of the thesis' Table 4.3: for ECMP, first fit, annealing and control, GB/s and ms.
const TABLE: [[(f64, f64); 4]; 9] = [
    [(1.94, 10.90), (1.94, 10.90), (1.94, 10.90), (1.93, 11.00)],
    [(0.86, 24.70), (1.93, 11.20), (1.93, 11.20), (1.93, 11.00)],
    [(0.48, 41.90), (1.92, 11.30), (1.92, 11.30), (1.93, 11.00)],
    [(0.48, 41.90), (1.92, 11.30), (1.92, 11.30), (1.93, 11.00)],
    [(1.94, 10.90), (1.94, 10.90), (1.94, 10.90), (1.93, 11.00)],
    [(1.38, 20.63), (1.93, 11.20), (1.93, 11.20), (1.93, 11.00)],
    [(0.96, 32.47), (1.25, 20.85), (1.93, 11.20), (1.93, 11.00)],
    [(0.66, 38.75), (1.07, 19.28), (1.93, 11.20), (1.93, 11.00)],
    [(0.82, 37.84), (1.05, 23.24), (1.05, 23.24), (1.09, 16.63)],
];
/// The schemes of its columns.
const COLUMNS: [&str; 4] = ["ecmp", "first-fit", "annealing", "control"];

/// A row at the pattern's place, whichever network it was run on.
fn placed(mut row: Row, x: u32) -> Row {
    row.x = Some(f64::from(x % CONTROL));
    row.point = NAMES[(x % CONTROL) as usize - 1].into();
    row
}

/// The rows in the order of patterns, so that the non-blocking network follows the schemes.
fn by_place(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by(|a, b| a.x.unwrap_or(0.0).total_cmp(&b.x.unwrap_or(0.0)));
    rows
}

/// Schemes that have been run at a point.
fn schemes(point: &Measured) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for run in &point.runs {
        if !names.contains(&run.scheme) {
            names.push(run.scheme.clone());
        }
    }
    names
}

fn compare_transfers(points: &[Measured]) -> Vec<Row> {
    let at = |point: &Measured, scheme: &str| {
        let cells = TABLE[(point.x % CONTROL) as usize - 1];
        let cell = COLUMNS.iter().position(|name| *name == scheme).map(|column| cells[column]);
        let stated = |of: fn((f64, f64)) -> f64| cell.map(of).map(Stated::About);
        let rows = [
            point.row(scheme, &TIME, stated(|(_, ms)| ms), ""),
            point.row(scheme, &AGGREGATE, stated(|(gb, _)| gb * 8.0), ""),
        ];
        rows.into_iter().flatten().map(|row| placed(row, point.x)).collect::<Vec<_>>()
    };
    let of = |point: &Measured| {
        schemes(point).iter().flat_map(|scheme| at(point, scheme)).collect::<Vec<_>>()
    };
    by_place(points.iter().flat_map(of).collect())
}

fn compare_bisection(points: &[Measured]) -> Vec<Row> {
    let of = |point: &Measured| {
        let row = |scheme: &String| {
            // The text has one number for all patterns, for near-optimal results.
            let near = point.x % CONTROL <= 5 && scheme != "ecmp" && scheme != "ecmp-flow";
            let known = ["first-fit", "annealing", "control"].contains(&scheme.as_str());
            let paper = (near && known).then_some(Stated::About(15.4));
            point.row(scheme, &BANDWIDTH, paper, "").map(|row| placed(row, point.x))
        };
        schemes(point).iter().filter_map(row).collect::<Vec<_>>()
    };
    points.iter().flat_map(of).collect()
}
