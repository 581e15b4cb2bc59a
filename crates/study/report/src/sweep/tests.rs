use super::{figures, html};
use crate::plot::Shape;
use serde_json::json;
use slotline_lab::sweep::part::Sweep;
use slotline_lab::sweep::plan::Parameter;
use slotline_lab::sweep::rows::Row;
use slotline_lab::sweep::summary_file::MetricEntry;
use slotline_lab::sweep::{PointRecord, State};
use slotline_scenario::metric::Metric;

#[test]
fn vega_lite_has_a_panel_for_each_metric() {
    let spec: serde_json::Value = serde_json::from_str(&super::vega_lite(&made_up())).unwrap();
    let panels = spec["vconcat"].as_array().unwrap();
    let titles: Vec<_> = panels.iter().map(|p| &p["layer"][0]["encoding"]["y"]["title"]).collect();
    assert_eq!(titles, ["FCT mean (ms)", "Goodput (Gbit/s)"]);
    assert_eq!(panels[0]["encoding"]["x"]["field"], "delay in s");
    assert_eq!(panels[0]["transform"][1]["calculate"], "datum.mean / 0.001");
    assert!(panels[0]["transform"][2]["calculate"].as_str().unwrap().contains("max(0,"));
    let colours = &panels[1]["encoding"]["color"];
    assert_eq!(colours["sort"], json!(["tcp", "dctcp"]));
    assert_eq!(colours["scale"]["range"], json!(["#0072b2", "#d55e00"]));
}

const DELAYS: [&str; 2] = ["1us", "20us"];

fn entry(mean: f64) -> MetricEntry {
    MetricEntry {
        mean: Some(mean),
        ci_low: None,
        ci_high: None,
        n: 1,
        lower_bound: false,
        against_baseline: None,
    }
}

/// Two schemes and two metrics under two delays.
fn made_up() -> Sweep {
    let settings = |delay: &str| vec![Some(json!(delay))];
    let row = |point: usize, scheme: &str| Row {
        points: vec![point],
        settings: settings(DELAYS[point]),
        scheme: scheme.into(),
        metrics: [
            (Metric::FctMean, entry(1e-3 * (point + 1) as f64)),
            (Metric::Goodput, entry(1e9)),
        ]
        .into(),
        quantities: vec![],
    };
    let point = |(point, delay): (usize, &&str)| PointRecord {
        point,
        settings: settings(delay),
        id: None,
        state: State::Done,
        digest: None,
        message: None,
    };
    Sweep {
        rows: (0..2).flat_map(|at| [row(at, "tcp"), row(at, "dctcp")]).collect(),
        points: DELAYS.iter().enumerate().map(point).collect(),
        parameters: vec![Parameter { path: "fabric.delay".into(), label: "delay".into() }],
        metrics: vec![Metric::FctMean, Metric::Goodput],
        sweep: "made-up-0".into(),
        name: "made up".into(),
        version: "0".into(),
        complete: true,
        expectations: vec![],
        duplicates: vec![],
        peak_rss_bytes: 0,
    }
}

#[test]
fn the_page_has_every_number() {
    let sweep = made_up();
    let page = html(&sweep, &|_| true);
    assert_eq!(page.matches("<figure id=").count(), 2);
    assert_eq!(page.matches("<th scope=\"row\">20us</th><td class=\"text\">").count(), 2);
    assert_eq!(page.matches("<td class=\"text\">dctcp</td>").count(), 2);
    let figures = figures::figures(&sweep);
    assert_eq!(figures.names, ["tcp", "dctcp"]);
    let Shape::Study(drawn) = &figures.figures[0].as_ref().unwrap().shape else { panic!() };
    assert_eq!((&drawn.series[1].x, drawn.series[1].y[1]), (&vec![1e-6, 2e-5], 2e-3));
    assert!(drawn.names.is_empty() && drawn.series[0].low[0].is_nan());
}
