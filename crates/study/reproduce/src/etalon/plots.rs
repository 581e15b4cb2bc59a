//! The values of the paper's Figures 6 to 10 and 12 to 15, from the plots in the authors' public source (tag `matt`,
//! `experiments/*/graphs`): labels as printed, other values from the coordinates of the curves.

use super::{BY_CIRCUIT, BY_PACKET, MEDIAN, TAIL, USE};
use crate::{Quantity, Stated};

/// The quantities of the tables' columns, in order.
const COLUMNS: [&Quantity; 5] = [&USE, &MEDIAN, &BY_CIRCUIT, &BY_PACKET, &TAIL];

/// Values by packets in queues of fixed size.
const STATIC: [(u32, [f64; 5]); 6] = [
    (4, [16.0, 41.0, 31.0, 42.0, 56.0]),
    (8, [25.0, 64.0, 31.0, 71.0, 84.0]),
    (16, [39.0, 115.0, 31.0, 128.0, 141.0]),
    (32, [61.0, 191.0, 33.0, 236.0, 258.0]),
    (64, [92.0, 211.0, 43.0, 453.0, 485.0]),
    (128, [99.0, 451.0, 313.0, 590.0, 944.0]),
];

/// Values by microseconds ahead of a day, for queues from 16 to 128 packets.
const RESIZED: [(u32, [f64; 5]); 8] = [
    (0, [39.0, 115.0, 31.0, 128.0, 141.0]),
    (200, [52.0, 114.0, 32.0, 128.0, 154.0]),
    (400, [56.0, 114.0, 32.0, 129.0, 179.0]),
    (600, [65.0, 121.0, 33.0, 136.0, 227.0]),
    (800, [79.0, 124.0, 34.0, 143.0, 298.0]),
    (1000, [88.0, 135.0, 37.0, 178.0, 337.0]),
    (1200, [100.0, 196.0, 51.0, 368.0, 461.0]),
    (1400, [100.0, 452.0, 311.0, 592.0, 945.0]),
];

/// The same with reTCP. The figures do not have latencies by network.
const RETCP: [(u32, [f64; 3]); 7] = [
    (200, [67.0, 114.0, 167.0]),
    (400, [72.0, 116.0, 271.0]),
    (600, [85.0, 122.0, 378.0]),
    (800, [95.0, 129.0, 454.0]),
    (1000, [98.0, 139.0, 489.0]),
    (1200, [100.0, 203.0, 541.0]),
    (1400, [100.0, 452.0, 945.0]),
];

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

fn of<const N: usize>(table: &[(u32, [f64; N])], x: u32, column: usize) -> Option<Stated> {
    let row = table.iter().find(|(at, _)| *at == x);
    row.map(|(_, values)| Stated::About(values[column]))
}

fn column(quantity: &Quantity) -> Option<usize> {
    COLUMNS.iter().position(|it| it.key == quantity.key)
}

/// The value for queues of `packets` packets.
pub(super) fn with_size(packets: u32, quantity: &Quantity) -> Option<Stated> {
    of(&STATIC, packets, column(quantity)?)
}

/// The value for queues that grow `ahead` microseconds before a day.
pub(super) fn resized(ahead: u32, quantity: &Quantity) -> Option<Stated> {
    of(&RESIZED, ahead, column(quantity)?)
}

/// The value for queues that grow `ahead` microseconds before a day, with reTCP.
pub(super) fn resized_with_retcp(ahead: u32, quantity: &Quantity) -> Option<Stated> {
    let place = [&USE, &MEDIAN, &TAIL].iter().position(|it| it.key == quantity.key)?;
    of(&RETCP, ahead, place)
}

/// The gain of Figure 10 for circuits with a delay of `delay` microseconds.
pub(super) fn gain(delay: u32) -> Option<Stated> {
    GAINS.iter().find(|(us, _)| *us == delay).map(|(_, percent)| Stated::About(*percent))
}

/// Completion times of small and large flows in one ring.
pub(super) fn ring(scheme: &str, column: usize) -> Option<Stated> {
    let row = RING.iter().find(|(name, _)| *name == scheme)?;
    row.1.get(column).map(|value| Stated::About(*value))
}
