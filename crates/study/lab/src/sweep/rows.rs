//! Turns the results of a sweep's points into rows: settings, scheme, metrics.

use super::part::PointRecord;
use super::plan::Parameter;
use super::summary_file::{Against, MetricEntry, QuantityEntry, SchemeEntry, SummaryFile};
use crate::metrics::Measured;
use crate::statistics::{Comparison, Estimate, Pair};
use serde::Serialize;
use slotline_scenario::metric::Metric;
use std::collections::BTreeMap;

/// One scheme under one setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its points: several where they differ only in the seed.
    pub points: Vec<usize>,
    /// A value for each parameter except `seed`, by position; `None` for the value of the scenario.
    pub settings: Vec<Option<serde_json::Value>>,
    /// The scheme.
    pub scheme: String,
    /// The measured metrics.
    pub metrics: BTreeMap<Metric, MetricEntry>,
    /// The quantities that the scenario defines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quantities: Vec<(String, QuantityEntry)>,
}

/// The parameters that rows have a setting of: all except `seed`.
pub fn of_rows(parameters: &[Parameter]) -> impl Iterator<Item = &Parameter> {
    parameters.iter().filter(|parameter| parameter.path != "seed")
}

/// The rows of all points that have a result, in the order of the points, then of the schemes.
pub fn rows(
    parameters: &[Parameter],
    points: &[PointRecord],
    summaries: &BTreeMap<usize, SummaryFile>,
) -> Vec<Row> {
    type Settings = Vec<Option<serde_json::Value>>;
    let mut groups: Vec<(Settings, Vec<usize>)> = vec![];
    // Grouping by text is fast for many points.
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for point in points.iter().filter(|point| summaries.contains_key(&point.point)) {
        let named = parameters.iter().zip(&point.settings);
        let named_settings = named.filter(|(parameter, _)| parameter.path != "seed");
        let settings: Settings = named_settings.map(|(_, value)| value.clone()).collect();
        let place = *places.entry(format!("{settings:?}")).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, members)) => members.push(point.point),
            None => groups.push((settings, vec![point.point])),
        }
    }
    groups
        .into_iter()
        .flat_map(|(settings, points)| of_group(&settings, &points, summaries))
        .collect()
}

/// A row for each scheme, for points that differ only in their seed.
fn of_group(
    settings: &[Option<serde_json::Value>],
    points: &[usize],
    summaries: &BTreeMap<usize, SummaryFile>,
) -> Vec<Row> {
    let members: Vec<&SummaryFile> = points.iter().map(|point| &summaries[point]).collect();
    let schemes: Vec<&String> = members[0].schemes.iter().map(|(name, _)| name).collect();
    let row = |(at, name): (usize, &&String)| Row {
        points: points.to_vec(),
        settings: settings.to_vec(),
        scheme: name.to_string(),
        metrics: match members[..] {
            [one] => one.schemes[at].1.metrics.clone(),
            _ => over_seeds(at, &members),
        },
        quantities: match members[..] {
            [one] => one.schemes[at].1.quantities.clone(),
            _ => quantities_over_seeds(at, &members),
        },
    };
    schemes.iter().enumerate().map(row).collect()
}

/// As [`over_seeds`], for the quantities that the scenario defines.
fn quantities_over_seeds(scheme: usize, members: &[&SummaryFile]) -> Vec<(String, QuantityEntry)> {
    let of =
        |member: &SummaryFile| member.schemes.get(scheme).map(|(_, own)| own.quantities.clone());
    let all: Vec<(String, QuantityEntry)> =
        members.iter().filter_map(|member| of(member)).flatten().collect();
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in &all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let combined = |name: &String| {
        let own = || all.iter().filter(|(other, _)| other == name).map(|(_, entry)| entry);
        let estimate = Estimate::of(&own().map(|entry| entry.mean).collect::<Vec<_>>())?;
        Some((name.clone(), QuantityEntry::of(&own().next()?.unit, &estimate)))
    };
    names.into_iter().filter_map(combined).collect()
}

/// Merges repetitions that are separate points, like the repetitions of one point.
fn over_seeds(scheme: usize, members: &[&SummaryFile]) -> BTreeMap<Metric, MetricEntry> {
    let value = |entry: Option<&(String, SchemeEntry)>, metric: Metric| {
        let entry = entry?.1.metrics.get(&metric)?;
        Some(Measured { value: entry.mean?, at_least: entry.lower_bound })
    };
    let combined = |metric: Metric| {
        let own: Vec<Measured> =
            members.iter().filter_map(|m| value(m.schemes.get(scheme), metric)).collect();
        let pair = |m: &&SummaryFile| -> Option<Pair> {
            Some((value(m.schemes.first(), metric)?, value(m.schemes.get(scheme), metric)?))
        };
        let pairs: Vec<Pair> = members.iter().filter_map(pair).filter(|_| scheme > 0).collect();
        let numbers: Vec<f64> = own.iter().map(|m| m.value).collect();
        let estimate = Estimate::of(&numbers)?;
        Some(MetricEntry {
            mean: Some(estimate.mean),
            ci_low: estimate.low(),
            ci_high: estimate.high(),
            n: estimate.n,
            lower_bound: own.iter().any(|m| m.at_least),
            against_baseline: Comparison::paired(&pairs, metric.better())
                .map(|c| Against { verdict: c.verdict.text().into() }),
        })
    };
    Metric::ALL.into_iter().filter_map(|metric| Some((metric, combined(metric)?))).collect()
}
