//! The state of a sweep as one process knows it, and the join of the states of several processes.

use super::plan::{Parameter, Study};
use super::rows::{Row, rows};
use super::summary_file::SummaryFile;
use crate::expect::Outcome;
use crate::output::is_of;
use serde::{Deserialize, Serialize};
use slotline_scenario::metric::Metric;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The points that a process runs: those whose number modulo `of` is `index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// The index of the shard, from 0.
    pub index: usize,
    /// The number of shards.
    pub of: usize,
}

impl Shard {
    /// All points.
    pub const WHOLE: Shard = Shard { index: 0, of: 1 };

    /// Reads a shard. `2/8` is the third of eight.
    pub fn parse(text: &str) -> Result<Shard, String> {
        let wrong =
            || format!("`{text}` is not a shard: write i/n with i from 0 to n-1, for example 0/4");
        let (index, of) = text.split_once('/').ok_or_else(wrong)?;
        let number = |text: &str| text.trim().parse::<usize>().map_err(|_| wrong());
        let shard = Shard { index: number(index)?, of: number(of)? };
        if shard.index < shard.of { Ok(shard) } else { Err(wrong()) }
    }

    /// Whether point `at` belongs to this shard.
    pub fn has(&self, at: usize) -> bool {
        at % self.of == self.index
    }
}

/// The state of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It has a complete result.
    Done,
    /// It was run and failed.
    Failed,
    /// It has no result.
    Missing,
}

/// The record of one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointRecord {
    /// Its number in the sweep, from 0.
    pub point: usize,
    /// A value for each parameter; `None` where the value of the scenario applies.
    pub settings: Vec<Option<serde_json::Value>>,
    /// The folder of its result; `None` if it is not known yet, as for points of other shards.
    pub id: Option<String>,
    /// Its state.
    pub state: State,
    /// The digest of its result.
    pub digest: Option<String>,
    /// Why it failed.
    pub message: Option<String>,
}

/// The state of a sweep as one process knows it: the file `part-I-of-N.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The sweep's short name.
    pub sweep: String,
    /// The scenario's name.
    pub name: String,
    /// The program's version.
    pub version: String,
    /// The points that the process runs.
    pub shard: Shard,
    /// The varied parameters.
    pub parameters: Vec<Parameter>,
    /// The metrics to show; empty for all that are not zero in every run.
    pub metrics: Vec<Metric>,
    /// All points of the sweep.
    pub points: Vec<PointRecord>,
}

impl Study {
    /// The record of point `at` before it is done.
    pub fn record(&self, at: usize) -> PointRecord {
        let json = |value: Option<toml::Value>| value.as_ref().map(json_of);
        PointRecord {
            point: at,
            settings: self.settings(at).into_iter().map(json).collect(),
            id: None,
            state: State::Missing,
            digest: None,
            message: None,
        }
    }
}

impl Part {
    /// The state of `study` before any point is done.
    pub fn of(study: &Study, shard: Shard) -> Part {
        Part {
            sweep: study.id.clone(),
            name: study.name.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            shard,
            parameters: study.parameters.clone(),
            metrics: vec![],
            points: (0..study.len()).map(|at| study.record(at)).collect(),
        }
    }

    /// Refuses content that no program writes. It could name places outside the folder, or give points the settings of
    /// other points.
    fn checked(self) -> Result<Part, String> {
        let is_name = |name: &str| Path::new(name).file_name() == Some(name.as_ref());
        let parameters = self.parameters.len();
        for (at, point) in self.points.iter().enumerate() {
            let settings = point.settings.len();
            if point.point != at || settings != parameters {
                let number = point.point;
                return Err(format!(
                    "entry {at} of `points` is point {number} and sets {settings} of {parameters} parameters"
                ));
            }
        }
        if self.shard.index >= self.shard.of {
            return Err(format!("there is no shard {} of {}", self.shard.index, self.shard.of));
        }
        let ids = self.points.iter().filter_map(|point| point.id.as_deref());
        if let Some(name) = ids.chain([self.sweep.as_str()]).find(|name| !is_name(name)) {
            return Err(format!("`{name}` is not the name of a folder"));
        }
        Ok(self)
    }

    /// The name of the file.
    pub fn file_name(&self) -> String {
        format!("part-{}-of-{}.json", self.shard.index, self.shard.of)
    }

    /// The content of the file.
    pub fn text(&self) -> String {
        // Plain data with text keys always has a JSON form.
        serde_json::to_string_pretty(self).expect("plain data") + "\n"
    }

    /// The settings of point `at` as text: `load = 0.7, k = 8`.
    pub fn settings_text(&self, at: usize) -> String {
        let pairs = self.parameters.iter().zip(&self.points[at].settings);
        let setting = |(parameter, value): (&Parameter, &Option<serde_json::Value>)| {
            Some(format!("{} = {}", parameter.label, json_shown(value.as_ref()?)))
        };
        pairs.filter_map(setting).collect::<Vec<_>>().join(", ")
    }
}

/// A value of TOML as JSON. Numbers and times that do not exist in JSON become texts.
fn json_of(value: &toml::Value) -> serde_json::Value {
    match value {
        toml::Value::Array(items) => items.iter().map(json_of).collect(),
        toml::Value::Table(table) => {
            table.iter().map(|(key, value)| (key.clone(), json_of(value))).collect()
        }
        toml::Value::Float(number) if !number.is_finite() => number.to_string().into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        // All other values have a JSON form.
        plain => serde_json::to_value(plain).unwrap_or_default(),
    }
}

/// A value as in a scenario, with text not quoted.
pub fn json_shown(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// Why parts cannot be joined.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The folder has no part of a sweep.
    #[error("no sweep in `{}`: name a folder with results of `slotline sweep`", .0.display())]
    None(PathBuf),
    /// A file cannot be read or understood.
    #[error("{0}")]
    Read(String),
    /// The parts belong to different sweeps.
    #[error("these are different sweeps: {}: name the folder of one, for example `{}`", .0.join(", "), .1.display())]
    Different(Vec<String>, PathBuf),
    /// The parts were made by different versions of the program.
    #[error(
        "`{0}` was made by version {1} of the program, this is {2}: their numbers are not comparable"
    )]
    Version(String, String, String),
    /// Two points are the same scenario.
    #[error("points {} ({}) and {} ({}) are the same scenario", .0.0, .0.1, .1.0, .1.1)]
    Same((usize, String), (usize, String)),
    /// The same point gave different results.
    #[error(
        "point {point} ({settings_text}) has different results: digest {} in `{}`, {} in `{}`; \
         the same scenario must give the same result everywhere",
        .first.1, .first.0.display(), .second.1, .second.0.display()
    )]
    Digests {
        /// The number of the point.
        point: usize,
        /// The settings of the point.
        settings_text: String,
        /// A folder, and the digest of the result there.
        first: Box<(PathBuf, String)>,
        /// Another folder, and the digest of the result there.
        second: Box<(PathBuf, String)>,
    },
}

/// A part, and the folder that holds the results of its points.
pub type Found = (PathBuf, Part);

/// The parts in `folder`: a folder of results, or the folder of one sweep in it.
pub fn find(folder: &Path) -> Result<Vec<Found>, JoinError> {
    let here = parts_in(folder)?;
    if !here.is_empty() {
        let root = folder.canonicalize().ok().and_then(|path| Some(path.parent()?.to_path_buf()));
        let root = root.unwrap_or_else(|| folder.join(".."));
        return Ok(here.into_iter().map(|part| (root.clone(), part)).collect());
    }
    let mut found = vec![];
    for inner in listed(folder)?.into_iter().filter(|path| path.is_dir()) {
        found.extend(parts_in(&inner)?.into_iter().map(|part| (folder.to_path_buf(), part)));
    }
    if found.is_empty() { Err(JoinError::None(folder.into())) } else { Ok(found) }
}

/// The entries of `folder`, in order.
fn listed(folder: &Path) -> Result<Vec<PathBuf>, JoinError> {
    let wrong = |error| JoinError::Read(format!("cannot read `{}`: {error}", folder.display()));
    let entries = fs::read_dir(folder).map_err(wrong)?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

fn parts_in(folder: &Path) -> Result<Vec<Part>, JoinError> {
    let is_part = |path: &&PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        name.starts_with("part-") && name.ends_with(".json")
    };
    let read = |path: &PathBuf| {
        let wrong = |why: String| JoinError::Read(format!("`{}`: {why}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let part: Result<Part, String> =
            serde_json::from_str(&text).map_err(|error| error.to_string());
        part.and_then(Part::checked).map_err(|why| wrong(format!("not a part of a sweep: {why}")))
    };
    listed(folder)?.iter().filter(is_part).map(read).collect()
}

/// The state of a sweep: the content of `sweep.json`.
#[derive(Clone, Debug, Serialize)]
pub struct Sweep {
    /// The sweep's short name.
    pub sweep: String,
    /// The scenario's name.
    pub name: String,
    /// The program's version.
    pub version: String,
    /// Whether all points are done.
    pub complete: bool,
    /// The varied parameters.
    pub parameters: Vec<Parameter>,
    /// The metrics to show; empty for all that are not zero in every run.
    pub metrics: Vec<Metric>,
    /// All points.
    pub points: Vec<PointRecord>,
    /// One row per setting and scheme. Repetitions that are separate points form one row.
    pub rows: Vec<Row>,
    /// What became of the expectations, with the numbers of the points.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<(usize, Outcome)>,
    /// Points with results in several folders.
    #[serde(skip)]
    pub duplicates: Vec<usize>,
    /// The largest memory of the process of a point in bytes. It differs from run to run.
    #[serde(skip)]
    pub peak_rss_bytes: u64,
}

/// Joins `parts` of one sweep, and reads the results of its points.
pub fn join(parts: &[Found]) -> Result<Sweep, JoinError> {
    let (root, first) = parts.first().ok_or_else(|| JoinError::None(PathBuf::new()))?;
    alike(root, first, parts)?;
    let mut sweep = Sweep {
        sweep: first.sweep.clone(),
        name: first.name.clone(),
        version: first.version.clone(),
        complete: false,
        parameters: first.parameters.clone(),
        metrics: parts
            .iter()
            .map(|(_, part)| part.metrics.clone())
            .find(|m| !m.is_empty())
            .unwrap_or_default(),
        points: vec![],
        rows: vec![],
        expectations: vec![],
        duplicates: vec![],
        peak_rss_bytes: 0,
    };
    let (mut summaries, mut seen) = (BTreeMap::new(), BTreeMap::new());
    for at in 0..first.points.len() {
        let id = parts.iter().find_map(|(_, part)| part.points[at].id.as_deref());
        if let Some(before) = id.and_then(|id| seen.insert(id, at)) {
            let named = |at: usize| (at, first.settings_text(at));
            return Err(JoinError::Same(named(before), named(at)));
        }
        let records: Vec<&PointRecord> = parts.iter().map(|(_, part)| &part.points[at]).collect();
        let (mut record, results) = (merged(&records), results(parts, &records)?);
        check_digests(first, at, &results)?;
        if results.len() > 1 {
            sweep.duplicates.push(at);
        }
        if let Some((_, summary)) = results.into_iter().next() {
            record.state = State::Done;
            record.message = None;
            record.digest = Some(summary.engine.digest.clone());
            sweep.peak_rss_bytes = sweep.peak_rss_bytes.max(summary.engine.peak_rss_bytes);
            let outcomes = summary.expectations.iter().map(|outcome| (at, outcome.clone()));
            sweep.expectations.extend(outcomes);
            summaries.insert(at, summary);
        }
        sweep.points.push(record);
    }
    sweep.complete = sweep.points.iter().all(|point| point.state == State::Done);
    sweep.rows = rows(&sweep.parameters, &sweep.points, &summaries);
    Ok(sweep)
}

/// Checks that all parts are of the same sweep and of this version.
fn alike(root: &Path, first: &Part, parts: &[Found]) -> Result<(), JoinError> {
    let mut names: Vec<String> = parts.iter().map(|(_, part)| part.sweep.clone()).collect();
    names.sort();
    names.dedup();
    if names.len() > 1 {
        return Err(JoinError::Different(names, root.join(&first.sweep)));
    }
    let ours = env!("CARGO_PKG_VERSION");
    let same = |part: &Part| part.version == ours && part.points.len() == first.points.len();
    match parts.iter().find(|(_, part)| !same(part)) {
        Some((_, part)) => {
            Err(JoinError::Version(part.sweep.clone(), part.version.clone(), ours.into()))
        }
        None => Ok(()),
    }
}

/// Merges the records of a point from all parts.
fn merged(records: &[&PointRecord]) -> PointRecord {
    let failed = records.iter().find(|record| record.state == State::Failed);
    let known = records.iter().find(|record| record.id.is_some());
    let mut record = (*failed.or(known).unwrap_or(&records[0])).clone();
    record.digest = None;
    if record.state == State::Done {
        record.state = State::Missing;
    }
    record
}

/// The complete results of a point, one for each folder that has one.
fn results(
    parts: &[Found],
    records: &[&PointRecord],
) -> Result<Vec<(PathBuf, SummaryFile)>, JoinError> {
    let Some(id) = records.iter().find_map(|record| record.id.as_deref()) else {
        return Ok(vec![]);
    };
    let real = |root: &PathBuf| root.canonicalize().unwrap_or_else(|_| root.clone());
    let mut folders: Vec<PathBuf> = parts.iter().map(|(root, _)| real(root).join(id)).collect();
    folders.sort();
    folders.dedup();
    let is_result = |folder: &PathBuf| folder.join("summary.json").is_file() && is_of(folder, id);
    let there = folders.into_iter().filter(is_result);
    let read = |folder: PathBuf| {
        let summary = SummaryFile::read(&folder).map_err(JoinError::Read)?;
        Ok(Some((folder, summary)).filter(|(_, summary)| summary.complete && summary.id == id))
    };
    there.map(read).filter_map(Result::transpose).collect()
}

fn check_digests(
    part: &Part,
    at: usize,
    results: &[(PathBuf, SummaryFile)],
) -> Result<(), JoinError> {
    let digest = |(folder, summary): &(PathBuf, SummaryFile)| {
        (folder.clone(), summary.engine.digest.clone())
    };
    let other = results.iter().find(|(_, s)| s.engine.digest != results[0].1.engine.digest);
    match other {
        Some(other) => Err(JoinError::Digests {
            point: at,
            settings_text: part.settings_text(at),
            first: Box::new(digest(&results[0])),
            second: Box::new(digest(other)),
        }),
        None => Ok(()),
    }
}
