//! A planned week: a sequence of configurations. Dark configurations are nights.

use crate::circuit_timing::CircuitTiming;
use crate::matching::{Circuits, DARK, Matching};
use std::fmt;

/// The configurations of a circuit switch in a week, without gaps. A week is repeated until another one
/// replaces it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Week {
    racks: usize,
    lengths: Vec<u64>,
    /// The sources by slice and destination.
    sources: Vec<u16>,
}

/// A part of a week during which the circuits do not change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slice<'a> {
    /// The length, in picoseconds.
    pub length: u64,
    /// The circuits that exist.
    pub circuits: Circuits<'a>,
}

/// An error in a week.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WeekError {
    /// The week has no slices.
    Empty,
    /// The slice has length zero.
    NoLength(usize),
    /// The slice has a different number of racks from the first slice.
    Racks {
        /// The slice.
        slice: usize,
        /// The number of racks of this slice.
        found: usize,
        /// The number of racks of the first slice.
        racks: usize,
    },
    /// The slices do not add up to the week.
    Span {
        /// The sum of all slices, in picoseconds.
        found: u128,
        /// The week, in picoseconds.
        week: u64,
    },
    /// The day is shorter than the shortest day allowed.
    Day {
        /// The slice.
        slice: usize,
        /// Its length, in picoseconds.
        length: u64,
        /// The shortest day allowed, in picoseconds.
        min_day: u64,
    },
    /// Circuits change without a night, or in a night that is too short.
    Night {
        /// The slice of the day before the change.
        slice: usize,
        /// The time between that day and the next, in picoseconds.
        length: u64,
        /// The length of a night, in picoseconds.
        night: u64,
    },
}

impl fmt::Display for WeekError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match *self {
            WeekError::Empty => f.write_str("the week has no slices"),
            WeekError::NoLength(slice) => write!(f, "slice {slice} has no length"),
            WeekError::Racks { slice, found, racks } => {
                write!(f, "slice {slice} has {found} racks, and the first one has {racks}")
            }
            WeekError::Span { found, week } => {
                write!(f, "the days and nights sum to {found} ps, and the week lasts {week} ps")
            }
            WeekError::Day { slice, length, min_day } => {
                write!(f, "slice {slice} is a day of {length} ps: the shortest is {min_day} ps")
            }
            WeekError::Night { slice, length, night } => write!(
                f,
                "circuits change within {length} ps after slice {slice}: a night takes {night} ps"
            ),
        }
    }
}

impl std::error::Error for WeekError {}

impl Week {
    /// A week from slices, each a length in picoseconds and a configuration.
    ///
    /// # Errors
    /// There is no slice, a slice has length zero or another number of racks, or the sum is not `span`.
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
    /// Removes all slices and sets the number of racks. The memory is reused.
    pub fn clear(&mut self, racks: usize) {
        self.racks = racks;
        self.lengths.clear();
        self.sources.clear();
    }
    /// Appends a slice, unless its length is zero.
    ///
    /// # Panics
    /// The configuration and the week have different numbers of racks.
    pub fn push(&mut self, length: u64, circuits: Circuits) {
        assert_eq!(circuits.racks(), self.racks, "the configuration has another number of racks");
        if length > 0 {
            self.lengths.push(length);
            self.sources.extend_from_slice(circuits.0);
        }
    }
    /// Appends a night, unless its length is zero.
    pub fn push_night(&mut self, length: u64) {
        if length > 0 {
            self.lengths.push(length);
            self.sources.resize(self.lengths.len() * self.racks, DARK);
        }
    }
    /// The number of racks.
    pub fn racks(&self) -> usize {
        self.racks
    }
    /// The number of slices, days and nights.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }
    /// Whether there are no slices.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }
    /// The length of all slices, in picoseconds.
    pub fn span(&self) -> u64 {
        self.lengths.iter().sum()
    }
    /// The slice with this index.
    pub fn slice(&self, at: usize) -> Slice<'_> {
        let circuits = Circuits(&self.sources[at * self.racks..(at + 1) * self.racks]);
        Slice { length: self.lengths[at], circuits }
    }
    /// All slices, in order.
    pub fn slices(&self) -> impl DoubleEndedIterator<Item = Slice<'_>> + ExactSizeIterator {
        (0..self.len()).map(|at| self.slice(at))
    }
    /// The slices that have a circuit.
    pub fn days(&self) -> impl Iterator<Item = Slice<'_>> {
        self.slices().filter(|slice| !slice.circuits.is_dark())
    }
    /// Adds the given circuits, in order, to each day on which both their ends are free. `taken` is working
    /// memory.
    pub(crate) fn connect_idle(&mut self, pairs: &[(u16, u16)], taken: &mut Vec<bool>) {
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
    /// Copies another week and reuses the memory of this one.
    pub fn copy_from(&mut self, other: &Week) {
        self.clear(other.racks);
        self.lengths.extend_from_slice(&other.lengths);
        self.sources.extend_from_slice(&other.sources);
    }
    /// Checks that the week has the length that `timing` says, that no day is too short, and that a night
    /// precedes each change of circuits. The first and the last slice may be parts of one day.
    ///
    /// # Errors
    /// See [`WeekError`].
    pub fn check(&self, timing: &CircuitTiming) -> Result<(), WeekError> {
        let (found, week) = (u128::from(self.span()), timing.week());
        if found != u128::from(week) {
            return Err(WeekError::Span { found, week });
        }
        let days: Vec<usize> =
            (0..self.len()).filter(|&at| !self.slice(at).circuits.is_dark()).collect();
        for (place, &at) in days.iter().enumerate() {
            self.check_day(at, days.get(place + 1).copied(), timing)?;
        }
        Ok(())
    }
    /// Checks the day in slice `at` and the time until the day in slice `next`.
    fn check_day(
        &self,
        at: usize,
        next: Option<usize>,
        timing: &CircuitTiming,
    ) -> Result<(), WeekError> {
        let Slice { length, circuits } = self.slice(at);
        let goes_on = at == 0 || at + 1 == self.len();
        if length < timing.min_day() && !goes_on {
            return Err(WeekError::Day { slice: at, length, min_day: timing.min_day() });
        }
        let Some(next) = next else { return Ok(()) };
        let between: u64 = self.lengths[at + 1..next].iter().sum();
        if between < timing.night() && self.slice(next).circuits != circuits {
            return Err(WeekError::Night { slice: at, length: between, night: timing.night() });
        }
        Ok(())
    }
}
