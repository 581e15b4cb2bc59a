//! Fairness among flows: Figure 20.

use super::PER_TCP_FLOW;
use crate::draw::View;
use crate::quantity::{each, goodput, mbit_per_s};
use crate::{Experiment, Measured, Quantity, Row, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_report::plot::Figure;

/// Figure 20.
pub(super) const FAIRNESS: Experiment = Experiment {
    id: "xco-8",
    about: "Figure 20: two UDP and three TCP senders as fast as they can, 1 Gbit/s",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/xco-8.toml",
        text: include_str!("../../../../../scenarios/reproduce/xco-8.toml"),
        axis: &[5],
        set: |_, senders| format!("{senders} senders"),
        compare,
        figures,
    }),
};

const FLOWS: [Quantity; 5] = [
    flow("udp-1", "first UDP flow", |run| of_flow(run, 0)),
    flow("udp-2", "second UDP flow", |run| of_flow(run, 1)),
    flow("tcp-1", "first TCP flow", |run| of_flow(run, 2)),
    flow("tcp-2", "second TCP flow", |run| of_flow(run, 3)),
    flow("tcp-3", "third TCP flow", |run| of_flow(run, 4)),
];
const PER_UDP_FLOW: Quantity =
    flow("udp", "goodput per UDP flow", |run| each(run, |flow| flow.udp));
const UDP_SHARE: Quantity = Quantity {
    key: "share",
    name: "share of the UDP flows, on the receiver's link",
    unit: "%",
    of: udp_share,
};

const fn flow(key: &'static str, name: &'static str, of: fn(&RunRecord) -> f64) -> Quantity {
    Quantity { key, name, unit: "Mbit/s", of }
}

/// Goodput of the flow of sender `src`.
fn of_flow(run: &RunRecord, src: u32) -> f64 {
    let bytes: u64 =
        run.flows.iter().filter(|flow| flow.src == src).map(|flow| flow.delivered_bytes).sum();
    bytes as f64 * 8e6 / run.engine.sim_time_ps.max(1) as f64
}

/// Bytes of a full segment on a link, and its payload.
const SEGMENT: [f64; 2] = [1_538.0, 1_448.0];

/// The share of the receiver's link that is not TCP. UDP counts even if its messages are incomplete.
fn udp_share(run: &RunRecord) -> f64 {
    let link = run.ports.iter().filter(|port| !port.host && port.port == "h5");
    let all = mbit_per_s(link.map(|port| port.tx_bytes).sum(), run);
    let tcp = goodput(run, |flow| !flow.udp) * SEGMENT[0] / SEGMENT[1];
    100.0 * (1.0 - tcp / all.max(1e-9))
}

fn figures(view: &View) -> Vec<Figure> {
    vec![view.bars("flows", "Goodput of each flow", &FLOWS)]
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let without = "no number in the text: UDP \"dominates\"; it also does on our link, but most of its messages of 64 \
                   KB do not arrive whole";
    let slices = "no number in the text: \"approximately the same share\" for all";
    let of = |point: &Measured| {
        let schemes = [("without", without), ("timeslice", slices)];
        let rows = schemes.map(|(scheme, note)| {
            let row = |quantity: &Quantity| point.row(scheme, quantity, None, note);
            let mut rows: Vec<Option<Row>> = FLOWS.iter().map(row).collect();
            rows.extend([row(&PER_UDP_FLOW), row(&PER_TCP_FLOW), row(&UDP_SHARE)]);
            rows
        });
        rows.into_iter().flatten().flatten().collect::<Vec<Row>>()
    };
    points.iter().flat_map(of).collect()
}
