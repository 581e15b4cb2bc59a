//! Demand of recent weeks, for racks that would have no circuit on a day.
//!
//! A report shows one moment, in which some racks are between two messages. A rack without a circuit gets one
//! to a rack that it recently sent to. This costs nothing, and traffic that returns, as in a collective
//! operation, finds its circuit.

use crate::demand::Demand;
use crate::week::Week;

/// The demand of recent weeks. It reuses its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentDemand {
    /// The recent maximum of each pair's demand, in ticks. It decays by an eighth each week.
    cells: Vec<i32>,
    pairs: Vec<(u16, u16)>,
    taken: Vec<bool>,
}

/// The largest number of remembered pairs per rack. With more pairs hardly any rack is without a circuit.
const PAIRS_PER_RACK: usize = 16;

impl RecentDemand {
    /// Records the demand of a week, in ticks.
    pub fn record(&mut self, cells: &[i32]) {
        self.cells.resize(cells.len(), 0);
        for (recent, &cell) in self.cells.iter_mut().zip(cells) {
            *recent = cell.max(*recent / 8 * 7);
        }
    }
    /// Connects racks that have no circuit, in the order of recent demand.
    pub fn connect_idle(&mut self, demand: &Demand, week: &mut Week) {
        let racks = demand.racks();
        let known = (0..self.cells.len()).filter(|&pair| self.cells[pair] > 0);
        if known.clone().count() > PAIRS_PER_RACK * racks {
            return;
        }
        let ends = |pair: usize| ((pair / racks) as u16, (pair % racks) as u16);
        self.pairs.clear();
        self.pairs.extend(known.map(ends).filter(|(src, dst)| src != dst));
        let cells = &self.cells;
        let size = |(src, dst): (u16, u16)| cells[usize::from(src) * racks + usize::from(dst)];
        self.pairs.sort_by_key(|&pair| std::cmp::Reverse(size(pair)));
        week.connect_idle(&self.pairs, &mut self.taken);
    }
}
