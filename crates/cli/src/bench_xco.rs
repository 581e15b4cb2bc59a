//! `slotline bench xco`: all cases one after another, in one thread.

use crate::arguments::BenchOptions;
use anyhow::{Result, bail};
use slotline_lab::benchmark::Row;
use slotline_lab::benchmark_xco::cases;
use std::process::ExitCode;

/// Events of each sort that are measured.
const EVENTS: usize = 400;

pub fn bench(options: &BenchOptions) -> Result<ExitCode> {
    if options.common.threads.is_some() {
        bail!("`bench xco` measures one core: leave --threads out");
    }
    if options.large || options.case.is_some() {
        bail!("`bench xco` runs all its cases in this process: leave --large and --case out");
    }
    for row in cases().iter().flat_map(|case| case.run(EVENTS)) {
        println!("{}", if options.common.json { serde_json::to_string(&row)? } else { line(&row) });
    }
    Ok(ExitCode::SUCCESS)
}

fn line(row: &Row) -> String {
    let Row { scenario, scheme, name, value, unit, .. } = row;
    format!("{scenario:<12} {scheme:<12} {name:>22} {value:>10.1} {unit}")
}
