//! Tables of flows: lines with fields below a header, separated by commas, semicolons, tabs, bars or blanks.

use super::columns::{Columns, Places};
use super::{EachRecord, LogRecord, Sent, Unread};
use core::net::IpAddr;
use slotline_net::workload::moment::Moment;

/// Separators of fields. The first that occurs in the header is used; without any, fields are separated by blanks.
const SEPARATORS: [char; 4] = ['\t', ';', '|', ','];

/// Reads a table.
pub(super) struct Table {
    columns: Columns,
    header: Option<Header>,
    /// A table of another kind follows, which nfdump writes below its records.
    ended: bool,
    unread: Unread,
}

struct Header {
    separator: Option<char>,
    fields: usize,
    places: Places,
}

impl Table {
    pub fn new(columns: Columns) -> Table {
        Table { columns, header: None, ended: false, unread: Unread::default() }
    }

    pub fn line(&mut self, line: &str, each: &mut EachRecord<'_>) -> Result<(), String> {
        if line.trim().is_empty() || self.ended {
            return Ok(());
        }
        let Some(header) = &self.header else {
            self.header = Some(self.header(line)?);
            return Ok(());
        };
        let line = line.trim_end();
        if line == "Summary" {
            self.ended = true;
            return Ok(());
        }
        if line.starts_with('#') {
            return Ok(());
        }
        match header.record(line)? {
            Some(record) => each(&record),
            None => {
                self.unread.incomplete += 1;
                Ok(())
            }
        }
    }

    fn header(&self, line: &str) -> Result<Header, String> {
        let line = line.trim_start_matches('#').trim();
        let separator = SEPARATORS.into_iter().find(|separator| line.contains(*separator));
        let names = fields(line, separator)?;
        Ok(Header { separator, fields: names.len(), places: self.columns.find(&names)? })
    }

    pub fn end(self) -> Result<Unread, String> {
        match self.header {
            Some(_) => Ok(self.unread),
            None => {
                Err("the file is empty: expected a header with the names of the columns".into())
            }
        }
    }
}

impl Header {
    /// The record in a line, or `None` if a value that it needs is absent.
    fn record(&self, line: &str) -> Result<Option<LogRecord>, String> {
        let values = fields(line, self.separator)?;
        if values.len() != self.fields {
            return Err(format!("{} fields: the header has {}", values.len(), self.fields));
        }
        let value = |at: usize| Some(values[at].as_str()).filter(|text| !is_absent(text));
        let Places { src, dst, start, unit, bytes, .. } = self.places;
        let need = (value(src), value(dst), value(start), value(bytes));
        let (Some(src), Some(dst), Some(start), Some(bytes)) = need else { return Ok(None) };
        let count = |at: Option<usize>| at.and_then(value).map(number).transpose();
        let packets = count(self.places.packets)?;
        let back = count(self.places.bytes_back)?;
        let packets_back = count(self.places.packets_back)?;
        Ok(Some(LogRecord {
            src: address(src)?,
            dst: address(dst)?,
            protocol: self.places.protocol.and_then(value).map(protocol),
            start_ps: Moment::read(start, unit)?.as_ps(),
            there: Sent { bytes: number(bytes)?, packets },
            back: back.map(|bytes| Sent { bytes, packets: packets_back }),
        }))
    }
}

/// Whether a field has no value.
pub(super) fn is_absent(text: &str) -> bool {
    matches!(text, "" | "-" | "(empty)") || text.eq_ignore_ascii_case("null")
}

pub(super) fn address(text: &str) -> Result<IpAddr, String> {
    let address = text.parse::<IpAddr>().map(|address| address.to_canonical());
    address.map_err(|_| format!("`{}` is not an IPv4 or IPv6 address", crate::tree::short(text)))
}

/// A number of bytes or packets. Some programs write whole numbers with a fraction of zero.
pub(super) fn number(text: &str) -> Result<u64, String> {
    let whole = match text.split_once('.') {
        Some((whole, zeros)) if zeros.bytes().all(|byte| byte == b'0') => whole,
        _ => text,
    };
    let digits = !whole.is_empty() && whole.bytes().all(|byte| byte.is_ascii_digit());
    let number = if digits { whole.parse().ok() } else { None };
    number.ok_or_else(|| format!("`{}`: expected a whole number", crate::tree::short(text)))
}

/// The number of a protocol by its number or name; 255, which is reserved, for all but TCP and UDP.
pub(super) fn protocol(text: &str) -> u8 {
    match text {
        text if text.eq_ignore_ascii_case("tcp") => 6,
        text if text.eq_ignore_ascii_case("udp") => 17,
        text => text.parse().unwrap_or(255),
    }
}

/// The fields of a line, without blanks around them. A field in quotes may contain separators.
fn fields(line: &str, separator: Option<char>) -> Result<Vec<String>, String> {
    let Some(separator) = separator else {
        return Ok(line.split_whitespace().map(str::to_string).collect());
    };
    if !line.contains('"') {
        return Ok(line.split(separator).map(|field| field.trim().to_string()).collect());
    }
    let (mut fields, mut field, mut quoted) = (vec![], String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => quoted = !quoted,
            letter if letter == separator && !quoted => {
                fields.push(std::mem::take(&mut field).trim().to_string());
            }
            letter => field.push(letter),
        }
    }
    if quoted {
        return Err("a quotation mark is not closed in this line".into());
    }
    fields.push(field.trim().to_string());
    Ok(fields)
}
