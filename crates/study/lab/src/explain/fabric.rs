//! Describes the fabric.

use super::survey::{Survey, rate};
use super::{several, span};
use crate::output::format::quantity;
use slotline_scenario::metric::Unit;
use std::collections::BTreeMap;

pub(super) fn sentences(survey: &Survey<'_>, fabric: &str) -> Vec<String> {
    let whole = std::iter::once(format!("The fabric is a {fabric}."));
    let trips = survey.round_trips(&survey.transport).map(|(least, most)| {
        let data = survey.transport.data_len(survey.transport.mss());
        if least == most {
            return format!(
                "The base round trip (a packet of {data} B and its acknowledgement) takes {}.",
                span(least)
            );
        }
        format!(
            "The base round trip (a packet of {data} B and its acknowledgement) takes {} between the \
             nearest hosts and {} between the farthest.",
            span(least),
            span(most)
        )
    });
    if let Some(hybrid) = survey.scenario.fabric.hybrid() {
        return whole.chain(super::hybrid::sentences(hybrid)).collect();
    }
    whole.chain(links(survey)).chain(trips).chain([capacity(survey)]).collect()
}

/// A sentence for each group of equal links between two tiers.
fn links(survey: &Survey<'_>) -> Vec<String> {
    let mut alike: BTreeMap<(u8, u8, u64, u64, u64, u64), u64> = BTreeMap::new();
    for link in &survey.graph.links {
        let tier = |end: slotline_net::topology::End| survey.graph.nodes[end.node.at()].tier;
        let (a, b) = (tier(link.a), tier(link.b));
        let (up, down) = if a <= b { (link.ab, link.ba) } else { (link.ba, link.ab) };
        let (up, down) = ((up.rate.0, up.delay.as_ps()), (down.rate.0, down.delay.as_ps()));
        *alike.entry((a.min(b), a.max(b), up.0, up.1, down.0, down.1)).or_default() += 1;
    }
    let sentence = |((low, high, rate_up, delay_up, rate_down, delay_down), n): (_, u64)| {
        let lane = |rate: u64, delay: u64| {
            let (rate, delay) = (rate as f64, delay as f64 * 1e-12);
            let delay = quantity(Unit::Seconds, delay);
            format!("{} with a delay of {delay}", quantity(Unit::BitsPerSecond, rate))
        };
        let (up, down): (String, String) = (lane(rate_up, delay_up), lane(rate_down, delay_down));
        let rates = if up == down { up } else { format!("{up} up and {down} down") };
        let carry = if n == 1 { "carries" } else { "carry" };
        format!("{} between {} {carry} {rates}.", several(n, "link"), tiers(low, high))
    };
    alike.into_iter().map(sentence).collect()
}

fn tiers(low: u8, high: u8) -> String {
    match (low, high) {
        (0, 1) => "hosts and switches".into(),
        (low, high) if low == high => format!("switches of tier {low}"),
        (0, high) => format!("hosts and switches of tier {high}"),
        (low, high) => format!("switches of tier {low} and {high}"),
    }
}

/// What all hosts can send in total, and what each tier above them can carry of it.
fn capacity(survey: &Survey<'_>) -> String {
    let mut up: BTreeMap<u8, u64> = BTreeMap::new();
    for link in &survey.lanes {
        let (from, to) = (&survey.graph.nodes[link.from.at()], &survey.graph.nodes[link.to.at()]);
        if from.tier < to.tier {
            *up.entry(from.tier).or_default() += link.lane.rate.0;
        }
    }
    let hosts = up.get(&0).copied().unwrap_or(0);
    let Some((tier, narrow)) =
        up.into_iter().filter(|(tier, _)| *tier > 0).min_by_key(|(_, sum)| *sum)
    else {
        return format!(
            "The hosts can send {} in total, and no tier between them is slower.",
            rate_text(hosts)
        );
    };
    let narrow_text = rate_text(narrow);
    if narrow >= hosts {
        return format!(
            "The hosts can send {} in total, and all tiers can carry it: the fabric is not \
             oversubscribed. Its bisection bandwidth is about {}.",
            rate_text(hosts),
            rate_text(hosts / 2)
        );
    }
    format!(
        "The hosts can send {} in total, and tier {tier} carries {narrow_text} upwards: the fabric is \
         oversubscribed {:.1} to 1. Its bisection bandwidth is about {}.",
        rate_text(hosts),
        hosts as f64 / narrow as f64,
        rate_text(narrow / 2)
    )
}

fn rate_text(bits_per_second: u64) -> String {
    rate(slotline_net::units::Rate(bits_per_second))
}
