//! Samples of ports: what waits there and what has been sent, at the same times for all ports. Most ports of a large network
//! are idle most of the time, so only changes are kept.

use std::collections::BTreeMap;
use std::ops::Range;

/// The state of one port at one instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SampleRow {
    /// Time, in picoseconds.
    pub t_ps: u64,
    /// The number of the port.
    pub port: u32,
    /// Bytes waiting.
    pub queue_bytes: u64,
    /// Bytes sent since the run began.
    pub tx_bytes: u64,
}

/// Samples of several ports at the same times. In this order are also the rows of a table: by port, then by time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Samples {
    times: Vec<u64>,
    series: Vec<Series>,
}

/// The samples of one port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Series {
    /// The number of the port.
    pub port: u32,
    /// The first sample, and each that differs from the one before.
    changes: Vec<Change>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Change {
    /// The number of the time.
    turn: u32,
    queue_bytes: u64,
    tx_bytes: u64,
}

/// Neighbouring samples that are equal but for their times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repeated {
    /// The numbers of their times.
    pub turns: Range<usize>,
    /// Bytes waiting.
    pub queue_bytes: u64,
    /// Bytes sent since the run began.
    pub tx_bytes: u64,
}

impl Samples {
    /// No samples yet, of these ports.
    pub fn of_ports(ports: impl IntoIterator<Item = u32>) -> Samples {
        let series = ports.into_iter().map(|port| Series { port, changes: Vec::new() });
        Samples { times: Vec::new(), series: series.collect() }
    }

    /// The samples in `rows`, which are in order of time for each port; `None` if ports have different times.
    pub fn from_rows(rows: &[SampleRow]) -> Option<Samples> {
        let (mut samples, mut places) = (Samples::default(), BTreeMap::new());
        let (mut taken, mut place) = (Vec::new(), 0);
        for row in rows {
            if samples.series.get(place).is_none_or(|series| series.port != row.port) {
                place = *places.entry(row.port).or_insert(samples.series.len());
            }
            if place == samples.series.len() {
                samples.series.push(Series { port: row.port, changes: Vec::new() });
                taken.push(0);
            }
            if place == 0 && taken[0] == samples.times.len() {
                samples.times.push(row.t_ps);
            }
            samples.times.get(taken[place]).filter(|time| **time == row.t_ps)?;
            samples.series[place].take(taken[place], row.queue_bytes, row.tx_bytes);
            taken[place] += 1;
        }
        let whole = taken.iter().all(|taken| *taken == samples.times.len());
        (whole && samples.times.is_sorted()).then_some(samples)
    }

    /// Takes a sample of each port. `state` gives the bytes that wait at a port and those that it has sent.
    pub fn take(&mut self, t_ps: u64, mut state: impl FnMut(u32) -> (u64, u64)) {
        let turn = self.times.len();
        self.times.push(t_ps);
        for series in &mut self.series {
            let (queue_bytes, tx_bytes) = state(series.port);
            series.take(turn, queue_bytes, tx_bytes);
        }
    }

    /// Adds times, of which each port takes samples by itself. Returns the number of the first one.
    pub fn begin(&mut self, times: &[u64]) -> usize {
        self.times.extend_from_slice(times);
        self.times.len() - times.len()
    }

    /// The samples of the ports from `place` in [`Samples::series`] on.
    pub fn series_from(&mut self, place: usize) -> &mut [Series] {
        &mut self.series[place..]
    }

    /// Adds samples of other ports, which have the same times.
    pub fn absorb(&mut self, others: Samples) {
        if self.series.is_empty() {
            *self = others;
        } else if !others.series.is_empty() {
            assert_eq!(self.times, others.times, "samples are taken at the same times");
            self.series.extend(others.series);
        }
    }

    /// Puts the ports in order of their numbers, and frees memory that is not used.
    pub fn finish(&mut self) {
        self.series.sort_by_key(|series| series.port);
        self.series.iter_mut().for_each(|series| series.changes.shrink_to_fit());
    }

    /// Gives ports other numbers.
    pub fn numbered(mut self, number: impl Fn(u32) -> u32) -> Samples {
        self.series.iter_mut().for_each(|series| series.port = number(series.port));
        self
    }

    /// The number of samples of all ports.
    pub fn len(&self) -> usize {
        self.times.len() * self.series.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The times, in picoseconds.
    pub fn times(&self) -> &[u64] {
        &self.times
    }
    /// The samples by port.
    pub fn series(&self) -> &[Series] {
        &self.series
    }
    /// The samples of a port.
    pub fn of(&self, port: u32) -> Option<&Series> {
        self.series.iter().find(|series| series.port == port)
    }

    /// The rows of a port; none if it was not sampled.
    pub fn rows_of(&self, port: u32) -> Vec<SampleRow> {
        let place = self.series.iter().position(|series| series.port == port);
        let first = place.map_or(self.len(), |place| place * self.times.len());
        self.rows(first..first + self.times.len())
    }

    /// The rows with these numbers, as far as there are so many.
    pub fn rows(&self, range: Range<usize>) -> Vec<SampleRow> {
        let mut rows = Vec::with_capacity(range.len());
        self.each(range, |series, run| {
            let row = |t_ps: &u64| SampleRow {
                t_ps: *t_ps,
                port: series.port,
                queue_bytes: run.queue_bytes,
                tx_bytes: run.tx_bytes,
            };
            rows.extend(self.times[run.turns].iter().map(row));
        });
        rows
    }

    /// Tells of the rows with these numbers, as far as there are so many, repeated ones at once.
    pub fn each<'a>(&'a self, range: Range<usize>, mut told: impl FnMut(&'a Series, Repeated)) {
        for (series, turns) in self.by_port(range) {
            series.repeated(turns).for_each(|run| told(series, run));
        }
    }

    /// The ports of the rows with these numbers, as far as there are so many, each with the numbers of its times.
    pub fn by_port(&self, range: Range<usize>) -> impl Iterator<Item = (&Series, Range<usize>)> {
        let turns = self.times.len();
        let (mut first, end) = (range.start, range.end.min(self.len()));
        std::iter::from_fn(move || {
            let (port, from) = (first < end).then(|| (first / turns, first % turns))?;
            let until = turns.min(from + end - first);
            first += until - from;
            Some((&self.series[port], from..until))
        })
    }

    /// Numbers that follow from all samples, for a digest.
    pub fn fingerprint(&self, mut add: impl FnMut(u64)) {
        if self.is_empty() {
            return;
        }
        self.times.iter().for_each(|time| add(*time));
        for series in &self.series {
            add(u64::from(series.port) << 32 | series.changes.len() as u64);
            let numbers = series.changes.iter().map(|c| [c.turn.into(), c.queue_bytes, c.tx_bytes]);
            numbers.flatten().for_each(&mut add);
        }
    }
}

impl Series {
    /// Takes a sample at the time with the number `turn`.
    #[inline]
    pub fn take(&mut self, turn: usize, queue_bytes: u64, tx_bytes: u64) {
        let same = |last: &Change| last.queue_bytes == queue_bytes && last.tx_bytes == tx_bytes;
        if !self.changes.last().is_some_and(same) {
            self.changes.push(Change { turn: turn as u32, queue_bytes, tx_bytes });
        }
    }

    /// The samples in a range of turns.
    pub fn repeated(&self, turns: Range<usize>) -> impl Iterator<Item = Repeated> {
        let first = self.changes.partition_point(|change| change.turn as usize <= turns.start);
        let changes = self.changes.get(first.wrapping_sub(1)..).unwrap_or_default();
        changes.iter().enumerate().map_while(move |(at, change)| {
            let next = changes.get(at + 1).map_or(turns.end, |next| next.turn as usize);
            let span = (change.turn as usize).max(turns.start)..next.min(turns.end);
            let Change { queue_bytes, tx_bytes, .. } = *change;
            (!span.is_empty()).then_some(Repeated { turns: span, queue_bytes, tx_bytes })
        })
    }

    /// The bytes sent at the time with the number `turn`.
    pub fn tx_bytes(&self, turn: usize) -> Option<u64> {
        self.repeated(turn..turn + 1).next().map(|run| run.tx_bytes)
    }

    /// The largest number of waiting bytes.
    pub fn longest_queue(&self) -> u64 {
        self.changes.iter().map(|change| change.queue_bytes).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Samples of three ports, as rows in order of port and time.
    fn rows() -> impl Strategy<Value = Vec<SampleRow>> {
        let states = prop::collection::vec((0..3u64, 0..2u64), 0..40);
        states.prop_map(|states| {
            let turns = states.len() / 3;
            let row = |(at, (queue_bytes, tx_bytes)): (usize, &(u64, u64))| SampleRow {
                t_ps: (at % turns) as u64 * 7,
                port: [5, 2, 9][at / turns],
                queue_bytes: *queue_bytes,
                tx_bytes: *tx_bytes,
            };
            states.iter().take(3 * turns).enumerate().map(row).collect()
        })
    }

    proptest! {
        #[test]
        fn rows_come_back(rows in rows(), from in 0..20usize, count in 0..20usize) {
            let samples = Samples::from_rows(&rows).unwrap();
            prop_assert_eq!(samples.len(), rows.len());
            prop_assert_eq!(&samples.rows(0..rows.len()), &rows);
            let range = from.min(rows.len())..(from + count).min(rows.len());
            prop_assert_eq!(&samples.rows(range.clone()), &rows[range]);
            // In order of time, as earlier versions wrote them.
            let mut by_time = rows.clone();
            by_time.sort_by_key(|row| row.t_ps);
            prop_assert_eq!(Samples::from_rows(&by_time), Some(samples.clone()));
            for (place, port) in [5, 2, 9].into_iter().enumerate().take(samples.series().len()) {
                let turns = samples.times().len();
                let own = &rows[place * turns..(place + 1) * turns];
                prop_assert_eq!(&samples.rows_of(port), own);
                let sent = (0..turns).map(|turn| samples.series()[place].tx_bytes(turn).unwrap());
                prop_assert!(sent.eq(own.iter().map(|row| row.tx_bytes)));
            }
            prop_assert!(samples.rows_of(7).is_empty());
        }

        #[test]
        fn a_missing_row_is_found(rows in rows(), at in any::<prop::sample::Index>()) {
            prop_assume!(!rows.is_empty());
            let mut fewer = rows.clone();
            fewer.remove(at.index(rows.len()));
            prop_assert!(rows.len() == 3 || Samples::from_rows(&fewer).is_none());
        }
    }
}
