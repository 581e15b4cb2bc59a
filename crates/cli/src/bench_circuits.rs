//! `slotline bench circuits`: all cases one after another, in one thread.

use crate::arguments::BenchOptions;
use anyhow::{Result, bail};
use slotline_lab::benchmark::Row;
use slotline_lab::benchmark_circuits::cases;
use std::process::ExitCode;

pub fn bench(options: &BenchOptions) -> Result<ExitCode> {
    if options.common.threads.is_some() || options.large || options.case.is_some() {
        bail!(
            "`bench circuits` runs all its cases in this process, on one core: leave --threads, --large \
             and --case out"
        );
    }
    for row in cases().iter().flat_map(|case| case.run()) {
        println!("{}", if options.common.json { serde_json::to_string(&row)? } else { line(&row) });
    }
    Ok(ExitCode::SUCCESS)
}

fn line(row: &Row) -> String {
    format!(
        "{:<32} {:<11} {:<16} {:>12.3} {}",
        row.scenario, row.scheme, row.name, row.value, row.unit
    )
}
