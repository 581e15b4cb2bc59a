//! Measurements of this program itself.

use crate::record::RunRecord;
use crate::run::Jobs;
use crate::scenario::{Loaded, Scenario, ScenarioError};
use crate::usage;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// One measured value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What was measured.
    pub name: String,
    /// Scenario file, without its ending.
    pub scenario: String,
    /// Its scheme.
    pub scheme: String,
    /// Threads used.
    pub threads: u32,
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
}

/// One case of the engine benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Scenario below `scenarios/bench`.
    pub scenario: &'static str,
    /// Scheme of it.
    pub scheme: &'static str,
    /// Threads.
    pub threads: u32,
    /// Whether it takes gigabytes and minutes.
    pub large: bool,
}

const fn case(scenario: &'static str, scheme: &'static str, threads: u32) -> Case {
    Case { scenario, scheme, threads, large: false }
}

/// The cases of `slotline bench engine`.
pub const ENGINE: [Case; 9] = [
    case("perm128", "tcp", 1),
    case("perm128", "dctcp", 1),
    case("perm128", "dctcp", 2),
    case("perm1024", "tcp", 1),
    case("perm1024", "dctcp", 1),
    case("perm1024", "dctcp", 2),
    case("hybrid128", "rotor", 1),
    Case { large: true, ..case("websearch8192", "dctcp", 1) },
    Case { large: true, ..case("websearch8192", "dctcp", 2) },
];

/// Runs one case in this process, which should do nothing else: its CPU time and memory are those of
/// the whole process.
pub fn engine(
    folder: &Path,
    scenario: &str,
    scheme: &str,
    threads: u32,
) -> Result<Vec<Row>, ScenarioError> {
    let mut loaded = Scenario::load(&folder.join(format!("{scenario}.toml")))?;
    loaded.scenario.scheme.retain(|s| s.name == scheme);
    let runs = Jobs::of(&loaded).run(&loaded, threads as usize)?;
    Ok(runs.first().map(|run| rows(&loaded, run, threads)).unwrap_or_default())
}

fn rows(loaded: &Loaded, run: &RunRecord, threads: u32) -> Vec<Row> {
    let engine = &run.engine;
    let hops = engine.packet_hops.max(1) as f64;
    let row = |name: &str, value: f64, unit: &str| Row {
        name: format!("engine/{name}"),
        scenario: loaded.scenario.name.clone(),
        scheme: run.scheme.clone(),
        threads,
        value,
        unit: unit.to_string(),
    };
    let finished: Vec<f64> = run
        .flows
        .iter()
        .filter(|f| f.finished())
        .map(|f| (f.finish_ps - f.start_ps) as f64 * 1e-9)
        .collect();
    let mean = finished.iter().sum::<f64>() / finished.len() as f64;
    let mut rows = vec![
        row("cpu_per_hop", usage::process_cpu_s() * 1e9 / hops, "ns"),
        row("wall_per_hop", engine.wall_s * 1e9 / hops, "ns"),
        row("hops", hops, "packets"),
        row("peak_memory", usage::peak_rss_bytes() as f64 / 1e6, "MB"),
        row("flows_finished", finished.len() as f64, "flows"),
    ];
    if !finished.is_empty() {
        rows.push(row("fct_mean", mean, "ms"));
    }
    rows
}
