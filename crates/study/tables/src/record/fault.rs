//! Components that a central scheme has found to be faulty.

use super::NEVER;

/// A link or switch that was found to be faulty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FaultRow {
    /// Its name, as in the topology.
    pub name: String,
    /// Whether it is a switch; otherwise it is a link.
    pub switch: bool,
    /// When it was found, in picoseconds.
    pub found_ps: u64,
    /// When the first packets that avoid it could leave; [`NEVER`] if the run ended before.
    pub avoided_ps: u64,
    /// When it was used again; [`NEVER`] if it was not.
    pub cleared_ps: u64,
}

impl Default for FaultRow {
    fn default() -> FaultRow {
        let name = String::new();
        FaultRow { name, switch: false, found_ps: 0, avoided_ps: NEVER, cleared_ps: NEVER }
    }
}
