//! Values that runs are expected to have.

use super::check::{Fit, ensure, perhaps};
use super::quantity::QuantitySpec;
use super::spec::Scenario;
use crate::metric::{Metric, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slotline_net::error::SpecError;
use slotline_net::time::Time;
use slotline_net::units::{Bytes, Rate};
use slotline_schemes::counters;
use std::collections::BTreeMap;
use std::fmt;

/// A value that a metric or a counter is expected to have, for example one from a paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ExpectSpec {
    /// The metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<Metric>,
    /// Instead of a metric, a count of the table `control` by its name, such as `voq_drops`. Its value is a number, in the
    /// count's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter: Option<String>,
    /// Instead of a metric, a quantity of `measure` by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantity: Option<String>,
    /// The value is the mean divided by that of this scheme: a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_to: Option<String>,
    /// The scheme. Default: every scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    /// The expected value, a number or a quantity with its unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Amount>,
    /// How far the mean may be from `value`, as a share of it.
    #[serde(default = "tenth")]
    #[schemars(range(min = 0))]
    pub tolerance: f64,
    /// The mean is at least this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Amount>,
    /// The mean is at most this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Amount>,
    /// Where the value comes from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Why a result differs from it, in one sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// In a file with a `sweep`, the points to which it applies: paths of varied keys, each with a value. Default: all
    /// points.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub at: BTreeMap<String, Setting>,
}

fn tenth() -> f64 {
    0.1
}

/// A number or a quantity with its unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Amount {
    /// A count, a ratio or a share.
    Number(f64),
    /// A quantity such as `"9.4Gbps"`.
    Text(String),
}

/// The value of a varied key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    /// True or false.
    Flag(bool),
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f64),
    /// Text.
    Text(String),
}

impl Amount {
    /// The value in the base unit: seconds, bit/s, bytes, or a number.
    ///
    /// # Errors
    /// The value is not of this unit.
    pub fn in_unit(&self, unit: Unit) -> Result<f64, String> {
        let (value, example) = match unit {
            Unit::Seconds => (self.parsed(|time: Time| time.as_ps() as f64 / 1e12), "\"1.5ms\""),
            Unit::BitsPerSecond => (self.parsed(|rate: Rate| rate.0 as f64), "\"9.4Gbps\""),
            Unit::Bytes => (self.parsed(|bytes: Bytes| bytes.0 as f64), "\"150KB\""),
            Unit::Count | Unit::Ratio | Unit::Share => match self {
                Amount::Number(number) if number.is_finite() => (Some(*number), ""),
                _ => (None, "0.9"),
            },
        };
        value.ok_or_else(|| format!("`{self}` is no value of it: expected for example {example}"))
    }

    fn parsed<T: std::str::FromStr>(&self, base: impl FnOnce(T) -> f64) -> Option<f64> {
        match self {
            Amount::Text(text) => text.parse().ok().map(base),
            Amount::Number(_) => None,
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Number(number) => write!(f, "{number}"),
            Amount::Text(text) => f.write_str(text),
        }
    }
}

impl ExpectSpec {
    /// The unit of the values, where `quantities` are those of the scenario. Counts are numbers.
    pub fn unit(&self, quantities: &[QuantitySpec]) -> Unit {
        let quantity = self.quantity.as_ref().and_then(|name| named(name, quantities));
        match (&self.relative_to, self.metric) {
            (Some(_), _) => Unit::Ratio,
            (None, Some(metric)) => metric.unit(),
            (None, None) => quantity.map_or(Unit::Count, QuantitySpec::unit),
        }
    }

    /// The least and the largest mean that meet it, in the base unit of what it is about. `quantities` are those of the
    /// scenario.
    ///
    /// # Errors
    /// The key of a value that is not of this unit, and why.
    pub fn range(&self, quantities: &[QuantitySpec]) -> Result<(f64, f64), SpecError> {
        let unit = self.unit(quantities);
        let read = |key: &str, amount: &Option<Amount>| {
            let value = amount.as_ref().map(|amount| amount.in_unit(unit)).transpose();
            value.map_err(|why| SpecError::new(key, why))
        };
        let (least, most) = (read("at-least", &self.at_least)?, read("at-most", &self.at_most)?);
        if let Some(value) = read("value", &self.value)? {
            let room = self.tolerance * value.abs();
            return Ok((value - room, value + room));
        }
        Ok((least.unwrap_or(f64::NEG_INFINITY), most.unwrap_or(f64::INFINITY)))
    }

    /// Whether it is about `scheme`.
    pub fn is_about(&self, scheme: &str) -> bool {
        self.scheme.as_deref().is_none_or(|name| name == scheme)
    }

    /// Whether it names a metric, or a counter or a quantity that exists.
    fn check_subject(&self, quantities: &[QuantitySpec]) -> Fit {
        match (self.metric, &self.counter, &self.quantity) {
            (Some(_), None, None) => Ok(()),
            (None, None, Some(name)) => {
                let names: Vec<String> = quantities.iter().map(|own| own.name.clone()).collect();
                ensure(names.contains(name), "quantity", || {
                    let near = perhaps(name, &names);
                    format!("`measure` has no quantity `{name}`{near}")
                })
            }
            (None, Some(name), None) => {
                let names: Vec<String> =
                    counters::all().into_iter().map(|counter| counter.name.into()).collect();
                if names.contains(name) {
                    return Ok(());
                }
                let message = format!("there is no counter `{name}`{}", perhaps(name, &names));
                Err(SpecError::new("counter", message))
            }
            _ => {
                let message = "an expectation is about a `metric`, a `counter` or a `quantity`: give one of them";
                Err(SpecError::new("metric", message))
            }
        }
    }

    fn check(&self, scenario: &Scenario) -> Fit {
        let fail = |key: &str, why: String| Err(SpecError::new(key, why));
        self.check_subject(&scenario.measure.quantity)?;
        let is_bounded = self.at_least.is_some() || self.at_most.is_some();
        if self.value.is_some() == is_bounded {
            return fail(
                "metric",
                "an expectation has either `value`, or `at-least`, `at-most` or both".into(),
            );
        }
        if !self.tolerance.is_finite() || self.tolerance < 0.0 {
            return fail(
                "tolerance",
                format!("`tolerance` is {}: a share such as 0.1", self.tolerance),
            );
        }
        let (least, most) = self.range(&scenario.measure.quantity)?;
        if least > most {
            return fail("at-least", "`at-least` is larger than `at-most`".into());
        }
        for (key, name) in [("scheme", &self.scheme), ("relative-to", &self.relative_to)] {
            let Some(name) = name else { continue };
            ensure(scenario.scheme.iter().any(|scheme| scheme.name == *name), key, || {
                format!("there is no scheme \"{name}\"")
            })?;
        }
        match self.at.is_empty() {
            true => Ok(()),
            false => fail("at", "`at` names points of a sweep: this file has none".into()),
        }
    }
}

/// The quantity with this name.
pub fn named<'a>(name: &str, quantities: &'a [QuantitySpec]) -> Option<&'a QuantitySpec> {
    quantities.iter().find(|quantity| quantity.name == name)
}

/// The errors in the expectations of a scenario.
pub(super) fn faults(scenario: &Scenario) -> Vec<SpecError> {
    let all = scenario.expect.iter().enumerate();
    let wrong = all.filter_map(|(at, expect)| {
        let error = expect.check(scenario).err()?;
        Some(error.within(format_args!("expect[{at}]")))
    });
    wrong.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn loaded(expect: &str) -> Result<Scenario, String> {
        let text = format!(
            "name = \"x\"\nend = {{ at = \"1ms\" }}\n[fabric]\nkind = \"star\"\nhosts = 3\n[[workload]]\nkind = \"ring\"\n\
             [[scheme]]\nname = \"tcp\"\n[[expect]]\n{expect}\n"
        );
        let loaded = Scenario::parse(Path::new("x.toml"), text);
        loaded.map(|loaded| loaded.scenario).map_err(|error| error.to_string())
    }

    #[test]
    fn values_become_ranges_in_base_units() {
        for (text, range) in [
            ("metric = \"goodput\"\nvalue = \"2Gbps\"", (1.8e9, 2.2e9)),
            ("metric = \"fct-p99\"\nvalue = \"4ms\"\ntolerance = 0.25", (3e-3, 5e-3)),
            ("metric = \"drops\"\nat-most = 7", (f64::NEG_INFINITY, 7.0)),
            ("metric = \"fairness\"\nvalue = 0.9", (0.81, 0.99)),
            ("counter = \"voq_drops\"\nvalue = 20", (18.0, 22.0)),
            ("metric = \"queue-max\"\nat-least = \"1KB\"\nat-most = \"2KB\"", (1e3, 2e3)),
        ] {
            let expect = &loaded(text).unwrap().expect[0];
            let (least, most) = expect.range(&[]).unwrap();
            let close = |a: f64, b: f64| a == b || (a - b).abs() < 1e-12 * b.abs();
            assert!(close(least, range.0) && close(most, range.1), "{text}: {least} {most}");
        }
    }

    #[test]
    fn expectations_without_a_meaning_are_refused() {
        for (text, why) in [
            ("metric = \"goodput\"", "either `value`, or `at-least`, `at-most` or both"),
            ("metric = \"goodput\"\nvalue = 1\nat-least = 2", "either `value`"),
            (
                "metric = \"goodput\"\nvalue = 900",
                "`900` is no value of it: expected for example \"9.4Gbps\"",
            ),
            ("metric = \"drops\"\nvalue = \"9B\"", "expected for example 0.9"),
            ("metric = \"goodput\"\nvalue = \"1ms\"", "expect[0].value"),
            (
                "metric = \"drops\"\nat-least = 2\nat-most = 1",
                "`at-least` is larger than `at-most`",
            ),
            ("metric = \"drops\"\nvalue = 2\ntolerance = -1", "`tolerance` is -1"),
            ("metric = \"drops\"\nvalue = 2\nscheme = \"udp\"", "there is no scheme \"udp\""),
            ("metric = \"drops\"\nvalue = 2\nat = { seed = 1 }", "`at` names points of a sweep"),
            ("metric = \"speed\"\nvalue = 2", "speed"),
            ("value = 2", "about a `metric`, a `counter` or a `quantity`: give one of them"),
            ("metric = \"drops\"\ncounter = \"voq_drops\"\nvalue = 2", "give one of them"),
            (
                "counter = \"voq_drop\"\nvalue = 2",
                "`counter`: there is no counter `voq_drop`; did you mean `voq_drops`?",
            ),
            ("counter = \"voq_drops\"\nvalue = \"2ms\"", "expected for example 0.9"),
            ("quantity = \"own\"\nvalue = 2", "`measure` has no quantity `own`"),
            (
                "metric = \"goodput\"\nrelative-to = \"udp\"\nvalue = 2",
                "there is no scheme \"udp\"",
            ),
            (
                "metric = \"goodput\"\nrelative-to = \"tcp\"\nvalue = \"2Gbps\"",
                "expected for example 0.9",
            ),
        ] {
            let error = loaded(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
