//! Estimates the memory that the runs of a scenario take.

use super::cost::{Estimate, all_recorded, followed, samples};
use super::survey::Survey;
use crate::follow::{HOPS_PER_SEGMENT, most_hops, room};
use slotline_net::id::HostId;
use slotline_net::transport::Transport;
use slotline_net::workload::{Carrier, Conn};
use slotline_scenario::SchemeSpec;
use slotline_scenario::port_names::ports_named;
use slotline_schemes::ControlSpec;
use slotline_sim::FIRST_NOTES;
use std::collections::BTreeSet;

/// Bytes for each packet-hop that is recorded.
const RECORDED: f64 = 36.0;

/// The share of the room for recorded packet-hops that is used: flows that no longer fit are left out.
const ROOM_USED: f64 = 0.72;

/// Bytes of the results about a followed flow.
const FOLLOWED_FLOW: f64 = 2_500.0;

/// Bytes for each permission of a central scheduler that is kept to explain flows.
const PERMISSION: f64 = 100.0;

/// The share of [`FIRST_NOTES`] that is kept at most.
const NOTES_KEPT: f64 = 1.5;

/// Bytes for the program itself.
const PROGRAM: f64 = 32e6;

/// Bytes for a connection whose losses are detected by time.
const TIMED_CONNECTION: f64 = 1_000.0;

/// Bytes for each flow, once for all runs.
const FLOW: f64 = 80.0;

/// Bytes of the results for each flow of a run.
const FLOW_OF_RUN: f64 = 80.0;

/// Bytes for each flow while a run goes on: of flows whose start time is known before, and of those that wait for
/// others.
const RUNNING_FLOW: [f64; 2] = [290.0, 65.0];

/// Bytes for each sample of a run: of a port that is busy, and of a bump.
const SAMPLE: [f64; 2] = [5.0, 60.0];

/// Bytes of the network for each directed link, once for all runs.
const LINK: f64 = 400.0;

/// Bytes of a run for each directed link: with plain queues, with others, and with pause frames.
const PORT: [f64; 3] = [600.0, 2_500.0, 4_300.0];

/// Bytes of a host under Fastpass that sends: it remembers the paths of the last packets.
const FASTPASS_SENDER: f64 = 100e3;

/// Bytes of one of the two arbiters of Fastpass.
const FASTPASS_ARBITER: f64 = 2e6;

/// Bytes for each captured packet.
const CAPTURED: f64 = 100.0;

/// Bytes of a packet in the host of its sender.
const WAITING_PACKET: f64 = 48.0;

/// Bytes of a packet in a queue.
const QUEUED_PACKET: f64 = 36.0;

/// The share of simultaneous runs whose queues are full at the same time.
const FULL_AT_ONCE: f64 = 0.45;

/// Bytes for the program, the network, the traffic, the records of all runs, and the state and the recorded packets of
/// `at_once` simultaneous runs.
pub(super) fn memory(survey: &Survey<'_>, estimates: &[Estimate], at_once: usize) -> f64 {
    let recorded =
        if followed(survey.scenario) { recorded(survey, estimates, at_once) } else { 0.0 };
    let runs = (survey.scenario.scheme.len() as u32 * survey.scenario.repeat) as f64;
    let flows = survey.flows() as f64;
    let network = LINK * survey.lanes.len() as f64 + states(survey, at_once);
    PROGRAM
        + recorded
        + captured(survey)
        + network
        + FLOW * flows
        + runs * (FLOW_OF_RUN * flows + SAMPLE[0] * samples(survey))
        + sampled_by_bumps(survey)
}

/// Bytes of the samples of all runs that bumps take of their queues and of the flows that they limit.
fn sampled_by_bumps(survey: &Survey<'_>) -> f64 {
    let Some(sample) = survey.scenario.measure.sample else { return 0.0 };
    let count = |at: &[String], to_hosts: bool| match at.len() {
        0 => survey.ports_of_switches(to_hosts).count(),
        some => some,
    };
    let bumps = survey.scenario.scheme.iter().filter_map(|scheme| scheme.bump.as_ref());
    let places = bumps.map(|bump| {
        let limits = bump.reaction.as_ref().map_or(0, |limit| count(&limit.at, true));
        count(&bump.at, false) + limits
    });
    let times = survey.lasts().as_secs_f64() / sample.as_secs_f64();
    let runs = f64::from(survey.scenario.repeat);
    SAMPLE[1] * runs * times * places.sum::<usize>() as f64
}

/// Bytes of the packets that the first run of each scheme captures.
fn captured(survey: &Survey<'_>) -> f64 {
    let measure = &survey.scenario.measure;
    let ends = measure.capture.iter().flat_map(|name| ports_named(&survey.graph, name));
    let most = measure.capture_limit as f64;
    let of_port = |end| survey.packets_from(end).min(most) * CAPTURED;
    survey.scenario.scheme.len() as f64 * ends.map(of_port).sum::<f64>()
}

/// Bytes of the state of the `at_once` largest runs.
fn states(survey: &Survey<'_>, at_once: usize) -> f64 {
    let scenario = survey.scenario;
    let each = scenario.scheme.iter().map(|scheme| state(survey, scheme));
    largest(each.flat_map(|bytes| std::iter::repeat_n(bytes, scenario.repeat as usize)), at_once)
}

/// The sum of the `most` largest values, at least one.
fn largest(values: impl Iterator<Item = f64>, most: usize) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(|a, b| b.total_cmp(a));
    values.iter().take(most.max(1)).sum()
}

/// Bytes of the state of a run, beyond that of its flows.
fn state(survey: &Survey<'_>, scheme: &SchemeSpec) -> f64 {
    let Ok(transport) = scheme.transport.build() else { return 0.0 };
    let queues = scheme.queues();
    let port = PORT[match queues.pfc {
        Some(_) => 2,
        None => usize::from(!queues.is_fifo(queues.priorities)),
    }];
    let timed = if transport.by_time() { TIMED_CONNECTION } else { 0.0 };
    let control = match scheme.control {
        ControlSpec::Fastpass(_) => {
            let senders: BTreeSet<HostId> = tcp(survey).map(|conn| conn.src).collect();
            senders.len() as f64 * FASTPASS_SENDER + 2.0 * FASTPASS_ARBITER
        }
        _ => 0.0,
    };
    let waiting = match scheme.control {
        ControlSpec::Fastpass(_) => waiting(survey, &transport, |packets| packets * WAITING_PACKET),
        ControlSpec::Tdma(_) => waiting(survey, &transport, of_queue),
        _ => 0.0,
    };
    let ports = port * survey.lanes.len() as f64;
    let [known, waits] = RUNNING_FLOW;
    let flows = survey.flows() as f64;
    let flows =
        known * survey.begin_at_known_times() + waits * (flows - survey.begin_at_known_times());
    ports + timed * survey.traffic.conns.len() as f64 + control + waiting + flows
}

/// Bytes of the windows that wait for their timeslots in hosts, by the bytes of a window.
fn waiting(survey: &Survey<'_>, transport: &Transport, bytes: fn(f64) -> f64) -> f64 {
    let window = f64::from(transport.max_window());
    let packets = |conn| survey.load(conn, transport).packets.min(window);
    tcp(survey).map(packets).map(bytes).sum::<f64>()
}

/// Bytes of the queue for one destination of a host under TDMA. Nearly all of the window waits in it, and its room
/// doubles when it is full.
fn of_queue(packets: f64) -> f64 {
    (0.95 * packets).max(1.0).log2().ceil().exp2() * QUEUED_PACKET * FULL_AT_ONCE
}

fn tcp<'a>(survey: &'a Survey<'_>) -> impl Iterator<Item = &'a Conn> {
    survey.traffic.conns.iter().filter(|conn| conn.carrier == Carrier::Tcp)
}

/// Bytes of the packets that simultaneous runs record. One run of each scheme is followed: all flows that can be
/// followed if there is room for them, and otherwise those that are.
fn recorded(survey: &Survey<'_>, estimates: &[Estimate], at_once: usize) -> f64 {
    let all = all_recorded(survey);
    let bytes = |e: &Estimate| {
        let most =
            if all { most_hops(e.hops as u64) } else { room(e.hops as u64, survey.flows()) } as f64;
        let Some((share, links)) = followed_part(survey, most) else { return 0.0 };
        let crossed = (2.0 * links / HOPS_PER_SEGMENT as f64).min(1.0);
        let most = if all { f64::INFINITY } else { ROOM_USED * most * crossed };
        let hops = (e.hops * share).min(most);
        hops * RECORDED + survey.flows() as f64 * hops / e.hops.max(1.0) * FOLLOWED_FLOW
    };
    let of_notes =
        |scheme| PERMISSION * permissions(survey, scheme).min(NOTES_KEPT * FIRST_NOTES as f64);
    let each = estimates.iter().map(bytes).zip(&survey.scenario.scheme);
    largest(each.map(|(bytes, scheme)| bytes + of_notes(scheme)), at_once)
}

/// The number of permissions that a central scheduler gives in a run, if there is one for each packet.
pub(super) fn permissions(survey: &Survey<'_>, scheme: &SchemeSpec) -> f64 {
    let (ControlSpec::Fastpass(_), Ok(transport)) = (&scheme.control, scheme.transport.build())
    else {
        return 0.0;
    };
    let packets = |conn| survey.load(conn, &transport).packets * survey.scale_of(conn);
    tcp(survey).map(packets).sum()
}

/// The share of packets that belong to connections that can be followed, and the mean number of links that these
/// packets cross. Such connections are TCP and have at most `most` packet-hops.
fn followed_part(survey: &Survey<'_>, most: f64) -> Option<(f64, f64)> {
    let transport = survey.scenario.scheme[0].transport.build().ok()?;
    let (mut all, mut few, mut crossed) = (0.0, 0.0, 0.0);
    for (at, conn) in survey.traffic.conns.iter().enumerate() {
        let own = survey.load(conn, &transport).packets;
        let packets = own * survey.scale_of(conn);
        all += packets;
        if conn.carrier == Carrier::Tcp && own * HOPS_PER_SEGMENT as f64 <= most {
            few += packets;
            crossed += packets * survey.path(at).count() as f64;
        }
    }
    (few > 0.0).then(|| (few / all, crossed / few))
}
