//! Sets of NetFlow 9 and IPFIX: templates, and records in their form.

use super::super::{EachRecord, Unread};
use super::fields::{Clock, Field, VARIABLE, Values};
use super::messages::{IPFIX_HEADER, SET_HEADER, V5, V9, V9_HEADER, be16, be32};
use super::v5;
use core::net::IpAddr;
use std::collections::BTreeMap;

/// More templates than any exporter has.
const MOST_TEMPLATES: usize = 1 << 14;
/// Sets with a smaller number have templates.
const FIRST_DATA: u16 = 256;

/// The form of a record.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Template {
    fields: Vec<Field>,
    /// Whether its records describe the exporter, not flows.
    options: bool,
}

/// An exporter: its address, and the number of the part that observes.
type Observer = (IpAddr, u32);

/// What is known from earlier messages.
#[derive(Default)]
pub(super) struct Exporter {
    templates: BTreeMap<(Observer, u16), Template>,
    /// When exporters started, in picoseconds since 1970.
    boots: BTreeMap<Observer, i128>,
}

/// A message that is being read.
struct Message<'a, 'b> {
    observer: Observer,
    is_v9: bool,
    clock: Clock,
    unread: &'a mut Unread,
    each: &'a mut EachRecord<'b>,
}

impl Exporter {
    /// Reads a whole message from `source`.
    pub fn message(
        &mut self,
        source: IpAddr,
        bytes: &[u8],
        unread: &mut Unread,
        each: &mut EachRecord<'_>,
    ) -> Result<(), String> {
        let version = be16(bytes, 0);
        if version == Some(V5) {
            return v5::message(bytes, unread, each);
        }
        let is_v9 = version == Some(V9);
        let (seconds, domain, header) =
            if is_v9 { (8, 16, V9_HEADER) } else { (4, 12, IPFIX_HEADER) };
        let (Some(seconds), Some(domain)) = (be32(bytes, seconds), be32(bytes, domain)) else {
            return Err(format!("a message of {} bytes: its header has {header}", bytes.len()));
        };
        let uptime = if is_v9 { be32(bytes, 4) } else { None };
        let clock = Clock { now_ps: i128::from(seconds) * 1_000_000_000_000, uptime };
        let observer = (source, domain);
        let mut message = Message { observer, is_v9, clock, unread, each };
        let mut rest = &bytes[header..];
        while let Some(id) = be16(rest, 0) {
            let length = be16(rest, 2).map_or(0, usize::from);
            let Some(content) = rest.get(SET_HEADER..length) else {
                return Err(format!("set {id} of {length} bytes: {} bytes are left", rest.len()));
            };
            self.set(id, content, &mut message)?;
            rest = &rest[length..];
        }
        Ok(())
    }

    fn set(
        &mut self,
        id: u16,
        content: &[u8],
        message: &mut Message<'_, '_>,
    ) -> Result<(), String> {
        match (id, message.is_v9) {
            (0, true) | (2, false) => self.templates(content, message),
            (1, true) => self.options_of_v9(content, message),
            (3, false) => self.options(content, message),
            (FIRST_DATA.., _) => self.data(id, content, message),
            _ => {
                Err(format!("a set with the number {id}: expected a template or a set of records"))
            }
        }
    }

    /// A set of templates: number, count of fields, fields.
    fn templates(&mut self, mut rest: &[u8], message: &Message<'_, '_>) -> Result<(), String> {
        // Up to three bytes of padding may follow.
        while let (Some(id), Some(count)) = (be16(rest, 0), be16(rest, 2)) {
            let (fields, used) = fields(&rest[4..], count.into(), message.is_v9)?;
            rest = &rest[4 + used..];
            self.add(id, Template { fields, options: false }, message)?;
        }
        Ok(())
    }

    /// A set of option templates of IPFIX: number, count of fields, count of scope fields, fields.
    fn options(&mut self, mut rest: &[u8], message: &Message<'_, '_>) -> Result<(), String> {
        while let (Some(id), Some(count)) = (be16(rest, 0), be16(rest, 2)) {
            // A template without fields is withdrawn, and has no count of scope fields.
            let header = if count == 0 { 4 } else { 6 };
            let Some(list) = rest.get(header..) else { return Ok(()) };
            let (fields, used) = fields(list, count.into(), message.is_v9)?;
            rest = &list[used..];
            self.add(id, Template { fields, options: true }, message)?;
        }
        Ok(())
    }

    /// A set of option templates of NetFlow 9: number, bytes of scope fields, bytes of options, fields.
    fn options_of_v9(&mut self, mut rest: &[u8], message: &Message<'_, '_>) -> Result<(), String> {
        while let (Some(id), Some(scopes), Some(options)) =
            (be16(rest, 0), be16(rest, 2), be16(rest, 4))
        {
            if id < FIRST_DATA {
                return Ok(());
            }
            let counts = (usize::from(scopes) / 4, usize::from(options) / 4);
            let (mut fields, used) = fields(&rest[6..], counts.0 + counts.1, message.is_v9)?;
            // Numbers of scope fields have another meaning.
            fields.iter_mut().take(counts.0).for_each(|field| field.enterprise = u32::MAX);
            rest = &rest[6 + used..];
            self.add(id, Template { fields, options: true }, message)?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        id: u16,
        template: Template,
        message: &Message<'_, '_>,
    ) -> Result<(), String> {
        let key = (message.observer, id);
        if template.fields.is_empty() {
            self.templates.remove(&key);
            return Ok(());
        }
        if id < FIRST_DATA {
            return Err(format!("a template with the number {id}: expected {FIRST_DATA} or more"));
        }
        if template.fields.iter().all(|field| field.length == 0) {
            return Err(format!("template {id} has records of 0 bytes"));
        }
        if self.templates.len() >= MOST_TEMPLATES && !self.templates.contains_key(&key) {
            return Err(format!("more than {MOST_TEMPLATES} templates"));
        }
        self.templates.insert(key, template);
        Ok(())
    }

    fn data(
        &mut self,
        id: u16,
        mut rest: &[u8],
        message: &mut Message<'_, '_>,
    ) -> Result<(), String> {
        let Some(template) = self.templates.get(&(message.observer, id)) else {
            message.unread.without_template += 1;
            return Ok(());
        };
        // What is left after the last record is padding.
        while let Some((values, used)) = template.record(rest) {
            rest = &rest[used..];
            if let Some(sampled) = values.sampled {
                message.unread.sampled = message.unread.sampled.max(sampled);
            }
            if let Some(boot) = values.boot_ps {
                self.boots.insert(message.observer, boot);
            }
            if template.options {
                continue;
            }
            match values.record(message.clock, self.boots.get(&message.observer).copied()) {
                Some(record) => (message.each)(&record)?,
                None => message.unread.incomplete += 1,
            }
        }
        Ok(())
    }
}

impl Template {
    /// The record at the beginning of `bytes`, and its length. `None` if no whole record is left.
    fn record(&self, bytes: &[u8]) -> Option<(Values, usize)> {
        let (mut values, mut at) = (Values::default(), 0);
        for field in &self.fields {
            let length = match field.length {
                VARIABLE => {
                    let (length, prefix) = variable(bytes.get(at..)?)?;
                    at += prefix;
                    length
                }
                length => length.into(),
            };
            values.add(*field, bytes.get(at..)?.get(..length)?);
            at += length;
        }
        (at > 0).then_some((values, at))
    }
}

/// The length of a field of variable length, and the number of bytes that state it (RFC 7011, section 7).
fn variable(bytes: &[u8]) -> Option<(usize, usize)> {
    match bytes.first()? {
        255 => be16(bytes, 1).map(|length| (length.into(), 3)),
        length => Some(((*length).into(), 1)),
    }
}

/// The fields of a template, and the number of bytes that list them.
fn fields(bytes: &[u8], count: usize, is_v9: bool) -> Result<(Vec<Field>, usize), String> {
    let (mut fields, mut at) = (Vec::new(), 0);
    for _ in 0..count {
        let (Some(id), Some(length)) = (be16(bytes, at), be16(bytes, at + 2)) else {
            return Err(format!("a template announces {count} fields and has {}", fields.len()));
        };
        at += 4;
        let own = !is_v9 && id >= 0x8000;
        let enterprise = if own { be32(bytes, at).unwrap_or(u32::MAX) } else { 0 };
        at += if own { 4 } else { 0 };
        fields.push(Field { id: if own { id & 0x7fff } else { id }, enterprise, length });
    }
    if at > bytes.len() {
        return Err("a template ends within a field".into());
    }
    Ok((fields, at))
}
