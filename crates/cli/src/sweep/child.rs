//! One point of a sweep, in this process. `slotline sweep` starts such a process for each point.
//!
//! When its standard input ends, the process that started it has stopped or is gone, and this process stops, too. A
//! point has a complete result or none. Finished runs remain in its draft, and the next process that runs the point
//! continues from them.

use super::SweepOptions;
use crate::progress;
use crate::run::{FAILED, INTERRUPTED, print_failures, saver, to_do};
use anyhow::{Context, Result, bail};
use slotline_lab::output::{Place, run_id};
use slotline_lab::record::RunSet;
use slotline_lab::run::Jobs;
use slotline_lab::summary::Summary;
use slotline_lab::sweep::Study;
use slotline_lab::sweep::store;
use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;

/// Runs the point that `which` names, as `number:id`.
pub fn point(options: &SweepOptions, which: &str) -> Result<ExitCode> {
    let (number, id) = which.split_once(':').context("a point is number:id")?;
    let study = Study::load(&options.file)?;
    let at: usize = number.parse()?;
    if at >= study.len() {
        bail!("`{}` has changed since the sweep began", options.file.display());
    }
    let loaded = study.point(at)?;
    let (name, resolved) = (&loaded.scenario.name, loaded.resolved());
    if run_id(name, &resolved) != id {
        bail!(
            "`{}` or a file that it names has changed since the sweep began",
            options.file.display()
        );
    }
    let place = Place::claim(&options.out, name, &resolved, true)?;
    let (jobs, mut records) = to_do(&loaded, &place);
    progress::stop_on_interrupt(&[&jobs])?;
    stop_with_lifeline(&jobs);
    let done = jobs.run_saving(&loaded, options.threads, saver(&loaded, &place));
    records.extend(done.records);
    let mut set = RunSet::new(&loaded, records);
    if !set.complete() {
        print_failures(&done.failed);
        place.suspend(&mut set)?;
        return Ok(ExitCode::from(if done.failed.is_empty() { INTERRUPTED } else { FAILED }));
    }
    match place.write(&set, &Summary::of(&set), false, &[slotline_report::PAGE]) {
        // Another process may have finished the point earlier, with the same result.
        Err(_) if store::is_done(&options.out, id, &resolved)? => Ok(ExitCode::SUCCESS),
        written => Ok(written.map(|_| ExitCode::SUCCESS)?),
    }
}

fn stop_with_lifeline(jobs: &Arc<Jobs>) {
    let jobs = Arc::clone(jobs);
    std::thread::spawn(move || {
        drop(std::io::stdin().read_to_end(&mut vec![]));
        jobs.cancel();
    });
}
