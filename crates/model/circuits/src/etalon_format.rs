//! Etalon's text format of schedules: `n length configuration length configuration …`.
//!
//! A line is the week of one circuit switch. `n` is the number of slices that follow. A configuration has the
//! source of each destination, or `-1` for none, as in `2 180 1/2/3/0 20 -1/-1/-1/-1`. Etalon's format does
//! not name the unit of lengths. This module extends it: a line `unit us` (or `ps`, `ns`, `ms`, `s`) may
//! precede the first week. Empty lines and lines that begin with `#` are ignored.

use crate::matching::{Circuits, Matching, MatchingError};
use crate::week::{Week, WeekError};
use std::fmt::{self, Write};

/// The unit of lengths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Picoseconds.
    Ps,
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl Unit {
    /// All units, from the longest to the shortest.
    const ALL: [Unit; 5] = [Unit::S, Unit::Ms, Unit::Us, Unit::Ns, Unit::Ps];

    /// The length of the unit in picoseconds.
    pub fn ps(self) -> u64 {
        match self {
            Unit::Ps => 1,
            Unit::Ns => 1_000,
            Unit::Us => 1_000_000,
            Unit::Ms => 1_000_000_000,
            Unit::S => 1_000_000_000_000,
        }
    }
    fn name(self) -> &'static str {
        match self {
            Unit::Ps => "ps",
            Unit::Ns => "ns",
            Unit::Us => "us",
            Unit::Ms => "ms",
            Unit::S => "s",
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An error in a schedule, with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EtalonFormatError {
    /// The number of the line, from 1.
    pub line: usize,
    /// The byte in the line, from 1.
    pub column: usize,
    /// The error.
    pub problem: Problem,
}

/// The kinds of errors in a schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// There is no week.
    NoWeek,
    /// There is no unit for the lengths.
    NoUnit,
    /// The unit is unknown.
    Unit(String),
    /// The number of slices is not a number from 1.
    Count(String),
    /// The length is not a number from 1.
    Length(String),
    /// The source is not a number or -1.
    Source(String),
    /// There are fewer slices than the line says.
    Slices {
        /// The number at the beginning of the line.
        announced: usize,
        /// The number of slices found.
        found: usize,
    },
    /// There is text after the last slice.
    Extra(String),
    /// A length has no configuration.
    NoConfiguration,
    /// The week is too long for a 64-bit number of picoseconds.
    Long,
    /// The configuration has a different number of racks from the first one.
    Racks {
        /// The number of racks of this configuration.
        found: usize,
        /// The number of racks of the first configuration.
        racks: usize,
    },
    /// The length of the week differs from that of the first week.
    Span {
        /// The length of this week, in picoseconds.
        found: u64,
        /// The length of the first week, in picoseconds.
        week: u64,
    },
    /// The configuration is not a partial permutation.
    Matching(MatchingError),
    /// The slices do not form a week.
    Week(WeekError),
}

impl fmt::Display for EtalonFormatError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.problem)
    }
}

impl std::error::Error for EtalonFormatError {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Problem::NoWeek => f.write_str("no week: expected `n length configuration …`"),
            Problem::NoUnit => f.write_str("lengths without a unit: begin with `unit us`"),
            Problem::Unit(word) => write!(f, "unit `{word}`: expected ps, ns, us, ms or s"),
            Problem::Count(word) => write!(f, "`{word}`: expected the number of slices, from 1"),
            Problem::Length(word) => write!(f, "`{word}`: expected a length, from 1"),
            Problem::Source(word) => write!(f, "`{word}`: expected the number of a rack, or -1"),
            Problem::Slices { announced, found } => {
                write!(f, "the week should have {announced} slices and has {found}")
            }
            Problem::Extra(word) => write!(f, "`{word}` after the last slice"),
            Problem::NoConfiguration => f.write_str("a length without a configuration"),
            Problem::Long => f.write_str("the week is too long"),
            Problem::Racks { found, racks } => {
                write!(f, "the configuration has {found} racks, and the first one has {racks}")
            }
            Problem::Span { found, week } => {
                write!(f, "the week lasts {found} ps, and the first one lasts {week} ps")
            }
            Problem::Matching(error) => error.fmt(f),
            Problem::Week(error) => error.fmt(f),
        }
    }
}

/// Reads a schedule: one week for each parallel switch. `unit` is the unit of lengths if the text does not
/// name one.
///
/// # Errors
/// The text is not a schedule. The error names line and column.
pub fn parse(text: &str, unit: Option<Unit>) -> Result<Vec<Week>, EtalonFormatError> {
    let mut unit = unit;
    let mut weeks: Vec<Week> = Vec::new();
    let mut last = 0;
    for (line, text) in (1..).zip(text.lines()) {
        last = line;
        let at =
            |word: &str, problem| EtalonFormatError { line, column: column(text, word), problem };
        let Some(first) = text.split_whitespace().next().filter(|word| !word.starts_with('#'))
        else {
            continue;
        };
        if first == "unit" && weeks.is_empty() {
            unit = Some(header(text, at)?);
            continue;
        }
        let unit = unit.ok_or_else(|| at(first, Problem::NoUnit))?;
        let week = week(text, unit, at)?;
        if let Some(other) = weeks.first() {
            same_kind(&week, other).map_err(|problem| at(first, problem))?;
        }
        weeks.push(week);
    }
    if weeks.is_empty() {
        return Err(EtalonFormatError { line: last + 1, column: 1, problem: Problem::NoWeek });
    }
    Ok(weeks)
}

/// The place of a part within its line, from 1.
fn column(line: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(line.as_ptr() as usize) + 1
}

fn same_kind(week: &Week, first: &Week) -> Result<(), Problem> {
    if week.racks() != first.racks() {
        return Err(Problem::Racks { found: week.racks(), racks: first.racks() });
    }
    if week.span() != first.span() {
        return Err(Problem::Span { found: week.span(), week: first.span() });
    }
    Ok(())
}

/// Reads a line such as `unit us`.
fn header(
    text: &str,
    at: impl Fn(&str, Problem) -> EtalonFormatError,
) -> Result<Unit, EtalonFormatError> {
    let mut words = text.split_whitespace().skip(1);
    let word = words.next().unwrap_or(&text[text.len()..]);
    let unit = Unit::ALL.into_iter().find(|unit| unit.name() == word);
    let unit = unit.ok_or_else(|| at(word, Problem::Unit(word.into())))?;
    match words.next() {
        Some(word) => Err(at(word, Problem::Extra(word.into()))),
        None => Ok(unit),
    }
}

fn week(
    text: &str,
    unit: Unit,
    at: impl Fn(&str, Problem) -> EtalonFormatError,
) -> Result<Week, EtalonFormatError> {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or(text);
    let count = first.parse().ok().filter(|&count: &usize| count > 0);
    let announced = count.ok_or_else(|| at(first, Problem::Count(first.into())))?;
    let end = &text[text.len()..];
    let mut slices: Vec<(u64, Matching)> = Vec::new();
    let mut span = 0_u64;
    while slices.len() < announced {
        let short = Problem::Slices { announced, found: slices.len() };
        let word = words.next().ok_or_else(|| at(end, short))?;
        let length = length(word, unit).map_err(|problem| at(word, problem))?;
        span = span.checked_add(length).ok_or_else(|| at(word, Problem::Long))?;
        let word = words.next().ok_or_else(|| at(end, Problem::NoConfiguration))?;
        let matching = configuration(word, &at)?;
        let racks = slices.first().map_or(matching.racks(), |(_, first)| first.racks());
        if matching.racks() != racks {
            return Err(at(word, Problem::Racks { found: matching.racks(), racks }));
        }
        slices.push((length, matching));
    }
    if let Some(word) = words.next() {
        return Err(at(word, Problem::Extra(word.into())));
    }
    Week::new(span, &slices).map_err(|error| at(first, Problem::Week(error)))
}

fn length(word: &str, unit: Unit) -> Result<u64, Problem> {
    let count: Option<u64> = word.parse().ok().filter(|&count| count > 0);
    let count = count.ok_or_else(|| Problem::Length(word.into()))?;
    count.checked_mul(unit.ps()).ok_or(Problem::Long)
}

/// Reads a configuration such as `1/2/3/0`: the source of each destination.
fn configuration(
    word: &str,
    at: &impl Fn(&str, Problem) -> EtalonFormatError,
) -> Result<Matching, EtalonFormatError> {
    let source = |part: &str| match part {
        "-1" => Ok(None),
        _ => part.parse().map(Some).map_err(|_| at(part, Problem::Source(part.into()))),
    };
    let sources = word.split('/').map(source).collect::<Result<Vec<_>, _>>()?;
    Matching::new(&sources).map_err(|error| at(word, Problem::Matching(error)))
}

/// Writes the weeks of parallel switches with their unit. It is the longest unit in which all lengths are
/// whole numbers.
pub fn emit(weeks: &[Week]) -> String {
    let whole = |unit: &Unit| weeks.iter().all(|week| fits(week, *unit));
    let unit = Unit::ALL.into_iter().find(whole).unwrap_or(Unit::Ps);
    let mut out = format!("unit {unit}\n");
    for week in weeks {
        write_week(week, unit, &mut out);
        out.push('\n');
    }
    out
}

/// Writes one week as Etalon does, without naming the unit. Returns `None` if a length is not a whole number
/// of units.
pub fn emit_in(week: &Week, unit: Unit) -> Option<String> {
    let mut out = String::new();
    fits(week, unit).then(|| write_week(week, unit, &mut out))?;
    Some(out)
}

fn fits(week: &Week, unit: Unit) -> bool {
    week.slices().all(|slice| slice.length % unit.ps() == 0)
}

fn write_week(week: &Week, unit: Unit, out: &mut String) {
    out.push_str(&week.len().to_string());
    for slice in week.slices() {
        // Writing to a string cannot fail.
        let _ = write!(out, " {} ", slice.length / unit.ps());
        write_circuits(slice.circuits, out);
    }
}

fn write_circuits(circuits: Circuits, out: &mut String) {
    for destination in 0..circuits.racks() {
        let before = if destination == 0 { "" } else { "/" };
        let _ = match circuits.source(destination) {
            Some(source) => write!(out, "{before}{source}"),
            None => write!(out, "{before}-1"),
        };
    }
}

#[cfg(test)]
mod tests;
