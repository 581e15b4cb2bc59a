//! Max-min fair allocation to the cells of a matrix whose rows and columns have a limited sum.

/// Clips matrices max-min fair to a budget of each row and column. It reuses its memory.
///
/// The algorithm is progressive filling (Bertsekas and Gallager, Data Networks, 1992, §6.5.2): all cells rise
/// together, and a cell stops when it reaches its demand or when its row or column is full. It does not rise
/// in small steps. It finds the line that is full at the lowest level and stops the cells of that line. The
/// level of a line can only rise while other lines are filled, so that an earlier level is a lower bound.
#[derive(Clone, Debug, Default)]
pub(crate) struct MaxMinFair {
    lines: Vec<Line>,
    /// The overloaded lines that are not full yet.
    open: Vec<usize>,
    /// Whether each line is full.
    full: Vec<bool>,
}

/// A row or column. Rows come first, then columns.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// The sum of the cells that have stopped.
    used: u64,
    /// A lower bound of the level at which the line is full.
    level: u64,
}

impl MaxMinFair {
    /// Clips the cells so that no row and no column has a sum above the budget.
    pub fn clip(&mut self, size: usize, cells: &mut [u64], budget: u64) {
        self.find_overloaded(size, cells, budget);
        while let Some(place) = self.lowest() {
            let line = self.open[place];
            let level = self.level(line, size, cells, budget);
            if level > self.lines[line].level {
                self.lines[line].level = level;
            } else {
                self.open.swap_remove(place);
                self.fill(line, size, cells, level);
            }
        }
    }
    fn find_overloaded(&mut self, size: usize, cells: &[u64], budget: u64) {
        self.lines.clear();
        self.lines.resize(2 * size, Line::default());
        self.full.clear();
        self.full.resize(2 * size, false);
        // `used` temporarily has the sum of all cells.
        for (row, cells) in cells.chunks_exact(size).enumerate() {
            for (column, &cell) in cells.iter().enumerate() {
                self.lines[row].used = self.lines[row].used.saturating_add(cell);
                self.lines[size + column].used =
                    self.lines[size + column].used.saturating_add(cell);
            }
        }
        self.open.clear();
        self.open.extend((0..2 * size).filter(|&line| self.lines[line].used > budget));
        self.lines.iter_mut().for_each(|line| line.used = 0);
    }
    /// The place in `open` of the line with the lowest known level.
    fn lowest(&self) -> Option<usize> {
        (0..self.open.len()).min_by_key(|&place| self.lines[self.open[place]].level)
    }
    /// The level at which a line is full, or the maximum if it is never full. It rises from the known lower
    /// bound and ends at the same level whatever that bound is.
    fn level(&self, line: usize, size: usize, cells: &[u64], budget: u64) -> u64 {
        let rest = budget.saturating_sub(self.lines[line].used);
        let mut level = self.lines[line].level;
        loop {
            let (mut small, mut large) = (0_u64, 0);
            for (cell, across) in cells_of(line, size) {
                let demand = if self.full[across] { 0 } else { cells[cell] };
                small += if demand <= level { demand } else { 0 };
                large += u64::from(demand > level);
            }
            if large == 0 {
                return u64::MAX;
            }
            let higher = rest.saturating_sub(small) / large;
            if higher <= level {
                return level;
            }
            level = higher;
        }
    }
    /// Stops all open cells of a line at a level.
    fn fill(&mut self, line: usize, size: usize, cells: &mut [u64], level: u64) {
        for (cell, across) in cells_of(line, size) {
            if !self.full[across] {
                cells[cell] = cells[cell].min(level);
                let used = &mut self.lines[across].used;
                *used = used.saturating_add(cells[cell]);
            }
        }
        self.full[line] = true;
    }
}

/// The cells of a line, each with the line that crosses it.
fn cells_of(line: usize, size: usize) -> impl Iterator<Item = (usize, usize)> {
    let (first, step, across) =
        if line < size { (line * size, 1, size) } else { (line - size, size, 0) };
    (0..size).map(move |at| (first + at * step, across + at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
