//! `slotline bench bump`: all cases one after another, in this process.

use crate::arguments::BenchOptions;
use anyhow::{Result, bail};
use slotline_lab::benchmark::Row;
use slotline_lab::benchmark_bump::cases;
use std::process::ExitCode;

/// Times that 4,096 frames pass in each of five parts.
const ROUNDS: u32 = 500;

pub fn bench(options: &BenchOptions) -> Result<ExitCode> {
    if options.common.threads.is_some() || options.large || options.case.is_some() {
        bail!(
            "`bench bump` runs all its cases in this process, with one, two and four threads: leave \
             --threads, --large and --case out"
        );
    }
    for row in cases().iter().flat_map(|case| case.run(ROUNDS)) {
        println!("{}", if options.common.json { serde_json::to_string(&row)? } else { line(&row) });
    }
    Ok(ExitCode::SUCCESS)
}

fn line(row: &Row) -> String {
    format!(
        "{:<27} {:<20} {:>2} {:>16} {:>10.2} {}",
        row.scenario, row.scheme, row.threads, row.name, row.value, row.unit
    )
}
