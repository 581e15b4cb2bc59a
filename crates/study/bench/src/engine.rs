//! Measures the cost of the packet engine: CPU time per packet-hop and memory, on one thread and on several.

use crate::Row;
use crate::table::{Choice, Outcome, Separate};
use slotline_lab::record::RunRecord;
use slotline_lab::run::Jobs;
use slotline_lab::usage;
use slotline_scenario::{Loaded, Scenario, ScenarioError};
use std::path::Path;

/// One case of the engine benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Scenario below `scenarios/bench`.
    pub scenario: &'static str,
    /// The scheme of the scenario.
    pub scheme: &'static str,
    /// The number of threads.
    pub threads: u32,
    /// Whether the case takes gigabytes and minutes.
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

/// The benchmark for the command line. A case is `scenario:scheme:threads`.
pub const SEPARATE: Separate =
    Separate { cases: names, run: run_named, has_large: true, takes_threads: true };

/// The chosen cases. If a number of threads is given, each scenario and scheme occurs once.
fn names(choice: &Choice<'_>) -> Vec<String> {
    let mut cases: Vec<Case> =
        ENGINE.iter().filter(|case| choice.large || !case.large).copied().collect();
    if let Some(threads) = choice.threads {
        cases.iter_mut().for_each(|case| case.threads = threads);
        cases.dedup();
    }
    cases.iter().map(name).collect()
}

/// The name of a case on the command line.
fn name(case: &Case) -> String {
    format!("{}:{}:{}", case.scenario, case.scheme, case.threads)
}

fn run_named(case: &str, scenarios: &Path) -> Outcome {
    let [scenario, scheme, threads] = case.split(':').collect::<Vec<_>>()[..] else {
        return Err("a case is scenario:scheme:threads, for example perm128:dctcp:1".into());
    };
    Ok(engine(scenarios, scenario, scheme, threads.parse()?)?)
}
