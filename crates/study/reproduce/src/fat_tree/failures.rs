//! Routing around failures: section 3.1.8.

use crate::draw::View;
use crate::quantity::{rates, samples};
use crate::{Experiment, Measured, Quantity, Row, Study, Work};
use slotline_lab::record::{FlowRow, RunRecord};
use slotline_net::route::RoutingSpec;
use slotline_net::topology::TopologySpec;
use slotline_net::workload::{Hosts, WorkloadSpec};
use slotline_report::plot::Figure;
use slotline_scenario::{EventKind, Scenario};

/// Section 3.1.8.
pub(super) const FAILURES: Experiment = Experiment {
    id: "ft-5",
    about: "Section 3.1.8: failures of links and switches, also of edge switches whose hosts have one or two",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/ft-5.toml",
        text: include_str!("../../../../../scenarios/reproduce/ft-5.toml"),
        axis: &[1, 2, 3, 4, 5, 6],
        set,
        compare,
        figures,
    }),
};

/// The number of hosts, each of which sends to all others.
const HOSTS: u32 = 16;
/// The time at which the failed component returns, in seconds: see the scenario.
const RETURNS: f64 = 0.305;
/// A flow that was silent for longer than this was cut off, and not only interrupted.
const CUT_OFF_MS: f64 = 100.0;

/// A component that fails, and a port whose link it affects.
struct Failure {
    name: &'static str,
    what: &'static str,
    is_switch: bool,
    port: [&'static str; 2],
    /// Network cards of hosts, if the switches of hosts fail.
    cards: Option<u32>,
}

const FAILURES_OF: [Failure; 6] = [
    Failure {
        name: "a link between edge and aggregation",
        what: "edge0.0-agg0.1",
        is_switch: false,
        port: ["edge0.0", "agg0.1"],
        cards: None,
    },
    Failure {
        name: "a link between aggregation and core",
        what: "agg0.1-core2",
        is_switch: false,
        port: ["agg0.1", "core2"],
        cards: None,
    },
    Failure {
        name: "an aggregation switch",
        what: "agg0.1",
        is_switch: true,
        port: ["edge0.0", "agg0.1"],
        cards: None,
    },
    Failure {
        name: "a core switch",
        what: "core2",
        is_switch: true,
        port: ["agg0.1", "core2"],
        cards: None,
    },
    edge_switch("an edge switch", 1),
    edge_switch("an edge switch, with hosts at two", 2),
];

/// An edge switch fails, whose hosts have this number of network cards, each at another edge switch.
const fn edge_switch(name: &'static str, cards: u32) -> Failure {
    let (what, port) = ("edge0.0", ["edge0.0", "agg0.1"]);
    Failure { name, what, is_switch: true, port, cards: Some(cards) }
}

/// Hosts with this number of cards, and switches that know of failures at once: sessions need hosts with one card, and
/// two-level tables, too.
fn with_cards(scenario: &mut Scenario, cards: u32) {
    if let TopologySpec::FatTree(tree) = &mut scenario.fabric {
        tree.nics = cards;
    }
    scenario.scheme.retain(|scheme| scheme.recovery.is_none());
    scenario.scheme.iter_mut().for_each(|scheme| scheme.routing = RoutingSpec::Ecmp);
}

fn set(scenario: &mut Scenario, x: u32) -> String {
    let failure = &FAILURES_OF[x as usize - 1];
    let named = || failure.what.to_string();
    for event in &mut scenario.event {
        let fails = matches!(event.kind, EventKind::LinkDown { .. } | EventKind::SwitchDown { .. });
        event.kind = match (fails, failure.is_switch) {
            (true, false) => EventKind::LinkDown { link: named() },
            (false, false) => EventKind::LinkUp { link: named() },
            (true, true) => EventKind::SwitchDown { switch: named() },
            (false, true) => EventKind::SwitchUp { switch: named() },
        };
    }
    scenario.measure.ports = vec![failure.port.join("-")];
    if let Some(cards) = failure.cards {
        with_cards(scenario, cards);
    }
    let one = scenario.workload.remove(0);
    scenario.workload = (1..HOSTS).map(|by| strided(&one, by)).collect();
    failure.name.into()
}

/// The same traffic from each host to the host whose number is higher by `by`.
fn strided(one: &WorkloadSpec, by: u32) -> WorkloadSpec {
    let mut spec = one.clone();
    if let WorkloadSpec::Udp(udp) = &mut spec {
        let to = (0..HOSTS).map(|host| (host + by) % HOSTS);
        udp.receivers = Hosts::List(to.map(|dst| (dst, dst)).collect());
    }
    spec
}

const LONGEST: Quantity = Quantity {
    key: "longest",
    name: "longest interruption of a flow",
    unit: "ms",
    of: |run| interruptions(run).into_iter().fold(0.0, f64::max),
};
const TOUCHED: Quantity = Quantity {
    key: "touched",
    name: "flows that lost anything",
    unit: "1",
    of: |run| interruptions(run).into_iter().filter(|lost| *lost > 0.0).count() as f64,
};
const CUT_OFF: Quantity = Quantity {
    key: "cut-off",
    name: "flows that were cut off",
    unit: "1",
    of: |run| interruptions(run).into_iter().filter(|lost| *lost > CUT_OFF_MS).count() as f64,
};
const BACK: Quantity = Quantity {
    key: "back",
    name: "return to first use",
    unit: "ms",
    of: |run| first_use(run).map_or(f64::NAN, |at| (at - RETURNS) * 1e3),
};

/// For each flow, the silence in milliseconds that explains its loss. All flows send for as long as those without loss.
fn interruptions(run: &RunRecord) -> Vec<f64> {
    let flows = || run.flows.iter().filter(|flow| flow.started());
    let took =
        |flow: &FlowRow| flow.finished().then(|| (flow.finish_ps - flow.start_ps) as f64 / 1e9);
    let longest = flows().filter_map(took).fold(0.0, f64::max);
    flows().map(|f| (1.0 - f.delivered_bytes as f64 / f.bytes as f64) * longest).collect()
}

/// The time at which the port that was out of use carries data again, in seconds.
fn first_use(run: &RunRecord) -> Option<f64> {
    let ports = FAILURES_OF.iter().map(|failure| failure.port);
    let mut all_series = ports.map(|[node, to]| rates(&samples(run, node, to)));
    let time_series = all_series.find(|time_series| !time_series.is_empty())?;
    time_series.into_iter().find(|(at, rate)| *at > RETURNS && *rate > 0.0).map(|(at, _)| at)
}

fn figures(view: &View) -> Vec<Figure> {
    vec![
        view.bars("longest", "Longest interruption of a flow", &[LONGEST]),
        view.bars(
            "touched",
            "Flows that lost anything, and that were cut off",
            &[TOUCHED, CUT_OFF],
        ),
    ]
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let longest = "no number in the paper. Detection takes 20 to 30 ms, because three hello packets of 10 ms must be \
                   missing; then the news takes about 100 us from switch to switch";
    let back = "sessions are established in three steps, with one hello packet per second (RFC 5880, section 6.8.3); \
                measured in steps of 10 ms";
    let schemes = ["two-level", "ecmp", "notified at once"];
    let of = |point: &Measured| {
        let rows = schemes.iter().flat_map(|scheme| {
            [
                point.row(scheme, &LONGEST, None, longest),
                point.row(scheme, &TOUCHED, None, ""),
                point.row(
                    scheme,
                    &CUT_OFF,
                    None,
                    "there is no loss of connectivity where this is 0",
                ),
                point.row(scheme, &BACK, None, back).filter(|row| row.ours.mean.is_finite()),
            ]
        });
        rows.flatten().collect::<Vec<Row>>()
    };
    points.iter().flat_map(of).collect()
}
