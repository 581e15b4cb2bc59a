//! Shows where the time of a flow went on the terminal.

use super::format::quantity;
use crate::record::{FlowRow, Part, RunRecord, WhyRow};
use slotline_scenario::metric::Unit;
use std::fmt::Write;

/// Characters of the longest bar.
const BAR: f64 = 30.0;

/// The breakdown of the time of the flow of `row`.
pub fn text(record: &RunRecord, row: &WhyRow) -> String {
    let flow = &record.flows[row.flow as usize];
    let took = (flow.finish_ps - flow.start_ps) as f64;
    let mut out = headline(record, flow, row);
    for part in Part::ALL.into_iter().filter(|part| row.of(*part) > 0) {
        let share = row.of(part) as f64 / took;
        let bar = "█".repeat((share * BAR).round() as usize);
        let line = format!(
            "{:<32} {:>9}  {:>4.1} %  {bar}",
            part.title(),
            time(row.of(part)),
            share * 100.0
        );
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {}", line.trim_end());
    }
    for (port, ps) in row.worst.iter().filter(|(_, ps)| *ps > 0) {
        let port = &record.ports[*port as usize];
        let _ = writeln!(out, "  waited {} at {}, to {}", time(*ps), port.node, port.port);
    }
    out
}

/// The reason why no flow of `records` has a breakdown.
pub fn nothing(records: &[RunRecord]) -> String {
    let tcp =
        || records.iter().flat_map(|run| &run.flows).filter(|flow| !flow.udp && !flow.request);
    let began = tcp().filter(|flow| flow.started()).count();
    let finished = tcp().filter(|flow| flow.started() && flow.finished()).count();
    match (began, finished) {
        (0, _) => "there is nothing to explain: no TCP flow began before the end of the run".into(),
        (began, 0) => format!(
            "there is nothing to explain: {} began, and none of them finished before the end of the run; \
             only the completion time of a finished flow is divided into parts (give flows a size, or a later end.at)",
            count(began as u32, "TCP flow", "TCP flows")
        ),
        (_, finished) => format!(
            "{} finished, but no packets of them were recorded: name one of them with --flow",
            count(finished as u32, "TCP flow", "TCP flows")
        ),
    }
}

fn headline(record: &RunRecord, flow: &FlowRow, row: &WhyRow) -> String {
    let alone = match flow.ideal_ps {
        0 => String::new(),
        ideal => format!(", {} in an empty network", time(ideal)),
    };
    format!(
        "Flow {} under {}, seed {}: {} from host {} to host {} in {}{alone}; {}, {}, {}\n",
        flow.flow,
        record.scheme,
        record.seed,
        quantity(Unit::Bytes, flow.bytes as f64),
        flow.src,
        flow.dst,
        time(flow.finish_ps - flow.start_ps),
        count(row.round_trips, "round trip in sequence", "round trips in sequence"),
        count(flow.retransmits, "retransmission", "retransmissions"),
        count(flow.timeouts, "time-out", "time-outs"),
    )
}

fn count(n: u32, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

fn time(ps: u64) -> String {
    quantity(Unit::Seconds, ps as f64 * 1e-12)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::PortRow;

    #[test]
    fn nothing_is_said_to_be_nothing() {
        let run = |finish_ps| {
            let flow = FlowRow { finish_ps, ..FlowRow::default() };
            [RunRecord { flows: vec![flow], ..RunRecord::default() }]
        };
        assert!(nothing(&run(crate::record::NEVER)).contains("1 TCP flow began, and none"));
        assert!(nothing(&run(5)).contains("--flow"));
        assert!(nothing(&[]).contains("no TCP flow began"));
    }

    #[test]
    fn a_flow_is_shown_with_shares_and_places() {
        let ms = 1_000_000_000;
        let mut parts = [0; Part::ALL.len()];
        parts[Part::Queue as usize] = 8 * ms;
        parts[Part::Timeout as usize] = 2 * ms;
        let row = WhyRow {
            parts,
            round_trips: 3,
            worst: [(0, 8 * ms), (0, 0), (0, 0)],
            ..WhyRow::default()
        };
        let flow = FlowRow {
            bytes: 64_000,
            src: 3,
            finish_ps: 10 * ms,
            ideal_ps: ms,
            retransmits: 5,
            timeouts: 1,
            ..FlowRow::default()
        };
        let port = PortRow { node: "s0".into(), port: "h0".into(), ..PortRow::default() };
        let record = RunRecord {
            scheme: "tcp".into(),
            seed: 1,
            flows: vec![flow],
            ports: vec![port],
            ..RunRecord::default()
        };
        let expected = "\
Flow 0 under tcp, seed 1: 64 KB from host 3 to host 0 in 10 ms, 1 ms in an empty network; \
3 round trips in sequence, 5 retransmissions, 1 time-out
  queued in switches                    8 ms  80.0 %  ████████████████████████
  waiting for a time-out                2 ms  20.0 %  ██████
  waited 8 ms at s0, to h0
";
        assert_eq!(text(&record, &row), expected);
    }
}
