//! `slotline run`.

use crate::arguments::{Engine, RunOptions};
use crate::progress;
use anyhow::{Context, Result};
use slotline_lab::output::format::grouped;
use slotline_lab::output::{Place, Written, terminal};
use slotline_lab::record::{RunRecord, RunSet};
use slotline_lab::run::Jobs;
use slotline_lab::summary::Summary;
use slotline_scenario::{EngineSpec, Loaded, Scenario};
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

/// Exit code of a run that was interrupted: 128 + SIGINT, as shells have it.
pub const INTERRUPTED: u8 = 130;

pub fn run(options: &RunOptions) -> Result<ExitCode> {
    let mut loaded = loaded(options)?;
    if options.seed.is_some() || options.repeat.is_some() {
        loaded.reseed(options.seed, options.repeat)?;
    }
    crate::print_notes(&loaded);
    let place =
        Place::claim(&options.out, &loaded.scenario.name, &loaded.resolved(), options.force)?;
    let (jobs, mut records) = to_do(&loaded, &place);
    progress::stop_on_interrupt(&jobs)?;
    let threads = options.common.threads();
    let end = loaded.scenario.end.at.map(|at| at.as_ps());
    let work = || jobs.run_saving(&loaded, threads, saver(&loaded, &place));
    records.extend(progress::watched(&jobs, end, work)?);
    finish(&loaded, place, records, options)
}

/// The scenario, with the engine that the command line asks for.
fn loaded(options: &RunOptions) -> Result<Loaded> {
    let mut loaded = Scenario::load(&options.file)?;
    let packets = loaded.scenario.engine.is_packet();
    match options.engine {
        Some(Engine::Packet) if !packets => loaded.use_engine(EngineSpec::Packet {})?,
        Some(Engine::Flow) if packets => loaded.use_engine(EngineSpec::flow())?,
        _ => {}
    }
    Ok(loaded)
}

/// The runs that are still to do, and the finished runs of an interrupted process.
pub fn to_do(loaded: &Loaded, place: &Place) -> (Arc<Jobs>, Vec<RunRecord>) {
    let left = place.recover(&RunSet::new(loaded, vec![]));
    left.notes.iter().for_each(|note| eprintln!("note: {note}"));
    let all = Jobs::of(loaded);
    if !left.runs.is_empty() {
        let (found, of) = (left.runs.len(), all.0.len());
        eprintln!("continuing from {found} of {of} runs of an interrupted run");
    }
    (Arc::new(all.without(&left.runs, loaded)), left.runs)
}

/// Saves each run in `place` as soon as it is done. A run that cannot be saved is lost only if the process is killed.
pub fn saver(loaded: &Loaded, place: &Place) -> impl Fn(&mut RunRecord) + Sync {
    let plan = RunSet::new(loaded, vec![]);
    move |run| {
        if let Err(error) = place.save(&plan, run) {
            eprintln!("note: a run could not be saved before the end: {error}");
        }
    }
}

fn finish(
    loaded: &Loaded,
    place: Place,
    records: Vec<RunRecord>,
    options: &RunOptions,
) -> Result<ExitCode> {
    let set = RunSet::new(loaded, records);
    if set.runs.is_empty() {
        eprintln!("interrupted before any run was complete: nothing to save");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let summary = Summary::of(&set);
    let Written { folder, left_out } =
        place.write(&set, &summary, options.csv, &[slotline_report::PAGE])?;
    if options.common.json {
        let summary = std::fs::read_to_string(folder.join("summary.json"));
        say(&summary.with_context(|| format!("cannot read {}", folder.display()))?);
    } else {
        say(&terminal::table_of(&set, &summary, width()));
        for (file, rows) in left_out {
            say(&format!("Not written: {file}, of {} rows; --csv writes it", grouped(rows as u64)));
        }
        say(&format!("Results: {}   (open report.html there in a browser)", folder.display()));
    }
    Ok(if set.complete() { ExitCode::SUCCESS } else { ExitCode::from(INTERRUPTED) })
}

/// Columns of the terminal.
pub fn width() -> usize {
    let columns = console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    columns.unwrap_or(100).clamp(40, 200)
}

/// Prints; a reader that went away is no error.
pub fn say(text: &str) {
    drop(writeln!(std::io::stdout(), "{}", text.trim_end()));
}
