//! One point of a study as a unit of work, for any machine and any scheduler of work. Points exchange nothing. A point
//! leaves a complete result or none, and running it again gives the same result.

use super::part::{PointRecord, State};
use super::plan::Study;
use super::store;
use super::summary_file::SummaryFile;
use crate::output::{OutputError, PageFile, Place, run_id};
use crate::record::RunSet;
use crate::run::{Failure, Jobs};
use crate::summary::Summary;
use slotline_scenario::{Loaded, ScenarioError};
use std::path::Path;
use std::sync::Arc;

/// What is kept of a point.
#[derive(Clone, Copy, Debug)]
pub enum Keep {
    /// The scenario and the summary: all that the tables of a sweep need.
    Summary,
    /// A whole result, with these pages.
    Result(&'static [PageFile]),
}

/// A point that can be run.
pub struct Point {
    /// Its runs, which can be stopped from another thread.
    pub jobs: Arc<Jobs>,
    loaded: Loaded,
    record: PointRecord,
    id: String,
}

impl Point {
    /// Checks point `at` of `study`.
    pub fn prepare(study: &Study, at: usize) -> Result<Point, ScenarioError> {
        let loaded = study.point(at)?;
        let id = run_id(&loaded.scenario.name, &loaded.resolved());
        let record = PointRecord { id: Some(id.clone()), ..study.record(at) };
        Ok(Point { jobs: Arc::new(Jobs::of(&loaded)), loaded, record, id })
    }

    /// Runs the point, unless its result is in `root`, and writes its result there in one step. The record says whether
    /// it is done, failed, or was stopped.
    pub fn run(self, root: &Path, keep: Keep, threads: usize) -> Result<PointRecord, OutputError> {
        let resolved = self.loaded.resolved();
        if !store::is_done(root, &self.id, &resolved)? {
            let place = Place::claim(root, &self.loaded.scenario.name, &resolved, true)?;
            let done = self.jobs.run_saving(&self.loaded, threads, |_| ());
            if !done.failed.is_empty() {
                return Ok(failed(self.record, &done.failed));
            }
            let set = RunSet::new(&self.loaded, done.records);
            if !set.complete() {
                return Ok(self.record);
            }
            write(place, &set, keep)?;
        }
        let digest = SummaryFile::read(&root.join(&self.id)).ok().map(|file| file.engine.digest);
        Ok(PointRecord { state: State::Done, digest, ..self.record })
    }
}

fn failed(record: PointRecord, failed: &[Failure]) -> PointRecord {
    let why: Vec<String> = failed.iter().map(Failure::to_string).collect();
    PointRecord { state: State::Failed, message: Some(why.join("\n")), ..record }
}

fn write(place: Place, set: &RunSet, keep: Keep) -> Result<(), OutputError> {
    let summary = Summary::of(set);
    match keep {
        Keep::Summary => place.write_summary(set, &summary),
        Keep::Result(pages) => place.write(set, &summary, false, pages).map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{read, scratch};

    const TEXT: &str = "name = \"x\"\nend = { at = \"50ms\" }\n[fabric]\nkind = \"star\"\nhosts = 9\n\
                        [[workload]]\nkind = \"incast\"\n[[scheme]]\nname = \"tcp\"\n\
                        [sweep.grid]\n\"fabric.hosts\" = [5, 9]\n";

    #[test]
    fn a_point_is_run_once_and_leaves_what_is_asked_for() {
        let root = scratch("single-point");
        let study = Study::parse("x.toml".as_ref(), TEXT.into()).expect("a study");
        let run = |at, keep| {
            Point::prepare(&study, at).expect("a point").run(&root, keep, 1).expect("a place")
        };
        let first = run(0, Keep::Summary);
        assert_eq!((first.point, first.state), (0, State::Done));
        let folder = root.join(first.id.as_deref().unwrap());
        assert!(folder.join("summary.json").exists() && read::read(&folder).is_err());
        let modified =
            || std::fs::metadata(folder.join("summary.json")).unwrap().modified().unwrap();
        let before = modified();
        assert_eq!(run(0, Keep::Result(&[])), first);
        assert_eq!(modified(), before, "a point that is done is not run again");
        let second = run(1, Keep::Result(&[]));
        assert!(read::read(&root.join(second.id.as_deref().unwrap())).is_ok());
        assert_ne!(first.digest, second.digest);
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_point_that_is_stopped_leaves_nothing() {
        let root = scratch("single-stopped");
        let study = Study::parse("x.toml".as_ref(), TEXT.into()).expect("a study");
        let point = Point::prepare(&study, 0).expect("a point");
        point.jobs.cancel();
        let record = point.run(&root, Keep::Summary, 1).expect("a place");
        assert_eq!((record.state, record.digest), (State::Missing, None));
        assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0);
        std::fs::remove_dir_all(&root).unwrap();
    }
}
