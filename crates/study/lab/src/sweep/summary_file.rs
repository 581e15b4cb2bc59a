//! Reads the part of `summary.json` of a point that tables need.

use crate::expect::Outcome;
use crate::statistics::Estimate;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use slotline_scenario::metric::Metric;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

/// The file.
#[derive(Clone, Debug, Deserialize)]
pub struct SummaryFile {
    /// The result's short name.
    pub id: String,
    /// The program's version.
    pub version: String,
    /// Whether all runs were done.
    pub complete: bool,
    /// The schemes, in the scenario's order.
    #[serde(deserialize_with = "in_order")]
    pub schemes: Vec<(String, SchemeEntry)>,
    /// What became of the scenario's expectations.
    #[serde(default)]
    pub expectations: Vec<Outcome>,
    /// Figures of the engine.
    pub engine: EngineEntry,
}

/// One scheme.
#[derive(Clone, Debug, Deserialize)]
pub struct SchemeEntry {
    /// By metric.
    pub metrics: BTreeMap<Metric, MetricEntry>,
    /// The quantities that the scenario defines, in its order.
    #[serde(default, deserialize_with = "in_order")]
    pub quantities: Vec<(String, QuantityEntry)>,
}

/// One quantity that a scenario defines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuantityEntry {
    /// The symbol of its unit.
    pub unit: String,
    /// The mean over seeds.
    pub mean: f64,
    /// Lower end of the 95 % interval; `None` with a single seed.
    pub ci_low: Option<f64>,
    /// Upper end of the interval.
    pub ci_high: Option<f64>,
    /// Number of seeds.
    pub n: usize,
}

impl QuantityEntry {
    /// The entry of a mean, in a unit with this symbol.
    pub fn of(unit: &str, estimate: &Estimate) -> QuantityEntry {
        QuantityEntry {
            unit: unit.into(),
            mean: estimate.mean,
            ci_low: estimate.low(),
            ci_high: estimate.high(),
            n: estimate.n,
        }
    }
}

/// One metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricEntry {
    /// The mean over seeds; `None` if it is not a number.
    pub mean: Option<f64>,
    /// Lower end of the 95 % interval; `None` with a single seed.
    pub ci_low: Option<f64>,
    /// Upper end of the interval.
    pub ci_high: Option<f64>,
    /// Number of seeds.
    pub n: usize,
    /// Whether it is a lower bound because of unfinished flows.
    pub lower_bound: bool,
    /// The comparison with the first scheme.
    pub against_baseline: Option<Against>,
}

/// A verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Against {
    /// The verdict as text.
    pub verdict: String,
}

/// Figures of the engine.
#[derive(Clone, Debug, Deserialize)]
pub struct EngineEntry {
    /// Fingerprint of all runs: equal for equal results.
    pub digest: String,
    /// Largest memory of the process, in bytes.
    pub peak_rss_bytes: u64,
}

impl SummaryFile {
    /// Reads the summary in `folder`; the error names the fault.
    pub fn read(folder: &Path) -> Result<SummaryFile, String> {
        let file = folder.join("summary.json");
        let text = std::fs::read_to_string(&file);
        let text = text.map_err(|error| format!("cannot read `{}`: {error}", file.display()))?;
        serde_json::from_str(&text).map_err(|error| format!("`{}`: {error}", file.display()))
    }
}

/// The entries of an object in the order in which they are written.
fn in_order<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<(String, T)>, D::Error> {
    struct Entries<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
        type Value = Vec<(String, T)>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut entries = vec![];
            while let Some(entry) = map.next_entry()? {
                entries.push(entry);
            }
            Ok(entries)
        }
    }
    deserializer.deserialize_map(Entries(PhantomData))
}
