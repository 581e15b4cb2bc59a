//! Blocks to one neighbour after the other: Figure 11.

use crate::output::report::plot::{Figure, Measure};
use crate::record::RunRecord;
use crate::reproduce::draw::View;
use crate::reproduce::quantity::goodput;
use crate::reproduce::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use crate::scenario::Scenario;
use slotline_net::units::Bytes;
use slotline_net::workload::WorkloadSpec;

/// Figure 11.
pub(super) const NEIGHBOURS: Experiment = Experiment {
    id: "tdma-7",
    about: "Figure 11: every host sends a block to one neighbour after the other, by size of the block",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/tdma-7.toml",
        text: include_str!("../../../../../scenarios/reproduce/tdma-7.toml"),
        axis: &[100, 200, 375, 750, 1_500, 3_000],
        set: set_block,
        compare,
        figures,
    }),
};

/// Hosts of the experiment.
const HOSTS: f64 = 24.0;
/// What a slot carries at line rate.
const SLOT_KB: u32 = 375;

const EACH: Quantity =
    Quantity { key: "each", name: "throughput of a host", unit: "Gbit/s", of: each };

fn set_block(scenario: &mut Scenario, kb: u32) -> String {
    for workload in &mut scenario.workload {
        if let WorkloadSpec::Shuffle(shuffle) = workload {
            shuffle.size = Bytes(u64::from(kb) * 1_000);
        }
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
    let tcp = "\"at best\" 4.5 at any size in the paper; ours is a synchronous shuffle of Cubic flows, whose hosts \
               get out of step as there";
    let full = "near the line rate in the paper, of which guard times leave 95 % and headers 94 % of that. Ours loses \
                more, as a block begins only when the one before is acknowledged: a report and a round pass with \
                nothing to send";
    let small = "less than a slot's 375 KB: the rest of the slot is idle";
    let of = |point: &Measured| {
        let slots = if point.x < SLOT_KB { (None, small) } else { (None, full) };
        [
            point.row("tcp", &EACH, Some(Stated::Under(4.5)), tcp),
            point.row("tdma", &EACH, slots.0, slots.1),
        ]
    };
    points.iter().flat_map(of).flatten().collect()
}
