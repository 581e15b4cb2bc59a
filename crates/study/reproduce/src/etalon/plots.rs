//! The values of the paper's Figures 10 and 12 to 15, from the plots in the authors' public source (tag `matt`,
//! `experiments/*/graphs`): labels as printed, other values from the coordinates of the curves.

use crate::Stated;

/// By the delay of circuits in microseconds, the reduction of the median with resized queues, in percent.
const GAINS: [(u32, f64); 9] = [
    (5, 32.0),
    (10, 33.0),
    (15, 32.0),
    (20, 33.0),
    (30, 35.0),
    (40, 38.0),
    (60, 40.0),
    (80, 36.0),
    (120, 4.7),
];

/// Flows in one ring: median and 99th percentile of small flows and of large ones, in milliseconds.
const RING: [(&str, [f64; 4]); 3] = [
    ("voq", [0.94, 31.3, 379.0, 1421.0]),
    ("adu", [0.90, 13.8, 48.8, 152.0]),
    ("fixed", [0.90, 14.3, 48.5, 135.0]),
];

/// The gain of Figure 10 for circuits with a delay of `delay` microseconds.
pub(super) fn gain(delay: u32) -> Option<Stated> {
    GAINS.iter().find(|(us, _)| *us == delay).map(|(_, percent)| Stated::About(*percent))
}

/// Completion times of small and large flows in one ring.
pub(super) fn ring(scheme: &str, column: usize) -> Option<Stated> {
    let row = RING.iter().find(|(name, _)| *name == scheme)?;
    row.1.get(column).map(|value| Stated::About(*value))
}
