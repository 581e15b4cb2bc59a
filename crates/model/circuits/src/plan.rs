//! A week under construction: days and their matchings, with lengths in ticks.

use crate::circuit_timing::CircuitTiming;
use crate::matching::Matching;
use crate::residual_graph::{NO_EDGE, NONE, ResidualGraph};
use crate::ticks::TickTiming;
use crate::week::Week;

/// The days of a week in order, each with its matching.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    racks: usize,
    lengths: Vec<i32>,
    /// The destination of each source, day by day.
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
    /// Appends a day. `edges` are the matched edges by row.
    pub fn push_edges(&mut self, length: i32, edges: &[u32], residual: &ResidualGraph) {
        self.lengths.push(length);
        let column = |&edge| if edge == NO_EDGE { NONE } else { residual.endpoint(1, edge) as u16 };
        self.columns.extend(edges.iter().map(column));
    }
    /// Appends a day if there are fewer than `most`. Otherwise it replaces the shortest day if that is
    /// shorter.
    pub fn push_longest(&mut self, length: i32, columns: &[u16], most: usize) {
        if self.days() < most {
            return self.push(length, columns);
        }
        let shortest = (0..self.days()).min_by_key(|&day| self.lengths[day]);
        if let Some(day) = shortest.filter(|&day| self.lengths[day] < length) {
            self.lengths[day] = length;
            self.columns_mut(day).copy_from_slice(columns);
        }
    }
    /// The cells that have a circuit on a day, each with the length of the day. Cells on the diagonal are
    /// left out.
    pub fn circuits(&self, day: usize) -> impl Iterator<Item = (usize, i32)> {
        let (racks, length) = (self.racks, self.lengths[day]);
        let pairs = self.columns(day).iter().enumerate();
        let circuits = pairs.filter(|&(row, &column)| column != NONE && usize::from(column) != row);
        circuits.map(move |(row, &column)| (row * racks + usize::from(column), length))
    }
    pub fn days(&self) -> usize {
        self.lengths.len()
    }
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
    /// The length of all days, each with its night.
    pub fn span(&self, ticks: &TickTiming) -> i64 {
        self.lengths.iter().map(|&length| i64::from(length + ticks.night)).sum()
    }
    /// Makes the days fill the week. If there is time left, all days grow alike. If there are too many days,
    /// the shortest are dropped, and the shortest of the others become shorter.
    pub fn fit_to_week(&mut self, ticks: &TickTiming) {
        self.shorten_to_week(ticks);
        self.stretch(ticks);
    }
    /// Drops and shortens days if there are too many for the week.
    pub fn shorten_to_week(&mut self, ticks: &TickTiming) {
        self.drop_shortest(ticks);
        let over = self.span(ticks) - i64::from(ticks.week);
        if over > 0 {
            self.shorten(over as i32, ticks.min_day);
        }
    }
    /// Makes a day longer.
    pub fn lengthen(&mut self, day: usize, by: i32) {
        self.lengths[day] += by;
    }
    /// Drops the shortest day as long as the others fill the week without it, or cannot be shortened enough
    /// to make room for it.
    fn drop_shortest(&mut self, ticks: &TickTiming) {
        let mut over = self.span(ticks) - i64::from(ticks.week);
        while over > 0 && self.days() > 1 {
            let Some(shortest) = (0..self.days()).min_by_key(|&day| self.lengths[day]) else {
                return;
            };
            let length = i64::from(self.lengths[shortest] + ticks.night);
            let shaved = |&length: &i32| i64::from((length - ticks.min_day).max(0));
            if length > over && self.lengths.iter().map(shaved).sum::<i64>() >= over {
                return;
            }
            self.remove(shortest);
            over -= length;
        }
    }
    /// Removes a day and keeps the order of the others.
    fn remove(&mut self, day: usize) {
        self.columns.drain(day * self.racks..(day + 1) * self.racks);
        self.lengths.remove(day);
    }
    /// Shortens days by `over` ticks in total, the shortest days first, and none below `min_day`.
    fn shorten(&mut self, mut over: i32, min_day: i32) {
        while over > 0 {
            let can = (0..self.days()).filter(|&day| self.lengths[day] > min_day);
            let Some(day) = can.min_by_key(|&day| self.lengths[day]) else { return };
            let by = over.min(self.lengths[day] - min_day);
            self.lengths[day] -= by;
            over -= by;
        }
    }
    /// Divides the rest of the week evenly among all days.
    pub fn stretch(&mut self, ticks: &TickTiming) {
        let days = self.days() as i64;
        let left = i64::from(ticks.week) - self.span(ticks);
        if days > 0 && left > 0 {
            let (each, more) = ((left / days) as i32, (left % days) as usize);
            self.lengths.iter_mut().for_each(|length| *length += each);
            self.lengths[..more].iter_mut().for_each(|length| *length += 1);
        }
    }
    /// Writes the plan as a week. The last day also gets the time that is lost by rounding to ticks. Cells on
    /// the diagonal stay dark.
    pub fn emit(
        &self,
        ticks: &TickTiming,
        timing: &CircuitTiming,
        matching: &mut Matching,
        out: &mut Week,
    ) {
        out.clear(self.racks);
        let days: u64 = self.lengths.iter().map(|&length| length as u64 * ticks.tick).sum();
        let rest = timing.week() - days - timing.night() * self.days() as u64;
        for day in 0..self.days() {
            matching.clear(self.racks);
            for (src, &dst) in self.columns(day).iter().enumerate() {
                if dst != NONE && usize::from(dst) != src {
                    matching.connect(src, dst.into()).expect("days are matchings");
                }
            }
            let more = if day + 1 == self.days() { rest } else { 0 };
            out.push(self.lengths[day] as u64 * ticks.tick + more, matching.circuits());
            out.push_night(timing.night());
        }
    }
}
