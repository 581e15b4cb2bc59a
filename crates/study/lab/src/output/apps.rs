//! Shows what programs on real hosts wrote.

use super::format::quantity;
use crate::record::{AppRow, NEVER, RunRecord, RunSet};
use slotline_scenario::metric::Unit;

/// The most programs of one run that are shown on the terminal.
const MOST_SHOWN: usize = 8;
/// The most lines of each; the last are shown.
const MOST_LINES: usize = 6;

/// The programs of the first run of each scheme: how they ended, and the last lines that they wrote.
pub fn lines(set: &RunSet) -> Vec<String> {
    let first = set.schemes.iter().filter_map(|scheme| set.of(scheme).into_iter().next());
    first.flat_map(of_run).collect()
}

fn of_run(run: &RunRecord) -> Vec<String> {
    let shown = run.apps.iter().take(MOST_SHOWN).flat_map(|app| of_app(run, app));
    let mut out: Vec<String> = shown.collect();
    if let Some(more) = run.apps.len().checked_sub(MOST_SHOWN).filter(|&more| more > 0) {
        out.push(format!("{more} more programs are in the table `apps`."));
    }
    out
}

fn of_app(run: &RunRecord, app: &AppRow) -> Vec<String> {
    let seconds = |ps: u64| quantity(Unit::Seconds, ps as f64 / 1e12);
    let end = match (app.start_ps, app.end_ps, app.exit) {
        (NEVER, ..) => "it did not start before the end".to_owned(),
        (_, NEVER, _) => "the end of the run stopped it".to_owned(),
        (start, end, exit) => format!("exit code {exit} after {}", seconds(end - start)),
    };
    let head = format!("{}, {}: `{}`: {end}", run.scheme, app.host, app.run);
    let lines: Vec<&str> = app.output.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.iter().skip(lines.len().saturating_sub(MOST_LINES));
    [head].into_iter().chain(last.map(|line| format!("    {line}"))).collect()
}
