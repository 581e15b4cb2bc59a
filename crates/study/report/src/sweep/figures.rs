//! The figures of a sweep's page: each metric against the parameter with the most values.

use super::page::shown;
use crate::plot::{Axis, Division, Figure, Measure, Missing, Plot, Shape, Study, StudyLine};
use slotline_lab::sweep::part::Sweep;
use slotline_lab::sweep::rows::{Row, of_rows};
use slotline_lab::sweep::table::{quantity, unit_of};
use slotline_scenario::metric::{Metric, Unit};
use std::collections::BTreeMap;

/// The largest number of lines of a figure. Other lines are only in the table.
const MOST_LINES: usize = 32;
/// If the ratio of values is at least this, their axis is logarithmic.
const WIDE: f64 = 50.0;

/// The figures, and the names of their lines.
pub struct Drawn {
    /// A name for each line: the scheme and the other parameters.
    pub names: Vec<String>,
    /// A figure for each metric.
    pub figures: Vec<Figure>,
}

/// The names of lines, and the figures of the page.
pub fn plots(sweep: &Sweep) -> (Vec<String>, Vec<Plot>) {
    let drawn = figures(sweep);
    (drawn.names, drawn.figures.into_iter().flatten().collect())
}

/// A figure for each metric that is shown.
pub fn figures(sweep: &Sweep) -> Drawn {
    let missing = |remedy| Drawn {
        names: vec![],
        figures: vec![Err(Missing { title: "Metrics by parameter", remedy })],
    };
    let Some(across) = sweep.across() else {
        return missing("Only the seed was varied: the table has one row for each scheme.");
    };
    let metrics = sweep.shown();
    if metrics.is_empty() {
        return missing("No point has a result yet.");
    }
    let places = Places::of(sweep, across);
    let figure = |metric: &Metric| Ok(plot(sweep, &places, *metric));
    Drawn { figures: metrics.iter().map(figure).collect(), names: places.line_names() }
}

/// The places of rows: their line, and their position on the axis.
struct Places {
    label: String,
    /// `None` if values are not numbers of one kind.
    unit: Option<Unit>,
    /// Names of the values in the order of the points, if they are not numbers.
    names: Vec<String>,
    /// The names of the other parameters, then the settings of each line: the scheme and its values of these
    /// parameters.
    others: Vec<String>,
    lines: Vec<Vec<String>>,
    /// For each row, its line and its position on the axis.
    rows: Vec<(usize, f64)>,
}

impl Places {
    fn of(sweep: &Sweep, across: usize) -> Places {
        let labels: Vec<&String> = of_rows(&sweep.parameters).map(|p| &p.label).collect();
        let others = sweep.beside(across);
        let unit = unit_of(sweep.column(across));
        let mut names = Index::default();
        let mut lines = Index::default();
        let place = |row: &Row| {
            let value = row.settings[across].as_ref();
            let number = unit.and_then(|_| Some(quantity(value?)?.0));
            let x = number.unwrap_or_else(|| names.at(shown(value)) as f64);
            (lines.at(settings(row, &others)), x)
        };
        let rows = sweep.rows.iter().map(place).collect();
        let label = labels[across].clone();
        let others = others.iter().map(|at| labels[*at].clone()).collect();
        Places { label, unit, names: names.values, others, lines: lines.values, rows }
    }

    /// The name of a line, such as `dctcp, threshold = 15KB`, without settings that all lines share.
    fn line_names(&self) -> Vec<String> {
        let name = |settings: &Vec<String>| {
            let pairs = self.others.iter().zip(settings.iter().enumerate().skip(1));
            let varied = pairs.filter(|(_, (at, value))| self.varies(*at, value));
            let rest = varied.map(|(label, (_, value))| format!(", {label} = {value}"));
            settings[0].clone() + &rest.collect::<String>()
        };
        self.lines.iter().take(MOST_LINES).map(name).collect()
    }

    /// Whether lines differ in the setting at this place.
    fn varies(&self, at: usize, value: &str) -> bool {
        self.lines.iter().any(|line| line[at] != value)
    }

    fn division(&self, low: f64, high: f64) -> Division {
        match self.unit {
            Some(_) if low > 0.0 && high >= WIDE * low => Division::LogFirst,
            Some(_) if low > 0.0 => Division::LinearFirst,
            _ => Division::Linear,
        }
    }

    fn axis(&self) -> Axis<String> {
        let values = || self.rows.iter().map(|(_, x)| *x);
        let (low, high) = (values().fold(f64::MAX, f64::min), values().fold(0.0, f64::max));
        let scale = self.division(low, high);
        Axis { label: self.label.clone(), unit: self.unit.map_or(Measure::Number, measure), scale }
    }
}

/// Different values in the order of first appearance.
struct Index<T> {
    values: Vec<T>,
    places: BTreeMap<T, usize>,
}

impl<T> Default for Index<T> {
    fn default() -> Index<T> {
        Index { values: vec![], places: BTreeMap::new() }
    }
}

impl<T: Ord + Clone> Index<T> {
    fn at(&mut self, value: T) -> usize {
        let next = self.values.len();
        let place = *self.places.entry(value.clone()).or_insert(next);
        if place == next {
            self.values.push(value);
        }
        place
    }
}

/// The scheme of `row`, and its values of the `others`, the parameters that divide points into lines.
fn settings(row: &Row, others: &[usize]) -> Vec<String> {
    let values = others.iter().map(|at| shown(row.settings[*at].as_ref()));
    std::iter::once(row.scheme.clone()).chain(values).collect()
}

fn measure(unit: Unit) -> Measure {
    match unit {
        Unit::Seconds => Measure::Seconds,
        Unit::BitsPerSecond => Measure::BitsPerSecond,
        Unit::Bytes => Measure::Bytes,
        Unit::Count | Unit::Ratio | Unit::Share => Measure::Number,
    }
}

/// `metric` along the axis, a line for each scheme and setting of the other parameters.
fn plot(sweep: &Sweep, places: &Places, metric: Metric) -> Plot {
    let series: Vec<StudyLine> = lines(sweep, places, metric);
    let positive = series.iter().flat_map(|line| &line.y).any(|y| *y > 0.0);
    let scale = if positive { Division::LinearFirst } else { Division::Linear };
    let least = series.iter().any(|line| line.least.contains(&true));
    let study = Study {
        x: places.axis(),
        names: places.names.clone(),
        y: Axis { label: metric.title().to_string(), unit: measure(metric.unit()), scale },
        settings: std::iter::once("scheme".into()).chain(places.others.iter().cloned()).collect(),
        series,
    };
    Plot {
        id: metric.key(),
        title: format!("{} by {}", metric.title(), places.label).into(),
        caption: caption(&study, places.lines.len(), least),
        shape: Shape::Study(study),
    }
}

/// The caption of a figure: how to read it, and which data it omits.
fn caption(study: &Study, lines: usize, least: bool) -> String {
    let counts = || study.series.iter().flat_map(|line| &line.seeds);
    let (few, many) = (counts().min().copied().unwrap_or(0), counts().max().copied().unwrap_or(0));
    let mut out = match (few, many) {
        (_, 0 | 1) => "There is one seed for each point, so there are no intervals.".to_string(),
        (few, many) if few == many => {
            format!("Means over {many} seeds, with 95 % confidence intervals.")
        }
        _ => format!("Means over {few} to {many} seeds, with 95 % confidence intervals."),
    };
    if least {
        out += " Hollow marks are lower bounds: unfinished flows count with their time until the end of the run.";
    }
    if lines > 1 {
        out += " Lines are shifted sideways a little so that none hides another.";
    }
    if lines > MOST_LINES {
        out += &format!(" {} more lines are only in the table.", lines - MOST_LINES);
    }
    out
}

fn lines(sweep: &Sweep, places: &Places, metric: Metric) -> Vec<StudyLine> {
    let of_line = |scheme: usize| {
        let own = sweep.rows.iter().zip(&places.rows).filter(|(_, (line, _))| *line == scheme);
        let mut points: Vec<(f64, f64, &Row)> = own
            .filter_map(|(row, (_, x))| Some((*x, row.metrics.get(&metric)?.mean?, row)))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let entries = || points.iter().map(|(_, _, row)| &row.metrics[&metric]);
        StudyLine {
            scheme,
            settings: places.lines[scheme].clone(),
            x: points.iter().map(|point| point.0).collect(),
            y: points.iter().map(|point| point.1).collect(),
            low: entries().map(|entry| entry.ci_low.unwrap_or(f64::NAN)).collect(),
            high: entries().map(|entry| entry.ci_high.unwrap_or(f64::NAN)).collect(),
            seeds: entries().map(|entry| entry.n).collect(),
            least: entries().map(|entry| entry.lower_bound).collect(),
            stated: vec![],
        }
    };
    let all = (0..places.lines.len().min(MOST_LINES)).map(of_line);
    all.filter(|line| !line.x.is_empty()).collect()
}
