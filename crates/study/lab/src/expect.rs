//! Compares results with the values that a scenario expects.

use crate::output::format::quantity;
use crate::record::RunSet;
use crate::summary::Summary;
use serde::{Deserialize, Serialize};
use slotline_scenario::expect::ExpectSpec;
use slotline_scenario::metric::{Metric, Unit};

/// An expectation and what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The scheme.
    pub scheme: String,
    /// The metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<Metric>,
    /// The counter, if it is not about a metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter: Option<String>,
    /// The least mean that meets it, in the base unit; `None` for any.
    pub least: Option<f64>,
    /// The largest mean that meets it; `None` for any.
    pub most: Option<f64>,
    /// The expected value, as the scenario has it.
    pub expected: String,
    /// The mean over seeds; `None` if the metric has no value.
    pub measured: Option<f64>,
    /// Whether the mean is in the range.
    pub holds: bool,
    /// Where the expected value comes from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
}

/// The part of a scenario that is needed here.
#[derive(Deserialize)]
struct Expectations {
    #[serde(default)]
    expect: Vec<ExpectSpec>,
}

/// The outcome of every expectation in the scenario of `set`, for each scheme that it is about.
pub fn outcomes(set: &RunSet, summary: &Summary) -> Vec<Outcome> {
    let parsed: Result<Expectations, _> = toml::from_str(&set.scenario);
    let expect = parsed.map_or(vec![], |parsed| parsed.expect);
    let schemes = |spec: ExpectSpec| {
        let about = (0..set.schemes.len()).filter(|at| spec.is_about(&set.schemes[*at]));
        let outcomes: Vec<Outcome> =
            about.filter_map(|at| outcome(&spec, &set.schemes[at], at, summary)).collect();
        outcomes
    };
    expect.into_iter().flat_map(schemes).collect()
}

/// `None` if the range cannot be read, which a checked scenario excludes.
fn outcome(spec: &ExpectSpec, scheme: &str, at: usize, summary: &Summary) -> Option<Outcome> {
    let (least, most) = spec.range().ok()?;
    let measured = measured(spec, at, summary);
    let finite = |value: f64| value.is_finite().then_some(value);
    Some(Outcome {
        scheme: scheme.into(),
        metric: spec.metric,
        counter: spec.counter.clone(),
        least: finite(least),
        most: finite(most),
        expected: expected(spec),
        measured: measured.filter(|mean| mean.is_finite()),
        holds: measured.is_some_and(|mean| (least..=most).contains(&mean)),
        source: spec.source.clone(),
    })
}

/// The mean of the scheme number `at` over seeds.
fn measured(spec: &ExpectSpec, at: usize, summary: &Summary) -> Option<f64> {
    if let Some(metric) = spec.metric {
        return summary.cell(at, metric).map(|cell| cell.estimate.mean);
    }
    let counts = &summary.schemes[at].control;
    counts.iter().find(|(name, _)| Some(name) == spec.counter.as_ref()).map(|(_, mean)| *mean)
}

/// `200 Mbit/s within 10 %`, `at least 900 Mbit/s`
fn expected(spec: &ExpectSpec) -> String {
    let unit = spec.unit();
    let text = |amount: &Option<slotline_scenario::expect::Amount>| {
        amount.as_ref().and_then(|amount| Some(plain(unit, amount.in_unit(unit).ok()?)))
    };
    if let Some(value) = text(&spec.value) {
        return format!("{value} within {} %", spec.tolerance * 100.0);
    }
    match (text(&spec.at_least), text(&spec.at_most)) {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(most)) => format!("at most {most}"),
        (None, None) => String::new(),
    }
}

fn plain(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Count | Unit::Ratio | Unit::Share => format!("{value}"),
        unit => quantity(unit, value),
    }
}

impl Outcome {
    /// The mean, as text.
    pub fn measured_text(&self) -> String {
        let text = |mean| match self.metric.map_or(Unit::Count, Metric::unit) {
            Unit::Count | Unit::Ratio | Unit::Share => format!("{mean:.4}"),
            unit => quantity(unit, mean),
        };
        self.measured.map_or("not measured".into(), text)
    }

    /// `holds` or `does not hold`.
    pub fn verdict(&self) -> &'static str {
        if self.holds { "holds" } else { "does not hold" }
    }

    /// The metric's title, or the counter's name.
    pub fn title(&self) -> &str {
        match self.metric {
            Some(metric) => metric.title(),
            None => self.counter.as_deref().unwrap_or(""),
        }
    }

    /// The columns of a table: scheme, metric or counter, measured, expected, verdict, source.
    pub fn cells(&self) -> [String; 6] {
        let source = match self.source.is_empty() {
            true => String::new(),
            false => format!("({})", self.source),
        };
        let title = self.title().to_string();
        let measured = self.measured_text();
        [self.scheme.clone(), title, measured, self.expected.clone(), self.verdict().into(), source]
    }
}

/// `rows` as lines with aligned columns.
pub fn lines(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let of = |row: &Vec<String>| row.get(column).map_or(0, |cell| cell.chars().count());
        rows.iter().map(of).max().unwrap_or(0)
    };
    let line = |row: &Vec<String>| {
        let padded = row.iter().enumerate().map(|(at, cell)| format!("{cell:<0$}", width(at)));
        let line = padded.collect::<Vec<_>>().join("  ");
        format!("  {}\n", line.trim_end())
    };
    rows.iter().map(line).collect()
}

/// How many of the outcomes hold: `Expectations: 3 of 4 hold`.
pub fn heading<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> String {
    let (mut all, mut hold) = (0, 0);
    for outcome in outcomes {
        all += 1;
        hold += usize::from(outcome.holds);
    }
    format!("Expectations: {hold} of {all} hold\n")
}

/// The expectations of a result as text; empty without any.
pub fn text(set: &RunSet, summary: &Summary) -> String {
    let outcomes = outcomes(set, summary);
    if outcomes.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = outcomes.iter().map(|outcome| outcome.cells().to_vec()).collect();
    format!("\n{}{}", heading(outcomes.iter()), lines(&rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Summary;

    fn example(expect: &str) -> Vec<Outcome> {
        let mut set = RunSet::example(2);
        set.scenario = format!("name = \"x\"\n{expect}");
        outcomes(&set, &Summary::of(&set))
    }

    #[test]
    fn a_value_holds_within_its_tolerance() {
        let set = RunSet::example(2);
        let mean = Summary::of(&set).cell(0, Metric::FctMean).expect("a value").estimate.mean;
        let ms = mean * 1e3;
        let expect = |scale: f64, tolerance: f64| {
            let value = ms * scale;
            format!(
                "[[expect]]\nscheme = \"{}\"\nmetric = \"fct-mean\"\nvalue = \"{value:.9}ms\"\ntolerance = {tolerance}\n\
                 source = \"Fig. 3\"\n",
                set.schemes[0]
            )
        };
        for (scale, tolerance, holds) in
            [(1.0, 0.001, true), (1.09, 0.1, true), (1.2, 0.1, false), (0.5, 0.9, false)]
        {
            let found = example(&expect(scale, tolerance));
            assert_eq!((found.len(), found[0].holds), (1, holds), "{scale} {tolerance}: {found:?}");
            assert!(found[0].cells()[5] == "(Fig. 3)" && found[0].measured == Some(mean));
        }
    }

    #[test]
    fn counters_can_be_expected() {
        let mut set = RunSet::example(2);
        for run in &mut set.runs {
            let (count, value) = ("voq_drops".into(), 10 * run.seed);
            run.control = vec![crate::record::ControlRow { count, value }];
        }
        let mean = set.seeds.iter().map(|seed| 10.0 * *seed as f64).sum::<f64>() / 2.0;
        let expect = |counter: &str, value: f64| {
            let scheme = &set.schemes[0];
            format!(
                "[[expect]]\nscheme = \"{scheme}\"\ncounter = \"{counter}\"\nvalue = {value:.1}\n"
            )
        };
        let pair = [("voq_drops", mean * 1.05), ("voq_drops", mean * 1.2), ("circuit_days", 1.0)];
        set.scenario = pair.map(|(counter, value)| expect(counter, value)).concat();
        let found = outcomes(&set, &Summary::of(&set));
        let seen: Vec<_> = found.iter().map(|o| (o.title(), o.measured, o.holds)).collect();
        let (close, far) = (("voq_drops", Some(mean), true), ("voq_drops", Some(mean), false));
        assert_eq!(seen, [close, far, ("circuit_days", None, false)]);
    }

    #[test]
    fn bounds_apply_to_every_scheme() {
        let found = example("[[expect]]\nmetric = \"drops\"\nat-least = -1.0\nat-most = 1e9\n");
        assert_eq!(found.len(), RunSet::example(2).schemes.len());
        assert!(
            found.iter().all(|outcome| outcome.holds && outcome.expected == "-1 to 1000000000")
        );
        let unknown = example("[[expect]]\nmetric = \"circuit-utilisation\"\nat-least = 0\n");
        assert!(
            unknown
                .iter()
                .all(|outcome| !outcome.holds && outcome.measured_text() == "not measured")
        );
        assert_eq!(heading(unknown.iter()), format!("Expectations: 0 of {} hold\n", unknown.len()));
    }
}
