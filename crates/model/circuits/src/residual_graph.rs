//! The residual demand as a sparse bipartite graph. Rows are sources, columns are destinations, and each edge
//! has the demand that remains between its two ends.

/// The number that marks an unmatched row or a missing column.
pub(crate) const NONE: u16 = u16::MAX;
/// The number that marks a missing edge.
pub(crate) const NO_EDGE: u32 = u32::MAX;

/// A bipartite graph of residual demand. It reuses its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResidualGraph {
    pub size: usize,
    /// The residual demand of each edge, in ticks. Edges are sorted by row.
    pub remaining: Vec<i32>,
    /// The row and the column of each edge.
    endpoints: [Vec<u16>; 2],
    /// The index of the first edge of each row, and of each column in `by_column`.
    starts: [Vec<u32>; 2],
    /// The edges sorted by column, and their rows.
    by_column: Vec<u32>,
    rows: Vec<u16>,
}

impl ResidualGraph {
    /// Removes all edges. The rows follow in order.
    pub fn begin(&mut self, size: usize) {
        self.size = size;
        self.remaining.clear();
        self.endpoints.iter_mut().for_each(Vec::clear);
        self.starts[0].clear();
        self.starts[0].push(0);
    }
    /// Adds an edge to the current row.
    pub fn push(&mut self, column: usize, remaining: i32) {
        self.endpoints[0].push(self.starts[0].len() as u16 - 1);
        self.endpoints[1].push(column as u16);
        self.remaining.push(remaining);
    }
    /// Ends the current row.
    pub fn end_row(&mut self) {
        self.starts[0].push(self.remaining.len() as u32);
    }
    /// Builds the index by column after the last row.
    pub fn finish(&mut self) {
        let starts = &mut self.starts[1];
        starts.clear();
        starts.resize(self.size + 1, 0);
        self.endpoints[1].iter().for_each(|&column| starts[usize::from(column)] += 1);
        let mut sum = 0;
        for start in starts.iter_mut() {
            sum += *start;
            *start = sum;
        }
        // Each start is first set to the end of its column. It decreases with each edge that is stored.
        self.by_column.resize(self.remaining.len(), 0);
        self.rows.resize(self.remaining.len(), 0);
        for (edge, (&row, &column)) in
            self.endpoints[0].iter().zip(&self.endpoints[1]).enumerate().rev()
        {
            let start = &mut starts[usize::from(column)];
            *start -= 1;
            self.by_column[*start as usize] = edge as u32;
            self.rows[*start as usize] = row;
        }
    }
    /// Loads all cells above zero. The edges of a row begin after the diagonal, so that equal rows begin
    /// with different columns.
    pub fn load(&mut self, size: usize, cells: &[i32]) {
        self.begin(size);
        for (row, cells) in cells.chunks_exact(size).enumerate() {
            for column in from_diagonal(row, size).filter(|&column| cells[column] > 0) {
                self.push(column, cells[column]);
            }
            self.end_row();
        }
        self.finish();
    }
    /// Calls `visit` for each edge of a vertex with the edge, its other end and its residual demand. There is
    /// one loop for rows and one for columns, because a common loop was measured to be slower.
    #[inline]
    pub fn for_each_edge(
        &self,
        side: usize,
        vertex: usize,
        mut visit: impl FnMut(u32, usize, i32),
    ) {
        let (from, to) = (self.starts[side][vertex], self.starts[side][vertex + 1]);
        let range = from as usize..to as usize;
        if side == 0 {
            let edges = self.endpoints[1][range.clone()].iter().zip(&self.remaining[range]);
            for (edge, (&across, &remaining)) in (from..to).zip(edges) {
                visit(edge, across.into(), remaining);
            }
        } else {
            for (&edge, &across) in self.by_column[range.clone()].iter().zip(&self.rows[range]) {
                visit(edge, across.into(), self.remaining[edge as usize]);
            }
        }
    }
    #[inline]
    pub fn endpoint(&self, side: usize, edge: u32) -> usize {
        self.endpoints[side][edge as usize].into()
    }
    /// The edge of a pair, if there is one. It relies on the order of edges that [`ResidualGraph::load`]
    /// gives.
    pub fn find(&self, row: usize, column: usize) -> Option<u32> {
        let (from, to) = (self.starts[0][row] as usize, self.starts[0][row + 1] as usize);
        let place = |column: usize| (column + self.size - row - 1) % self.size;
        let found = self.endpoints[1][from..to]
            .binary_search_by_key(&place(column), |&column| place(column.into()));
        found.ok().map(|at| (from + at) as u32)
    }
    /// Subtracts what a day of `length` ticks serves, and returns it. `matched` has the edge of each row.
    pub fn serve(&mut self, matched: &[u32], length: i32) -> i64 {
        let mut served = 0;
        for &edge in matched.iter().filter(|&&edge| edge != NO_EDGE) {
            let remaining = &mut self.remaining[edge as usize];
            let part = (*remaining).min(length);
            *remaining -= part;
            served += i64::from(part);
        }
        served
    }
}

/// All columns in cyclic order, beginning after the diagonal.
pub(crate) fn from_diagonal(row: usize, size: usize) -> impl Iterator<Item = usize> {
    (row + 1..size).chain(0..=row)
}
