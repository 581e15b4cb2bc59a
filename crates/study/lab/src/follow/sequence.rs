//! Time-sequence graphs of a few flows.

use super::choose::Choice;
use super::trip::{Trace, Trip};
use crate::collect::Scene;
use crate::record::{RunRecord, SequenceRow, Step};
use slotline_net::node::host::Plan;
use std::collections::BTreeSet;

/// The number of flows drawn besides those that the scenario names.
const DRAWN: usize = 3;
/// The most segments of a flow that is drawn without being named.
const MOST_SEGMENTS: u32 = 20_000;

/// The flows that are drawn: the named ones, and the slowest, the median and the largest flow.
pub(super) fn drawn(choice: &Choice, record: &RunRecord, scene: &Scene) -> BTreeSet<u32> {
    let named = choice.named.iter().copied();
    interesting(choice, record, scene).into_iter().chain(named).collect()
}

fn interesting(choice: &Choice, record: &RunRecord, scene: &Scene) -> Vec<u32> {
    let small = |flow: &&u32| {
        let bytes = record.flows[**flow as usize].bytes;
        scene.plan.transport.segments(bytes) <= MOST_SEGMENTS
    };
    let lasted = |flow: &u32| {
        let row = &record.flows[*flow as usize];
        row.finish_ps.saturating_sub(row.start_ps)
    };
    let complete = |flow: &&u32| record.flows[**flow as usize].finished();
    let mut flows: Vec<u32> = choice.flows.iter().filter(small).filter(complete).copied().collect();
    flows.sort_by_key(|flow| (lasted(flow), *flow));
    let largest = flows.iter().copied().max_by_key(|&f| (record.flows[f as usize].bytes, f));
    let chosen = [flows.last().copied(), flows.get(flows.len() / 2).copied(), largest];
    chosen.into_iter().flatten().take(DRAWN).collect()
}

/// The sequence of a flow of a connection of which `trace` has all packets.
pub(super) fn sequence(flow: u32, plan: &Plan, trace: &Trace) -> Vec<SequenceRow> {
    let (traffic, transport) = (&plan.traffic, &plan.transport);
    let planned = &traffic.flows[flow as usize];
    let first = traffic.conns[planned.conn.at()].first.0;
    let segments = |bytes| transport.segments(bytes);
    let before: u32 = (first..flow).map(|f| segments(traffic.flows[f as usize].bytes)).sum();
    let range = before..before + segments(planned.bytes);
    let bytes_until =
        |end: u32| (u64::from(end - before) * u64::from(transport.mss())).min(planned.bytes);
    let row = |t_ps, step, end| SequenceRow { flow, t_ps, step, bytes: bytes_until(end) };
    let sent = trace.data.iter().filter(|trip| range.contains(&trip.packet.seq)).map(|trip| {
        let step = if trip.resent() { Step::Resent } else { Step::Sent };
        row(trip.start(), step, trip.packet.seq + 1)
    });
    let about = |trip: &&Trip| (before + 1..=range.end).contains(&trip.packet.seq);
    let acks = trace.arrived_acks.iter().map(|(_, at)| &trace.acks[*at as usize]).filter(about);
    let heard = acks.map(|trip| row(trip.arrive(), Step::Acknowledged, trip.packet.seq));
    let mut rows: Vec<SequenceRow> = sent.chain(heard).collect();
    rows.sort_by_key(|row| row.t_ps);
    rows
}
