//! Checkpoints: each run of a scenario is stored when it is complete, so that a process that is killed leaves
//! its complete runs, and the next process that claims the same place continues with them.
//!
//! A checkpoint is a small result in the draft: it has the same tables, and reading it makes the same checks. It is not
//! forced to the disk, because a killed process loses nothing by that. The checksums detect what a failing machine
//! damages.

use super::{OutputError, Place, read, written};
use crate::output::lock;
use crate::record::{RunRecord, RunSet};
use slotline_scenario::fingerprint;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Runs shorter than this are not stored, because repeating them takes no longer than reading them. In seconds.
const WORTH_S: f64 = 0.05;

/// The runs that earlier processes with the same scenario left.
#[derive(Debug, Default)]
pub struct Recovered {
    /// Complete runs, each once.
    pub runs: Vec<RunRecord>,
    /// A sentence for each run that was found but not used, with the reason.
    pub notes: Vec<String>,
}

impl Place {
    /// Takes over the complete runs of `plan`, a set without runs, that killed processes of this machine left. Runs of
    /// another program, scenario or version, and damaged runs, are not used.
    pub fn recover(&self, plan: &RunSet) -> Recovered {
        let mut recovered = Recovered::default();
        abandoned(&self.root, &self.id).iter().for_each(|draft| self.adopt(draft, &mut recovered));
        let mut found = BTreeMap::new();
        for folder in entries(&self.checkpoints()) {
            match one_run(&folder, plan) {
                Ok(Some(run)) => drop(found.insert((run.scheme.clone(), run.seed), run)),
                // The process was killed while it wrote this run.
                Ok(None) => drop(fs::remove_dir_all(&folder)),
                Err(fault) => {
                    recovered.notes.push(format!(
                        "a run that an interrupted process left is repeated: {fault}"
                    ));
                    drop(fs::remove_dir_all(&folder));
                }
            }
        }
        recovered.runs = found.into_values().collect();
        recovered
    }

    /// Stores `run` of `plan`, a set without runs, unless repeating it is quick.
    pub fn save(&self, plan: &RunSet, run: &mut RunRecord) -> Result<(), OutputError> {
        if run.engine.wall_s < WORTH_S {
            return Ok(());
        }
        self.keep(plan, run)
    }

    /// Stores `run` of `plan`, unless it is already stored.
    pub(super) fn keep(&self, plan: &RunSet, run: &mut RunRecord) -> Result<(), OutputError> {
        let scheme = plan.schemes.iter().position(|name| *name == run.scheme);
        let folder =
            self.checkpoints().join(format!("{}-{}", scheme.unwrap_or_default(), run.seed));
        if folder.join(super::index::FILE).exists() {
            return Ok(());
        }
        let set = RunSet { runs: vec![std::mem::take(run)], ..plan.clone() };
        let made = fs::create_dir_all(&folder).map_err(super::at(&folder));
        let written = made.and_then(|()| written::write_data(&folder, &self.id, &set));
        *run = set.runs.into_iter().next().unwrap_or_default();
        // An incomplete run must not occupy space that other runs need.
        written.inspect_err(|_| drop(fs::remove_dir_all(&folder)))
    }

    /// Ends without a result, and leaves the stored runs to the next process.
    pub fn abandon(mut self) {
        self.preserve = true;
    }

    /// Stores the runs of `set` that are not stored yet, and ends without a result. The next process continues with
    /// them. Returns the number of stored runs.
    pub fn suspend(self, set: &mut RunSet) -> Result<usize, OutputError> {
        let plan = set.plan();
        set.runs.iter_mut().try_for_each(|run| self.keep(&plan, run))?;
        self.abandon();
        Ok(set.runs.len())
    }

    /// The folder of the stored runs. Another program of the same version may give other numbers, so its runs
    /// are in another folder.
    fn checkpoints(&self) -> PathBuf {
        self.draft.join(format!("runs-{:016x}", program()))
    }

    /// Moves the runs of an abandoned draft to this one. If several processes try, each run goes to one of them.
    fn adopt(&self, draft: &Path, recovered: &mut Recovered) {
        let checkpoints = self.checkpoints();
        for runs in entries(draft).iter().filter(|path| is_checkpoint(path)) {
            if runs.file_name() != checkpoints.file_name() {
                let note = "runs that an interrupted process left are repeated: another build of this \
                            program made them";
                recovered.notes.push(note.into());
                continue;
            }
            drop(fs::create_dir_all(&checkpoints));
            for run in entries(runs) {
                // A run that cannot be moved is repeated.
                drop(run.file_name().map(|name| fs::rename(&run, checkpoints.join(name))));
            }
        }
        drop(fs::remove_dir_all(draft));
    }
}

/// Whether the draft has runs for the next process.
pub(crate) fn has_runs(draft: &Path) -> bool {
    entries(draft).iter().any(|path| is_checkpoint(path) && !entries(path).is_empty())
}

fn is_checkpoint(path: &Path) -> bool {
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

/// The run stored in `folder`; `None` if it was not written completely.
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

/// The entries of a folder in order; none where the folder does not exist.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return vec![] };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

/// A fingerprint of the program file: its length and its time of modification. Linux finds the file of this process
/// even if another file has replaced it.
fn program() -> u64 {
    let own = fs::metadata("/proc/self/exe");
    let file = own.or_else(|_| std::env::current_exe().and_then(fs::metadata));
    let identity = file.and_then(|file| Ok(format!("{} {:?}", file.len(), file.modified()?)));
    fingerprint(identity.unwrap_or_default().as_bytes())
}

#[cfg(test)]
#[path = "checkpoint_tests.rs"]
mod tests;
