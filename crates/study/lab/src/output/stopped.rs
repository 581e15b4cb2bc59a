//! Shows queue programs that were stopped on the terminal.

use super::format::{grouped, quantity};
use crate::record::{NEVER, RunRecord, RunSet, StoppedRow};
use slotline_scenario::metric::Unit;

/// The most queues that are shown on the terminal.
const MOST_SHOWN: usize = 3;

/// A sentence for each of the first queues, and the number of the others.
pub fn lines(set: &RunSet) -> Vec<String> {
    let runs = set.in_order().into_iter();
    let all: Vec<(&RunRecord, &StoppedRow)> =
        runs.flat_map(|run| run.stopped.iter().map(move |one| (run, one))).collect();
    let mut out: Vec<String> =
        all.iter().take(MOST_SHOWN).map(|(run, one)| sentence(run, one)).collect();
    if let Some(more) = all.len().checked_sub(MOST_SHOWN).filter(|&more| more > 0) {
        out.push(format!("{} more stopped programs are in stopped.csv.", grouped(more as u64)));
    }
    out
}

fn sentence(run: &RunRecord, one: &StoppedRow) -> String {
    let port = run.ports.get(one.port as usize);
    let place = port.map_or(String::new(), |port| format!("{}-{}", port.node, port.port));
    format!(
        "{}, seed {}: the program of the {} of {place} was stopped at {}, and {} packets have passed since: {}.",
        run.scheme,
        run.seed,
        if one.bump == NEVER { "queue" } else { "virtual queue" },
        quantity(Unit::Seconds, one.t_ps as f64 / 1e12),
        grouped(one.unjudged),
        one.why
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stopped_programs_are_shown_with_place_time_and_cause() {
        let mut set = RunSet::example(1);
        assert_eq!(lines(&set), [""; 0]);
        let why = String::from("it ran for more instructions than allowed");
        let row = StoppedRow { t_ps: 2_500_000, unjudged: 12_000, why, ..StoppedRow::default() };
        set.runs[0].stopped =
            vec![row.clone(), StoppedRow { bump: 0, ..row.clone() }, row.clone(), row];
        let place = format!("{}-{}", set.runs[0].ports[0].node, set.runs[0].ports[0].port);
        let shown = lines(&set);
        assert_eq!(
            shown[0],
            format!(
                "tcp, seed 1: the program of the queue of {place} was stopped at 2.500 µs, and 12,000 \
                 packets have passed since: it ran for more instructions than allowed."
            )
        );
        assert!(shown[1].contains("of the virtual queue of"), "{shown:?}");
        assert_eq!(shown[3], "1 more stopped programs are in stopped.csv.");
    }
}
