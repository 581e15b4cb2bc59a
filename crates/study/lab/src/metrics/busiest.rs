//! Selects the port by which a run is judged.

use crate::record::{RunRecord, Window};

/// The switch port with the longest mean queue of the samples in `window`; the first of several equal ones. Without
/// queues, the sampled port that sent the most bytes.
pub fn busiest_port(run: &RunRecord, window: Window) -> Option<u32> {
    if run.engine.flow_level {
        let sampled = run.samples.iter().map(|sample| sample.port);
        let sent = |port: &u32| run.ports.get(*port as usize).map_or(0, |port| port.tx_bytes);
        return sampled.max_by_key(|port| (sent(port), std::cmp::Reverse(*port)));
    }
    let mut totals = vec![(0u128, 0u64); run.ports.len()];
    for sample in window.of(&run.samples) {
        if let Some((sum, n)) = totals.get_mut(sample.port as usize) {
            *sum += u128::from(sample.queue_bytes);
            *n += 1;
        }
    }
    let mut best: Option<(usize, (u128, u128))> = None;
    for (at, (sum, n)) in totals.into_iter().enumerate() {
        let n = u128::from(n);
        let sampled_switch = n > 0 && !run.ports[at].host;
        if sampled_switch && best.is_none_or(|(_, (s, m))| sum * m > s * n) {
            best = Some((at, (sum, n)));
        }
    }
    best.map(|(at, _)| at as u32)
}
