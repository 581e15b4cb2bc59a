//! The fat-tree: a scalable, commodity data center network architecture (Al-Fares, 2012, chapters 2 and 3).

mod bandwidth;
mod cost;
mod ecmp_loss;
mod failures;
mod packaging;
mod patterns;
mod power;
mod scheduler_cost;
mod table_sizes;
mod water;

use super::{Paper, Row, Stated};
use slotline_lab::statistics::Estimate;

/// The paper.
pub(super) static PAPER: Paper = Paper {
    key: "ft",
    title: "A Scalable, Adaptive, and Extensible Data Center Network Architecture, chapters 2 and 3: the fat-tree \
            (Al-Fares, 2012)",
    experiments: &[
        cost::COST,
        ecmp_loss::LOSS,
        bandwidth::BANDWIDTH,
        scheduler_cost::COST,
        failures::FAILURES,
        power::POWER,
        packaging::PACKAGING,
        table_sizes::SIZES,
    ],
};

/// A value that is computed, not drawn.
fn computed(
    (point, scheme): (&str, &str),
    (quantity, unit): (&'static str, &'static str),
    paper: Option<f64>,
    ours: f64,
    note: &str,
) -> Option<Row> {
    Some(Row {
        x: None,
        point: point.into(),
        scheme: scheme.into(),
        quantity: quantity.into(),
        unit: unit.into(),
        paper: paper.map(Stated::About),
        ours: Estimate::of(&[ours])?,
        note: note.into(),
    })
}
