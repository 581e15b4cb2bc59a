//! Large fabrics, flows that come and go: Figures 4.7 and 4.8, Table 4.4.

use super::patterns::within;
use crate::draw::Values;
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_net::route::RoutingSpec;
use slotline_net::time::Time;
use slotline_net::topology::TopologySpec;
use slotline_net::units::Rate;
use slotline_net::workload::WorkloadSpec;
use slotline_net::workload::pairs::{Random, RandomBijective, Staggered, Stride};
use slotline_report::plot::{Division, Measure};
use slotline_scenario::{EngineSpec, FlowSpec, RatesSpec, Scenario, SchemeSpec};
use slotline_schemes::ControlSpec;
use std::collections::BTreeMap;

/// Figures 4.7 and 4.8.
pub(super) const LARGE: Experiment = Experiment {
    id: "hed-5",
    about: "Figure 4.7: share of full bisection for the patterns among 8,192 hosts; Figure 4.8: over time, 1,024 hosts",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/hed-5.toml",
        text: include_str!("../../../../../scenarios/reproduce/hed-5.toml"),
        axis: &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110],
        set: set_pattern,
        compare: compare_patterns,
        figures: |view| {
            vec![
                view.against("pattern", &SHARE),
                view.time_series(OVER_TIME, &RATE_OVER_TIME, time_series),
            ]
        },
    }),
};

/// Table 4.4.
pub(super) const ITERATIONS: Experiment = Experiment {
    id: "hed-6",
    about: "Table 4.4: annealing's steps and the share of full bisection, random traffic that is not bijective",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/hed-6.toml",
        text: include_str!("../../../../../scenarios/reproduce/hed-6.toml"),
        axis: &[4, 16, 32, 104, 116, 132, 204, 216, 304, 316],
        set: set_steps,
        compare: compare_steps,
        figures: |view| vec![view.bars("steps", "Share of full bisection", &[SHARE])],
    }),
};

/// The offset of a pattern's number for the same pattern on the non-blocking network.
const CONTROL: u32 = 100;
/// The offset of points with the rates of the thesis' simulator.
const SAWTEETH: u32 = 200;
/// The point whose time series is drawn.
const OVER_TIME: u32 = 10;

const NAMES: [&str; 10] = [
    "stride(1)",
    "stride(16)",
    "stride(256)",
    "stride(4096)",
    "staggered(1, 0)",
    "staggered(0.5, 0.3)",
    "staggered(0.2, 0.3)",
    "random bijective",
    "random",
    "1,024 hosts, random bijective",
];

/// The workload of pattern number `at`, with the other settings of `like`.
fn pattern(at: u32, like: &Stride) -> WorkloadSpec {
    let &Stride { size, exponential, load, duration, .. } = like;
    let staggered = |edge, pod| {
        // Section 3.5.2: each host receives from exactly one host.
        let base = Staggered { one_to_one: true, redraw: false, ..Staggered::default() };
        WorkloadSpec::Staggered(Staggered { edge, pod, size, exponential, load, duration, ..base })
    };
    match at {
        1..=4 => WorkloadSpec::Stride(Stride { by: 1 << (4 * (at - 1)), ..like.clone() }),
        5 => staggered(1.0, 0.0),
        6 => staggered(0.5, 0.3),
        7 => staggered(0.2, 0.3),
        9 => {
            let base = Random::default();
            WorkloadSpec::Random(Random { size, exponential, load, duration, ..base })
        }
        _ => {
            let base = RandomBijective { redraw: false, ..RandomBijective::default() };
            WorkloadSpec::RandomBijective(RandomBijective {
                size,
                exponential,
                load,
                duration,
                ..base
            })
        }
    }
}

/// Makes the links between switches so fast that no pattern can fill them under hashing.
fn unblock(scenario: &mut Scenario) {
    if let TopologySpec::FatTree(tree) = &mut scenario.fabric {
        tree.host_rate = Some(tree.rate);
        tree.rate = Rate(tree.rate.0 * 100);
    }
    scenario.scheme.truncate(1);
    scenario.scheme[0] = SchemeSpec {
        name: "control".into(),
        routing: RoutingSpec::Ecmp,
        control: ControlSpec::None {},
        ..scenario.scheme[0].clone()
    };
}

/// Computes rates tick by tick with slow start, additive increase and multiplicative decrease (section 4.3.5).
fn sawteeth(scenario: &mut Scenario) {
    scenario.engine = EngineSpec::Flow(FlowSpec { rates: RatesSpec::Aimd, ..FlowSpec::default() });
}

fn set_k(scenario: &mut Scenario, k: u32) {
    if let TopologySpec::FatTree(tree) = &mut scenario.fabric {
        tree.k = k;
    }
}

fn set_pattern(scenario: &mut Scenario, x: u32) -> String {
    let at = x % CONTROL;
    if let Some(WorkloadSpec::Stride(like)) = scenario.workload.first().cloned() {
        scenario.workload = vec![pattern(at, &like)];
    }
    if at == OVER_TIME {
        set_k(scenario, 16);
        scenario.measure.sample = Some(Time::ms(500));
    }
    let name = NAMES[at as usize - 1];
    if x < CONTROL {
        return name.into();
    }
    unblock(scenario);
    format!("{name}, non-blocking")
}

/// Table 4.4: steps, and shares in percent by hosts. Zero steps mean the non-blocking network.
const TABLE: [(u32, [f64; 3]); 8] = [
    (1_000, [78.73, 74.69, 72.83]),
    (50_000, [78.93, 75.79, 74.27]),
    (100_000, [78.62, 75.77, 75.00]),
    (500_000, [79.35, 75.87, 74.94]),
    (1_000_000, [79.04, 75.78, 75.03]),
    (1_500_000, [78.71, 75.82, 75.13]),
    (2_000_000, [78.17, 75.87, 75.05]),
    (0, [81.24, 78.34, 77.63]),
];
/// The fabrics of its columns.
const COLUMNS: [u32; 3] = [4, 16, 32];

fn name_of(steps: u32) -> String {
    if steps == 0 { "control".into() } else { format!("{steps} steps") }
}

/// The name of the line of `x`: how many hosts there are, and how rates are computed.
fn hosts(x: u32) -> String {
    let rates = if x >= SAWTEETH { "slow start and AIMD" } else { "max-min" };
    format!("{} hosts, {rates}", (x % CONTROL).pow(3) / 4)
}

fn set_steps(scenario: &mut Scenario, x: u32) -> String {
    let k = x % CONTROL;
    set_k(scenario, k);
    if k == 4 {
        scenario.repeat = 5;
    }
    if x >= SAWTEETH {
        sawteeth(scenario);
    }
    if x % SAWTEETH > CONTROL {
        unblock(scenario);
        return format!("{}, non-blocking", hosts(x));
    }
    let like = scenario.scheme[0].clone();
    let scheme = |&(iterations, _): &(u32, [f64; 3])| {
        let mut scheme = SchemeSpec { name: name_of(iterations), ..like.clone() };
        if let ControlSpec::Hedera(hedera) = &mut scheme.control {
            hedera.iterations = iterations;
        }
        scheme
    };
    // Such a run has 600,000 ticks, and each of them updates all flows.
    let few = x >= SAWTEETH && k > 4;
    let shown =
        |(steps, _): &&(u32, [f64; 3])| *steps > 0 && (!few || [1_000, 100_000].contains(steps));
    scenario.scheme = TABLE.iter().filter(shown).map(scheme).collect();
    hosts(x)
}

/// The size on the wire of a full packet divided by its payload.
const WIRE: f64 = 1_538.0 / 1_460.0;

const SHARE: Quantity = Quantity {
    key: "share",
    name: "share of full bisection",
    unit: "%",
    of: |run| {
        let (from, to) = (run.engine.sim_time_ps / 6, run.engine.sim_time_ps * 5 / 6);
        let bytes: f64 = run.flows.iter().map(|flow| within(flow, run, from, to)).sum();
        // The reference is 1 Gbit/s for each host.
        let senders = run.flows.iter().map(|flow| flow.src).max().map_or(1, |last| last + 1);
        100.0 * WIRE * bytes * 8e3 / (to - from) as f64 / f64::from(senders)
    },
};

const RATE_OVER_TIME: Values = Values {
    id: "over-time",
    title: "1,024 hosts, random bijective: what the first 256 receive",
    label: "share of their links",
    unit: Measure::Share,
    scale: Division::Linear,
};

/// The utilisation of the sampled links to hosts over time.
fn time_series(run: &RunRecord) -> Vec<(f64, f64)> {
    let mut totals: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for sample in &run.samples {
        let total = totals.entry(sample.t_ps).or_default();
        *total = (total.0 + sample.tx_bytes, total.1 + 1);
    }
    let totals: Vec<(u64, (u64, u64))> = totals.into_iter().collect();
    let share = |pair: &[(u64, (u64, u64))]| {
        let ((from, before), (to, after)) = (pair[0], pair[1]);
        let could = (to - from) as f64 / 8e3 * after.1 as f64;
        ((from + to) as f64 / 2e12, (after.0 - before.0) as f64 / could)
    };
    totals.windows(2).map(share).collect()
}

/// A row at the place of the same pattern on the fat-tree.
fn placed(mut row: Row, x: u32, point: String) -> Row {
    row.x = Some(f64::from(x % CONTROL));
    row.point = point;
    row
}

fn compare_patterns(points: &[Measured]) -> Vec<Row> {
    let of = |point: &Measured| {
        let name = NAMES[(point.x % CONTROL) as usize - 1];
        let row = |scheme: &str| point.row(scheme, &SHARE, None, "");
        let schemes = ["ecmp", "first-fit", "annealing", "best", "best, 3 %", "control"];
        let rows = schemes.into_iter().filter_map(row);
        rows.map(|row| placed(row, point.x, name.into())).collect::<Vec<_>>()
    };
    points.iter().flat_map(of).collect()
}

fn compare_steps(points: &[Measured]) -> Vec<Row> {
    let of = |point: &Measured| {
        let k = point.x % CONTROL;
        let column = COLUMNS.iter().position(|known| *known == k);
        let row = |(steps, printed): &(u32, [f64; 3])| {
            let paper = column.map(|at| Stated::About(printed[at]));
            let row = point.row(&name_of(*steps), &SHARE, paper, "")?;
            Some(placed(row, point.x, hosts(point.x)))
        };
        TABLE.iter().filter_map(row).collect::<Vec<_>>()
    };
    points.iter().flat_map(of).collect()
}
