//! Blocks to one neighbour after another: Figure 11.
//!
//! A point of the axis is the size of a block in KB. One more than the size means that all blocks of a host are in its
//! send buffer at once, so that the next demand is known before the previous block is complete.

use crate::draw::View;
use crate::quantity::goodput;
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_net::units::Bytes;
use slotline_net::workload::WorkloadSpec;
use slotline_net::workload::shuffle::Order;
use slotline_report::plot::{Figure, Measure};
use slotline_scenario::Scenario;

/// Figure 11.
pub(super) const NEIGHBOURS: Experiment = Experiment {
    id: "tdma-7",
    about: "Figure 11: every host sends a block to one neighbour after the other, by size of the block",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/tdma-7.toml",
        text: include_str!("../../../../../scenarios/reproduce/tdma-7.toml"),
        axis: &[100, 200, 375, 750, 1_500, 3_000, 101, 201, 376, 751, 1_501, 3_001],
        set: set_block,
        compare,
        figures,
    }),
};

/// The number of hosts of the experiment.
const HOSTS: f64 = 24.0;
/// The amount of data that a slot carries at line rate.
const SLOT_KB: u32 = 375;
/// The sizes of blocks plus one.
const AT_ONCE: [u32; 6] = [101, 201, 376, 751, 1_501, 3_001];

const EACH: Quantity =
    Quantity { key: "each", name: "throughput of a host", unit: "Gbit/s", of: each };

/// The size of a block, and whether blocks are in the send buffer before their turn.
fn block(x: u32) -> (u32, bool) {
    if AT_ONCE.contains(&x) { (x - 1, true) } else { (x, false) }
}

fn set_block(scenario: &mut Scenario, x: u32) -> String {
    let (kb, at_once) = block(x);
    for workload in &mut scenario.workload {
        if let WorkloadSpec::Shuffle(shuffle) = workload {
            shuffle.size = Bytes(u64::from(kb) * 1_000);
            if at_once {
                (shuffle.order, shuffle.repeats) = (Order::Simultaneous, 1);
            }
        }
    }
    if at_once {
        scenario.scheme.retain(|scheme| scheme.name == "tdma");
        return format!("{kb} KB, in the buffer");
    }
    format!("{kb} KB")
}

fn each(run: &RunRecord) -> f64 {
    goodput(run, |_| true) / HOSTS / 1e3
}

fn figures(view: &View) -> Vec<Figure> {
    vec![view.against_in("block", Measure::Bytes, 1e3, &EACH)]
}

fn compare(points: &[Measured]) -> Vec<Row> {
    points.iter().flat_map(rows).collect()
}

fn rows(point: &Measured) -> Vec<Row> {
    let tcp = "\"at best\" 4.5 at any size in the paper; ours are CUBIC flows to neighbours in order, and hosts get \
                          out of step as in the paper";
    let waiting = "the next block begins when the previous one is acknowledged; between them are a report, the \
                   planning of a round and its slots, in which the host has nothing to send";
    let full = "near the line rate in the paper, of which guard times leave 95 %, headers 95 % of that, and \
                acknowledgements' share 99 %; the last slot of a block is not full";
    let small = "less than a slot's 375 KB: the rest of the slot is idle";
    let (kb, at_once) = block(point.x);
    if !at_once {
        let rows = [
            point.row("tcp", &EACH, Some(Stated::Under(4.5)), tcp),
            point.row("tdma", &EACH, None, waiting),
        ];
        return rows.into_iter().flatten().collect();
    }
    let row = point.row("tdma", &EACH, None, if kb < SLOT_KB { small } else { full });
    let scheme = "tdma, in the buffer".to_string();
    let there = |row| Row { x: Some(kb.into()), point: format!("{kb} KB"), scheme, ..row };
    row.map(there).into_iter().collect()
}
