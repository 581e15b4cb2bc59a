//! The folder of results of a sweep: which points are done, and which drafts are abandoned.

use super::part::{Part, Sweep};
use super::summary_file::SummaryFile;
use crate::output::lock;
use crate::output::{OutputError, has_runs};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Whether `root` has a complete result of the scenario `resolved`, whose short name is `id`. A result of
/// another scenario under that name is an error.
pub fn is_done(root: &Path, id: &str, resolved: &str) -> Result<bool, OutputError> {
    let folder = root.join(id);
    match fs::read_to_string(folder.join("scenario.toml")) {
        Ok(text) if text == resolved => Ok(SummaryFile::read(&folder).is_ok_and(|s| s.complete)),
        Ok(_) => Err(OutputError::Foreign(folder)),
        Err(_) if fs::symlink_metadata(&folder).is_ok() => Err(OutputError::Foreign(folder)),
        Err(_) => Ok(false),
    }
}

/// Removes locks and drafts that killed processes of this machine left, except drafts that have complete runs of a point
/// that is not done.
pub fn clear_remains(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        if name.starts_with('.') && name.ends_with(".lock") {
            lock::clear_if_gone(&path);
        }
        let draft = name.strip_prefix('.').and_then(|name| name.strip_suffix(".partial"));
        let Some((id, holder)) = draft.and_then(|draft| draft.split_once('.')) else { continue };
        let is_needed = || has_runs(&path) && !root.join(id).exists();
        if lock::is_gone(holder) && !is_needed() {
            // A draft that cannot be removed does no harm.
            drop(fs::remove_dir_all(&path));
        }
    }
}

/// The folder of sweep `id` below `root`. It is created where it does not exist.
pub fn folder(root: &Path, id: &str) -> Result<PathBuf, OutputError> {
    let folder = root.join(id);
    fs::create_dir_all(&folder).map_err(|error| OutputError::Io { path: folder.clone(), error })?;
    Ok(folder)
}

/// Writes the state of a sweep as this process knows it.
pub fn write_part(root: &Path, part: &Part) -> Result<PathBuf, OutputError> {
    let folder = folder(root, &part.sweep)?;
    replace(&folder.join(part.file_name()), &part.text())?;
    Ok(folder)
}

/// Writes the tables of a sweep, and `pages`: names and contents of files that show it. Returns their folder.
pub fn write_sweep(
    root: &Path,
    sweep: &Sweep,
    pages: &[(&str, String)],
) -> Result<PathBuf, OutputError> {
    let folder = folder(root, &sweep.sweep)?;
    replace(&folder.join("sweep.csv"), &sweep.csv())?;
    for (name, text) in pages {
        replace(&folder.join(name), text)?;
    }
    replace(&folder.join("sweep.json"), &sweep.json())?;
    Ok(folder)
}

/// Replaces the file `path` by `text` in one step: readers see the old or the new content.
pub fn replace(path: &Path, text: &str) -> Result<(), OutputError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = path.with_file_name(format!(".{name}.{}", lock::holder()));
    let written = fs::File::create(&draft).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, path)
    });
    written.map_err(|error: io::Error| {
        drop(fs::remove_file(&draft));
        OutputError::Io { path: path.into(), error }
    })
}
