//! Measures the cost of the packet engine: CPU time per packet-hop and memory, on one thread and on several. Queues and
//! schemes that cost more than plain FIFO ports are compared with these.

use crate::Row;
use crate::table::{Choice, Failure, Outcome, Separate};
use slotline_lab::build::{self, Assembly};
use slotline_lab::output::Place;
use slotline_lab::record::{RunRecord, RunSet};
use slotline_lab::run::{self, Jobs};
use slotline_lab::summary::Summary;
use slotline_lab::usage;
use slotline_scenario::{Loaded, Scenario};
use slotline_sim::{Division, Watch};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// One case of the engine benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Scenario, relative to `scenarios/bench`.
    pub scenario: &'static str,
    /// The scheme of the scenario.
    pub scheme: &'static str,
    /// The number of threads.
    pub threads: u32,
    /// Whether the case takes gigabytes and minutes.
    pub large: bool,
    /// The part of `slotline run` that is measured.
    pub part: Part,
    /// The case with plain FIFO ports that it is compared with, if it is one of those that cost more.
    pub plain: Option<&'static str>,
}

/// The part of `slotline run` that a case measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it: start, runs, results.
    Whole,
    /// All of it, with `why = true`.
    Why,
    /// Everything before the first event.
    Start,
    /// How the events of the first run divide among threads, which take turns on one.
    Division,
}

const PARTS: [(&str, Part); 4] =
    [("", Part::Whole), ("why", Part::Why), ("start", Part::Start), ("division", Part::Division)];

const fn case(scenario: &'static str, scheme: &'static str, threads: u32) -> Case {
    Case { scenario, scheme, threads, large: false, part: Part::Whole, plain: None }
}

/// A case that is compared with the permutation of 128 hosts over plain FIFO ports.
const fn beside(scenario: &'static str, scheme: &'static str) -> Case {
    Case { plain: Some("perm128:dctcp:1"), ..case(scenario, scheme, 1) }
}

/// As [`beside`], with 1,024 hosts.
const fn beside_1024(scenario: &'static str, scheme: &'static str) -> Case {
    Case { plain: Some("perm1024:dctcp:1"), ..case(scenario, scheme, 1) }
}

/// How a permutation divides among threads, of which the machine may have fewer.
const fn division(scenario: &'static str, threads: u32) -> Case {
    Case { part: Part::Division, large: true, ..case(scenario, "dctcp", threads) }
}

/// The cases of `slotline bench engine`. Those that are compared with plain ports run with `why = true`, too.
pub const ENGINE: [Case; 33] = [
    case("perm128", "tcp", 1),
    case("perm128", "dctcp", 1),
    case("perm128", "dctcp", 2),
    case("perm1024", "tcp", 1),
    case("perm1024", "dctcp", 1),
    case("perm1024", "dctcp", 2),
    Case { large: true, ..case("websearch8192", "dctcp", 1) },
    Case { large: true, ..case("websearch8192", "dctcp", 2) },
    beside("queues128", "shared"),
    beside("queues128", "pause"),
    beside_1024("queues1024", "shared"),
    beside_1024("queues1024", "pause"),
    beside("queues128", "codel"),
    beside("queues128", "pie"),
    beside("queues128", "avq"),
    beside("queues128", "qcn"),
    beside("queues128", "red"),
    beside("queues128", "fastpass"),
    beside("hybrid128", "rotor"),
    beside("../etalon", "16 packets"),
    beside("../etalon", "128 packets"),
    beside("../cores", "mix"),
    beside("../pods", "mesh"),
    beside("small128", "dctcp"),
    beside("rpc128", "dctcp"),
    beside("../incast", "dctcp"),
    beside("../incast", "xco"),
    Case { part: Part::Why, ..beside("perm128", "dctcp") },
    Case { part: Part::Start, ..case("perm128", "dctcp", 1) },
    division("perm128", 16),
    division("perm128", 64),
    division("perm1024", 16),
    division("perm1024", 64),
];

/// All cases.
fn cases() -> impl Iterator<Item = Case> {
    let why = |case: &Case| Case { part: Part::Why, ..*case };
    let both = move |case: &'static Case| {
        let compared = case.plain.is_some() && case.part == Part::Whole;
        std::iter::once(*case).chain(compared.then(|| why(case)))
    };
    ENGINE.iter().flat_map(both)
}

/// Runs one case in this process, which should do nothing else: its CPU time and memory are those of
/// the whole process. Results are written to a folder that is removed afterwards.
pub fn engine(folder: &Path, scenario: &str, scheme: &str, threads: u32, part: Part) -> Outcome {
    let mut loaded = loaded(folder, scenario, scheme)?;
    loaded.scenario.measure.why = part == Part::Why;
    let results = Results::new()?;
    let place = Place::claim(&results.0, &loaded.scenario.name, &loaded.resolved(), false)?;
    if part == Part::Start {
        let network = build::build(&loaded.scenario, 0, loaded.scenario.seeds()[0], &loaded)?;
        let rows = rows_of(&loaded, scheme, threads);
        let start = usage::process_cpu_s();
        drop((network, place));
        return Ok(vec![rows("start", start * 1e3, "ms")]);
    }
    if part == Part::Division {
        return divide(&loaded, scheme, threads);
    }
    let set = RunSet::new(&loaded, Jobs::of(&loaded).run(&loaded, threads as usize)?);
    place.write(&set, &Summary::of(&set), false, &[slotline_report::PAGE])?;
    Ok(rows(&loaded, &set.runs, scheme, threads))
}

/// The number of runs whose division is measured. The least work of each thread in each window counts, so that what other
/// programs take from the processor hardly matters.
const DIVISIONS: usize = 5;

/// How the events of a scenario's first run divide among threads.
fn divide(loaded: &Loaded, scheme: &str, threads: u32) -> Outcome {
    let (mut division, hops) = divided(loaded, threads)?;
    for _ in 1..DIVISIONS {
        division.keep_lesser(&divided(loaded, threads)?.0);
    }
    let row = rows_of(loaded, scheme, threads);
    let per_hop = |work: u64| work as f64 / hops;
    Ok(vec![
        row("work_per_hop", per_hop(division.total()), "ns"),
        row("busiest_per_hop", per_hop(division.busiest()), "ns"),
        row("by_window_per_hop", per_hop(division.busiest_by_window()), "ns"),
        row("crossing_per_hop", per_hop(division.crossing), "events"),
        row("hops_per_window", hops / division.windows() as f64, "packets"),
    ])
}

/// One run, and its hops.
fn divided(loaded: &Loaded, threads: u32) -> Result<(Division, f64), Failure> {
    let scenario = &loaded.scenario;
    let Assembly { network, flows, .. } = build::build(scenario, 0, scenario.seeds()[0], loaded)?;
    let options = run::options(scenario, flows, threads as usize);
    let start = Instant::now();
    let mut clock = || start.elapsed().as_nanos() as u64;
    let (outcome, division) =
        slotline_sim::divided(network, options, &Watch::default(), &mut clock);
    Ok((division, outcome.packet_hops.max(1) as f64))
}

/// A scenario with one of its schemes.
fn loaded(folder: &Path, scenario: &str, scheme: &str) -> Result<Loaded, Failure> {
    let mut loaded = Scenario::load(&folder.join(format!("{scenario}.toml")))?;
    loaded.scenario.scheme.retain(|s| s.name == scheme);
    if loaded.scenario.scheme.is_empty() {
        return Err(format!("{scenario}.toml has no scheme `{scheme}`").into());
    }
    Ok(loaded)
}

/// A folder for results that is removed at the end.
struct Results(PathBuf);

impl Results {
    fn new() -> std::io::Result<Results> {
        let path = std::env::temp_dir().join(format!("slotline-bench-runs-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Results(path))
    }
}

impl Drop for Results {
    /// A failure here has no consequences.
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Makes rows of one case.
fn rows_of(loaded: &Loaded, scheme: &str, threads: u32) -> impl Fn(&str, f64, &str) -> Row {
    let (scenario, scheme) = (loaded.scenario.name.clone(), scheme.to_string());
    move |name, value, unit| Row {
        name: format!("engine/{name}"),
        scenario: scenario.clone(),
        scheme: scheme.clone(),
        threads,
        value,
        unit: unit.to_string(),
    }
}

fn rows(loaded: &Loaded, runs: &[RunRecord], scheme: &str, threads: u32) -> Vec<Row> {
    let row = rows_of(loaded, scheme, threads);
    let hops = runs.iter().map(|run| run.engine.packet_hops).sum::<u64>().max(1) as f64;
    let wall = runs.iter().map(|run| run.engine.wall_s).sum::<f64>();
    let flows = runs.iter().flat_map(|run| &run.flows).filter(|flow| flow.finished());
    let finished: Vec<f64> = flows.map(|f| (f.finish_ps - f.start_ps) as f64 * 1e-9).collect();
    let mean = finished.iter().sum::<f64>() / finished.len() as f64;
    let mut rows = vec![
        row(CPU, usage::process_cpu_s() * 1e9 / hops, "ns"),
        row("wall_per_hop", wall * 1e9 / hops, "ns"),
        row("hops", hops, "packets"),
        row(MEMORY, usage::peak_rss_bytes() as f64 / 1e6, "MB"),
        row("flows_finished", finished.len() as f64, "flows"),
    ];
    if !finished.is_empty() {
        rows.push(row("fct_mean", mean, "ms"));
    }
    rows
}

pub(crate) const CPU: &str = "cpu_per_hop";
pub(crate) const MEMORY: &str = "peak_memory";

/// The number of times that a case and the one it is compared with run, in turn.
const TURNS: usize = 3;

/// Runs `case` and the case it is compared with in turn. Returns the rows of the fastest run, with
/// its CPU time and memory as multiples of those of the other case.
fn compared(case: &str, run: &mut dyn FnMut(&str) -> Outcome) -> Outcome {
    let Some(plain) = cases().find(|known| name(known) == case).and_then(|case| case.plain) else {
        return run(case);
    };
    let mut fastest: [Vec<Row>; 2] = Default::default();
    for _ in 0..TURNS {
        for (best, case) in fastest.iter_mut().zip([plain, case]) {
            let rows = run(case)?;
            if best.is_empty() || value(&rows, CPU) < value(best, CPU) {
                *best = rows;
            }
        }
    }
    let [plain, mut rows] = fastest;
    for (of, name) in [(CPU, "cpu_of_plain"), (MEMORY, "memory_of_plain")] {
        let ratio = value(&rows, of) / value(&plain, of);
        let row = Row {
            name: format!("engine/{name}"),
            value: ratio,
            unit: "times".into(),
            ..rows[0].clone()
        };
        rows.push(row);
    }
    Ok(rows)
}

pub(crate) fn value(rows: &[Row], name: &str) -> f64 {
    rows.iter().find(|row| row.name.ends_with(name)).map_or(f64::NAN, |row| row.value)
}

/// The benchmark for the command line. A case is `scenario:scheme:threads`, with `:why` or `:start` for
/// another part of the program.
pub const SEPARATE: Separate = Separate {
    cases: names,
    run: run_named,
    compared: Some(compared),
    has_large: true,
    takes_threads: true,
};

/// The chosen cases. If a number of threads is given, each scenario and scheme occurs once.
fn names(choice: &Choice<'_>) -> Vec<String> {
    let mut cases: Vec<Case> = cases().filter(|case| choice.large || !case.large).collect();
    if let Some(threads) = choice.threads {
        cases.iter_mut().for_each(|case| case.threads = threads);
        cases.dedup();
    }
    cases.iter().map(name).collect()
}

/// The name of a case on the command line.
fn name(case: &Case) -> String {
    let part = PARTS.iter().find(|(_, part)| *part == case.part).map_or("", |(name, _)| name);
    let name = format!("{}:{}:{}:{part}", case.scenario, case.scheme, case.threads);
    name.trim_end_matches(':').to_string()
}

/// The scenario, scheme, threads and part of a case on the command line.
fn split(case: &str) -> Result<[&str; 4], Failure> {
    let parts: Vec<&str> = case.split(':').chain([""]).collect();
    let [scenario, scheme, threads, part, ..] = parts[..] else {
        return Err("a case is scenario:scheme:threads, for example perm128:dctcp:1".into());
    };
    Ok([scenario, scheme, threads, part])
}

/// The scenario of a case.
pub(crate) fn case_of(case: &str, scenarios: &Path) -> Result<Loaded, Failure> {
    let [scenario, scheme, ..] = split(case)?;
    loaded(scenarios, scenario, scheme)
}

fn run_named(case: &str, scenarios: &Path) -> Outcome {
    let [scenario, scheme, threads, part] = split(case)?;
    let part = PARTS.iter().find(|(name, _)| *name == part);
    let (_, part) =
        part.ok_or("the part of a case is `why`, `start` or `division`, or is left out")?;
    let threads = threads.parse().map_err(|_| format!("`{threads}` is not a number of threads"))?;
    engine(scenarios, scenario, scheme, threads, *part)
}
