//! Large files are read line by line, and written completely or not at all.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// The byte order mark in UTF-8, with which some programs begin a text.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The longest line in bytes. No format that is read here has longer lines.
const LONGEST: u64 = 1 << 16;

/// Calls `each` for every line of the file at `path`, with its number from 1 and without its line break. Errors name
/// the file and the line.
pub fn each(
    path: &Path,
    each: impl FnMut(usize, &[u8]) -> Result<(), String>,
) -> Result<usize, String> {
    let file = File::open(path).map_err(|e| e.to_string());
    let read = file.and_then(|file| each_numbered(file, each));
    read.map_err(|why| format!("{}: {why}", path.display()))
}

/// As [`each`], for content that is read from `source`. Errors name only the line.
pub fn each_numbered(
    source: impl Read,
    mut each: impl FnMut(usize, &[u8]) -> Result<(), String>,
) -> Result<usize, String> {
    let mut reader = BufReader::with_capacity(1 << 20, source);
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        let length = reader.by_ref().take(LONGEST).read_until(b'\n', &mut line);
        if length.map_err(|e| e.to_string())? == 0 {
            return Ok(number);
        }
        number += 1;
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        if text.len() as u64 == LONGEST {
            return Err(format!("line {number}: longer than {LONGEST} bytes"));
        }
        let text = if number == 1 { text.strip_prefix(MARK).unwrap_or(text) } else { text };
        each(number, text).map_err(|why| format!("line {number}: {why}"))?;
    }
}

/// A file being written. It has its name only once it is complete.
pub struct Whole {
    path: PathBuf,
    part: PathBuf,
    out: BufWriter<File>,
}

impl Whole {
    /// Begins the file at `path`. An existing file is replaced only with `force`.
    pub fn create(path: &Path, force: bool) -> Result<Whole, String> {
        if path.exists() && !force {
            return Err(format!("{} exists already: --force replaces it", path.display()));
        }
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = File::create(&part).map_err(|e| format!("{}: {e}", part.display()))?;
        Ok(Whole { path: path.into(), part, out: BufWriter::with_capacity(1 << 20, file) })
    }

    /// Adds `bytes`.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.out.write_all(bytes).map_err(|e| format!("{}: {e}", self.part.display()))
    }

    /// Gives the complete file its name, and returns its path.
    pub fn done(mut self) -> Result<PathBuf, String> {
        let finish = self.out.flush().and_then(|()| std::fs::rename(&self.part, &self.path));
        finish.map_err(|e| format!("{}: {e}", self.path.display()))?;
        Ok(self.path.clone())
    }
}

impl Drop for Whole {
    /// Removes the file if it is not complete.
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.part));
    }
}
