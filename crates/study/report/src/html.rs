//! The text and the tables of the page.

use slotline_lab::expect::outcomes;
use slotline_lab::output::format::{self, Scale};
use slotline_lab::output::tally::tallies;
use slotline_lab::output::terminal;
use slotline_lab::record::RunSet;
use slotline_lab::summary::{Cell, EngineTotal, Summary};
use slotline_scenario::metric::Metric;

/// Escapes `text` for HTML.
pub fn escape(text: &str) -> String {
    let pairs = [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;")];
    pairs.iter().fold(text.to_string(), |text, (from, to)| text.replace(from, to))
}

/// A paragraph with `text`.
pub fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text))
}

/// The facts in the head of the page, as pairs of a name and a value.
pub fn list(facts: &[(&str, String)]) -> String {
    let row = |(name, value): &(&str, String)| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(name), escape(value))
    };
    format!("<dl class=\"facts\">\n{}</dl>\n", facts.iter().map(row).collect::<String>())
}

/// The head of the page: the schemes and the fabric.
pub fn about(id: &str, set: &RunSet) -> String {
    let mut out = String::new();
    if !set.description.is_empty() {
        out += &format!("<p class=\"lead\">{}</p>\n", escape(&set.description));
    }
    let seeds: Vec<String> = set.seeds.iter().map(u64::to_string).collect();
    let facts = [
        ("Fabric", set.fabric.clone()),
        ("Workloads", set.workloads.join(", ")),
        ("Schemes", set.schemes.join(", ")),
        ("Seeds", seeds.join(", ")),
        ("Result", format!("{id}, slotline {}", env!("CARGO_PKG_VERSION"))),
    ];
    out += &list(&facts);
    if !set.complete() {
        let planned = set.schemes.len() * set.seeds.len();
        out += &format!(
            "<p class=\"warning\">Incomplete: {} of {planned} runs were done.</p>\n",
            set.runs.len()
        );
    }
    for sentence in terminal::failed(set) {
        out += &format!("<p class=\"warning\">{}</p>\n", escape(&sentence));
    }
    out
}

/// The verdict: a sentence for each scheme.
pub fn headline(set: &RunSet, summary: &Summary) -> String {
    let tallies = tallies(summary, &summary.shown(set));
    let sentences = tallies.iter().map(|tally| tally.headline());
    let warning = |text: &str| format!("<p class=\"warning\">{}</p>\n", escape(text));
    let warnings: String = summary.warnings().map(warning).collect();
    let items: String = sentences.map(|s| format!("<li>{}</li>\n", escape(&s))).collect();
    let list = match items.is_empty() {
        true => items,
        false => format!("<ul class=\"headline\">\n{items}</ul>\n"),
    };
    warnings + &list
}

/// The table of all metrics.
pub fn comparison(set: &RunSet, summary: &Summary) -> String {
    let heads =
        summary.schemes.iter().map(|s| format!("<th scope=\"col\">{}</th>", escape(&s.name)));
    let mut out = format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table of all metrics\">\
         <table>\n<thead><tr><th scope=\"col\">Metric</th>{}</tr></thead>\n<tbody>\n",
        heads.collect::<String>()
    );
    for metric in summary.shown(set) {
        let cells = (0..summary.schemes.len()).map(|at| cell(metric, summary.cell(at, metric)));
        let row: String = cells.collect();
        out += &format!("<tr><th scope=\"row\">{}</th>{row}</tr>\n", metric.title());
    }
    out + "</tbody></table></div>\n" + &table_notes(set, summary)
}

/// The table of expectations, if there are any.
pub fn expectations(set: &RunSet, summary: &Summary) -> Option<String> {
    let rows: Vec<Vec<String>> =
        outcomes(set, summary).iter().map(|outcome| outcome.cells().to_vec()).collect();
    (!rows.is_empty()).then(|| {
        expected(&["Scheme", "Metric", "Measured", "Expected", "Verdict", "Source"], &rows)
    })
}

/// A table of expectations with these heads.
pub fn expected(heads: &[&str], rows: &[Vec<String>]) -> String {
    let head = |text: &&str| format!("<th scope=\"col\">{}</th>", escape(text));
    let row = |cells: &Vec<String>| {
        let rest = cells.iter().skip(1).map(|cell| format!("<td>{}</td>", escape(cell)));
        let first = cells.first().map_or(String::new(), |cell| escape(cell));
        format!("<tr><th scope=\"row\">{first}</th>{}</tr>\n", rest.collect::<String>())
    };
    format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table of expectations\"><table>\n<thead><tr>{}</tr>\
         </thead>\n<tbody>\n{}</tbody></table></div>\n",
        heads.iter().map(head).collect::<String>(),
        rows.iter().map(row).collect::<String>()
    )
}

/// How to read the table.
fn table_notes(set: &RunSet, summary: &Summary) -> String {
    let mut notes = vec![format::TABLE_NOTE.to_string()];
    if summary.has_bound(&summary.shown(set)) {
        notes.push(format::BOUND_NOTE.into());
    }
    notes.extend(format::explanations(&summary.shown(set)).map(str::to_string));
    let zero: Vec<&str> = summary.zero(set).iter().map(|metric| metric.title()).collect();
    if !zero.is_empty() {
        notes.push(format!("Zero in every run: {}.", zero.join(", ")));
    }
    format!("<p class=\"small\">{}</p>\n", escape(&notes.join(" ")))
}

fn cell(metric: Metric, cell: Option<&Cell>) -> String {
    let Some(cell) = cell else { return "<td>–</td>".into() };
    let scale = Scale::of(metric.unit(), cell.estimate.mean);
    let value = scale.with(format::estimate(&cell.estimate, cell.at_least, scale));
    let verdict = cell.against.map(|comparison| {
        let class = comparison.verdict.text().split([' ', ':']).next().unwrap_or("");
        let text = unbroken(&format::verdict(metric, &comparison));
        format!("<br/><span class=\"{class}\">{text}</span>")
    });
    format!("<td>{}{}</td>", unbroken(&value), verdict.unwrap_or_default())
}

/// `text` that may be broken only after a colon and before a bracket.
pub fn unbroken(text: &str) -> String {
    text.replace(' ', "\u{a0}").replace(":\u{a0}", ": ").replace("\u{a0}(", " (")
}

/// The checks and the cost of the runs, and all settings.
pub fn trust(set: &RunSet) -> String {
    let lines = format::engine(&EngineTotal::of(&set.in_order()), set.runs.len());
    let paragraphs = lines.iter().map(|line| format!("<p>{}</p>\n", escape(line)));
    format!(
        "{}<details><summary>All settings</summary><pre tabindex=\"0\">{}</pre></details>\n",
        paragraphs.collect::<String>(),
        escape(&set.scenario)
    )
}
