//! What looks like a mistake in a scheme with slots.

use super::span;
use super::survey::Survey;
use slotline_net::topology::NodeKind;
use slotline_net::units::{Bytes, Rate};
use slotline_scenario::SchemeSpec;
use slotline_schemes::ControlSpec;
use slotline_tdma::TdmaSpec;
use slotline_tdma::options::Controllers;

/// Bytes of a pause frame on the wire.
const FRAME: u64 = 84;

pub(super) fn sentences(survey: &Survey<'_>, scheme: &SchemeSpec, packet: u64) -> Vec<String> {
    match &scheme.control {
        ControlSpec::Tdma(spec) => {
            let short = shorts(survey, scheme, spec);
            guard(survey, spec, packet).into_iter().chain(short).collect()
        }
        _ => Vec::new(),
    }
}

/// Guard times absorb what hosts' slots differ by: cards' jitter, the packet in transmission, and the
/// time that frames to one host after another take (sections 3.2.3 and 5.4).
fn guard(survey: &Survey<'_>, spec: &TdmaSpec, packet: u64) -> Option<String> {
    let rate = hosts_rate(survey)?;
    let hosts = match spec.controllers {
        Controllers::One => survey.graph.hosts.len(),
        Controllers::PerSwitch => most_at_a_switch(survey),
    };
    let serial = rate.time_for(Bytes(FRAME * hosts as u64));
    let needed = serial + spec.jitter() + rate.time_for(Bytes(packet));
    (needed > spec.guard).then(|| {
        format!(
            "the guard time, {}, is shorter than what slots can differ by, {}: pause frames to {hosts} \
             hosts take {}, cards react within {} of each other, and a packet may be in transmission.",
            span(spec.guard),
            span(needed),
            span(serial),
            span(spec.jitter())
        )
    })
}

/// What all hosts together may send to one without slots in a round waits at its port.
fn shorts(survey: &Survey<'_>, scheme: &SchemeSpec, spec: &TdmaSpec) -> Option<String> {
    let (hosts, limit) = (survey.graph.hosts.len(), scheme.queue.limit);
    let each = spec.build().ok()?.short_flow(hosts, hosts_rate(survey)?)?;
    let all = Bytes(each.0 * (hosts as u64).saturating_sub(1));
    (all > limit).then(|| {
        format!(
            "short flows of all hosts to one may bring {} in a round beyond its slots, more than a port's \
             {limit}: a larger queue, a shorter round or a smaller short-flow keeps them.",
            super::survey::size(all.0 as f64)
        )
    })
}

fn hosts_rate(survey: &Survey<'_>) -> Option<Rate> {
    let lanes = survey.lanes.iter().filter(|way| survey.is_host(way.from));
    lanes.map(|way| way.lane.rate).min()
}

fn most_at_a_switch(survey: &Survey<'_>) -> usize {
    let graph = &survey.graph;
    let switches = graph.nodes.iter().enumerate().filter(|(_, node)| node.kind == NodeKind::Switch);
    let hosts = |node: usize| {
        survey.lanes.iter().filter(|way| way.to.at() == node && survey.is_host(way.from)).count()
    };
    switches.map(|(node, _)| hosts(node)).max().unwrap_or(0)
}
