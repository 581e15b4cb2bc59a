//! `slotline bench arbiter`: all cases one after another, in one thread; then the pipeline, in one and in two.

use crate::arguments::BenchOptions;
use anyhow::{Result, bail};
use slotline_lab::arbiter_quality;
use slotline_lab::benchmark::Row;
use slotline_lab::benchmark_arbiter::{USUAL, cases};
use slotline_lab::benchmark_fcp;
use slotline_lab::benchmark_pipeline;
use std::process::ExitCode;

pub fn bench(options: &BenchOptions) -> Result<ExitCode> {
    if options.common.threads.is_some() {
        bail!("`bench arbiter` measures one core and two: leave --threads out");
    }
    if options.large {
        bail!("`bench arbiter` has no large cases: leave --large out");
    }
    if options.case.is_some() {
        bail!("`bench arbiter` runs all cases in this process: leave --case out");
    }
    let parts = [allocation, arbiter_quality::rows, protocol, benchmark_pipeline::rows];
    for row in parts.iter().flat_map(|part| part()) {
        println!("{}", if options.common.json { serde_json::to_string(&row)? } else { line(&row) });
    }
    Ok(ExitCode::SUCCESS)
}

fn allocation() -> Vec<Row> {
    cases().iter().flat_map(|case| case.run(USUAL)).collect()
}

fn protocol() -> Vec<Row> {
    benchmark_fcp::cases().iter().flat_map(|case| case.run(benchmark_fcp::USUAL)).collect()
}

fn line(row: &Row) -> String {
    format!(
        "{:<18} {:<10} {:>23} {:>10.3} {}",
        row.scenario, row.scheme, row.name, row.value, row.unit
    )
}
