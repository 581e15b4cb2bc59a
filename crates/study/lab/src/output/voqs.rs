//! The queues of a hybrid fabric's racks: as a table of the result, and on the page.

use super::report::html::escape;
use super::table::{Cell, Column, Table, fit};
use super::tables::{field, scheme, seed};
use super::words::{grouped, quantity};
use crate::metrics::Unit;
use crate::record::{RunRecord, RunSet, VoqRow};
use std::borrow::Cow;
use std::cmp::Reverse;

/// Queues of a scheme that are listed on the page, at most.
const LISTED: usize = 12;

/// One row per queue that had packets.
pub static VOQS: Table<VoqRow> = Table {
    name: "voqs",
    meaning: "One row per queue of a hybrid fabric's rack for another rack, where any packet came.",
    csv: true,
    rows: |run| Cow::Borrowed(&run.voqs),
    len: |run| run.voqs.len(),
    blank: VoqRow::default,
    columns: &[
        scheme(),
        seed(),
        field!("src_rack", Count, src_rack, "Number of the rack where it is."),
        field!("dst_rack", Count, dst_rack, "Number of the rack that it is for."),
        field!("packets", Count, packets, "Packets that came, those dropped included."),
        field!("circuit_bytes", Count, circuit_bytes, "Bytes that left by a circuit."),
        field!(
            "packet_switch_bytes",
            Count,
            packet_switch_bytes,
            "Bytes that left by the packet switch."
        ),
        field!("drops", Count, drops, "Packets that found it full."),
        field!("resize_drops", Count, resize_drops, "Packets dropped as it was made shorter."),
        field!("resizes", Count, resizes, "How often its size was changed."),
        field!("longest", Count, longest, "Most packets that waited at a time."),
        field!(
            "mean_wait_ps",
            Count,
            mean_wait_ps,
            "How long packets that left had waited, on average."
        ),
        field!("circuit_up_ps", Count, circuit_up_ps, "How long there was a circuit."),
    ],
};

/// The queues with most bytes of each scheme's first run as HTML; `None` where there are none.
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
            "<p>Queues of racks for other racks, in each scheme's first run: the {LISTED} that most bytes \
             went through. All are in voqs.csv.</p>\n\
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
    use crate::output::tests::fake;

    #[test]
    fn the_page_lists_the_busiest_queues() {
        let mut set = fake(1);
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
