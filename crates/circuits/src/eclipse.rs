//! Eclipse; rotates for now.

use crate::demand::Demand;
use crate::rotor::Rotor;
use crate::scheduler::{Note, Scheduler};
use crate::terms::Terms;
use crate::week::Week;

/// Eclipse; rotates for now.
#[derive(Clone, Debug)]
pub struct Eclipse(Rotor);

impl Eclipse {
    /// For so many racks.
    pub fn new(racks: usize, terms: Terms) -> Eclipse {
        Eclipse(Rotor::new(racks, terms))
    }
}

impl Scheduler for Eclipse {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        self.0.week(demand, out);
        Note::Rotation
    }
}
