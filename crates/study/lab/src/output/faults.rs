//! What was found to be faulty: as a table of the result, on the terminal, and on the page.

use super::report::html::escape;
use super::table::{Cell, Column, Table, fit, set};
use super::tables::{field, scheme, seed};
use super::words::{grouped, quantity};
use crate::metrics::Unit;
use crate::record::{FaultRow, NEVER, RunRecord, RunSet};
use std::borrow::Cow;

/// Faults that are told on the terminal, at most.
const TOLD: usize = 6;
/// Faults that are listed on the page, at most.
const LISTED: usize = 200;

/// One row per fault.
pub static FAULTS: Table<FaultRow> = Table {
    name: "faults",
    meaning: "One row per link or switch that a central scheme has found to be faulty, in the order \
              they were found.",
    csv: true,
    rows: |run| Cow::Borrowed(&run.faults),
    len: |run| run.faults.len(),
    blank: FaultRow::default,
    columns: &[
        scheme(),
        seed(),
        Column {
            name: "name",
            meaning: "Its name, as events have it.",
            cell: Cell::Text(|f| &f.name, |f, v| set(&mut f.name, Some(v.into()))),
        },
        field!("switch", Flag, switch, "It is a switch; otherwise it is a link."),
        field!("found_ps", Count, found_ps, "When it was named."),
        field!(
            "avoided_ps",
            Maybe,
            avoided_ps,
            "When the first timeslot began that was kept away from it; null where the run ended before."
        ),
        field!("cleared_ps", Maybe, cleared_ps, "When it was used again; null where it was not."),
    ],
};

/// All faults with their runs.
fn all(set: &RunSet) -> Vec<(&RunRecord, &FaultRow)> {
    let runs = set.in_order().into_iter();
    runs.flat_map(|run| run.faults.iter().map(move |fault| (run, fault))).collect()
}

fn kind(fault: &FaultRow) -> &'static str {
    if fault.switch { "switch" } else { "link" }
}

fn time(ps: u64) -> Option<String> {
    (ps != NEVER).then(|| quantity(Unit::Seconds, ps as f64 / 1e12))
}

/// A sentence for each fault, and how many more there are.
pub fn told(set: &RunSet) -> Vec<String> {
    let all = all(set);
    let mut out: Vec<String> = all.iter().take(TOLD).map(|(run, f)| sentence(run, f)).collect();
    if let Some(more) = all.len().checked_sub(TOLD).filter(|&more| more > 0) {
        out.push(format!("{} more faults found: see faults.csv.", grouped(more as u64)));
    }
    out
}

fn sentence(run: &RunRecord, fault: &FaultRow) -> String {
    let then = |words: &str, ps: u64| time(ps).map(|t| format!(", {words} {t}"));
    format!(
        "{}, seed {}: {} {} found faulty at {}{}{}.",
        run.scheme,
        run.seed,
        kind(fault),
        fault.name,
        time(fault.found_ps).unwrap_or_default(),
        then("avoided from", fault.avoided_ps).unwrap_or_default(),
        then("used again from", fault.cleared_ps).unwrap_or_default(),
    )
}

/// A table of all faults as HTML; `None` where none was found.
pub fn page(set: &RunSet) -> Option<String> {
    let all = all(set);
    let heads = ["Scheme", "Seed", "Part", "Found", "Avoided from", "Used again from"];
    let heads = heads.map(|head| format!("<th scope=\"col\">{head}</th>")).concat();
    let row = |(run, fault): &(&RunRecord, &FaultRow)| {
        let times = [fault.found_ps, fault.avoided_ps, fault.cleared_ps];
        let times = times.map(|ps| format!("<td>{}</td>", time(ps).unwrap_or("–".into())));
        format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{} {}</td>{}</tr>\n",
            escape(&run.scheme),
            run.seed,
            kind(fault),
            escape(&fault.name),
            times.concat()
        )
    };
    let rows: String = all.iter().take(LISTED).map(row).collect();
    let more = match all.len().saturating_sub(LISTED) {
        0 => String::new(),
        n => format!(" {} more are in faults.csv.", grouped(n as u64)),
    };
    (!all.is_empty()).then(|| {
        format!(
            "<p>What the arbiter found to be faulty from reports of lost packets, when packets were first \
             kept away from it, and when tries had shown that it works.{more}</p>\n\
             <div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table of faults\">\
             <table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::tests::fake;

    fn broken(faults: u64) -> RunSet {
        let mut set = fake(1);
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
    fn faults_are_told_by_name_and_time() {
        assert_eq!(
            told(&broken(1)),
            ["tcp, seed 1: link leaf0-spine<2> found faulty at 2.500 ms, avoided from 2.600 ms."]
        );
        assert_eq!(told(&broken(9)).last().unwrap(), "3 more faults found: see faults.csv.");
        let page = page(&broken(1)).unwrap();
        assert!(page.contains("<td>link leaf0-spine&lt;2&gt;</td><td>2.500 ms</td>"), "{page}");
        assert!(page.contains("<td>–</td></tr>"), "it is not used again: {page}");
    }

    #[test]
    fn without_faults_nothing_is_said() {
        assert_eq!((told(&fake(2)), page(&fake(2))), (vec![], None));
    }
}
