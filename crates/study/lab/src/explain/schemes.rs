//! Describes the schemes.

use super::survey::{Survey, size};
use super::{about, settings, span};
use slotline_net::aqm::spec::QueueSpec;
use slotline_net::node::bump::ChosenFlows;
use slotline_net::units::{Bytes, Rate};
use slotline_scenario::catalogue::Kind;
use slotline_scenario::port_names::{bump_ports, limiter_ports};
use slotline_scenario::{SchemeSpec, written};

pub(super) fn sentences(survey: &Survey<'_>) -> Vec<String> {
    let one = |(at, scheme): (usize, &SchemeSpec)| scheme_lines(survey, at, scheme);
    survey.scenario.scheme.iter().enumerate().flat_map(one).collect()
}

fn scheme_lines(survey: &Survey<'_>, at: usize, scheme: &SchemeSpec) -> Vec<String> {
    let baseline = if at == 0 && survey.scenario.scheme.len() > 1 { " (the baseline)" } else { "" };
    let control = parts(&scheme.control);
    let own = if scheme.fabric.is_some() { ", on a fabric of its own" } else { "" };
    let mut out = vec![format!("{}{baseline}{own}:", scheme.name)];
    if survey.scenario.engine.is_packet() {
        out.push(format!("  Transport {}.", sentence(Kind::Transport, &parts(&scheme.transport))));
        out.push(format!("  Queues: {}.", queue(survey, &scheme.queues(), packet(scheme))));
        out.extend(bumps(survey, scheme));
    }
    let fabric = survey.scenario.fabric_of(scheme);
    if let Some(fabric) = fabric.hybrid() {
        out.push(super::hybrid::queues(fabric, &scheme.voq.unwrap_or_default()));
    } else {
        let own = scheme.control.build().ok().flatten().and_then(|system| system.routing());
        let routing = own.unwrap_or(scheme.routing);
        out.push(format!("  Routing {}.", sentence(Kind::Routing, &name_of(&routing))));
    }
    out.extend(rearranging(scheme));
    out.extend(recovery(scheme));
    if control.0 != "none" {
        out.push(format!("  Control {}.", sentence(Kind::Control, &control)));
        out.extend(controllers(survey, scheme));
    }
    out
}

/// The virtual queues of bumps.
fn bumps(survey: &Survey<'_>, scheme: &SchemeSpec) -> Option<String> {
    let bump = scheme.bump.as_ref()?;
    let count = bump_ports(bump, &survey.graph).len() as u64;
    let does = if bump.observe { " They only estimate queues." } else { "" };
    let chosen = match bump.flows == ChosenFlows::default() {
        true => String::new(),
        false => {
            format!(" It acts on flows from hosts {} to hosts {}.", bump.flows.from, bump.flows.to)
        }
    };
    let also = match bump.also.len() as u64 {
        0 => String::new(),
        some => format!(" {} judge the same packets.", super::several(some, "further application")),
    };
    let queues = queue(survey, &bump.queue, packet(scheme));
    let limits = match limiter_ports(bump, &survey.graph).len() as u64 {
        0 => String::new(),
        some => format!(
            " Bumps at {} limit the senders that are notified, in place of their hosts.",
            super::several(some, "port")
        ),
    };
    let have = if count == 1 { "has a virtual queue" } else { "have virtual queues" };
    Some(format!(
        "  {} {have}: {queues}.{does}{chosen}{also}{limits}",
        super::several(count, "bump")
    ))
}

/// How switches move flows between equal-cost ports.
fn rearranging(scheme: &SchemeSpec) -> Option<String> {
    let spec = scheme.classifies()?;
    let flows = super::several(spec.moves.into(), "flow");
    Some(format!("  Each switch moves at most {flows} every {}.", span(spec.period)))
}

/// How switches detect failures, if they detect them themselves.
fn recovery(scheme: &SchemeSpec) -> Option<String> {
    let spec = scheme.recovery.as_ref()?;
    let missing = super::several(spec.multiplier.into(), "hello packet");
    Some(format!(
        "  Switches detect failures themselves, from {missing} that are missing, one every {}. Then they \
         notify each other.",
        span(spec.interval)
    ))
}

/// The names of controllers, if there are several.
fn controllers(survey: &Survey<'_>, scheme: &SchemeSpec) -> Option<String> {
    let system = scheme.control.build().ok().flatten()?;
    let names = system.stations(&survey.graph).ok()?.into_iter().map(|station| station.name);
    let names: Vec<String> = names.collect();
    let more = if names.len() > MOST_NAMED { ", ..." } else { "" };
    let some = names[..names.len().min(MOST_NAMED)].join(", ");
    let several = super::several(names.len() as u64, "controller");
    (names.len() > 1).then(|| format!("  {several} run on hosts of their own: {some}{more}."))
}

/// The most controllers that are listed by name.
const MOST_NAMED: usize = 4;

/// A name, and its table in the scenario.
type Named = (String, toml::Value);

fn parts(spec: &impl serde::Serialize) -> Named {
    let table = written(spec).unwrap_or(toml::Value::Boolean(false));
    let kind = table.get("kind").and_then(toml::Value::as_str).unwrap_or("").to_string();
    (kind, table)
}

fn name_of(spec: &impl serde::Serialize) -> Named {
    let value = written(spec).unwrap_or(toml::Value::Boolean(false));
    (value.as_str().unwrap_or("").to_string(), value)
}

fn sentence(kind: Kind, (name, table): &Named) -> String {
    let options = settings(kind, name, table);
    let with = if options.is_empty() { String::new() } else { format!(" ({options})") };
    format!("{name}: {}{with}", about(kind, name))
}

/// The length of a full packet on the wire in bytes.
fn packet(scheme: &SchemeSpec) -> u64 {
    scheme.transport.build().map_or(1538, |transport| transport.data_len(transport.mss()).into())
}

/// The rate of the slowest switch port, where queues build up.
pub(super) fn slowest(survey: &Survey<'_>) -> Rate {
    let switches = survey.lanes.iter().filter(|link| !survey.is_host(link.from));
    switches.map(|link| link.lane.rate).min().unwrap_or(Rate(1))
}

fn queue(survey: &Survey<'_>, queue: &QueueSpec, packet: u64) -> String {
    let rate = slowest(survey);
    let room = |bytes: Bytes| {
        format!(
            "{} ({} packets, {} at {})",
            size(bytes.0 as f64),
            bytes.0 / packet.max(1),
            span(rate.time_for(bytes)),
            super::survey::rate(rate)
        )
    };
    let limit = format!("each port holds {}", room(queue.limit));
    let policy = format!("{}; {limit}", queue.policy.describe(&room));
    let shared = queue.shared.map_or(String::new(), |shared| {
        format!("; all ports of a switch share a buffer of {}", size(shared.total.0 as f64))
    });
    let classes = if queue.priorities { "; there are eight priority classes" } else { "" };
    let pfc = queue
        .pfc
        .as_ref()
        .map_or(String::new(), |pfc| format!("; senders are paused above {}", room(pfc.xoff)));
    format!("{policy}{shared}{classes}{pfc}")
}
