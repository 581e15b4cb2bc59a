//! Experiments that are data: a scenario with a sweep, the metrics that it shows, and the values that it expects.

use crate::draw::{self, Named, View, capital};
use crate::quantity::round_trips_over_time;
use crate::{Measured, Point, Row, Stated};
use slotline_lab::metrics::measure;
use slotline_lab::quantity;
use slotline_lab::record::{NEVER, RunRecord, Window};
use slotline_lab::statistics::Estimate;
use slotline_lab::sweep::Study;
use slotline_report::plot::{Division, Figure, Measure};
use slotline_scenario::expect::{Amount, ExpectSpec};
use slotline_scenario::metric::{Metric, Unit};
use slotline_scenario::quantity::{QuantitySpec, Values};
use slotline_scenario::{Scenario, ScenarioError};
use std::path::Path;

/// What the scenario of a point asks for.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The metrics that it shows.
    pub metrics: Vec<Metric>,
    /// The quantities that it defines.
    pub quantities: Vec<QuantitySpec>,
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
            quantities: measure.quantity.clone(),
            expect: scenario.expect.clone(),
            window: Some(Window { from_ps: measure.warmup.as_ps(), until_ps }),
        }
    }
}

/// The points of the sweep in `text`, or the scenario itself if there is none, with values `replaced` as `--set` does.
/// Their places on the axis are the varied whole numbers, or else count the points; only the `wanted` ones are loaded.
pub(super) fn points(
    file: &Path,
    text: &str,
    replaced: &[String],
    wanted: impl Fn(u32) -> bool,
) -> Result<Vec<Point>, ScenarioError> {
    if !Study::has_sweep(file, text)? {
        let loaded = Scenario::parse_single_with(file, text.into(), replaced, "--set")?;
        return Ok(vec![Point { x: 0, setup: String::new(), loaded }]);
    }
    let study = Study::parse_with(file, text.into(), replaced)?;
    let setups: Vec<String> = (0..study.len()).map(|at| study.settings_text(at)).collect();
    let numbers = axis(setups.iter().map(String::as_str)).map(|(_, numbers)| numbers);
    let numbers = numbers.unwrap_or((0..study.len() as u32).collect());
    let point = |(at, (setup, x))| Ok(Point { x, setup, loaded: study.point(at)? });
    let all = setups.into_iter().zip(numbers).enumerate();
    all.filter(|(_, (_, x))| wanted(*x)).map(point).collect()
}

/// The name that all settings have, and their values, if these are several whole numbers.
fn axis<'a>(setups: impl Iterator<Item = &'a str>) -> Option<(&'a str, Vec<u32>)> {
    let all: Vec<(&str, u32)> = setups.map(setting).collect::<Option<_>>()?;
    let name = all.first()?.0;
    let same = all.len() > 1 && all.iter().all(|(other, _)| *other == name);
    same.then(|| (name, all.iter().map(|(_, number)| *number).collect()))
}

/// The name and the value of a single setting that is a whole number, or of a label such as "200 us ahead".
fn setting(setup: &str) -> Option<(&str, u32)> {
    if let Some((name, value)) = setup.split_once(" = ") {
        return Some((name, value.parse().ok()?));
    }
    let (value, name) = setup.split_once(' ')?;
    Some((name, value.parse().ok()?))
}

/// What a row of the table is about.
#[derive(Clone, PartialEq, Debug)]
enum Subject {
    Metric(Metric),
    Quantity(QuantitySpec),
}

impl Subject {
    fn unit(&self) -> Unit {
        match self {
            Subject::Metric(metric) => metric.unit(),
            Subject::Quantity(quantity) => quantity.unit(),
        }
    }

    fn title(&self) -> &str {
        match self {
            Subject::Metric(metric) => metric.title(),
            Subject::Quantity(quantity) => &quantity.name,
        }
    }

    fn value(&self, run: &RunRecord, window: Window) -> Option<f64> {
        match self {
            Subject::Metric(metric) => Some(measure(*metric, run, window)?.value),
            Subject::Quantity(spec) => quantity::value(spec, run, window),
        }
    }

    fn is_expected(&self, expect: &ExpectSpec) -> bool {
        match self {
            Subject::Metric(metric) => expect.metric == Some(*metric),
            Subject::Quantity(quantity) => expect.quantity.as_ref() == Some(&quantity.name),
        }
    }
}

/// A subject with the unit in which it is shown, and the factor to its base unit.
type Shown = (Subject, &'static str, f64);

/// A row for each metric and quantity of each scheme at each point, with the expected value if there is one, and a row for
/// each expected ratio of schemes.
pub(super) fn rows(points: &[Measured]) -> Vec<Row> {
    let shown: Vec<Shown> =
        subjects(points).into_iter().map(|subject| unit(subject, points)).collect();
    let mut rows = Vec::new();
    for point in points {
        for scheme in schemes(point) {
            rows.extend(shown.iter().filter_map(|shown| row(point, scheme, shown)));
            rows.extend(shown.iter().flat_map(|shown| ratios(point, scheme, &shown.0)));
        }
    }
    rows
}

/// The figures: lines of each subject against a varied whole number, or else bars for the subjects of a unit, then the
/// distributions of values.
pub(super) fn figures(view: &View) -> Vec<Figure> {
    let shown: Vec<Shown> =
        subjects(view.points).into_iter().map(|subject| unit(subject, view.points)).collect();
    let axis = axis(view.points.iter().map(|point| point.setup.as_str())).map(|(name, _)| name);
    let mut all = match axis {
        Some(axis) => {
            shown.iter().zip(KEYS).map(|(own, key)| lines(view, axis, own, key)).collect()
        }
        None => bars(view, &shown),
    };
    all.extend(distributions(view, &shown));
    all
}

/// The names of figures of quantities, in the page and of their files. Later ones are not drawn.
const KEYS: [&str; 12] = [
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth",
];

fn lines(view: &View, axis: &str, (subject, unit, _): &Shown, key: &'static str) -> Figure {
    let key = match subject {
        Subject::Metric(metric) => metric.key(),
        Subject::Quantity(_) => key,
    };
    view.against(axis, Named { key, name: subject.title(), unit })
}

/// A figure with bars for all subjects of one unit.
fn bars(view: &View, shown: &[Shown]) -> Vec<Figure> {
    let mut units: Vec<&str> = Vec::new();
    for (_, unit, _) in shown {
        if !units.contains(unit) {
            units.push(unit);
        }
    }
    let figure = |(wanted, key): (&str, &'static str)| {
        let own = shown.iter().filter(|(_, unit, _)| *unit == wanted);
        let named: Vec<Named> =
            own.map(|(subject, unit, _)| Named { key, name: subject.title(), unit }).collect();
        let title = if named.len() == 1 { capital(named[0].name) } else { "Values".into() };
        view.bars_of(key, title.into(), &named)
    };
    units.into_iter().zip(KEYS).map(figure).collect()
}

/// For values of which quantities are percentiles, their distribution and, for queues and exchanges, their course, at the
/// last point about which something is expected, or else at the last one.
fn distributions(view: &View, shown: &[Shown]) -> Vec<Figure> {
    let of = |(subject, ..): &Shown| match subject {
        Subject::Quantity(spec) if spec.percentile.is_some() => Some(spec.clone()),
        _ => None,
    };
    let Some(spec) = shown.iter().find_map(of) else { return vec![] };
    let expected = view.points.iter().rfind(|point| !point.asked.expect.is_empty());
    let Some(point) = expected.or(view.points.last()) else { return vec![] };
    let window = point.asked.window.unwrap_or(Window::ALL);
    let (label, unit) = match spec.values {
        Some(Values::Queue | Values::Peak) => ("queue", Measure::Bytes),
        Some(Values::Throughput | Values::Sent) => ("throughput", Measure::BitsPerSecond),
        _ => ("time", Measure::Seconds),
    };
    let values =
        draw::Values { id: "cdf", title: "Distribution", label, unit, scale: Division::LogFirst };
    let mut all =
        vec![view.distribution(point.x, &values, |run| quantity::values(&spec, run, window), &[])];
    let values =
        draw::Values { id: "course", title: "Over time", scale: Division::LinearFirst, ..values };
    let workload = spec.workload.unwrap_or(0);
    match spec.values {
        Some(Values::Queue) => {
            all.push(
                view.time_series(point.x, &values, |run| quantity::queue_over_time(&spec, run)),
            );
        }
        Some(Values::ExchangeTimes) => {
            all.push(view.time_series(point.x, &values, |run| round_trips_over_time(run, workload)))
        }
        _ => {}
    }
    all
}

/// The metrics and quantities that any point shows, in order.
fn subjects(points: &[Measured]) -> Vec<Subject> {
    let mut metrics: Vec<Metric> =
        points.iter().flat_map(|point| &point.asked.metrics).copied().collect();
    metrics.sort_unstable();
    metrics.dedup();
    let mut all: Vec<Subject> = metrics.into_iter().map(Subject::Metric).collect();
    for quantity in points.iter().flat_map(|point| &point.asked.quantities) {
        let known = |subject: &Subject| subject.title() == quantity.name;
        if !all.iter().any(known) {
            all.push(Subject::Quantity(quantity.clone()));
        }
    }
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

fn row(point: &Measured, scheme: &str, (subject, unit, factor): &Shown) -> Option<Row> {
    let values = values(point, scheme, subject);
    let own = |expect: &&ExpectSpec| {
        subject.is_expected(expect) && expect.is_about(scheme) && expect.relative_to.is_none()
    };
    let expect = point.asked.expect.iter().find(own);
    Some(Row {
        x: Some(f64::from(point.x)),
        point: point.setup.clone(),
        scheme: scheme.into(),
        quantity: subject.title().to_string().into(),
        unit: (*unit).into(),
        paper: expect.and_then(|expect| stated(expect, subject.unit(), *factor)),
        ours: Estimate::of(&values)?.over(*factor),
        note: expect.map_or(String::new(), explained),
    })
}

/// The expected ratios of `subject` of `scheme` to that of other schemes.
fn ratios(point: &Measured, scheme: &str, subject: &Subject) -> Vec<Row> {
    let ratio = |expect: &ExpectSpec| {
        let other = expect.relative_to.as_ref()?;
        if !subject.is_expected(expect) || !expect.is_about(scheme) {
            return None;
        }
        let own = Estimate::of(&values(point, scheme, subject))?.mean;
        let other_mean = Estimate::of(&values(point, other, subject))?.mean;
        Some(Row {
            x: None,
            point: point.setup.clone(),
            scheme: scheme.into(),
            quantity: format!("{}, relative to {other}", subject.title()).into(),
            unit: "1".into(),
            paper: stated(expect, Unit::Ratio, 1.0),
            ours: Estimate::of(&[own / other_mean]).filter(|ratio| ratio.mean.is_finite())?,
            note: explained(expect),
        })
    };
    point.asked.expect.iter().filter_map(ratio).collect()
}

/// Why results differ from an expected value, or else where it comes from.
fn explained(expect: &ExpectSpec) -> String {
    if expect.note.is_empty() { expect.source.clone() } else { expect.note.clone() }
}

/// The values of `subject` by seed, in its base unit. A quantity is that of the point, whose settings may differ.
fn values(point: &Measured, scheme: &str, subject: &Subject) -> Vec<f64> {
    let window = point.asked.window.unwrap_or(Window::ALL);
    let here = |subject: &Subject| {
        let own = point.asked.quantities.iter().find(|own| own.name == subject.title());
        own.cloned().map(Subject::Quantity)
    };
    let own = matches!(subject, Subject::Quantity(_)).then(|| here(subject)).flatten();
    let subject = own.as_ref().unwrap_or(subject);
    point.of(scheme).filter_map(|run| subject.value(run, window)).collect()
}

/// The expected value, in units of `factor`.
fn stated(expect: &ExpectSpec, unit: Unit, factor: f64) -> Option<Stated> {
    let read = |amount: &Option<Amount>| Some(amount.as_ref()?.in_unit(unit).ok()? / factor);
    let about = read(&expect.value).map(Stated::About);
    about.or(read(&expect.at_least).map(Stated::Over)).or(read(&expect.at_most).map(Stated::Under))
}

/// The unit in which a subject is shown, so that its largest value has a few digits.
fn unit(subject: Subject, points: &[Measured]) -> Shown {
    let of = |point: &Measured| {
        let each = |scheme: &str| values(point, scheme, &subject);
        schemes(point).into_iter().flat_map(each).fold(0.0, f64::max)
    };
    let largest = points.iter().map(of).fold(0.0, f64::max);
    let choices = choices(subject.unit());
    // Two digits before the point at least, so that small values beside the largest one keep some of theirs.
    let fits = |(_, factor): &&(&str, f64)| largest >= 10.0 * *factor;
    let (unit, factor) =
        choices.iter().find(fits).or(choices.last()).copied().unwrap_or(("1", 1.0));
    (subject, unit, factor)
}

/// The names and factors of the units in which values of a kind are shown, largest first.
fn choices(unit: Unit) -> &'static [(&'static str, f64)] {
    match unit {
        Unit::Seconds => &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6)],
        Unit::BitsPerSecond => &[("Gbit/s", 1e9), ("Mbit/s", 1e6)],
        Unit::Bytes => &[("MB", 1e6), ("KB", 1e3)],
        Unit::Share => &[("%", 1e-2)],
        Unit::Count | Unit::Ratio => &[("1", 1.0)],
    }
}

/// The factor that turns a value in `from` into one in `to`, if both are units of one kind.
pub(super) fn conversion(from: &str, to: &str) -> Option<f64> {
    if from == to {
        return Some(1.0);
    }
    let kinds = [Unit::Seconds, Unit::BitsPerSecond, Unit::Bytes];
    kinds.into_iter().map(choices).find_map(|choices| {
        let factor = |name| choices.iter().find(|(other, _)| *other == name).map(|(_, f)| *f);
        Some(factor(from)? / factor(to)?)
    })
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
        let points = points(Path::new("x.toml"), FILE, &[], |_| true).expect("a valid sweep");
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
        assert_eq!((row.note.as_str(), row.quantity.as_ref()), ("Fig. 1", "Goodput"));
        let base =
            row.paper.map(Stated::value).expect("a value") * crate::quantity::scale(&row.unit).1;
        assert!((base - 2e9).abs() < 1.0, "{row:?}");
    }

    #[test]
    fn values_are_converted_within_a_kind_of_unit() {
        assert_eq!(conversion("ms", "s"), Some(1e-3));
        assert_eq!(conversion("KB", "MB"), Some(1e-3));
        assert_eq!(conversion("times", "times"), Some(1.0));
        assert_eq!(conversion("ms", "MB"), None);
    }

    #[test]
    fn a_quantity_is_that_of_its_point() {
        let text = FILE
            .replace("[sweep.grid]\n\"fabric.hosts\" = [3, 4]", "")
            .replace("at = { \"fabric.hosts\" = 4 }\n", "")
            + "[[measure.quantity]]\nname = \"own\"\nmetric = \"goodput\"\nper = 1\n\
               [sweep.grid]\n\"measure.quantity[0].per\" = [1, 4]\n";
        let points = points(Path::new("x.toml"), &text, &[], |_| true).expect("a valid sweep");
        let runs = RunSet::example(1).runs;
        let points: Vec<Measured> = points.iter().map(|point| point.with(runs.clone())).collect();
        let own: Vec<f64> = rows(&points)
            .iter()
            .filter(|row| row.quantity == "own" && row.scheme == "tcp")
            .map(|row| row.ours.mean)
            .collect();
        assert!(own.len() == 2 && (own[0] / own[1] - 4.0).abs() < 1e-9, "{own:?}");
    }

    #[test]
    fn an_axis_has_one_name() {
        assert_eq!(axis(["K = 0", "K = 4"].into_iter()), Some(("K", vec![0, 4])));
        let labels = ["0 us ahead", "200 us ahead"];
        assert_eq!(axis(labels.into_iter()), Some(("us ahead", vec![0, 200])));
        for none in [
            &["1 Gbit/s, N = 1", "mix, K = 1"][..],
            &["K = 1", "idle"],
            &["4 packets", "200 us ahead"],
            &["k = 1.5", "k = 2"],
            &["13 senders"],
            &[],
        ] {
            assert_eq!(axis(none.iter().copied()), None, "{none:?}");
        }
    }

    #[test]
    fn each_metric_has_bars() {
        let points = measured();
        let rows = rows(&points);
        let view = View::of(&points, &rows);
        assert_eq!(figures(&view).len(), 2);
    }
}
