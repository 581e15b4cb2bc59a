//! A week in the making: days in ticks.

use crate::matching::Matching;
use crate::terms::Terms;
use crate::ticks::Clock;
use crate::wants::{NO_EDGE, NONE, Wants};
use crate::week::Week;

/// Days with their matchings; the order is that of the week.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    racks: usize,
    lengths: Vec<i32>,
    /// By day and source, the destination.
    columns: Vec<u16>,
}

impl Plan {
    pub fn clear(&mut self, racks: usize) {
        self.racks = racks;
        self.lengths.clear();
        self.columns.clear();
    }
    pub fn push(&mut self, length: i32, columns: &[u16]) {
        self.lengths.push(length);
        self.columns.extend_from_slice(columns);
    }
    /// A day of matched edges, by row.
    pub fn push_edges(&mut self, length: i32, edges: &[u32], wants: &Wants) {
        self.lengths.push(length);
        let column = |&edge| if edge == NO_EDGE { NONE } else { wants.end(1, edge) as u16 };
        self.columns.extend(edges.iter().map(column));
    }
    /// A day among so many at most, of which the longest are kept.
    pub fn push_among(&mut self, length: i32, columns: &[u16], most: usize) {
        if self.days() < most {
            return self.push(length, columns);
        }
        let shortest = (0..self.days()).min_by_key(|&day| self.lengths[day]);
        if let Some(day) = shortest.filter(|&day| self.lengths[day] < length) {
            self.lengths[day] = length;
            self.columns_mut(day).copy_from_slice(columns);
        }
    }
    /// The cells that have a circuit on a day, with its length. A rack has none to itself.
    pub fn lit(&self, day: usize) -> impl Iterator<Item = (usize, i32)> {
        let (racks, length) = (self.racks, self.lengths[day]);
        let pairs = self.columns(day).iter().enumerate();
        let lit = pairs.filter(|&(row, &column)| column != NONE && usize::from(column) != row);
        lit.map(move |(row, &column)| (row * racks + usize::from(column), length))
    }
    pub fn days(&self) -> usize {
        self.lengths.len()
    }
    #[cfg(test)]
    pub fn length(&self, day: usize) -> i32 {
        self.lengths[day]
    }
    /// The destination of each source on a day.
    pub fn columns(&self, day: usize) -> &[u16] {
        &self.columns[day * self.racks..(day + 1) * self.racks]
    }
    pub fn columns_mut(&mut self, day: usize) -> &mut [u16] {
        &mut self.columns[day * self.racks..(day + 1) * self.racks]
    }
    /// All days, each with its night.
    pub fn span(&self, clock: &Clock) -> i64 {
        self.lengths.iter().map(|&length| i64::from(length + clock.night)).sum()
    }
    /// Makes days as long as the week: all longer alike, or the shortest go and the longest give.
    pub fn fit(&mut self, clock: &Clock) {
        self.drop_days(clock);
        let over = self.span(clock) - i64::from(clock.week);
        if over > 0 {
            self.shave(over as i32, clock.min_day);
        }
        self.stretch(clock);
    }
    /// Drops the shortest days, as long as the others fill the week without them, or cannot be shaved enough.
    fn drop_days(&mut self, clock: &Clock) {
        let mut over = self.span(clock) - i64::from(clock.week);
        while over > 0 && self.days() > 1 {
            let Some(shortest) = (0..self.days()).min_by_key(|&day| self.lengths[day]) else {
                return;
            };
            let length = i64::from(self.lengths[shortest] + clock.night);
            let shaved = |&length: &i32| i64::from((length - clock.min_day).max(0));
            if length > over && self.lengths.iter().map(shaved).sum::<i64>() >= over {
                return;
            }
            self.remove_in_order(shortest);
            over -= length;
        }
    }
    /// Takes a day out; those behind it move up.
    fn remove_in_order(&mut self, day: usize) {
        self.columns.drain(day * self.racks..(day + 1) * self.racks);
        self.lengths.remove(day);
    }
    /// Shortens the shortest days first, none below the shortest day there may be.
    fn shave(&mut self, mut over: i32, min_day: i32) {
        while over > 0 {
            let can = (0..self.days()).filter(|&day| self.lengths[day] > min_day);
            let Some(day) = can.min_by_key(|&day| self.lengths[day]) else { return };
            let by = over.min(self.lengths[day] - min_day);
            self.lengths[day] -= by;
            over -= by;
        }
    }
    /// Spreads what the week has left evenly over all days.
    pub fn stretch(&mut self, clock: &Clock) {
        let days = self.days() as i64;
        let left = i64::from(clock.week) - self.span(clock);
        if days > 0 && left > 0 {
            let (each, more) = ((left / days) as i32, (left % days) as usize);
            self.lengths.iter_mut().for_each(|length| *length += each);
            self.lengths[..more].iter_mut().for_each(|length| *length += 1);
        }
    }
    /// Writes the week; what ticks do not reach is added to the last day. Pairs of a rack with itself are dark.
    pub fn emit(&self, clock: &Clock, terms: &Terms, matching: &mut Matching, out: &mut Week) {
        out.clear(self.racks);
        let days: u64 = self.lengths.iter().map(|&length| length as u64 * clock.tick).sum();
        let rest = terms.week() - days - terms.night() * self.days() as u64;
        for day in 0..self.days() {
            matching.clear(self.racks);
            for (src, &dst) in self.columns(day).iter().enumerate() {
                if dst != NONE && usize::from(dst) != src {
                    matching.connect(src, dst.into()).expect("days are matchings");
                }
            }
            let more = if day + 1 == self.days() { rest } else { 0 };
            out.push(self.lengths[day] as u64 * clock.tick + more, matching.circuits());
            out.push_night(terms.night());
        }
    }
}
