//! The table of components that were found faulty.

use super::html::escape;
use slotline_lab::output::faults::{all, kind, time};
use slotline_lab::output::format::grouped;
use slotline_lab::record::{FaultRow, RunRecord, RunSet};

/// The largest number of faults that are listed.
const LISTED: usize = 200;

/// The table of all faults as HTML; `None` if no fault was found.
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
            "<p>The table lists the components that the arbiter found faulty from reports of lost packets, when packets first avoided them, and when probes showed that they work again.{more}</p>\n\
             <div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table of faults\">\
             <table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_listed_with_their_times() {
        let mut set = RunSet::example(1);
        assert_eq!(page(&set), None);
        set.runs[0].faults = vec![FaultRow {
            name: "leaf0-spine<2>".into(),
            found_ps: 2_500_000_000,
            avoided_ps: 2_600_000_000,
            ..FaultRow::default()
        }];
        let page = page(&set).unwrap();
        assert!(page.contains("<td>link leaf0-spine&lt;2&gt;</td><td>2.500 ms</td>"), "{page}");
        assert!(page.contains("<td>–</td></tr>"), "it is not used again: {page}");
    }
}
