//! The files that a scenario names. Short ones are held in memory; long ones are read line by line when they are needed.

use crate::content_name;
use crate::fingerprint::ContentHash;
use crate::import::captures::Captures;
use crate::import::lines;
use crate::load::read;
use slotline_net::workload::{EachLine, Files};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The largest file of lines that is held in memory, in bytes.
const SHORT: u64 = 4 << 20;

/// A file that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Input {
    /// Its text, unless it was read line by line.
    in_memory: Option<String>,
    /// The number of its bytes.
    pub bytes: u64,
    /// The name of its content.
    pub content: String,
}

impl Input {
    fn of(text: String) -> Input {
        let (bytes, content) = (text.len() as u64, content_name(text.as_bytes()));
        Input { in_memory: Some(text), bytes, content }
    }

    /// The text of the file.
    pub fn text(&self, name: &str) -> Result<String, String> {
        self.in_memory.clone().ok_or_else(|| format!("`{name}` was read line by line"))
    }

    /// Calls `each` for each line of the file. A file that is not in memory is read again from `folder`.
    pub fn lines(
        &self,
        name: &str,
        folder: &Path,
        captures: &Captures<'_>,
        each: &mut EachLine<'_>,
    ) -> Result<(), String> {
        if let Some(text) = &self.in_memory {
            return (|_: &str| Ok(text.clone())).lines(name, each);
        }
        let now = match converted(captures, name, each) {
            Some(input) => input?,
            None => by_line(&folder.join(name), each)?,
        };
        if now == *self { Ok(()) } else { Err("the file has changed since it was checked".into()) }
    }
}

/// Reads the file at `path` line by line.
fn by_line(path: &Path, each: &mut EachLine<'_>) -> Result<Input, String> {
    let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut hashed = Hashed { file, hash: ContentHash::default(), bytes: 0 };
    lines::each_numbered(&mut hashed, each)?;
    Ok(Input { in_memory: None, bytes: hashed.bytes, content: hashed.hash.name() })
}

/// A file that is hashed as it is read.
struct Hashed {
    file: File,
    hash: ContentHash,
    bytes: u64,
}

impl Read for Hashed {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.file.read(buffer)?;
        self.hash.add(&buffer[..length]);
        self.bytes += length as u64;
        Ok(length)
    }
}

/// Reads the flows of a capture or of a log. A short list of them is held in memory.
fn converted(
    captures: &Captures<'_>,
    name: &str,
    each: &mut EachLine<'_>,
) -> Option<Result<Input, String>> {
    let (mut hash, mut bytes, mut text) = (ContentHash::default(), 0, Some(String::new()));
    let read = captures.lines(name, &mut |number, line| {
        hash.add(line);
        hash.add(b"\n");
        bytes += line.len() as u64 + 1;
        text = text
            .take()
            .filter(|_| bytes <= SHORT)
            .map(|text| text + &String::from_utf8_lossy(line) + "\n");
        each(number, line)
    })?;
    Some(read.map(|()| Input { in_memory: text, bytes, content: hash.name() }))
}

/// The text of a short file of lines. Invalid text is no error here: the reader of the lines reports it with the line
/// number.
fn read_lossy(path: &Path) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads the files of a scenario for the first time.
pub(crate) struct Reader<'a> {
    /// The folder of the files.
    pub folder: &'a Path,
    /// Captures and logs, of which the flows are read.
    pub captures: &'a Captures<'a>,
    /// The files that were read.
    pub inputs: RefCell<BTreeMap<String, Input>>,
}

impl Reader<'_> {
    fn note(&self, name: &str, input: Input) {
        self.inputs.borrow_mut().insert(name.into(), input);
    }
}

impl Files for Reader<'_> {
    fn text(&self, name: &str) -> Result<String, String> {
        let text = read(&self.folder.join(name))?;
        self.note(name, Input::of(text.clone()));
        Ok(text)
    }

    fn lines(&self, name: &str, each: &mut EachLine<'_>) -> Result<(), String> {
        if let Some(input) = converted(self.captures, name, each) {
            self.note(name, input?);
            return Ok(());
        }
        let path = self.folder.join(name);
        if std::fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() <= SHORT) {
            let text = read_lossy(&path)?;
            self.note(name, Input::of(text.clone()));
            return (|_: &str| Ok(text.clone())).lines(name, each);
        }
        let input = by_line(&path, each)?;
        self.note(name, input);
        Ok(())
    }
}
