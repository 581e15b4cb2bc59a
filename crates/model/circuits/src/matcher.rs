//! Perfect matchings in graphs kept as bits, from where an earlier one was.
//!
//! A free row takes a free neighbour if it has one. Else the shortest augmenting path is searched breadth
//! first, 64 columns at a time; each column is seen once, so a search takes `rows * rows / 64` words at most.
//! The first row from which no path leads anywhere shows that there is no perfect matching.

use crate::wants::NONE;

/// A bipartite graph: by row, the columns it may have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    size: usize,
    words: usize,
    bits: Vec<u64>,
}

impl Graph {
    /// All cells that are at least this high.
    pub fn at_least(&mut self, size: usize, cells: &[i32], least: i32) {
        self.size = size;
        self.words = size.div_ceil(64);
        self.bits.clear();
        for row in cells.chunks_exact(size) {
            for part in row.chunks(64) {
                self.bits.push(bits(part, least));
            }
        }
    }
    fn row(&self, row: usize) -> &[u64] {
        &self.bits[row * self.words..(row + 1) * self.words]
    }
    fn has(&self, row: usize, column: usize) -> bool {
        self.bits[row * self.words + column / 64] >> (column % 64) & 1 == 1
    }
    pub fn remove(&mut self, row: usize, column: usize) {
        self.bits[row * self.words + column / 64] &= !(1 << (column % 64));
    }
}

/// Which of up to 64 cells are high enough. Eight at a time, so that the compiler makes vectors of it.
fn bits(cells: &[i32], least: i32) -> u64 {
    let byte = |cells: &[i32]| {
        let high = cells.iter().zip(0..).map(|(&cell, at)| u32::from(cell >= least) << at);
        u64::from(high.fold(0, |all, bit: u32| all | bit))
    };
    let bytes = cells.chunks(8).enumerate();
    bytes.fold(0, |all, (at, cells)| all | byte(cells) << (8 * at))
}

/// A matching, and the memory of the search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matcher {
    /// By row.
    columns: Vec<u16>,
    /// By column.
    rows: Vec<u16>,
    /// The columns without a row.
    free: Vec<u64>,
    /// By row, where to look first: behind its last column, so that equal rows go round.
    hints: Vec<u16>,
    /// Rows without a column.
    loose: Vec<u16>,
    unseen: Vec<u64>,
    queue: Vec<u16>,
    /// By column, the row from which it was seen.
    from: Vec<u16>,
}

impl Matcher {
    /// Nobody is matched.
    pub fn begin(&mut self, size: usize) {
        for side in [&mut self.columns, &mut self.rows, &mut self.from] {
            side.clear();
            side.resize(size, NONE);
        }
        self.hints.clear();
        self.hints.extend((0..size).map(|row| ((row + 1) % size) as u16));
        self.loose.clear();
        self.loose.extend((0..size as u16).rev());
        self.free.clear();
        self.free.resize(size.div_ceil(64), u64::MAX);
        if !size.is_multiple_of(64) {
            self.free[size / 64] = (1 << (size % 64)) - 1;
        }
    }
    /// By row, its column.
    pub fn columns(&self) -> &[u16] {
        &self.columns
    }
    /// Parts a row from its column.
    pub fn part(&mut self, row: usize) {
        let column = usize::from(std::mem::replace(&mut self.columns[row], NONE));
        self.rows[column] = NONE;
        self.free[column / 64] |= 1 << (column % 64);
        self.loose.push(row as u16);
    }
    /// Parts all pairs that are not in the graph.
    pub fn part_all_outside(&mut self, graph: &Graph) {
        for row in 0..graph.size {
            let column = self.columns[row];
            if column != NONE && !graph.has(row, column.into()) {
                self.part(row);
            }
        }
    }
    /// Matches all rows, or shows that it cannot be. All pairs must be in the graph.
    pub fn perfect(&mut self, graph: &Graph) -> bool {
        while let Some(&row) = self.loose.last() {
            if !self.take_free(row.into(), graph) && !self.augment(row, graph) {
                return false;
            }
            self.loose.pop();
        }
        true
    }
    fn marry(&mut self, row: usize, column: usize) {
        self.columns[row] = column as u16;
        self.rows[column] = row as u16;
        self.hints[row] = if column + 1 < self.rows.len() { column as u16 + 1 } else { 0 };
    }
    /// A free neighbour, the first one from the row's hint on.
    fn take_free(&mut self, row: usize, graph: &Graph) -> bool {
        let open = |word: usize| graph.bits[row * graph.words + word] & self.free[word];
        let hint = usize::from(self.hints[row]);
        let (first, behind) = (hint / 64, u64::MAX << (hint % 64));
        let after = (first + 1..graph.words).chain(0..first);
        let words = after.map(|word| (word, open(word)));
        let mut all = std::iter::once((first, open(first) & behind))
            .chain(words)
            .chain(std::iter::once((first, open(first))));
        let Some((word, bits)) = all.find(|(_, bits)| *bits != 0) else { return false };
        let column = word * 64 + bits.trailing_zeros() as usize;
        self.free[word] &= !(1 << (column % 64));
        self.marry(row, column);
        true
    }
    /// The shortest path from a row to a free column; matches along it.
    fn augment(&mut self, root: u16, graph: &Graph) -> bool {
        self.unseen.clear();
        self.unseen.resize(graph.words, u64::MAX);
        self.search(root, graph)
    }
    /// The same, but through columns that were not seen yet; after a success those seen on the way are unseen again.
    fn search(&mut self, root: u16, graph: &Graph) -> bool {
        self.queue.clear();
        self.queue.push(root);
        let mut at = 0;
        while at < self.queue.len() {
            let row = self.queue[at];
            at += 1;
            if let Some(column) = self.look(row, graph) {
                self.free[column / 64] &= !(1 << (column % 64));
                for &row in &self.queue[1..] {
                    let seen = usize::from(self.columns[usize::from(row)]);
                    self.unseen[seen / 64] |= 1 << (seen % 64);
                }
                self.flip(root, row, column);
                return true;
            }
        }
        false
    }
    /// A free neighbour; else all neighbours not seen yet are, and the rows they belong to come next.
    fn look(&mut self, row: u16, graph: &Graph) -> Option<usize> {
        let cells = graph.row(row.into());
        let free = cells.iter().zip(&self.free).position(|(cells, free)| cells & free != 0);
        if let Some(word) = free {
            return Some(word * 64 + (cells[word] & self.free[word]).trailing_zeros() as usize);
        }
        for (word, &cells) in cells.iter().enumerate() {
            let mut new = cells & self.unseen[word];
            self.unseen[word] &= !new;
            while new != 0 {
                let column = word * 64 + new.trailing_zeros() as usize;
                new &= new - 1;
                self.from[column] = row;
                self.queue.push(self.rows[column]);
            }
        }
        None
    }
    fn flip(&mut self, root: u16, mut row: u16, mut column: usize) {
        loop {
            let before = self.columns[usize::from(row)];
            self.marry(row.into(), column);
            if row == root {
                return;
            }
            column = before.into();
            row = self.from[column];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Whether rows from `row` on can be matched.
    fn brute(size: usize, cells: &[i32], row: usize, taken: u32) -> bool {
        let open = |&column: &usize| taken >> column & 1 == 0 && cells[row * size + column] > 0;
        row == size
            || (0..size).filter(open).any(|column| brute(size, cells, row + 1, taken | 1 << column))
    }

    fn valid(matcher: &Matcher, graph: &Graph) -> bool {
        let mut seen = vec![false; graph.size];
        matcher.columns().iter().enumerate().all(|(row, &column)| {
            let column = usize::from(column);
            graph.has(row, column) && !std::mem::replace(&mut seen[column], true)
        })
    }

    proptest! {
        #[test]
        fn a_perfect_matching_is_found_if_there_is_one(
            size in 1_usize..8,
            cells in proptest::collection::vec(0..3, 64),
        ) {
            let cells: Vec<i32> = cells[..size * size].iter().map(|&cell| cell / 2).collect();
            let (mut graph, mut matcher) = (Graph::default(), Matcher::default());
            graph.at_least(size, &cells, 1);
            matcher.begin(size);
            let found = matcher.perfect(&graph);
            prop_assert_eq!(found, brute(size, &cells, 0, 0));
            prop_assert!(!found || valid(&matcher, &graph));
        }

        /// A sum of so many permutations has at least as many perfect matchings one after another.
        #[test]
        fn a_regular_graph_is_taken_apart(size in 1_usize..150, degree in 1_usize..9) {
            let mut cells = vec![0; size * size];
            for row in 0..size {
                (0..degree.min(size)).for_each(|by| cells[row * size + (row * 7 + by) % size] = 1);
            }
            if !size.is_multiple_of(7) {
                let (mut graph, mut matcher) = (Graph::default(), Matcher::default());
                graph.at_least(size, &cells, 1);
                matcher.begin(size);
                for _ in 0..degree.min(size) {
                    prop_assert!(matcher.perfect(&graph) && valid(&matcher, &graph));
                    for row in 0..size {
                        graph.remove(row, matcher.columns()[row].into());
                    }
                    matcher.part_all_outside(&graph);
                }
                prop_assert!(!matcher.perfect(&graph));
            }
        }
    }
}
