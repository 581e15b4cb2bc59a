//! Demand as time, in whole ticks of 32 bits: what all demand-aware schedulers reckon with.

use crate::demand::Demand;
use crate::terms::Terms;

/// No week has more ticks. Sums of a few of them fit into 32 bits with a sign.
const MOST: u64 = 1 << 26;

/// Terms in ticks. A tick is 1, 2 or 5 times a power of ten picoseconds, so that lengths that are round stay so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// Picoseconds of a tick.
    pub tick: u64,
    pub week: i32,
    pub night: i32,
    pub min_day: i32,
    /// Ticks that a byte takes on a circuit.
    per_byte: f64,
}

impl Clock {
    pub fn new(terms: &Terms) -> Clock {
        let tick = round_tick(terms.week());
        let ticks = |ps: u64| ps.div_ceil(tick) as i32;
        let week = (terms.week() / tick) as i32;
        let night = ticks(terms.night()).min(week - 1);
        let min_day = ticks(terms.min_day()).min(week - night);
        let per_byte = 8e12 / (terms.circuit() as f64 * tick as f64);
        Clock { tick, week, night, min_day, per_byte }
    }
    /// What a circuit needs for so many bytes, rounded up; never more than a week.
    fn time(&self, bytes: u64) -> i32 {
        // Beyond 2^53 bytes it is more than a week anyway.
        let exact = (bytes.min(1 << 53) as i64 as f64 * self.per_byte).min(f64::from(self.week));
        let whole = exact as i32;
        whole + i32::from(f64::from(whole) < exact)
    }
    /// The times of all pairs, by source and destination.
    pub fn load(&self, demand: &Demand, cells: &mut Vec<i32>) {
        self.load_bytes(demand.cells(), cells);
    }
    pub fn load_bytes(&self, bytes: &[u64], cells: &mut Vec<i32>) {
        cells.clear();
        cells.extend(bytes.iter().map(|&bytes| self.time(bytes)));
    }
    /// Whole ticks that so many bytes take, of any number of racks.
    pub fn whole(&self, bytes: u64) -> i64 {
        (bytes as f64 * self.per_byte) as i64
    }
    /// The most days that fit, each with its night.
    pub fn most_days(&self) -> usize {
        (self.week / (self.min_day + self.night)).max(1) as usize
    }
}

/// The shortest round tick of which a week has not too many.
fn round_tick(week: u64) -> u64 {
    let mut power = 1;
    loop {
        for digit in [1, 2, 5] {
            if week / (digit * power) <= MOST {
                return digit * power;
            }
        }
        power *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::TermsSpec;

    #[test]
    fn demand_is_the_time_it_takes() {
        let terms = TermsSpec::etalon(2_000_000_000).build().expect("good terms");
        let clock = Clock::new(&terms);
        assert_eq!((clock.tick, clock.week, clock.night), (50, 40_000_000, 400_000));
        // 100 ps per byte: two ticks.
        let demand = Demand::from_cells(2, &[0, 9_000, u64::MAX, 0]).expect("two racks");
        let mut cells = Vec::new();
        clock.load(&demand, &mut cells);
        assert_eq!(cells, [0, 18_000, 40_000_000, 0]);
    }

    #[test]
    fn any_terms_have_a_day() {
        for (week, night, min_day) in [(3, 1, 2), (134_217_729, 1, 134_217_728), (1 << 50, 7, 9)] {
            let terms = TermsSpec { week, night, min_day, circuit: 3, packet: 0 };
            let clock = Clock::new(&terms.build().expect("good terms"));
            assert!(clock.min_day > 0 && clock.min_day + clock.night <= clock.week);
        }
    }
}
