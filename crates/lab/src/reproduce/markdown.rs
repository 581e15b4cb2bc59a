//! The comparison as a Markdown table, for documents: a line for each point, a column for each quantity
//! of each scheme.

use super::Row;
use super::table::{estimate, stated};
use std::fmt::Write;

/// The table. What the paper's text says stands in brackets behind our value.
pub fn markdown(rows: &[Row]) -> String {
    let points = distinct(rows, |row| row.point.clone());
    let columns = distinct(rows, |row| (row.scheme.clone(), row.quantity, row.unit));
    let mut out = String::from("| |");
    for (scheme, quantity, unit) in &columns {
        let comma = if scheme.is_empty() { "" } else { ": " };
        let unit = if *unit == "1" { String::new() } else { format!(", {unit}") };
        let _ = write!(out, " {scheme}{comma}{quantity}{unit} |");
    }
    let _ = writeln!(out, "\n|---|{}", "---:|".repeat(columns.len()));
    for point in points {
        let _ = write!(out, "| {point} |");
        for column in &columns {
            let here = |row: &&Row| {
                row.point == point
                    && row.scheme == column.0
                    && (row.quantity, row.unit) == (column.1, column.2)
            };
            let _ = write!(out, " {} |", rows.iter().find(here).map_or(String::new(), cell));
        }
        out.push('\n');
    }
    out
}

fn cell(row: &Row) -> String {
    let ours = estimate(row);
    row.paper.map_or(ours.clone(), |paper| format!("{ours} ({})", stated(paper)))
}

/// What `of` says of rows, each once, in order.
fn distinct<T: PartialEq>(rows: &[Row], of: impl Fn(&Row) -> T) -> Vec<T> {
    let mut all = Vec::new();
    for one in rows.iter().map(of) {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::Stated;
    use super::*;
    use crate::statistics::Estimate;

    #[test]
    fn points_go_down_and_schemes_across() {
        let row = |point: &str, scheme: &str, quantity, mean, paper| Row {
            x: None,
            point: point.into(),
            scheme: scheme.into(),
            quantity,
            unit: "Mbit/s",
            paper,
            ours: Estimate { mean, half: Some(1.5), n: 3 },
            note: String::new(),
        };
        let rows = [
            row("K=0", "tcp", "goodput", 941.2, Some(Stated::Over(900.0))),
            row("K=0", "xco", "goodput", 940.0, None),
            row("K=1", "xco", "goodput", 939.0, Some(Stated::Under(2.5))),
            row("K=1", "", "share", 1.0, None),
        ];
        let expected = "\
| | tcp: goodput, Mbit/s | xco: goodput, Mbit/s | share, Mbit/s |
|---|---:|---:|---:|
| K=0 | 941 ± 1.5 (> 900) | 940 ± 1.5 |  |
| K=1 |  | 939 ± 1.5 (< 2.5) | 1.0 ± 1.5 |
";
        assert_eq!(markdown(&rows), expected);
    }
}
