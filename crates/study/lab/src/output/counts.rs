//! The few counts of a central scheme that are worth a line on the screen; the table `control` has all.

use super::format::{grouped, quantity};
use crate::summary::{SchemeSummary, Summary};
use slotline_net::node::Counter;
use slotline_net::node::counter::Unit;
use slotline_scenario::metric;
use slotline_schemes::counters;

/// A counter, and the words for its value.
struct Told {
    counter: Counter,
    /// What it is a part of.
    of: Option<Counter>,
    words: &'static str,
}

const fn whole(counter: Counter, words: &'static str) -> Told {
    Told { counter, of: None, words }
}

const fn part(counter: Counter, of: Counter, words: &'static str) -> Told {
    Told { counter, of: Some(of), words }
}

/// Of each scheme first what it did, then what went wrong.
const TOLD: [Told; 43] = [
    whole(counters::hybrid::CIRCUIT_BYTES, "by circuits"),
    whole(counters::hybrid::PACKET_SWITCH_BYTES, "by the packet switch"),
    whole(counters::hybrid::VOQ_DROPS, "packets dropped at full queues of racks"),
    whole(counters::hybrid::VOQ_DROPS_BY_RESIZING, "packets dropped as queues were made shorter"),
    whole(counters::hybrid::RELAY_DROPS, "packets dropped at racks between"),
    whole(counters::hybrid::PACKETS_CUT_BY_NIGHT, "packets cut off by a night"),
    whole(counters::hybrid::PACKETS_DRAINED_INTO_NIGHT, "packets sent into a night"),
    whole(counters::hybrid::CIRCUIT_WAITS_FOR_NIGHT, "packets held over night"),
    whole(counters::hybrid::PORT_FAILURES, "failures of a rack's port at a circuit switch"),
    part(
        counters::hybrid::WEEKS_OF_ROTATION,
        counters::hybrid::WEEKS_PLANNED,
        "weeks a rotation, for want of better",
    ),
    whole(counters::hybrid::LATE_WEEKS, "weeks begun without their plan, summed over racks"),
    part(counters::tdma::SLOT_USED_NS, counters::tdma::SLOT_TIME_NS, "of slots used"),
    whole(counters::tdma::LATE_FRAMES, "frames outside their slot"),
    whole(counters::tdma::OVERRUNS, "slots overrun"),
    whole(counters::tdma::PACKETS_WITHOUT_SLOT, "packets sent without a slot"),
    whole(
        counters::tdma::RECEIVE_BUFFER_OVERFLOWS,
        "packets that found no room in a receive buffer",
    ),
    whole(counters::tdma::ABORTED_ROUNDS, "rounds broken off"),
    part(counters::fastpass::SLOTS_UNUSED, counters::fastpass::SLOTS_GRANTED, "timeslots unused"),
    whole(counters::fastpass::SLOTS_LATE, "timeslots heard of too late"),
    whole(counters::fastpass::SLOTS_LOST, "timeslots lost"),
    whole(counters::fastpass::SLOTS_UNPLACED, "timeslots without a path"),
    whole(counters::fastpass::LOSS_REPORTS, "reports of lost packets"),
    whole(counters::shared::TAKE_OVERS, "take-overs by another arbiter or controller"),
    whole(counters::fastpass::FAULTS_FOUND, "faults found"),
    whole(counters::hedera::LARGE_FLOWS, "large flows"),
    part(
        counters::hedera::CHANGED_PATHS,
        counters::hedera::INSTALLED_PATHS,
        "paths changed afterwards",
    ),
    whole(counters::net::BUMP_MARKS, "packets marked by bumps"),
    whole(counters::net::BUMP_DROPS, "packets dropped by bumps"),
    whole(counters::net::BUMP_NOTICES, "notices sent by bumps"),
    whole(counters::net::STOPPED_DISCIPLINES, "programs of queues stopped"),
    whole(counters::net::UNJUDGED_PACKETS, "packets that passed them unjudged"),
    whole(counters::net::BUMP_ERROR_MOST, "at most between an estimate and its queue"),
    whole(counters::net::BUMP_UPDATES_LOST, "updates between bumps lost"),
    whole(counters::net::LIMITED_CONNECTIONS, "connections slowed down by notices"),
    whole(counters::net::LIMITER_DROPS, "packets of limited flows dropped by bumps"),
    whole(counters::net::LIMITER_QUEUE_MOST, "at most in the virtual queue of a limited flow"),
    whole(counters::shared::DECISIONS, "decisions"),
    whole(counters::shared::CONTROL_BYTES_SENT, "sent by the scheduler"),
    whole(counters::shared::CONTROL_BYTES_RECEIVED, "reported to it"),
    whole(counters::shared::IGNORED_MESSAGES, "messages ignored"),
    whole(counters::shared::SILENT_HOSTS, "hosts fallen silent"),
    whole(counters::xco::SILENCES, "times a host missed its controller"),
    whole(counters::xco::FLOWS_SET_UP, "flows set up"),
];

/// Most counts told of a scheme.
const MOST: usize = 6;

/// A line for each scheme that has counted something, and where the rest is.
pub fn told(summary: &Summary) -> Vec<String> {
    let mut lines: Vec<String> = summary.schemes.iter().filter_map(line).collect();
    if !lines.is_empty() {
        lines.push("All that was counted: table `control` of the result.".into());
    }
    lines
}

fn line(scheme: &SchemeSummary) -> Option<String> {
    let value = |counter: Counter| scheme.control.iter().find(|(count, _)| count == counter.name);
    let one = |told: &Told| {
        let found = value(told.counter).map(|(_, mean)| *mean).filter(|mean| *mean > 0.0)?;
        let whole = told.of.map(|of| value(of).map_or(0.0, |(_, mean)| *mean));
        let whole =
            whole.map_or(String::new(), |whole| format!(" of {}", shown(told.counter.unit, whole)));
        let alone = told.of.is_none() && shown(told.counter.unit, found) == "1";
        let words = if alone { singular(told.words) } else { told.words.into() };
        Some(format!("{}{whole} {words}", shown(told.counter.unit, found)))
    };
    let said: Vec<String> = TOLD.iter().filter_map(one).take(MOST).collect();
    (!said.is_empty()).then(|| format!("{}, mean of a run: {}.", scheme.name, said.join(", ")))
}

/// Of words that begin with a plural, for one of it.
fn singular(words: &str) -> String {
    match words.split_once(' ') {
        Some((first, rest)) => format!("{} {rest}", first.trim_end_matches('s')),
        None => words.trim_end_matches('s').into(),
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
    fn few_counts_are_told_in_units_for_people() {
        let mut summary = Summary::of(&RunSet::example(1));
        assert!(told(&summary).is_empty());
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
        let want = format!(
            "{name}, mean of a run: 63.15 MB by circuits, 1 failure of a rack's port at a circuit \
             switch, 3 of 1,200 weeks a rotation, for want of better, 2.500 ms of 4 ms of slots used."
        );
        assert_eq!(
            told(&summary),
            [want, "All that was counted: table `control` of the result.".into()]
        );
    }

    #[test]
    fn no_count_is_told_twice_and_no_scheme_at_length() {
        let mut names: Vec<&str> = TOLD.iter().map(|told| told.counter.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TOLD.len());
        let mut summary = Summary::of(&RunSet::example(1));
        summary.schemes[0].control = names.iter().map(|name| (name.to_string(), 7.0)).collect();
        let said = told(&summary)[0].replace(" of 7 ", " ");
        assert_eq!(said.matches(" 7 ").count(), MOST, "{said}");
    }
}
