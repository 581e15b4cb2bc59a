//! Our own; rotates for now.

use crate::demand::Demand;
use crate::rotor::Rotor;
use crate::scheduler::{Note, Scheduler};
use crate::terms::Terms;
use crate::week::Week;

/// Our own; rotates for now.
#[derive(Clone, Debug)]
pub struct Harvest(Rotor);

impl Harvest {
    /// For so many racks.
    pub fn new(racks: usize, terms: Terms) -> Harvest {
        Harvest(Rotor::new(racks, terms))
    }
}

impl Scheduler for Harvest {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        self.0.week(demand, out);
        Note::Rotation
    }
}
