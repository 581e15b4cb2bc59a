//! Birkhoff-von Neumann; rotates for now.

use crate::demand::Demand;
use crate::rotor::Rotor;
use crate::scheduler::{Note, Scheduler};
use crate::terms::Terms;
use crate::week::Week;

/// Birkhoff-von Neumann; rotates for now.
#[derive(Clone, Debug)]
pub struct Bvn(Rotor);

impl Bvn {
    /// For so many racks.
    pub fn new(racks: usize, terms: Terms) -> Bvn {
        Bvn(Rotor::new(racks, terms))
    }
}

impl Scheduler for Bvn {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        self.0.week(demand, out);
        Note::Rotation
    }
}
