//! Who sent to whom of late: for circuits that nobody has asked for.
//!
//! A report is of one moment, in which some are between two messages. Racks that have no circuit in a day get one to whom
//! they sent before: it costs nothing, and what comes again, as in a collective operation, finds it there.

use crate::demand::Demand;
use crate::week::Week;

/// What was wanted of late; keeps its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    /// By pair, in ticks, the most of all weeks, of which an eighth goes with each week.
    cells: Vec<i32>,
    pairs: Vec<(u16, u16)>,
    taken: Vec<bool>,
}

/// Pairs that are remembered, by rack: where more send to each other, few racks are idle.
const MOST: usize = 16;

impl Recent {
    /// Takes note of a week's demand, in ticks.
    pub fn note(&mut self, cells: &[i32]) {
        self.cells.resize(cells.len(), 0);
        for (recent, &cell) in self.cells.iter_mut().zip(cells) {
            *recent = cell.max(*recent / 8 * 7);
        }
    }
    /// Lights circuits of idle racks, those first that had the most to send.
    pub fn light(&mut self, demand: &Demand, week: &mut Week) {
        let racks = demand.racks();
        let known = (0..self.cells.len()).filter(|&pair| self.cells[pair] > 0);
        if known.clone().count() > MOST * racks {
            return;
        }
        let ends = |pair: usize| ((pair / racks) as u16, (pair % racks) as u16);
        self.pairs.clear();
        self.pairs.extend(known.map(ends).filter(|(src, dst)| src != dst));
        let cells = &self.cells;
        let size = |(src, dst): (u16, u16)| cells[usize::from(src) * racks + usize::from(dst)];
        self.pairs.sort_by_key(|&pair| std::cmp::Reverse(size(pair)));
        week.light_idle(&self.pairs, &mut self.taken);
    }
}
