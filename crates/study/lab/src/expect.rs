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
    /// The quantity of the scenario, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantity: Option<String>,
    /// The scheme by whose mean the mean is divided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_to: Option<String>,
    /// The symbol of the base unit.
    #[serde(default)]
    pub unit: String,
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
    /// Why a result differs from it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
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
    let (least, most) = spec.range(&summary.quantities).ok()?;
    let measured = measured(spec, at, summary);
    let unit = spec.unit(&summary.quantities);
    let finite = |value: f64| value.is_finite().then_some(value);
    Some(Outcome {
        scheme: scheme.into(),
        metric: spec.metric,
        counter: spec.counter.clone(),
        quantity: spec.quantity.clone(),
        relative_to: spec.relative_to.clone(),
        unit: unit.symbol().into(),
        least: finite(least),
        most: finite(most),
        expected: expected(spec, unit),
        measured: measured.filter(|mean| mean.is_finite()),
        holds: measured.is_some_and(|mean| (least..=most).contains(&mean)),
        source: spec.source.clone(),
        note: spec.note.clone(),
    })
}

/// The mean of the scheme number `at` over seeds, or its ratio to that of another scheme.
fn measured(spec: &ExpectSpec, at: usize, summary: &Summary) -> Option<f64> {
    let own = mean(spec, at, summary)?;
    let Some(name) = &spec.relative_to else { return Some(own) };
    let other = summary.schemes.iter().position(|scheme| scheme.name == *name)?;
    Some(own / mean(spec, other, summary)?)
}

fn mean(spec: &ExpectSpec, at: usize, summary: &Summary) -> Option<f64> {
    if let Some(metric) = spec.metric {
        return summary.cell(at, metric).map(|cell| cell.estimate.mean);
    }
    if let Some(name) = &spec.quantity {
        let own = summary.quantities.iter().position(|quantity| quantity.name == *name)?;
        return summary.schemes[at].quantities[own].map(|estimate| estimate.mean);
    }
    let counts = &summary.schemes[at].control;
    counts.iter().find(|(name, _)| Some(name) == spec.counter.as_ref()).map(|(_, mean)| *mean)
}

/// `200 Mbit/s within 10 %`, `at least 900 Mbit/s`
fn expected(spec: &ExpectSpec, unit: Unit) -> String {
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
        let units = [Unit::Seconds, Unit::BitsPerSecond, Unit::Bytes];
        let unit = units.into_iter().find(|unit| unit.symbol() == self.unit);
        let text = |mean| match unit {
            None => format!("{mean:.4}"),
            Some(unit) => quantity(unit, mean),
        };
        self.measured.map_or("not measured".into(), text)
    }

    /// `holds` or `does not hold`.
    pub fn verdict(&self) -> &'static str {
        if self.holds { "holds" } else { "does not hold" }
    }

    /// The metric's title, or the name of the counter or quantity.
    pub fn title(&self) -> String {
        let named = self.counter.as_deref().or(self.quantity.as_deref());
        let title = match self.metric {
            Some(metric) => metric.title(),
            None => named.unwrap_or(""),
        };
        let relative = self.relative_to.as_ref();
        relative.map_or(title.into(), |other| format!("{title}, relative to {other}"))
    }

    /// The columns of a table: scheme, metric or counter, measured, expected, verdict, source.
    pub fn cells(&self) -> [String; 6] {
        let source = match self.source.is_empty() {
            true => String::new(),
            false => format!("({})", self.source),
        };
        let measured = self.measured_text();
        [
            self.scheme.clone(),
            self.title(),
            measured,
            self.expected.clone(),
            self.verdict().into(),
            source,
        ]
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
        let title = String::from("voq_drops");
        let (close, far) = ((title.clone(), Some(mean), true), (title, Some(mean), false));
        assert_eq!(seen, [close, far, ("circuit_days".into(), None, false)]);
    }

    #[test]
    fn quantities_and_ratios_can_be_expected() {
        let set = RunSet::example(2);
        let names = &set.schemes;
        let mean = |at| Summary::of(&set).cell(at, Metric::Goodput).expect("a value").estimate.mean;
        let (first, second) = (mean(0), mean(1));
        let found = example(&format!(
            "[[measure.quantity]]\nname = \"half\"\nmetric = \"goodput\"\nper = 2\n\
             [[expect]]\nscheme = \"{0}\"\nquantity = \"half\"\nat-least = \"1bps\"\n\
             [[expect]]\nscheme = \"{1}\"\nquantity = \"half\"\nrelative-to = \"{0}\"\nvalue = {2:?}\ntolerance = 1e-9\n",
            names[0],
            names[1],
            second / first
        ));
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b;
        assert!(close(found[0].measured.unwrap_or(0.0), first / 2.0) && found[0].holds);
        assert!(close(found[1].measured.unwrap_or(0.0), second / first) && found[1].holds);
        assert_eq!(found[1].title(), format!("half, relative to {}", names[0]));
        assert_eq!((found[0].unit.as_str(), found[1].unit.as_str()), ("bit/s", "1"));
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
