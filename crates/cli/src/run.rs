//! `slotline run`.

use crate::arguments::{Engine, RunOptions};
use crate::out::{say, warn};
use crate::progress;
use anyhow::{Context, Result, bail};
use slotline_lab::expect::outcomes;
use slotline_lab::footprint;
use slotline_lab::output::format::grouped;
use slotline_lab::output::listing::LABEL;
use slotline_lab::output::{Place, Written, summary_text, terminal};
use slotline_lab::record::{Emulation, RunRecord, RunSet};
use slotline_lab::run::{Failure, Jobs};
use slotline_lab::summary::{EngineTotal, Summary};
use slotline_scenario::{EngineSpec, Loaded};
use std::process::ExitCode;
use std::sync::Arc;

/// Exit code of a run that was interrupted: 128 + SIGINT, as in shells.
pub const INTERRUPTED: u8 = 130;
/// Exit code if some runs failed.
pub const FAILED: u8 = 1;
/// Exit code if the machine did not keep up with real hosts.
pub const NOT_VALID: u8 = 3;
/// Exit code if the result is not as the scenario expects.
pub const UNMET: u8 = 4;
/// The largest number of failures that are printed.
const MOST_FAILURES: usize = 10;

pub fn run(options: &RunOptions) -> Result<ExitCode> {
    let loaded = loaded(options)?;
    if loaded.scenario.engine.emulated().is_some() {
        let file = options.source.file.display();
        bail!("{file}: its engine is `emulate`: use `slotline emulate {file}`, or --engine packet");
    }
    if loaded.scenario.workload.is_empty() {
        let file = options.source.file.display();
        bail!("{file}: it has programs but no workload: use `slotline emulate {file}`");
    }
    execute(loaded, options, options.common.threads()).map(|(code, _)| code)
}

/// Runs a scenario, saves its results and prints them. With real hosts, also returns how well the machine kept up.
pub fn execute(
    mut loaded: Loaded,
    options: &RunOptions,
    threads: usize,
) -> Result<(ExitCode, Option<Emulation>)> {
    if options.seed.is_some() || options.repeat.is_some() {
        loaded.reseed(options.seed, options.repeat)?;
    }
    crate::print_notes(&loaded);
    if let Some(why) = footprint::excess(&loaded, options.common.threads()) {
        bail!("{}: {why}", options.source.file.display());
    }
    let place =
        Place::claim(&options.out, &title(&loaded, options), &loaded.resolved(), options.force)?;
    let (jobs, mut records) = to_do(&loaded, &place);
    progress::stop_on_interrupt(&[&jobs])?;
    let end = loaded.scenario.end.at.map(|at| at.as_ps());
    let work = || jobs.run_saving(&loaded, threads, saver(&loaded, &place));
    let mut done = progress::watched(&jobs, end, work);
    records.append(&mut done.records);
    print_failures(&done.failed);
    let mut set = RunSet::new(&loaded, records);
    set.failed = done.failed.iter().map(Failure::record).collect();
    let over = set.runs.len() + set.failed.len() == set.schemes.len() * set.seeds.len();
    if over { finish(place, &set, options) } else { Ok((suspend(place, set, options)?, None)) }
}

/// The name of the scenario, and the label.
fn title(loaded: &Loaded, options: &RunOptions) -> String {
    let label = options.label.iter().map(String::as_str);
    let parts = std::iter::once(loaded.scenario.name.as_str()).chain(label);
    parts.collect::<Vec<&str>>().join(" ")
}

/// Prints the failed runs and the reasons.
pub fn print_failures(failed: &[Failure]) {
    failed.iter().take(MOST_FAILURES).for_each(warn);
    if failed.len() > MOST_FAILURES {
        crate::out::warn(format_args!("{} more runs failed", failed.len() - MOST_FAILURES));
    }
}

/// The scenario, with the engine given on the command line.
fn loaded(options: &RunOptions) -> Result<Loaded> {
    let mut loaded = options.source.load()?;
    let packets = loaded.scenario.engine.is_packet();
    match options.engine {
        Some(Engine::Packet) if !packets => loaded.use_engine(EngineSpec::Packet {})?,
        Some(Engine::Flow) if packets => loaded.use_engine(EngineSpec::flow())?,
        _ => {}
    }
    Ok(loaded)
}

/// The remaining runs, and the finished runs of an interrupted process.
pub fn to_do(loaded: &Loaded, place: &Place) -> (Arc<Jobs>, Vec<RunRecord>) {
    let left = place.recover(&RunSet::new(loaded, vec![]));
    left.notes.iter().for_each(|note| crate::out::warn(format_args!("note: {note}")));
    let all = Jobs::of(loaded);
    if !left.runs.is_empty() {
        let (found, of) = (left.runs.len(), all.0.len());
        crate::out::warn(format_args!(
            "continuing from {found} of {of} runs of an interrupted run"
        ));
    }
    (Arc::new(all.without(&left.runs, loaded)), left.runs)
}

/// Saves each run in `place` as soon as it is done. A run that cannot be saved is lost only if the process is killed.
pub fn saver(loaded: &Loaded, place: &Place) -> impl Fn(&mut RunRecord) + Sync {
    let plan = RunSet::new(loaded, vec![]);
    move |run| {
        if let Err(error) = place.save(&plan, run) {
            crate::out::warn(format_args!(
                "note: a run could not be saved before the end: {error}"
            ));
        }
    }
}

/// Saves and prints the results when all runs are complete or have failed.
fn finish(
    place: Place,
    set: &RunSet,
    options: &RunOptions,
) -> Result<(ExitCode, Option<Emulation>)> {
    if set.runs.is_empty() {
        bail!("no run has a result: nothing to save");
    }
    let summary = Summary::of(set);
    let json = options.common.json;
    let written = place.write(set, &summary, options.csv, &[slotline_report::PAGE]);
    // The result is printed even if it could not be written.
    if !json {
        let cpu_s = slotline_lab::usage::process_cpu_s();
        say(&terminal::table_with_cost(set, &summary, width(), cpu_s));
    }
    let Written { folder, left_out } = written?;
    if let Some(label) = &options.label {
        crate::figure::put(&folder.join(LABEL), format!("{label}\n").as_bytes())?;
    }
    if json {
        let summary = std::fs::read_to_string(folder.join("summary.json"));
        say(&summary.with_context(|| format!("cannot read {}", folder.display()))?);
    } else {
        for (file, rows) in left_out {
            let rows = grouped(rows as u64);
            say(&format!("Not written: {file}, of {rows} rows; --csv writes it"));
        }
        let folder = folder.display();
        say(&format!("Results: {folder}   (open report.html there in a browser)"));
    }
    let holds = outcomes(set, &summary).iter().all(|outcome| outcome.holds);
    let code = match (set.complete(), holds) {
        (false, _) => ExitCode::from(FAILED),
        (true, false) => ExitCode::from(UNMET),
        (true, true) => ExitCode::SUCCESS,
    };
    Ok((code, EngineTotal::of(&set.in_order()).stats.emulation))
}

/// Handles an interrupt: stores the complete runs, and prints them. They do not become a result, so that the same
/// command can continue.
fn suspend(place: Place, mut set: RunSet, options: &RunOptions) -> Result<ExitCode> {
    let of = set.schemes.len() * set.seeds.len();
    if set.runs.is_empty() {
        crate::out::warn(format_args!("interrupted before any run was complete: nothing to save"));
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let summary = Summary::of(&set);
    if options.common.json {
        say(&summary_text(&set, &summary));
    } else {
        say(&terminal::table_of(&set, &summary, width()));
    }
    let kept = place.suspend(&mut set)?;
    crate::out::warn(format_args!(
        "interrupted: {kept} of {of} runs are stored; the same command continues with them"
    ));
    Ok(ExitCode::from(INTERRUPTED))
}

/// The width of the terminal in columns.
pub fn width() -> usize {
    let columns = console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    columns.unwrap_or(100).clamp(40, 200)
}
