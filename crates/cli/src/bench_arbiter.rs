//! `slotline bench arbiter`: all cases one after another, in one thread; then the pipeline, in one and in two.

use crate::arguments::BenchOptions;
use anyhow::{Result, bail};
use slotline_lab::arbiter_quality;
use slotline_lab::benchmark::Row;
use slotline_lab::benchmark_arbiter::{USUAL, cases};
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
    let cases = cases();
    let one_thread = cases.iter().flat_map(|case| case.run(USUAL)).chain(arbiter_quality::rows());
    for row in one_thread.chain(benchmark_pipeline::rows()) {
        println!("{}", if options.common.json { serde_json::to_string(&row)? } else { line(&row) });
    }
    Ok(ExitCode::SUCCESS)
}

fn line(row: &Row) -> String {
    format!(
        "{:<18} {:<10} {:>23} {:>10.3} {}",
        row.scenario, row.scheme, row.name, row.value, row.unit
    )
}
