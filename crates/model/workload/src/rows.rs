//! Traces that have one flow per line, read line by line: a file need not be in memory as a whole.

use super::text::LineError;
use super::{csv, decimal, hpcc};
use slotline_base::time::Time;
use std::collections::BTreeSet;

/// One flow of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Index of the sending host.
    pub src: u32,
    /// Index of the receiving host.
    pub dst: u32,
    /// Size, at least 1.
    pub bytes: u64,
    /// When it starts, from the start of the trace.
    pub start: Time,
    /// Its priority class, where the trace gives one.
    pub class: Option<u8>,
}

/// The formats that have one flow per line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowFormat {
    /// `src,dst,bytes,start_s[,class]`.
    Csv,
    /// The flow file of the HPCC simulator.
    HpccFlows,
    /// The completion times that the HPCC simulator writes.
    HpccFct,
}

/// Reads a trace, one line after another.
#[derive(Clone, Debug)]
pub struct Rows {
    format: RowFormat,
    /// Whether priorities in the file become classes.
    priorities: bool,
    /// CSV: whether there is a class in each line, once the header was read.
    classed: Option<bool>,
    /// HPCC: flows announced, once known.
    announced: Option<u64>,
    /// HPCC: lines after those announced.
    beyond: u64,
    addresses: Option<hpcc::Addresses>,
    /// Priority groups found and not distinguished.
    groups: BTreeSet<u8>,
    found: u64,
}

impl Rows {
    /// A reader that has read nothing. With `priorities`, an HPCC flow file's priority group becomes the class.
    pub fn new(format: RowFormat, priorities: bool) -> Rows {
        Rows {
            format,
            priorities,
            classed: None,
            announced: None,
            beyond: 0,
            addresses: None,
            groups: BTreeSet::new(),
            found: 0,
        }
    }

    /// Reads the next line, without its line break. Headers and empty lines give no flow.
    pub fn line(&mut self, line: &[u8]) -> Result<Option<Entry>, String> {
        let line = line.trim_ascii();
        let entry = match (self.format, self.classed) {
            (RowFormat::Csv, None) => {
                self.classed = Some(csv::classed(line)?);
                None
            }
            _ if line.is_empty() => None,
            (RowFormat::Csv, Some(classed)) => Some(csv::row(line, classed)?),
            (RowFormat::HpccFlows, _) => self.hpcc_flow(line)?,
            (RowFormat::HpccFct, _) => Some(hpcc::fct(line, &mut self.addresses)?),
        };
        self.found += u64::from(entry.is_some());
        Ok(entry)
    }

    fn hpcc_flow(&mut self, line: &[u8]) -> Result<Option<Entry>, String> {
        match self.announced {
            None => self.announced = Some(hpcc::announced(line)?),
            // The simulator reads as many lines as announced. Its own example has further lines.
            Some(announced) if self.found == announced => self.beyond += 1,
            Some(_) => {
                let (mut entry, group) = hpcc::flow(line)?;
                if self.priorities {
                    // HPCC serves group 0 first. Here class 7 is served first.
                    entry.class = Some(7 - group);
                } else {
                    self.groups.insert(group);
                }
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// Checks at the end of the file that nothing is missing.
    pub fn end(&self) -> Result<(), String> {
        match (self.format, self.classed, self.announced) {
            (RowFormat::Csv, None, _) => csv::classed(b"").map(drop),
            (RowFormat::HpccFlows, _, None) => hpcc::announced(b"").map(drop),
            (_, _, Some(announced)) if announced != self.found => Err(format!(
                "{announced} flows announced, {} found: the file is truncated or edited",
                self.found
            )),
            _ => Ok(()),
        }
    }

    /// The number of flows so far.
    pub fn found(&self) -> u64 {
        self.found
    }

    /// Whether lines have classes.
    pub fn classed(&self) -> bool {
        self.classed == Some(true) || (self.priorities && self.format == RowFormat::HpccFlows)
    }

    /// Notes for the user on what was assumed.
    pub fn notes(&self) -> Vec<String> {
        let groups = (self.groups.len() > 1).then(|| {
            let groups: Vec<String> = self.groups.iter().map(u8::to_string).collect();
            format!(
                "priority groups {} are not distinguished: priorities = true turns them into classes",
                groups.join(", ")
            )
        });
        let beyond = (self.beyond > 0).then(|| {
            format!(
                "{} flows announced: {} further lines are ignored, as by the HPCC simulator",
                self.found, self.beyond
            )
        });
        let addresses = self.addresses.map(|form| form.in_words().to_string());
        groups.into_iter().chain(beyond).chain(addresses).collect()
    }
}

/// All flows of `text`, and the notes on what was assumed.
pub fn read(
    format: RowFormat,
    priorities: bool,
    text: &[u8],
) -> Result<(Vec<Entry>, Vec<String>), LineError> {
    let mut rows = Rows::new(format, priorities);
    let mut entries = Vec::new();
    let mut last = 1;
    for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let wrong = |message| LineError { line: at + 1, message };
        if let Some(entry) = rows.line(line).map_err(wrong)? {
            entries.push(entry);
            last = at + 1;
        }
    }
    rows.end().map_err(|message| LineError { line: last, message })?;
    Ok((entries, rows.notes()))
}

/// A flow, unless there is nothing to send.
pub(super) fn entry(src: u32, dst: u32, bytes: u64, start: Time) -> Result<Entry, String> {
    if src == dst || bytes == 0 {
        return Err(format!("{bytes} bytes from host {src} to host {dst}: nothing to send"));
    }
    Ok(Entry { src, dst, bytes, start, class: None })
}

/// Reads a whole number that fits. `what` is its name in the error.
pub(super) fn field<T: TryFrom<u64>>(what: &str, text: &[u8]) -> Result<T, String> {
    let number = decimal::whole(text).and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| format!("{what} `{}`: expected a whole number", shown(text)))
}

/// The words of a line if there are exactly `N`, or else their number.
pub(super) fn words<const N: usize>(line: &[u8]) -> Result<[&[u8]; N], usize> {
    let mut words = [&b""[..]; N];
    let mut count = 0;
    for word in line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
        if let Some(place) = words.get_mut(count) {
            *place = word;
        }
        count += 1;
    }
    if count == N { Ok(words) } else { Err(count) }
}

/// `text` as an error shows it.
pub(super) fn shown(text: &[u8]) -> String {
    const MOST: usize = 40;
    let start = String::from_utf8_lossy(&text[..text.len().min(MOST)]);
    let more = if text.len() > MOST { "…" } else { "" };
    format!("{start}{more}")
}
