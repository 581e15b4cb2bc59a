//! Runs kept one by one while a scenario's others are under way, so that whoever is killed leaves what it
//! had, and the next to claim the same place goes on from there.
//!
//! Each is a small result of its own in the draft, without what is made of it: the same tables, read back
//! with the same checks. It is not forced to the disk: a process that is killed loses nothing by that, and
//! what a failing machine spoils is noticed by the checksums.

use super::{OutputError, Place, read, written};
use crate::output::lock;
use crate::record::{RunRecord, RunSet};
use slotline_scenario::fingerprint;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Runs of less time are done again as soon as read, and are not kept alone: seconds.
const WORTH_S: f64 = 0.05;

/// What an earlier process with the same scenario left.
#[derive(Debug, Default)]
pub struct Left {
    /// Whole runs, each once.
    pub runs: Vec<RunRecord>,
    /// What was found and not used, and why; a sentence each.
    pub notes: Vec<String>,
}

impl Place {
    /// The whole runs of `plan`, a set without runs, that processes of this machine left which did not live
    /// to finish. They now belong to this place. What another program, scenario or version made, or what is
    /// damaged, is not among them.
    pub fn left(&self, plan: &RunSet) -> Left {
        let mut left = Left::default();
        abandoned(&self.root, &self.id).iter().for_each(|draft| self.adopt(draft, &mut left));
        let mut found = BTreeMap::new();
        for folder in entries(&self.kept()) {
            match one_run(&folder, plan) {
                Ok(Some(run)) => drop(found.insert((run.scheme.clone(), run.seed), run)),
                // It was just being written.
                Ok(None) => drop(fs::remove_dir_all(&folder)),
                Err(fault) => {
                    left.notes
                        .push(format!("a run that was interrupted left is done again: {fault}"));
                    drop(fs::remove_dir_all(&folder));
                }
            }
        }
        left.runs = found.into_values().collect();
        left
    }

    /// Keeps `run` of `plan`, a set without runs, unless it is as quickly done again.
    pub fn keep(&self, plan: &RunSet, run: &mut RunRecord) -> Result<(), OutputError> {
        if run.engine.wall_s < WORTH_S {
            return Ok(());
        }
        let scheme = plan.schemes.iter().position(|name| *name == run.scheme);
        let folder = self.kept().join(format!("{}-{}", scheme.unwrap_or_default(), run.seed));
        let set = RunSet { runs: vec![std::mem::take(run)], ..plan.clone() };
        let made = fs::create_dir_all(&folder).map_err(super::at(&folder));
        let written = made.and_then(|()| written::write_data(&folder, &self.id, &set));
        *run = set.runs.into_iter().next().unwrap_or_default();
        // What is not whole must not take the room of what will be.
        written.inspect_err(|_| drop(fs::remove_dir_all(&folder)))
    }

    /// Ends without a result, and leaves the runs kept so far to the next.
    pub fn leave(mut self) {
        self.leaves = true;
    }

    /// Where runs are kept. Another program, though of the same version, may give other numbers: its runs
    /// are elsewhere.
    fn kept(&self) -> PathBuf {
        self.draft.join(format!("runs-{:016x}", program()))
    }

    /// Moves the runs of an abandoned draft here. Of several processes that try, one gets each run.
    fn adopt(&self, draft: &Path, left: &mut Left) {
        let kept = self.kept();
        for runs in entries(draft).iter().filter(|path| is_kept(path)) {
            if runs.file_name() != kept.file_name() {
                let note = "runs that an interrupted run left are done again: another build of this \
                            program made them";
                left.notes.push(note.into());
                continue;
            }
            drop(fs::create_dir_all(&kept));
            for run in entries(runs) {
                // What cannot be had is done again.
                drop(run.file_name().map(|name| fs::rename(&run, kept.join(name))));
            }
        }
        drop(fs::remove_dir_all(draft));
    }
}

/// Whether the draft has runs that the next may go on from.
pub(crate) fn has_runs(draft: &Path) -> bool {
    entries(draft).iter().any(|path| is_kept(path) && !entries(path).is_empty())
}

fn is_kept(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("runs-"))
}

/// Drafts of result `id` below `root` whose process on this machine is gone.
fn abandoned(root: &Path, id: &str) -> Vec<PathBuf> {
    let gone = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        let draft = name.strip_prefix('.').and_then(|name| name.strip_suffix(".partial"));
        let parts = draft.and_then(|draft| draft.split_once('.'));
        parts.is_some_and(|(of, holder)| of == id && lock::is_gone(holder))
    };
    entries(root).into_iter().filter(gone).collect()
}

/// The run kept in `folder`; none where its writing was not over.
fn one_run(folder: &Path, plan: &RunSet) -> Result<Option<RunRecord>, String> {
    let stored = match read::open(folder) {
        Ok(stored) => stored,
        Err(read::ReadError::NotAResult(_)) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let mut set = stored.set;
    let runs = std::mem::take(&mut set.runs);
    let other = || format!("`{}` is of another scenario or version", folder.display());
    if set != *plan || stored.version != env!("CARGO_PKG_VERSION") {
        return Err(other());
    }
    let planned =
        |run: &RunRecord| plan.schemes.contains(&run.scheme) && plan.seeds.contains(&run.seed);
    match <[RunRecord; 1]>::try_from(runs) {
        Ok([run]) if planned(&run) => Ok(Some(run)),
        _ => Err(other()),
    }
}

/// What is in a folder, in order; nothing where it is not there.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return vec![] };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

/// Stands for the running program's file: its length and when it was made.
fn program() -> u64 {
    let file = std::env::current_exe().and_then(fs::metadata);
    let said = file.and_then(|file| Ok(format!("{} {:?}", file.len(), file.modified()?)));
    fingerprint(said.unwrap_or_default().as_bytes())
}

#[cfg(test)]
#[path = "kept_tests.rs"]
mod tests;
