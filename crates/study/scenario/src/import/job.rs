//! Common code of the importers of traffic.

use super::Options;
use super::lines::Whole;
use slotline_net::time::Time;
use slotline_net::workload::csv::HEADER;
use slotline_net::workload::rows::Entry;
use slotline_net::workload::trace::TraceFormat;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The file to import.
pub(super) struct Job<'a> {
    /// The name of the importer.
    pub name: &'static str,
    pub file: &'a Path,
    pub options: &'a Options,
}

/// A summary of the flows of a file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Summary {
    pub flows: u64,
    hosts: u32,
    bytes: u128,
    last: Time,
}

impl Summary {
    pub(super) fn add(&mut self, entry: &Entry) {
        self.flows += 1;
        self.hosts = self.hosts.max(entry.src.saturating_add(1)).max(entry.dst.saturating_add(1));
        self.bytes += u128::from(entry.bytes);
        self.last = self.last.max(entry.start);
    }

    pub(super) fn in_words(&self) -> String {
        let Summary { flows, hosts, bytes, last } = self;
        format!("{flows} flows, {bytes} bytes, the last starts at {last}; needs {hosts} hosts")
    }
}

impl Job<'_> {
    pub(super) fn wrong(&self, why: impl std::fmt::Display) -> String {
        format!("{}: {why}", self.file.display())
    }

    pub(super) fn text(&self) -> Result<String, String> {
        crate::read_text(self.file).map_err(|e| self.wrong(e))
    }

    /// A file with the name of [`Options::out`] and another `ending`.
    pub(super) fn beside(&self, ending: &str) -> Result<Option<Whole>, String> {
        let Some(out) = &self.options.out else { return Ok(None) };
        let path = out.with_extension(ending);
        if path == *out {
            return Err(format!(
                "{}: the traffic would be written to the same file; give the fragment a name that ends with .toml",
                out.display()
            ));
        }
        Whole::create(&path, self.options.force).map(Some)
    }

    /// The file name in the fragment: that of `written`, or else of the file that was read.
    pub(super) fn named(&self, written: Option<&PathBuf>) -> String {
        let name = written.and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
        name.unwrap_or(self.file.to_string_lossy()).into_owned()
    }

    /// The fragment for a trace, with further `keys`. It names `written`, or else the file that was read.
    pub(super) fn fragment(
        &self,
        about: &str,
        written: Option<&PathBuf>,
        keys: &[(&str, String)],
    ) -> String {
        let name = self.file.file_name().unwrap_or(self.file.as_os_str()).to_string_lossy();
        let mut out = format!(
            "# {name}, read as {}: {about}\n[[workload]]\nkind = \"trace\"\nfile = {}\n",
            self.name,
            quoted(&self.named(written))
        );
        for (key, value) in keys {
            let _ = writeln!(out, "{key} = {value}");
        }
        out
    }

    /// Completes the written file. It is an error if there are no flows.
    pub(super) fn written(
        &self,
        out: Option<Whole>,
        flows: u64,
    ) -> Result<Option<PathBuf>, String> {
        if flows == 0 {
            return Err(self.wrong("it has no flows"));
        }
        out.map(Whole::done).transpose()
    }

    /// The key `format`, if the fragment names the file that was read and its name does not show the format.
    pub(super) fn format_unless(
        &self,
        written: &Option<PathBuf>,
        format: &'static str,
    ) -> Vec<(&'static str, String)> {
        let named = TraceFormat::of(&self.file.to_string_lossy());
        let is_known = named.is_some_and(|named| named.name() == format);
        if is_known || written.is_some() { vec![] } else { vec![("format", quoted(format))] }
    }
}

pub(super) fn header(classed: bool) -> String {
    if classed { format!("{HEADER},class\n") } else { format!("{HEADER}\n") }
}

pub(super) fn filled(mut out: Whole, content: &[u8]) -> Result<PathBuf, String> {
    out.write(content)?;
    out.done()
}

/// `text` as a string in TOML.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.into()).to_string()
}
