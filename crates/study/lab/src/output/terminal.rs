//! Shows a result on the terminal: a table of schemes and metrics, then a verdict for each metric.

use crate::output::format::{self, Scale, several};
use crate::output::tally::{Tally, tallies};
use crate::output::{apps, counts, faults, stopped};
use crate::record::{FailedRun, RunSet};
use crate::statistics::{Estimate, Verdict};
use crate::summary::{Cell, EngineTotal, Summary};
use slotline_scenario::metric::Metric;

/// The most failed runs that are named on the terminal.
const MOST_FAILED: usize = 5;

/// The table, the verdicts and notes, for a terminal `width` columns wide.
pub fn table(set: &RunSet, width: usize) -> String {
    table_of(set, &Summary::of(set), width)
}

/// As [`table`], for a set whose summary is known.
pub fn table_of(set: &RunSet, summary: &Summary, width: usize) -> String {
    table_with_cost(set, summary, width, 0.0)
}

/// As [`table_of`]. If all of it took more processor time than its runs, `cpu_s`, that is shown.
pub fn table_with_cost(set: &RunSet, summary: &Summary, width: usize, cpu_s: f64) -> String {
    if set.schemes.iter().chain([&set.name]).any(|name| name.contains(char::is_control)) {
        let set = with_plain_names(set.clone());
        return table_with_cost(&set, &Summary::of(&set), width, cpu_s);
    }
    let metrics = summary.shown(set);
    let mut out = heading(set);
    for block in blocks(&columns(summary, &metrics), width) {
        out += &block;
    }
    out += &warnings(summary, width);
    out += &verdicts(summary, &metrics, set.seeds.len(), width);
    out += &notes(set, summary, width, cpu_s);
    out += &crate::expect::text(set, summary);
    out
}

/// `set` with names that neither break lines nor contain control characters of the terminal.
fn with_plain_names(mut set: RunSet) -> RunSet {
    let plain = |name: &mut String| {
        if name.contains(char::is_control) {
            *name = name.escape_debug().to_string();
        }
    };
    plain(&mut set.name);
    set.schemes.iter_mut().for_each(plain);
    set.runs.iter_mut().for_each(|run| plain(&mut run.scheme));
    set.failed.iter_mut().for_each(|run| plain(&mut run.scheme));
    set
}

/// One line that names the schemes and seeds.
fn heading(set: &RunSet) -> String {
    let counted = |n: usize, what: &str| several(n as u64, what);
    let (schemes, seeds) = (counted(set.schemes.len(), "scheme"), counted(set.seeds.len(), "seed"));
    format!("{}: {}, {schemes}, {seeds} each\n\n", set.name, set.fabric)
}

/// The names of metrics and quantities, their units, and a column for each scheme. The first line of each column is a
/// head.
fn columns(summary: &Summary, metrics: &[Metric]) -> Vec<Vec<String>> {
    let scales: Vec<Scale> = metrics.iter().map(|m| scale(summary, *m)).collect();
    let names = metrics.iter().map(|m| m.title().to_string());
    let units = scales.iter().map(|s| s.symbol.to_string());
    let head = |text: &str| std::iter::once(text.to_string());
    let mut columns = vec![head("").chain(names).collect(), head("").chain(units).collect()];
    for (at, scheme) in summary.schemes.iter().enumerate() {
        let cell = |(metric, scale): (&Metric, &Scale)| shown(summary.cell(at, *metric), *scale);
        columns.push(head(&scheme.name).chain(metrics.iter().zip(&scales).map(cell)).collect());
    }
    (0..summary.quantities.len()).for_each(|own| add_quantity(&mut columns, summary, own));
    columns
}

/// Adds the row of quantity number `own` of the scenario.
fn add_quantity(columns: &mut [Vec<String>], summary: &Summary, own: usize) {
    let spec = &summary.quantities[own];
    let values = || summary.schemes.iter().map(|scheme| scheme.quantities[own]);
    let largest = values().flatten().map(|value| value.mean.abs()).fold(0.0, f64::max);
    let scale = Scale::of(spec.unit(), largest);
    let shown = |value: Option<Estimate>| {
        value.map_or("-".into(), |value| format::estimate(&value, false, scale))
    };
    let row = [spec.name.clone(), scale.symbol.into()].into_iter().chain(values().map(shown));
    columns.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
}

/// The unit of a row. It suits the largest number of the row, so that all numbers of the row have the same unit.
fn scale(summary: &Summary, metric: Metric) -> Scale {
    let cells = (0..summary.schemes.len()).filter_map(|at| summary.cell(at, metric));
    let largest = cells.map(|cell| cell.estimate.mean.abs()).fold(0.0, f64::max);
    Scale::of(metric.unit(), largest)
}

fn shown(cell: Option<&Cell>, scale: Scale) -> String {
    cell.map_or("-".into(), |cell| format::estimate(&cell.estimate, cell.at_least, scale))
}

/// Blocks with as many schemes as fit side by side. Each block repeats the names and units.
fn blocks(columns: &[Vec<String>], width: usize) -> Vec<String> {
    let (fixed, schemes) = columns.split_at(2);
    let taken: usize = fixed.iter().map(|column| column_width(column) + 2).sum();
    let mut groups: Vec<Vec<&Vec<String>>> = vec![vec![]];
    let mut used = taken;
    for column in schemes {
        let needs = column_width(column) + 2;
        if used + needs > width && groups.last().is_some_and(|group| !group.is_empty()) {
            groups.push(vec![]);
            used = taken;
        }
        used += needs;
        groups.last_mut().into_iter().for_each(|group| group.push(column));
    }
    groups.iter().map(|group| block(fixed, group)).collect()
}

fn block(fixed: &[Vec<String>], schemes: &[&Vec<String>]) -> String {
    let mut out = String::new();
    for row in 0..fixed[0].len() {
        let mut line = String::new();
        for column in fixed {
            line += &(padded(&column[row], column_width(column), false) + "  ");
        }
        for column in schemes {
            line += &(padded(&column[row], column_width(column), true) + "  ");
        }
        out += line.trim_end();
        out.push('\n');
    }
    out + "\n"
}

/// Warnings that readers need before the verdicts.
fn warnings(summary: &Summary, width: usize) -> String {
    let lines: String = summary.warnings().map(|line| wrapped(line, width, 2)).collect();
    if lines.is_empty() { lines } else { format!("Warnings:\n{lines}\n") }
}

fn verdicts(summary: &Summary, metrics: &[Metric], seeds: usize, width: usize) -> String {
    let how = if seeds > 1 { "paired by seed" } else { "one seed, so differences may be chance" };
    let base = summary.schemes.first().map_or("", |scheme| &scheme.name);
    let names = metrics.iter().map(|m| text_width(m.title())).max().unwrap_or(0);
    let schemes = summary.schemes.iter().skip(1).zip(tallies(summary, metrics));
    let block = |(scheme, tally): (&crate::summary::SchemeSummary, Tally)| {
        let head = format!("{} against {base}, {how}:\n", scheme.name);
        let line = |(title, sentence): (&str, String)| {
            let name = padded(title, names, false);
            wrapped(&format!("  {name}  {sentence}"), width, names + 4)
        };
        let lines: String = tally.sentences().map(line).collect();
        match tally.those(Verdict::Idle).is_empty() {
            true => head + &lines + &without_difference(&tally, width) + "\n",
            false => wrapped(&tally.headline(), width, 2) + "\n",
        }
    };
    schemes.map(block).collect()
}

/// One line for all metrics without a significant difference.
fn without_difference(tally: &Tally, width: usize) -> String {
    let alike = tally.those(Verdict::NoDifference);
    let titles: Vec<&str> = alike.iter().map(|(metric, _)| metric.title()).collect();
    let line = |label: &str, titles: &[&str]| match titles {
        [] => String::new(),
        _ => wrapped(&format!("  {label}: {}", titles.join(", ")), width, 4),
    };
    line(format::EQUAL, &tally.same()) + &line(Verdict::NoDifference.text(), &titles)
}

/// Notes on the numbers, and the checks of the engine, one line each.
fn notes(set: &RunSet, summary: &Summary, width: usize, cpu_s: f64) -> String {
    let known = remarks(set, summary);
    let mut total = EngineTotal::of(&set.in_order());
    total.stats.cpu_s = total.stats.cpu_s.max(cpu_s);
    let trust = format::engine(&total, set.runs.len());
    let lines = |lines: &[String]| lines.iter().map(|l| wrapped(l, width, 2)).collect::<String>();
    let gap = if known.is_empty() { "" } else { "\n" };
    lines(&known) + gap + &lines(&trust)
}

/// A sentence for each of the first failed runs, and the number of the others.
pub fn failed(set: &RunSet) -> Vec<String> {
    let mut out: Vec<String> = set.failed.iter().take(MOST_FAILED).map(FailedRun::text).collect();
    if let Some(more) = set.failed.len().checked_sub(MOST_FAILED).filter(|more| *more > 0) {
        out.push(format!("{more} more runs failed; runs.json has all of them."));
    }
    out
}

fn remarks(set: &RunSet, summary: &Summary) -> Vec<String> {
    let mut out = Vec::new();
    if !set.complete() {
        let planned = set.schemes.len() * set.seeds.len();
        out.push(format!("Incomplete: {} of {planned} runs are done.", set.runs.len()));
    }
    out.extend(failed(set));
    out.extend(format::explanations(&summary.shown(set)).map(str::to_string));
    let zero: Vec<&str> = summary.zero(set).iter().map(|m| m.title()).collect();
    if !zero.is_empty() {
        out.push(format!("Zero in every run: {}.", zero.join(", ")));
    }
    if summary.has_bound(&summary.shown(set)) {
        out.push(format::BOUND_NOTE.into());
    }
    out.extend(counts::lines(summary));
    out.extend(faults::lines(set));
    out.extend(stopped::lines(set));
    out.extend(apps::lines(set));
    if summary.is_fixed() {
        out.push("All seeds give the same numbers: nothing in this scenario is random.".into());
    }
    out
}

/// Breaks `line` at spaces where it exceeds `width`, and indents the lines that follow.
pub(crate) fn wrapped(line: &str, width: usize, indent: usize) -> String {
    let indent = indent.min(width / 2);
    let mut lines = vec![String::new()];
    for word in line.split_inclusive(' ') {
        let full = lines.last().is_some_and(|last| {
            text_width(last) + text_width(word.trim_end()) > width && !last.trim().is_empty()
        });
        if full {
            lines.push(" ".repeat(indent));
        }
        lines.last_mut().into_iter().for_each(|last| last.push_str(word));
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

pub(crate) fn column_width(column: &[String]) -> usize {
    column.iter().map(|text| text_width(text)).max().unwrap_or(0)
}

pub(crate) fn padded(text: &str, width: usize, right: bool) -> String {
    let space = " ".repeat(width.saturating_sub(text_width(text)));
    if right { space + text } else { text.to_string() + &space }
}

/// The columns that `text` takes: none for combining marks, two for East Asian wide characters and
/// pictographs (the blocks of Unicode Standard Annex 11 that are wide throughout).
pub(crate) fn text_width(text: &str) -> usize {
    let one = |c: char| match u32::from(c) {
        0x0300..=0x036f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff => 2,
        0xfe30..=0xfe6f | 0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1faff => 2,
        0x20000..=0x3fffd => 2,
        _ => 1,
    };
    text.chars().map(one).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_answer() {
        let shown = table(&RunSet::example(3), 100);
        let expected = include_str!("../../tests/golden/terminal.txt");
        assert_eq!(shown, expected, "got:\n{shown}");
    }

    #[test]
    fn narrow_screens_are_respected() {
        for width in [50, 64, 80] {
            for line in table(&RunSet::example(3), width).lines().skip(1) {
                assert!(text_width(line) <= width, "{width}: {line}");
            }
        }
    }

    #[test]
    fn a_single_seed_is_no_verdict() {
        let shown = table(&RunSet::example(1), 100);
        let verdicts = shown.split("dctcp against").nth(1).unwrap_or_default();
        assert!(
            verdicts.starts_with(" tcp, one seed, so differences may be chance:\n"),
            "{verdicts}"
        );
        assert!(verdicts.contains("% lower\n") && !verdicts.contains("better"), "{verdicts}");
    }

    #[test]
    fn an_interrupted_comparison_is_marked() {
        let mut set = RunSet::example(3);
        set.runs.truncate(4);
        assert!(table(&set, 100).contains("Incomplete: 4 of 9 runs are done."));
    }

    #[test]
    fn wide_characters_are_aligned() {
        assert_eq!(text_width("µ ± ≥"), 5);
        assert_eq!(padded("方案", 6, true), "  方案");
        assert_eq!(padded("e\u{301}", 2, false), "e\u{301} ");
    }
}
