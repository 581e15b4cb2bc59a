//! `slotline bench`: each case in a process of its own, so that CPU time and memory are the case's.

use crate::arguments::{Bench, BenchOptions};
use crate::{
    bench_arbiter, bench_bump, bench_circuits, bench_flow, bench_hedera, bench_report, bench_tdma,
    bench_xco,
};
use anyhow::{Context, Result, bail};
use slotline_lab::benchmark::{self, Case, ENGINE, Row};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

pub fn bench(options: &BenchOptions) -> Result<ExitCode> {
    if options.traffic.is_some() && options.name != Bench::Flow {
        bail!("--traffic is for `bench flow`: leave it out");
    }
    match options.name {
        Bench::Engine => {}
        Bench::Flow => return bench_flow::bench(options),
        Bench::Bump => return bench_bump::bench(options),
        Bench::Report => return bench_report::bench(options),
        Bench::Arbiter => return bench_arbiter::bench(options),
        Bench::Tdma => return bench_tdma::bench(options),
        Bench::Xco => return bench_xco::bench(options),
        Bench::Hedera => return bench_hedera::bench(options),
        Bench::Circuits => return bench_circuits::bench(options),
    }
    if let Some(case) = &options.case {
        return one(case);
    }
    if !options.common.json {
        println!(
            "{:<15} {:<7} {:>7}  {:>22} {:>12}",
            "scenario", "scheme", "threads", "measured", "value"
        );
    }
    for case in wanted(options) {
        for line in apart(&case)?.lines() {
            println!("{}", if options.common.json { line.to_string() } else { in_columns(line)? });
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The cases asked for; with `--threads`, each scenario and scheme once, with that many.
fn wanted(options: &BenchOptions) -> Vec<Case> {
    let mut cases: Vec<Case> =
        ENGINE.iter().filter(|case| options.large || !case.large).copied().collect();
    if let Some(threads) = options.common.threads {
        cases.iter_mut().for_each(|case| case.threads = threads.into());
        cases.dedup();
    }
    cases
}

/// Runs one case in a process of its own; returns its rows as JSON lines.
fn apart(case: &Case) -> Result<String> {
    let name = format!("{}:{}:{}", case.scenario, case.scheme, case.threads);
    let program = std::env::current_exe().context("cannot find this program")?;
    let done = Command::new(program).args(["bench", "engine", "--case", &name]).output()?;
    if !done.status.success() {
        bail!("{name}: {}", String::from_utf8_lossy(&done.stderr).trim());
    }
    Ok(String::from_utf8(done.stdout)?)
}

fn one(case: &str) -> Result<ExitCode> {
    let [scenario, scheme, threads] = case.split(':').collect::<Vec<_>>()[..] else {
        bail!("a case is scenario:scheme:threads, for example perm128:dctcp:1");
    };
    for row in benchmark::engine(&folder()?, scenario, scheme, threads.parse()?)? {
        println!("{}", serde_json::to_string(&row)?);
    }
    Ok(ExitCode::SUCCESS)
}

fn in_columns(line: &str) -> Result<String> {
    let row: Row = serde_json::from_str(line)?;
    let measured = row.name.trim_start_matches("engine/");
    Ok(format!(
        "{:<15} {:<7} {:>7}  {:>22} {:>12.2} {}",
        row.scenario, row.scheme, row.threads, measured, row.value, row.unit
    ))
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
