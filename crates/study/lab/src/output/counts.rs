//! The few counts of a central scheme that are worth a line on the screen; the table `control` has all.

use super::format::{grouped, quantity};
use crate::summary::{SchemeSummary, Summary};
use slotline_scenario::metric::Unit;

/// A count, and how it is told.
struct Told {
    count: &'static str,
    /// What it is a part of.
    of: Option<&'static str>,
    /// Its unit; counts of times are in nanoseconds.
    unit: Unit,
    words: &'static str,
}

const fn many(count: &'static str, words: &'static str) -> Told {
    Told { count, of: None, unit: Unit::Count, words }
}

const fn bytes(count: &'static str, words: &'static str) -> Told {
    Told { count, of: None, unit: Unit::Bytes, words }
}

const fn part(count: &'static str, of: &'static str, unit: Unit, words: &'static str) -> Told {
    Told { count, of: Some(of), unit, words }
}

/// Of each scheme first what it did, then what went wrong.
const TOLD: [Told; 44] = [
    bytes("circuit_bytes", "by circuits"),
    bytes("packet_switch_bytes", "by the packet switch"),
    many("voq_drops", "packets dropped at full queues of racks"),
    many("voq_drops_by_resizing", "packets dropped as queues were made shorter"),
    many("relay_drops", "packets dropped at racks between"),
    many("packets_cut_by_night", "packets cut off by a night"),
    many("packets_drained_into_night", "packets sent into a night"),
    many("circuit_waits_for_night", "packets held over night"),
    many("port_failures", "failures of a rack's port at a circuit switch"),
    part("weeks_of_rotation", "weeks_planned", Unit::Count, "weeks a rotation, for want of better"),
    many("late_weeks", "weeks begun without their plan, summed over racks"),
    part("slot_used_ns", "slot_time_ns", Unit::Seconds, "of slots used"),
    many("late_frames", "frames outside their slot"),
    many("overruns", "slots overrun"),
    many("packets_without_slot", "packets sent without a slot"),
    many("receive_buffer_overflows", "packets that found no room in a receive buffer"),
    many("aborted_rounds", "rounds broken off"),
    part("slots_unused", "slots_granted", Unit::Count, "timeslots unused"),
    many("slots_late", "timeslots heard of too late"),
    many("slots_lost", "timeslots lost"),
    many("slots_unplaced", "timeslots without a path"),
    many("loss_reports", "reports of lost packets"),
    many("take_overs", "take-overs by another arbiter"),
    many("faults_found", "faults found"),
    many("large_flows", "large flows"),
    part("changed_paths", "installed_paths", Unit::Count, "paths changed afterwards"),
    many("bump_marks", "packets marked by bumps"),
    many("bump_drops", "packets dropped by bumps"),
    many("bump_notices", "notices sent by bumps"),
    many("stopped_disciplines", "programs of queues stopped"),
    many("unjudged_packets", "packets that passed them unjudged"),
    bytes("bump_error_most", "at most between an estimate and its queue"),
    many("bump_updates_lost", "updates between bumps lost"),
    many("limited_connections", "connections slowed down by notices"),
    many("limiter_drops", "packets of limited flows dropped by bumps"),
    bytes("limiter_queue_most", "at most in the virtual queue of a limited flow"),
    many("decisions", "decisions"),
    bytes("control_bytes_sent", "sent by the scheduler"),
    bytes("control_bytes_received", "reported to it"),
    many("ignored_messages", "messages ignored"),
    many("silent_hosts", "hosts fallen silent"),
    many("silences", "times a host missed its controller"),
    many("takeovers", "take-overs by another controller"),
    many("flows_set_up", "flows set up"),
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
    let value = |name: &str| scheme.control.iter().find(|(count, _)| count == name);
    let one = |told: &Told| {
        let found = value(told.count).map(|(_, mean)| *mean).filter(|mean| *mean > 0.0)?;
        let whole = told.of.map(|of| value(of).map_or(0.0, |(_, mean)| *mean));
        let whole = whole.map_or(String::new(), |whole| format!(" of {}", shown(told.unit, whole)));
        let alone = told.of.is_none() && shown(told.unit, found) == "1";
        let words = if alone { singular(told.words) } else { told.words.into() };
        Some(format!("{}{whole} {words}", shown(told.unit, found)))
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
        Unit::Seconds => quantity(unit, value * 1e-9),
        _ => quantity(unit, value.round()),
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
        let count = |name: &str, mean: f64| (name.to_string(), mean);
        summary.schemes[0].control = vec![
            count("circuit_bytes", 63_154_070.0),
            count("circuit_days", 2_000.0),
            count("voq_drops", 0.0),
            count("port_failures", 1.0),
            count("weeks_of_rotation", 3.0),
            count("weeks_planned", 1_200.0),
            count("slot_used_ns", 2_500_000.0),
            count("slot_time_ns", 4_000_000.0),
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
        let mut names: Vec<&str> = TOLD.iter().map(|told| told.count).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TOLD.len());
        let mut summary = Summary::of(&RunSet::example(1));
        summary.schemes[0].control = names.iter().map(|name| (name.to_string(), 7.0)).collect();
        let said = told(&summary)[0].replace(" of 7 ", " ");
        assert_eq!(said.matches(" 7 ").count(), MOST, "{said}");
    }
}
