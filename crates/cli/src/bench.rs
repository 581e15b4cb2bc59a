//! `slotline bench`: the benchmarks of [`BENCHMARKS`]. Where CPU time and memory are measured per case, each case runs
//! in a process of its own.

use crate::arguments::BenchOptions;
use crate::out::{is_closed, say};
use anyhow::{Context, Result, anyhow, bail};
#[cfg(target_os = "linux")]
use slotline_bench::peer::{self, Peer};
use slotline_bench::{BENCHMARKS, Benchmark, Choice, Outcome, Row, Separate, Work, flow};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

pub fn bench(options: &BenchOptions) -> Result<ExitCode> {
    let benchmark = BENCHMARKS.iter().find(|benchmark| benchmark.name == options.name);
    let benchmark = benchmark.context("the command line checks the name of the benchmark")?;
    if let Some(path) = &options.traffic {
        return traffic(options, path);
    }
    #[cfg(target_os = "linux")]
    if let Some(peer) = &options.compare {
        return compare(options, peer);
    }
    #[cfg(target_os = "linux")]
    if options.exact && benchmark.name != "emulate" {
        bail!("--exact is only valid with `bench emulate`: omit it");
    }
    #[cfg(target_os = "linux")]
    if options.exact && !slotline_guest::inside::is_inside() {
        return crate::exact::run_alone(&["iptables-legacy-save"]);
    }
    match benchmark.work {
        Work::Here(rows) => here(options, benchmark.name, rows)?,
        Work::Separate(work) => separate(options, benchmark, &work)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// All cases in this process.
fn here(options: &BenchOptions, name: &str, rows: fn() -> Vec<Row>) -> Result<()> {
    if options.common.threads.is_some() || options.large || options.case.is_some() {
        bail!(
            "`bench {name}` runs all its cases in this process: omit --threads, --large and --case"
        );
    }
    rows().iter().try_for_each(|row| show(options, row))
}

/// Runs each case in a process of its own, or the requested case in this process.
fn separate(options: &BenchOptions, benchmark: &Benchmark, work: &Separate) -> Result<()> {
    let name = benchmark.name;
    if let Some(case) = &options.case {
        let scenarios = if name == "engine" { folder()? } else { PathBuf::new() };
        let rows = (work.run)(case, &scenarios).map_err(|error| anyhow!("{error}"))?;
        return rows.iter().try_for_each(|row| show(options, row));
    }
    if options.large && !work.has_large {
        bail!("`bench {name}` has no large cases: omit --large");
    }
    if options.common.threads.is_some() && !work.takes_threads {
        bail!("`bench {name}` chooses its number of threads: omit --threads");
    }
    let scratch = Scratch::new()?;
    let threads = options.common.threads.map(u32::from);
    let choice = Choice { large: options.large, threads, scratch: &scratch.0 };
    for case in (work.cases)(&choice) {
        // If nobody reads the output, the other cases need not run.
        if is_closed() {
            break;
        }
        let mut run = |case: &str| process(name, case);
        let rows = match work.compared {
            Some(compared) => compared(&case, &mut run),
            None => run(&case),
        };
        rows.map_err(|error| anyhow!("{error}"))?.iter().try_for_each(|row| show(options, row))?;
    }
    Ok(())
}

/// Runs a peer and this program in turn.
#[cfg(target_os = "linux")]
fn compare(options: &BenchOptions, peer: &Peer) -> Result<ExitCode> {
    if options.name != "engine" {
        bail!("--compare is only valid with `bench engine`: omit it");
    }
    if options.common.threads.is_some() || options.large {
        bail!("--compare runs its own cases, on one thread: omit --threads and --large");
    }
    let (scenarios, scratch) = (folder()?, Scratch::new()?);
    let chosen = options.case.as_deref().map(|case| [case]);
    let cases = chosen.as_ref().map_or(&peer::CASES[..], |case| &case[..]);
    let mut ours = |case: &str| process("engine", case);
    for case in cases.iter().take_while(|_| !is_closed()) {
        let rows = peer.compare(case, &scenarios, &scratch.0, &mut ours);
        rows.map_err(|error| anyhow!("{error}"))?.iter().try_for_each(|row| show(options, row))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs one case in a process of its own.
fn process(name: &str, case: &str) -> Outcome {
    let program = crate::program()?;
    let done = Command::new(program).args(["bench", name, "--json", "--case", case]).output()?;
    if !done.status.success() {
        return Err(format!("{case}: {}", String::from_utf8_lossy(&done.stderr).trim()).into());
    }
    let rows = String::from_utf8(done.stdout)?;
    Ok(rows.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

fn show(options: &BenchOptions, row: &Row) -> Result<()> {
    if options.common.json {
        say(&serde_json::to_string(row)?);
        return Ok(());
    }
    let Row { name, scenario, scheme, threads, value, unit } = row;
    say(&format!("{scenario:<32} {scheme:<24} {threads:>3} {name:>26} {value:>16.3} {unit}"));
    Ok(())
}

/// Writes the traffic of one case of `bench flow` as text.
fn traffic(options: &BenchOptions, path: &Path) -> Result<ExitCode> {
    if options.name != "flow" {
        bail!("--traffic is only valid with `bench flow`: omit it");
    }
    let name = options.case.as_deref().unwrap_or_default();
    let case = flow::Case::named(name).with_context(|| {
        format!("--traffic writes the traffic of one --case: {}", flow::unknown(name))
    })?;
    std::fs::write(path, case.plain()?)
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// `scenarios/bench` of the project: below `SLOTLINE_HOME`, this folder or one above it.
fn folder() -> Result<PathBuf> {
    let home = std::env::var_os("SLOTLINE_HOME").map(PathBuf::from);
    let here = std::env::current_dir()?;
    let found = home
        .iter()
        .map(PathBuf::as_path)
        .chain(here.ancestors())
        .map(|dir| dir.join("scenarios/bench"));
    found.into_iter().find(|dir| dir.is_dir()).context(
        "no scenarios/bench here or above: run this in the project's folder, or set SLOTLINE_HOME to it",
    )
}

/// A folder that is removed when the measurement ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch> {
        let path = std::env::temp_dir().join(format!("slotline-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path)
            .with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    /// A failure here has no consequences.
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
