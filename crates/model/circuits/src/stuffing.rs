//! Stuffing: raising the cells of a matrix until all rows and columns have the same sum. Only such matrices
//! are sums of permutations.

/// Stuffs matrices. It reuses its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stuffing {
    /// The deficit of each row and of each column to the largest sum.
    rows: Vec<i64>,
    columns: Vec<i64>,
}

impl Stuffing {
    /// Returns the largest sum of a row or column, and stores the deficit of each line to it.
    pub fn measure(&mut self, size: usize, cells: &[i32]) -> i64 {
        self.rows.clear();
        self.columns.clear();
        self.columns.resize(size, 0);
        for row in cells.chunks_exact(size) {
            let mut sum = 0;
            for (column, &cell) in self.columns.iter_mut().zip(row) {
                *column += i64::from(cell);
                sum += i64::from(cell);
            }
            self.rows.push(sum);
        }
        let largest = self.rows.iter().chain(&self.columns).copied().max().unwrap_or(0);
        let lines = self.rows.iter_mut().chain(&mut self.columns);
        lines.for_each(|line| *line = largest - *line);
        largest
    }
    /// Raises cells until all rows and columns have the largest sum. The cells are those of the last
    /// [`Stuffing::measure`]. Cells above zero are raised first, so that few new cells appear, then any cells.
    ///
    /// Source: Solstice (Liu et al., CoNEXT 2015, §4, QuickStuff).
    pub fn stuff(&mut self, size: usize, cells: &mut [i32]) {
        for (row, cells) in cells.chunks_exact_mut(size).enumerate() {
            if self.rows[row] > 0 {
                self.raise_row(row, cells);
            }
        }
        self.raise_anywhere(size, cells);
    }
    fn raise_row(&mut self, row: usize, cells: &mut [i32]) {
        let mut deficit = self.rows[row];
        for (cell, column) in cells.iter_mut().zip(&mut self.columns) {
            if deficit == 0 {
                break;
            }
            if *cell > 0 {
                let by = deficit.min(*column);
                *cell += by as i32;
                *column -= by;
                deficit -= by;
            }
        }
        self.rows[row] = deficit;
    }
    /// The deficits of rows and of columns have the same sum. Each step makes the deficit of one line zero.
    fn raise_anywhere(&mut self, size: usize, cells: &mut [i32]) {
        let (mut row, mut column) = (0, 0);
        while row < size && column < size {
            let by = self.rows[row].min(self.columns[column]);
            if by > 0 {
                cells[row * size + column] += by as i32;
                self.rows[row] -= by;
                self.columns[column] -= by;
            }
            if self.rows[row] == 0 {
                row += 1;
            } else {
                column += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_lines_are_equal_and_no_cell_is_lower(
            size in 1_usize..9,
            cells in proptest::collection::vec(prop_oneof![Just(0), 0..1000], 64),
        ) {
            let cells = &cells[..size * size];
            let mut stuffed = cells.to_vec();
            let mut stuffing = Stuffing::default();
            let largest = stuffing.measure(size, &stuffed);
            stuffing.stuff(size, &mut stuffed);
            prop_assert!(cells.iter().zip(&stuffed).all(|(before, after)| before <= after));
            let sum = |line: Vec<i32>| line.into_iter().map(i64::from).sum::<i64>();
            let row = |at: usize| stuffed[at * size..(at + 1) * size].to_vec();
            let column = |at: usize| stuffed.iter().skip(at).step_by(size).copied().collect();
            prop_assert!((0..size).all(|at| sum(row(at)) == largest && sum(column(at)) == largest));
            let before = |from: usize, step, count| cells.iter().skip(from).step_by(step).take(count);
            let lines = (0..size).map(|at| before(at * size, 1, size)).map(|line| line.sum::<i32>());
            let columns = (0..size).map(|at| before(at, size, size)).map(|line| line.sum::<i32>());
            prop_assert_eq!(lines.chain(columns).max().map(i64::from), Some(largest));
        }
    }
}
