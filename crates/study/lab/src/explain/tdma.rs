//! Finds settings of a TDMA scheme that look like mistakes.

use super::span;
use super::survey::Survey;
use slotline_net::topology::NodeKind;
use slotline_net::units::{Bytes, Rate};
use slotline_scenario::SchemeSpec;
use slotline_schemes::ControlSpec;
use slotline_tdma::TdmaSpec;
use slotline_tdma::options::Controllers;

/// The length of a pause frame on the wire in bytes.
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

/// A guard time absorbs the skew between the slots of hosts: the jitter of network cards, the packet in
/// transmission, and the time that frames to one host after another take (sections 3.2.3 and 5.4).
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
            "the guard time, {}, is shorter than the skew between slots, {}: pause frames to {hosts} hosts \
             take {}, network cards react within {} of each other, and a packet may be in transmission.",
            span(spec.guard),
            span(needed),
            span(serial),
            span(spec.jitter())
        )
    })
}

/// The traffic that all hosts may send to one host without slots waits at the port of that host.
fn shorts(survey: &Survey<'_>, scheme: &SchemeSpec, spec: &TdmaSpec) -> Option<String> {
    let (hosts, limit) = (survey.graph.hosts.len(), scheme.queue.limit);
    let each = spec.build().ok()?.short_flow(hosts, hosts_rate(survey)?)?;
    let all = Bytes(each.0 * (hosts as u64).saturating_sub(1));
    (all > limit).then(|| {
        format!(
            "short flows from all hosts to one host may add {} to its slots in a round, but a port holds \
             {limit}: set a larger queue, a shorter round or a smaller short-flow.",
            super::survey::size(all.0 as f64)
        )
    })
}

fn hosts_rate(survey: &Survey<'_>) -> Option<Rate> {
    let lanes = survey.lanes.iter().filter(|link| survey.is_host(link.from));
    lanes.map(|link| link.lane.rate).min()
}

fn most_at_a_switch(survey: &Survey<'_>) -> usize {
    let graph = &survey.graph;
    let switches = graph.nodes.iter().enumerate().filter(|(_, node)| node.kind == NodeKind::Switch);
    let hosts = |node: usize| {
        survey.lanes.iter().filter(|link| link.to.at() == node && survey.is_host(link.from)).count()
    };
    switches.map(|(node, _)| hosts(node)).max().unwrap_or(0)
}
