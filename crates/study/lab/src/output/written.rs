//! Writes the files of a result in parallel.

use super::index::{self, Index, Note};
use super::{OutputError, at, summary_json};
use crate::record::RunSet;
use crate::summary::Summary;
use slotline_tables::parallel;
use slotline_tables::tables::{self, AnyTable};
use std::collections::BTreeMap;
use std::fs;
use std::hash::Hasher;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use twox_hash::XxHash64;

/// The most rows of a table that is written as CSV without a request: the limit of spreadsheets.
pub const CSV_ROWS: usize = (1 << 20) - 1;

/// The files that were written, and those that were not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// The folder.
    pub folder: PathBuf,
    /// CSV files left out because of their length, with their number of rows.
    pub left_out: Vec<(String, usize)>,
}

/// A page that shows a result. It is not read back.
#[derive(Clone, Copy, Debug)]
pub struct PageFile {
    /// The name of the file.
    pub name: &'static str,
    /// Makes its text from the short name of the result, its runs and their summary.
    pub text: fn(&str, &RunSet, &Summary) -> String,
}

/// A file to be written.
struct Planned<'a> {
    name: String,
    /// Whether it is read back.
    noted: bool,
    fill: Box<Fill<'a>>,
}

type Fill<'a> = dyn Fn(&mut (dyn Write + Send)) -> io::Result<()> + Sync + 'a;

/// XXH64 with seed 0, in hexadecimal digits. It detects damage, and does not protect against forgery.
pub(super) fn checksum(bytes: &[u8]) -> String {
    format!("{:016x}", XxHash64::oneshot(0, bytes))
}

/// The content of a result.
#[derive(Clone, Copy)]
pub(super) struct Content<'a> {
    /// The short name of the result.
    pub id: &'a str,
    /// The runs.
    pub set: &'a RunSet,
    /// Their summary.
    pub summary: &'a Summary,
}

/// Writes `content` and `pages` to the existing folder `folder`. Messages call it `name`. Tables of more than
/// `csv_rows` rows are not written as CSV: their names and numbers of rows are returned.
pub(super) fn write(
    folder: &Path,
    name: &Path,
    content: Content<'_>,
    csv_rows: usize,
    pages: &[PageFile],
) -> Result<Vec<(String, usize)>, OutputError> {
    let Content { id, set, summary } = content;
    let runs = &set.in_order();
    let mut files = read_back(set);
    for page in pages {
        let fill =
            |out: &mut (dyn Write + Send)| out.write_all((page.text)(id, set, summary).as_bytes());
        files.push(planned(page.name, false, fill));
    }
    files.push(planned("summary.json", false, |out| {
        out.write_all(summary_json::text(id, set, summary).as_bytes())
    }));
    let filled = |table: &&&dyn AnyTable| table.has_csv() && is_written(**table, set);
    let rows = |table: &dyn AnyTable| -> usize { set.runs.iter().map(|r| table.len(r)).sum() };
    let (short, long): (Vec<&dyn AnyTable>, Vec<&dyn AnyTable>) =
        tables::ALL.iter().filter(filled).partition(|table| rows(**table) <= csv_rows);
    let csv_name = |table: &dyn AnyTable| format!("{}.csv", table.name());
    for table in short {
        files.push(planned(&csv_name(table), false, move |out| table.csv(runs, out)));
    }
    write_all(folder, name, id, set, files, true)?;
    Ok(long.into_iter().map(|table| (csv_name(table), rows(table))).collect())
}

/// Writes only the files that are read back, and does not force them to the disk.
pub(super) fn write_data(folder: &Path, id: &str, set: &RunSet) -> Result<(), OutputError> {
    write_all(folder, folder, id, set, read_back(set), false)
}

/// Writes only the scenario and the summary, and does not force them to the disk.
pub(super) fn write_summary(folder: &Path, content: Content<'_>) -> Result<(), OutputError> {
    let Content { id, set, summary } = content;
    let texts = [
        ("scenario.toml", set.scenario.clone()),
        ("summary.json", summary_json::text(id, set, summary)),
    ];
    texts.into_iter().try_for_each(|(name, text)| {
        let path = folder.join(name);
        fs::write(&path, text).map_err(at(&path))
    })
}

/// The scenario, and the tables as Parquet. They are read back.
fn read_back(set: &RunSet) -> Vec<Planned<'_>> {
    let table = |table: &&'static dyn AnyTable| {
        let table = *table;
        let fill = move |out: &mut (dyn Write + Send)| table.parquet(&set.in_order(), out);
        planned(&format!("{}.parquet", table.name()), true, fill)
    };
    let mut files: Vec<Planned<'_>> =
        tables::ALL.iter().filter(|table| is_written(**table, set)).map(table).collect();
    let scenario = |out: &mut (dyn Write + Send)| out.write_all(set.scenario.as_bytes());
    files.push(planned("scenario.toml", true, scenario));
    files
}

/// Whether a table is written: flows, samples and ports always, the others if they have rows.
fn is_written(table: &dyn AnyTable, set: &RunSet) -> bool {
    ["flows", "samples", "ports"].contains(&table.name())
        || set.runs.iter().any(|run| table.len(run) > 0)
}

fn planned<'a>(
    name: &str,
    noted: bool,
    fill: impl Fn(&mut (dyn Write + Send)) -> io::Result<()> + Sync + 'a,
) -> Planned<'a> {
    Planned { name: name.into(), noted, fill: Box::new(fill) }
}

fn write_all(
    folder: &Path,
    name: &Path,
    id: &str,
    set: &RunSet,
    files: Vec<Planned<'_>>,
    lasting: bool,
) -> Result<(), OutputError> {
    let made = parallel::map(&files, |file| {
        put(&folder.join(&file.name), &*file.fill, lasting).map_err(at(&name.join(&file.name)))
    });
    let mut notes = BTreeMap::new();
    for (file, note) in files.iter().zip(made) {
        let note = note?;
        if file.noted {
            notes.insert(file.name.clone(), note);
        }
    }
    let text = Index::of(id, set, notes).text();
    let path = folder.join(index::FILE);
    put(&path, &|out| out.write_all(text.as_bytes()), lasting)
        .map_err(at(&name.join(index::FILE)))?;
    Ok(())
}

/// Writes one file. With `lasting`, the file is on the disk when this function returns.
fn put(path: &Path, fill: &Fill<'_>, lasting: bool) -> io::Result<Note> {
    let file = fs::File::create(path)?;
    let mut out = Tallied {
        to: BufWriter::with_capacity(1 << 16, file),
        bytes: 0,
        hash: XxHash64::with_seed(0),
    };
    fill(&mut out)?;
    let file = out.to.into_inner().map_err(io::IntoInnerError::into_error)?;
    if lasting {
        file.sync_all()?;
    }
    Ok(Note { bytes: out.bytes, xxh64: format!("{:016x}", out.hash.finish()) })
}

/// A writer that counts and hashes the bytes that it passes on.
struct Tallied<W> {
    to: W,
    bytes: u64,
    hash: XxHash64,
}

impl<W: Write> Write for Tallied<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let n = self.to.write(buffer)?;
        self.hash.write(&buffer[..n]);
        self.bytes += n as u64;
        Ok(n)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
