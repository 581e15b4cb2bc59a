//! `slotline bench report`: a large result is written by one process and reported by another, so that
//! memory is each one's own.

use crate::arguments::BenchOptions;
use anyhow::{Context, Result, bail};
use slotline_lab::benchmark::Row;
use slotline_lab::benchmark_report::{self, FLOWS};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

pub fn bench(options: &BenchOptions) -> Result<ExitCode> {
    if let Some(case) = &options.case {
        return one(case);
    }
    if options.common.threads.is_some() {
        bail!("`bench report` uses all processors: leave --threads out");
    }
    if options.large {
        bail!("`bench report` has no large cases: leave --large out");
    }
    let folder = Scratch::new()?;
    if !options.common.json {
        println!("1,000,000 flows of each of 4 schemes, made up\n");
    }
    for step in ["write", "read"] {
        for line in apart(step, &folder.0)?.lines() {
            println!("{}", if options.common.json { line.to_string() } else { in_columns(line)? });
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Does one step in a process of its own; returns its rows as JSON lines.
fn apart(step: &str, folder: &Path) -> Result<String> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let case = format!("{step}:{}", folder.display());
    let done = Command::new(program).args(["bench", "report", "--case", &case]).output()?;
    if !done.status.success() {
        bail!("{case}: {}", String::from_utf8_lossy(&done.stderr).trim());
    }
    Ok(String::from_utf8(done.stdout)?)
}

fn one(case: &str) -> Result<ExitCode> {
    let rows = match case.split_once(':') {
        Some(("write", folder)) => benchmark_report::write(Path::new(folder), FLOWS)?.1,
        Some(("read", folder)) => benchmark_report::report(&result(Path::new(folder))?)?,
        _ => bail!("a case is write:FOLDER or read:FOLDER"),
    };
    for row in rows {
        println!("{}", serde_json::to_string(&row)?);
    }
    Ok(ExitCode::SUCCESS)
}

/// The only result below `folder`.
fn result(folder: &Path) -> Result<PathBuf> {
    let first = std::fs::read_dir(folder)?.next().context("there is no result")??;
    Ok(first.path())
}

fn in_columns(line: &str) -> Result<String> {
    let row: Row = serde_json::from_str(line)?;
    Ok(format!("{:<20} {:>10.2} {}", row.name, row.value, row.unit))
}

/// A folder that goes when the measurement ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch> {
        let path = std::env::temp_dir().join(format!("slotline-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path)
            .with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    /// Nothing can be done about a failure here, and nothing depends on it.
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
