//! The comparison as a table for the terminal.

use super::{Findings, Row, Stated};
use slotline_lab::statistics::Estimate;
use std::fmt::Write;

/// Columns of the table. Those of real hosts are shown if there are any.
const HEADER: [&str; 9] =
    ["setup", "quantity", "paper", "ours", "", "emulated", "", "unit", "note"];
const EMULATED: usize = 5;

/// Aligns columns, and prints each note once below the rows.
pub fn table(findings: &Findings) -> String {
    let notes = notes(&findings.rows);
    let cells = |(at, row)| cells(row, emulated(findings, at), &notes);
    let mut all = vec![HEADER.map(String::from)];
    all.extend(findings.rows.iter().enumerate().map(cells));
    if findings.emulated.is_none() {
        all.iter_mut().for_each(|cells| cells[EMULATED].clear());
    }
    let width = |at: usize| all.iter().map(|cells| cells[at].chars().count()).max().unwrap_or(0);
    let widths: [usize; 9] = std::array::from_fn(width);
    let mut out = String::new();
    all.iter().for_each(|cells| line(&mut out, cells, &widths));
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

/// The result of real hosts in row `at`.
pub(super) fn emulated(findings: &Findings, at: usize) -> Option<&Estimate> {
    findings.emulated.as_ref()?.values.get(at)?.as_ref()
}

fn cells(row: &Row, emulated: Option<&Estimate>, notes: &[&str]) -> [String; 9] {
    let number = notes.iter().position(|note| *note == row.note);
    [
        row.setup(),
        row.quantity.to_string(),
        row.paper.map_or("-".into(), stated),
        short(row.ours.mean),
        half(&row.ours),
        emulated.map_or("-".into(), |value| short(value.mean)),
        emulated.map_or(String::new(), half),
        row.unit.to_string(),
        number.map_or(String::new(), |at| format!("[{}]", at + 1)),
    ]
}

/// The value in the paper, such as `> 900`.
pub(super) fn stated(stated: Stated) -> String {
    format!("{} {}", stated.sign(), short(stated.value()))
}

/// A value, such as `925 ± 1.2`.
pub(super) fn estimate(value: &Estimate) -> String {
    let half = half(value);
    short(value.mean) + if half.is_empty() { "" } else { " " } + &half
}

/// Half of the interval, such as `± 1.2`; empty if it is only a rounding error.
fn half(value: &Estimate) -> String {
    let rounding = value.mean.abs() * 1e-9;
    let zero = |half: f64| if half > rounding { half } else { 0.0 };
    value.half.map_or(String::new(), |half| format!("± {}", short(zero(half))))
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

/// Aligns numbers to the right and text to the left. Columns without any text are left out.
fn line(out: &mut String, cells: &[String; 9], widths: &[usize; 9]) {
    let mut text = String::new();
    for (at, (cell, &width)) in cells.iter().zip(widths).enumerate() {
        let gap = if at == 0 { "" } else { "  " };
        let _ = match at {
            EMULATED if width == 0 => Ok(()),
            2 | 3 | EMULATED => write!(text, "{gap}{cell:>width$}"),
            6 if width == 0 => Ok(()),
            4 | 6 => write!(text, " {cell:<width$}"),
            _ => write!(text, "{gap}{cell:<width$}"),
        };
    }
    let _ = writeln!(out, "{}", text.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Emulated;
    use slotline_lab::statistics::ANY;

    #[test]
    fn notes_are_shown_once() {
        let row = |setup: &str, paper, mean, note: &str| Row {
            x: None,
            point: setup.split(", ").next().unwrap_or("").into(),
            scheme: setup.split(", ").nth(1).unwrap_or("").into(),
            quantity: "goodput".into(),
            unit: "Mbit/s".into(),
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
        let mut findings = Findings { rows: rows.to_vec(), ..Findings::default() };
        assert_eq!(table(&findings), expected);
        let value = Estimate { mean: 901.0, half: None, n: 1, possible: ANY };
        findings.emulated =
            Some(Emulated { values: vec![Some(value), None, None], emulation: Default::default() });
        let shown = table(&findings);
        let first: Vec<&str> = shown.lines().take(3).collect();
        let expected = [
            "setup      quantity  paper  ours        emulated  unit    note",
            "N=1, tcp   goodput       -   925 ± 1.2       901  Mbit/s  [1]",
            "N=10, tcp  goodput   > 900   5.2 ± 1.2         -  Mbit/s  [1]",
        ];
        assert_eq!(first, expected);
    }

    #[test]
    fn small_numbers_have_two_digits() {
        let shown = [0.0, 0.015_23, 0.4, 0.96, 5.25, 99.6, 123_456.7, -0.05].map(short);
        assert_eq!(shown, ["0", "0.015", "0.40", "0.96", "5.2", "100", "123457", "-0.050"]);
    }
}
