//! The example of demand estimation: Figure 4.1.

use super::row;
use crate::{Experiment, Findings, Work};
use slotline_bench::hedera::estimated;
use slotline_hedera::placement::Fabric;
use slotline_hedera::placement::matrix::{Matrix, example};
use slotline_net::id::HostId;

/// Figure 4.1.
pub(super) const EXAMPLE: Experiment = Experiment {
    id: "hed-1",
    about: "Figure 4.1: the example of demand estimation, four hosts, ten flows",
    work: Work::Computed {
        how: "The printed pseudo-code of Fig 4.4, step by step, and the estimator that the scheduler uses.",
        find: |_| {
            let rows = steps().into_iter().flat_map(|(name, matrix)| rows(name, &matrix));
            Findings { rows: rows.chain(fast()).collect(), ..Findings::default() }
        },
    },
};

const THIRD: f64 = 1.0 / 3.0;
/// Sender, receiver, and the demands in the four printed matrices.
const PRINTED: [(u32, u32, [f64; 4]); 8] = [
    (0, 1, [THIRD; 4]),
    (0, 2, [THIRD; 4]),
    (0, 3, [THIRD; 4]),
    (1, 0, [THIRD; 4]),
    (1, 2, [THIRD; 4]),
    (2, 0, [0.5, THIRD, THIRD, THIRD]),
    (2, 3, [0.5, 0.5, 2.0 * THIRD, 2.0 * THIRD]),
    (3, 1, [0.5, THIRD, THIRD, THIRD]),
];
const NAMES: [&str; 4] = ["senders", "receivers", "senders again", "receivers again"];

fn steps() -> Vec<(usize, Matrix)> {
    let mut matrix = example();
    let mut out = Vec::new();
    for step in 0..4 {
        if step % 2 == 0 {
            matrix.estimate_sources()
        } else {
            matrix.estimate_destinations()
        }
        out.push((step, matrix.clone()));
    }
    out
}

fn rows(step: usize, matrix: &Matrix) -> Vec<crate::Row> {
    let one = |&(src, dst, printed): &(u32, u32, [f64; 4])| {
        let ours = matrix.cell(HostId(src), HostId(dst))?.demand;
        let place = (format!("after {}", NAMES[step]), format!("H{src} to H{dst}"));
        row(None, place, ("demand of each flow", "of a card"), Some(printed[step]), &[ours], "")
    };
    PRINTED.iter().filter_map(one).collect()
}

/// The estimate of the scheduler for the same flows.
fn fast() -> Vec<crate::Row> {
    let fabric = Fabric::fat_tree(4);
    let pairs: Vec<(HostId, HostId)> = (PRINTED.iter())
        .flat_map(|&(src, dst, _)| {
            let flows = example().cell(HostId(src), HostId(dst)).map_or(0, |cell| cell.flows);
            (0..flows).map(move |_| (HostId(src), HostId(dst)))
        })
        .collect();
    let flows = estimated(&fabric, &pairs);
    let one = |&(src, dst, printed): &(u32, u32, [f64; 4])| {
        let flow = flows.iter().find(|flow| (flow.src.0, flow.dst.0) == (src, dst))?;
        let place = ("the scheduler's estimator".into(), format!("H{src} to H{dst}"));
        let quantity = ("demand of each flow", "of a card");
        row(None, place, quantity, Some(printed[3]), &[flow.demand], "")
    };
    PRINTED.iter().filter_map(one).collect()
}
