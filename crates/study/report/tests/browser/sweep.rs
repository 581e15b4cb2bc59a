//! The page of a parameter study in the same browser.

use super::harness::{check_keys, narrow, strings, used};
use serde_json::{Value, json};
use slotline_lab::sweep::part::Sweep;
use slotline_lab::sweep::plan::Parameter;
use slotline_lab::sweep::rows::Row;
use slotline_lab::sweep::summary_file::MetricEntry;
use slotline_lab::sweep::{PointRecord, State};
use slotline_scenario::metric::Metric;
use std::collections::BTreeMap;

const SHOWN: [Metric; 3] = [Metric::FctMean, Metric::Goodput, Metric::Fairness];

/// Two schemes over two parameters. The fourth value of the first parameter has no result.
fn study(values: [Value; 4]) -> Sweep {
    let parameter = |path: &str, label: &str| Parameter { path: path.into(), label: label.into() };
    let settings: Vec<Vec<Option<Value>>> = values
        .iter()
        .flat_map(|v| ["5us", "50us"].map(|delay| vec![Some(v.clone()), Some(json!(delay))]))
        .collect();
    let point = |(point, settings): (usize, &Vec<Option<Value>>)| PointRecord {
        point,
        settings: settings.clone(),
        id: None,
        state: if point < 6 { State::Done } else { State::Failed },
        digest: None,
        message: (point >= 6).then(|| "killed <by> a signal".into()),
    };
    let points: Vec<PointRecord> = settings.iter().enumerate().map(point).collect();
    let rows = points.iter().filter(|p| p.state == State::Done).flat_map(|point| {
        ["tcp", "xco, <slices>"].map(|scheme| Row {
            points: vec![point.point],
            settings: point.settings.clone(),
            quantities: vec![],
            scheme: scheme.into(),
            metrics: metrics(point.point + scheme.len()),
        })
    });
    Sweep {
        sweep: "study-sweep-0".into(),
        name: "A study & its <page>".into(),
        version: "0".into(),
        complete: false,
        parameters: vec![parameter("workload[0].x", "x"), parameter("fabric.delay", "delay")],
        metrics: SHOWN.to_vec(),
        rows: rows.collect(),
        points,
        expectations: vec![],
        duplicates: vec![],
        peak_rss_bytes: 0,
    }
}

/// Every third point has one seed, and every second point is a lower bound.
fn metrics(at: usize) -> BTreeMap<Metric, MetricEntry> {
    let entry = |metric: Metric| {
        let mean = (at + 1) as f64 * if metric == Metric::Goodput { 1e9 } else { 0.01 };
        let half = (!at.is_multiple_of(3)).then_some(mean * 0.4 * (at % 3) as f64);
        MetricEntry {
            mean: Some(mean),
            ci_low: half.map(|half| mean - half),
            ci_high: half.map(|half| mean + half),
            n: if half.is_some() { 3 } else { 1 },
            lower_bound: at.is_multiple_of(2),
            against_baseline: None,
        }
    };
    SHOWN.into_iter().map(|metric| (metric, entry(metric))).collect()
}

fn numbers() -> Sweep {
    study([json!(2), json!(4), json!(8), json!(16)])
}

fn names() -> Sweep {
    study([json!("newreno"), json!("a name, <longer> than others"), json!(true), json!("cubic")])
}

fn check_page(test: &str, sweep: &Sweep, numeric: bool) {
    let page = slotline_report::sweep::html(sweep, &|_| false);
    assert_eq!(page.matches("<th scope=\"row\">").count(), 12);
    assert!(page.contains("killed &lt;by&gt; a signal") && page.contains("6 of 8"));
    let Some(seen) = used(test, &page, 1200) else { return };
    assert_eq!(strings(&seen["errors"]), [""; 0]);
    let plots = seen["plots"].as_object().unwrap();
    assert_eq!(plots.len(), SHOWN.len());
    for (id, plot) in plots {
        // Four lines with three points each.
        assert_eq!(plot["marks"], if numeric { 16 } else { 12 }, "{id}: {plot}");
        assert_eq!((&plot["odd"], &plot["focused"]), (&false.into(), &true.into()), "{id}");
        assert_eq!((&plot["rows"], &plot["vega"]), (&12.into(), &12.into()), "{id}");
        let head = "line,scheme,delay,x,mean";
        assert!(strings(&plot["csv"])[0].starts_with(head), "{id}: {plot}");
        check_keys(id, plot);
        check_toggles(id, plot);
        let axes = plot["axes"].as_array().unwrap();
        assert_eq!(axes.len(), if numeric { 2 } else { 1 }, "{id}");
        assert!(axes.iter().all(|axis| axis["changed"] == true && axis["odd"] == false), "{id}");
    }
}

/// Each line can be hidden with its points, and shown again.
fn check_toggles(id: &str, plot: &Value) {
    let toggles = plot["toggles"].as_array().unwrap();
    assert_eq!(toggles.len(), 4, "{id}");
    for toggle in toggles {
        let count = |key: &str| toggle[key].as_u64().unwrap();
        assert!(
            count("off") + 3 <= count("before") && count("after") == count("before"),
            "{toggle}"
        );
    }
}

#[test]
fn a_study_over_numbers_is_drawn() {
    check_page("a_study_over_numbers_is_drawn", &numbers(), true);
}

#[test]
fn a_study_over_names_is_drawn() {
    check_page("a_study_over_names_is_drawn", &names(), false);
}

#[test]
fn a_study_is_not_wider_than_a_phone() {
    let page = narrow(&slotline_report::sweep::html(&names(), &|_| false));
    let Some(seen) = used("a_study_is_not_wider_than_a_phone", &page, 500) else { return };
    assert_eq!(strings(&seen["errors"]), [""; 0]);
    assert_eq!(seen["overflow"], 0, "{seen}");
}

#[test]
fn without_results_or_parameters_the_page_says_why() {
    let mut empty = numbers();
    empty.rows.clear();
    assert!(
        slotline_report::sweep::html(&empty, &|_| false).contains("No point has a result yet.")
    );
    let mut seeds = numbers();
    seeds.parameters = vec![Parameter { path: "seed".into(), label: "seed".into() }];
    seeds.rows.iter_mut().for_each(|row| row.settings.clear());
    assert!(slotline_report::sweep::html(&seeds, &|_| false).contains("Only the seed was varied"));
}
