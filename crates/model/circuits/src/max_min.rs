//! Max-min fair allocation to the cells of a matrix whose rows and columns have a limited sum.

use std::ops::AddAssign;

/// The number of columns that are transposed at once, so that few lines of memory are in use.
const BLOCK: usize = 8;

/// A number that cells can hold: 32 bits are faster, because more of them fit into a register.
pub(crate) trait Amount:
    Copy + Ord + Default + AddAssign + From<bool> + Into<u64> + TryFrom<u64>
{
    /// The largest number.
    const MAX: Self;
    /// Adds the number to a sum. A sum of 64-bit numbers saturates; there are too few racks for a sum of
    /// 32-bit numbers to overflow.
    fn add_to(self, sum: &mut u64);
}

impl Amount for u32 {
    const MAX: u32 = u32::MAX;
    fn add_to(self, sum: &mut u64) {
        *sum += u64::from(self);
    }
}

impl Amount for u64 {
    const MAX: u64 = u64::MAX;
    fn add_to(self, sum: &mut u64) {
        *sum = sum.saturating_add(self);
    }
}

/// Clips matrices max-min fair to a budget of each row and column. It reuses its memory.
///
/// The algorithm is progressive filling (Bertsekas and Gallager, Data Networks, 1992, §6.5.2): all cells rise
/// together, and a cell stops when it reaches its demand or when its row or column is full. It does not rise
/// in small steps. It finds the line that is full at the lowest level and stops the cells of that line. The
/// level of a line can only rise while other lines are filled, so that an earlier level is a lower bound.
#[derive(Clone, Debug, Default)]
pub(crate) struct MaxMinFair<T> {
    /// The sum of the cells that have stopped, by line. Rows come first, then columns.
    used: Vec<u64>,
    /// The overloaded lines that are not full yet.
    open: Vec<usize>,
    /// A lower bound of the level at which each open line is full.
    levels: Vec<T>,
    /// The demand of the cells of each line, without those that have stopped.
    demands: Vec<T>,
}

impl<T: Amount> MaxMinFair<T> {
    /// Clips the cells so that no row and no column has a sum above the budget, which is below the largest
    /// number.
    pub fn clip(&mut self, size: usize, cells: &mut [T], budget: u64) {
        self.find_overloaded(size, cells, budget);
        if self.open.is_empty() {
            return;
        }
        self.load(size, cells);
        for place in 0..self.open.len() {
            self.levels[place] = self.level(self.open[place], size, T::default(), budget);
        }
        while let Some(place) = self.lowest() {
            let line = self.open[place];
            let level = self.level(line, size, self.levels[place], budget);
            if level > self.levels[place] {
                self.levels[place] = level;
            } else {
                self.open.swap_remove(place);
                self.levels.swap_remove(place);
                self.fill(line, size, cells, level);
            }
        }
    }
    fn find_overloaded(&mut self, size: usize, cells: &[T], budget: u64) {
        // `used` temporarily has the sum of all cells.
        self.used.clear();
        self.used.resize(2 * size, 0);
        let (rows, columns) = self.used.split_at_mut(size);
        for (row, cells) in rows.iter_mut().zip(cells.chunks_exact(size)) {
            for (column, &cell) in columns.iter_mut().zip(cells) {
                cell.add_to(row);
                cell.add_to(column);
            }
        }
        self.open.clear();
        self.open.extend((0..2 * size).filter(|&line| self.used[line] > budget));
        self.levels.clear();
        self.levels.resize(self.open.len(), T::default());
        self.used.fill(0);
    }
    /// Loads the cells row by row, and column by column where a column is overloaded.
    fn load(&mut self, size: usize, cells: &[T]) {
        self.demands.clear();
        self.demands.extend_from_slice(cells);
        self.demands.resize(2 * size * size, T::default());
        let columns = &mut self.demands[size * size..];
        for (block, columns) in columns.chunks_mut(BLOCK * size).enumerate() {
            let first = size + block * BLOCK;
            if !self.open.iter().any(|line| (first..first + BLOCK).contains(line)) {
                continue;
            }
            for (row, cells) in cells.chunks_exact(size).enumerate() {
                let columns = columns[row..].iter_mut().step_by(size);
                columns.zip(&cells[block * BLOCK..]).for_each(|(column, &cell)| *column = cell);
            }
        }
    }
    /// The place in `open` of the line with the lowest known level.
    fn lowest(&self) -> Option<usize> {
        let lowest = self.levels.iter().copied().fold(T::MAX, T::min);
        self.levels.iter().position(|&level| level == lowest)
    }
    /// The level at which a line is full, or the maximum if it is never full. It rises from the known lower
    /// bound and ends at the same level whatever that bound is.
    fn level(&self, line: usize, size: usize, mut level: T, budget: u64) -> T {
        let rest = budget.saturating_sub(self.used[line]);
        let demands = &self.demands[line * size..(line + 1) * size];
        loop {
            // The demands up to the level fit into the budget.
            let (mut small, mut large) = (T::default(), T::default());
            for &demand in demands {
                small += if demand <= level { demand } else { T::default() };
                large += T::from(demand > level);
            }
            if large == T::default() {
                return T::MAX;
            }
            let higher = rest.saturating_sub(small.into()) / large.into();
            let higher = T::try_from(higher).unwrap_or(T::MAX);
            if higher <= level {
                return level;
            }
            level = higher;
        }
    }
    /// Stops all open cells of a line at a level.
    fn fill(&mut self, line: usize, size: usize, cells: &mut [T], level: T) {
        let (first, step, across) =
            if line < size { (line * size, 1, size) } else { (line - size, size, 0) };
        let place = if line < size { line } else { line - size };
        let cells = cells[first..].iter_mut().step_by(step);
        for (at, cell) in cells.take(size).enumerate() {
            let demand = self.demands[line * size + at];
            // It is zero if the cell has stopped.
            if demand > T::default() {
                *cell = level.min(demand);
                cell.add_to(&mut self.used[across + at]);
                self.demands[(across + at) * size + place] = T::default();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cells_of(line: usize, size: usize) -> impl Iterator<Item = (usize, usize)> {
        let (first, step, across) =
            if line < size { (line * size, 1, size) } else { (line - size, size, 0) };
        (0..size).map(move |at| (first + at * step, across + at))
    }

    fn sum(size: usize, cells: &[u64], line: usize) -> u64 {
        cells_of(line, size).map(|(at, _)| cells[at]).sum()
    }

    fn matrices() -> impl Strategy<Value = (usize, Vec<u64>, u64)> {
        (1_usize..7).prop_flat_map(|size| {
            let cells = proptest::collection::vec(prop_oneof![Just(0), 0_u64..60], size * size);
            (Just(size), cells, 0_u64..120)
        })
    }

    proptest! {
        /// Max-min fairness: a cell below its demand is in a full line in which no cell has more.
        #[test]
        fn no_share_can_grow_without_a_smaller_one((size, cells, budget) in matrices()) {
            let cells: Vec<u64> = cells.iter().map(|cell| cell * 1_000).collect();
            let budget = budget * 1_000;
            let mut clipped = cells.clone();
            MaxMinFair::default().clip(size, &mut clipped, budget);
            let mut narrow: Vec<u32> = cells.iter().map(|&cell| cell as u32).collect();
            MaxMinFair::default().clip(size, &mut narrow, budget);
            prop_assert!(narrow.iter().zip(&clipped).all(|(&a, &b)| u64::from(a) == b));
            // Rounding wastes less than a unit per cell in a line, and other lines can gain it.
            let slack = (size * size) as u64;
            prop_assert!((0..2 * size).all(|line| sum(size, &clipped, line) <= budget));
            for at in 0..size * size {
                let bound = [at / size, size + at % size].into_iter().any(|line| {
                    let full = sum(size, &clipped, line) + slack >= budget;
                    let others = cells_of(line, size).map(|(other, _)| clipped[other]);
                    full && others.max() <= Some(clipped[at] + slack)
                });
                prop_assert!(clipped[at] == cells[at] || clipped[at] < cells[at] && bound);
            }
        }
    }
}
