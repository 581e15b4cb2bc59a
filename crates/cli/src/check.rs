//! `slotline check`: checks scenario files without running them.

use anyhow::Result;
use clap::Args;
use slotline_lab::build::central_faults;
use slotline_scenario::{Loaded, Scenario};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Exit code where a file cannot be used.
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
    let loaded = Scenario::load_all(file).and_then(|loaded| {
        let faults = central_faults(&loaded);
        if faults.is_empty() { Ok(loaded) } else { Err(faults) }
    });
    match loaded {
        Ok(loaded) => {
            crate::print_notes(&loaded);
            loaded.misfits().iter().for_each(|misfit| eprintln!("warning: {misfit}"));
            crate::print_text(&format!("ok: {}: {}", file.display(), in_a_line(&loaded)));
            true
        }
        Err(faults) => {
            faults.iter().for_each(|fault| eprintln!("{fault}\n"));
            let faults = faults.len();
            eprintln!("{}: {faults} error{}", file.display(), if faults == 1 { "" } else { "s" });
            false
        }
    }
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
