//! Describes the traffic.

use super::survey::{Survey, size};
use super::{about, settings, several, span};
use slotline_net::time::Time;
use slotline_net::workload::{Carrier, Flow, Role};
use slotline_scenario::catalogue::Kind;
use slotline_scenario::written;

pub(super) fn sentences(survey: &Survey<'_>) -> Vec<String> {
    let groups = 0..survey.scenario.workload.len() as u16;
    groups.flat_map(|group| workload(survey, group)).chain(busiest(survey)).collect()
}

fn workload(survey: &Survey<'_>, group: u16) -> Vec<String> {
    let spec = &survey.scenario.workload[usize::from(group)];
    let table = written(spec).unwrap_or(toml::Value::Boolean(false));
    let options = settings(Kind::Workload, spec.kind(), &table);
    let with = if options.is_empty() { String::new() } else { format!(" ({options})") };
    vec![
        format!("{}: {}{with}.", spec.kind(), about(Kind::Workload, spec.kind())),
        format!("  {}", flows(survey, group)),
    ]
}

/// The number, the bytes and the start times of the flows of a workload.
fn flows(survey: &Survey<'_>, group: u16) -> String {
    let all = survey.traffic.flows.iter().filter(|flow| flow.group == group);
    let request = |role: Role| matches!(role, Role::Request(_));
    let (asks, own): (Vec<&Flow>, Vec<&Flow>) = all.partition(|flow| request(flow.role));
    let scale = survey.scale(group);
    let scaled = |flows: usize| (flows as f64 * scale).round() as u64;
    let bytes: f64 = own.iter().map(|flow| flow.bytes as f64).sum::<f64>() * scale;
    let datagrams = own
        .iter()
        .any(|flow| matches!(survey.traffic.conns[flow.conn.at()].carrier, Carrier::Udp { .. }));
    let what = if datagrams { "UDP stream" } else { "TCP flow" };
    let count = scaled(own.len());
    let requests = if asks.is_empty() {
        String::new()
    } else {
        format!(" and {}", several(scaled(asks.len()), "request"))
    };
    let mean = size((bytes / count.max(1) as f64).round());
    let total = if survey.endless(group) && !datagrams {
        " that last as long as the run".to_string()
    } else if count == 1 {
        format!(" with {} of payload", size(bytes))
    } else {
        format!(" with {} of payload, {mean} on average", size(bytes))
    };
    let are = if count == 1 && asks.is_empty() { "is" } else { "are" };
    format!("There {are} {}{requests}{total}. {}.", several(count, what), starts(survey, group))
}

fn starts(survey: &Survey<'_>, group: u16) -> String {
    let known: Vec<Time> = survey.starts(Some(group)).collect();
    let all = survey.traffic.flows.iter().filter(|flow| flow.group == group).count();
    let (first, last) = survey.first_and_last(group).unwrap_or_default();
    let whole = known.len() == all;
    let which = if whole && all == 1 {
        "It starts".into()
    } else if whole {
        "All start".into()
    } else {
        let known = (known.len() as f64 * survey.scale(group)).round() as u64;
        format!("{} of them start", crate::output::format::grouped(known))
    };
    let when = if first == last {
        format!("at {}", span(first))
    } else {
        format!("between {} and {}", span(first), span(last))
    };
    let rest = if whole {
        ""
    } else {
        "; each of the others starts when the flows that it waits for are complete"
    };
    format!("{which} {when}{rest}")
}

/// The busiest link, how long it is busy, and its load where arrivals do not wait for completions.
fn busiest(survey: &Survey<'_>) -> Option<String> {
    let link = survey.busiest()?;
    let busy = link.busy();
    let load = offered(survey).map_or(String::new(), |load| {
        format!(" While flows arrive, its load is {:.0} %.", load * 100.0)
    });
    Some(format!(
        "The busiest link, {}, carries {} with framing, which takes {}.{load}",
        survey.name(link),
        size(link.bytes.round()),
        span(busy)
    ))
}

/// The load of the busiest link where many flows arrive over time.
pub(super) fn offered(survey: &Survey<'_>) -> Option<f64> {
    let starts: Vec<Time> = survey.starts(None).collect();
    let known = starts.len() > 100 && starts.len() * 2 > survey.traffic.flows.len();
    let (first, last) = survey.all_first_and_last()?;
    let busy = survey.busiest()?.busy().as_secs_f64();
    let over = last.since(first).as_secs_f64();
    // If all flows start at once, there is no arrival rate.
    (known && over > busy / 100.0).then(|| busy / over)
}
