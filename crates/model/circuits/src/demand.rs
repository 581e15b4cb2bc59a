//! What racks have to send to each other.

use std::fmt;

/// The most racks there can be: names of racks have 16 bits, and one value means dark.
pub const MAX_RACKS: usize = 4_096;

/// Bytes between each pair of racks. Traffic inside a rack needs no circuit: the diagonal is zero.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Demand {
    racks: usize,
    cells: Vec<u64>,
}

/// Why cells are no demand matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DemandError {
    /// Fewer than two racks, or more than [`MAX_RACKS`].
    Racks(usize),
    /// Not as many cells as there are pairs.
    Cells {
        /// Racks.
        racks: usize,
        /// Cells given.
        cells: usize,
    },
    /// A rack with demand to itself.
    Diagonal(usize),
}

impl fmt::Display for DemandError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match *self {
            DemandError::Racks(n) => write!(f, "{n} racks: there must be 2 to {MAX_RACKS}"),
            DemandError::Cells { racks, cells } => {
                write!(f, "{cells} cells: {racks} racks need {}", racks * racks)
            }
            DemandError::Diagonal(rack) => {
                write!(
                    f,
                    "rack {rack} has demand to itself: traffic inside a rack needs no circuit"
                )
            }
        }
    }
}

impl std::error::Error for DemandError {}

impl Demand {
    /// No demand between so many racks.
    pub fn new(racks: usize) -> Result<Demand, DemandError> {
        if !(2..=MAX_RACKS).contains(&racks) {
            return Err(DemandError::Racks(racks));
        }
        Ok(Demand { racks, cells: vec![0; racks * racks] })
    }
    /// From bytes by `source * racks + destination`.
    pub fn from_cells(racks: usize, cells: &[u64]) -> Result<Demand, DemandError> {
        let mut demand = Demand::new(racks)?;
        if cells.len() != racks * racks {
            return Err(DemandError::Cells { racks, cells: cells.len() });
        }
        if let Some(rack) = (0..racks).find(|rack| cells[rack * racks + rack] > 0) {
            return Err(DemandError::Diagonal(rack));
        }
        demand.cells.copy_from_slice(cells);
        Ok(demand)
    }
    /// Racks.
    pub fn racks(&self) -> usize {
        self.racks
    }
    /// Bytes from a rack to another.
    pub fn get(&self, src: usize, dst: usize) -> u64 {
        self.cells[src * self.racks + dst]
    }
    /// Sets the bytes from a rack to another. What a rack has for itself is not kept: it needs no circuit.
    pub fn set(&mut self, src: usize, dst: usize, bytes: u64) {
        if src != dst {
            self.cells[src * self.racks + dst] = bytes;
        }
    }
    /// Adds bytes from a rack to another, as [`Demand::set`] does.
    pub fn add(&mut self, src: usize, dst: usize, bytes: u64) {
        self.set(src, dst, self.get(src, dst).saturating_add(bytes));
    }
    /// Forgets all bytes.
    pub fn clear(&mut self) {
        self.cells.fill(0);
    }
    /// All bytes by `source * racks + destination`.
    pub fn cells(&self) -> &[u64] {
        &self.cells
    }
    /// Bytes from a rack to each.
    pub fn row(&self, src: usize) -> &[u64] {
        &self.cells[src * self.racks..(src + 1) * self.racks]
    }
    /// Bytes that a rack has to send.
    pub fn row_sum(&self, src: usize) -> u64 {
        self.row(src).iter().fold(0, |sum, &bytes| sum.saturating_add(bytes))
    }
    /// Bytes that are for a rack.
    pub fn column_sum(&self, dst: usize) -> u64 {
        (0..self.racks).fold(0, |sum, src| sum.saturating_add(self.get(src, dst)))
    }
    /// All bytes.
    pub fn total(&self) -> u64 {
        self.cells.iter().fold(0, |sum, &bytes| sum.saturating_add(bytes))
    }
    /// Copies another matrix into this one's memory.
    pub fn copy_from(&mut self, other: &Demand) {
        self.racks = other.racks;
        self.cells.clear();
        self.cells.extend_from_slice(&other.cells);
    }
}
