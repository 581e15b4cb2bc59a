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
    /// The words of each row, a power of two.
    words: usize,
    bits: Vec<u64>,
}

impl Graph {
    /// Loads the graph of all cells that are at least `least`.
    pub fn at_least(&mut self, size: usize, cells: &[i32], least: i32) {
        self.size = size;
        self.words = words(size);
        self.bits.clear();
        for (row, cells) in cells.chunks_exact(size).enumerate() {
            self.bits.extend(cells.chunks(64).map(|cells| bits(cells, least)));
            self.bits.resize((row + 1) * self.words, 0);
        }
    }
    fn has(&self, row: usize, column: usize) -> bool {
        self.bits[row * self.words + column / 64] >> (column % 64) & 1 == 1
    }
    pub fn remove(&mut self, row: usize, column: usize) {
        self.bits[row * self.words + column / 64] &= !(1 << (column % 64));
    }
}

/// The words of a set of columns. They are a power of two, so that there is code for each number.
fn words(size: usize) -> usize {
    size.div_ceil(64).next_power_of_two()
}

/// Calls a method that has the number of words as a constant.
macro_rules! by_words {
    ($matcher:ident.$method:ident($graph:ident)) => {
        match $graph.words {
            1 => $matcher.$method::<1>($graph),
            2 => $matcher.$method::<2>($graph),
            4 => $matcher.$method::<4>($graph),
            8 => $matcher.$method::<8>($graph),
            16 => $matcher.$method::<16>($graph),
            32 => $matcher.$method::<32>($graph),
            _ => $matcher.$method::<64>($graph),
        }
    };
}

/// The bits of up to 64 cells that are at least `least`. It works on 32 at a time so that the compiler
/// vectorises it.
fn bits(cells: &[i32], least: i32) -> u64 {
    let bit = |(&cell, at): (&i32, u32)| if cell >= least { 1_u32 << at } else { 0 };
    let (halves, rest) = cells.as_chunks::<32>();
    let half = |cells: &[i32; 32]| cells.iter().zip(0..32).map(bit).fold(0, |all, bit| all | bit);
    let rest = rest.iter().zip(0..32).map(bit).fold(0, |all, bit| all | bit);
    let words = halves.iter().map(half).chain([rest]).zip([0, 32, 0]);
    words.fold(0, |all, (bits, at)| all | u64::from(bits) << at)
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
    /// The column at which each row begins to look. It is the one after the row's last column, so that equal
    /// rows rotate.
    hints: Vec<u16>,
    /// The unmatched rows.
    unmatched: Vec<u16>,
    queue: Vec<u16>,
    /// The row from which the search reached each column.
    from: Vec<u16>,
}

impl Matcher {
    /// Removes all pairs.
    pub fn begin(&mut self, size: usize) {
        for side in [&mut self.columns, &mut self.rows] {
            side.clear();
            side.resize(size, NONE);
        }
        self.from.resize(size, NONE);
        self.queue.resize(size, NONE);
        self.hints.clear();
        self.hints.extend((1..size as u16).chain([0]));
        self.unmatched.clear();
        self.unmatched.extend((0..size as u16).rev());
        self.free.clear();
        self.free.resize(size / 64, u64::MAX);
        self.free.push((1 << (size % 64)) - 1);
        self.free.resize(words(size), 0);
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
    /// Matches all unmatched rows to unmatched columns. The given pairs come first, then any others.
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
        by_words!(self.match_all(graph))
    }
    /// Matches as many rows as possible. Every matched row remains matched, perhaps to another column. All
    /// current pairs must be in the graph. Returns whether there is a pair.
    pub fn largest(&mut self, graph: &Graph) -> bool {
        if !self.unmatched.is_empty() {
            by_words!(self.match_most(graph));
        }
        self.free != self.allowed
    }
    fn match_all<const W: usize>(&mut self, graph: &Graph) -> bool {
        let (mut search, unmatched) = self.search::<W>(graph);
        while let Some(&row) = unmatched.last() {
            if !search.add(row.into()) {
                break;
            }
            unmatched.pop();
        }
        let free = search.free;
        self.free.copy_from_slice(&free);
        self.unmatched.is_empty()
    }
    fn match_most<const W: usize>(&mut self, graph: &Graph) {
        let (mut search, unmatched) = self.search::<W>(graph);
        unmatched.retain(|&row| !search.add(row.into()));
        let free = search.free;
        self.free.copy_from_slice(&free);
    }
    /// The search in a graph, and the unmatched rows.
    fn search<'a, const W: usize>(
        &'a mut self,
        graph: &'a Graph,
    ) -> (Search<'a, W>, &'a mut Vec<u16>) {
        let set = |words: &[u64]| words.try_into().expect("a graph of the same size");
        let search = Search {
            graph: graph.bits.as_chunks().0,
            free: set(&self.free),
            unvisited: set(&self.allowed),
            columns: &mut self.columns,
            rows: &mut self.rows,
            hints: &mut self.hints,
            queue: &mut self.queue,
            from: &mut self.from,
        };
        (search, &mut self.unmatched)
    }
    fn add_pair(&mut self, row: usize, column: usize) {
        add_pair(&mut self.columns, &mut self.rows, &mut self.hints, row, column);
    }
}

fn add_pair(columns: &mut [u16], rows: &mut [u16], hints: &mut [u16], row: usize, column: usize) {
    columns[row] = column as u16;
    rows[column] = row as u16;
    hints[row] = if column + 1 < rows.len() { column as u16 + 1 } else { 0 };
}

/// The search for augmenting paths in a graph with rows of `W` words.
struct Search<'a, const W: usize> {
    graph: &'a [[u64; W]],
    free: [u64; W],
    /// The columns that no failed search has visited. The others lead to no free column as long as the graph
    /// does not change.
    unvisited: [u64; W],
    columns: &'a mut [u16],
    rows: &'a mut [u16],
    hints: &'a mut [u16],
    queue: &'a mut [u16],
    from: &'a mut [u16],
}

impl<const W: usize> Search<'_, W> {
    /// Matches a row, if there is a free neighbour or an augmenting path. Returns whether there is.
    fn add(&mut self, row: usize) -> bool {
        // Free columns are also unvisited.
        first(&self.graph[row], &self.unvisited).is_some()
            && (self.take_free(row) || self.augment(row))
    }
    fn add_pair(&mut self, row: usize, column: usize) {
        add_pair(self.columns, self.rows, self.hints, row, column);
    }
    fn use_column(&mut self, column: usize) {
        self.free[column / 64] &= !(1 << (column % 64));
    }
    /// Matches a row to a free neighbour, if there is one. It begins at the row's hint.
    fn take_free(&mut self, row: usize) -> bool {
        let hint = usize::from(self.hints[row]);
        let cells = &self.graph[row];
        let mut behind = u64::MAX << (hint % 64);
        for more in 0..=W {
            let word = (hint / 64 + more) % W;
            let bits = cells[word] & self.free[word] & behind;
            if bits != 0 {
                let column = word * 64 + bits.trailing_zeros() as usize;
                self.use_column(column);
                self.add_pair(row, column);
                return true;
            }
            behind = u64::MAX;
        }
        false
    }
    /// Finds the shortest augmenting path from a row without a free neighbour, and applies it.
    fn augment(&mut self, root: usize) -> bool {
        let before = self.unvisited;
        let (mut row, mut at, mut queued) = (root, 0, 0);
        loop {
            if let Some((row, column)) = self.expand(row, &mut queued) {
                self.unvisited = before;
                self.use_column(column);
                self.apply(root, row, column);
                return true;
            }
            if at == queued {
                return false;
            }
            row = self.queue[at].into();
            at += 1;
        }
    }
    /// Visits the neighbours of a row that are not visited yet, and queues their rows. It stops at the first
    /// row that has a free neighbour, and returns that row and its neighbour. No row queued before has one.
    fn expand(&mut self, row: usize, queued: &mut usize) -> Option<(usize, usize)> {
        for word in 0..W {
            let mut new = self.graph[row][word] & self.unvisited[word];
            self.unvisited[word] &= !new;
            while new != 0 {
                let column = word * 64 + new.trailing_zeros() as usize;
                new &= new - 1;
                self.from[column] = row as u16;
                let next = self.rows[column];
                if let Some(free) = first(&self.graph[usize::from(next)], &self.free) {
                    return Some((next.into(), free));
                }
                self.queue[*queued] = next;
                *queued += 1;
            }
        }
        None
    }
    /// Applies the path that ends with a row and its free neighbour.
    fn apply(&mut self, root: usize, mut row: usize, mut column: usize) {
        loop {
            let before = usize::from(self.columns[row]);
            self.add_pair(row, column);
            if row == root {
                return;
            }
            column = before;
            row = self.from[column].into();
        }
    }
}

/// The first column that two sets have in common.
fn first<const W: usize>(a: &[u64; W], b: &[u64; W]) -> Option<usize> {
    let both = |word: usize| a[word] & b[word];
    let word = (0..W).find(|&word| both(word) != 0)?;
    Some(word * 64 + both(word).trailing_zeros() as usize)
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
