//! Results on the disk and on the terminal. Other crates make the pages of a result: see [`PageFile`].

mod apps;
mod checkpoint;
mod counts;
pub mod differences;
pub mod faults;
pub mod format;
mod index;
pub mod listing;
pub mod lock;
pub mod merge;
pub mod read;
mod stopped;
mod summary_json;
pub mod tally;
pub mod terminal;
pub mod why;
mod written;

pub use checkpoint::Recovered;
pub(crate) use checkpoint::has_runs;
pub use written::{CSV_ROWS, PageFile, Written};

use crate::output::lock::holder;
use crate::record::{RunRecord, RunSet};
use crate::summary::Summary;
use slotline_scenario::content_name;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Why a result could not be written. The program ends with exit code 2 on each of these errors.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The folder exists already.
    #[error(
        "`{}` already holds a result: name another place with --out, or replace it with --force", .0.display()
    )]
    Exists(PathBuf),
    /// The folder exists, and holds no result of this scenario.
    #[error(
        "`{}` is not a result of this scenario and is not replaced: name another place with --out", .0.display()
    )]
    Foreign(PathBuf),
    /// A file cannot be written, for example because the disk is full.
    #[error("cannot write `{}`: {error}; no result was stored there", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The result could not be written, but some runs were stored.
    #[error("{error}. {} stored, and the same command continues with them", runs_are(*.runs))]
    Kept {
        /// Why the result could not be written.
        error: Box<OutputError>,
        /// The number of stored runs.
        runs: usize,
    },
}

fn runs_are(runs: usize) -> String {
    if runs == 1 { "1 run is".into() } else { format!("{runs} runs are") }
}

/// The number of digits of a short name. Two scenarios of one name and with equal digits are refused, not mixed up.
const DIGITS: usize = 8;

/// Short name of a result: the scenario's name and eight hexadecimal digits. The digits depend on the resolved scenario,
/// the files that it reads, and the program's version.
pub fn run_id(name: &str, scenario: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let slug: String = name.chars().map(letter).collect();
    let parts: Vec<&str> = slug.split('-').filter(|part| !part.is_empty()).collect();
    let content = format!("{}\n{scenario}", env!("CARGO_PKG_VERSION"));
    format!("{}-{}", parts.join("-"), &content_name(content.as_bytes())[..DIGITS])
}

/// Whether `folder` holds a result of the scenario and version that the short name `id` stands for.
pub fn is_of(folder: &Path, id: &str) -> bool {
    let digits = |id: &str| id.rsplit_once('-').map(|(_, digits)| digits.to_string());
    let text = fs::read_to_string(folder.join("scenario.toml"));
    text.is_ok_and(|text| digits(&run_id("", &text)) == digits(id))
}

/// The folder of the complete result in its draft.
const WHOLE: &str = "result";

/// A folder claimed for a result before the runs start. Files are written into a draft beside it, which gets the final
/// name at the end, so a folder with that name is complete. Until then the draft has the complete runs.
#[derive(Debug)]
pub struct Place {
    id: String,
    root: PathBuf,
    folder: PathBuf,
    draft: PathBuf,
    scenario: String,
    /// Whether stored runs stay in the draft for the next process.
    preserve: bool,
}

impl Place {
    /// Claims the folder of scenario `name` (resolved text `scenario`) below `root`. An existing folder is an error.
    /// With `force`, it is an error only if it belongs to another scenario.
    pub fn claim(
        root: &Path,
        name: &str,
        scenario: &str,
        force: bool,
    ) -> Result<Place, OutputError> {
        let id = run_id(name, scenario);
        let folder = root.join(&id);
        let draft = root.join(format!(".{id}.{}.partial", holder()));
        let (root, scenario) = (root.to_path_buf(), scenario.to_string());
        let place = Place { id, root, folder, draft, scenario, preserve: false };
        place.check_free(force)?;
        fs::create_dir_all(&place.draft).map_err(at(&place.draft))?;
        Ok(place)
    }
    fn check_free(&self, force: bool) -> Result<(), OutputError> {
        let there = fs::symlink_metadata(&self.folder).is_ok();
        let same = || fs::read_to_string(self.folder.join("scenario.toml")).ok();
        match (there, force) {
            (false, _) => Ok(()),
            (true, _) if same().as_ref() != Some(&self.scenario) => {
                Err(OutputError::Foreign(self.folder.clone()))
            }
            (true, false) => Err(OutputError::Exists(self.folder.clone())),
            (true, true) => Ok(()),
        }
    }
    /// The folder of the result.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
    /// Writes all files of `set`, whose summary is `summary`, and `pages`, and gives them their final name. Tables of
    /// more than [`CSV_ROWS`] rows are written as CSV only with `all_csv`.
    pub fn write(
        mut self,
        set: &RunSet,
        summary: &Summary,
        all_csv: bool,
        pages: &[PageFile],
    ) -> Result<Written, OutputError> {
        let rows = if all_csv { usize::MAX } else { CSV_ROWS };
        let written = self.fill(set, summary, rows, pages);
        match written {
            Ok(left_out) => Ok(Written { folder: self.folder.clone(), left_out }),
            Err(error) => Err(self.keep_rest(set, error)),
        }
    }
    /// Writes only the scenario and `summary`, and gives them their final name. Such a folder is no whole result, but
    /// a point of a sweep.
    pub fn write_summary(self, set: &RunSet, summary: &Summary) -> Result<(), OutputError> {
        let whole = self.draft.join(WHOLE);
        fs::create_dir(&whole).map_err(at(&whole))?;
        written::write_summary(&whole, written::Content { id: &self.id, set, summary })?;
        self.publish(&whole)
    }
    /// As [`Place::write`], for a result of the same scenario from another machine. `fill` writes its files into a folder.
    pub fn receive(
        self,
        fill: impl FnOnce(&Path) -> io::Result<()>,
    ) -> Result<PathBuf, OutputError> {
        let whole = self.draft.join(WHOLE);
        drop(fs::remove_dir_all(&whole));
        fs::create_dir(&whole).and_then(|()| fill(&whole)).map_err(at(&self.folder))?;
        self.publish(&whole)?;
        Ok(self.folder.clone())
    }
    /// The short name of the result.
    pub fn id(&self) -> &str {
        &self.id
    }
    /// Handles a failure to write the result. Its incomplete files are removed to make room for runs that are not
    /// stored yet.
    fn keep_rest(&mut self, set: &RunSet, error: OutputError) -> OutputError {
        drop(fs::remove_dir_all(self.draft.join(WHOLE)));
        if self.folder.exists() {
            return error;
        }
        self.preserve = true;
        let stored = |run: &&RunRecord| self.keep(&set.plan(), &mut (*run).clone()).is_ok();
        match set.runs.iter().filter(stored).count() {
            0 => error,
            runs => OutputError::Kept { error: Box::new(error), runs },
        }
    }
    fn fill(
        &self,
        set: &RunSet,
        summary: &Summary,
        csv_rows: usize,
        pages: &[PageFile],
    ) -> Result<Vec<(String, usize)>, OutputError> {
        let whole = self.draft.join(WHOLE);
        // A process with the same number may have left an incomplete result.
        drop(fs::remove_dir_all(&whole));
        fs::create_dir(&whole).map_err(at(&whole))?;
        let content = written::Content { id: &self.id, set, summary };
        let left_out = written::write(&whole, &self.folder, content, csv_rows, pages)?;
        self.publish(&whole)?;
        Ok(left_out)
    }
    /// Gives the result its final name. An old result is moved away first, so that a folder never holds parts of both.
    /// It is moved back if the new result cannot replace it.
    fn publish(&self, whole: &Path) -> Result<(), OutputError> {
        let old = self.draft.with_extension("replaced");
        let replaces = self.folder.exists();
        if replaces {
            fs::rename(&self.folder, &old).map_err(at(&self.folder))?;
        }
        if let Err(error) = fs::rename(whole, &self.folder) {
            if replaces {
                fs::rename(&old, &self.folder).map_err(at(&old))?;
            }
            return Err(at(&self.folder)(error));
        }
        if replaces { fs::remove_dir_all(&old).map_err(at(&old)) } else { Ok(()) }
    }
}

impl Drop for Place {
    /// Removes the draft, unless the next process needs its runs. A failure is ignored, because nothing depends on it.
    fn drop(&mut self) {
        if !(self.preserve && has_runs(&self.draft)) {
            drop(fs::remove_dir_all(&self.draft));
        }
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> OutputError {
    let path = path.to_path_buf();
    move |error| OutputError::Io { path, error }
}

/// The text of `summary.json` for a result that is not written.
pub fn summary_text(set: &RunSet, summary: &Summary) -> String {
    summary_json::text(&run_id(&set.name, &set.scenario), set, summary)
}

/// Claims a place below `root` and writes `set` and `pages` there.
pub fn write(
    set: &RunSet,
    root: &Path,
    force: bool,
    pages: &[PageFile],
) -> Result<PathBuf, OutputError> {
    let place = Place::claim(root, &set.name, &set.scenario, force)?;
    Ok(place.write(set, &Summary::of(set), true, pages)?.folder)
}

#[cfg(test)]
mod read_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::scratch;
