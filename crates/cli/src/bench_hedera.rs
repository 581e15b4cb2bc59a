//! `slotline bench hedera`: all cases one after another, in one thread.

use crate::arguments::BenchOptions;
use anyhow::{Result, bail};
use slotline_lab::benchmark::Row;
use slotline_lab::benchmark_hedera::{cases, qualities};
use std::process::ExitCode;

/// How often each case is measured.
const TIMES: usize = 7;
/// Random bijections for each size of a fabric.
const BIJECTIONS: u64 = 40;

pub fn bench(options: &BenchOptions) -> Result<ExitCode> {
    if options.common.threads.is_some() || options.large || options.case.is_some() {
        bail!(
            "`bench hedera` runs all its cases in this process, on one core: leave --threads, --large \
             and --case out"
        );
    }
    let quality = [4, 8, 16, 32].into_iter().flat_map(|k| qualities(k, BIJECTIONS));
    for row in cases().iter().flat_map(|case| case.run(TIMES)).chain(quality) {
        println!("{}", if options.common.json { serde_json::to_string(&row)? } else { line(&row) });
    }
    Ok(ExitCode::SUCCESS)
}

fn line(row: &Row) -> String {
    format!(
        "{:<28} {:<24} {:>22} {:>10.3} {}",
        row.scenario, row.scheme, row.name, row.value, row.unit
    )
}
