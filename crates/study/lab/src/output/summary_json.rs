//! Writes `summary.json`, the file for scripts.

use crate::expect::{Outcome, outcomes};
use crate::output::tally::tallies;
use crate::record::{FailedRun, RunSet};
use crate::statistics::{Comparison, Estimate};
use crate::summary::{Cell, EngineTotal, SchemeSummary, Summary};
use crate::sweep::summary_file::QuantityEntry;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use slotline_net::node::DropReason;
use slotline_scenario::quantity::QuantitySpec;

/// An object whose keys keep their order.
struct Ordered<'a, T>(Vec<(&'a str, T)>);

impl<T> Ordered<'_, T> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Serialize> Serialize for Ordered<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

#[derive(Serialize)]
struct File<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
    version: &'a str,
    complete: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    failed: &'a [FailedRun],
    seeds: &'a [u64],
    baseline: Option<&'a String>,
    shown: Vec<&'a str>,
    schemes: Ordered<'a, Scheme<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    expectations: Vec<Outcome>,
    engine: Value,
}

#[derive(Serialize)]
struct Scheme<'a> {
    runs: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    headline: Option<String>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
    metrics: Ordered<'a, Value>,
    #[serde(skip_serializing_if = "Ordered::is_empty")]
    quantities: Ordered<'a, Value>,
    #[serde(skip_serializing_if = "Ordered::is_empty")]
    control: Ordered<'a, f64>,
    engine: Value,
}

/// The text of the file.
pub fn text(id: &str, set: &RunSet, summary: &Summary) -> String {
    let shown = summary.shown(set);
    let headlines = tallies(summary, &shown).into_iter().map(|tally| Some(tally.headline()));
    let schemes = summary.schemes.iter().zip(std::iter::once(None).chain(headlines));
    let file = File {
        id,
        name: &set.name,
        description: &set.description,
        version: env!("CARGO_PKG_VERSION"),
        complete: set.complete(),
        failed: &set.failed,
        seeds: &set.seeds,
        baseline: set.schemes.first(),
        shown: shown.iter().map(|metric| metric.key()).collect(),
        schemes: Ordered(
            schemes.map(|(s, line)| (s.name.as_str(), scheme(s, line, summary))).collect(),
        ),
        expectations: outcomes(set, summary),
        engine: engine(&EngineTotal::of(&set.in_order())),
    };
    // Plain data with text keys always has a JSON form.
    serde_json::to_string_pretty(&file).expect("plain data") + "\n"
}

fn scheme<'a>(
    scheme: &'a SchemeSummary,
    headline: Option<String>,
    summary: &'a Summary,
) -> Scheme<'a> {
    let control = scheme.control.iter().map(|(name, mean)| (name.as_str(), *mean));
    Scheme {
        runs: scheme.runs,
        headline,
        warnings: &scheme.fit.warnings,
        metrics: metrics(scheme, summary),
        quantities: quantities(scheme, summary),
        control: Ordered(control.collect()),
        engine: engine(&scheme.engine),
    }
}

fn metrics<'a>(scheme: &SchemeSummary, summary: &Summary) -> Ordered<'a, Value> {
    let pairs = summary.metrics.iter().zip(&scheme.cells);
    let entry = |(metric, cell): (&slotline_scenario::metric::Metric, &Option<Cell>)| {
        Some((metric.key(), value(metric.unit().symbol(), cell.as_ref()?)))
    };
    Ordered(pairs.filter_map(entry).collect())
}

/// The quantities that the scenario defines, by name.
fn quantities<'a>(scheme: &SchemeSummary, summary: &'a Summary) -> Ordered<'a, Value> {
    let entry = |(own, estimate): (&'a QuantitySpec, &Option<Estimate>)| {
        let estimate = (*estimate)?;
        let entry = QuantityEntry::of(own.unit().symbol(), &estimate);
        Some((own.name.as_str(), json!(entry)))
    };
    let pairs = summary.quantities.iter().zip(&scheme.quantities);
    Ordered(pairs.filter_map(entry).collect())
}

fn value(unit: &str, cell: &Cell) -> Value {
    let estimate = &cell.estimate;
    json!({
        "mean": estimate.mean,
        "ci_low": estimate.low(),
        "ci_high": estimate.high(),
        "unit": unit,
        "n": estimate.n,
        "lower_bound": cell.at_least,
        "against_baseline": cell.against.as_ref().map(against),
    })
}

fn against(comparison: &Comparison) -> Value {
    json!({
        "verdict": comparison.verdict.text(),
        "difference": comparison.difference.mean,
        "ci_low": comparison.difference.low(),
        "ci_high": comparison.difference.high(),
        "n": comparison.difference.n,
        "ratio": comparison.ratio.map(|ratio| ratio.value),
        "ratio_low": comparison.ratio.and_then(|ratio| ratio.interval).map(|(low, _)| low),
        "ratio_high": comparison.ratio.and_then(|ratio| ratio.interval).map(|(_, high)| high),
    })
}

fn engine(total: &EngineTotal) -> Value {
    let (stats, census) = (&total.stats, &total.census);
    let reason =
        |reason: DropReason| (reason.name().into(), census.dropped[reason as usize].into());
    let dropped: serde_json::Map<String, Value> = DropReason::ALL.into_iter().map(reason).collect();
    let mut value = json!({
        "cpu_s": stats.cpu_s,
        "wall_s": stats.wall_s,
        "events": stats.events,
        "packet_hops": stats.packet_hops,
        "peak_rss_bytes": stats.peak_rss_bytes,
        "digest": format!("{:016x}", stats.digest),
        "threads": stats.threads,
        "sim_time_s": stats.sim_time_ps as f64 / 1e12,
        "sent": census.sent,
        "delivered": census.delivered,
        "dropped": dropped,
        "in_flight": census.in_flight,
        "conserved": census.holds(),
    });
    if let Some(emulation) = stats.emulation {
        value["emulation"] = json!(emulation);
        value["emulation"]["valid"] = emulation.is_valid().into();
    }
    value
}
