//! The table of the queues of racks on a hybrid fabric.

use super::html::escape;
use slotline_lab::output::format::{grouped, quantity};
use slotline_lab::record::{RunRecord, RunSet, VoqRow};
use slotline_scenario::metric::Unit;
use std::cmp::Reverse;

/// The largest number of queues of a scheme that are listed.
const LISTED: usize = 12;

/// The queues with the most bytes of each scheme's first run as HTML; `None` if there are none.
pub fn page(set: &RunSet) -> Option<String> {
    let first = set.schemes.iter().filter_map(|scheme| set.of(scheme).into_iter().next());
    let rows: String = first.flat_map(busiest).map(|(run, row)| line(run, row)).collect();
    let heads = [
        "Scheme",
        "From",
        "To",
        "By circuits",
        "By packet switch",
        "Mean wait",
        "Longest",
        "Dropped",
        "Dropped by resizing",
        "Resizes",
    ];
    let heads = heads.map(|head| format!("<th scope=\"col\">{head}</th>")).concat();
    (!rows.is_empty()).then(|| {
        format!(
            "<p>The table lists the {LISTED} queues of racks for other racks that sent the most bytes in the first run of each scheme. All queues are in voqs.csv.</p>\n\
             <div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table of queues\">\
             <table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
        )
    })
}

fn busiest(run: &RunRecord) -> Vec<(&RunRecord, &VoqRow)> {
    let mut rows: Vec<&VoqRow> = run.voqs.iter().collect();
    rows.sort_by_key(|row| Reverse(row.circuit_bytes.saturating_add(row.packet_switch_bytes)));
    rows.into_iter().take(LISTED).map(|row| (run, row)).collect()
}

fn line(run: &RunRecord, row: &VoqRow) -> String {
    let bytes = |bytes: u64| quantity(Unit::Bytes, bytes as f64);
    let cells = [
        row.src_rack.to_string(),
        row.dst_rack.to_string(),
        bytes(row.circuit_bytes),
        bytes(row.packet_switch_bytes),
        quantity(Unit::Seconds, row.mean_wait_ps as f64 * 1e-12),
        grouped(row.longest),
        grouped(row.drops),
        grouped(row.resize_drops),
        grouped(row.resizes),
    ];
    let cells = cells.map(|cell| format!("<td>{cell}</td>")).concat();
    format!("<tr><th scope=\"row\">{}</th>{cells}</tr>\n", escape(&run.scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_lists_the_busiest_queues() {
        let mut set = RunSet::example(1);
        assert_eq!(page(&set), None);
        let row = |at: u32| VoqRow {
            dst_rack: at,
            circuit_bytes: u64::from(at) * 1_000_000,
            mean_wait_ps: 2_500_000,
            ..VoqRow::default()
        };
        set.runs[0].voqs = (0..20).map(row).collect();
        let page = page(&set).expect("queues");
        assert_eq!(page.matches("<tr><th scope=\"row\">").count(), LISTED);
        assert!(
            page.contains("<td>0</td><td>19</td><td>19 MB</td><td>0 B</td><td>2.500 µs</td>"),
            "{page}"
        );
        assert!(!page.contains("<td>7 MB</td>"));
    }
}
