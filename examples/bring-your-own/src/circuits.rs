//! A circuit scheduler: in each week the pairs of racks with the longest queues get circuits for the whole week.

use crate::Calls;
use serde::Deserialize;
use slotline::prelude::*;

pub static CALLS: Calls = Calls::none();

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    /// Pairs with less demand get no circuit.
    least: Bytes,
}

/// Chooses pairs greedily.
pub struct LongestQueue {
    timing: CircuitTiming,
    least: u64,
}

pub fn factory(
    options: &Options,
) -> Result<impl Fn(usize, CircuitTiming) -> LongestQueue + use<>, SpecError> {
    let Keys { least } = options.read()?;
    Ok(move |_racks: usize, timing: CircuitTiming| LongestQueue { timing, least: least.0 })
}

impl Scheduler for LongestQueue {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        CALLS.count();
        let racks = demand.racks();
        let mut pairs: Vec<(u64, usize, usize)> = (0..racks)
            .flat_map(|src| (0..racks).map(move |dst| (src, dst)))
            .map(|(src, dst)| (demand.get(src, dst), src, dst))
            .filter(|(bytes, src, dst)| src != dst && *bytes >= self.least)
            .collect();
        pairs.sort_unstable_by(|a, b| b.cmp(a));
        let mut matching = Matching::dark(racks);
        for (_, src, dst) in pairs {
            // An end that has a circuit refuses another one.
            let _ = matching.connect(src, dst);
        }
        let (week, night) = (self.timing.week(), self.timing.night());
        out.clear(racks);
        out.push(week - night, matching.circuits());
        out.push_night(night);
        Note::Planned
    }
}
