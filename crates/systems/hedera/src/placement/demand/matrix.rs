//! The demand estimation of the thesis as it is printed (Fig 4.4), step by step. It serves to show the steps, and
//! as the reference for the fast estimator.

use slotline_net::id::HostId;
use std::collections::BTreeMap;

/// Two demands that differ by less count as equal.
const TOLERANCE: f64 = 1e-9;
/// The limit of iterations. It is more than any estimation needs, so that rounding cannot make one endless.
const MOST_ITERATIONS: usize = 10_000;

/// The flows from one host to another.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cell {
    /// The number of flows.
    pub flows: u32,
    /// The demand of each flow, as a share of a NIC.
    pub demand: f64,
    /// Whether a receiver has limited the demand.
    pub converged: bool,
}

/// The sparse matrix M of all flows, by sender and receiver.
#[derive(Clone, PartialEq, Debug)]
pub struct Matrix {
    hosts: u32,
    cells: BTreeMap<(u32, u32), Cell>,
}

impl Matrix {
    /// The matrix of `flows` among `hosts` hosts, before anything is estimated.
    pub fn new(hosts: u32, flows: &[(HostId, HostId)]) -> Matrix {
        let mut cells: BTreeMap<_, Cell> = BTreeMap::new();
        for (src, dst) in flows {
            cells.entry((src.0, dst.0)).or_default().flows += 1;
        }
        Matrix { hosts, cells }
    }
    /// The number of hosts.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }
    /// The flows from `src` to `dst`, if there are any.
    pub fn cell(&self, src: HostId, dst: HostId) -> Option<Cell> {
        self.cells.get(&(src.0, dst.0)).copied()
    }
    /// ESTIMATE-DEMANDS. Returns the number of iterations until nothing changed.
    pub fn estimate(&mut self) -> usize {
        let mut iterations = 0;
        loop {
            let before: Vec<f64> = self.cells.values().map(|cell| cell.demand).collect();
            self.estimate_sources();
            self.estimate_destinations();
            iterations += 1;
            let mut both = before.iter().zip(self.cells.values());
            if both.all(|(old, new)| (old - new.demand).abs() < TOLERANCE)
                || iterations == MOST_ITERATIONS
            {
                return iterations;
            }
        }
    }
    /// EST-SRC for all hosts: each divides the rate that converged flows leave at its NIC among its other flows.
    pub fn estimate_sources(&mut self) {
        for src in 0..self.hosts {
            let own = self.cells.range((src, 0)..=(src, u32::MAX));
            let (converged, waiting) = own.fold((0.0, 0), |(demand, waiting), (_, cell)| {
                let flows = f64::from(cell.flows);
                if cell.converged {
                    (demand + cell.demand * flows, waiting)
                } else {
                    (demand, waiting + cell.flows)
                }
            });
            // Without such flows (n_U = 0) there is nothing to share.
            let each = (1.0 - converged).max(0.0) / f64::from(waiting.max(1));
            for (_, cell) in self.cells.range_mut((src, 0)..=(src, u32::MAX)) {
                if !cell.converged {
                    cell.demand = each;
                }
            }
        }
    }
    /// EST-DST for all hosts: a host whose flows exceed its NIC limits those with the largest demands.
    pub fn estimate_destinations(&mut self) {
        for dst in 0..self.hosts {
            let mut own: Vec<&mut Cell> =
                self.cells.iter_mut().filter(|((_, to), _)| *to == dst).map(|(_, c)| c).collect();
            let total: f64 = own.iter().map(|cell| cell.demand * f64::from(cell.flows)).sum();
            if total <= 1.0 + TOLERANCE {
                continue;
            }
            let share = receiver_share(&own);
            for cell in own.iter_mut().filter(|cell| cell.demand >= share - TOLERANCE) {
                cell.demand = share;
                cell.converged = true;
            }
        }
    }
}

/// The equal share of the flows whose demand is at least that share (lines 8 to 18 of EST-DST).
fn receiver_share(cells: &[&mut Cell]) -> f64 {
    let mut share = 1.0 / f64::from(cells.iter().map(|cell| cell.flows).sum::<u32>());
    loop {
        let limited = |cell: &&&mut Cell| cell.demand >= share - TOLERANCE;
        let count: u32 = cells.iter().filter(limited).map(|cell| cell.flows).sum();
        let modest = cells.iter().filter(|cell| !limited(cell));
        let rest = 1.0 - modest.map(|cell| cell.demand * f64::from(cell.flows)).sum::<f64>();
        let next = rest / f64::from(count.max(1));
        if next <= share + TOLERANCE {
            return next;
        }
        share = next;
    }
}

/// The flows of Fig 4.1.
pub fn example() -> Matrix {
    let pairs = [(0, 1), (0, 2), (0, 3), (1, 0), (1, 0), (1, 2), (2, 0), (2, 3), (3, 1), (3, 1)];
    Matrix::new(4, &pairs.map(|(src, dst)| (HostId(src), HostId(dst))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const THIRD: f64 = 1.0 / 3.0;
    type Printed = [[Option<(f64, bool)>; 4]; 4];

    fn check(matrix: &Matrix, printed: &Printed, flags: bool) {
        for (src, row) in (0..).zip(printed) {
            for (dst, expected) in (0..).zip(row) {
                let cell = matrix.cell(HostId(src), HostId(dst));
                assert_eq!(cell.is_some(), expected.is_some(), "{src} to {dst}");
                if let (Some(cell), Some((demand, converged))) = (cell, expected) {
                    assert!((cell.demand - demand).abs() < 1e-12, "{src} to {dst}: {cell:?}");
                    assert!(!flags || cell.converged == *converged, "{src} to {dst}: {cell:?}");
                }
            }
        }
    }

    /// Fig 4.1, all four matrices. In the last one, the thesis has the column of the last host as
    /// converged, which contradicts `d_T <= 1.0: return` of Fig 4.4, so only demands are compared there.
    #[test]
    fn the_printed_example_comes_out() {
        let (o, c) = (|d| Some((d, false)), |d| Some((d, true)));
        let mut matrix = example();
        matrix.estimate_sources();
        let first = [
            [None, o(THIRD), o(THIRD), o(THIRD)],
            [o(THIRD), None, o(THIRD), None],
            [o(0.5), None, None, o(0.5)],
            [None, o(0.5), None, None],
        ];
        check(&matrix, &first, true);
        matrix.estimate_destinations();
        let second = [
            [None, c(THIRD), o(THIRD), o(THIRD)],
            [c(THIRD), None, o(THIRD), None],
            [c(THIRD), None, None, o(0.5)],
            [None, c(THIRD), None, None],
        ];
        check(&matrix, &second, true);
        matrix.estimate_sources();
        let mut third = second;
        third[2][3] = o(2.0 * THIRD);
        check(&matrix, &third, true);
        matrix.estimate_destinations();
        check(&matrix, &third, false);
        assert_eq!(example().estimate(), 3);
        let mut whole = example();
        whole.estimate();
        check(&whole, &third, false);
    }

    #[test]
    fn flows_are_counted() {
        let cell = example().cell(HostId(3), HostId(1)).unwrap();
        assert_eq!((cell.flows, example().hosts()), (2, 4));
    }
}
