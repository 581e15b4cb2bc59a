//! The comparison as JSON, for scripts.

use super::{Diff, Outcome, SchemeDiff};
use crate::change::{Change, Pairing, Side};
use crate::statistics::Comparison;
use serde_json::{Map, Value, json};
use slotline_scenario::metric::Metric;

/// The comparison as JSON, on several lines.
pub fn json(diff: &Diff) -> String {
    let scheme = |s: &SchemeDiff| (s.name.clone(), scheme(s));
    let (old, new) = &diff.versions;
    let value = json!({
        "outcome": match diff.outcome() {
            Outcome::Fine => "fine",
            Outcome::Regression => "regression",
            Outcome::Gap => "cannot compare",
        },
        "tolerance": diff.question.tolerance,
        "identical": diff.identical,
        "versions": { "old": old, "new": new },
        "complete": { "old": diff.complete.0, "new": diff.complete.1 },
        "scenario": diff.differences.iter().map(|difference| json!({
            "key": difference.key,
            "old": difference.old,
            "new": difference.new,
        })).collect::<Vec<Value>>(),
        "added": diff.added,
        "schemes": diff.schemes.iter().map(scheme).collect::<Map<String, Value>>(),
        "regressions": diff.regressions().iter().map(|(scheme, metric)| json!({
            "scheme": scheme,
            "metric": metric.key(),
        })).collect::<Vec<Value>>(),
    });
    format!("{value:#}\n")
}

fn scheme(scheme: &SchemeDiff) -> Value {
    let change = |(metric, change): &(Metric, Change)| (metric.key().into(), of(*metric, change));
    json!({
        "identical": scheme.identical,
        "paired_by_seed": scheme.pairing == Pairing::BySeed,
        "runs": { "old": scheme.runs.0, "new": scheme.runs.1 },
        "metrics": scheme.changes.iter().map(change).collect::<Map<String, Value>>(),
        "not_comparable": scheme.gaps.iter().map(|metric| metric.key()).collect::<Vec<_>>(),
    })
}

fn of(metric: Metric, change: &Change) -> Value {
    json!({
        "unit": metric.unit().symbol(),
        "old": side(&change.old),
        "new": side(&change.new),
        "change": change.comparison.as_ref().map(comparison),
        "regression": change.regression,
    })
}

fn side(side: &Side) -> Value {
    json!({
        "mean": side.estimate.mean,
        "ci_low": side.estimate.low(),
        "ci_high": side.estimate.high(),
        "n": side.estimate.n,
        "lower_bound": side.at_least,
    })
}

fn comparison(comparison: &Comparison) -> Value {
    let ratio = comparison.ratio;
    json!({
        "verdict": comparison.verdict.text(),
        "difference": comparison.difference.mean,
        "ci_low": comparison.difference.low(),
        "ci_high": comparison.difference.high(),
        "ratio": ratio.map(|ratio| ratio.value),
        "ratio_low": ratio.and_then(|ratio| ratio.interval).map(|(low, _)| low),
        "ratio_high": ratio.and_then(|ratio| ratio.interval).map(|(_, high)| high),
    })
}
