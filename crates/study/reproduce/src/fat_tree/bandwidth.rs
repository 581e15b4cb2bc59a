//! The share of the bisection bandwidth that each routing scheme reaches: Table 3.1.

use super::patterns::PATTERNS;
use crate::draw::View;
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::{PortRow, RunRecord};
use slotline_lab::statistics::Estimate;
use slotline_net::rng::Stream;
use slotline_net::route::RoutingSpec;
use slotline_net::time::Time;
use slotline_net::topology::{TopologySpec, TreeSpec};
use slotline_net::units::Rate;
use slotline_net::workload::{Hosts, WorkloadSpec};
use slotline_report::plot::Figure;
use slotline_scenario::{Scenario, SchemeSpec};
use std::collections::BTreeSet;

/// Table 3.1.
pub(super) const BANDWIDTH: Experiment = Experiment {
    id: "ft-3",
    about: "Table 3.1: bandwidth of tree, two-level tables, classification and scheduling, k = 4, ten patterns",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/ft-3.toml",
        text: include_str!("../../../../../scenarios/reproduce/ft-3.toml"),
        axis: &AXIS,
        set,
        compare,
        figures,
    }),
};

/// The largest number of draws of a pattern.
const DRAWS: u32 = 5;
/// Points by pattern, draw and fabric, in this order. A pattern with fewer draws repeats one, which costs nothing,
/// because equal points are run once.
const AXIS: [u32; 100] = axis();

const fn axis() -> [u32; 100] {
    let mut axis = [0; 100];
    let mut at = 0;
    while at < 100 {
        axis[at] = at as u32;
        at += 1;
    }
    axis
}

/// A point of the axis, decoded.
struct Place {
    pattern: usize,
    draw: u32,
    tree: bool,
}

impl Place {
    fn of(x: u32) -> Place {
        let pattern = (x / (2 * DRAWS)) as usize;
        Place { pattern, draw: x / 2 % DRAWS % PATTERNS[pattern].draws, tree: x.is_multiple_of(2) }
    }
}

/// The names of the columns: the tree, then the schemes of the scenario.
const COLUMNS: [&str; 4] = ["tree", "two-level", "classifier", "scheduler"];

/// The hierarchical tree of section 3.5.1: uplinks of 106.67 Mbit/s, 3.6:1.
fn tree(rate: Rate) -> TopologySpec {
    let rack_uplink = Some(Rate(rate.0 * 10 / 9));
    TopologySpec::Tree(TreeSpec { rate, rack_uplink, ..TreeSpec::new(4, 4) })
}

fn set(scenario: &mut Scenario, x: u32) -> String {
    let Place { pattern, draw, tree: in_tree } = Place::of(x);
    let pattern = &PATTERNS[pattern];
    let to = (pattern.draw)(&mut Stream::named(u64::from(draw) + 1, "reproduce.patterns", 0));
    let mut starts = Stream::named(u64::from(draw) + 1, "reproduce.starts", 0);
    let one = scenario.workload.remove(0);
    let lone = |(src, &dst): (u32, &u32)| sender(&one, src, dst, starts.below(STEP_NS));
    scenario.workload = (0..).zip(&to).map(lone).collect();
    if in_tree {
        let scheme = |s: &SchemeSpec| SchemeSpec {
            name: COLUMNS[0].into(),
            routing: RoutingSpec::Shortest,
            ..s.clone()
        };
        scenario.scheme = scenario.scheme.iter().take(1).map(scheme).collect();
        scenario.fabric = tree(Rate(96_000_000));
    }
    pattern.name.into()
}

/// The time of a packet on a link in nanoseconds. Hosts begin at random times within it, and not all at the same
/// instant. Otherwise, of the hosts whose packets meet at a full queue, always the same one would find room.
const STEP_NS: u64 = 122_000;

/// The traffic of one sender.
fn sender(one: &WorkloadSpec, src: u32, dst: u32, start_ns: u64) -> WorkloadSpec {
    let mut spec = one.clone();
    if let WorkloadSpec::Udp(udp) = &mut spec {
        udp.senders = Hosts::List(vec![(src, src)]);
        udp.receivers = Hosts::List(vec![(dst, dst)]);
        udp.start = Time::ns(start_ns);
    }
    spec
}

const SHARE: Quantity =
    Quantity { key: "share", name: "share of the ideal bandwidth", unit: "%", of: share };

/// The bytes that reached hosts divided by the bytes that hosts sent.
fn share(run: &RunRecord) -> f64 {
    let sends = |port: &&PortRow| port.host && port.node.starts_with('h');
    let senders: BTreeSet<&str> = run.ports.iter().filter(sends).map(|p| p.node.as_str()).collect();
    let sum = |counts: &dyn Fn(&PortRow) -> bool| {
        run.ports.iter().filter(|port| counts(port)).map(|port| port.tx_bytes).sum::<u64>() as f64
    };
    let sent = sum(&|port| senders.contains(port.node.as_str()));
    100.0 * sum(&|port| !port.host && senders.contains(port.port.as_str())) / sent.max(1.0)
}

fn figures(view: &View) -> Vec<Figure> {
    vec![view.bars("share", "Share of the ideal bisection bandwidth", &[SHARE])]
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let rows =
        |at: usize| COLUMNS.iter().zip(0..).filter_map(move |(name, c)| row(points, at, name, c));
    (0..PATTERNS.len()).flat_map(rows).collect()
}

/// A cell of the table: the mean over draws.
fn row(points: &[Measured], at: usize, scheme: &str, column: usize) -> Option<Row> {
    let pattern = &PATTERNS[at];
    let own = points.iter().filter(|point| Place::of(point.x).pattern == at);
    let once = own.filter(|point| point.x / 2 % DRAWS < pattern.draws);
    let values: Vec<f64> = once.flat_map(|point| point.of(scheme)).map(share).collect();
    Some(Row {
        x: None,
        point: pattern.name.into(),
        scheme: scheme.into(),
        quantity: SHARE.name.into(),
        unit: SHARE.unit.into(),
        paper: Some(Stated::About(pattern.paper[column])),
        ours: Estimate::of(&values)?,
        note: NOTES[column].into(),
    })
}

const NOTES: [&str; 4] = [
    "follows from the pattern: a rack's uplink carries 106.67 Mbit/s of the 384 that its hosts send. Random patterns \
     differ from the paper's",
    "depends on the tables, the pattern, and on which packets find room in a full queue. Random patterns differ from \
     the paper's",
    "each switch considers only its own ports, once per second",
    "first fit once per second; in the first second flows are hashed",
];
