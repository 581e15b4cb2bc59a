//! The comparison as a table for the terminal.

use super::{Row, Stated};
use std::fmt::Write;

/// Aligns columns, and shows the notes below the rows, each note once.
pub fn table(rows: &[Row]) -> String {
    let notes = notes(rows);
    let header = ["setup", "quantity", "paper", "ours", "", "unit", "note"].map(String::from);
    let lines: Vec<[String; 7]> = rows.iter().map(|row| cells(row, &notes)).collect();
    let all = || std::iter::once(&header).chain(&lines);
    let width = |at: usize| all().map(|cells| cells[at].chars().count()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(width);
    let mut out = String::new();
    all().for_each(|cells| line(&mut out, cells, &widths));
    out.push('\n');
    for (number, note) in (1..).zip(notes) {
        let _ = writeln!(out, "[{number}] {note}");
    }
    out
}

/// Different notes, in the order of the rows.
pub(super) fn notes(rows: &[Row]) -> Vec<&str> {
    let mut notes: Vec<&str> = Vec::new();
    for row in rows.iter().filter(|row| !row.note.is_empty()) {
        if !notes.contains(&row.note.as_str()) {
            notes.push(&row.note);
        }
    }
    notes
}

fn cells(row: &Row, notes: &[&str]) -> [String; 7] {
    let number = notes.iter().position(|note| *note == row.note);
    [
        row.setup(),
        row.quantity.into(),
        row.paper.map_or("-".into(), stated),
        short(row.ours.mean),
        half(row),
        row.unit.into(),
        number.map_or(String::new(), |at| format!("[{}]", at + 1)),
    ]
}

/// The value in the paper, as `> 900`.
pub(super) fn stated(stated: Stated) -> String {
    format!("{} {}", stated.sign(), short(stated.value()))
}

/// Our value, as `925 ± 1.2`.
pub(super) fn estimate(row: &Row) -> String {
    let half = half(row);
    short(row.ours.mean) + if half.is_empty() { "" } else { " " } + &half
}

/// Half of the interval, as `± 1.2`; nothing where it is only a rounding error.
fn half(row: &Row) -> String {
    let rounding = row.ours.mean.abs() * 1e-9;
    let zero = |half: f64| if half > rounding { half } else { 0.0 };
    row.ours.half.map_or(String::new(), |half| format!("± {}", short(zero(half))))
}

/// The number of significant digits that are shown, at least two.
pub(super) fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if size < 1e-6 => format!("{value:.0e}"),
        size if size < 1.0 => {
            let digits = (1.0 - size.log10().floor()) as usize;
            format!("{value:.digits$}")
        }
        size if size < 10.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Numbers to the right, text to the left.
fn line(out: &mut String, cells: &[String; 7], widths: &[usize; 7]) {
    let mut text = String::new();
    for (at, (cell, &width)) in cells.iter().zip(widths).enumerate() {
        let gap = if at == 0 { "" } else { "  " };
        let _ = match at {
            2 | 3 => write!(text, "{gap}{cell:>width$}"),
            4 => write!(text, " {cell:<width$}"),
            _ => write!(text, "{gap}{cell:<width$}"),
        };
    }
    let _ = writeln!(out, "{}", text.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_lab::statistics::{ANY, Estimate};

    #[test]
    fn notes_are_shown_once() {
        let row = |setup: &str, paper, mean, note: &str| Row {
            x: None,
            point: setup.split(", ").next().unwrap_or("").into(),
            scheme: setup.split(", ").nth(1).unwrap_or("").into(),
            quantity: "goodput",
            unit: "Mbit/s",
            paper,
            ours: Estimate { mean, half: Some(1.23), n: 3, possible: ANY },
            note: note.into(),
        };
        let rows = [
            row("N=1, tcp", None, 925.2, "lost figure"),
            row("N=10, tcp", Some(Stated::Over(900.0)), 5.25, "lost figure"),
            row("N=10, xco", Some(Stated::About(200.0)), 199.6, ""),
        ];
        let expected = "\
setup      quantity  paper  ours        unit    note
N=1, tcp   goodput       -   925 ± 1.2  Mbit/s  [1]
N=10, tcp  goodput   > 900   5.2 ± 1.2  Mbit/s  [1]
N=10, xco  goodput   ~ 200   200 ± 1.2  Mbit/s

[1] lost figure
";
        assert_eq!(table(&rows), expected);
    }

    #[test]
    fn small_numbers_have_two_digits() {
        let shown = [0.0, 0.015_23, 0.4, 0.96, 5.25, 99.6, 123_456.7, -0.05].map(short);
        assert_eq!(shown, ["0", "0.015", "0.40", "0.96", "5.2", "100", "123457", "-0.050"]);
    }
}
