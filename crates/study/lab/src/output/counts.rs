//! Shows the most important counts of a central scheme on the terminal. The table `control` has all of them.

use super::format::{grouped, quantity};
use crate::summary::{SchemeSummary, Summary};
use slotline_scenario::metric::Unit;

/// A count, and how it is spec.
struct ShownCount {
    count: &'static str,
    /// The count that is the whole of this one.
    of: Option<&'static str>,
    /// Its unit. Counts of time are in nanoseconds.
    unit: Unit,
    /// The text after the number.
    label: &'static str,
}

const fn many(count: &'static str, label: &'static str) -> ShownCount {
    ShownCount { count, of: None, unit: Unit::Count, label }
}

const fn bytes(count: &'static str, label: &'static str) -> ShownCount {
    ShownCount { count, of: None, unit: Unit::Bytes, label }
}

const fn part(
    count: &'static str,
    of: &'static str,
    unit: Unit,
    label: &'static str,
) -> ShownCount {
    ShownCount { count, of: Some(of), unit, label }
}

/// The counts in order: for each scheme first what it did, then what went wrong.
const SHOWN: [ShownCount; 44] = [
    bytes("circuit_bytes", "by circuits"),
    bytes("packet_switch_bytes", "by the packet switch"),
    many("voq_drops", "packets dropped at full queues of racks"),
    many("voq_drops_by_resizing", "packets dropped when queues were resized"),
    many("relay_drops", "packets dropped at relaying racks"),
    many("packets_cut_by_night", "packets cut off by a night"),
    many("packets_drained_into_night", "packets sent during a night"),
    many("circuit_waits_for_night", "packets held during a night"),
    many("port_failures", "failures of a rack's port at a circuit switch"),
    part("weeks_of_rotation", "weeks_planned", Unit::Count, "weeks scheduled as a rotation"),
    many("late_weeks", "weeks started without a schedule, summed over racks"),
    part("slot_used_ns", "slot_time_ns", Unit::Seconds, "of slots used"),
    many("late_frames", "frames outside their slot"),
    many("overruns", "slots overrun"),
    many("packets_without_slot", "packets sent without a slot"),
    many("receive_buffer_overflows", "packets dropped at full receive buffers"),
    many("aborted_rounds", "rounds aborted"),
    part("slots_unused", "slots_granted", Unit::Count, "timeslots unused"),
    many("slots_late", "timeslots notified too late"),
    many("slots_lost", "timeslots lost"),
    many("slots_unplaced", "timeslots without a path"),
    many("loss_reports", "reports of lost packets"),
    many("take_overs", "take-overs by another arbiter"),
    many("faults_found", "faults detected"),
    many("large_flows", "large flows"),
    part("changed_paths", "installed_paths", Unit::Count, "paths changed afterwards"),
    many("bump_marks", "packets marked by bumps"),
    many("bump_drops", "packets dropped by bumps"),
    many("bump_notices", "notices sent by bumps"),
    many("stopped_disciplines", "queue programs stopped"),
    many("unjudged_packets", "packets that passed stopped programs"),
    bytes("bump_error_most", "maximum error of an estimated queue"),
    many("bump_updates_lost", "updates between bumps lost"),
    many("limited_connections", "connections limited by notices"),
    many("limiter_drops", "packets of limited flows dropped by bumps"),
    bytes("limiter_queue_most", "maximum virtual queue of a limited flow"),
    many("decisions", "decisions"),
    bytes("control_bytes_sent", "sent by the scheduler"),
    bytes("control_bytes_received", "received by the scheduler"),
    many("ignored_messages", "messages ignored"),
    many("silent_hosts", "hosts that stopped reporting"),
    many("silences", "times a host missed its controller"),
    many("takeovers", "take-overs by another controller"),
    many("flows_set_up", "flows set up"),
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
    let value = |name: &str| scheme.control.iter().find(|(count, _)| count == name);
    let one = |spec: &ShownCount| {
        let found = value(spec.count).map(|(_, mean)| *mean).filter(|mean| *mean > 0.0)?;
        let whole = spec.of.map(|of| value(of).map_or(0.0, |(_, mean)| *mean));
        let whole = whole.map_or(String::new(), |whole| format!(" of {}", shown(spec.unit, whole)));
        let alone = spec.of.is_none() && shown(spec.unit, found) == "1";
        let label = if alone { singular(spec.label) } else { spec.label.into() };
        Some(format!("{}{whole} {label}", shown(spec.unit, found)))
    };
    let counts: Vec<String> = SHOWN.iter().filter_map(one).take(MOST).collect();
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
        Unit::Seconds => quantity(unit, value * 1e-9),
        _ => quantity(unit, value.round()),
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
        let mut names: Vec<&str> = SHOWN.iter().map(|spec| spec.count).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SHOWN.len());
        let mut summary = Summary::of(&RunSet::example(1));
        summary.schemes[0].control = names.iter().map(|name| (name.to_string(), 7.0)).collect();
        let counts = lines(&summary)[0].replace(" of 7 ", " ");
        assert_eq!(counts.matches(" 7 ").count(), MOST, "{counts}");
    }
}
