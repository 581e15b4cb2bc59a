//! Shows the faulty components of a result on the terminal.

use super::format::{grouped, quantity};
use crate::record::{FaultRow, NEVER, RunRecord, RunSet};
use slotline_scenario::metric::Unit;

/// The most faults that are shown on the terminal.
const MOST_SHOWN: usize = 6;

/// All faults with their runs.
pub fn all(set: &RunSet) -> Vec<(&RunRecord, &FaultRow)> {
    let runs = set.in_order().into_iter();
    runs.flat_map(|run| run.faults.iter().map(move |fault| (run, fault))).collect()
}

/// The kind of the faulty component.
pub fn kind(fault: &FaultRow) -> &'static str {
    if fault.switch { "switch" } else { "link" }
}

/// A time as text; `None` if it was never reached.
pub fn time(ps: u64) -> Option<String> {
    (ps != NEVER).then(|| quantity(Unit::Seconds, ps as f64 / 1e12))
}

/// A sentence for each of the first faults, and the number of the others.
pub fn lines(set: &RunSet) -> Vec<String> {
    let all = all(set);
    let mut out: Vec<String> =
        all.iter().take(MOST_SHOWN).map(|(run, f)| sentence(run, f)).collect();
    if let Some(more) = all.len().checked_sub(MOST_SHOWN).filter(|&more| more > 0) {
        out.push(format!("{} more faults are in faults.csv.", grouped(more as u64)));
    }
    out
}

fn sentence(run: &RunRecord, fault: &FaultRow) -> String {
    let then = |label: &str, ps: u64| time(ps).map(|t| format!(", {label} {t}"));
    format!(
        "{}, seed {}: {} {} was found faulty at {}{}{}.",
        run.scheme,
        run.seed,
        kind(fault),
        fault.name,
        time(fault.found_ps).unwrap_or_default(),
        then("avoided from", fault.avoided_ps).unwrap_or_default(),
        then("used again from", fault.cleared_ps).unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(faults: u64) -> RunSet {
        let mut set = RunSet::example(1);
        let row = |at: u64| FaultRow {
            name: format!("leaf{at}-spine<2>"),
            found_ps: 2_500_000_000,
            avoided_ps: 2_600_000_000,
            ..FaultRow::default()
        };
        set.runs[0].faults = (0..faults).map(row).collect();
        set
    }

    #[test]
    fn faults_are_shown_with_name_and_time() {
        assert_eq!(
            lines(&broken(1)),
            [
                "tcp, seed 1: link leaf0-spine<2> was found faulty at 2.500 ms, avoided from 2.600 ms."
            ]
        );
        assert_eq!(lines(&broken(9)).last().unwrap(), "3 more faults are in faults.csv.");
    }

    #[test]
    fn without_faults_there_is_no_line() {
        assert_eq!(lines(&RunSet::example(2)), [""; 0]);
    }
}
