//! The demand matrix: the bytes that each rack has for each other rack.

use std::fmt;

/// The largest number of racks. Rack numbers have 16 bits, and the largest values are reserved.
pub const MAX_RACKS: usize = 4_096;

/// The demand in bytes between each pair of racks. The diagonal is zero, because traffic within a rack needs
/// no circuit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Demand {
    racks: usize,
    cells: Vec<u64>,
}

/// An error in the cells of a demand matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DemandError {
    /// There are fewer than two racks, or more than [`MAX_RACKS`].
    Racks(usize),
    /// The number of cells is not the number of racks squared.
    Cells {
        /// The number of racks.
        racks: usize,
        /// The number of cells given.
        cells: usize,
    },
    /// This rack has demand for itself.
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
    /// A matrix of zero demand.
    ///
    /// # Errors
    /// There are fewer than two racks, or more than [`MAX_RACKS`].
    pub fn new(racks: usize) -> Result<Demand, DemandError> {
        if !(2..=MAX_RACKS).contains(&racks) {
            return Err(DemandError::Racks(racks));
        }
        Ok(Demand { racks, cells: vec![0; racks * racks] })
    }
    /// A matrix from its cells, ordered by `source * racks + destination`.
    ///
    /// # Errors
    /// See [`DemandError`].
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
    /// The number of racks.
    pub fn racks(&self) -> usize {
        self.racks
    }
    /// The bytes from rack `src` to rack `dst`.
    pub fn get(&self, src: usize, dst: usize) -> u64 {
        self.cells[src * self.racks + dst]
    }
    /// Sets the bytes from rack `src` to rack `dst`. It ignores demand of a rack for itself.
    pub fn set(&mut self, src: usize, dst: usize, bytes: u64) {
        if src != dst {
            self.cells[src * self.racks + dst] = bytes;
        }
    }
    /// Adds to the bytes from rack `src` to rack `dst`. It ignores demand of a rack for itself.
    pub fn add(&mut self, src: usize, dst: usize, bytes: u64) {
        self.set(src, dst, self.get(src, dst).saturating_add(bytes));
    }
    /// Sets all demand to zero.
    pub fn clear(&mut self) {
        self.cells.fill(0);
    }
    /// The bytes of all pairs, ordered by `source * racks + destination`.
    pub fn cells(&self) -> &[u64] {
        &self.cells
    }
    /// The bytes from rack `src` to each rack.
    pub fn row(&self, src: usize) -> &[u64] {
        &self.cells[src * self.racks..(src + 1) * self.racks]
    }
    /// The bytes that rack `src` has to send.
    pub fn row_sum(&self, src: usize) -> u64 {
        self.row(src).iter().fold(0, |sum, &bytes| sum.saturating_add(bytes))
    }
    /// The bytes that rack `dst` is to receive.
    pub fn column_sum(&self, dst: usize) -> u64 {
        (0..self.racks).fold(0, |sum, src| sum.saturating_add(self.get(src, dst)))
    }
    /// The bytes of all pairs.
    pub fn total(&self) -> u64 {
        self.cells.iter().fold(0, |sum, &bytes| sum.saturating_add(bytes))
    }
    /// Copies another matrix and reuses the memory of this one.
    pub fn copy_from(&mut self, other: &Demand) {
        self.racks = other.racks;
        self.cells.clear();
        self.cells.extend_from_slice(&other.cells);
    }
}
