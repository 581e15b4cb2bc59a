//! Selection of the pairs that are considered for circuits, and of the demand that the packet switch serves
//! without them.

use crate::residual_graph::ResidualGraph;

/// Selects pairs. It reuses its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct PairSelection {
    /// The whole demand of each edge.
    pub sizes: Vec<i32>,
    /// The demand up to which the packet switch can serve all edges, by side and vertex.
    levels: [Vec<i32>; 2],
    /// The cells of the current row or column.
    line: Vec<i32>,
}

impl PairSelection {
    /// Loads the `most` largest cells of each row into `residual`. Of equal cells it takes the next ones
    /// after the diagonal, so that equal rows select different columns.
    pub fn select(
        &mut self,
        size: usize,
        cells: &[i32],
        most: usize,
        residual: &mut ResidualGraph,
    ) {
        residual.begin(size);
        for (row, cells) in cells.chunks_exact(size).enumerate() {
            let (above, mut equal) = self.limit(cells, most);
            for (from, to) in [(row + 1, size), (0, row + 1)] {
                for (column, &cell) in (from..to).zip(&cells[from..to]) {
                    if cell > above || cell == above && equal > 0 {
                        equal -= usize::from(cell == above);
                        residual.push(column, cell);
                    }
                }
            }
            residual.end_row();
        }
        residual.finish();
        self.sizes.clone_from(&residual.remaining);
    }
    /// The limit above which all cells of a row are selected, and the number of selected cells that are equal
    /// to it.
    fn limit(&mut self, cells: &[i32], most: usize) -> (i32, usize) {
        self.line.clear();
        self.line.extend(cells.iter().filter(|&&cell| cell > 0));
        if self.line.len() <= most {
            return (0, 0);
        }
        let (above, &mut limit, _) = self.line.select_nth_unstable_by(most - 1, |a, b| b.cmp(a));
        (limit, most - above.iter().filter(|&&cell| cell > limit).count())
    }
    /// Removes the smallest demands, as many as the packet switch can serve if each of its links carries
    /// `budget` ticks of demand. The fewer pairs remain, the fewer days they need. All pairs must be
    /// selected.
    pub fn leave_to_packet_switch(&mut self, budget: i64, residual: &mut ResidualGraph) {
        for side in 0..2 {
            let found = |vertex: usize| {
                self.line.clear();
                residual.for_each_edge(side, vertex, |_, _, left| self.line.push(left));
                smallest(budget, &mut self.line)
            };
            let levels = &mut self.levels[side];
            levels.clear();
            levels.extend((0..residual.size).map(found));
        }
        for edge in 0..residual.remaining.len() as u32 {
            let level = |side: usize| self.levels[side][residual.endpoint(side, edge)];
            if residual.remaining[edge as usize] <= level(0).min(level(1)) {
                residual.remaining[edge as usize] = 0;
            }
        }
    }
}

/// The largest demand up to which all demands together fit into the budget.
fn smallest(budget: i64, sizes: &mut [i32]) -> i32 {
    sizes.sort_unstable();
    let mut sum = 0;
    let fits = |size: &&i32| {
        sum += i64::from(**size);
        sum <= budget
    };
    let count = sizes.iter().take_while(fits).count();
    let next = sizes.get(count);
    // Equal demands may not all fit. Then none of them counts.
    let all = sizes[..count].iter().rev().find(|size| Some(*size) != next);
    all.copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_largest_are_selected_and_packets_have_room(
            size in 2_usize..9,
            cells in proptest::collection::vec(prop_oneof![Just(0), 0..50], 64),
            most in 1_usize..5,
            budget in 0_i64..100,
        ) {
            let cells = &cells[..size * size];
            let (mut selection, mut residual) = (PairSelection::default(), ResidualGraph::default());
            selection.select(size, cells, most, &mut residual);
            let mut left = cells.to_vec();
            for edge in 0..residual.remaining.len() as u32 {
                let cell = &mut left[residual.endpoint(0, edge) * size + residual.endpoint(1, edge)];
                prop_assert_eq!(*cell, selection.sizes[edge as usize]);
                *cell = 0;
            }
            for row in 0..size {
                let mut selected = Vec::new();
                residual.for_each_edge(0, row, |_, _, left| selected.push(left));
                let others = left[row * size..(row + 1) * size].iter().max();
                let some = cells[row * size..(row + 1) * size].iter().filter(|&&cell| cell > 0);
                prop_assert_eq!(selected.len(), some.count().min(most));
                let least = selected.iter().min().copied().unwrap_or(i32::MAX);
                prop_assert!(others.is_none_or(|&other| other <= least));
            }
            selection.select(size, cells, size, &mut residual);
            selection.leave_to_packet_switch(budget, &mut residual);
            for (edge, &size) in selection.sizes.iter().enumerate() {
                prop_assert!((0..=size).contains(&residual.remaining[edge]));
            }
            for side in 0..2 {
                for vertex in 0..size {
                    let edges = (0..residual.remaining.len()).filter(|&e| residual.endpoint(side, e as u32) == vertex);
                    let taken = edges.map(|e| i64::from(selection.sizes[e] - residual.remaining[e])).sum::<i64>();
                    prop_assert!(taken <= budget);
                }
            }
        }
    }
}
