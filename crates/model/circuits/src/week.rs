//! A planned week: configurations one after another, dark ones being nights.

use crate::matching::{Circuits, DARK, Matching};
use crate::terms::Terms;
use std::fmt;

/// Slices that follow one another without a gap. It begins again when it is over, until there is another.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Week {
    racks: usize,
    lengths: Vec<u64>,
    /// By slice and destination.
    sources: Vec<u16>,
}

/// A part of a week in which the same circuits exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slice<'a> {
    /// Picoseconds.
    pub length: u64,
    /// What exists.
    pub circuits: Circuits<'a>,
}

/// What is wrong with a week.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WeekError {
    /// Nothing is planned.
    Empty,
    /// A slice of no length.
    NoLength(usize),
    /// A configuration of other racks than the first.
    Racks {
        /// The slice.
        slice: usize,
        /// Its racks.
        found: usize,
        /// Those of the first slice.
        racks: usize,
    },
    /// Slices that do not add up.
    Span {
        /// What they are together, in picoseconds.
        found: u128,
        /// What they should be, in picoseconds.
        week: u64,
    },
    /// A day that is too short.
    Day {
        /// The slice.
        slice: usize,
        /// Its length, in picoseconds.
        length: u64,
        /// The shortest day, in picoseconds.
        min_day: u64,
    },
    /// Circuits that change without a night, or in too short a one.
    Night {
        /// The day's slice.
        slice: usize,
        /// What lies between it and the next day, in picoseconds.
        length: u64,
        /// A night, in picoseconds.
        night: u64,
    },
}

impl fmt::Display for WeekError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match *self {
            WeekError::Empty => f.write_str("a week without a single slice"),
            WeekError::NoLength(slice) => write!(f, "slice {slice} has no length"),
            WeekError::Racks { slice, found, racks } => {
                write!(f, "slice {slice} is of {found} racks, the first one of {racks}")
            }
            WeekError::Span { found, week } => {
                write!(f, "days and nights are {found} ps together: the week is {week} ps")
            }
            WeekError::Day { slice, length, min_day } => {
                write!(f, "slice {slice} is a day of {length} ps: the shortest is {min_day} ps")
            }
            WeekError::Night { slice, length, night } => write!(
                f,
                "after slice {slice} circuits change in {length} ps: a night takes {night} ps"
            ),
        }
    }
}

impl std::error::Error for WeekError {}

impl Week {
    /// From slices that must be `span` picoseconds together.
    pub fn new(span: u64, slices: &[(u64, Matching)]) -> Result<Week, WeekError> {
        let racks = slices.first().ok_or(WeekError::Empty)?.1.racks();
        let mut week = Week { racks, ..Week::default() };
        let mut found = 0;
        for (slice, (length, matching)) in slices.iter().enumerate() {
            if *length == 0 {
                return Err(WeekError::NoLength(slice));
            }
            if matching.racks() != racks {
                return Err(WeekError::Racks { slice, found: matching.racks(), racks });
            }
            found += u128::from(*length);
            week.push(*length, matching.circuits());
        }
        if found != u128::from(span) {
            return Err(WeekError::Span { found, week: span });
        }
        Ok(week)
    }
    /// Forgets all slices, keeps the memory, and is for so many racks.
    pub fn clear(&mut self, racks: usize) {
        self.racks = racks;
        self.lengths.clear();
        self.sources.clear();
    }
    /// Adds a slice at the end; one of no length is left out.
    ///
    /// # Panics
    /// Where the configuration is of other racks than the week.
    pub fn push(&mut self, length: u64, circuits: Circuits) {
        assert_eq!(circuits.racks(), self.racks, "a configuration of other racks");
        if length > 0 {
            self.lengths.push(length);
            self.sources.extend_from_slice(circuits.0);
        }
    }
    /// Adds a night at the end; one of no length is left out.
    pub fn push_night(&mut self, length: u64) {
        if length > 0 {
            self.lengths.push(length);
            self.sources.resize(self.lengths.len() * self.racks, DARK);
        }
    }
    /// Racks.
    pub fn racks(&self) -> usize {
        self.racks
    }
    /// Slices, days and nights.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }
    /// Whether nothing is planned.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }
    /// All slices together, in picoseconds.
    pub fn span(&self) -> u64 {
        self.lengths.iter().sum()
    }
    /// A slice by its place.
    pub fn slice(&self, at: usize) -> Slice<'_> {
        let circuits = Circuits(&self.sources[at * self.racks..(at + 1) * self.racks]);
        Slice { length: self.lengths[at], circuits }
    }
    /// All slices in order.
    pub fn slices(&self) -> impl DoubleEndedIterator<Item = Slice<'_>> + ExactSizeIterator {
        (0..self.len()).map(|at| self.slice(at))
    }
    /// The slices in which a circuit exists.
    pub fn days(&self) -> impl Iterator<Item = Slice<'_>> {
        self.slices().filter(|slice| !slice.circuits.is_dark())
    }
    /// Lights circuits in all days where both ends have none, the first pairs first. `taken` is memory for the work.
    pub(crate) fn light_idle(&mut self, pairs: &[(u16, u16)], taken: &mut Vec<bool>) {
        for sources in self.sources.chunks_exact_mut(self.racks.max(1)) {
            taken.clear();
            taken.resize(self.racks, false);
            let lit = sources.iter().filter(|&&source| source != DARK);
            lit.for_each(|&source| taken[usize::from(source)] = true);
            if !taken.contains(&true) {
                continue;
            }
            for &(src, dst) in pairs {
                let (row, source) = (usize::from(src), &mut sources[usize::from(dst)]);
                if *source == DARK && !taken[row] {
                    (*source, taken[row]) = (src, true);
                }
            }
        }
    }
    /// Copies another week into this one's memory.
    pub fn copy_from(&mut self, other: &Week) {
        self.clear(other.racks);
        self.lengths.extend_from_slice(&other.lengths);
        self.sources.extend_from_slice(&other.sources);
    }
    /// Whether the week fills the terms' week, its days are long enough, and each change of circuits has its
    /// night. A day that goes on over the end of the week is one day.
    pub fn check(&self, terms: &Terms) -> Result<(), WeekError> {
        let (found, week) = (u128::from(self.span()), terms.week());
        if found != u128::from(week) {
            return Err(WeekError::Span { found, week });
        }
        let days: Vec<usize> =
            (0..self.len()).filter(|&at| !self.slice(at).circuits.is_dark()).collect();
        for (place, &at) in days.iter().enumerate() {
            self.check_day(at, days.get(place + 1).copied(), terms)?;
        }
        Ok(())
    }
    /// The day in slice `at`, and what lies between it and the next one.
    fn check_day(&self, at: usize, next: Option<usize>, terms: &Terms) -> Result<(), WeekError> {
        let Slice { length, circuits } = self.slice(at);
        let goes_on = at == 0 || at + 1 == self.len();
        if length < terms.min_day() && !goes_on {
            return Err(WeekError::Day { slice: at, length, min_day: terms.min_day() });
        }
        let Some(next) = next else { return Ok(()) };
        let between: u64 = self.lengths[at + 1..next].iter().sum();
        if between < terms.night() && self.slice(next).circuits != circuits {
            return Err(WeekError::Night { slice: at, length: between, night: terms.night() });
        }
        Ok(())
    }
}
