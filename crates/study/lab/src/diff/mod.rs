//! Compares two results: which metrics changed significantly, and which changes are regressions.

mod json;
mod text;

pub use json::json;
pub use text::text;

use crate::change::{Change, Pairing, pairing};
use crate::metrics::Measured;
use crate::output::differences::{Difference, differences};
use crate::output::merge::span;
use crate::output::read::Stored;
use crate::record::RunSet;
use crate::summary::measure_all;
use slotline_scenario::metric::Metric;

/// The settings of a comparison.
#[derive(Clone, PartialEq, Debug)]
pub struct Question {
    /// A change for the worse by up to this share of the old value is not a regression.
    pub tolerance: f64,
    /// The metrics to judge. If empty, the metrics that the old scenario names, or else all.
    pub metrics: Vec<Metric>,
}

/// Why two results cannot be compared.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiffError {
    /// A scheme of the old result has no counterpart.
    #[error(
        "the new result has no scheme `{scheme}`: it has {there}; schemes are compared by name"
    )]
    Scheme {
        /// The scheme.
        scheme: String,
        /// The schemes of the new result.
        there: String,
    },
    /// There is no run to compare.
    #[error("the {side} result has no complete run of scheme `{scheme}`")]
    NoRun {
        /// `old` or `new`.
        side: &'static str,
        /// The scheme.
        scheme: String,
    },
    /// The measured parts of the runs differ.
    #[error(
        "the old result counts what happens {old}, the new one {new}, so their numbers are not comparable"
    )]
    Window {
        /// The measured part of the old result as text.
        old: String,
        /// The measured part of the new result as text.
        new: String,
    },
}

/// The comparison of two results.
#[derive(Clone, PartialEq, Debug)]
pub struct Diff {
    /// The settings of the comparison.
    pub question: Question,
    /// Versions of the programs that made the old and the new result.
    pub versions: (String, String),
    /// Whether both have the same runs, with equal digests.
    pub identical: bool,
    /// The differences of the scenarios.
    pub differences: Vec<Difference>,
    /// Schemes of the old result, in its order.
    pub schemes: Vec<SchemeDiff>,
    /// Schemes that only the new result has.
    pub added: Vec<String>,
    /// Whether the old and the new result have all planned runs.
    pub complete: (bool, bool),
}

/// One scheme.
#[derive(Clone, PartialEq, Debug)]
pub struct SchemeDiff {
    /// Its name.
    pub name: String,
    /// How its values were compared.
    pub pairing: Pairing,
    /// Number of runs, old and new.
    pub runs: (usize, usize),
    /// Whether the digests of all its runs are equal.
    pub identical: bool,
    /// What changed, by metric.
    pub changes: Vec<(Metric, Change)>,
    /// Metrics that only one side has a value of, and requested metrics that neither side has.
    pub gaps: Vec<Metric>,
}

/// The outcome of a comparison, for scripts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// No regression beyond the tolerance.
    Fine,
    /// A regression.
    Regression,
    /// A metric could not be compared, and none of the others is a regression.
    Gap,
}

impl Diff {
    /// Compares `new` with `old`.
    pub fn of(old: &Stored, new: &Stored, question: Question) -> Result<Diff, DiffError> {
        let (before, after) = (&old.set, &new.set);
        if before.window != after.window {
            let (old, new) = (span(before.window), span(after.window));
            return Err(DiffError::Window { old, new });
        }
        let scheme = |name: &String| scheme(before, after, name, &question);
        let schemes: Result<Vec<_>, _> = before.schemes.iter().map(scheme).collect();
        let schemes = schemes?;
        let added = after.schemes.iter().filter(|name| !before.schemes.contains(name));
        let added: Vec<String> = added.cloned().collect();
        Ok(Diff {
            versions: (old.version.clone(), new.version.clone()),
            identical: added.is_empty() && schemes.iter().all(|scheme| scheme.identical),
            differences: differences(&before.scenario, &after.scenario),
            complete: (before.complete(), after.complete()),
            schemes,
            added,
            question,
        })
    }
    /// The regressions: scheme and metric.
    pub fn regressions(&self) -> Vec<(&str, Metric)> {
        let of = |scheme| {
            let SchemeDiff { name, changes, .. }: &SchemeDiff = scheme;
            let worse = changes.iter().filter(|(_, change)| change.regression);
            worse.map(|(metric, _)| (name.as_str(), *metric))
        };
        self.schemes.iter().flat_map(of).collect()
    }
    /// The outcome.
    pub fn outcome(&self) -> Outcome {
        match self.regressions().is_empty() {
            false => Outcome::Regression,
            true if self.schemes.iter().any(|scheme| !scheme.gaps.is_empty()) => Outcome::Gap,
            true => Outcome::Fine,
        }
    }
}

fn scheme(
    old: &RunSet,
    new: &RunSet,
    name: &str,
    question: &Question,
) -> Result<SchemeDiff, DiffError> {
    if !new.schemes.iter().any(|scheme| scheme == name) {
        return Err(DiffError::Scheme { scheme: name.into(), there: new.schemes.join(", ") });
    }
    let (before, after) = (old.of(name), new.of(name));
    for (side, runs) in [("old", &before), ("new", &after)] {
        if runs.is_empty() {
            return Err(DiffError::NoRun { side, scheme: name.into() });
        }
    }
    let digests = |runs: &[&crate::record::RunRecord]| -> Vec<(u64, u64)> {
        runs.iter().map(|run| (run.seed, run.engine.digest)).collect()
    };
    let (old_values, new_values) = (measure_all(old, name), measure_all(new, name));
    let mut done = SchemeDiff {
        name: name.into(),
        pairing: pairing(&seeds(&before), &seeds(&after)),
        runs: (before.len(), after.len()),
        identical: digests(&before) == digests(&after),
        changes: vec![],
        gaps: vec![],
    };
    let at = |metric| Metric::ALL.iter().position(|m| *m == metric).unwrap_or(0);
    for metric in metrics(old, question) {
        let (a, b) = (&old_values[at(metric)], &new_values[at(metric)]);
        match Change::of(metric, a, b, question.tolerance) {
            Some(change) if judges(metric, &change, question) => {
                done.changes.push((metric, change))
            }
            Some(_) => {}
            None if a.is_empty() && b.is_empty() && !question.metrics.contains(&metric) => {}
            None => done.gaps.push(metric),
        }
    }
    Ok(done)
}

fn seeds(runs: &[&crate::record::RunRecord]) -> Vec<(u64, Measured)> {
    let nothing = Measured { value: 0.0, at_least: false };
    runs.iter().map(|run| (run.seed, nothing)).collect()
}

/// The metrics to judge: the chosen ones, and always whether flows finish.
fn metrics(old: &RunSet, question: &Question) -> Vec<Metric> {
    let always = [Metric::Unfinished, Metric::NotStarted];
    let chosen: &[Metric] = match (question.metrics.is_empty(), old.metrics.is_empty()) {
        (false, _) => &question.metrics,
        (_, false) => &old.metrics,
        _ => &Metric::ALL,
    };
    let is_judged = |metric: &Metric| chosen.contains(metric) || always.contains(metric);
    Metric::ALL.into_iter().filter(is_judged).collect()
}

/// Whether a change is shown. A metric that is zero on both sides is shown only on request.
fn judges(metric: Metric, change: &Change, question: &Question) -> bool {
    let zero = change.old.estimate.mean == 0.0 && change.new.estimate.mean == 0.0;
    !zero || question.metrics.contains(&metric)
}

#[cfg(test)]
mod tests;
