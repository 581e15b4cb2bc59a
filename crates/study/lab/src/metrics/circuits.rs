//! Metrics from the counts of the racks of a hybrid fabric.

use crate::metrics::Measured;
use crate::record::RunRecord;
use slotline_net::node::Counter;
use slotline_schemes::counters;

/// Bytes sent over circuits, divided by what the circuits could carry until the last packet of each day had left. Only
/// pairs of racks with data to send count.
pub fn utilisation(run: &RunRecord) -> Option<Measured> {
    let circuit = run.ports.iter().find(|port| port.port.starts_with("circuit"))?;
    let up_ns = run.control(counters::hybrid::DATA_CIRCUIT_UP_NS);
    let capacity = up_ns as f64 * circuit.rate_bps as f64 / 8e9;
    let value = run.control(counters::hybrid::DATA_CIRCUIT_BYTES) as f64 / capacity;
    (up_ns > 0).then_some(Measured { value, at_least: false })
}

/// A percentile of the latency, if it was measured.
pub fn latency(run: &RunRecord, percentile: Counter) -> Option<Measured> {
    let value = run.control(percentile) as f64 * 1e-9;
    (run.control(counters::hybrid::LATENCY.count) > 0)
        .then_some(Measured { value, at_least: false })
}
