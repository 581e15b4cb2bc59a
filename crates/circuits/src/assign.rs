//! The heaviest matching of a dense matrix, exactly, from where an earlier one was.
//!
//! Shortest augmenting paths with prices of rows and columns (the Hungarian method as of Jonker and Volgenant,
//! Computing 1987). Prices `u`, `v` are such that `u[i] + v[j] >= w[i][j]`, and equal where a pair is matched;
//! then the matching is the heaviest, and the prices add up to its weight. Where weights only fall, prices
//! stay good, and only pairs that are not tight any more are matched anew.
//!
//! Weights are the cells of a matrix, cut at a cap: what circuits can carry in a day.

/// No partner.
pub(crate) const NONE: u16 = u16::MAX;
/// A column of the tree; far above any sum of prices and weights, which are below 2^28.
const HIDDEN: i32 = 1 << 30;
const CHOSEN: i32 = 1 << 29;

/// A perfect matching of the complete graph, in which pairs of weight zero are as good as none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Assignment {
    u: Vec<i32>,
    v: Vec<i32>,
    /// By row.
    columns: Vec<u16>,
    /// By column.
    rows: Vec<u16>,
}

/// The memory of a search for a path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Search {
    /// By column, how much prices must move until it is tight with a row of the tree.
    slack: Vec<i32>,
    /// By column, that row.
    from: Vec<i32>,
    /// Prices of columns, hidden in the tree.
    open: Vec<i32>,
    /// The columns of the tree with their distances.
    tree: Vec<(usize, i32)>,
    /// Rows to be matched.
    loose: Vec<usize>,
    /// Cells looked at.
    pub work: u64,
}

/// A square matrix of weights that are cut at a cap.
#[derive(Clone, Copy)]
pub(crate) struct Weights<'a> {
    pub size: usize,
    pub cells: &'a [i32],
    pub cap: i32,
}

impl<'a> Weights<'a> {
    fn row(self, row: usize) -> &'a [i32] {
        &self.cells[row * self.size..(row + 1) * self.size]
    }
    fn at(self, row: usize, column: usize) -> i32 {
        self.cells[row * self.size + column].min(self.cap)
    }
}

impl Assignment {
    /// The heaviest matching from nothing.
    pub fn solve(&mut self, weights: Weights, search: &mut Search) {
        for prices in [&mut self.u, &mut self.v] {
            prices.clear();
            prices.resize(weights.size, 0);
        }
        for partners in [&mut self.rows, &mut self.columns] {
            partners.clear();
            partners.resize(weights.size, NONE);
        }
        self.renew(weights, search);
    }
    /// The heaviest matching, from the prices of other weights.
    pub fn renew(&mut self, weights: Weights, search: &mut Search) {
        search.work += (weights.size * weights.size) as u64;
        for row in 0..weights.size {
            let (cells, v) = (weights.row(row), &self.v[..weights.size]);
            let highest = cells.iter().zip(v).map(|(&cell, &v)| cell.min(weights.cap) - v).max();
            self.u[row] = highest.unwrap_or(0);
        }
        self.loosen(weights, search);
        search.loose.retain(|&row| {
            let free = self.tight_and_free(weights, row);
            free.inspect(|&column| self.marry(row, column)).is_none()
        });
        self.augment_all(weights, search);
    }
    /// The heaviest matching, where no weight is higher than before.
    pub fn resume(&mut self, weights: Weights, search: &mut Search) {
        self.loosen(weights, search);
        self.augment_all(weights, search);
    }
    /// By row, its column.
    pub fn columns(&self) -> &[u16] {
        &self.columns
    }
    /// The weight of the matching.
    pub fn value(&self) -> i64 {
        self.u.iter().chain(&self.v).map(|&price| i64::from(price)).sum()
    }
    /// Copies another assignment into this one's memory.
    pub fn copy_from(&mut self, other: &Assignment) {
        self.u.clone_from(&other.u);
        self.v.clone_from(&other.v);
        self.columns.clone_from(&other.columns);
        self.rows.clone_from(&other.rows);
    }
    fn marry(&mut self, row: usize, column: usize) {
        self.columns[row] = column as u16;
        self.rows[column] = row as u16;
    }
    /// Parts all pairs that are not tight; all rows without a column are loose.
    fn loosen(&mut self, weights: Weights, search: &mut Search) {
        search.loose.clear();
        for row in 0..weights.size {
            let column = self.columns[row];
            if column != NONE {
                let column = usize::from(column);
                if self.u[row] + self.v[column] == weights.at(row, column) {
                    continue;
                }
                self.columns[row] = NONE;
                self.rows[column] = NONE;
            }
            search.loose.push(row);
        }
    }
    fn tight_and_free(&self, weights: Weights, row: usize) -> Option<usize> {
        let tight = |&column: &usize| self.u[row] + self.v[column] == weights.at(row, column);
        (0..weights.size).filter(|&column| self.rows[column] == NONE).find(tight)
    }
    fn augment_all(&mut self, weights: Weights, search: &mut Search) {
        while let Some(row) = search.loose.pop() {
            self.augment(row, weights, search);
        }
    }
    /// Finds the free column that is nearest to a row, moves prices so that the way there is tight, and matches
    /// along it.
    fn augment(&mut self, root: usize, weights: Weights, search: &mut Search) {
        search.begin(weights.size, &self.v);
        let (mut row, mut distance) = (root, 0);
        let column = loop {
            let lowest = search.look(row, distance + self.u[row], weights);
            let column = search.nearest(lowest, &self.rows);
            distance = lowest;
            if self.rows[column] == NONE {
                break column;
            }
            search.hide(column, distance);
            row = self.rows[column].into();
        };
        self.u[root] -= distance;
        for &(column, at) in &search.tree {
            self.v[column] += distance - at;
            self.u[usize::from(self.rows[column])] -= distance - at;
        }
        self.flip(root, column, &search.from);
    }
    /// Matches along the way that leads to a column.
    fn flip(&mut self, root: usize, mut column: usize, from: &[i32]) {
        loop {
            let row = from[column] as usize;
            let next = self.columns[row];
            self.marry(row, column);
            if row == root {
                return;
            }
            column = next.into();
        }
    }
}

impl Search {
    fn begin(&mut self, size: usize, v: &[i32]) {
        self.slack.clear();
        self.slack.resize(size, CHOSEN);
        self.from.resize(size, 0);
        self.open.clear();
        self.open.extend_from_slice(v);
        self.tree.clear();
    }
    /// Looks from a row of the tree at all columns outside it; returns the lowest slack there.
    fn look(&mut self, row: usize, base: i32, weights: Weights) -> i32 {
        self.work += weights.size as u64;
        let (cells, cap) = (weights.row(row), weights.cap);
        let size = cells.len();
        let (slack, from, open) =
            (&mut self.slack[..size], &mut self.from[..size], &self.open[..size]);
        let mut lowest = CHOSEN;
        for column in 0..size {
            let reached = base + open[column] - cells[column].min(cap);
            let nearer = reached < slack[column];
            from[column] = if nearer { row as i32 } else { from[column] };
            slack[column] = if nearer { reached } else { slack[column] };
            lowest = lowest.min(slack[column]);
        }
        lowest
    }
    /// A column with that slack, a free one if there is any.
    fn nearest(&self, lowest: i32, rows: &[u16]) -> usize {
        let mut taken = 0;
        for (column, (&slack, &row)) in self.slack.iter().zip(rows).enumerate() {
            if slack == lowest {
                if row == NONE {
                    return column;
                }
                taken = column;
            }
        }
        taken
    }
    /// Takes a column into the tree.
    fn hide(&mut self, column: usize, distance: i32) {
        self.open[column] = HIDDEN;
        self.slack[column] = CHOSEN;
        self.tree.push((column, distance));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The heaviest of all permutations.
    fn brute(weights: Weights, row: usize, taken: u32) -> i64 {
        let open = (0..weights.size).filter(|column| taken >> column & 1 == 0);
        let from = |column: usize| {
            i64::from(weights.at(row, column)) + brute(weights, row + 1, taken | 1 << column)
        };
        open.map(from).max().unwrap_or(0)
    }

    fn weight(assignment: &Assignment, weights: Weights) -> i64 {
        let columns = assignment.columns().iter().enumerate();
        columns.map(|(row, &column)| i64::from(weights.at(row, column.into()))).sum()
    }

    /// The proof of optimality that the prices are.
    fn is_proved(assignment: &Assignment, weights: Weights) -> bool {
        let pairs =
            (0..weights.size * weights.size).map(|at| (at / weights.size, at % weights.size));
        let mut pairs = pairs.map(|(row, column)| {
            assignment.u[row] + assignment.v[column] >= weights.at(row, column)
        });
        pairs.all(|good| good) && assignment.value() == weight(assignment, weights)
    }

    fn matrices(most: usize) -> impl Strategy<Value = (usize, Vec<i32>)> {
        (1..most).prop_flat_map(|size| {
            let cell = prop_oneof![Just(0), 0..30, 0..1 << 26];
            (Just(size), proptest::collection::vec(cell, size * size))
        })
    }

    proptest! {
        #[test]
        fn it_is_the_heaviest((size, cells) in matrices(7), caps in proptest::collection::vec(1..1 << 26, 3)) {
            let (mut assignment, mut search) = (Assignment::default(), Search::default());
            for (turn, cap) in caps.into_iter().enumerate() {
                let weights = Weights { size, cells: &cells, cap };
                match turn {
                    0 => assignment.solve(weights, &mut search),
                    _ => assignment.renew(weights, &mut search),
                }
                prop_assert!(is_proved(&assignment, weights));
                prop_assert_eq!(assignment.value(), brute(weights, 0, 0));
            }
        }

        #[test]
        fn it_goes_on_where_weights_fall((size, mut cells) in matrices(40), falls in proptest::collection::vec((any::<u32>(), 0..1 << 26), 60)) {
            let (mut assignment, mut search) = (Assignment::default(), Search::default());
            let cap = 1 << 25;
            assignment.solve(Weights { size, cells: &cells, cap }, &mut search);
            for falls in falls.chunks(20) {
                for &(at, by) in falls as &[(u32, i32)] {
                    let cell = &mut cells[at as usize % (size * size)];
                    *cell = (*cell - by).max(0);
                }
                let weights = Weights { size, cells: &cells, cap };
                assignment.resume(weights, &mut search);
                prop_assert!(is_proved(&assignment, weights));
            }
        }
    }
}
