//! `slotline check`: checks scenario files without running them.

use crate::source::Source;
use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use slotline_lab::build::central_faults;
use slotline_lab::sweep::Study;
use slotline_scenario::{Loaded, Scenario, ScenarioError};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Exit code if a file is not valid.
const WRONG: u8 = 2;

#[derive(Args)]
pub struct CheckOptions {
    /// The scenario files; `-` for the standard input.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Replace a value of the files: fabric.hosts=9, or scheme.dctcp.queue.threshold=20KB; can be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Print JSON instead of text: for each file a line about it, or its errors with their places.
    #[arg(long)]
    pub json: bool,
}

pub fn check(options: &CheckOptions) -> Result<ExitCode> {
    let checked: Vec<_> = options.files.iter().map(|file| (file, checked(file, options))).collect();
    if options.json {
        let files: Vec<Value> =
            checked.iter().map(|(file, result)| json_of(file, result)).collect();
        crate::out::say(&serde_json::to_string_pretty(&files)?);
    } else {
        checked.iter().for_each(|(file, result)| print(file, result));
    }
    let all = checked.iter().all(|(_, result)| result.is_ok());
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::from(WRONG) })
}

/// A line about a valid file, or its errors.
type Checked = Result<String, Vec<ScenarioError>>;

fn checked(file: &Path, options: &CheckOptions) -> Checked {
    let source = Source { file: file.into(), set: options.set.clone() };
    if options.set.is_empty() && !source.is_stdin() && Study::is_in(file) {
        sweep(file)
    } else {
        scenario(&source)
    }
}

/// Prints the errors of a file, or that it has none.
fn print(file: &Path, checked: &Checked) {
    match checked {
        Ok(line) => crate::out::say(&format!("ok: {}: {line}", file.display())),
        Err(faults) => {
            faults.iter().for_each(|fault| crate::out::warn(format!("{fault}\n")));
            let (file, n) = (file.display(), faults.len());
            crate::out::warn(format_args!("{file}: {n} error{}", if n == 1 { "" } else { "s" }));
        }
    }
}

fn json_of(file: &Path, checked: &Checked) -> Value {
    let (about, errors) = match checked {
        Ok(line) => (Some(line), vec![]),
        Err(faults) => (None, faults.iter().map(fault_of).collect()),
    };
    json!({ "file": file.display().to_string(), "valid": checked.is_ok(), "about": about, "errors": errors })
}

fn fault_of(error: &ScenarioError) -> Value {
    match error {
        ScenarioError::Fault(fault) => json!({
            "file": fault.file.display().to_string(),
            "line": fault.line,
            "column": fault.column,
            "key": fault.key,
            "message": fault.message,
            "hint": fault.hint,
        }),
        other => json!({ "message": other.to_string() }),
    }
}

/// Checks a scenario; returns a line about it.
fn scenario(source: &Source) -> Checked {
    let loaded = without_faults(source.load_all()?)?;
    crate::print_notes(&loaded);
    crate::print_excess(&loaded);
    print_misfits(&loaded);
    Ok(in_a_line(&loaded))
}

/// Checks all points of a sweep, and returns a line about them. The errors are those of the first point that has any.
fn sweep(file: &Path) -> Checked {
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
