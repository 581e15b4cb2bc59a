//! Preparation of a sweep: checks every point, determines its name, and looks for its result.

use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use slotline_lab::output::run_id;
use slotline_lab::sweep::part::Shard;
use slotline_lab::sweep::{Part, State, Study, store};
use slotline_scenario::ScenarioError;
use slotline_scenario::metric::Metric;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The points, and those to run.
pub struct Prepared {
    /// All points. Those of this shard have names.
    pub part: Part,
    /// The points without a result, in order.
    pub todo: Vec<usize>,
}

/// A point that was checked.
struct Checked {
    at: usize,
    name: String,
    resolved: String,
    metrics: Vec<Metric>,
}

/// Checks the points of `shard`, and looks below `root` for their results.
pub fn prepare(study: &Study, shard: Shard, root: &Path) -> Result<Prepared> {
    let mut part = Part::of(study, shard);
    let mut todo = vec![];
    let mut seen: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for checked in check_all(study, shard)? {
        let Checked { at, name, resolved, metrics } = checked;
        let id = run_id(&name, &resolved);
        if let Some((before, text)) = seen.insert(id.clone(), (at, resolved.clone())) {
            let what =
                if text == resolved { "are the same scenario" } else { "have the same name" };
            bail!(
                "{}: points {before} ({}) and {at} ({}) {what}",
                study.file.display(),
                study.settings_text(before),
                study.settings_text(at)
            );
        }
        let record = &mut part.points[at];
        if store::is_done(root, &id, &resolved)? {
            record.state = State::Done;
        } else {
            todo.push(at);
        }
        record.id = Some(id);
        part.metrics = metrics;
    }
    Ok(Prepared { part, todo })
}

/// Checks points on all processors, because a check generates all traffic of a point. The first error is reported.
fn check_all(study: &Study, shard: Shard) -> Result<Vec<Checked>, ScenarioError> {
    let own: Vec<usize> = (0..study.len()).filter(|at| shard.has(*at)).collect();
    let (next, done) = (AtomicUsize::new(0), Mutex::new(vec![]));
    let bar = ProgressBar::with_draw_target(Some(own.len() as u64), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("checking {pos}/{len} points");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let work = || {
        while let Some(at) = own.get(next.fetch_add(1, Ordering::Relaxed)).copied() {
            let checked = study.point(at).map(|loaded| Checked {
                at,
                name: loaded.scenario.name.clone(),
                resolved: loaded.resolved(),
                metrics: loaded.scenario.measure.metrics,
            });
            bar.inc(1);
            done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, checked));
        }
    };
    std::thread::scope(|scope| {
        (1..super::pool::processors()).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    bar.finish_and_clear();
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, checked)| checked).collect()
}
