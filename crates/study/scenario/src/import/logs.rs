//! Imports logs of flows: tables with a header, Zeek's `conn.log`, and exports of NetFlow and IPFIX.

use super::captures::{address_map, in_pieces};
use super::job::{Job, Summary, header, quoted};
use super::{Imported, Importer, Options, Reader};
use slotline_formats::FormatError;
use slotline_formats::flow_log::{Columns, Ends, FlowLog, LogKind, LogReader, LoggedFlow};
use slotline_net::time::Time;
use slotline_net::workload::csv::write;
use slotline_net::workload::log_columns::LogColumns;
use slotline_net::workload::rows::Entry;
use slotline_net::workload::trace::{Trace, TraceFormat};
use std::path::{Path, PathBuf};

pub(super) const TABLE: Importer = Importer {
    name: "flow-log",
    about: "log of flows: a table with addresses and times since 1970",
    options: &["--addresses", "--epoch", "--column", "--packet-headers"],
    read: Reader::File(|job| import(job, TraceFormat::FlowLog)),
};
pub(super) const ZEEK: Importer = Importer {
    name: "zeek",
    about: "Zeek's conn.log, as lines with fields or in JSON",
    options: &["--addresses", "--epoch"],
    read: Reader::File(|job| import(job, TraceFormat::Zeek)),
};
pub(super) const NETFLOW: Importer = Importer {
    name: "netflow",
    about: "messages of NetFlow 5, NetFlow 9 or IPFIX, also in a capture of packets",
    options: &["--addresses", "--epoch", "--packet-headers"],
    read: Reader::File(|job| import(job, TraceFormat::NetFlow)),
};

/// A log that can be read several times.
pub(super) struct Log {
    path: PathBuf,
    kind: LogKind,
    ends: Ends,
}

/// Times of a trace are shorter.
const LONGEST: i128 = Time::s(10_000_000).as_ps() as i128;

impl Log {
    /// The log that `trace` names, below `folder`.
    pub fn of(trace: &Trace, format: TraceFormat, folder: &Path) -> Result<Log, String> {
        let kind = match format {
            TraceFormat::Zeek => LogKind::Zeek,
            TraceFormat::NetFlow => LogKind::NetFlow,
            _ => {
                LogKind::Table(Columns::new(trace.columns.as_deref().cloned().unwrap_or_default()))
            }
        };
        let addresses = trace.addresses.as_ref().map(|file| address_map(&folder.join(file)));
        let ends = Ends {
            addresses: addresses.transpose()?,
            headers: trace.packet_headers.map_or(0, |headers| headers.0),
            epoch_ps: trace.epoch.map(|epoch| epoch.as_ps()),
        };
        Ok(Log { path: folder.join(&trace.file), kind, ends })
    }

    /// Calls `each` for every flow. Returns notes about the log. Without an epoch the log is read twice, because the
    /// first flow need not come first.
    pub fn each(
        &self,
        each: &mut dyn FnMut(&Entry) -> Result<(), String>,
    ) -> Result<Vec<String>, String> {
        let mut ends = self.ends.clone();
        let mut notes = None;
        if ends.epoch_ps.is_none() {
            let (log, found) = self.pass(ends.clone(), &mut |_| Ok(()))?;
            ends.epoch_ps = Some(log.epoch_ps());
            notes = Some(found);
        }
        let (epoch, mut flows) = (ends.epoch_ps.unwrap_or(0), 0u64);
        let (_, found) = self.pass(ends, &mut |flow| {
            flows += 1;
            each(&entry(&flow, epoch)?)
        })?;
        let notes = notes.unwrap_or(found);
        if flows == 0 && !notes.is_empty() {
            return Err(format!("{}: it has no flows: {}", self.path.display(), notes.join("; ")));
        }
        Ok(notes)
    }

    fn pass(
        &self,
        ends: Ends,
        each: &mut dyn FnMut(LoggedFlow) -> Result<(), String>,
    ) -> Result<(FlowLog, Vec<String>), String> {
        let mut log = FlowLog::new(ends);
        let mut reader = LogReader::new(&self.kind);
        let mut records =
            |record: &_| log.flows(record)?.into_iter().flatten().try_for_each(&mut *each);
        let wrong = |e: FormatError| {
            format!("{}: {} {}: {}", self.path.display(), self.kind.counted(), e.line, e.message)
        };
        in_pieces(&self.path, |piece| reader.push(piece, &mut records).map_err(wrong))?;
        let unread = reader.finish(&mut records).map_err(wrong)?;
        let mut notes = log.notes(&unread);
        if self.kind == LogKind::NetFlow && self.ends.headers == 0 {
            notes
                .push("sizes include the headers from IP on: packet-headers subtracts them".into());
        }
        Ok((log, notes))
    }
}

fn entry(flow: &LoggedFlow, epoch: i128) -> Result<Entry, String> {
    let LoggedFlow { src, dst, bytes, start_ps } = *flow;
    let after = start_ps - epoch;
    let start = u64::try_from(after).ok().filter(|_| after < LONGEST).map(Time::ps);
    let start = start.ok_or_else(|| {
        format!(
            "a flow begins {} s after time zero: expected less than 10000000 s",
            after / 1_000_000_000_000
        )
    })?;
    Ok(Entry { src, dst, bytes, start, class: None })
}

/// The names of columns from pairs of a key and a name; none from no pairs.
///
/// # Errors
/// A key is unknown or given twice.
pub fn log_columns(pairs: &[(String, String)]) -> Result<Option<LogColumns>, String> {
    if pairs.is_empty() {
        return Ok(None);
    }
    let mut table = toml::Table::new();
    for (key, name) in pairs {
        if table.insert(key.clone(), name.clone().into()).is_some() {
            return Err(format!("--column {key}={name}: `{key}` is given twice"));
        }
    }
    table.try_into().map(Some).map_err(|error| format!("--column: {}", error.to_string().trim()))
}

fn import(job: &Job<'_>, format: TraceFormat) -> Result<Imported, String> {
    let Options { addresses, epoch, columns, packet_headers, .. } = job.options;
    let trace = Trace {
        file: job.file.to_string_lossy().into_owned(),
        format: Some(format),
        addresses: addresses.as_ref().map(|path| path.to_string_lossy().into_owned()),
        epoch: *epoch,
        columns: columns.clone().map(Box::new),
        packet_headers: *packet_headers,
        ..Trace::default()
    };
    let (mut seen, mut buffer) = (Summary::default(), Vec::new());
    let mut out = job.beside("csv")?;
    if let Some(out) = &mut out {
        out.write(header(false).as_bytes())?;
    }
    let notes = Log::of(&trace, format, Path::new(""))?.each(&mut |entry| {
        seen.add(entry);
        let Some(out) = &mut out else { return Ok(()) };
        buffer.clear();
        write(entry, false, &mut buffer);
        out.write(&buffer)
    })?;
    let written = job.written(out, seen.flows)?;
    let keys = if written.is_some() { vec![] } else { keys(job, &trace, format) };
    let fragment = job.fragment(&seen.in_words(), written.as_ref(), &keys);
    let notes = notes.iter().map(|note| job.wrong(note)).collect();
    Ok(Imported { fragment, notes, written: written.into_iter().collect() })
}

/// The keys with which a scenario reads the log itself.
fn keys(job: &Job<'_>, trace: &Trace, format: TraceFormat) -> Vec<(&'static str, String)> {
    let mut keys = job.format_unless(&None, format.name());
    keys.extend(trace.addresses.as_ref().map(|file| ("addresses", quoted(file))));
    keys.extend(trace.epoch.map(|epoch| ("epoch", quoted(&epoch.to_string()))));
    keys.extend(trace.packet_headers.map(|bytes| ("packet-headers", quoted(&bytes.to_string()))));
    keys.extend(trace.columns.as_ref().map(|columns| {
        let unit = columns.start_unit.map(|unit| ("start-unit", unit.name()));
        let names = columns.named().chain(unit);
        let names: Vec<String> =
            names.map(|(key, name)| format!("{key} = {}", quoted(name))).collect();
        ("columns", format!("{{ {} }}", names.join(", ")))
    }));
    keys
}
