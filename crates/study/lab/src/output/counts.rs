//! A line for each scheme with a few of its counts. The table `control` of a result has all counts.

use super::format::{grouped, quantity};
use crate::fit::label;
use crate::summary::{SchemeSummary, Summary};
use slotline_net::node::Counter;
use slotline_net::node::counter::{Phrase, Unit};
use slotline_scenario::metric;
use slotline_schemes::counters;

/// The counters that have a phrase: first those of each scheme, then those of nodes and those that several schemes
/// share.
fn with_phrase() -> impl Iterator<Item = (Counter, Phrase)> {
    let [shared, own @ ..] = counters::tables();
    let all = own.into_iter().chain([shared]).flat_map(|(_, counters)| counters);
    all.filter_map(|counter| Some((counter, counter.phrase?)))
}

/// The largest number of counts that are shown for a scheme.
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
    let mean = |counter: Counter| value(counter).map_or(0.0, |(_, mean)| *mean);
    let one = |(counter, phrase): (Counter, Phrase)| {
        let found = shown(counter.unit, mean(counter));
        let whole = phrase.whole.map(|whole| format!(" of {}", shown(counter.unit, mean(*whole))));
        let alone = whole.is_none() && found == "1";
        let label = if alone { singular(phrase.text) } else { phrase.text.into() };
        format!("{found}{} {label}", whole.unwrap_or_default())
    };
    let activity: Vec<Counter> = scheme.fit.activity.iter().map(|(counter, _)| *counter).collect();
    let done = |(counter, mean): &(Counter, f64)| {
        let text = shown(counter.unit, *mean);
        let label = if text == "1" { singular(&label(*counter)) } else { label(*counter) };
        (*mean > 0.0).then(|| format!("{text} {label}"))
    };
    let first = scheme.fit.activity.iter().filter_map(done);
    let counted =
        |(counter, _): &(Counter, Phrase)| mean(*counter) > 0.0 && !activity.contains(counter);
    let more = with_phrase().filter(counted).map(one);
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
            "{name}, mean per run: 2.500 ms of 4 ms of slots used, 63.15 MB by circuits, 1 failure of a \
             rack's port at a circuit switch, 3 of 1,200 weeks scheduled as a rotation."
        );
        assert_eq!(
            lines(&summary),
            [expected, "The table `control` of the result has all counts.".into()]
        );
    }

    #[test]
    fn no_count_is_shown_twice_and_no_scheme_at_length() {
        let counters: Vec<Counter> = with_phrase().map(|(counter, _)| counter).collect();
        let mut distinct = counters.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), counters.len());
        let mut summary = Summary::of(&RunSet::example(1));
        summary.schemes[0].control = counters.iter().map(|c| (c.name.to_string(), 7.0)).collect();
        let counts = lines(&summary)[0].replace(" of 7 ", " ");
        assert_eq!(counts.matches(" 7 ").count(), MOST, "{counts}");
    }
}
