//! `slotline bench flow`: each case in a process of its own, so that time and memory are the case's.

use crate::arguments::BenchOptions;
use anyhow::{Context, Result, bail};
use slotline_lab::benchmark::Row;
use slotline_lab::benchmark_flow::{CASES, Case};
use std::process::{Command, ExitCode};

pub fn bench(options: &BenchOptions) -> Result<ExitCode> {
    if options.common.threads.is_some() {
        bail!("`bench flow` measures one core: leave --threads out");
    }
    if let Some(name) = &options.case {
        return one(options, name);
    }
    if options.traffic.is_some() {
        bail!("--traffic writes the traffic of one case: give --case, {}", names());
    }
    for case in CASES.iter().filter(|case| options.large || !case.large) {
        for line in apart(case)?.lines() {
            show(options, line)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The name of a case, and how many of its flows are wanted.
fn shortened(name: &str) -> Result<(&str, Option<u64>)> {
    let Some((name, first)) = name.split_once(':') else { return Ok((name, None)) };
    Ok((name, Some(first.parse().context("a number of flows")?)))
}

/// A case in this process: `k16x10`, or `k16x10:300` for the first 300 flows alone.
fn one(options: &BenchOptions, name: &str) -> Result<ExitCode> {
    let (name, first) = shortened(name)?;
    let case =
        Case::named(name).with_context(|| format!("there is no case `{name}`: {}", names()))?;
    if let Some(path) = &options.traffic {
        std::fs::write(path, case.plain()?)
            .with_context(|| format!("cannot write {}", path.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    for row in case.shortened(first).run()? {
        show(options, &serde_json::to_string(&row)?)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a row that is written as JSON.
fn show(options: &BenchOptions, line: &str) -> Result<()> {
    println!("{}", if options.common.json { line.to_string() } else { in_columns(line)? });
    Ok(())
}

fn names() -> String {
    CASES.map(|case| case.name).join(", ")
}

fn apart(case: &Case) -> Result<String> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let done =
        Command::new(program).args(["bench", "flow", "--json", "--case", case.name]).output()?;
    if !done.status.success() {
        bail!("{}: {}", case.name, String::from_utf8_lossy(&done.stderr).trim());
    }
    Ok(String::from_utf8(done.stdout)?)
}

fn in_columns(line: &str) -> Result<String> {
    let Row { scenario, name, value, unit, .. } = serde_json::from_str(line)?;
    let name = name.trim_start_matches("flow/");
    Ok(format!("{scenario:<8} {name:>22} {value:>18.6} {unit}"))
}
