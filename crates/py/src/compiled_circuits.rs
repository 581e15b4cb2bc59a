//! Circuit schedulers that numba has compiled.

use crate::compiled::Call;
use crate::errors::wrong;
use slotline_circuits::{CircuitTiming, Demand, Matching, Note, Scheduler, Week};

/// A week has at most this many days.
const MOST_DAYS: u64 = 256;

/// A scheduler that is called once in a week. Its input: the times in picoseconds and the rates in bit/s of
/// [`CircuitTiming`], then the demand by source and destination. Its output: the number of days, then for each day its
/// length and the destination of each rack.
pub struct Days {
    call: Call,
    racks: usize,
    timing: CircuitTiming,
}

impl Days {
    /// A scheduler for `racks` racks.
    pub fn new(mut call: Call, racks: usize, timing: CircuitTiming) -> Days {
        let spec = timing.spec();
        let numbers = [spec.week, spec.night, spec.min_day, spec.circuit, spec.packet];
        call.input = numbers.map(|number| number as i64).to_vec();
        call.input.resize(numbers.len() + racks * racks, 0);
        let days = timing.most_days().min(MOST_DAYS) as usize;
        call.output = vec![-1; 1 + days * (1 + racks)];
        Days { call, racks, timing }
    }

    /// Adds the day `at` to the week, and returns its length with its night.
    fn push(&self, at: usize, left: u64, out: &mut Week) -> Result<u64, String> {
        let first = 1 + at * (1 + self.racks);
        let day = self.call.output.get(first..first + 1 + self.racks);
        let day = day.ok_or_else(|| format!("the week has no room for day {at}"))?;
        let (length, night) = (day[0].max(0) as u64, self.timing.night());
        if length < self.timing.min_day() || length + night > left {
            let (least, most) = (self.timing.min_day(), left.saturating_sub(night));
            return Err(format!("day {at} takes {length} ps: possible are {least} to {most}"));
        }
        let mut matching = Matching::dark(self.racks);
        for (src, dst) in day[1..].iter().enumerate() {
            if let Ok(dst) = usize::try_from(*dst) {
                matching.connect(src, dst).map_err(|why| format!("day {at}: {why}"))?;
            }
        }
        out.push(length, matching.circuits());
        out.push_night(night);
        Ok(length + night)
    }
}

impl Scheduler for Days {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        let cells = demand.cells().iter().map(|bytes| i64::try_from(*bytes).unwrap_or(i64::MAX));
        self.call.input.truncate(5);
        self.call.input.extend(cells);
        self.call.output.fill(-1);
        self.call.output[0] = 0;
        self.call.make();
        out.clear(self.racks);
        let mut left = self.timing.week();
        for at in 0..self.call.output[0].max(0) as usize {
            match self.push(at, left, out) {
                Ok(used) => left -= used,
                Err(why) => {
                    self.call.fail(wrong(format!("a circuit scheduler made a wrong week: {why}")));
                    break;
                }
            }
        }
        out.push_night(left);
        Note::Planned
    }
}
