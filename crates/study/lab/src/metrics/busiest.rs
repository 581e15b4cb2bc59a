//! Selects the port by which a run is judged, and its samples that count.

use crate::record::{RunRecord, Window};
use slotline_net::samples::Series;
use std::cmp::Reverse;

/// The switch port with the longest mean queue of the samples in `window`; the first of several equal ones. Without
/// queues, the sampled port that sent the most bytes.
pub fn busiest_port(run: &RunRecord, window: Window) -> Option<u32> {
    if run.engine.flow_level {
        let sampled = run.samples.series().iter().map(|series| series.port);
        let sent = |port: &u32| run.ports.get(*port as usize).map_or(0, |port| port.tx_bytes);
        return sampled.max_by_key(|port| (sent(port), Reverse(*port)));
    }
    let turns = window.of(run.samples.times());
    if turns.is_empty() {
        return None;
    }
    let is_switch = |port: u32| run.ports.get(port as usize).is_some_and(|port| !port.host);
    let switches = run.samples.series().iter().filter(|series| is_switch(series.port));
    let total = |series: &Series| -> u128 {
        let runs = series.repeated(turns.clone());
        runs.map(|run| u128::from(run.queue_bytes) * run.turns.len() as u128).sum()
    };
    let most = switches.max_by_key(|series| (total(series), Reverse(series.port)));
    most.map(|series| series.port)
}

/// The bytes that wait at a port in the samples in `window` before which it sent something.
pub fn queues_in_use(run: &RunRecord, port: u32, window: Window) -> Vec<u64> {
    let Some(series) = run.samples.of(port) else { return vec![] };
    let turns = window.of(run.samples.times());
    // Of samples with the same bytes sent only the first counts.
    let mut before = 0;
    let used = series.repeated(0..turns.end).filter(|run| {
        let used = run.tx_bytes > std::mem::replace(&mut before, run.tx_bytes);
        used && run.turns.start >= turns.start
    });
    used.map(|run| run.queue_bytes).collect()
}
