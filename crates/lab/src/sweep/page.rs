//! `sweep.html`: the table, and each metric against the parameter with the most values.

use super::part::{Sweep, json_shown};
use super::plot::{Axis, Line, escape, style, svg};
use super::rows::{Row, of_rows};
use super::table::{quantity, unit_of};
use crate::metrics::Metric;
use std::collections::BTreeMap;

/// Lines in one plot, at most; the rest is in the table.
const MOST_LINES: usize = 32;

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --grid: #ddd; --c0: #0072b2; --c1: #d55e00;
  --c2: #009e73; --c3: #cc79a7; --c4: #e69f00; --c5: #56b4e9; --c6: #777; --c7: #b5a900; }
@media (prefers-color-scheme: dark) { :root { --ink: #eee; --paper: #161616; --grid: #444; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--ink); background: var(--paper); }
figure { margin: 0 0 2rem; } svg { width: 100%; max-width: 44rem; } svg text { fill: var(--ink); font-size: 12px; }
.grid { stroke: var(--grid); fill: none; } .line { fill: none; stroke-width: 2; }
.key { display: inline-block; margin-right: 1.5rem; } .key svg { width: 2.5rem; height: .8rem; }
pre { overflow-x: auto; font-size: 13px; }
";

/// The page; it needs nothing else.
pub fn html(sweep: &Sweep) -> String {
    let name = escape(&sweep.name);
    let done = sweep.points.len() - sweep.points.iter().filter(|p| p.digest.is_none()).count();
    let plots: String =
        sweep.shown().into_iter().filter_map(|metric| plot(sweep, metric)).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{name}</title>\n\
         <style>{STYLE}</style>\n<h1>{name}</h1>\n<p>{done} of {} points. Means over repetitions, ± half \
         the 95 % confidence interval. All numbers are in <code>sweep.csv</code>; \
         <code>sweep.vl.json</code> draws it with Vega-Lite, with intervals.</p>\n{plots}\
         <h2>All points</h2>\n<pre>{}</pre>\n</html>\n",
        sweep.points.len(),
        escape(&sweep.table(usize::MAX / 2)),
    )
}

/// `metric` against the parameter with the most values, if that has numbers.
fn plot(sweep: &Sweep, metric: Metric) -> Option<String> {
    let across = sweep.across()?;
    let unit = unit_of(sweep.column(across))?;
    let label = &of_rows(&sweep.parameters).nth(across)?.label;
    let mut lines = lines(sweep, across, metric);
    let more = lines.len().saturating_sub(MOST_LINES);
    lines.truncate(MOST_LINES);
    let more =
        if more > 0 { format!("{more} more lines are in the table only.") } else { String::new() };
    let y = Axis { label: metric.title(), unit: metric.unit(), log: false };
    let x = Axis { label, unit, log: false };
    let title = format!("{} against {label}", metric.title());
    let keys: String = lines.iter().enumerate().map(|(at, line)| key(at, line)).collect();
    Some(format!(
        "<figure><h2>{}</h2>\n{}<figcaption>{keys}{more}</figcaption></figure>\n",
        escape(&title),
        svg(&title, x, y, &lines)
    ))
}

/// A line for each scheme and each setting of the other parameters.
fn lines(sweep: &Sweep, across: usize, metric: Metric) -> Vec<Line> {
    let mut lines: Vec<Line> = vec![];
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for row in &sweep.rows {
        let x = row.settings[across].as_ref().and_then(quantity);
        let y = row.metrics.get(&metric).and_then(|entry| entry.mean);
        let Some((x, y)) = x.map(|(x, _)| x).zip(y) else { continue };
        let name = line_name(sweep, row, across);
        let place = *places.entry(name.clone()).or_insert(lines.len());
        match lines.get_mut(place) {
            Some(line) => line.points.push((x, y)),
            None => lines.push(Line { name, points: vec![(x, y)] }),
        }
    }
    lines.iter_mut().for_each(|line| line.points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    lines
}

fn line_name(sweep: &Sweep, row: &Row, across: usize) -> String {
    let pairs = of_rows(&sweep.parameters).zip(&row.settings).enumerate();
    let others = pairs.filter(|(at, _)| *at != across).filter_map(|(_, (parameter, value))| {
        Some(format!(", {} = {}", parameter.label, json_shown(value.as_ref()?)))
    });
    row.scheme.clone() + &others.collect::<String>()
}

fn key(at: usize, line: &Line) -> String {
    format!(
        "<span class=\"key\"><svg viewBox=\"0 0 40 12\"><path class=\"line\" style=\"{}\" d=\"M0 6H40\"/></svg> {}</span>\n",
        style(at),
        escape(&line.name)
    )
}
