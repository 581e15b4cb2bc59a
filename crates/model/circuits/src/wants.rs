//! Who still wants how much, as a sparse graph: rows are sources, columns destinations, edges what is left between
//! them.

/// No partner, no column.
pub(crate) const NONE: u16 = u16::MAX;
/// No edge.
pub(crate) const NO_EDGE: u32 = u32::MAX;

/// A bipartite graph whose edges have a size; keeps its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wants {
    pub size: usize,
    /// By edge, what is left, in ticks; edges are sorted by row.
    pub left: Vec<i32>,
    /// By edge, its row and its column.
    ends: [Vec<u16>; 2],
    /// By side and vertex, where its edges begin in `edges` of this side.
    starts: [Vec<u32>; 2],
    /// The edges of columns, and their rows; the edges of rows are in order.
    by_column: Vec<u32>,
    rows: Vec<u16>,
}

impl Wants {
    /// Forgets all; rows follow, in order.
    pub fn begin(&mut self, size: usize) {
        self.size = size;
        self.left.clear();
        self.ends.iter_mut().for_each(Vec::clear);
        self.starts[0].clear();
        self.starts[0].push(0);
    }
    /// An edge of the row at hand.
    pub fn push(&mut self, column: usize, left: i32) {
        self.ends[0].push(self.starts[0].len() as u16 - 1);
        self.ends[1].push(column as u16);
        self.left.push(left);
    }
    /// No more edges for this row.
    pub fn end_row(&mut self) {
        self.starts[0].push(self.left.len() as u32);
    }
    /// All rows are there.
    pub fn finish(&mut self) {
        let starts = &mut self.starts[1];
        starts.clear();
        starts.resize(self.size + 1, 0);
        self.ends[1].iter().for_each(|&column| starts[usize::from(column)] += 1);
        let mut sum = 0;
        for start in starts.iter_mut() {
            sum += *start;
            *start = sum;
        }
        // Each start is the end of its column, and goes down with each edge put there.
        self.by_column.resize(self.left.len(), 0);
        self.rows.resize(self.left.len(), 0);
        for (edge, (&row, &column)) in self.ends[0].iter().zip(&self.ends[1]).enumerate().rev() {
            let start = &mut starts[usize::from(column)];
            *start -= 1;
            self.by_column[*start as usize] = edge as u32;
            self.rows[*start as usize] = row;
        }
    }
    /// All cells that are not zero; in each row from behind the diagonal on, so that rows that are alike begin with
    /// different columns.
    pub fn load(&mut self, size: usize, cells: &[i32]) {
        self.begin(size);
        for (row, cells) in cells.chunks_exact(size).enumerate() {
            for column in around(row, size).filter(|&column| cells[column] > 0) {
                self.push(column, cells[column]);
            }
            self.end_row();
        }
        self.finish();
    }
    /// Calls `look` with each edge of a vertex, the vertex across, and what is left. A loop over each kind of list, as
    /// one over both is slow.
    #[inline]
    pub fn each(&self, side: usize, vertex: usize, mut look: impl FnMut(u32, usize, i32)) {
        let (from, to) = (self.starts[side][vertex], self.starts[side][vertex + 1]);
        let range = from as usize..to as usize;
        if side == 0 {
            let edges = self.ends[1][range.clone()].iter().zip(&self.left[range]);
            for (edge, (&across, &left)) in (from..to).zip(edges) {
                look(edge, across.into(), left);
            }
        } else {
            for (&edge, &across) in self.by_column[range.clone()].iter().zip(&self.rows[range]) {
                look(edge, across.into(), self.left[edge as usize]);
            }
        }
    }
    #[inline]
    pub fn end(&self, side: usize, edge: u32) -> usize {
        self.ends[side][edge as usize].into()
    }
    /// The edge of a pair. Edges of a row are in order, from behind the diagonal on.
    pub fn find(&self, row: usize, column: usize) -> Option<u32> {
        let (from, to) = (self.starts[0][row] as usize, self.starts[0][row + 1] as usize);
        let place = |column: usize| (column + self.size - row - 1) % self.size;
        let found = self.ends[1][from..to]
            .binary_search_by_key(&place(column), |&column| place(column.into()));
        found.ok().map(|at| (from + at) as u32)
    }
    /// Takes what a day serves; returns how much that is. `matched` is by row.
    pub fn serve(&mut self, matched: &[u32], length: i32) -> i64 {
        let mut served = 0;
        for &edge in matched.iter().filter(|&&edge| edge != NO_EDGE) {
            let left = &mut self.left[edge as usize];
            let part = (*left).min(length);
            *left -= part;
            served += i64::from(part);
        }
        served
    }
}

/// All columns, from behind the diagonal on.
pub(crate) fn around(row: usize, size: usize) -> impl Iterator<Item = usize> {
    (row + 1..size).chain(0..=row)
}
