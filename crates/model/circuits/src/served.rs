//! The bytes that a week serves: the measure by which schedulers are compared.

use crate::circuit_timing::CircuitTiming;
use crate::demand::Demand;
use crate::max_min::MaxMinFair;
use crate::week::Week;

/// The bytes served in a week, in a fluid model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Served {
    /// The demand.
    pub demand: u64,
    /// The bytes that circuits carry.
    pub circuit: u64,
    /// The bytes that the packet switch carries.
    pub packet: u64,
}

impl Served {
    /// The bytes served by circuits and by the packet switch.
    pub fn total(&self) -> u64 {
        self.circuit.saturating_add(self.packet)
    }
    /// The share of the demand that is served, from 0 to 1. It is 1 if there is no demand.
    pub fn share(&self) -> f64 {
        if self.demand == 0 { 1.0 } else { self.total() as f64 / self.demand as f64 }
    }
}

/// Measures what weeks serve. It reuses its memory.
///
/// A circuit carries the demand of its pair at its rate while it exists. The packet switch carries what
/// circuits do not carry, clipped max-min fair to what each rack's link to the packet switch carries in a week,
/// in either direction. Both work at the same time and have no delay. The result is therefore an upper bound
/// for packets.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    /// The time that each pair has a circuit; later the demand that circuits do not carry.
    cells: Vec<u64>,
    max_min: MaxMinFair<u64>,
}

impl Meter {
    /// The bytes that the weeks of parallel switches serve. Each byte counts once.
    ///
    /// # Panics
    /// The weeks and the demand have different numbers of racks.
    pub fn served(&mut self, weeks: &[Week], demand: &Demand, timing: &CircuitTiming) -> Served {
        let racks = demand.racks();
        self.cells.clear();
        self.cells.resize(racks * racks, 0);
        for week in weeks {
            assert!(week.is_empty() || week.racks() == racks, "a week has another number of racks");
            for day in week.days() {
                for (src, dst) in day.circuits.pairs() {
                    self.cells[src * racks + dst] += day.length;
                }
            }
        }
        let mut served = Served { demand: demand.total(), ..Served::default() };
        for (cell, &bytes) in self.cells.iter_mut().zip(demand.cells()) {
            let carried = if *cell == 0 { 0 } else { bytes.min(timing.circuit_bytes(*cell)) };
            served.circuit = served.circuit.saturating_add(carried);
            *cell = bytes - carried;
        }
        self.max_min.clip(racks, &mut self.cells, timing.packet_bytes(timing.week()));
        served.packet = self.cells.iter().fold(0, |sum, &cell| sum.saturating_add(cell));
        served
    }
}

/// The bytes that one week serves: [`Meter::served`] for a single use.
pub fn served(week: &Week, demand: &Demand, timing: &CircuitTiming) -> Served {
    Meter::default().served(std::slice::from_ref(week), demand, timing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit_timing::CircuitTimingSpec;
    use crate::matching::Matching;

    /// Circuits carry 1 byte per ps, and packet links half of that. A week has 100 ps.
    fn timing() -> CircuitTiming {
        let (circuit, packet) = (8_000_000_000_000, 4_000_000_000_000);
        let spec = CircuitTimingSpec { week: 100, night: 10, min_day: 20, circuit, packet };
        spec.build().expect("valid timing")
    }

    #[test]
    fn circuits_come_first_and_packets_take_what_is_left() {
        let mut demand = Demand::new(3).expect("three racks");
        demand.set(0, 1, 95);
        demand.set(0, 2, 30);
        demand.set(2, 1, 20);
        let ring = Matching::new(&[Some(2), Some(0), Some(1)]).expect("a ring");
        let week = Week::new(100, &[(80, ring), (20, Matching::dark(3))]).expect("a week");
        // Circuits do not carry 15 and 30 of rack 0, of which 50 - 5 fit, and 20 of rack 2. Rack 1 can
        // receive 35.
        let served = served(&week, &demand, &timing());
        assert_eq!(served, Served { demand: 145, circuit: 80, packet: 15 + 30 + 20 });
    }

    #[test]
    fn a_links_to_the_packet_switch_is_shared_alike() {
        let mut demand = Demand::new(3).expect("three racks");
        demand.set(0, 1, 90);
        demand.set(0, 2, 10);
        demand.set(2, 1, 90);
        let served = Meter::default().served(&[], &demand, &timing());
        // Rack 0 could send 40 and 10, but rack 1 takes 50 from two sources.
        assert_eq!(served, Served { demand: 190, circuit: 0, packet: 25 + 10 + 25 });
    }
}
