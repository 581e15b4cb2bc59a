//! `slotline reproduce`.

use crate::arguments::ReproduceOptions;
use crate::progress;
use anyhow::{Context, Result};
use slotline_lab::reproduce::{self, EXPERIMENTS, Experiment, Measured};
use slotline_lab::run::Jobs;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

pub fn reproduce(options: &ReproduceOptions) -> Result<ExitCode> {
    match &options.id {
        Some(id) if !options.list => one(id, options),
        _ => Ok(list()),
    }
}

fn list() -> ExitCode {
    EXPERIMENTS.iter().for_each(|experiment| say(&line(experiment)));
    ExitCode::SUCCESS
}

fn line(experiment: &Experiment) -> String {
    format!("{:<8}{}", experiment.id, experiment.about)
}

fn one(id: &str, options: &ReproduceOptions) -> Result<ExitCode> {
    let experiment = reproduce::find(id).with_context(|| {
        let ids: Vec<&str> = EXPERIMENTS.iter().map(|experiment| experiment.id).collect();
        format!("no experiment `{id}`: there are {}", ids.join(", "))
    })?;
    let rows = experiment.rows(&measure(experiment, options.common.threads())?);
    if options.common.json {
        rows.iter().for_each(|row| say(&row.json(id)));
    } else {
        say(&format!("{}\n{}\n", line(experiment), experiment.file));
        say(&reproduce::table(&rows));
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(experiment: &Experiment, threads: usize) -> Result<Vec<Measured>> {
    let mut done = Vec::new();
    for point in experiment.points()? {
        let jobs = Arc::new(Jobs::of(&point.loaded));
        let end = point.loaded.scenario.end.at.map(|at| at.as_ps());
        done.push(progress::watched(&jobs, end, || point.run(&jobs, threads))?);
    }
    Ok(done)
}

/// Prints; a reader that went away is no error.
fn say(text: &str) {
    drop(writeln!(std::io::stdout(), "{}", text.trim_end_matches(' ')));
}
