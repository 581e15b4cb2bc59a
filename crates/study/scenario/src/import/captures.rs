//! Captures that scenarios name. They are read here, so that lower layers see only flows.

use slotline_formats::pcap::{AddressMap, Capture, CapturedFlow, Extract, Options};
use slotline_net::time::Time;
use slotline_net::workload::WorkloadSpec;
use slotline_net::workload::csv::{HEADER, write};
use slotline_net::workload::rows::Entry;
use slotline_net::workload::trace::{Trace, TraceFormat};
use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The captures of a scenario.
pub struct Captures<'a> {
    traces: Vec<&'a Trace>,
    folder: PathBuf,
    notes: RefCell<Vec<String>>,
}

impl<'a> Captures<'a> {
    /// The captures that `workloads` name, as files below `folder`.
    pub fn new(workloads: &'a [WorkloadSpec], folder: &Path) -> Captures<'a> {
        let capture = |workload: &'a WorkloadSpec| match workload {
            WorkloadSpec::Trace(trace) if trace.written_in() == Ok(TraceFormat::Pcap) => {
                Some(trace)
            }
            _ => None,
        };
        let traces = workloads.iter().filter_map(capture).collect();
        Captures { traces, folder: folder.into(), notes: RefCell::default() }
    }

    /// The flows of the capture with the name `source`, as a trace in CSV; `None` if it is not a capture.
    pub fn flows(&self, source: &str) -> Option<Result<String, String>> {
        let trace = self.traces.iter().find(|trace| trace.source() == source)?;
        let addresses = trace.addresses.as_ref().map(|file| self.folder.join(file));
        let extract = extract(&self.folder.join(&trace.file), trace.idle_gap, addresses.as_deref());
        Some(extract.map(|extract| {
            let notes = extract.notes().into_iter().map(|note| format!("{}: {note}", trace.file));
            self.notes.borrow_mut().extend(notes);
            in_csv(&extract)
        }))
    }

    /// Assumptions about the captures that were read, which the user should know.
    pub fn notes(&self) -> Vec<String> {
        self.notes.borrow().clone()
    }
}

/// Reads the capture at `path`.
pub fn extract(
    path: &Path,
    idle_gap: Option<Time>,
    addresses: Option<&Path>,
) -> Result<Extract, String> {
    let wrong = |path: &Path, why: String| format!("{}: {why}", path.display());
    let map = |path: &Path| -> Result<AddressMap, String> {
        let text = crate::read_text(path).map_err(|e| wrong(path, e.to_string()))?;
        AddressMap::parse(&text).map_err(|e| wrong(path, e.to_string()))
    };
    let addresses = addresses.map(map).transpose()?;
    let idle_gap_ps = idle_gap.map(Time::as_ps);
    let mut capture = Capture::new(Options { idle_gap_ps, addresses });
    let mut file = File::open(path).map_err(|e| wrong(path, e.to_string()))?;
    let in_record = |e: slotline_formats::FormatError| {
        wrong(path, format!("packet or block {}: {}", e.line, e.message))
    };
    let mut buffer = vec![0; 1 << 20];
    loop {
        let length = file.read(&mut buffer).map_err(|e| wrong(path, e.to_string()))?;
        if length == 0 {
            break;
        }
        capture.push(&buffer[..length]).map_err(in_record)?;
    }
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

/// The whole trace, as [`each_in_csv`] writes it.
fn in_csv(extract: &Extract) -> String {
    let mut out = String::new();
    let add = |line: &[u8]| -> Result<(), std::convert::Infallible> {
        out.push_str(&String::from_utf8_lossy(line));
        Ok(())
    };
    match each_in_csv(extract, add) {
        Ok(()) => out,
    }
}
