//! Captures and logs of flows that scenarios name. They are read here, so that lower layers see only flows.

use super::logs;
use slotline_formats::pcap::{AddressMap, Capture, CapturedFlow, Extract, Options};
use slotline_net::time::Time;
use slotline_net::workload::csv::{HEADER, write};
use slotline_net::workload::rows::Entry;
use slotline_net::workload::trace::{Trace, TraceFormat};
use slotline_net::workload::{EachLine, WorkloadSpec};
use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The captures and logs of a scenario.
pub struct Captures<'a> {
    traces: Vec<(&'a Trace, TraceFormat)>,
    folder: PathBuf,
    notes: RefCell<Vec<String>>,
}

impl<'a> Captures<'a> {
    /// The captures and logs that `workloads` name, as files below `folder`.
    pub fn new(workloads: &'a [WorkloadSpec], folder: &Path) -> Captures<'a> {
        let capture = |workload: &'a WorkloadSpec| match workload {
            WorkloadSpec::Trace(trace) => {
                let format = trace.written_in().ok()?;
                let is_converted = format == TraceFormat::Pcap || format.is_log();
                is_converted.then_some((trace, format))
            }
            _ => None,
        };
        let traces = workloads.iter().filter_map(capture).collect();
        Captures { traces, folder: folder.into(), notes: RefCell::default() }
    }

    /// Calls `each` with every line of a trace in CSV that has the flows of the file with the name `source`; `None` if
    /// it is neither a capture nor a log.
    pub fn lines(&self, source: &str, each: &mut EachLine<'_>) -> Option<Result<(), String>> {
        let (trace, format) = self.traces.iter().find(|(trace, _)| trace.source() == source)?;
        let mut number = 0;
        let mut line = |line: &[u8]| {
            number += 1;
            each(number, line.strip_suffix(b"\n").unwrap_or(line))
        };
        let read = match format {
            TraceFormat::Pcap => self.capture(trace, &mut line),
            _ => self.log(trace, *format, &mut line),
        };
        Some(read.map(|notes| {
            let notes = notes.into_iter().map(|note| format!("{}: {note}", trace.file));
            self.notes.borrow_mut().extend(notes);
        }))
    }

    fn capture(&self, trace: &Trace, each: &mut dyn FnMut(&[u8]) -> Result<(), String>) -> Notes {
        let addresses = trace.addresses.as_ref().map(|file| self.folder.join(file));
        let extract =
            extract(&self.folder.join(&trace.file), trace.idle_gap, addresses.as_deref())?;
        each_in_csv(&extract, each)?;
        Ok(extract.notes())
    }

    fn log(
        &self,
        trace: &Trace,
        format: TraceFormat,
        each: &mut dyn FnMut(&[u8]) -> Result<(), String>,
    ) -> Notes {
        let log = logs::Log::of(trace, format, &self.folder)?;
        each(HEADER.as_bytes())?;
        let mut line = Vec::new();
        log.each(&mut |entry| {
            line.clear();
            write(entry, false, &mut line);
            each(&line)
        })
    }

    /// Assumptions about the files that were read, which the user should know.
    pub fn notes(&self) -> Vec<String> {
        self.notes.borrow().clone()
    }
}

/// Assumptions about a file, or why it cannot be read.
type Notes = Result<Vec<String>, String>;

/// The file of addresses at `path`.
pub(super) fn address_map(path: &Path) -> Result<AddressMap, String> {
    let wrong = |why: String| format!("{}: {why}", path.display());
    let text = crate::read_text(path).map_err(|e| wrong(e.to_string()))?;
    AddressMap::parse(&text).map_err(|e| wrong(e.to_string()))
}

/// Calls `each` with pieces of the file at `path`.
pub(super) fn in_pieces(
    path: &Path,
    mut each: impl FnMut(&[u8]) -> Result<(), String>,
) -> Result<(), String> {
    let wrong = |e: std::io::Error| format!("{}: {e}", path.display());
    let mut file = File::open(path).map_err(wrong)?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        let length = file.read(&mut buffer).map_err(wrong)?;
        if length == 0 {
            return Ok(());
        }
        each(&buffer[..length])?;
    }
}

/// Reads the capture at `path`.
pub fn extract(
    path: &Path,
    idle_gap: Option<Time>,
    addresses: Option<&Path>,
) -> Result<Extract, String> {
    let addresses = addresses.map(address_map).transpose()?;
    let idle_gap_ps = idle_gap.map(Time::as_ps);
    let mut capture = Capture::new(Options { idle_gap_ps, addresses });
    let in_record = |e: slotline_formats::FormatError| {
        format!("{}: packet or block {}: {}", path.display(), e.line, e.message)
    };
    in_pieces(path, |piece| capture.push(piece).map_err(in_record))?;
    capture.finish().map_err(in_record)
}

/// The flows of a capture as the lines of a trace, one at a time.
pub fn each_in_csv<E>(
    extract: &Extract,
    mut each: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    each(format!("{HEADER}\n").as_bytes())?;
    let mut line = Vec::new();
    for CapturedFlow { src, dst, bytes, start_ps, .. } in &extract.flows {
        let start = Time::ps(*start_ps);
        let entry = Entry { src: *src, dst: *dst, bytes: *bytes, start, class: None };
        line.clear();
        write(&entry, false, &mut line);
        each(&line)?;
    }
    Ok(())
}
