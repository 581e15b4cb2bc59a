//! The heaviest matching with a hold time; rotates for now.

use crate::demand::Demand;
use crate::rotor::Rotor;
use crate::scheduler::{Note, Scheduler};
use crate::terms::{Terms, TermsError};
use crate::week::Week;

/// The heaviest matching with a hold time; rotates for now.
#[derive(Clone, Debug)]
pub struct MaxWeight(Rotor);

impl MaxWeight {
    /// For so many racks; a day is as long as circuits are held, in picoseconds, or as long as the week allows.
    pub fn new(racks: usize, terms: Terms, hold: Option<u64>) -> Result<MaxWeight, TermsError> {
        let min_day = hold.unwrap_or(terms.week() - terms.night());
        let terms = crate::TermsSpec { min_day, ..terms.spec() }.build()?;
        Ok(MaxWeight(Rotor::new(racks, terms)))
    }
}

impl Scheduler for MaxWeight {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        self.0.week(demand, out);
        Note::Rotation
    }
}
