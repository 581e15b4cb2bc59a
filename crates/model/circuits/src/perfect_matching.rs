//! Perfect matchings in dense bipartite graphs held as bits, warm-started from an earlier matching.
//!
//! An unmatched row takes a free neighbour if there is one. Otherwise a breadth-first search looks for the
//! shortest augmenting path, 64 columns at a time. It visits each column once and so takes at most `rows *
//! rows / 64` words. If a row has no augmenting path, there is no perfect matching (Berge, 1957).

use crate::residual_graph::NONE;

/// A bipartite graph: the set of columns of each row, as bits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    size: usize,
    words: usize,
    bits: Vec<u64>,
}

impl Graph {
    /// Loads the graph of all cells that are at least `least`.
    pub fn at_least(&mut self, size: usize, cells: &[i32], least: i32) {
        self.size = size;
        self.words = size.div_ceil(64);
        self.bits.clear();
        for row in cells.chunks_exact(size) {
            for remove_row in row.chunks(64) {
                self.bits.push(bits(remove_row, least));
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

/// The bits of up to 64 cells that are at least `least`. It works on eight at a time so that the compiler
/// vectorises it.
fn bits(cells: &[i32], least: i32) -> u64 {
    let byte = |cells: &[i32]| {
        let high = cells.iter().zip(0..).map(|(&cell, at)| u32::from(cell >= least) << at);
        u64::from(high.fold(0, |all, bit: u32| all | bit))
    };
    let bytes = cells.chunks(8).enumerate();
    bytes.fold(0, |all, (at, cells)| all | byte(cells) << (8 * at))
}

/// A matching, and working memory for the search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matcher {
    /// The column of each row.
    columns: Vec<u16>,
    /// The row of each column.
    rows: Vec<u16>,
    /// The unmatched columns, and those that may be matched at all.
    free: Vec<u64>,
    allowed: Vec<u64>,
    /// The column at which each row begins to look. It is the one behind the row's last column, so that equal
    /// rows rotate.
    hints: Vec<u16>,
    /// The unmatched rows.
    unmatched: Vec<u16>,
    unvisited: Vec<u64>,
    queue: Vec<u16>,
    /// The row from which the search reached each column.
    from: Vec<u16>,
}

impl Matcher {
    /// Removes all pairs.
    pub fn begin(&mut self, size: usize) {
        for side in [&mut self.columns, &mut self.rows, &mut self.from] {
            side.clear();
            side.resize(size, NONE);
        }
        self.hints.clear();
        self.hints.extend((0..size).map(|row| ((row + 1) % size) as u16));
        self.unmatched.clear();
        self.unmatched.extend((0..size as u16).rev());
        self.free.clear();
        self.free.resize(size.div_ceil(64), u64::MAX);
        if !size.is_multiple_of(64) {
            self.free[size / 64] = (1 << (size % 64)) - 1;
        }
        self.allowed.clone_from(&self.free);
    }
    /// Removes all pairs. Only rows and columns of the given pairs are to be matched.
    pub fn begin_among(&mut self, size: usize, pairs: &[(u16, u16)]) {
        self.begin(size);
        self.unmatched.clear();
        self.unmatched.extend(pairs.iter().map(|&(row, _)| row));
        self.free.fill(0);
        for &(_, column) in pairs {
            self.free[usize::from(column) / 64] |= 1 << (column % 64);
        }
        self.allowed.clone_from(&self.free);
    }
    /// Matches all unmatched rows to unmatched columns: to each other if they are one of the given pairs, then
    /// any.
    pub fn match_any(&mut self, pairs: &[(u16, u16)]) {
        for &(row, column) in pairs {
            let (word, bit) = (usize::from(column) / 64, 1 << (column % 64));
            if self.columns[usize::from(row)] == NONE && self.free[word] & bit != 0 {
                self.free[word] &= !bit;
                self.add_pair(row.into(), column.into());
            }
        }
        let columns = &self.columns;
        self.unmatched.retain(|&row| columns[usize::from(row)] == NONE);
        let mut word = 0;
        while let Some(row) = self.unmatched.pop() {
            while self.free[word] == 0 {
                word += 1;
            }
            let column = word * 64 + self.free[word].trailing_zeros() as usize;
            self.free[word] &= self.free[word] - 1;
            self.add_pair(row.into(), column);
        }
    }
    /// The column of each row.
    pub fn columns(&self) -> &[u16] {
        &self.columns
    }
    /// Removes a row and its column from the matching.
    pub fn remove_row(&mut self, row: usize) {
        let column = usize::from(std::mem::replace(&mut self.columns[row], NONE));
        self.rows[column] = NONE;
        self.free[column / 64] |= 1 << (column % 64);
        self.unmatched.push(row as u16);
    }
    /// Removes all pairs that are not in the graph.
    pub fn remove_outside(&mut self, graph: &Graph) {
        for row in 0..graph.size {
            let column = self.columns[row];
            if column != NONE && !graph.has(row, column.into()) {
                self.remove_row(row);
            }
        }
    }
    /// Matches all rows. Returns false if there is no perfect matching. All current pairs must be in the
    /// graph.
    pub fn perfect(&mut self, graph: &Graph) -> bool {
        while let Some(&row) = self.unmatched.last() {
            if !self.take_free(row.into(), graph) && !self.augment(row, graph) {
                return false;
            }
            self.unmatched.pop();
        }
        true
    }
    /// Matches as many rows as possible, and no row that is matched loses its match. All current pairs must be
    /// in the graph. Returns whether there is a pair.
    pub fn largest(&mut self, graph: &Graph) -> bool {
        // Columns that a failed search has visited lead to no free column as long as the graph stays.
        self.unvisited.clone_from(&self.allowed);
        let mut unmatched = std::mem::take(&mut self.unmatched);
        unmatched.retain(|&row| !self.take_free(row.into(), graph) && !self.search(row, graph));
        self.unmatched = unmatched;
        self.free != self.allowed
    }
    fn add_pair(&mut self, row: usize, column: usize) {
        self.columns[row] = column as u16;
        self.rows[column] = row as u16;
        self.hints[row] = if column + 1 < self.rows.len() { column as u16 + 1 } else { 0 };
    }
    /// Matches a row to a free neighbour, if there is one. It begins at the row's hint.
    fn take_free(&mut self, row: usize, graph: &Graph) -> bool {
        let hint = usize::from(self.hints[row]);
        let (mut word, behind) = (hint / 64, u64::MAX << (hint % 64));
        let cells = graph.row(row);
        let mut bits = cells[word] & self.free[word] & behind;
        let mut more = graph.words;
        while bits == 0 {
            if more == 0 {
                return false;
            }
            more -= 1;
            word = if word + 1 < graph.words { word + 1 } else { 0 };
            bits = cells[word] & self.free[word];
        }
        let column = word * 64 + bits.trailing_zeros() as usize;
        self.free[word] &= !(1 << (column % 64));
        self.add_pair(row, column);
        true
    }
    /// Finds the shortest augmenting path from a row and applies it.
    fn augment(&mut self, root: u16, graph: &Graph) -> bool {
        self.unvisited.clear();
        self.unvisited.resize(graph.words, u64::MAX);
        self.search(root, graph)
    }
    /// Searches through the columns not visited yet. After a success it marks the columns of this search as
    /// unvisited again.
    fn search(&mut self, root: u16, graph: &Graph) -> bool {
        self.queue.clear();
        self.queue.push(root);
        let mut at = 0;
        while at < self.queue.len() {
            let row = self.queue[at];
            at += 1;
            if let Some(column) = self.expand(row, graph) {
                self.free[column / 64] &= !(1 << (column % 64));
                for &row in &self.queue[1..] {
                    let seen = usize::from(self.columns[usize::from(row)]);
                    self.unvisited[seen / 64] |= 1 << (seen % 64);
                }
                self.augment_along(root, row, column);
                return true;
            }
        }
        false
    }
    /// Returns a free neighbour of a row. If there is none, it visits all other neighbours and queues their
    /// rows.
    fn expand(&mut self, row: u16, graph: &Graph) -> Option<usize> {
        let cells = graph.row(row.into());
        let free = cells.iter().zip(&self.free).position(|(cells, free)| cells & free != 0);
        if let Some(word) = free {
            return Some(word * 64 + (cells[word] & self.free[word]).trailing_zeros() as usize);
        }
        for (word, &cells) in cells.iter().enumerate() {
            let mut new = cells & self.unvisited[word];
            self.unvisited[word] &= !new;
            while new != 0 {
                let column = word * 64 + new.trailing_zeros() as usize;
                new &= new - 1;
                self.from[column] = row;
                self.queue.push(self.rows[column]);
            }
        }
        None
    }
    fn augment_along(&mut self, root: u16, mut row: u16, mut column: usize) {
        loop {
            let before = self.columns[usize::from(row)];
            self.add_pair(row.into(), column);
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

    /// Whether the rows from `row` on have a perfect matching.
    fn brute_force(size: usize, cells: &[i32], row: usize, taken: u32) -> bool {
        let open = |&column: &usize| taken >> column & 1 == 0 && cells[row * size + column] > 0;
        row == size
            || (0..size)
                .filter(open)
                .any(|column| brute_force(size, cells, row + 1, taken | 1 << column))
    }

    /// The size of a largest matching of the rows from place `at` on.
    fn most(size: usize, cells: &[i32], among: &[(u16, u16)], at: usize, taken: u32) -> usize {
        let Some(&(row, _)) = among.get(at) else { return 0 };
        let open = |&column: &usize| {
            taken >> column & 1 == 0 && cells[usize::from(row) * size + column] > 0
        };
        let columns = among.iter().map(|&(_, column)| usize::from(column)).filter(open);
        let with = columns.map(|column| 1 + most(size, cells, among, at + 1, taken | 1 << column));
        with.chain([most(size, cells, among, at + 1, taken)]).max().unwrap_or(0)
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
            prop_assert_eq!(found, brute_force(size, &cells, 0, 0));
            prop_assert!(!found || valid(&matcher, &graph));
        }

        /// With some rows and columns left out, as many rows are matched as there are in any matching.
        #[test]
        fn a_largest_matching_is_found(
            size in 1_usize..8,
            cells in proptest::collection::vec(0..3, 64),
            pairs in 0_usize..8,
        ) {
            let among: Vec<(u16, u16)> = (0..pairs.min(size) as u16).map(|at| (at, size as u16 - 1 - at)).collect();
            let cells: Vec<i32> = cells[..size * size].iter().map(|&cell| cell / 2).collect();
            let (mut graph, mut matcher) = (Graph::default(), Matcher::default());
            graph.at_least(size, &cells, 1);
            matcher.begin_among(size, &among);
            let any = matcher.largest(&graph);
            let matched = |matcher: &Matcher| matcher.columns().iter().filter(|&&column| column != NONE).count();
            prop_assert_eq!(matched(&matcher), most(size, &cells, &among, 0, 0));
            prop_assert_eq!(any, matched(&matcher) > 0);
            matcher.match_any(&among);
            prop_assert_eq!(matched(&matcher), among.len());
        }

        /// A sum of permutations has at least that number of disjoint perfect matchings.
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
                    matcher.remove_outside(&graph);
                }
                prop_assert!(!matcher.perfect(&graph));
            }
        }
    }
}
