//! `sweep.vl.json`: a Vega-Lite specification that draws `sweep.csv` from the same folder.

use crate::colours;
use serde_json::{Value, json};
use slotline_lab::output::format::Scale;
use slotline_lab::sweep::part::Sweep;
use slotline_lab::sweep::rows::of_rows;
use slotline_lab::sweep::table::unit_of;
use slotline_scenario::metric::{Metric, Unit};

/// A panel for each metric against the parameter with the most values, with confidence intervals, in the order and the
/// colours of the page.
pub fn vega_lite(sweep: &Sweep) -> String {
    let panels: Vec<Value> = sweep.shown().into_iter().map(|metric| panel(sweep, metric)).collect();
    let spec = json!({
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": sweep.name,
        "data": { "url": "sweep.csv" },
        "vconcat": panels,
    });
    // Plain data with text keys always has a JSON form.
    serde_json::to_string_pretty(&spec).expect("plain data") + "\n"
}

/// A name as part of an expression of Vega, where some letters select parts of objects.
fn field(name: &str) -> String {
    name.replace('.', "\\.").replace('[', "\\[").replace(']', "\\]")
}

/// The column of parameter number `at`: the one with numbers if it has a unit.
fn column(sweep: &Sweep, at: usize, label: &str) -> String {
    match unit_of(sweep.column(at)).filter(|unit| *unit != Unit::Count) {
        Some(unit) => format!("{label} in {}", unit.symbol()),
        None => label.to_string(),
    }
}

fn panel(sweep: &Sweep, metric: Metric) -> Value {
    let labels: Vec<&str> = of_rows(&sweep.parameters).map(|p| p.label.as_str()).collect();
    let across = sweep.across();
    let x = across.map(|at| {
        let numeric = unit_of(sweep.column(at)).is_some();
        let name = column(sweep, at, labels[at]);
        json!({ "field": field(&name), "type": if numeric { "quantitative" } else { "nominal" }, "title": name, "sort": null, "scale": if numeric { json!({ "zero": true }) } else { json!({}) } })
    });
    let others = across.map_or(vec![], |across| sweep.beside(across));
    let detail: Vec<Value> = others
        .into_iter()
        .map(|at| json!({ "field": field(labels[at]), "type": "nominal" }))
        .collect();
    let mut schemes: Vec<&str> = vec![];
    for row in &sweep.rows {
        if !schemes.contains(&row.scheme.as_str()) {
            schemes.push(&row.scheme);
        }
    }
    let range: Vec<&str> = (0..schemes.len()).map(colours::scheme).collect();
    let y = |field: &str| json!({ "field": field, "type": "quantitative", "title": title(sweep, metric), "scale": { "zero": true } });
    json!({
        "width": 480,
        "height": 220,
        "transform": transforms(sweep, metric),
        "encoding": {
            "x": x,
            "color": { "field": "scheme", "type": "nominal", "sort": schemes, "scale": { "domain": schemes, "range": range } },
            "detail": detail,
        },
        "layer": [
            { "mark": { "type": "line", "point": true }, "encoding": { "y": y("value") } },
            { "mark": "rule", "encoding": { "y": y("low"), "y2": { "field": "high" } } },
        ],
    })
}

/// The multiple of the unit that suits the largest mean.
fn scale(sweep: &Sweep, metric: Metric) -> Scale {
    let means = sweep.rows.iter().filter_map(|row| row.metrics.get(&metric)?.mean);
    Scale::of(metric.unit(), means.map(f64::abs).fold(0.0, f64::max))
}

fn title(sweep: &Sweep, metric: Metric) -> String {
    match scale(sweep, metric).symbol {
        "" => metric.title().to_string(),
        symbol => format!("{} ({symbol})", metric.title()),
    }
}

/// The rows of the metric, in the unit of the axis. An interval has no part below zero.
fn transforms(sweep: &Sweep, metric: Metric) -> Value {
    let factor = scale(sweep, metric).factor;
    json!([
        { "filter": { "field": "metric", "equal": metric.key() } },
        { "calculate": format!("datum.mean / {factor}"), "as": "value" },
        { "calculate": format!("isValid(datum.ci_low) ? max(0, datum.ci_low / {factor}) : null"), "as": "low" },
        { "calculate": format!("isValid(datum.ci_high) ? datum.ci_high / {factor} : null"), "as": "high" },
    ])
}
