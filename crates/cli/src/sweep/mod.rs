//! `slotline sweep`, `slotline point` and `slotline collect`.

pub mod arguments;
mod child;
mod cluster;
pub mod collect;
pub mod point;
pub mod pool;
mod prepare;

use crate::out::say;
use crate::run::{INTERRUPTED, UNMET, width};
use anyhow::Result;
pub use arguments::SweepOptions;
use prepare::Prepared;
use slotline_lab::output::format::quantity;
use slotline_lab::sweep::part::{Shard, Sweep, join};
use slotline_lab::sweep::{Part, State, Study, store};
use slotline_scenario::metric::Unit;
use std::path::Path;
use std::process::ExitCode;

/// Exit code if some points have no result. The results of the other points are saved.
pub const INCOMPLETE: u8 = 1;

pub fn sweep(options: &SweepOptions) -> Result<ExitCode> {
    if let Some(which) = &options.point {
        return child::point(options, which);
    }
    let study = Study::load(&options.file)?;
    crate::print_notices(&study.notices);
    let shard = options.shard.unwrap_or(Shard::WHOLE);
    let prepared = prepare::prepare(&study, shard, &options.out)?;
    if options.slurm.slurm {
        return cluster::write(options, &study);
    }
    if options.dry_run {
        say(&listing(&prepared.part, shard));
        return Ok(ExitCode::SUCCESS);
    }
    run(options, prepared)
}

fn run(options: &SweepOptions, prepared: Prepared) -> Result<ExitCode> {
    let Prepared { mut part, todo } = prepared;
    let shard = part.shard;
    // The folder is written first, so that no point runs whose result could not be saved.
    let folder = store::write_part(&options.out, &part)?;
    store::clear_remains(&options.out);
    let stopped = pool::run(options, &mut part, todo)?;
    store::write_part(&options.out, &part)?;
    let failed = failures(&part);
    let mut unmet = false;
    if shard == Shard::WHOLE {
        let sweep = join(&[(options.out.clone(), part.clone())])?;
        slotline_report::sweep::write(&options.out, &sweep)?;
        show(&sweep, &folder, options.json);
        unmet = !sweep.as_expected();
    } else if options.json {
        say(&part.text());
    } else {
        say(&of_shard(&part, &folder));
    }
    Ok(ExitCode::from(match (stopped, failed) {
        (true, _) => INTERRUPTED,
        (false, 0) if unmet => UNMET,
        (false, 0) => 0,
        (false, _) => INCOMPLETE,
    }))
}

/// The progress of a shard, and how to continue.
fn of_shard(part: &Part, folder: &Path) -> String {
    let (done, all) = (count(part, State::Done), own(part).count());
    let (name, index, of, folder) = (&part.name, part.shard.index, part.shard.of, folder.display());
    format!(
        "{name}: {done} of the {all} points of shard {index}/{of} are done. To join all shards:\n  slotline collect {folder}"
    )
}

/// Prints a sweep as far as it is done.
pub fn show(sweep: &Sweep, folder: &Path, json: bool) {
    if json {
        return say(&sweep.json());
    }
    let done = sweep.points.iter().filter(|point| point.state == State::Done).count();
    say(&format!("{}: {done} of {} points\n", sweep.name, sweep.points.len()));
    if !sweep.rows.is_empty() {
        say(&(sweep.table(width()) + "\n"));
        if !sweep.expectations.is_empty() {
            say(&format!("\n{}", sweep.expectations_text()));
        }
        let memory = quantity(Unit::Bytes, sweep.peak_rss_bytes as f64);
        say(&format!("Memory of a point: at most {memory}"));
    }
    say(&format!("Sweep: {}   (open sweep.html there in a browser)", folder.display()));
}

/// Prints the points that failed and the reasons. Returns their number.
fn failures(part: &Part) -> usize {
    let failed = part.points.iter().filter(|point| point.state == State::Failed);
    for point in failed.clone() {
        let why = point.message.as_deref().unwrap_or("no message");
        let why = why.trim().replace('\n', "\n    ");
        crate::out::warn(format_args!(
            "point {} failed ({}):\n    {why}",
            point.point,
            part.settings_text(point.point)
        ));
    }
    let missing = own(part).filter(|point| point.state == State::Missing).count();
    if missing > 0 {
        crate::out::warn(format_args!(
            "interrupted: {missing} points are left; the same command continues with them"
        ));
    }
    failed.count()
}

/// The points of this shard.
fn own(part: &Part) -> impl Iterator<Item = &slotline_lab::sweep::PointRecord> {
    part.points.iter().filter(|point| part.shard.has(point.point))
}

fn count(part: &Part, state: State) -> usize {
    own(part).filter(|point| point.state == state).count()
}

/// The points of a shard, one line for each.
fn listing(part: &Part, shard: Shard) -> String {
    let line = |point: &slotline_lab::sweep::PointRecord| {
        let state = if point.state == State::Done { "done" } else { "to do" };
        let id = point.id.as_deref().unwrap_or("");
        format!("{:>5}  {state:<5}  {id}  {}\n", point.point, part.settings_text(point.point))
    };
    let lines: String = own(part).map(line).collect();
    let own = own(part).count();
    let of =
        if shard == Shard::WHOLE { String::new() } else { format!(" of {}", part.points.len()) };
    lines + &format!("{}: {own}{of} points, {} done", part.sweep, count(part, State::Done))
}
