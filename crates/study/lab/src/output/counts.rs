//! The few counts of a central scheme that are worth a line on the screen; the table `control` has all.

use super::format::{grouped, quantity};
use crate::fit::label;
use crate::summary::{SchemeSummary, Summary};
use slotline_net::node::Counter;
use slotline_net::node::counter::Unit;
use slotline_scenario::metric;
use slotline_schemes::counters;

/// A counter, and how it is shown.
struct ShownCount {
    counter: Counter,
    /// The counter that is the whole of this one.
    of: Option<Counter>,
    /// The text after the number.
    label: &'static str,
}

const fn whole(counter: Counter, label: &'static str) -> ShownCount {
    ShownCount { counter, of: None, label }
}

const fn part(counter: Counter, of: Counter, label: &'static str) -> ShownCount {
    ShownCount { counter, of: Some(of), label }
}

/// The counters in order: for each scheme first what it did, then what went wrong.
const SHOWN: [ShownCount; 43] = [
    whole(counters::hybrid::CIRCUIT_BYTES, "by circuits"),
    whole(counters::hybrid::PACKET_SWITCH_BYTES, "by the packet switch"),
    whole(counters::hybrid::VOQ_DROPS, "packets dropped at full queues of racks"),
    whole(counters::hybrid::VOQ_DROPS_BY_RESIZING, "packets dropped when queues were resized"),
    whole(counters::hybrid::RELAY_DROPS, "packets dropped at relaying racks"),
    whole(counters::hybrid::PACKETS_CUT_BY_NIGHT, "packets cut off by a night"),
    whole(counters::hybrid::PACKETS_DRAINED_INTO_NIGHT, "packets sent during a night"),
    whole(counters::hybrid::CIRCUIT_WAITS_FOR_NIGHT, "packets held during a night"),
    whole(counters::hybrid::PORT_FAILURES, "failures of a rack's port at a circuit switch"),
    part(
        counters::hybrid::WEEKS_OF_ROTATION,
        counters::hybrid::WEEKS_PLANNED,
        "weeks scheduled as a rotation",
    ),
    whole(counters::hybrid::LATE_WEEKS, "weeks started without a schedule, summed over racks"),
    part(counters::tdma::SLOT_USED_NS, counters::tdma::SLOT_TIME_NS, "of slots used"),
    whole(counters::tdma::LATE_FRAMES, "frames outside their slot"),
    whole(counters::tdma::OVERRUNS, "slots overrun"),
    whole(counters::tdma::PACKETS_WITHOUT_SLOT, "packets sent without a slot"),
    whole(counters::tdma::RECEIVE_BUFFER_OVERFLOWS, "packets dropped at full receive buffers"),
    whole(counters::tdma::ABORTED_ROUNDS, "rounds aborted"),
    part(counters::fastpass::SLOTS_UNUSED, counters::fastpass::SLOTS_GRANTED, "timeslots unused"),
    whole(counters::fastpass::SLOTS_LATE, "timeslots notified too late"),
    whole(counters::fastpass::SLOTS_LOST, "timeslots lost"),
    whole(counters::fastpass::SLOTS_UNPLACED, "timeslots without a path"),
    whole(counters::fastpass::LOSS_REPORTS, "reports of lost packets"),
    whole(counters::shared::TAKE_OVERS, "take-overs by another arbiter or controller"),
    whole(counters::fastpass::FAULTS_FOUND, "faults detected"),
    whole(counters::hedera::LARGE_FLOWS, "large flows"),
    part(
        counters::hedera::CHANGED_PATHS,
        counters::hedera::INSTALLED_PATHS,
        "paths changed afterwards",
    ),
    whole(counters::net::BUMP_MARKS, "packets marked by bumps"),
    whole(counters::net::BUMP_DROPS, "packets dropped by bumps"),
    whole(counters::net::BUMP_NOTICES, "notices sent by bumps"),
    whole(counters::net::STOPPED_DISCIPLINES, "queue programs stopped"),
    whole(counters::net::UNJUDGED_PACKETS, "packets that passed stopped programs"),
    whole(counters::net::BUMP_ERROR_MOST, "maximum error of an estimated queue"),
    whole(counters::net::BUMP_UPDATES_LOST, "updates between bumps lost"),
    whole(counters::net::LIMITED_CONNECTIONS, "connections limited by notices"),
    whole(counters::net::LIMITER_DROPS, "packets of limited flows dropped by bumps"),
    whole(counters::net::LIMITER_QUEUE_MOST, "maximum virtual queue of a limited flow"),
    whole(counters::shared::DECISIONS, "decisions"),
    whole(counters::shared::CONTROL_BYTES_SENT, "sent by the scheduler"),
    whole(counters::shared::CONTROL_BYTES_RECEIVED, "received by the scheduler"),
    whole(counters::shared::IGNORED_MESSAGES, "messages ignored"),
    whole(counters::shared::SILENT_HOSTS, "hosts that stopped reporting"),
    whole(counters::xco::SILENCES, "times a host missed its controller"),
    whole(counters::xco::FLOWS_SET_UP, "flows set up"),
];

/// The most counts that are shown of a scheme.
const MOST: usize = 6;

/// A line for each scheme with counts, and a line that says where all counts are.
pub fn lines(summary: &Summary) -> Vec<String> {
    let mut lines: Vec<String> = summary.schemes.iter().filter_map(line).collect();
    if !lines.is_empty() {
        lines.push("The table `control` of the result has all counts.".into());
    }
    lines
}

fn line(scheme: &SchemeSummary) -> Option<String> {
    let value = |counter: Counter| scheme.control.iter().find(|(count, _)| count == counter.name);
    let one = |entry: &ShownCount| {
        let found = value(entry.counter).map(|(_, mean)| *mean).filter(|mean| *mean > 0.0)?;
        let whole = entry.of.map(|of| value(of).map_or(0.0, |(_, mean)| *mean));
        let whole = whole
            .map_or(String::new(), |whole| format!(" of {}", shown(entry.counter.unit, whole)));
        let alone = entry.of.is_none() && shown(entry.counter.unit, found) == "1";
        let label = if alone { singular(entry.label) } else { entry.label.into() };
        Some(format!("{}{whole} {label}", shown(entry.counter.unit, found)))
    };
    let activity: Vec<Counter> = scheme.fit.activity.iter().map(|(counter, _)| *counter).collect();
    let done = |(counter, mean): &(Counter, f64)| {
        let text = shown(counter.unit, *mean);
        let label = if text == "1" { singular(&label(*counter)) } else { label(*counter) };
        (*mean > 0.0).then(|| format!("{text} {label}"))
    };
    let first = scheme.fit.activity.iter().filter_map(done);
    let more = SHOWN.iter().filter(|entry| !activity.contains(&entry.counter)).filter_map(one);
    let counts: Vec<String> = first.chain(more.take(MOST)).collect();
    (!counts.is_empty()).then(|| format!("{}, mean per run: {}.", scheme.name, counts.join(", ")))
}

/// The singular of a label that begins with a plural.
fn singular(label: &str) -> String {
    match label.split_once(' ') {
        Some((first, rest)) => format!("{} {rest}", first.trim_end_matches('s')),
        None => label.trim_end_matches('s').into(),
    }
}

fn shown(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Count => grouped(value.round() as u64),
        Unit::Nanoseconds => quantity(metric::Unit::Seconds, value * 1e-9),
        Unit::Bytes => quantity(metric::Unit::Bytes, value.round()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RunSet;

    #[test]
    fn few_counts_are_shown_in_units_for_people() {
        let mut summary = Summary::of(&RunSet::example(1));
        assert!(lines(&summary).is_empty());
        let count = |counter: Counter, mean: f64| (counter.name.to_string(), mean);
        summary.schemes[0].control = vec![
            count(counters::hybrid::CIRCUIT_BYTES, 63_154_070.0),
            count(counters::hybrid::CIRCUIT_DAYS, 2_000.0),
            count(counters::hybrid::VOQ_DROPS, 0.0),
            count(counters::hybrid::PORT_FAILURES, 1.0),
            count(counters::hybrid::WEEKS_OF_ROTATION, 3.0),
            count(counters::hybrid::WEEKS_PLANNED, 1_200.0),
            count(counters::tdma::SLOT_USED_NS, 2_500_000.0),
            count(counters::tdma::SLOT_TIME_NS, 4_000_000.0),
        ];
        let name = &summary.schemes[0].name;
        let expected = format!(
            "{name}, mean per run: 63.15 MB by circuits, 1 failure of a rack's port at a circuit \
             switch, 3 of 1,200 weeks scheduled as a rotation, 2.500 ms of 4 ms of slots used."
        );
        assert_eq!(
            lines(&summary),
            [expected, "The table `control` of the result has all counts.".into()]
        );
    }

    #[test]
    fn no_count_is_shown_twice_and_no_scheme_at_length() {
        let mut names: Vec<&str> = SHOWN.iter().map(|entry| entry.counter.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SHOWN.len());
        let mut summary = Summary::of(&RunSet::example(1));
        summary.schemes[0].control = names.iter().map(|name| (name.to_string(), 7.0)).collect();
        let counts = lines(&summary)[0].replace(" of 7 ", " ");
        assert_eq!(counts.matches(" 7 ").count(), MOST, "{counts}");
    }
}
