//! Rings of large flows among small ones: Figures 12 to 16 and Table 2.

use super::plots;
use crate::draw::{Values, View};
use crate::quantity::percentile;
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::{FlowRow, RunRecord};
use slotline_net::time::Time;
use slotline_net::topology::TopologySpec;
use slotline_report::plot::{Division, Figure, Measure};
use slotline_scenario::Scenario;
use slotline_schemes::counters;

/// Figures 12 to 15.
pub(super) const DEMAND: Experiment = Experiment {
    id: "et-6",
    about: "Figures 12 to 15: a ring of large flows; demand from queues, from applications, and known ahead",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/et-6.toml",
        text: include_str!("../../../../../scenarios/reproduce/et-6.toml"),
        axis: &[1],
        set: |_, rings| format!("{rings} ring"),
        compare: compare_demand,
        figures: |view| {
            let of = [("small", small as fn(&FlowRow) -> bool), ("large", large)];
            let times = of.map(|(id, which)| times(view, id, which));
            let rates = of.map(|(id, which)| rates(view, id, which));
            times.into_iter().chain(rates).collect()
        },
    }),
};

/// Table 2 and Figure 16.
pub(super) const COMBINED: Experiment = Experiment {
    id: "et-7",
    about: "Table 2 and Figure 16: two rings of large flows under all mechanisms, and packet switches alone",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/et-7.toml",
        text: include_str!("../../../../../scenarios/reproduce/et-7.toml"),
        axis: &[0, 1, 2, 3, 4],
        set: set_point,
        compare: compare_combined,
        figures: |view| {
            let all = [SMALL_MEDIAN, SMALL_TAIL, LARGE_MEDIAN, LARGE_TAIL];
            vec![
                view.bars("use", "Sent by each network", &[PACKETS, CIRCUITS]),
                view.bars("times", "Completion times", &all),
            ]
        },
    }),
};

/// Etalon cuts off a flow that runs for longer.
const CUT_MS: f64 = 2_000.0;

pub(super) const SMALL_MEDIAN: Quantity =
    time("small-p50", "median of small flows", |run| took(run, small, 50.0));
pub(super) const SMALL_TAIL: Quantity =
    time("small-p99", "99th of small flows", |run| took(run, small, 99.0));
pub(super) const LARGE_MEDIAN: Quantity =
    time("large-p50", "median of large flows", |run| took(run, large, 50.0));
pub(super) const LARGE_TAIL: Quantity =
    time("large-p99", "99th of large flows", |run| took(run, large, 99.0));
pub(super) const CIRCUIT_USE: Quantity = Quantity {
    key: "circuits",
    name: "circuits, share of the time's capacity",
    unit: "%",
    of: |run| used(run, "circuit"),
};
pub(super) const PACKET_USE: Quantity = Quantity {
    key: "packets",
    name: "packet switch, share of the time's capacity",
    unit: "%",
    of: |run| used(run, "packet"),
};

const SMALL_RATE: Quantity =
    rate("small-rate", "median throughput of small flows", |run| throughput(run, small));
const LARGE_RATE: Quantity =
    rate("large-rate", "median throughput of large flows", |run| throughput(run, large));

const fn rate(key: &'static str, name: &'static str, of: fn(&RunRecord) -> f64) -> Quantity {
    Quantity { key, name, unit: "Mbit/s", of }
}

const GIB: f64 = (1u64 << 30) as f64;
pub(super) const PACKETS: Quantity = Quantity {
    key: "gib-packets",
    name: "sent by the packet switch",
    unit: "GiB",
    of: |run| run.control(counters::hybrid::PACKET_SWITCH_BYTES) as f64 / GIB,
};
pub(super) const CIRCUITS: Quantity = Quantity {
    key: "gib-circuits",
    name: "sent by circuits",
    unit: "GiB",
    of: |run| run.control(counters::hybrid::CIRCUIT_BYTES) as f64 / GIB,
};

const fn time(key: &'static str, name: &'static str, of: fn(&RunRecord) -> f64) -> Quantity {
    Quantity { key, name, unit: "ms", of }
}

fn small(flow: &FlowRow) -> bool {
    flow.bytes <= 1_000_000
}

fn large(flow: &FlowRow) -> bool {
    !small(flow)
}

/// Completion times in milliseconds, limited to two seconds. An unfinished flow counts with its time until the end of
/// the run.
fn all(run: &RunRecord, which: fn(&FlowRow) -> bool) -> Vec<f64> {
    let end =
        |flow: &FlowRow| if flow.finished() { flow.finish_ps } else { run.engine.sim_time_ps };
    let took = |flow: &FlowRow| (end(flow).saturating_sub(flow.start_ps) as f64 / 1e9).min(CUT_MS);
    run.flows.iter().filter(|flow| flow.started() && which(flow)).map(took).collect()
}

fn took(run: &RunRecord, which: fn(&FlowRow) -> bool, percent: f64) -> f64 {
    percentile(&all(run, which), percent)
}

/// The throughput of flows in Mbit/s: what arrived, divided by the time as in [`all`].
fn throughputs(run: &RunRecord, which: fn(&FlowRow) -> bool) -> Vec<f64> {
    let flows = run.flows.iter().filter(|flow| flow.started() && which(flow));
    let times = all(run, which).into_iter();
    flows.zip(times).map(|(flow, ms)| flow.delivered_bytes as f64 * 8e-3 / ms.max(1e-6)).collect()
}

fn throughput(run: &RunRecord, which: fn(&FlowRow) -> bool) -> f64 {
    percentile(&throughputs(run, which), 50.0)
}

/// The bytes that racks sent to `what`, divided by the capacity of the whole run.
fn used(run: &RunRecord, what: &str) -> f64 {
    let ports =
        || run.ports.iter().filter(|p| p.node.starts_with("tor") && p.port.starts_with(what));
    let (bytes, rate) = ports().fold((0.0, 0.0), |(bytes, rate), port| {
        (bytes + port.tx_bytes as f64, rate + port.rate_bps as f64)
    });
    let seconds = run.engine.sim_time_ps as f64 / 1e12;
    if rate > 0.0 { 100.0 * bytes * 8.0 / (rate * seconds) } else { 0.0 }
}

fn times(view: &View, id: &'static str, which: fn(&FlowRow) -> bool) -> Figure {
    let values = Values {
        id,
        title: if id == "small" { "Small flows" } else { "Large flows" },
        label: "completion time",
        unit: Measure::Seconds,
        scale: Division::LogFirst,
    };
    let seconds = |run: &RunRecord| all(run, which).into_iter().map(|ms| ms / 1e3).collect();
    view.distribution(1, &values, seconds, &[])
}

fn rates(view: &View, id: &'static str, which: fn(&FlowRow) -> bool) -> Figure {
    let (id, title) = match id {
        "small" => ("small-rates", "Throughput of small flows"),
        _ => ("large-rates", "Throughput of large flows"),
    };
    let scale = Division::LogFirst;
    let values = Values { id, title, label: "throughput", unit: Measure::BitsPerSecond, scale };
    let of = |run: &RunRecord| throughputs(run, which).into_iter().map(|rate| rate * 1e6).collect();
    view.distribution(1, &values, of, &[])
}

fn compare_demand(points: &[Measured]) -> Vec<Row> {
    let Some(point) = points.first() else { return vec![] };
    let schemes = ["voq", "adu", "fixed", "harvest, adu"];
    let quantities = [
        SMALL_MEDIAN,
        SMALL_TAIL,
        LARGE_MEDIAN,
        LARGE_TAIL,
        CIRCUIT_USE,
        PACKET_USE,
        SMALL_RATE,
        LARGE_RATE,
    ];
    let of = |scheme: &'static str| {
        let row = move |(at, quantity)| point.row(scheme, quantity, plots::ring(scheme, at), "");
        quantities.iter().enumerate().filter_map(row)
    };
    let mut rows: Vec<Row> = schemes.into_iter().flat_map(of).collect();
    let gains = [
        (SMALL_TAIL, "99th of small flows, queues over applications", 2.0),
        (LARGE_MEDIAN, "median of large flows, queues over applications", 8.0),
        (LARGE_TAIL, "99th of large flows, queues over applications", 11.0),
    ];
    for (quantity, name, paper) in gains {
        let mean = |scheme| point.mean(scheme, quantity.of).map(|estimate| estimate.mean);
        let ours = mean("voq").zip(mean("adu")).map(|(voq, adu)| voq / adu);
        let ours = ours.and_then(|ours| slotline_lab::statistics::Estimate::of(&[ours]));
        rows.extend(ours.map(|ours| Row {
            x: None,
            point: point.setup.clone(),
            scheme: String::new(),
            quantity: name.into(),
            unit: "times".into(),
            paper: Some(Stated::About(paper)),
            ours,
            note: String::new(),
        }));
    }
    rows
}

/// Table 2: median and 99th percentile of small flows and of large flows, in milliseconds, by scheme; and for packet
/// switches only, by their rates. Then GiB by the packet switch and by circuits, from Figure 16 in the authors' public
/// source.
const TABLE: [(&str, u64, [f64; 6]); 11] = [
    ("voq", 10, [1.52, 56.39, 1162.04, 1988.84, 28.4, 27.2]),
    ("voq, resized", 10, [1.57, 76.54, 737.64, 1917.55, 24.7, 33.3]),
    ("voq, reTCP", 10, [1.60, 69.86, 660.19, 1869.50, 23.7, 34.4]),
    ("adu", 10, [1.51, 65.71, 644.01, 1815.74, 23.6, 33.3]),
    ("adu, resized", 10, [1.58, 79.07, 110.61, 432.50, 18.9, 38.1]),
    ("adu, reTCP", 10, [1.59, 77.80, 102.11, 406.44, 18.9, 38.1]),
    ("fixed", 10, [1.49, 64.99, 724.08, 1860.53, 24.5, 32.1]),
    ("packet", 10, [2.19, 36.34, 1680.35, 1998.27, 36.0, 0.0]),
    ("packet", 20, [1.05, 22.25, 1025.92, 1944.73, 57.2, 0.0]),
    ("packet", 40, [0.71, 14.50, 46.95, 134.29, 59.5, 0.0]),
    ("packet", 80, [0.65, 5.20, 45.30, 114.77, 55.6, 0.0]),
];

/// The rate of the packet switch in Gbit/s, and the minimum time-out in milliseconds.
const POINTS: [(u64, u64); 5] = [(10, 10), (20, 10), (40, 10), (80, 10), (10, 200)];

/// Points with faster packet switches have only the scheme without circuits.
fn set_point(scenario: &mut Scenario, x: u32) -> String {
    let (gbps, timeout) = POINTS[x as usize];
    if let TopologySpec::Hybrid(fabric) = &mut scenario.fabric
        && let Some(packet) = &mut fabric.packet
    {
        packet.rate.0 = gbps * 1_000_000_000;
    }
    if gbps > 10 {
        scenario.scheme.retain(|scheme| scheme.name == "packet");
    }
    if timeout == 10 {
        return format!("{gbps} Gbit/s");
    }
    scenario.repeat = 1;
    for scheme in &mut scenario.scheme {
        scheme.transport.min_rto = Time::ms(timeout);
    }
    format!("{gbps} Gbit/s, time-outs from {timeout} ms")
}

fn compare_combined(points: &[Measured]) -> Vec<Row> {
    let quantities = [SMALL_MEDIAN, SMALL_TAIL, LARGE_MEDIAN, LARGE_TAIL, PACKETS, CIRCUITS];
    let mut rows = Vec::new();
    for point in points {
        let (gbps, timeout) = POINTS[point.x as usize];
        for scheme in schemes(point) {
            let own = |(name, rate, _): &&(&str, u64, [f64; 6])| *name == scheme && *rate == gbps;
            // The paper's kernel has the shorter time-out.
            let paper = TABLE.iter().find(own).filter(|_| timeout == 10);
            for (at, quantity) in quantities.iter().enumerate() {
                let stated = paper.map(|(_, _, row)| Stated::About(row[at]));
                rows.extend(point.row(scheme, quantity, stated, ""));
            }
        }
    }
    rows
}

/// The schemes of a point, by name.
pub(super) fn schemes(point: &Measured) -> Vec<&str> {
    let mut schemes: Vec<&str> = point.runs.iter().map(|run| run.scheme.as_str()).collect();
    schemes.sort_unstable();
    schemes.dedup();
    schemes
}
