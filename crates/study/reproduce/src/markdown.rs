//! The comparison as a Markdown table. It has a line for each point and a column for each quantity of each scheme. If
//! there would be too many columns, it has a line for each scheme at each point.

use super::Row;
use super::table::{estimate, stated};
use std::fmt::Write;

/// The largest number of columns of values with schemes side by side.
const WIDE: usize = 8;

/// The table. The value in the text of the paper follows ours in brackets.
pub fn markdown(rows: &[Row]) -> String {
    let across = distinct(rows, |row| (row.scheme.clone(), row.quantity.clone(), row.unit.clone()));
    if across.len() <= WIDE {
        return table(rows, |row| row.point.clone(), |row| title(&row.scheme, row));
    }
    table(rows, |row| joined(&row.point, ", ", &row.scheme), |row| title("", row))
}

fn table(rows: &[Row], line: impl Fn(&Row) -> String, column: impl Fn(&Row) -> String) -> String {
    let (lines, columns) = (distinct(rows, &line), distinct(rows, &column));
    let mut out =
        format!("| | {} |\n|---|{}\n", columns.join(" | "), "---:|".repeat(columns.len()));
    for at in lines {
        let _ = write!(out, "| {at} |");
        for at_column in &columns {
            let here = |row: &&Row| line(row) == at && column(row) == *at_column;
            let _ = write!(out, " {} |", rows.iter().find(here).map_or(String::new(), cell));
        }
        out.push('\n');
    }
    out
}

fn title(scheme: &str, row: &Row) -> String {
    let unit = match row.unit.as_ref() {
        "" | "1" => String::new(),
        unit => format!(", {unit}"),
    };
    joined(scheme, ": ", &format!("{}{unit}", row.quantity))
}

/// Both texts with `between`, or the one that is not empty.
fn joined(first: &str, between: &str, second: &str) -> String {
    let between = if first.is_empty() || second.is_empty() { "" } else { between };
    format!("{first}{between}{second}")
}

fn cell(row: &Row) -> String {
    let ours = estimate(&row.ours);
    row.paper.map_or(ours.clone(), |paper| format!("{ours} ({})", stated(paper)))
}

/// The different values of `of` over the rows, in order.
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
    use slotline_lab::statistics::{ANY, Estimate};

    #[test]
    fn points_go_down_and_schemes_across() {
        let row = |point: &str, scheme: &str, quantity: &'static str, mean, paper| Row {
            x: None,
            point: point.into(),
            scheme: scheme.into(),
            quantity: quantity.into(),
            unit: "Mbit/s".into(),
            paper,
            ours: Estimate::read(mean, Some((mean - 1.5, mean + 1.5)), 3),
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

    #[test]
    fn many_schemes_go_down() {
        let row = |scheme: usize, quantity: &'static str| Row {
            x: None,
            point: "K=0".into(),
            scheme: format!("s{scheme}"),
            quantity: quantity.into(),
            unit: "1".into(),
            paper: None,
            ours: Estimate { mean: scheme as f64 + 1.0, half: None, n: 1, possible: ANY },
            note: String::new(),
        };
        let rows: Vec<Row> = (0..5).flat_map(|at| [row(at, "a"), row(at, "b")]).collect();
        let expected =
            "| | a | b |\n|---|---:|---:|\n| K=0, s0 | 1.0 | 1.0 |\n| K=0, s1 | 2.0 | 2.0 |\n";
        assert!(markdown(&rows).starts_with(expected), "{}", markdown(&rows));
    }
}
