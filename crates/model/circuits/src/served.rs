//! What a week serves: the measure of all schedulers.

use crate::demand::Demand;
use crate::fair::Fair;
use crate::terms::Terms;
use crate::week::Week;

/// Bytes served within a week, as a fluid.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Served {
    /// What there was to send.
    pub demand: u64,
    /// By circuits.
    pub circuit: u64,
    /// By the packet switch.
    pub packet: u64,
}

impl Served {
    /// Both together.
    pub fn total(&self) -> u64 {
        self.circuit.saturating_add(self.packet)
    }
    /// The share of the demand that is served; of nothing, all.
    pub fn share(&self) -> f64 {
        if self.demand == 0 { 1.0 } else { self.total() as f64 / self.demand as f64 }
    }
}

/// Measures weeks; keeps its memory.
///
/// A circuit carries what its pair has, at its rate, while it is there. What circuits leave over goes through
/// the packet switch: it is clipped max-min fair to what each rack's link to the packet switch carries in a
/// week, up and down. Both work side by side, and nothing is late: this is a bound of what packets do.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    /// By pair, for how long there is a circuit; then what is left over.
    cells: Vec<u64>,
    fair: Fair,
}

impl Meter {
    /// What the weeks of parallel switches serve of a demand, each once.
    ///
    /// # Panics
    /// Where a week is of other racks than the demand.
    pub fn served(&mut self, weeks: &[Week], demand: &Demand, terms: &Terms) -> Served {
        let racks = demand.racks();
        self.cells.clear();
        self.cells.resize(racks * racks, 0);
        for week in weeks {
            assert!(week.is_empty() || week.racks() == racks, "a week of other racks");
            for day in week.days() {
                for (src, dst) in day.circuits.pairs() {
                    self.cells[src * racks + dst] += day.length;
                }
            }
        }
        let mut served = Served { demand: demand.total(), ..Served::default() };
        for (cell, &bytes) in self.cells.iter_mut().zip(demand.cells()) {
            let carried = if *cell == 0 { 0 } else { bytes.min(terms.circuit_bytes(*cell)) };
            served.circuit = served.circuit.saturating_add(carried);
            *cell = bytes - carried;
        }
        self.fair.clip(racks, &mut self.cells, terms.packet_bytes(terms.week()));
        served.packet = self.cells.iter().fold(0, |sum, &cell| sum.saturating_add(cell));
        served
    }
}

/// What one week serves of a demand: [`Meter::served`] with memory of its own.
pub fn served(week: &Week, demand: &Demand, terms: &Terms) -> Served {
    Meter::default().served(std::slice::from_ref(week), demand, terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::Matching;
    use crate::terms::TermsSpec;

    /// 1 byte per ps over circuits, half of it over packets; a week of 100 ps.
    fn terms() -> Terms {
        let (circuit, packet) = (8_000_000_000_000, 4_000_000_000_000);
        let spec = TermsSpec { week: 100, night: 10, min_day: 20, circuit, packet };
        spec.build().expect("good terms")
    }

    #[test]
    fn circuits_come_first_and_packets_take_what_is_left() {
        let mut demand = Demand::new(3).expect("three racks");
        demand.set(0, 1, 95);
        demand.set(0, 2, 30);
        demand.set(2, 1, 20);
        let ring = Matching::new(&[Some(2), Some(0), Some(1)]).expect("a ring");
        let week = Week::new(100, &[(80, ring), (20, Matching::dark(3))]).expect("a week");
        // Left over: 15 and 30 from rack 0, of which 50 - 5 fit; 20 from rack 2, where 35 are for rack 1.
        let served = served(&week, &demand, &terms());
        assert_eq!(served, Served { demand: 145, circuit: 80, packet: 15 + 30 + 20 });
    }

    #[test]
    fn a_links_to_the_packet_switch_is_shared_alike() {
        let mut demand = Demand::new(3).expect("three racks");
        demand.set(0, 1, 90);
        demand.set(0, 2, 10);
        demand.set(2, 1, 90);
        let served = Meter::default().served(&[], &demand, &terms());
        // 40 and 10 from rack 0 would fit, but rack 1 takes 50 from two sources.
        assert_eq!(served, Served { demand: 190, circuit: 0, packet: 25 + 10 + 25 });
    }
}
