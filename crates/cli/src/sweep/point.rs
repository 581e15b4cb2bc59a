//! `slotline point`: one point of a sweep as a unit of work for schedulers of work, such as those of clusters.

use super::INCOMPLETE;
use crate::out::say;
use crate::progress;
use crate::run::INTERRUPTED;
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use slotline_lab::output::PageFile;
use slotline_lab::sweep::single::{Keep, Point};
use slotline_lab::sweep::{State, Study};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
pub struct PointOptions {
    /// The scenario file, with a `sweep`.
    pub file: PathBuf,
    /// Number of the point, from 0, as `slotline sweep --dry-run` lists them.
    pub point: usize,
    /// Folder that receives a new folder with the result.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub out: PathBuf,
    /// What is kept of the result.
    #[arg(long, value_enum, default_value = "result")]
    pub keep: Kept,
    /// Most threads at a time; results do not depend on their number.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: u16,
}

/// What is kept of a point.
#[derive(Clone, Copy, ValueEnum)]
pub enum Kept {
    /// What the tables of a sweep need.
    Summary,
    /// The whole result with its report.
    Result,
}

const PAGES: &[PageFile] = &[slotline_report::PAGE];

/// Runs the point, and prints its record as one line of JSON.
pub fn point(options: &PointOptions) -> Result<ExitCode> {
    let study = Study::load(&options.file)?;
    let (at, of) = (options.point, study.len());
    if at >= of {
        bail!(
            "{}: there is no point {at}: points are numbered 0 to {}",
            options.file.display(),
            of - 1
        );
    }
    let point = Point::prepare(&study, at)?;
    progress::stop_on_interrupt(&[&point.jobs])?;
    let keep = match options.keep {
        Kept::Summary => Keep::Summary,
        Kept::Result => Keep::Result(PAGES),
    };
    let record = point.run(&options.out, keep, options.threads.into())?;
    say(&serde_json::to_string(&record)?);
    Ok(ExitCode::from(match record.state {
        State::Done => 0,
        State::Failed => INCOMPLETE,
        State::Missing => INTERRUPTED,
    }))
}
