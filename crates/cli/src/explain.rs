//! `slotline explain`: what a scenario means and what it costs, in words.

use anyhow::Result;
use clap::Args;
use slotline_lab::build::central_faults;
use slotline_lab::explain::{calibrate, explain as in_words};
use slotline_scenario::Scenario;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
pub struct ExplainOptions {
    /// The scenario file.
    pub file: PathBuf,
}

pub fn explain(options: &ExplainOptions) -> Result<ExitCode> {
    let loaded = Scenario::load(&options.file)?;
    central_faults(&loaded).into_iter().next().map_or(Ok(()), Err)?;
    crate::print_notes(&loaded);
    let Scenario { name, description, .. } = &loaded.scenario;
    let colon = if description.is_empty() { "" } else { ": " };
    let words = in_words(&loaded, calibrate())?;
    Ok(crate::said(&format!("{name}{colon}{description}\n\n{words}")))
}
