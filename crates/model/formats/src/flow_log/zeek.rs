//! `conn.log` of Zeek: lines with fields, whose names are in the line `#fields`, or objects in JSON.

use super::table::{address, is_absent, number, protocol};
use super::{EachRecord, LogRecord, Sent, Unread};
use crate::tree::short;
use serde::Deserialize;
use serde_json::value::RawValue;
use slotline_net::workload::moment::{Moment, MomentUnit};

const NEEDED: [&str; 6] = ["ts", "id.orig_h", "id.resp_h", "proto", "orig_bytes", "resp_bytes"];

/// Reads a log.
#[derive(Default)]
pub(super) struct Zeek {
    form: Form,
    unread: Unread,
}

#[derive(Default)]
enum Form {
    #[default]
    Unknown,
    Json,
    Fields(Head),
}

struct Head {
    separator: String,
    unset: String,
    /// The places of the fields that are needed, and the number of fields, after `#fields`.
    places: Option<([usize; 6], usize)>,
}

impl Zeek {
    pub fn line(&mut self, line: &str, each: &mut EachRecord<'_>) -> Result<(), String> {
        if line.trim().is_empty() {
            return Ok(());
        }
        if let Form::Unknown = self.form {
            let head = Head { separator: "\t".into(), unset: "-".into(), places: None };
            self.form = if line.starts_with('{') { Form::Json } else { Form::Fields(head) };
        }
        let record = match &mut self.form {
            Form::Unknown => None,
            Form::Json => Json::parse(line)?.record()?,
            Form::Fields(head) if line.starts_with('#') => return head.directive(line),
            Form::Fields(head) => head.record(line)?,
        };
        match record {
            Some(record) => each(&record),
            None => {
                self.unread.incomplete += 1;
                Ok(())
            }
        }
    }

    pub fn end(self) -> Result<Unread, String> {
        match self.form {
            Form::Unknown => Err("the file is empty".into()),
            _ => Ok(self.unread),
        }
    }
}

impl Head {
    /// Reads a line that begins with `#`.
    fn directive(&mut self, line: &str) -> Result<(), String> {
        if let Some(separator) = line.strip_prefix("#separator ") {
            self.separator = unescaped(separator.trim())?;
            return Ok(());
        }
        let mut words = line.split(self.separator.as_str());
        match words.next() {
            Some("#unset_field") => self.unset = words.next().unwrap_or("-").into(),
            Some("#path") => match words.next() {
                None | Some("conn") => {}
                Some(path) => {
                    let path = short(path);
                    return Err(format!("this is Zeek's `{path}.log`: expected its `conn.log`"));
                }
            },
            Some("#fields") => self.places = Some(places(&words.collect::<Vec<_>>())?),
            _ => {}
        }
        Ok(())
    }

    fn record(&self, line: &str) -> Result<Option<LogRecord>, String> {
        let Some((places, count)) = self.places else {
            return Err("a record before the line `#fields`: is this Zeek's conn.log?".into());
        };
        let values: Vec<&str> = line.split(self.separator.as_str()).collect();
        if values.len() != count {
            return Err(format!("{} fields: `#fields` names {count}", values.len()));
        }
        let value = |at: usize| Some(values[at]).filter(|text| *text != self.unset);
        Values(places.map(value)).record()
    }
}

/// The places of the fields that are needed.
fn places(names: &[&str]) -> Result<([usize; 6], usize), String> {
    let mut places = [0; 6];
    for (place, name) in places.iter_mut().zip(NEEDED) {
        let found = names.iter().position(|other| *other == name);
        *place =
            found.ok_or_else(|| format!("`#fields` has no `{name}`: is this Zeek's conn.log?"))?;
    }
    Ok((places, names.len()))
}

/// A separator such as `\x09`.
fn unescaped(text: &str) -> Result<String, String> {
    let Some(code) = text.strip_prefix("\\x") else { return Ok(text.into()) };
    let letter = u8::from_str_radix(code, 16).ok().filter(u8::is_ascii).map(char::from);
    let letter = letter.ok_or_else(|| format!("separator `{}` is not understood", short(text)))?;
    Ok(letter.to_string())
}

/// The values of the fields in [`NEEDED`].
struct Values<'a>([Option<&'a str>; 6]);

impl Values<'_> {
    /// The record. Sizes that Zeek does not know are those of connections without data.
    fn record(&self) -> Result<Option<LogRecord>, String> {
        let [start, src, dst, name, there, back] = self.0;
        let (Some(start), Some(src), Some(dst)) = (start, src, dst) else { return Ok(None) };
        let sent = |text: Option<&str>| {
            let bytes = text.filter(|text| !is_absent(text)).map(number).transpose()?;
            Ok::<_, String>(Sent { bytes: bytes.unwrap_or(0), packets: None })
        };
        Ok(Some(LogRecord {
            src: address(src)?,
            dst: address(dst)?,
            protocol: name.map(protocol),
            start_ps: Moment::read(start, MomentUnit::S)?.as_ps(),
            there: sent(there)?,
            back: Some(sent(back)?),
        }))
    }
}

/// A line in JSON. Addresses are fields with a point in their name, or in an object `id`.
#[derive(Deserialize)]
struct Json<'a> {
    #[serde(borrow)]
    ts: Option<&'a RawValue>,
    #[serde(borrow, rename = "id.orig_h")]
    src: Option<&'a RawValue>,
    #[serde(borrow, rename = "id.resp_h")]
    dst: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<Ids<'a>>,
    #[serde(borrow)]
    proto: Option<&'a RawValue>,
    #[serde(borrow)]
    orig_bytes: Option<&'a RawValue>,
    #[serde(borrow)]
    resp_bytes: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Ids<'a> {
    #[serde(borrow)]
    orig_h: Option<&'a RawValue>,
    #[serde(borrow)]
    resp_h: Option<&'a RawValue>,
}

impl<'a> Json<'a> {
    fn parse(line: &'a str) -> Result<Json<'a>, String> {
        serde_json::from_str(line).map_err(|error| format!("this is not a record in JSON: {error}"))
    }

    fn record(&self) -> Result<Option<LogRecord>, String> {
        let src = self.src.or(self.id.as_ref().and_then(|id| id.orig_h));
        let dst = self.dst.or(self.id.as_ref().and_then(|id| id.resp_h));
        let raw = [self.ts, src, dst, self.proto, self.orig_bytes, self.resp_bytes];
        // None of these values has characters that JSON escapes.
        let text =
            |raw: &'a RawValue| Some(raw.get().trim_matches('"')).filter(|text| *text != "null");
        Values(raw.map(|raw| raw.and_then(text))).record()
    }
}
