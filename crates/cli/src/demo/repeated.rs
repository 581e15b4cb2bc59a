//! A demonstration that kills a daemon many times: histograms of the outage.

use super::load::Load;
use super::outage::Outage;
use super::outcome::{Outcome, Timeslots};

/// Lines of a histogram.
const BINS: usize = 10;
/// Characters of its longest bar.
const WIDTH: f64 = 40.0;

/// The histograms, and what happened to the traffic.
pub fn text(outcomes: &[Outcome]) -> String {
    let loads = || outcomes.iter().map(|outcome| &outcome.with);
    let sum = |of: fn(&Load) -> u64| loads().map(of).sum::<u64>();
    let pings: Vec<f64> = loads().map(|load| load.ping(1.0)).collect();
    let mut lines = vec![format!(
        "{} kills; no connection broke; {} packets dropped by the switch, {} segments sent again, {} pings without answer.",
        outcomes.len(),
        sum(|load| load.dropped),
        sum(|load| load.retransmits),
        sum(|load| load.pings_lost)
    )];
    lines.extend(histogram("Longest ping, ms", &pings));
    let timeslots = || outcomes.iter().filter_map(|outcome| outcome.timeslots);
    if timeslots().next().is_some() {
        lines.push(format!(
            "Hosts accepted {} timeslots; {} of them were granted twice.",
            timeslots().map(|of| of.accepted).sum::<u64>(),
            timeslots().map(|of| of.granted_twice).sum::<u64>()
        ));
    }
    let silences: Vec<f64> = outcomes.iter().filter_map(silence_ms).collect();
    if !silences.is_empty() {
        lines.extend(histogram("Silence until the other arbiter took over, ms", &silences));
    }
    lines.join("\n")
}

/// The histograms of many kills in one run of the traffic.
pub fn of_kills(outcome: &Outcome) -> String {
    let (load, kills) = (&outcome.with, &outcome.kills);
    let changes = |status: &serde_json::Value| status["counters"]["arbiter_changes"].as_u64();
    let changes: Vec<u64> = outcome.daemons.values().filter_map(changes).collect();
    let least = load.goodput.iter().copied().fold(f64::INFINITY, f64::min);
    let mut lines = vec![format!(
        "{} kills; no connection of {} broke, the slowest had {least:.1} Mbit/s; {} packets dropped by the switch, {} segments \
         sent again, {} pings without answer. Hosts changed their arbiter {} to {} times.",
        kills.len(),
        load.goodput.len(),
        load.dropped,
        load.retransmits,
        load.pings_lost,
        changes.iter().min().unwrap_or(&0),
        changes.iter().max().unwrap_or(&0),
    )];
    lines.extend(granted(outcome));
    let values = |of: fn(&Outage) -> Option<f64>| -> Vec<f64> {
        kills.iter().filter_map(of).filter(|ms| ms.is_finite()).collect()
    };
    let timeslots = [
        ("Longest time without a timeslot to the receiver, ms", values(|kill| kill.outage_ms)),
        ("Longest wait of a host's packets, ms", values(|kill| kill.host_outage_ms)),
        ("The same in the second before, ms", values(|kill| kill.host_wait_before_ms)),
    ];
    let others = [
        ("Silence until the other arbiter took over, ms", values(|kill| kill.silence_ms)),
        ("Longest ping after a kill, ms", values(|kill| Some(kill.longest_ping_ms))),
        ("The same in the second before, ms", values(|kill| Some(kill.longest_ping_before_ms))),
    ];
    let timeslots = timeslots.into_iter().filter(|_| outcome.timeslots.is_some());
    for (title, values) in timeslots.chain(others) {
        if values.is_empty() {
            lines.push(format!("\n{title}: none was seen"));
        } else {
            let seen = format!("{title} (seen after {} of {} kills)", values.len(), kills.len());
            lines.extend(histogram(&seen, &values));
        }
    }
    lines.join("\n")
}

/// The check that no timeslot was granted twice.
fn granted(outcome: &Outcome) -> Option<String> {
    let Timeslots { accepted, granted_twice } = outcome.timeslots?;
    Some(format!(
        "Hosts accepted {accepted} timeslots; {granted_twice} of them were granted twice."
    ))
}

/// One repetition.
pub fn line(outcome: &Outcome) -> String {
    let silence =
        silence_ms(outcome).map_or(String::new(), |ms| format!(", taken over after {ms:.1} ms"));
    format!("longest ping {:.1} ms{silence}", outcome.with.ping(1.0))
}

/// The silence after which an arbiter took over.
fn silence_ms(outcome: &Outcome) -> Option<f64> {
    let of = |status: &serde_json::Value| status["counters"]["take_over_silence_ns"].as_f64();
    outcome
        .daemons
        .values()
        .filter_map(of)
        .reduce(f64::max)
        .filter(|ns| *ns > 0.0)
        .map(|ns| ns / 1e6)
}

fn histogram(title: &str, values: &[f64]) -> Vec<String> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = |share: f64| sorted[((share * sorted.len() as f64).ceil() as usize).max(1) - 1];
    let (least, most) = (rank(0.0), rank(1.0));
    let step = ((most - least) / BINS as f64).max(1e-3);
    let bin = |value: &f64| (((value - least) / step) as usize).min(BINS - 1);
    let mut counts = [0; BINS];
    sorted.iter().for_each(|value| counts[bin(value)] += 1);
    let highest = counts.iter().copied().max().unwrap_or(1) as f64;
    let bar = |(at, count): (usize, &usize)| {
        let marks = "#".repeat((*count as f64 / highest * WIDTH).ceil() as usize);
        format!("{:>10.1} {count:>5} {marks}", least + at as f64 * step).trim_end().to_owned()
    };
    let [median, p90, p99] = [0.5, 0.9, 0.99].map(rank);
    let head =
        format!("\n{title}: median {median:.1}, 90 % {p90:.1}, 99 % {p99:.1}, longest {most:.1}");
    [head].into_iter().chain(counts.iter().enumerate().map(bar)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_every_value() {
        let lines = histogram("Time, ms", &[1.0, 1.0, 2.0, 11.0]);
        assert_eq!(lines[0], "\nTime, ms: median 1.0, 90 % 11.0, 99 % 11.0, longest 11.0");
        assert_eq!(lines[1], format!("{:>10} {:>5} {}", "1.0", 2, "#".repeat(40)));
        assert_eq!(lines[2], format!("{:>10} {:>5} {}", "2.0", 1, "#".repeat(20)));
        assert_eq!(lines.len(), 11);
        assert_eq!(
            histogram("Same", &[3.0; 5])[1],
            format!("{:>10} {:>5} {}", "3.0", 5, "#".repeat(40))
        );
    }
}
