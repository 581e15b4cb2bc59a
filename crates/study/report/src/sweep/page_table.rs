//! The table of a sweep's page: a row for each setting and scheme.

use super::page::shown;
use crate::html::{escape, unbroken};
use slotline_lab::output::format::{self, Scale};
use slotline_lab::statistics::Estimate;
use slotline_lab::sweep::part::Sweep;
use slotline_lab::sweep::rows::{Row, of_rows};
use slotline_scenario::metric::Metric;

/// The largest number of rows of the table. A browser is slow with more.
const MOST_ROWS: usize = 2_000;

/// The table, with the metrics that are shown. `there` says whether the result of this name is beside the sweep.
pub fn table(sweep: &Sweep, there: &dyn Fn(&str) -> bool) -> String {
    let columns: Vec<(Metric, Scale)> =
        sweep.shown().into_iter().map(|metric| (metric, scale(sweep, metric))).collect();
    let labels = of_rows(&sweep.parameters).map(|parameter| escape(&parameter.label));
    let heads = columns.iter().map(|(metric, scale)| head(*metric, scale));
    let head = |text: String, class: &str| format!("<th scope=\"col\"{class}>{text}</th>");
    let left = labels.chain(["Scheme".into()]).map(|text| head(text, " class=\"text\""));
    let right = [head("Report".into(), " class=\"text\"")];
    let heads: String = left.chain(heads.map(|text| head(text, ""))).chain(right).collect();
    let shown = sweep.rows.iter().take(MOST_ROWS);
    let rows: String = shown.map(|row| line(row, &columns, &reports(sweep, row, there))).collect();
    let more = match sweep.rows.len().saturating_sub(MOST_ROWS) {
        0 => String::new(),
        more => format!(
            "<p class=\"small\">{} more rows are in <code>sweep.csv</code>.</p>\n",
            format::grouped(more as u64)
        ),
    };
    format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table of all points\"><table>\n\
         <thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n{more}"
    )
}

/// The multiple of the unit that suits the largest mean of a column.
fn scale(sweep: &Sweep, metric: Metric) -> Scale {
    let means = sweep.rows.iter().filter_map(|row| row.metrics.get(&metric)?.mean);
    Scale::of(metric.unit(), means.map(f64::abs).fold(0.0, f64::max))
}

fn head(metric: Metric, scale: &Scale) -> String {
    match scale.symbol {
        "" => metric.title().to_string(),
        symbol => format!("{} ({symbol})", metric.title()),
    }
}

/// Links to the reports of the points of a row.
fn reports(sweep: &Sweep, row: &Row, there: &dyn Fn(&str) -> bool) -> String {
    let link = |point: &usize| {
        let id = sweep.points.get(*point)?.id.as_deref().filter(|id| there(id))?;
        Some(format!("<a href=\"../{}/report.html\">{point}</a>", escape(id)))
    };
    row.points.iter().filter_map(link).collect::<Vec<_>>().join(" ")
}

fn line(row: &Row, columns: &[(Metric, Scale)], reports: &str) -> String {
    let settings = row.settings.iter().map(|value| escape(&shown(value.as_ref())));
    let left = settings.chain([escape(&row.scheme)]).enumerate().map(|(at, text)| match at {
        0 => format!("<th scope=\"row\">{text}</th>"),
        _ => format!("<td class=\"text\">{text}</td>"),
    });
    let cells = columns.iter().map(|(metric, scale)| cell(row, *metric, *scale));
    let cells: String = left.chain(cells).collect();
    format!("<tr>{cells}<td class=\"text\">{reports}</td></tr>\n")
}

fn cell(row: &Row, metric: Metric, scale: Scale) -> String {
    let known = row.metrics.get(&metric).and_then(|entry| Some((entry, entry.mean?)));
    let Some((entry, mean)) = known else { return "<td>–</td>".into() };
    let estimate = Estimate::read(mean, entry.ci_low.zip(entry.ci_high), entry.n);
    let value = format::estimate(&estimate, entry.lower_bound, scale);
    let verdict = entry.against_baseline.as_ref().map_or(String::new(), |against| {
        let class = against.verdict.split([' ', ':']).next().unwrap_or("");
        format!("<br/><span class=\"{}\">{}</span>", escape(class), escape(&against.verdict))
    });
    format!("<td>{}{verdict}</td>", unbroken(&value))
}
