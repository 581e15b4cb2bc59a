//! `slotline report`.

use crate::figure::put;
use crate::out;
use anyhow::{Result, bail};
use clap::Args;
use slotline_lab::output::listing::LABEL;
use slotline_lab::output::merge::merge;
use slotline_lab::output::read::{self, Stored};
use slotline_lab::summary::Summary;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Default file of a page that compares several results.
const SEVERAL: &str = "comparison.html";

#[derive(Args)]
pub struct ReportOptions {
    /// Folders of results; several results are compared on one page.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// File of the page [default: report.html in the result's folder, or comparison.html here for several results].
    #[arg(short, long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
}

pub fn report(options: &ReportOptions) -> Result<ExitCode> {
    let page = match &options.runs[..] {
        [run] => one(run, options.output.as_deref())?,
        runs => several(runs, options.output.as_deref())?,
    };
    out::say(&format!("Report: {}", page.display()));
    Ok(ExitCode::SUCCESS)
}

fn one(run: &Path, output: Option<&Path>) -> Result<PathBuf> {
    let stored = read::open(run)?;
    let page = output.map_or_else(|| run.join("report.html"), Path::to_path_buf);
    put(
        &page,
        slotline_report::html(&stored.id, &stored.set, &Summary::of(&stored.set)).as_bytes(),
    )?;
    Ok(page)
}

fn several(runs: &[PathBuf], output: Option<&Path>) -> Result<PathBuf> {
    let page = output.unwrap_or(Path::new(SEVERAL));
    if output.is_none() && page.exists() {
        bail!("`{SEVERAL}` exists already: name the page with --output, which replaces it");
    }
    let set = merge(labels(runs).into_iter().zip(stored(runs)?).collect())?;
    put(page, slotline_report::html(&set.name, &set, &Summary::of(&set)).as_bytes())?;
    Ok(page.to_path_buf())
}

fn stored(runs: &[PathBuf]) -> Result<Vec<Stored>, read::ReadError> {
    runs.iter().map(|run| read::open(run)).collect()
}

/// The labels of the results or else the folder names, or the paths if these are not unique.
pub fn labels(runs: &[PathBuf]) -> Vec<String> {
    let label = |run: &PathBuf| {
        let text = fs::read_to_string(run.join(LABEL)).ok()?;
        Some(text.trim().to_string()).filter(|text| !text.is_empty())
    };
    let folder = |run: &PathBuf| run.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = |run: &PathBuf| label(run).or_else(|| folder(run));
    let names: Vec<Option<String>> = runs.iter().map(name).collect();
    let label = |(run, name): (&PathBuf, &Option<String>)| match name {
        Some(name) if names.iter().flatten().filter(|n| *n == name).count() == 1 => name.clone(),
        _ => run.display().to_string(),
    };
    runs.iter().zip(&names).map(label).collect()
}
