//! A fast upper bound of what a week serves. It is exact for circuits and a bound for packets.

use crate::ticks::TickTiming;
use crate::week::Week;

/// Bounds what weeks serve of one demand. It reuses its memory.
///
/// The demand of each rack that circuits do not carry is clipped to what its link to the packet switch carries,
/// in either direction. The smaller of the two sums is never less than what the packet switch serves, and
/// usually equal to it. The work is proportional to the number of circuits and not to the number of pairs of
/// racks.
#[derive(Clone, Debug, Default)]
pub(crate) struct UpperBound {
    size: usize,
    /// The demand of each rack as a source and as a destination.
    sums: [Vec<i64>; 2],
    /// The part of each sum that circuits do not carry.
    residual: [Vec<i64>; 2],
    /// The time that each pair has a circuit. It is zero outside [`UpperBound::bound`].
    circuit_time: Vec<i32>,
}

impl UpperBound {
    /// Loads another demand, in ticks.
    pub fn load(&mut self, size: usize, cells: &[i32]) {
        if self.size != size {
            self.size = size;
            self.circuit_time.clear();
            self.circuit_time.resize(size * size, 0);
        }
        let [rows, columns] = &mut self.sums;
        rows.clear();
        columns.clear();
        columns.resize(size, 0);
        for row in cells.chunks_exact(size) {
            rows.push(row.iter().map(|&cell| i64::from(cell)).sum());
            columns.iter_mut().zip(row).for_each(|(sum, &cell)| *sum += i64::from(cell));
        }
    }
    /// An upper bound, in ticks, of what a week with these circuits serves. Each link to the packet switch
    /// carries `packets` ticks.
    pub fn bound(&mut self, week: &Week, cells: &[i32], ticks: &TickTiming, packets: i64) -> i64 {
        self.residual.clone_from(&self.sums);
        let mut circuits = 0;
        for day in week.days() {
            let length = day.length.div_ceil(ticks.tick) as i32;
            for (src, dst) in day.circuits.pairs() {
                let pair = src * self.size + dst;
                let part = length.min(cells[pair] - self.circuit_time[pair]).max(0);
                self.circuit_time[pair] += part;
                self.residual[0][src] -= i64::from(part);
                self.residual[1][dst] -= i64::from(part);
                circuits += i64::from(part);
            }
        }
        for day in week.days() {
            day.circuits
                .pairs()
                .for_each(|(src, dst)| self.circuit_time[src * self.size + dst] = 0);
        }
        let clip = |residual: &Vec<i64>| {
            residual.iter().map(|&residual| residual.min(packets)).sum::<i64>()
        };
        circuits + clip(&self.residual[0]).min(clip(&self.residual[1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit_timing::CircuitTimingSpec;
    use crate::demand_pattern::DemandPattern;
    use crate::oblivious::Rotor;
    use crate::scheduler::Scheduler;
    use crate::served::served;
    use crate::solstice::{Solstice, SolsticeSpec};

    #[test]
    fn it_is_never_below_what_is_served_and_seldom_far_above() {
        for racks in [5, 16, 33] {
            let timing = CircuitTimingSpec::etalon(2_000_000_000).build().expect("valid timing");
            let ticks = TickTiming::new(&timing);
            let packets = i64::from(ticks.week) / 8;
            let (mut cells, mut upper_bound) = (Vec::new(), UpperBound::default());
            for class in DemandPattern::ALL {
                let bytes = timing.circuit_bytes(timing.week());
                let demand = class.demand(racks, bytes, 5).expect("a demand");
                ticks.load(&demand, &mut cells);
                upper_bound.load(racks, &cells);
                let (mut week, spec) = (Week::default(), SolsticeSpec::default());
                let mut both: [Box<dyn Scheduler>; 2] = [
                    Box::new(Rotor::new(racks, timing)),
                    Box::new(Solstice::new(racks, timing, spec)),
                ];
                for scheduler in &mut both {
                    scheduler.week(&demand, &mut week);
                    // The second bound must not depend on the first.
                    for _ in 0..2 {
                        let bound = upper_bound.bound(&week, &cells, &ticks, packets);
                        let bytes = bound as f64 * ticks.tick as f64 / 100.0;
                        let exact = served(&week, &demand, &timing).total() as f64;
                        assert!(bytes >= exact, "{class} {racks}: {bytes} of {exact}");
                        assert!(bytes <= 1.02 * exact + 1e4, "{class} {racks}: {bytes} of {exact}");
                    }
                }
            }
        }
    }
}
