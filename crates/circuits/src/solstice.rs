//! Solstice; rotates for now.

use crate::demand::Demand;
use crate::rotor::Rotor;
use crate::scheduler::{Note, Scheduler};
use crate::terms::Terms;
use crate::week::Week;

/// What Etalon adds to Solstice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SolsticeSpec {
    /// If any demand has so many bytes, those that have less are left to the packet switch.
    pub prefilter: Option<u64>,
    /// Demand is scaled up so that the largest row or column fills at least half of the week.
    pub inflate: bool,
}

/// Solstice; rotates for now.
#[derive(Clone, Debug)]
pub struct Solstice(Rotor, SolsticeSpec);

impl Solstice {
    /// For so many racks.
    pub fn new(racks: usize, terms: Terms, spec: SolsticeSpec) -> Solstice {
        Solstice(Rotor::new(racks, terms), spec)
    }
}

impl Scheduler for Solstice {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        self.0.week(demand, out);
        Note::Rotation
    }
}
