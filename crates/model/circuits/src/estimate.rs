//! What a week serves, fast: exactly over circuits, and a bound of what packets add.

use crate::ticks::Clock;
use crate::week::Week;

/// Estimates weeks for one demand; keeps its memory.
///
/// What circuits leave over of each rack is clipped to what its link to the packet switch carries, up and down:
/// the lesser of both sums is never less than what packets serve, and mostly all of it. It takes steps per pair
/// that has a circuit, and not per pair of racks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Estimate {
    size: usize,
    /// By side and rack, what there is to send.
    sums: [Vec<i64>; 2],
    /// By side and rack, what circuits leave over.
    rest: [Vec<i64>; 2],
    /// By pair, for how long there is a circuit; all zero between estimates.
    lit: Vec<i32>,
}

impl Estimate {
    /// Takes up another demand, in ticks.
    pub fn load(&mut self, size: usize, cells: &[i32]) {
        if self.size != size {
            self.size = size;
            self.lit.clear();
            self.lit.resize(size * size, 0);
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
    /// No week with these circuits serves more, in ticks; each link to the packet switch carries `packets`.
    pub fn bound(&mut self, week: &Week, cells: &[i32], clock: &Clock, packets: i64) -> i64 {
        self.rest.clone_from(&self.sums);
        let mut circuits = 0;
        for day in week.days() {
            let length = day.length.div_ceil(clock.tick) as i32;
            for (src, dst) in day.circuits.pairs() {
                let pair = src * self.size + dst;
                let part = length.min(cells[pair] - self.lit[pair]).max(0);
                self.lit[pair] += part;
                self.rest[0][src] -= i64::from(part);
                self.rest[1][dst] -= i64::from(part);
                circuits += i64::from(part);
            }
        }
        for day in week.days() {
            day.circuits.pairs().for_each(|(src, dst)| self.lit[src * self.size + dst] = 0);
        }
        let clip = |rest: &Vec<i64>| rest.iter().map(|&rest| rest.min(packets)).sum::<i64>();
        circuits + clip(&self.rest[0]).min(clip(&self.rest[1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::Class;
    use crate::rotor::Rotor;
    use crate::scheduler::Scheduler;
    use crate::served::served;
    use crate::solstice::{Solstice, SolsticeSpec};
    use crate::terms::TermsSpec;

    #[test]
    fn it_is_never_below_what_is_served_and_seldom_far_above() {
        for racks in [5, 16, 33] {
            let terms = TermsSpec::etalon(2_000_000_000).build().expect("good terms");
            let clock = Clock::new(&terms);
            let packets = i64::from(clock.week) / 8;
            let (mut cells, mut estimate) = (Vec::new(), Estimate::default());
            for class in Class::ALL {
                let bytes = terms.circuit_bytes(terms.week());
                let demand = class.demand(racks, bytes, 5).expect("a demand");
                clock.load(&demand, &mut cells);
                estimate.load(racks, &cells);
                let (mut week, spec) = (Week::default(), SolsticeSpec::default());
                let mut both: [Box<dyn Scheduler>; 2] = [
                    Box::new(Rotor::new(racks, terms)),
                    Box::new(Solstice::new(racks, terms, spec)),
                ];
                for scheduler in &mut both {
                    scheduler.week(&demand, &mut week);
                    // Twice: what one estimate leaves behind must not be seen.
                    for _ in 0..2 {
                        let bound = estimate.bound(&week, &cells, &clock, packets);
                        let bytes = bound as f64 * clock.tick as f64 / 100.0;
                        let exact = served(&week, &demand, &terms).total() as f64;
                        assert!(bytes >= exact, "{class} {racks}: {bytes} of {exact}");
                        assert!(bytes <= 1.02 * exact + 1e4, "{class} {racks}: {bytes} of {exact}");
                    }
                }
            }
        }
    }
}
