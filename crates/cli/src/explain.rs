//! `slotline explain`: describes a scenario in sentences and estimates its cost.

use crate::source::Source;
use anyhow::Result;
use clap::Args;
use slotline_lab::build::central_faults;
use slotline_lab::explain::{Machine, calibrate, explain as describe};
use slotline_scenario::Scenario;
use std::process::ExitCode;

#[derive(Args)]
pub struct ExplainOptions {
    #[command(flatten)]
    pub source: Source,
}

pub fn explain(options: &ExplainOptions) -> Result<ExitCode> {
    let loaded = options.source.load()?;
    central_faults(&loaded).into_iter().next().map_or(Ok(()), Err)?;
    crate::print_notes(&loaded);
    crate::print_excess(&loaded);
    let Scenario { name, description: about, .. } = &loaded.scenario;
    let colon = if about.is_empty() { "" } else { ": " };
    let machine = Machine { slower: calibrate(), at_once: crate::sweep::pool::processors() };
    let description = describe(&loaded, machine)?;
    Ok(crate::print_text(&format!("{name}{colon}{about}\n\n{description}")))
}
