//! The messages of each step of an operation, between places 0 to n - 1.

/// A message of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    /// Place of the sender.
    pub from: u32,
    /// Place of the receiver.
    pub to: u32,
    /// Bytes.
    pub bytes: u64,
}

/// A step in which every place sends to the place `by` further on.
fn shift(n: u32, by: u32, bytes: u64) -> Vec<Move> {
    (0..n).map(|from| Move { from, to: (from + by) % n, bytes }).collect()
}

/// Reduce-scatter and all-gather: in 2(n - 1) steps every place sends a share to the next.
pub(super) fn ring(n: u32, size: u64) -> Vec<Vec<Move>> {
    (0..2 * (n - 1)).map(|_| shift(n, 1, size.div_ceil(n.into()))).collect()
}

/// In step k every place sends a share to the place k further on.
pub(super) fn all_to_all(n: u32, size: u64) -> Vec<Vec<Move>> {
    (1..n).map(|by| shift(n, by, size.div_ceil(n.into()))).collect()
}

/// All places but the last send forward. Then all but the first send back.
pub(super) fn pipeline(n: u32, bytes: u64) -> Vec<Vec<Move>> {
    let forward = (1..n).map(|to| Move { from: to - 1, to, bytes });
    let back = (1..n).rev().map(|from| Move { from, to: from - 1, bytes });
    vec![forward.collect(), back.collect()]
}

/// The first places, as many as the largest power of two, exchange a half, a quarter, … with partners at distance
/// 1, 2, …, and then the same in reverse order. The others first send their vector to a partner, and receive the
/// result from it at the end.
pub(super) fn halving_doubling(n: u32, size: u64) -> Vec<Vec<Move>> {
    let levels = n.ilog2();
    let core = 1 << levels;
    let fold = (core..n).map(|from| Move { from, to: from - core, bytes: size });
    let unfold = (core..n).map(|to| Move { from: to - core, to, bytes: size });
    let level = |level: u32| -> Vec<Move> {
        let bytes = size.div_ceil(2 << level);
        (0..core).map(|from| Move { from, to: from ^ (1 << level), bytes }).collect()
    };
    let halving = (0..levels).map(level);
    let doubling = (0..levels).rev().map(level);
    let all = std::iter::once(fold.collect()).chain(halving).chain(doubling);
    all.chain([unfold.collect()]).filter(|step: &Vec<Move>| !step.is_empty()).collect()
}
