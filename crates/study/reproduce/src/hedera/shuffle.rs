//! The shuffle of 16 hosts: Table 4.2.

use crate::draw::View;
use crate::quantity::ended_ps;
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_net::route::RoutingSpec;
use slotline_net::topology::TopologySpec;
use slotline_net::units::Rate;
use slotline_report::plot::Figure;
use slotline_scenario::Scenario;
use std::collections::BTreeMap;

/// Table 4.2.
pub(super) const SHUFFLE: Experiment = Experiment {
    id: "hed-3",
    about: "Table 4.2: every host sends 500 MiB to every other, one after another",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/hed-3.toml",
        text: include_str!("../../../../../scenarios/reproduce/hed-3.toml"),
        axis: &[0, 1],
        set,
        compare,
        figures,
    }),
};

fn set(scenario: &mut Scenario, x: u32) -> String {
    if x == 0 {
        return "fat-tree".into();
    }
    if let TopologySpec::FatTree(tree) = &mut scenario.fabric {
        tree.host_rate = Some(tree.rate);
        tree.rate = Rate(tree.rate.0 * 100);
    }
    scenario.scheme.truncate(1);
    scenario.scheme[0].name = "control".into();
    scenario.scheme[0].routing = RoutingSpec::Ecmp;
    "non-blocking".into()
}

const TOTAL: Quantity =
    Quantity { key: "total", name: "total time", unit: "s", of: |run| ended_ps(run) as f64 / 1e12 };
const HOST: Quantity =
    Quantity { key: "host", name: "mean host completion", unit: "s", of: host_completion };
/// The thesis' means agree with one another only in units of 2^20 bytes, and if each host's goodput is its bytes divided
/// by the mean completion.
const GOODPUT: Quantity = Quantity {
    key: "goodput",
    name: "mean host goodput",
    unit: "MiB/s",
    of: |run| host_goodput(run) / f64::from(1 << 20),
};
const BISECTION: Quantity = Quantity {
    key: "bisection",
    name: "bisection bandwidth",
    unit: "Gbit/s",
    of: |run| host_goodput(run) * host_ends(run).len() as f64 * 8e-9,
};

/// The mean bytes of a host per second of the mean completion.
fn host_goodput(run: &RunRecord) -> f64 {
    let ends = host_ends(run);
    let bytes: u64 = ends.values().map(|(_, bytes)| bytes).sum();
    bytes as f64 / ends.len().max(1) as f64 / host_completion(run)
}

/// For each sending host, the time at which its last flow was complete, and its bytes.
fn host_ends(run: &RunRecord) -> BTreeMap<u32, (u64, u64)> {
    let mut ends = BTreeMap::new();
    for flow in &run.flows {
        let end = if flow.finished() { flow.finish_ps } else { run.engine.sim_time_ps };
        let host: &mut (u64, u64) = ends.entry(flow.src).or_default();
        *host = (host.0.max(end).max(1), host.1 + flow.delivered_bytes);
    }
    ends
}

fn host_completion(run: &RunRecord) -> f64 {
    let ends = host_ends(run);
    ends.values().map(|(end, _)| *end as f64 / 1e12).sum::<f64>() / ends.len().max(1) as f64
}

fn figures(view: &View) -> Vec<Figure> {
    vec![view.bars("shuffle", "Total time and mean host completion", &[TOTAL, HOST])]
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let stated = [
        ("ecmp", [438.44, 358.14, 20.94, 2.81]),
        ("first-fit", [335.50, 258.70, 28.99, 3.89]),
        ("annealing", [335.96, 261.96, 28.63, 3.84]),
        ("control", [306.37, 226.56, 33.10, 4.44]),
    ];
    let mut rows = Vec::new();
    for point in points {
        for scheme in ["ecmp", "ecmp-flow", "first-fit", "annealing", "best", "control"] {
            let own = stated.iter().find(|(name, _)| *name == scheme);
            for (at, quantity) in [TOTAL, HOST, GOODPUT, BISECTION].iter().enumerate() {
                let paper = own.map(|(_, values)| Stated::About(values[at]));
                rows.extend(point.row(scheme, quantity, paper, ""));
            }
        }
    }
    rows
}
