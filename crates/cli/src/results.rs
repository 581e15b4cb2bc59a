//! `slotline results`.

use crate::out;
use anyhow::{Context, Result};
use clap::Args;
use slotline_lab::output::listing;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
pub struct ResultsOptions {
    /// The folder with the results.
    #[arg(value_name = "DIR", default_value = "results")]
    folder: PathBuf,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

pub fn results(options: &ResultsOptions) -> Result<ExitCode> {
    let folder = options.folder.display();
    let entries =
        listing::entries(&options.folder).with_context(|| format!("cannot read `{folder}`"))?;
    if options.json {
        out::say(&serde_json::to_string_pretty(&entries)?);
    } else if entries.is_empty() {
        out::say(&format!("no results in `{folder}`: `slotline run FILE` makes one"));
    } else {
        out::say(&listing::table(&entries));
    }
    Ok(ExitCode::SUCCESS)
}
