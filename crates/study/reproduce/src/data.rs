//! Experiments that are data: a scenario with a sweep, the metrics that it shows, and the values that it expects.

use crate::draw::View;
use crate::quantity::Quantity;
use crate::{Measured, Point, Row, Stated};
use slotline_lab::metrics::measure;
use slotline_lab::record::{NEVER, Window};
use slotline_lab::statistics::Estimate;
use slotline_lab::sweep::Study;
use slotline_report::plot::Figure;
use slotline_scenario::expect::ExpectSpec;
use slotline_scenario::metric::{Metric, Unit};
use slotline_scenario::{Scenario, ScenarioError};
use std::path::Path;

/// What the scenario of a point asks for.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The metrics that it shows.
    pub metrics: Vec<Metric>,
    /// The values that it expects.
    pub expect: Vec<ExpectSpec>,
    /// The measured part of each run.
    window: Option<Window>,
}

impl Asked {
    /// What `scenario` asks for.
    pub fn of(scenario: &Scenario) -> Asked {
        let measure = &scenario.measure;
        let until_ps = measure.until.map_or(NEVER, |until| until.as_ps());
        Asked {
            metrics: measure.metrics.clone(),
            expect: scenario.expect.clone(),
            window: Some(Window { from_ps: measure.warmup.as_ps(), until_ps }),
        }
    }
}

/// The points of the sweep in `text`. Their places on the axis are the varied whole numbers, or else count the points.
pub(super) fn points(file: &Path, text: &str) -> Result<Vec<Point>, ScenarioError> {
    let study = Study::parse(file, text.into())?;
    let setups: Vec<String> = (0..study.len()).map(|at| study.settings_text(at)).collect();
    let numbers = setups.iter().map(|setup| setting(setup).map(|(_, number)| number));
    let numbers: Vec<u32> =
        numbers.collect::<Option<_>>().unwrap_or((0..study.len() as u32).collect());
    let point = |(at, (setup, x))| Ok(Point { x, setup, loaded: study.point(at)? });
    setups.into_iter().zip(numbers).enumerate().map(point).collect()
}

/// The name and the value of a single setting that is a whole number.
fn setting(setup: &str) -> Option<(&str, u32)> {
    let (name, value) = setup.split_once(" = ")?;
    Some((name, value.parse().ok()?))
}

/// A row for each metric of each scheme at each point, with the expected value if there is one.
pub(super) fn rows(points: &[Measured]) -> Vec<Row> {
    let units: Vec<(Metric, &str, f64)> =
        metrics(points).into_iter().map(|metric| unit(metric, points)).collect();
    let mut rows = Vec::new();
    for point in points {
        for scheme in schemes(point) {
            rows.extend(units.iter().filter_map(|&unit| row(point, scheme, unit)));
        }
    }
    rows
}

/// A figure for each metric: lines against a varied whole number, or else bars.
pub(super) fn figures(view: &View) -> Vec<Figure> {
    let axis = view.points.first().and_then(|point| Some(setting(&point.setup)?.0));
    let figure = |metric: Metric| {
        let about = metric.about();
        let unit = unit(metric, view.points).1;
        let quantity = Quantity { key: about.key, name: about.title, unit, of: |_| f64::NAN };
        match axis {
            Some(axis) => view.against(axis, &quantity),
            None => view.bars(about.key, about.title, &[quantity]),
        }
    };
    metrics(view.points).into_iter().map(figure).collect()
}

/// The metrics that any point shows, in order.
fn metrics(points: &[Measured]) -> Vec<Metric> {
    let mut all: Vec<Metric> =
        points.iter().flat_map(|point| &point.asked.metrics).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The schemes of a point, in order.
fn schemes(point: &Measured) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for run in &point.runs {
        if !all.contains(&run.scheme.as_str()) {
            all.push(&run.scheme);
        }
    }
    all
}

fn row(
    point: &Measured,
    scheme: &str,
    (metric, unit, factor): (Metric, &'static str, f64),
) -> Option<Row> {
    let values = values(point, scheme, metric);
    let own = |expect: &&ExpectSpec| expect.metric == Some(metric) && expect.is_about(scheme);
    let expect = point.asked.expect.iter().find(own);
    Some(Row {
        x: Some(f64::from(point.x)),
        point: point.setup.clone(),
        scheme: scheme.into(),
        quantity: metric.title(),
        unit,
        paper: expect.and_then(|expect| stated(expect, factor)),
        ours: Estimate::of(&values)?.over(factor),
        note: expect.map_or(String::new(), |expect| expect.source.clone()),
    })
}

/// The values of a metric by seed, in its base unit.
fn values(point: &Measured, scheme: &str, metric: Metric) -> Vec<f64> {
    let window = point.asked.window.unwrap_or(Window::ALL);
    let value = |run| Some(measure(metric, run, window)?.value);
    point.of(scheme).filter_map(value).collect()
}

/// The expected value, in units of `factor`.
fn stated(expect: &ExpectSpec, factor: f64) -> Option<Stated> {
    let unit = expect.unit();
    let read = |amount: &Option<slotline_scenario::expect::Amount>| {
        Some(amount.as_ref()?.in_unit(unit).ok()? / factor)
    };
    let about = read(&expect.value).map(Stated::About);
    about.or(read(&expect.at_least).map(Stated::Over)).or(read(&expect.at_most).map(Stated::Under))
}

/// The unit in which a metric is shown, so that its largest value has a few digits, and the factor to its base unit.
fn unit(metric: Metric, points: &[Measured]) -> (Metric, &'static str, f64) {
    let of = |point: &Measured| {
        let each = |scheme: &str| values(point, scheme, metric);
        schemes(point).into_iter().flat_map(each).fold(0.0, f64::max)
    };
    let largest = points.iter().map(of).fold(0.0, f64::max);
    let choices: &[(&str, f64)] = match metric.unit() {
        Unit::Seconds => &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6)],
        Unit::BitsPerSecond => &[("Gbit/s", 1e9), ("Mbit/s", 1e6)],
        Unit::Bytes => &[("MB", 1e6), ("KB", 1e3)],
        Unit::Share => &[("%", 1e-2)],
        Unit::Count | Unit::Ratio => &[("1", 1.0)],
    };
    let fits = |(_, factor): &&(&str, f64)| largest >= *factor;
    let (unit, factor) =
        choices.iter().find(fits).or(choices.last()).copied().unwrap_or(("1", 1.0));
    (metric, unit, factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_lab::record::RunSet;

    const FILE: &str = "name = \"x\"\nend = { at = \"1ms\" }\n[fabric]\nkind = \"star\"\nhosts = 3\n[[workload]]\n\
                        kind = \"ring\"\n[[scheme]]\nname = \"tcp\"\n[[scheme]]\nname = \"dctcp\"\n\
                        [measure]\nmetrics = [\"goodput\", \"drops\"]\n[sweep.grid]\n\"fabric.hosts\" = [3, 4]\n\
                        [[expect]]\nmetric = \"goodput\"\nscheme = \"tcp\"\nat-least = \"2Gbps\"\nsource = \"Fig. 1\"\n\
                        at = { \"fabric.hosts\" = 4 }\n";

    /// The points of the file with runs that are made up.
    fn measured() -> Vec<Measured> {
        let points = points(Path::new("x.toml"), FILE).expect("a valid sweep");
        let runs = RunSet::example(2).runs;
        points.iter().map(|point| point.with(runs.clone())).collect()
    }

    #[test]
    fn the_file_has_points_quantities_and_expected_values() {
        let points = measured();
        let setups: Vec<&str> = points.iter().map(|point| point.setup.as_str()).collect();
        assert_eq!(setups, ["hosts = 3", "hosts = 4"]);
        let rows = rows(&points);
        assert_eq!(rows.len(), 2 * 3 * 2, "points, schemes of the runs, metrics");
        let stated: Vec<&Row> = rows.iter().filter(|row| row.paper.is_some()).collect();
        let [row] = stated[..] else { panic!("{stated:?}") };
        assert_eq!((row.point.as_str(), row.scheme.as_str()), ("hosts = 4", "tcp"));
        assert_eq!((row.note.as_str(), row.quantity), ("Fig. 1", "Goodput"));
        let base =
            row.paper.map(Stated::value).expect("a value") * crate::quantity::scale(row.unit).1;
        assert!((base - 2e9).abs() < 1.0, "{row:?}");
    }

    #[test]
    fn each_metric_has_bars() {
        let points = measured();
        let rows = rows(&points);
        let view = View::of(&points, &rows);
        assert_eq!(figures(&view).len(), 2);
    }
}
