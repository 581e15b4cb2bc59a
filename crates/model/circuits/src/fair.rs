//! Max-min fair shares of rows and columns that can carry only so much.

/// Clips matrices to budgets of rows and columns; keeps its memory.
///
/// All open cells rise alike. A cell stops when it has all it wants, or when its row or column is full. Instead
/// of many small rises: the line that is full at the lowest level is found, and its cells stop there. A
/// line's level only rises while others stop, so one that was found earlier is a bound.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fair {
    lines: Vec<Line>,
    /// The overloaded lines that are not full yet.
    open: Vec<usize>,
    /// What the line at hand still has open.
    wanted: Vec<u64>,
}

/// Rows first, then columns.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    full: bool,
    /// What its stopped cells have.
    used: u64,
    /// It is full at this level or at a higher one.
    level: u64,
}

impl Fair {
    /// Clips cells, by row and column, so that no row and no column sums to more than the budget.
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
        // `used` holds the sums for a moment.
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
    /// The place in `open` of the line with the lowest level known.
    fn lowest(&self) -> Option<usize> {
        (0..self.open.len()).min_by_key(|&place| self.lines[self.open[place]].level)
    }
    /// The level at which a line is full; the highest one where it never is.
    fn level(&mut self, line: usize, size: usize, cells: &[u64], budget: u64) -> u64 {
        let lines = &self.lines;
        let open = cells_of(line, size).filter(|&(_, across)| !lines[across].full);
        self.wanted.clear();
        self.wanted.extend(open.map(|(cell, _)| cells[cell]));
        let rest = budget.saturating_sub(self.lines[line].used);
        let mut level = 0;
        loop {
            let (mut small, mut large) = (0_u64, 0);
            for &wanted in &self.wanted {
                if wanted <= level {
                    small += wanted;
                } else {
                    large += 1;
                }
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
            if !self.lines[across].full {
                cells[cell] = cells[cell].min(level);
                let used = &mut self.lines[across].used;
                *used = used.saturating_add(cells[cell]);
            }
        }
        self.lines[line].full = true;
    }
}

/// A line's cells, each with the line that crosses there.
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
        /// Max-min fair: who has less than it wants is in a full line, in which nobody has more.
        #[test]
        fn nobody_can_have_more_without_one_who_has_less((size, cells, budget) in matrices()) {
            let cells: Vec<u64> = cells.iter().map(|cell| cell * 1_000).collect();
            let budget = budget * 1_000;
            let mut clipped = cells.clone();
            Fair::default().clip(size, &mut clipped, budget);
            // A line wastes less than a unit per cell by rounding, and passes it on to others.
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
