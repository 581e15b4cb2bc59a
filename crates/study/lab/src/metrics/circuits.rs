//! What the racks of a hybrid fabric have counted, as metrics.

use crate::metrics::Measured;
use crate::record::RunRecord;

/// Bytes over circuits over what these could carry in their days, of pairs of racks with data to send.
pub fn utilisation(run: &RunRecord) -> Option<Measured> {
    let circuit = run.ports.iter().find(|port| port.port.starts_with("circuit"))?;
    let up_ns = run.control("data_circuit_up_ns");
    let capacity = up_ns as f64 * circuit.rate_bps as f64 / 8e9;
    let value = run.control("data_circuit_bytes") as f64 / capacity;
    (up_ns > 0).then_some(Measured { value: value.min(1.0), at_least: false })
}

/// Nanoseconds counted under `name`, where any were.
pub fn latency(run: &RunRecord, name: &str) -> Option<Measured> {
    let value = run.control(name) as f64 * 1e-9;
    (run.control("latency_count") > 0).then_some(Measured { value, at_least: false })
}
