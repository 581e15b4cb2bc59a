//! Shows a comparison of two results on the terminal.

use super::{Diff, SchemeDiff};
use crate::change::{Change, Pairing};
use crate::output::format::{self, Scale, several};
use crate::output::terminal::{column_width, padded, wrapped};
use crate::statistics::{Comparison, Verdict};
use slotline_scenario::metric::Metric;

/// The most differences of scenarios that are shown.
const MOST_DIFFERENCES: usize = 40;

/// The whole comparison, for a terminal `width` columns wide.
pub fn text(diff: &Diff, width: usize) -> String {
    let mut out = heading(diff, width);
    if diff.identical {
        out += "Identical results: the digests of all runs are equal.\n\n";
    }
    for scheme in &diff.schemes {
        out += &table(scheme, width);
    }
    out + &conclusion(diff, width)
}

/// The differences other than those of metrics.
fn heading(diff: &Diff, width: usize) -> String {
    let mut lines = Vec::new();
    let (old, new) = &diff.versions;
    if old != new {
        lines.push(format!("The old result was made by slotline {old}, the new one by {new}."));
    }
    for (complete, side) in [(diff.complete.0, "old"), (diff.complete.1, "new")] {
        if !complete {
            lines.push(format!("The {side} result is incomplete: its run was stopped."));
        }
    }
    match diff.differences.is_empty() {
        true => lines.push("The scenarios are the same.".into()),
        false => lines.push("The scenarios differ:".into()),
    }
    let first = diff.differences.iter().take(MOST_DIFFERENCES);
    lines.extend(first.map(|difference| format!("  {}", difference.text())));
    if diff.differences.len() > MOST_DIFFERENCES {
        lines.push(format!("  and {} more", diff.differences.len() - MOST_DIFFERENCES));
    }
    lines.iter().map(|line| wrapped(line, width, 4)).collect::<String>() + "\n"
}

fn table(scheme: &SchemeDiff, width: usize) -> String {
    let mut out = wrapped(&format!("{}, {}:", scheme.name, how(scheme)), width, 2);
    let alike = |(_, change): &&(Metric, Change)| {
        change.comparison.is_some_and(|c| c.verdict == Verdict::NoDifference) && !change.regression
    };
    let (same, different): (Vec<_>, Vec<_>) = scheme.changes.iter().partition(alike);
    let rows: Vec<[String; 5]> =
        different.iter().map(|(metric, change)| row(*metric, change)).collect();
    let head = ["", "", "old", "new", ""].map(String::from);
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(rows).collect();
    if rows.len() > 1 {
        let column =
            |at: usize| -> Vec<String> { rows.iter().map(|row| row[at].clone()).collect() };
        let widths: Vec<usize> = (0..4).map(|at| column_width(&column(at))).collect();
        for row in &rows {
            let cell = |at: usize| padded(&row[at], widths[at], at >= 2);
            let cells: Vec<String> = (0..4).map(cell).collect();
            let line = format!("  {}  {}", cells.join("  "), row[4]);
            out += &wrapped(line.trim_end(), width, 6);
        }
    }
    let titles: Vec<&str> = same.iter().map(|(metric, _)| metric.title()).collect();
    if !titles.is_empty() {
        let label = Verdict::NoDifference.text();
        out += &wrapped(&format!("  {label}: {}", titles.join(", ")), width, 4);
    }
    for gap in &scheme.gaps {
        let line = format!("  {}: not measured on both sides, cannot be compared", gap.title());
        out += &wrapped(&line, width, 4);
    }
    out + "\n"
}

fn how(scheme: &SchemeDiff) -> String {
    match (scheme.pairing, scheme.runs) {
        _ if scheme.identical => "identical runs".into(),
        (Pairing::BySeed, (1, _)) => "one seed, so differences may be chance".into(),
        (Pairing::BySeed, (n, _)) => format!("paired by seed, {n} seeds"),
        (Pairing::Independent, (old, new)) if old.min(new) == 1 => {
            format!("other seeds ({old} and {new}), one on a side, so differences may be chance")
        }
        (Pairing::Independent, (old, new)) => format!("other seeds ({old} and {new}), not paired"),
    }
}

/// The cells of a row: name, unit, old value, new value, and verdict.
fn row(metric: Metric, change: &Change) -> [String; 5] {
    let largest = change.old.estimate.mean.abs().max(change.new.estimate.mean.abs());
    let scale = Scale::of(metric.unit(), largest);
    let side = |side: &crate::change::Side| format::estimate(&side.estimate, side.at_least, scale);
    let judgement = match change.comparison {
        Some(comparison) => sentence(metric, &comparison, change.regression),
        None => "no judgement".into(),
    };
    [metric.title().into(), scale.symbol.into(), side(&change.old), side(&change.new), judgement]
}

fn sentence(metric: Metric, comparison: &Comparison, regression: bool) -> String {
    let label = match comparison.verdict {
        Verdict::TooFew => format::extent(metric, comparison),
        _ => format::verdict(metric, comparison),
    };
    if regression { format!("{label}  REGRESSION") } else { label }
}

fn conclusion(diff: &Diff, width: usize) -> String {
    let tolerance = format!("{} %", (diff.question.tolerance * 1e6).round() / 1e4);
    let regressions = diff.regressions();
    let mut lines = Vec::new();
    if !diff.added.is_empty() {
        lines.push(format!("Only in the new result: {}.", diff.added.join(", ")));
    }
    if diff.schemes.iter().any(|s| s.changes.iter().any(|(_, c)| c.old.at_least || c.new.at_least))
    {
        lines.push(
            "≥ is a lower bound: unfinished flows count with their time until the end of the run."
                .into(),
        );
    }
    if diff.schemes.iter().any(|scheme| !scheme.gaps.is_empty()) {
        lines.push("Some metrics cannot be compared; choose others with --metric.".into());
    }
    match regressions.len() {
        0 => lines.push(format!("No regression beyond {tolerance}.")),
        n => {
            let name = |(scheme, metric): &(&str, Metric)| format!("{scheme}: {}", metric.title());
            let names: Vec<String> = regressions.iter().map(name).collect();
            let found = several(n as u64, "regression");
            lines.push(format!("{found} beyond {tolerance}: {}.", names.join("; ")));
        }
    }
    lines.iter().map(|line| wrapped(line, width, 2)).collect()
}
