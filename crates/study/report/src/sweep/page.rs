//! `sweep.html`: the points as a table, and each metric against the parameter with the most values. The frame, the
//! figures and their scripts are those of the report.

use super::figures::figures;
use super::page_table::table;
use crate::frame::{Page, Section};
use crate::html::{escape, expected, list, paragraph};
use slotline_lab::expect::Outcome;
use slotline_lab::output::format::{BOUND_NOTE, TABLE_NOTE};
use slotline_lab::sweep::part::{PointRecord, State, Sweep, json_shown};
use slotline_lab::sweep::plan::Parameter;

/// The largest number of points without a result that are listed.
const MOST_NAMED: usize = 50;

/// The self-contained page. `there` says whether the result of this name is beside the sweep, so that its report can be
/// linked.
pub fn html(sweep: &Sweep, there: &dyn Fn(&str) -> bool) -> String {
    let drawn = figures(sweep);
    let section = |id, title, text, figures| Section { id, title, text, figures };
    let mut page = Page {
        title: &sweep.name,
        head: head(sweep),
        names: &drawn.names,
        sections: vec![
            section("metrics", "Metrics", String::new(), drawn.figures),
            section("expected", "Expectations", expectations(sweep), vec![]),
            section("points", "All points", table(sweep, there), vec![]),
            section("made", "How it was made", made(sweep), vec![]),
        ],
    };
    page.sections.retain(|section| section.id != "expected" || !section.text.is_empty());
    page.html()
}

/// The table of expectations, by point; empty without any.
fn expectations(sweep: &Sweep) -> String {
    let row = |(at, outcome): &(usize, Outcome)| {
        [vec![sweep.settings_text(*at)], outcome.cells().to_vec()].concat()
    };
    let rows: Vec<Vec<String>> = sweep.expectations.iter().map(row).collect();
    match rows.is_empty() {
        true => String::new(),
        false => expected(
            &["Point", "Scheme", "Metric", "Measured", "Expected", "Verdict", "Source"],
            &rows,
        ),
    }
}

/// The head of the page: the parameters, and the number of points that are done.
fn head(sweep: &Sweep) -> String {
    let missing: Vec<&PointRecord> =
        sweep.points.iter().filter(|point| point.state != State::Done).collect();
    let (all, done) = (sweep.points.len(), sweep.points.len() - missing.len());
    let mut facts: Vec<(&str, String)> = (0..sweep.parameters.len())
        .map(|at| (sweep.parameters[at].label.as_str(), values(sweep, at)))
        .collect();
    facts.push(("Points", format!("{done} of {all}")));
    facts.push(("Result", format!("{}, slotline {}", sweep.sweep, sweep.version)));
    list(&facts) + &lacking(sweep, &missing)
}

/// The values of a parameter.
fn values(sweep: &Sweep, at: usize) -> String {
    let mut texts: Vec<String> = vec![];
    for point in &sweep.points {
        let text = shown(point.settings[at].as_ref());
        if texts.len() <= MOST_NAMED && !texts.contains(&text) {
            texts.push(text);
        }
    }
    if texts.len() > MOST_NAMED {
        texts[MOST_NAMED] = "…".into();
    }
    texts.join(", ")
}

/// A value as in a scenario, but without quotes around text.
pub(crate) fn shown(value: Option<&serde_json::Value>) -> String {
    value.map_or("as in the scenario".into(), json_shown)
}

/// The points without a result, with reasons.
fn lacking(sweep: &Sweep, missing: &[&PointRecord]) -> String {
    if missing.is_empty() {
        return String::new();
    }
    let item = |point: &&PointRecord| {
        let named = sweep.parameters.iter().zip(&point.settings);
        let pairs = named.filter_map(|(parameter, value)| {
            Some(format!("{} = {}", parameter.label, json_shown(value.as_ref()?)))
        });
        let why = point.message.as_deref().unwrap_or("not run yet");
        let pairs = pairs.collect::<Vec<_>>().join(", ");
        format!("<li>Point {}, {}: {}</li>\n", point.point, escape(&pairs), escape(why))
    };
    let items: String = missing.iter().take(MOST_NAMED).map(item).collect();
    let rest = match missing.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => paragraph(&format!("{more} more are in sweep.json.")),
    };
    format!(
        "<div class=\"warning\"><p>Incomplete: {} of {} points have no result.</p>\n<ul>{items}</ul>{rest}</div>\n",
        missing.len(),
        sweep.points.len()
    )
}

/// Notes on the table, its labels, and the data files.
fn made(sweep: &Sweep) -> String {
    let short = |parameter: &&Parameter| parameter.path != parameter.label;
    let paths: Vec<String> = sweep
        .parameters
        .iter()
        .filter(short)
        .map(|parameter| format!("{} stands for {}", parameter.label, parameter.path))
        .collect();
    let paths = match paths[..] {
        [] => String::new(),
        _ => paragraph(&(paths.join("; ") + ".")),
    };
    let bound = sweep.rows.iter().flat_map(|row| row.metrics.values()).any(|e| e.lower_bound);
    let bound = if bound { paragraph(BOUND_NOTE) } else { String::new() };
    paragraph(TABLE_NOTE)
        + &bound
        + &paths
        + "<p>All metrics of all points are in <code>sweep.csv</code> beside this page; \
           <code>sweep.json</code> says which folder holds the result of a point, \
           and its digest; <code>sweep.vl.json</code> draws the table with Vega-Lite.</p>\n"
}
