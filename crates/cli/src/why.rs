//! `slotline why`.

use crate::source::Source;
use crate::{out, progress};
use anyhow::{Result, bail};
use clap::Args;
use slotline_lab::output::why;
use slotline_lab::record::{RunRecord, WhyRow};
use slotline_lab::run::Jobs;
use slotline_scenario::Loaded;
use std::process::ExitCode;
use std::sync::Arc;

#[derive(Args)]
pub struct WhyOptions {
    #[command(flatten)]
    pub source: Source,
    /// Number of the flow, as in flows.csv; can be given several times [default: the slowest flow].
    #[arg(long = "flow", value_name = "N")]
    pub flows: Vec<u32>,
    /// Run only this scheme [default: all].
    #[arg(long)]
    pub scheme: Option<String>,
    /// The run's seed [default: the file's].
    #[arg(long)]
    pub seed: Option<u32>,
    /// Most threads at a time; results do not depend on their number [default: all processors].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

pub fn why(options: &WhyOptions) -> Result<ExitCode> {
    let mut loaded = options.source.load()?;
    crate::print_notices(&loaded.document.notices);
    loaded.follow(&options.flows)?;
    loaded.reseed(options.seed, Some(1))?;
    let scheme = options.scheme.as_deref().map(|name| index(&loaded, name)).transpose()?;
    let jobs = Arc::new(Jobs::of_scheme(&loaded, scheme));
    progress::stop_on_interrupt(&[&jobs])?;
    let end = loaded.scenario.end.at.map(|at| at.as_ps());
    let threads = options.threads.map_or_else(crate::arguments::processors, usize::from);
    let records = progress::watched(&jobs, end, || jobs.run(&loaded, threads))?;
    let mut shown = 0;
    for record in &records {
        for row in chosen(record, &options.flows)? {
            out::print(&why::text(record, row));
            shown += 1;
        }
    }
    if shown == 0 {
        bail!("{}", why::nothing(&records));
    }
    Ok(ExitCode::SUCCESS)
}

fn index(loaded: &Loaded, name: &str) -> Result<usize> {
    let schemes = &loaded.scenario.scheme;
    let Some(at) = schemes.iter().position(|scheme| scheme.name == name) else {
        let names: Vec<&str> = schemes.iter().map(|scheme| scheme.name.as_str()).collect();
        bail!("there is no scheme `{name}`: the schemes are {}", names.join(", "));
    };
    Ok(at)
}

/// The rows of the requested flows, or of the slowest flow if none is requested.
fn chosen<'a>(record: &'a RunRecord, flows: &[u32]) -> Result<Vec<&'a WhyRow>> {
    if flows.is_empty() {
        let slowest = record.why.iter().max_by_key(|row| row.parts.iter().sum::<u64>());
        return Ok(slowest.into_iter().collect());
    }
    let row = |flow: &u32| match record.why.iter().find(|row| row.flow == *flow) {
        Some(row) => Ok(row),
        None => bail!(
            "flow {flow} has no completion time under {}: it is a request, or did not end before the run",
            record.scheme
        ),
    };
    flows.iter().map(row).collect()
}
