//! Which pairs are worth a circuit, and how much of them the packet switch takes anyway.

use crate::wants::Wants;

/// Selects pairs; keeps its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    /// By edge, all there is to send.
    pub sizes: Vec<i32>,
    /// By side and vertex, up to which size the packet switch can take edges.
    levels: [Vec<i32>; 2],
    /// The cells of a row or column at hand.
    line: Vec<i32>,
}

impl Selection {
    /// Puts the largest cells of each row into `wants`, so many at most; of equal ones those next behind the diagonal,
    /// so that rows that are alike select different columns.
    pub fn select(&mut self, size: usize, cells: &[i32], most: usize, wants: &mut Wants) {
        wants.begin(size);
        for (row, cells) in cells.chunks_exact(size).enumerate() {
            let (above, mut equal) = self.limit(cells, most);
            for (from, to) in [(row + 1, size), (0, row + 1)] {
                for (column, &cell) in (from..to).zip(&cells[from..to]) {
                    if cell > above || cell == above && equal > 0 {
                        equal -= usize::from(cell == above);
                        wants.push(column, cell);
                    }
                }
            }
            wants.end_row();
        }
        wants.finish();
        self.sizes.clone_from(&wants.left);
    }
    /// All cells above the first number are selected, and so many that are equal to it.
    fn limit(&mut self, cells: &[i32], most: usize) -> (i32, usize) {
        self.line.clear();
        self.line.extend(cells.iter().filter(|&&cell| cell > 0));
        if self.line.len() <= most {
            return (0, 0);
        }
        let (above, &mut limit, _) = self.line.select_nth_unstable_by(most - 1, |a, b| b.cmp(a));
        (limit, most - above.iter().filter(|&&cell| cell > limit).count())
    }
    /// Takes the smallest edges away, as many as the packet switch can serve, if its links carry `budget` ticks' worth:
    /// the fewer pairs need a day, the better. All have to be selected.
    pub fn leave_to_packets(&mut self, budget: i64, wants: &mut Wants) {
        for side in 0..2 {
            let found = |vertex: usize| {
                self.line.clear();
                wants.each(side, vertex, |_, _, left| self.line.push(left));
                smallest(budget, &mut self.line)
            };
            let levels = &mut self.levels[side];
            levels.clear();
            levels.extend((0..wants.size).map(found));
        }
        for edge in 0..wants.left.len() as u32 {
            let level = |side: usize| self.levels[side][wants.end(side, edge)];
            if wants.left[edge as usize] <= level(0).min(level(1)) {
                wants.left[edge as usize] = 0;
            }
        }
    }
}

/// The largest size of which all are served within a budget that serves the smallest ones first.
fn smallest(budget: i64, sizes: &mut [i32]) -> i32 {
    sizes.sort_unstable();
    let mut sum = 0;
    let fits = |size: &&i32| {
        sum += i64::from(**size);
        sum <= budget
    };
    let count = sizes.iter().take_while(fits).count();
    let next = sizes.get(count);
    // Of equal ones there may be too many: then none of them.
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
            let (mut selection, mut wants) = (Selection::default(), Wants::default());
            selection.select(size, cells, most, &mut wants);
            let mut left = cells.to_vec();
            for edge in 0..wants.left.len() as u32 {
                let cell = &mut left[wants.end(0, edge) * size + wants.end(1, edge)];
                prop_assert_eq!(*cell, selection.sizes[edge as usize]);
                *cell = 0;
            }
            for row in 0..size {
                let mut selected = Vec::new();
                wants.each(0, row, |_, _, left| selected.push(left));
                let others = left[row * size..(row + 1) * size].iter().max();
                let some = cells[row * size..(row + 1) * size].iter().filter(|&&cell| cell > 0);
                prop_assert_eq!(selected.len(), some.count().min(most));
                let least = selected.iter().min().copied().unwrap_or(i32::MAX);
                prop_assert!(others.is_none_or(|&other| other <= least));
            }
            selection.select(size, cells, size, &mut wants);
            selection.leave_to_packets(budget, &mut wants);
            for (edge, &size) in selection.sizes.iter().enumerate() {
                prop_assert!((0..=size).contains(&wants.left[edge]));
            }
            for side in 0..2 {
                for vertex in 0..size {
                    let edges = (0..wants.left.len()).filter(|&e| wants.end(side, e as u32) == vertex);
                    let taken = edges.map(|e| i64::from(selection.sizes[e] - wants.left[e])).sum::<i64>();
                    prop_assert!(taken <= budget);
                }
            }
        }
    }
}
