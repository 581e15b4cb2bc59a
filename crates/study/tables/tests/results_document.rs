//! `docs/results.md` describes every table and column of a result as the program writes them.

use slotline_tables::table::{ColumnAbout, TableAbout, columns};
use std::fs;
use std::path::Path;

const BEGIN: &str = "<!-- tables -->\n";
const END: &str = "<!-- end of tables -->\n";

#[test]
fn the_document_has_every_table_and_column() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/results.md");
    let document = fs::read_to_string(&path).expect("a readable document");
    let (_, rest) = document.split_once(BEGIN).expect("the beginning of the tables");
    let (shown, _) = rest.split_once(END).expect("the end of the tables");
    let right: String = columns().iter().map(table).collect();
    let why = format!("between `{}` and `{}` write:\n{right}", BEGIN.trim(), END.trim());
    assert!(shown == right, "{}: {why}", path.display());
}

fn table(table: &TableAbout) -> String {
    let csv = if table.csv { format!(" and `{}.csv`", table.name) } else { String::new() };
    let rows: String = table.columns.iter().map(row).collect();
    format!(
        "\n### `{}`\n\n{} In `{0}.parquet`{csv}.\n\n| column | type | unit | meaning |\n|---|---|---|---|\n{rows}",
        table.name, table.meaning
    )
}

fn row(column: &ColumnAbout) -> String {
    let ColumnAbout { name, kind, meaning } = column;
    format!("| `{name}` | {} | {} | {meaning} |\n", kind.name(), unit(name))
}

/// The unit follows from the name.
fn unit(name: &str) -> &'static str {
    let units = [("ps", "ps"), ("ns", "ns"), ("bps", "bit/s"), ("bytes", "B")];
    let last = name.rsplit('_').next().unwrap_or(name);
    units.iter().find(|(end, _)| *end == last).map_or("-", |(_, unit)| unit)
}
