//! `slotline check`: checks scenario files without running them.

use anyhow::Result;
use clap::Args;
use slotline_lab::build::central_faults;
use slotline_lab::sweep::Study;
use slotline_scenario::{Loaded, Scenario, ScenarioError};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Exit code if a file is not valid.
const WRONG: u8 = 2;

#[derive(Args)]
pub struct CheckOptions {
    /// The scenario files.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
}

pub fn check(options: &CheckOptions) -> Result<ExitCode> {
    let right = options.files.iter().map(|file| is_right(file)).filter(|right| *right).count();
    let all = right == options.files.len();
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::from(WRONG) })
}

/// Prints the errors of a file, or that it has none. Returns whether it is valid.
fn is_right(file: &Path) -> bool {
    let checked = if Study::is_in(file) { sweep(file) } else { scenario(file) };
    match checked {
        Ok(line) => {
            crate::print_text(&format!("ok: {}: {line}", file.display()));
            true
        }
        Err(faults) => {
            faults.iter().for_each(|fault| crate::out::warn(format!("{fault}\n")));
            let faults = faults.len();
            crate::out::warn(format_args!(
                "{}: {faults} error{}",
                file.display(),
                if faults == 1 { "" } else { "s" }
            ));
            false
        }
    }
}

/// Checks a scenario; returns a line about it.
fn scenario(file: &Path) -> Result<String, Vec<ScenarioError>> {
    let loaded = without_faults(Scenario::load_all(file)?)?;
    crate::print_notes(&loaded);
    crate::print_excess(&loaded);
    print_misfits(&loaded);
    Ok(in_a_line(&loaded))
}

/// Checks all points of a sweep, and returns a line about them. The errors are those of the first point that has any.
fn sweep(file: &Path) -> Result<String, Vec<ScenarioError>> {
    let study = Study::load(file).map_err(|error| vec![error])?;
    crate::print_notices(&study.notices);
    let mut first = None;
    for at in 0..study.len() {
        let loaded = without_faults(study.point(at).map_err(|error| vec![error])?)?;
        first.get_or_insert(loaded);
    }
    let first = first.map_or(String::new(), |loaded| {
        crate::print_notes(&loaded);
        crate::print_excess(&loaded);
        print_misfits(&loaded);
        in_a_line(&loaded)
    });
    let points = study.len();
    Ok(format!("sweep of {points} point{}, the first: {first}", if points == 1 { "" } else { "s" }))
}

/// Warns of scheduler periods that do not fit the fabric and its traffic.
fn print_misfits(loaded: &Loaded) {
    loaded.misfits().iter().for_each(|misfit| crate::out::warn(format!("warning: {misfit}\n")));
}

fn without_faults(loaded: Loaded) -> Result<Loaded, Vec<ScenarioError>> {
    let faults = central_faults(&loaded);
    if faults.is_empty() { Ok(loaded) } else { Err(faults) }
}

fn in_a_line(loaded: &Loaded) -> String {
    let Scenario { scheme, workload, repeat, .. } = &loaded.scenario;
    let runs = scheme.len() as u64 * u64::from(*repeat);
    let plural = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    format!(
        "{}, {}, {}, {}",
        loaded.fabric(),
        plural(workload.len() as u64, "workload"),
        plural(scheme.len() as u64, "scheme"),
        plural(runs, "run")
    )
}
