//! What nodes count over a run. Each counter is declared once, with its unit and meaning, in a table made by
//! [`counters!`](crate::counters) or [`times!`](crate::times).
//!
//! During a run, nodes count in plain integers. They report these once, at the end.

use super::Stopped;
use super::fault::Fault;
use crate::histogram::Histogram;
use std::collections::BTreeMap;

/// The unit of a counter's value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Unit {
    /// A number of things, which the counter's meaning names.
    Count,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
}

impl Unit {
    /// The symbol of the unit; `-` for a number of things.
    pub const fn symbol(self) -> &'static str {
        match self {
            Unit::Count => "-",
            Unit::Bytes => "B",
            Unit::Nanoseconds => "ns",
        }
    }
}

/// How the values of several nodes are combined into one value of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Combine {
    /// Their sum.
    Sum,
    /// The highest of them.
    Maximum,
    /// A percentile of the times that all nodes have measured.
    Percentile,
}

impl Combine {
    /// The name of the method, one word.
    pub const fn name(self) -> &'static str {
        match self {
            Combine::Sum => "sum",
            Combine::Maximum => "maximum",
            Combine::Percentile => "percentile",
        }
    }
}

/// The declaration of a counter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Counter {
    /// Its name in results.
    pub name: &'static str,
    /// The unit of its value.
    pub unit: Unit,
    /// How the values of several nodes are combined.
    pub combine: Combine,
    /// What it counts, in one sentence.
    pub meaning: &'static str,
    /// How the terminal shows it; `None` if only the tables of a result show it.
    pub phrase: Option<Phrase>,
}

/// How the terminal shows a counter: "7 timeslots lost", or "7 of 20 timeslots unused".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Phrase {
    /// The text after the number.
    pub text: &'static str,
    /// The counter that this one is a part of.
    pub whole: Option<&'static Counter>,
}

/// The declaration of a distribution of times. A result has three counters for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Times {
    /// The number of measured times.
    pub count: Counter,
    /// Their median.
    pub p50: Counter,
    /// Their 99th percentile.
    pub p99: Counter,
}

impl Times {
    /// The three counters in results.
    pub const fn counters(self) -> [Counter; 3] {
        [self.count, self.p50, self.p99]
    }
}

/// Declares counters as constants, and `ALL`, the list of them:
/// `NAME = "name_in_results", unit, how values of nodes combine, "Meaning.";`. If the terminal shows a counter, its
/// phrase follows: `, "timeslots lost"`, or `, "timeslots unused" of SLOTS_GRANTED`.
#[macro_export]
macro_rules! counters {
    (@phrase) => { None };
    (@phrase $text:literal) => { Some($crate::node::counter::Phrase { text: $text, whole: None }) };
    (@phrase $text:literal of $whole:ident) => {
        Some($crate::node::counter::Phrase { text: $text, whole: Some(&$whole) })
    };
    ($(
        $id:ident = $name:literal, $unit:ident, $combine:ident, $meaning:literal
        $(, $phrase:literal $(of $whole:ident)?)?;
    )*) => {
        $(
            #[doc = $meaning]
            pub const $id: $crate::node::Counter = $crate::node::Counter {
                name: $name,
                unit: $crate::node::counter::Unit::$unit,
                combine: $crate::node::counter::Combine::$combine,
                meaning: $meaning,
                phrase: $crate::counters!(@phrase $($phrase $(of $whole)?)?),
            };
        )*
        /// The counters that are declared here.
        pub const ALL: &[$crate::node::Counter] = &[$($id),*];
    };
}

/// Declares distributions of times as constants, and `ALL_TIMES`, the list of them:
/// `NAME = "name_in_results", "Meaning.";`.
#[macro_export]
macro_rules! times {
    ($($id:ident = $name:literal, $meaning:literal;)*) => {
        $(
            #[doc = $meaning]
            pub const $id: $crate::node::Times = $crate::node::Times {
                count: $crate::node::Counter {
                    name: concat!($name, "_count"),
                    unit: $crate::node::counter::Unit::Count,
                    combine: $crate::node::counter::Combine::Sum,
                    meaning: concat!("Number of measurements. ", $meaning),
                    phrase: None,
                },
                p50: $crate::node::Counter {
                    name: concat!($name, "_p50_ns"),
                    unit: $crate::node::counter::Unit::Nanoseconds,
                    combine: $crate::node::counter::Combine::Percentile,
                    meaning: concat!("Median. ", $meaning),
                    phrase: None,
                },
                p99: $crate::node::Counter {
                    name: concat!($name, "_p99_ns"),
                    unit: $crate::node::counter::Unit::Nanoseconds,
                    combine: $crate::node::counter::Combine::Percentile,
                    meaning: concat!("99th percentile. ", $meaning),
                    phrase: None,
                },
            };
        )*
        /// The distributions of times that are declared here.
        pub const ALL_TIMES: &[$crate::node::Times] = &[$($id),*];
    };
}

/// The counters of a run and the faults that were found, combined over nodes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    values: BTreeMap<Counter, u64>,
    times: BTreeMap<Times, Histogram>,
    faults: Vec<Fault>,
    pub(super) stopped: Vec<Stopped>,
}

impl Counters {
    /// Adds the value of one node, or of one part of it. A result contains a counter if it has a value, even if that is
    /// zero.
    pub fn add(&mut self, counter: Counter, value: u64) {
        let held = self.values.entry(counter).or_default();
        *held = match counter.combine {
            Combine::Sum => *held + value,
            Combine::Maximum | Combine::Percentile => value.max(*held),
        };
    }
    /// Adds times that one node has measured, in nanoseconds.
    pub fn add_times(&mut self, times: Times, measured: &Histogram) {
        self.times.entry(times).or_default().merge(measured);
    }
    /// Adds a part that was found to be faulty.
    pub fn add_fault(&mut self, fault: Fault) {
        self.faults.push(fault);
    }
    /// Adds all values and faults of `other`.
    pub fn merge(&mut self, other: &Counters) {
        other.values.iter().for_each(|(counter, value)| self.add(*counter, *value));
        other.times.iter().for_each(|(times, measured)| self.add_times(*times, measured));
        self.faults.extend_from_slice(&other.faults);
        self.stopped.extend_from_slice(&other.stopped);
    }
    /// The value of a counter; `None` if no node has added one.
    pub fn get(&self, counter: Counter) -> Option<u64> {
        self.values.get(&counter).copied()
    }
    /// All values: first the added ones, by name, then those of each distribution of times.
    pub fn all(&self) -> impl Iterator<Item = (Counter, u64)> {
        let values = self.values.iter().map(|(counter, value)| (*counter, *value));
        values.chain(self.times.iter().flat_map(|(times, measured)| summarised(*times, measured)))
    }
    /// All faults, in the order they were found.
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = self.faults.clone();
        faults.sort_unstable();
        faults
    }
}

fn summarised(times: Times, measured: &Histogram) -> [(Counter, u64); 3] {
    let percentile = |percent| measured.percentile(percent).unwrap_or(0);
    [(times.count, measured.total()), (times.p50, percentile(50)), (times.p99, percentile(99))]
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::counters! {
        SENT = "sent", Bytes, Sum, "Bytes sent.", "by this node";
        LONGEST = "longest", Count, Maximum, "Packets in the longest queue.";
        LOST = "lost", Bytes, Sum, "Bytes lost.", "lost" of SENT;
    }
    crate::times! {
        WAIT = "wait", "Time that a packet waits.";
    }

    fn node(sent: u64, longest: u64, wait: u64) -> Counters {
        let (mut counters, mut measured) = (Counters::default(), Histogram::default());
        counters.add(SENT, sent);
        counters.add(LONGEST, longest);
        measured.add(wait);
        counters.add_times(WAIT, &measured);
        counters
    }

    #[test]
    fn counters_of_nodes_combine_as_declared() {
        let mut counters = node(10, 3, 1);
        counters.merge(&node(20, 2, 5));
        let names = counters.all().map(|(counter, value)| (counter.name, value));
        let expected = [
            ("longest", 3),
            ("sent", 30),
            ("wait_count", 2),
            ("wait_p50_ns", 1),
            ("wait_p99_ns", 5),
        ];
        assert_eq!(names.collect::<Vec<_>>(), expected);
        assert_eq!((counters.get(SENT), Counters::default().get(SENT)), (Some(30), None));
        assert_eq!((ALL, ALL_TIMES), (&[SENT, LONGEST, LOST][..], &[WAIT][..]));
        assert_eq!(LOST.phrase, Some(Phrase { text: "lost", whole: Some(&SENT) }));
        assert_eq!((LONGEST.phrase, WAIT.p50.phrase), (None, None));
        assert_eq!(WAIT.p99.meaning, "99th percentile. Time that a packet waits.");
    }
}
