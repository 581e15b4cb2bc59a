//! Reads a result folder.

use super::index::{self, CaptureNote, Head, Index, Note, Run};
use super::written::checksum;
use crate::record::{Capture, CapturedPacket, RunRecord, RunSet, Samples};
use bytes::Bytes;
use slotline_tables::table::Table;
use slotline_tables::tables::{
    APPS, CAPTURES, CONTROL, CapturedRow, ESTIMATES, FAULTS, FLOWS, LIMITS, PORTS, SAMPLES,
    SCHEDULE, SEQUENCE, STOPPED, VOQS, WHY,
};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Why a result cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The folder is no result.
    #[error(
        "`{}` is not a result: there is no `{}` in it. Name a folder that `slotline run` wrote, for \
         example results/incast-0123456789abcdef0123456789abcdef", .0.display(), index::FILE
    )]
    NotAResult(PathBuf),
    /// Another version wrote it, in a form unknown here.
    #[error(
        "`{}` was written by slotline {version} in form {schema}; this is slotline {}, which reads \
         form {}: run the scenario again, or use slotline {version}", .folder.display(),
        env!("CARGO_PKG_VERSION"), index::SCHEMA
    )]
    Schema {
        /// The result.
        folder: PathBuf,
        /// Its form.
        schema: u32,
        /// The version of its program.
        version: String,
    },
    /// A file of it was changed or damaged.
    #[error("`{}` is damaged: {fault}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The cause.
        fault: String,
    },
    /// A file cannot be read, for example because permission is missing.
    #[error("cannot read `{}`: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
}

/// The fault of a file with another checksum.
const EDITED: &str = "its checksum differs: results must not be edited";

/// A result with its name and the version of the program that made it.
#[derive(Clone, PartialEq, Debug)]
pub struct Stored {
    /// Its name.
    pub id: String,
    /// Version of the program that made it.
    pub version: String,
    /// The runs.
    pub set: RunSet,
}

/// Reads the runs in `folder`.
pub fn read(folder: &Path) -> Result<RunSet, ReadError> {
    open(folder).map(|stored| stored.set)
}

/// Reads the result in `folder`, with its name and the version that made it. A file that was changed is an error.
pub fn open(folder: &Path) -> Result<Stored, ReadError> {
    let index = read_index(folder)?;
    let damaged = |fault| damaged(&folder.join(index::FILE), fault);
    let scenario = file(folder, &index, "scenario.toml")?
        .ok_or_else(|| damaged("it does not name `scenario.toml`".into()))?;
    let scenario = String::from_utf8(scenario.to_vec());
    let mut set = index.set(scenario.map_err(|e| damaged(e.to_string()))?).map_err(damaged)?;
    fill(folder, &index, &mut set.runs)?;
    Ok(Stored { id: index.id, version: index.version, set })
}

fn read_index(folder: &Path) -> Result<Index, ReadError> {
    let path = folder.join(index::FILE);
    let text = fs::read(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            ReadError::NotAResult(folder.into())
        }
        _ => ReadError::Io { path: path.clone(), error },
    })?;
    let wrong = |error: serde_json::Error| damaged(&path, error.to_string());
    let text = String::from_utf8(text).map_err(|error| damaged(&path, error.to_string()))?;
    let head: Head = serde_json::from_str(&text).map_err(wrong)?;
    if head.schema != index::SCHEMA {
        let (folder, Head { schema, version }) = (folder.into(), head);
        return Err(ReadError::Schema { folder, schema, version });
    }
    if !index::is_unchanged(&text) {
        return Err(damaged(&path, EDITED.into()));
    }
    serde_json::from_str(&text).map_err(wrong)
}

/// The content of a file that the index names; `None` if it does not name the file.
fn file(folder: &Path, index: &Index, name: &str) -> Result<Option<Bytes>, ReadError> {
    let Some(note) = index.files.get(name) else { return Ok(None) };
    let path = folder.join(name);
    let bytes = fs::read(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => damaged(&path, "it is missing".into()),
        _ => ReadError::Io { path: path.clone(), error },
    })?;
    check(&bytes, note).map_err(|fault| damaged(&path, fault))?;
    Ok(Some(bytes.into()))
}

fn check(bytes: &[u8], note: &Note) -> Result<(), String> {
    let there = bytes.len() as u64;
    if there < note.bytes {
        return Err(format!("cut off after {there} of {} bytes", note.bytes));
    }
    if there > note.bytes || checksum(bytes) != note.xxh64 {
        return Err(EDITED.into());
    }
    Ok(())
}

fn damaged(path: &Path, fault: String) -> ReadError {
    ReadError::Damaged { path: path.into(), fault }
}

/// What is wrong with samples at different times.
const UNEVEN: &str = "its ports have no samples at the same times, in order of time";

/// Fills the tables of `runs`.
fn fill(folder: &Path, index: &Index, runs: &mut [RunRecord]) -> Result<(), ReadError> {
    table(folder, index, &FLOWS, runs, |run, rows| run.flows = rows)?;
    let mut samples = vec![vec![]; runs.len()];
    table(folder, index, &SAMPLES, &mut samples, |run, rows| *run = rows)?;
    let path = folder.join("samples.parquet");
    for (run, rows) in runs.iter_mut().zip(&samples) {
        let samples = Samples::from_rows(rows).ok_or_else(|| damaged(&path, UNEVEN.into()));
        run.samples = samples?;
    }
    table(folder, index, &PORTS, runs, |run, rows| run.ports = rows)?;
    table(folder, index, &CONTROL, runs, |run, rows| run.control = rows)?;
    table(folder, index, &FAULTS, runs, |run, rows| run.faults = rows)?;
    table(folder, index, &ESTIMATES, runs, |run, rows| run.estimates = rows)?;
    table(folder, index, &LIMITS, runs, |run, rows| run.limits = rows)?;
    table(folder, index, &STOPPED, runs, |run, rows| run.stopped = rows)?;
    table(folder, index, &APPS, runs, |run, rows| run.apps = rows)?;
    table(folder, index, &VOQS, runs, |run, rows| run.voqs = rows)?;
    table(folder, index, &WHY, runs, |run, rows| run.why = rows)?;
    table(folder, index, &SEQUENCE, runs, |run, rows| run.sequence = rows)?;
    table(folder, index, &SCHEDULE, runs, |run, rows| run.schedule = rows)?;
    check_times(folder, runs)?;
    let mut captured = vec![vec![]; runs.len()];
    table(folder, index, &CAPTURES, &mut captured, |run, rows| *run = rows)?;
    let path = folder.join(index::FILE);
    for ((run, note), rows) in runs.iter_mut().zip(&index.runs).zip(captured) {
        run.captures = captures(&note.captures, rows).map_err(|fault| damaged(&path, fault))?;
    }
    Ok(())
}

/// Checks times that others are subtracted from.
fn check_times(folder: &Path, runs: &[RunRecord]) -> Result<(), ReadError> {
    let fault =
        |name: &str, why: &str| damaged(&folder.join(format!("{name}.parquet")), why.into());
    if !runs.iter().all(|run| run.sequence.is_sorted_by_key(|row| (row.flow, row.t_ps))) {
        return Err(fault(SEQUENCE.name(), "its rows are not in order of flow and time"));
    }
    if runs.iter().flat_map(|run| &run.schedule).any(|row| row.from_ps > row.until_ps) {
        return Err(fault(SCHEDULE.name(), "a permission ends before it begins"));
    }
    Ok(())
}

fn table<R: Clone + Send + Sync, T>(
    folder: &Path,
    index: &Index,
    table: &Table<R>,
    runs: &mut [T],
    put: impl Fn(&mut T, Vec<R>),
) -> Result<(), ReadError> {
    let name = format!("{}.parquet", table.name());
    let expected: Vec<usize> = index.runs.iter().map(|run: &Run| run.rows(table.name())).collect();
    let path = folder.join(&name);
    match file(folder, index, &name)? {
        Some(bytes) => {
            let rows = table.read(bytes, &expected).map_err(|fault| damaged(&path, fault))?;
            runs.iter_mut().zip(rows).for_each(|(run, rows)| put(run, rows));
            Ok(())
        }
        None if expected.iter().all(|rows| *rows == 0) => Ok(()),
        None => Err(damaged(&folder.join(index::FILE), format!("it does not name `{name}`"))),
    }
}

/// Divides the packets among the ports at which they were captured.
fn captures(notes: &[CaptureNote], rows: Vec<CapturedRow>) -> Result<Vec<Capture>, String> {
    let mut rows = rows.into_iter();
    let capture = |note: &CaptureNote| {
        let of_port: Vec<CapturedRow> = rows.by_ref().take(note.packets).collect();
        let fits = of_port.len() == note.packets && of_port.iter().all(|r| r.port == note.port);
        let packets: Vec<CapturedPacket> = of_port.into_iter().map(|row| row.of).collect();
        let capture = Capture { port: note.port, packets, omitted: note.omitted };
        fits.then_some(capture).ok_or(format!("it does not fit the packets of port {}", note.port))
    };
    let captures: Result<Vec<Capture>, String> = notes.iter().map(capture).collect();
    if rows.next().is_some() { Err("it lacks captured packets".into()) } else { captures }
}
