//! Figures of experiments that resemble the figures in papers. Most figures use the shapes of the report.

use super::quantity::scale;
use super::{Measured, Quantity, Row, Stated, Text};
use slotline_lab::record::RunRecord;
use slotline_report::flows::cumulative;
use slotline_report::plot::{
    Axis, Bars, Division, Figure, Lines, Mark, Measure, Plot, Row as Bar, Series, Shape, Study,
    StudyLine,
};
use slotline_report::thin::{self, Moment, envelope};

/// Points that were run, their comparison, and the names of the schemes in both.
#[derive(Debug)]
pub struct View<'a> {
    /// The points in the order of the axis.
    pub points: &'a [Measured],
    /// The comparison.
    pub rows: &'a [Row],
    /// All schemes in order: those of the runs, then those that occur only in rows.
    pub names: Vec<String>,
}

/// The labels and the units of a figure of single values or of a time series.
#[derive(Clone, Copy, Debug)]
pub struct Values {
    /// Name in the page and in the names of saved files.
    pub id: &'static str,
    /// Heading.
    pub title: &'static str,
    /// The label of the axis of values.
    pub label: &'static str,
    /// The unit of the values.
    pub unit: Measure,
    /// The scales that their axis can have.
    pub scale: Division,
}

/// What figures need of a quantity.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Its name in the page and in the names of saved files.
    pub key: &'static str,
    /// Its name on axes, as in rows.
    pub name: &'a str,
    /// Its unit.
    pub unit: &'static str,
}

impl From<&Quantity> for Named<'_> {
    fn from(quantity: &Quantity) -> Self {
        Named { key: quantity.key, name: quantity.name, unit: quantity.unit }
    }
}

const TIME: Axis = Axis { label: "time", unit: Measure::Seconds, scale: Division::Linear };
const SHARE: Division = Division::Tail;
const PAPER: &str = " Stars show the values in the text of the paper.";
const BOUND: &str = " A stroke up or down means more, or less, than the value.";

impl<'a> View<'a> {
    /// A view with the names of all schemes.
    pub fn of(points: &'a [Measured], rows: &'a [Row]) -> View<'a> {
        let ran = points.iter().flat_map(|point| point.runs.iter().map(|run| &run.scheme));
        let mut names: Vec<String> = Vec::new();
        for scheme in ran.chain(rows.iter().map(|row| &row.scheme)) {
            if !names.contains(scheme) {
                names.push(scheme.clone());
            }
        }
        View { points, rows, names }
    }

    /// A figure of `quantity` against the axis, whose label is `label`: a line for each scheme, with 95 % intervals
    /// over seeds. Values from the paper are marked.
    pub fn against<'q>(&self, label: &str, quantity: impl Into<Named<'q>>) -> Figure {
        self.against_in(label, Measure::Number, 1.0, quantity)
    }

    /// As [`View::against`], where a step of the axis is `step` of `unit`.
    pub fn against_in<'q>(
        &self,
        label: &str,
        unit: Measure,
        step: f64,
        quantity: impl Into<Named<'q>>,
    ) -> Figure {
        let quantity = &quantity.into();
        let is_measured = |scheme: &&String| self.rows.iter().any(|row| is(row, quantity, scheme));
        let lines = self.names.iter().enumerate().filter(|(_, scheme)| is_measured(scheme));
        let series: Vec<StudyLine> = lines
            .map(|(at, scheme)| self.line(at, scheme, step, quantity))
            .filter(|line| !line.x.is_empty())
            .collect();
        let stated: Vec<&'static str> =
            series.iter().flat_map(|line| &line.stated).map(|mark| mark.sense).collect();
        let y = Axis {
            label: quantity.name.to_string(),
            unit: scale(quantity.unit).0,
            scale: Division::LinearFirst,
        };
        let x = Axis { label: label.to_string(), unit, scale: Division::Linear };
        let study = Study { x, names: vec![], y, settings: vec!["scheme".into()], series };
        Ok(Plot {
            id: quantity.key,
            title: capital(&format!("{} by {label}", quantity.name)).into(),
            caption: caption(self.seeds(), &stated),
            shape: Shape::Study(study),
        })
    }

    fn line(&self, at: usize, scheme: &str, step: f64, quantity: &Named) -> StudyLine {
        let (_, times) = scale(quantity.unit);
        let own = self.rows.iter().filter(|row| is(row, quantity, scheme));
        let mut points: Vec<(f64, &Row)> =
            own.filter_map(|row| Some((row.x? * step, row))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let bound = |of: fn(&Row) -> Option<f64>| {
            points.iter().map(|(_, row)| of(row).map_or(f64::NAN, |v| v * times)).collect()
        };
        let mark = |(x, row): &(f64, &Row)| Some(stated(*x, row.paper?, times));
        StudyLine {
            scheme: at,
            settings: vec![scheme.into()],
            x: points.iter().map(|point| point.0).collect(),
            y: points.iter().map(|(_, row)| row.ours.mean * times).collect(),
            low: bound(|row| row.ours.low()),
            high: bound(|row| row.ours.high()),
            seeds: points.iter().map(|(_, row)| row.ours.n).collect(),
            least: vec![false; points.len()],
            stated: points.iter().filter_map(mark).collect(),
        }
    }

    /// A figure of bars for each scheme, with a row for each of `quantities` (of one unit) at each point.
    pub fn bars(&self, id: &'static str, title: &'static str, quantities: &[Quantity]) -> Figure {
        let named: Vec<Named> = quantities.iter().map(Named::from).collect();
        self.bars_of(id, title.into(), &named)
    }

    /// As [`View::bars`], of quantities of any origin.
    pub fn bars_of(&self, id: &'static str, title: Text, quantities: &[Named]) -> Figure {
        let unit = quantities.first().map_or("", |quantity| quantity.unit);
        let (measure, times) = scale(unit);
        let several = self.points.len() > 1;
        let places = || self.points.iter().flat_map(|p| quantities.iter().map(move |q| (p, q)));
        let name = |(point, quantity): (&Measured, &Named)| match several {
            true => format!("{}: {}", point.setup, quantity.name),
            false => quantity.name.to_string(),
        };
        let row_of = |scheme: &str, (point, quantity): (&Measured, &Named)| {
            self.rows.iter().find(|row| row.point == point.setup && is(row, quantity, scheme))
        };
        let values = |of: &dyn Fn(&Row) -> Option<f64>| -> Vec<Bar> {
            let value = |scheme: &str, place| {
                row_of(scheme, place).and_then(of).map_or(f64::NAN, |value| value * times)
            };
            let bar = |scheme: &String| Bar(places().map(|place| value(scheme, place)).collect());
            self.names.iter().map(bar).collect()
        };
        let bars = Bars {
            x: Axis { label: "mean", unit: measure, scale: Division::Linear },
            row: "quantity",
            rows: places().map(name).collect(),
            values: values(&|row| Some(row.ours.mean)),
            stated: values(&|row| row.paper.map(Stated::value)),
        };
        let is_stated = bars.stated.iter().any(|bar| bar.0.iter().any(|value| value.is_finite()));
        let caption = caption(0, if is_stated { &["about"] } else { &[] });
        Ok(Plot { id, title, caption, shape: Shape::Bars(bars) })
    }

    /// The distribution of the values of `of` in the runs of the point at `x`, over all seeds. `paper` contains
    /// schemes, shares and values from the paper's text, in the unit of `values`.
    pub fn distribution(
        &self,
        x: u32,
        values: &Values,
        of: impl Fn(&RunRecord) -> Vec<f64>,
        paper: &[(&str, f64, f64)],
    ) -> Figure {
        let mut most = 0;
        let line = |(at, scheme): (usize, &String)| {
            let all: Vec<f64> = self.at(x, scheme).flat_map(&of).collect();
            most = most.max(all.len());
            let own = paper.iter().filter(|(named, ..)| named == scheme);
            let stated = own.map(|&(_, share, value)| Mark { x: value, y: share, sense: "about" });
            Series { stated: stated.collect(), ..cumulative(at, all, 0) }
        };
        let series = self.names.iter().enumerate().map(line).collect();
        let caption = format!(
            "Share of values that are this large or smaller, over all seeds.{}{}",
            thin::note(most),
            if paper.is_empty() { "" } else { PAPER }
        );
        let y = Axis { label: "share", unit: Measure::Share, scale: SHARE };
        values.figure(caption, Lines { x: values.axis(), y, series })
    }

    /// The time series (in seconds) of the values of `of` in the first run of each scheme at `x`.
    pub fn time_series(
        &self,
        x: u32,
        values: &Values,
        of: impl Fn(&RunRecord) -> Vec<(f64, f64)>,
    ) -> Figure {
        let mut each = 1;
        let line = |(at, scheme): (usize, &String)| {
            let run = self.at(x, scheme).next()?;
            let moment = |(at, value)| Moment { at, weight: 1.0, value };
            let thin = envelope(&of(run).into_iter().map(moment).collect::<Vec<_>>());
            each = each.max(thin.each);
            let (x, y) = (thin.at, thin.mean);
            Some(Series { scheme: at, x, y, low: thin.low, high: thin.high, ..Series::default() })
        };
        let series = self.names.iter().enumerate().filter_map(line).collect();
        let caption = match each {
            1 => "First seed.".into(),
            n => format!(
                "The first seed is shown. Each point of a line is the mean of {n} values, and the band shows their range."
            ),
        };
        values.figure(caption, Lines { x: TIME, y: values.axis(), series })
    }

    fn at(&self, x: u32, scheme: &str) -> impl Iterator<Item = &'a RunRecord> {
        let points = self.points.iter().filter(move |point| point.x == x);
        points.flat_map(move |point| &point.runs).filter(move |run| run.scheme == scheme)
    }

    fn seeds(&self) -> usize {
        self.rows.iter().map(|row| row.ours.n).max().unwrap_or(0)
    }
}

impl Values {
    fn axis(&self) -> Axis {
        Axis { label: self.label, unit: self.unit, scale: self.scale }
    }
    fn figure(&self, caption: String, lines: Lines) -> Figure {
        Ok(Plot { id: self.id, title: self.title.into(), caption, shape: Shape::Lines(lines) })
    }
}

fn is(row: &Row, quantity: &Named, scheme: &str) -> bool {
    row.quantity == quantity.name && row.scheme == scheme
}

/// The value of the paper at `x` as a mark of a figure.
fn stated(x: f64, paper: Stated, times: f64) -> Mark {
    let sense = match paper {
        Stated::About(_) => "about",
        Stated::Over(_) => "over",
        Stated::Under(_) => "under",
    };
    Mark { x, y: paper.value() * times, sense }
}

/// The caption of a figure. `stated`: the senses of the marks.
fn caption(seeds: usize, stated: &[&str]) -> String {
    let seeds = match seeds {
        0 => "Means over seeds.".into(),
        1 => "One seed.".into(),
        n => format!("Means over {n} seeds, with 95 % confidence intervals."),
    };
    let paper = if stated.is_empty() { "" } else { PAPER };
    let bound = if stated.iter().any(|sense| *sense != "about") { BOUND } else { "" };
    seeds + paper + bound
}

pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::{completion_times, goodput, rates, samples};
    use slotline_lab::record::RunSet;

    const GOODPUT: Quantity = Quantity {
        key: "goodput",
        name: "goodput",
        unit: "Mbit/s",
        of: |run| goodput(run, |_| true),
    };

    fn points() -> Vec<Measured> {
        let RunSet { runs, .. } = RunSet::example(2);
        let point = |x: u32| Measured {
            x,
            setup: format!("N={x}"),
            runs: runs.clone(),
            ..Measured::default()
        };
        vec![point(8), point(2)]
    }
    fn rows(points: &[Measured]) -> Vec<Row> {
        let paper = |point: &Measured| (point.x == 8).then_some(Stated::Over(305.0));
        points.iter().flat_map(|p| p.row("tcp", &GOODPUT, paper(p), "")).collect()
    }
    fn shape(figure: Figure) -> Shape {
        figure.expect("a figure").shape
    }

    #[test]
    fn a_quantity_goes_from_left_to_right_with_the_papers_values() {
        let points = points();
        let rows = rows(&points);
        let view = View::of(&points, &rows);
        assert_eq!(view.names, ["tcp", "dctcp", "xco, <slices>"]);
        let Shape::Study(study) = shape(view.against("servers", &GOODPUT)) else { panic!() };
        assert_eq!(study.series.len(), 1, "only what is in the rows is drawn");
        let line = &study.series[0];
        assert_eq!((&line.x, line.scheme), (&vec![2.0, 8.0], 0));
        assert!((line.y[0] / (rows[1].ours.mean * 1e6) - 1.0).abs() < 1e-12, "bit/s, not Mbit/s");
        assert_eq!(line.stated, [Mark { x: 8.0, y: 305e6, sense: "over" }]);
        let wide = view.against_in("machines", Measure::Number, 200.0, &GOODPUT);
        let Shape::Study(study) = shape(wide) else { panic!() };
        assert_eq!(study.series[0].x, [400.0, 1_600.0]);
    }

    #[test]
    fn rows_alone_make_curves_of_their_own() {
        let points = points();
        let mut rows = rows(&points);
        rows.iter_mut().for_each(|row| row.scheme = "UDP, tcp".into());
        let view = View::of(&points, &rows);
        let Shape::Study(study) = shape(view.against("servers", &GOODPUT)) else { panic!() };
        assert_eq!(view.names[study.series[0].scheme], "UDP, tcp");
    }

    #[test]
    fn bars_have_a_row_for_each_quantity_and_gaps_where_nothing_is() {
        let points = points();
        let rows = rows(&points);
        let Shape::Bars(bars) = shape(View::of(&points, &rows).bars("b", "Bars", &[GOODPUT]))
        else {
            panic!()
        };
        assert_eq!(bars.rows, ["N=8: goodput", "N=2: goodput"]);
        assert_eq!((bars.values.len(), bars.stated.len()), (3, 3));
        assert!(bars.values[0].0.iter().all(|value| *value > 0.0));
        assert!(bars.values[1].0.iter().all(|value| value.is_nan()));
        assert_eq!(bars.stated[0].0[0], 305e6);
        assert!(bars.stated[0].0[1].is_nan());
    }

    #[test]
    fn distributions_and_time_series_are_of_one_point() {
        let points = points();
        let view = View::of(&points, &[]);
        let values = Values {
            id: "v",
            title: "Values",
            label: "time",
            unit: Measure::Seconds,
            scale: Division::LogFirst,
        };
        let paper = [("dctcp", 0.5, 0.01)];
        let all = view.distribution(8, &values, |run| completion_times(run, |_| true), &paper);
        let Shape::Lines(lines) = shape(all) else { panic!() };
        assert_eq!(lines.series[0].x.len(), 16, "8 flows of 2 seeds");
        assert_eq!(lines.series[1].stated, [Mark { x: 0.01, y: 0.5, sense: "about" }]);
        assert!(lines.series[0].stated.is_empty() && lines.series[0].x.is_sorted());
        let time_series = view.time_series(2, &values, |run| rates(&samples(run, "s0", "0")));
        let Shape::Lines(lines) = shape(time_series) else { panic!() };
        // 9,000 bytes each 10 us.
        assert!(lines.series.iter().all(|line| line.y.iter().all(|y| (y - 7.2e9).abs() < 1.0)));
        assert_eq!(lines.series.len(), 3);
    }
}
