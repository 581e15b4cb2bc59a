//! Times in ticks. The schedulers convert demand to circuit time in whole ticks, held in 32 bits.

use crate::circuit_timing::CircuitTiming;
use crate::demand::Demand;

/// The largest number of ticks in a week. The sum of a few such numbers fits into a signed 32-bit integer.
const MOST_TICKS: u64 = 1 << 26;

/// 2^53 and 2^52.
const MOST_BYTES: f64 = 9_007_199_254_740_992.0;
const SHIFT: f64 = 4_503_599_627_370_496.0;

/// A [`CircuitTiming`] in ticks. A tick is 1, 2 or 5 times a power of ten picoseconds, so that round times
/// stay round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TickTiming {
    /// The length of a tick, in picoseconds.
    pub tick: u64,
    pub week: i32,
    pub night: i32,
    pub min_day: i32,
    /// The ticks that a circuit takes to carry one byte.
    per_byte: f64,
}

impl TickTiming {
    pub fn new(timing: &CircuitTiming) -> TickTiming {
        let tick = round_tick(timing.week());
        let ticks = |ps: u64| ps.div_ceil(tick) as i32;
        let week = (timing.week() / tick) as i32;
        let night = ticks(timing.night()).min(week - 1);
        let min_day = ticks(timing.min_day()).min(week - night);
        let per_byte = 8e12 / (timing.circuit() as f64 * tick as f64);
        TickTiming { tick, week, night, min_day, per_byte }
    }
    /// The time a circuit takes to carry `bytes`, rounded up and at most a week. It has no branch and no
    /// conversion to an integer, so that the compiler vectorises it.
    fn time(&self, bytes: u64) -> i32 {
        // 2^53 bytes take longer than any week.
        let exact = least(least(bytes as f64, MOST_BYTES) * self.per_byte, f64::from(self.week));
        // The last bits of such a number are an integer.
        let shifted = exact + SHIFT;
        shifted.to_bits() as i32 + i32::from(shifted - SHIFT < exact)
    }
    /// Converts the demand of all pairs to circuit time, by source and destination.
    pub fn load(&self, demand: &Demand, cells: &mut Vec<i32>) {
        self.load_bytes(demand.cells(), cells);
    }
    pub fn load_bytes(&self, bytes: &[u64], cells: &mut Vec<i32>) {
        cells.clear();
        cells.extend(bytes.iter().map(|&bytes| self.time(bytes)));
    }
    /// The circuit time of `bytes`, rounded down. Unlike the time of one pair, it may exceed a week.
    pub fn whole(&self, bytes: u64) -> i64 {
        (bytes as f64 * self.per_byte) as i64
    }
    /// The largest number of days in a week, each followed by a night.
    pub fn most_days(&self) -> usize {
        (self.week / (self.min_day + self.night)).max(1) as usize
    }
}

fn least(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The shortest round tick for which a week has at most [`MOST_TICKS`] ticks.
fn round_tick(week: u64) -> u64 {
    let mut power = 1;
    loop {
        for digit in [1, 2, 5] {
            if week / (digit * power) <= MOST_TICKS {
                return digit * power;
            }
        }
        power *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit_timing::CircuitTimingSpec;
    use proptest::prelude::*;

    #[test]
    fn demand_is_the_time_it_takes() {
        let timing = CircuitTimingSpec::etalon(2_000_000_000).build().expect("valid timing");
        let ticks = TickTiming::new(&timing);
        assert_eq!((ticks.tick, ticks.week, ticks.night), (50, 40_000_000, 400_000));
        // A byte takes 100 ps, which is two ticks.
        let demand = Demand::from_cells(2, &[0, 9_000, u64::MAX, 0]).expect("two racks");
        let mut cells = Vec::new();
        ticks.load(&demand, &mut cells);
        assert_eq!(cells, [0, 18_000, 40_000_000, 0]);
    }

    proptest! {
        #[test]
        fn the_time_of_a_demand_is_rounded_up(
            bytes in prop_oneof![0_u64..100_000, 0..1_u64 << 24, any::<u64>()],
            circuit in prop_oneof![Just(3_u64), 1..1_u64 << 20, any::<u64>().prop_map(|rate| rate.max(1))],
        ) {
            let spec = CircuitTimingSpec { circuit, ..CircuitTimingSpec::etalon(2_000_000_000) };
            let ticks = TickTiming::new(&spec.build().expect("valid timing"));
            let exact = bytes.min(1 << 53) as f64 * ticks.per_byte;
            prop_assert_eq!(ticks.time(bytes), exact.min(f64::from(ticks.week)).ceil() as i32);
        }
    }

    #[test]
    fn any_terms_have_a_day() {
        for (week, night, min_day) in [(3, 1, 2), (134_217_729, 1, 134_217_728), (1 << 50, 7, 9)] {
            let timing = CircuitTimingSpec { week, night, min_day, circuit: 3, packet: 0 };
            let ticks = TickTiming::new(&timing.build().expect("valid timing"));
            assert!(ticks.min_day > 0 && ticks.min_day + ticks.night <= ticks.week);
        }
    }
}
