//! Quantities that are measured in a run.

use slotline_lab::record::{FlowRow, NEVER, RunRecord, SampleRow};
use slotline_net::node::DropReason;
use slotline_report::plot::Measure;
use std::collections::BTreeMap;

/// A quantity that is measured in a run.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    /// Its name in the page and in the names of saved files: letters and dashes.
    pub key: &'static str,
    /// Its name in tables and on axes.
    pub name: &'static str,
    /// Its unit; see [`scale`] for those that figures know.
    pub unit: &'static str,
    /// Its value.
    pub of: fn(&RunRecord) -> f64,
}

/// The unit of `unit` in figures, and the factor to it. Other units have no multiples.
pub fn scale(unit: &str) -> (Measure, f64) {
    match unit {
        "bit/s" => (Measure::BitsPerSecond, 1.0),
        "Mbit/s" => (Measure::BitsPerSecond, 1e6),
        "Gbit/s" => (Measure::BitsPerSecond, 1e9),
        "Tbit/s" => (Measure::BitsPerSecond, 1e12),
        "s" => (Measure::Seconds, 1.0),
        "ms" => (Measure::Seconds, 1e-3),
        "us" => (Measure::Seconds, 1e-6),
        "ns" => (Measure::Seconds, 1e-9),
        "B" => (Measure::Bytes, 1.0),
        "KB" => (Measure::Bytes, 1e3),
        "MB" => (Measure::Bytes, 1e6),
        "%" => (Measure::Share, 1e-2),
        _ => (Measure::Number, 1.0),
    }
}

/// The time at which the last flow of a run was complete, or the run's end, in picoseconds; at least 1.
pub fn ended_ps(run: &RunRecord) -> u64 {
    let end = |f: &FlowRow| if f.finished() { f.finish_ps } else { run.engine.sim_time_ps };
    run.flows.iter().map(end).max().unwrap_or(0).max(1)
}

/// The rate of `bytes` over the time until [`ended_ps`].
pub fn mbit_per_s(bytes: u64, run: &RunRecord) -> f64 {
    bytes as f64 * 8e6 / ended_ps(run) as f64
}

/// The flows of `which` that carry payload.
pub fn matching(run: &RunRecord, which: fn(&FlowRow) -> bool) -> impl Iterator<Item = &FlowRow> {
    run.flows.iter().filter(move |flow| !flow.request && which(flow))
}

/// The goodput of the flows of `which`.
pub fn goodput(run: &RunRecord, which: fn(&FlowRow) -> bool) -> f64 {
    mbit_per_s(matching(run, which).map(|flow| flow.delivered_bytes).sum(), run)
}

/// The mean [`goodput`] of a flow of `which`.
pub fn each(run: &RunRecord, which: fn(&FlowRow) -> bool) -> f64 {
    goodput(run, which) / matching(run, which).count().max(1) as f64
}

/// The completion times of the complete flows of `which`, in seconds.
pub fn completion_times(run: &RunRecord, which: fn(&FlowRow) -> bool) -> Vec<f64> {
    let done = matching(run, which).filter(|flow| flow.finished());
    done.map(|flow| (flow.finish_ps - flow.start_ps) as f64 / 1e12).collect()
}

/// The durations of the exchanges of workload `group`, from the first request to the last answer, in seconds and in the
/// order of their numbers. Incomplete exchanges are left out.
pub fn round_trips(run: &RunRecord, group: u16) -> Vec<f64> {
    round_trips_over_time(run, group).into_iter().map(|(_, took)| took).collect()
}

/// The start and the duration of each exchange of workload `group`, as in [`round_trips`].
pub fn round_trips_over_time(run: &RunRecord, group: u16) -> Vec<(f64, f64)> {
    let mut spans: BTreeMap<u32, (u64, u64, bool)> = BTreeMap::new();
    for flow in run.flows.iter().filter(|flow| flow.group == group) {
        let Some(exchange) = flow.exchange else { continue };
        let span = spans.entry(exchange).or_insert((u64::MAX, 0, false));
        *span = (span.0.min(flow.start_ps), span.1.max(flow.finish_ps), span.2 || !flow.request);
    }
    let whole = spans.values().filter(|(_, end, answered)| *answered && *end != NEVER);
    whole.map(|(start, end, _)| (*start as f64 / 1e12, (end - start) as f64 / 1e12)).collect()
}

/// The value that `percent` percent of `values` do not exceed (nearest rank); zero without values.
pub fn percentile(values: &[f64], percent: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(0.0)
}

/// Samples of the port from `node` to `to`.
pub fn samples(run: &RunRecord, node: &str, to: &str) -> Vec<SampleRow> {
    let port = run.ports.iter().position(|port| port.node == node && port.port == to);
    port.map_or(vec![], |port| run.samples.rows_of(port as u32))
}

/// Throughput between neighbouring samples: middle of the interval in seconds, bits per second.
pub fn rates(samples: &[SampleRow]) -> Vec<(f64, f64)> {
    let between = |pair: &[SampleRow]| {
        let span = (pair[1].t_ps - pair[0].t_ps) as f64 / 1e12;
        let sent = pair[1].tx_bytes.saturating_sub(pair[0].tx_bytes) as f64 * 8.0;
        ((pair[0].t_ps + pair[1].t_ps) as f64 / 2e12, sent / span)
    };
    samples.windows(2).filter(|pair| pair[1].t_ps > pair[0].t_ps).map(between).collect()
}

/// Packets that switches dropped, in percent of all packets that hosts sent.
pub fn loss(run: &RunRecord) -> f64 {
    let full = run.census.dropped[DropReason::Full as usize];
    100.0 * full as f64 / run.census.sent.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let values: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        let found = [0.0, 50.0, 99.0, 99.6, 100.0].map(|percent| percentile(&values, percent));
        assert_eq!(found, [1.0, 100.0, 198.0, 200.0, 200.0]);
        assert_eq!(percentile(&[], 50.0), 0.0);
    }

    #[test]
    fn a_round_trip_needs_its_answer() {
        let flow = |exchange, request, start_ps, finish_ps| FlowRow {
            exchange: Some(exchange),
            request,
            start_ps,
            finish_ps,
            group: 3,
            ..FlowRow::default()
        };
        let run = RunRecord {
            flows: vec![
                flow(0, true, 1_000, 2_000),
                flow(0, false, 2_000, 5_000),
                flow(1, true, 7_000, NEVER),
                flow(1, false, NEVER, NEVER),
                flow(2, true, 8_000, 9_000),
                FlowRow { group: 1, ..flow(3, false, 0, 1) },
            ],
            ..RunRecord::default()
        };
        assert_eq!(round_trips_over_time(&run, 3), [(1e-9, 4e-9)]);
        assert_eq!(round_trips(&run, 3), [4e-9]);
    }

    #[test]
    fn units_that_figures_know_have_multiples() {
        assert_eq!(scale("Mbit/s"), (Measure::BitsPerSecond, 1e6));
        assert_eq!(scale("%"), (Measure::Share, 1e-2));
        assert_eq!(scale("time-outs"), (Measure::Number, 1.0));
    }
}
