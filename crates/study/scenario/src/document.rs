//! A scenario file with the place of every key and value in it.

use super::error::{Fault, ScenarioError, suggestion};
use super::extends::FILE_KEYS;
use super::merge::Marks;
use super::shape::{self, Finding, Part};
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// The text of a scenario file.
#[derive(Clone, Debug)]
pub struct Document {
    /// Where it was read from.
    pub file: PathBuf,
    /// Its content.
    pub text: String,
    /// Where its parts were written, if it was merged from several files; otherwise empty.
    pub(super) marks: Marks,
    /// A line for each old name that it uses.
    pub notices: Vec<String>,
}

/// A key and its value, with their places in the text.
#[derive(Clone, Debug, PartialEq)]
struct Spot {
    /// Its path, as `scheme[1].queue.kind`.
    path: String,
    /// Where its key is; for elements of arrays and tables with a header, where the value is.
    key: Range<usize>,
    /// Where its value is.
    value: Range<usize>,
    /// The text of a plain value, without quotes.
    plain: Option<String>,
}

impl Spot {
    /// Whether it is at `path` or below it. Everything is below the empty path.
    fn is_below(&self, path: &str) -> bool {
        let rest = self.path.strip_prefix(path);
        rest.is_some_and(|r| path.is_empty() || r.is_empty() || r.starts_with(['.', '[']))
    }
}

impl Document {
    /// The file at `file` with the content `text`.
    pub fn new(file: &Path, text: String) -> Document {
        Document { file: file.into(), text, marks: Marks::new(), notices: vec![] }
    }

    /// Whether the file has a value at `path`, as `measure.why`.
    pub fn says(&self, path: &str) -> bool {
        self.spots().iter().any(|spot| spot.path == path)
    }

    /// The fault with `message` at `path` (such as `scheme[1].queue.kind`). If the file has no such key, the fault is
    /// at the nearest table that exists. The key is put in front of a message that does not name it.
    pub fn fault_at(&self, path: &str, message: String) -> ScenarioError {
        let spots = self.spots();
        let message = naming(path, message);
        let mut nearest = path;
        loop {
            if let Some(spot) = spots.iter().find(|spot| spot.path == nearest) {
                return self.fault(path, spot.value.clone(), message);
            }
            match nearest.rfind(['.', '[']) {
                Some(cut) => nearest = &nearest[..cut],
                None => return self.fault(path, 0..0, message),
            }
        }
    }

    /// Every place where the file does not have the shape of a scenario, in the file's order. Empty if
    /// the file is not TOML.
    pub fn shape_faults(&self) -> Vec<ScenarioError> {
        let Ok(root) = DeTable::parse(&self.text) else { return vec![] };
        let spots = self.spots();
        let mut found: Vec<(Range<usize>, Finding)> =
            shape::findings(root.get_ref()).into_iter().map(|f| (place(&spots, &f), f)).collect();
        found.sort_by_key(|(span, _)| span.start);
        let fault = |(span, finding): (Range<usize>, Finding)| {
            let message = match finding.part {
                Part::Key => with_file_keys(&finding.path, finding.message),
                Part::Value | Part::MissingKey => finding.message,
            };
            let mut fault = self.fault(&finding.path, span, message);
            if let ScenarioError::Fault(fault) = &mut fault {
                fault.lacks_key = finding.part == Part::MissingKey;
                fault.hint = finding.hint.or(fault.hint.take());
            }
            fault
        };
        found.into_iter().map(fault).collect()
    }

    /// The error of serde or the TOML parser, at its exact place. serde reports an enum that is tagged by its `kind` as
    /// a whole, so the wrong part is searched for inside it.
    pub fn fault_of(&self, error: &toml::de::Error) -> ScenarioError {
        self.fault_worded(error, with_file_keys)
    }

    /// As [`Document::fault_of`], for a file that is not a scenario.
    pub fn plain_fault_of(&self, error: &toml::de::Error) -> ScenarioError {
        self.fault_worded(error, |_, message| message)
    }

    /// `more` adds further valid keys to the message about an unknown key.
    fn fault_worded(
        &self,
        error: &toml::de::Error,
        more: fn(&str, String) -> String,
    ) -> ScenarioError {
        let span = error.span().unwrap_or(0..0);
        let message = error.message().trim_end().to_string();
        let spots = self.spots();
        let blamed = spots.iter().find(|s| s.value == span || s.key == span);
        let within = blamed.map_or(String::new(), |spot| spot.path.clone());
        match culprit(&spots, &within, &message) {
            Some(spot) if unknown_key(&message) => {
                self.fault(&spot.path, spot.key.clone(), more(&spot.path, message))
            }
            Some(spot) => self.fault(&spot.path, spot.value.clone(), message),
            None => self.fault(&within, span, message),
        }
    }

    /// The fault with `message` at `span`, which belongs to `path`. It names the file where this part was written.
    pub(super) fn fault(&self, path: &str, span: Range<usize>, message: String) -> ScenarioError {
        if let Some((document, path, span)) = self.written(path, &span) {
            return document.fault(&path, span, message);
        }
        let start = span.start.min(self.text.len());
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let source = self.text[line_start..].lines().next().unwrap_or("").to_string();
        let marked = self.text[start..span.end.clamp(start, self.text.len())].lines().next();
        ScenarioError::Fault(Box::new(Fault {
            file: self.file.clone(),
            line: self.text[..start].matches('\n').count() + 1,
            column: self.text[line_start..start].chars().count() + 1,
            width: marked.map_or(0, |text| text.chars().count()).max(1),
            hint: suggestion(&message),
            lacks_key: missing_key(&message),
            message: in_scenario_terms(&message),
            key: path.to_string(),
            source,
        }))
    }

    /// The file, path and place at which `path` with `span` was written; `None` for a file that was not merged.
    fn written(
        &self,
        path: &str,
        span: &Range<usize>,
    ) -> Option<(&Document, String, Range<usize>)> {
        let spots = self.spots();
        let blamed = |spot: &&Spot| spot.value == *span || spot.key == *span;
        let spot = spots.iter().filter(blamed).max_by_key(|spot| path.starts_with(&spot.path));
        let at = spot.map_or("", |spot| &spot.path);
        let mark = self.marks.get(at).or_else(|| self.marks.get(""))?;
        let is_key = spot.is_some_and(|spot| spot.value != *span);
        let place = if is_key { mark.key.clone() } else { mark.value.clone() };
        let below = path.strip_prefix(at).unwrap_or(path);
        let below = if mark.path.is_empty() { below.trim_start_matches('.') } else { below };
        Some((&mark.document, format!("{}{below}", mark.path), place))
    }

    /// All keys in the file, outer before inner; empty if it is not TOML.
    fn spots(&self) -> Vec<Spot> {
        let mut spots = vec![];
        if let Ok(root) = DeTable::parse(&self.text) {
            collect_table(root.get_ref(), "", &mut spots);
        }
        spots
    }
}

/// The place of a finding in the text.
fn place(spots: &[Spot], finding: &Finding) -> Range<usize> {
    let spot = spots.iter().find(|spot| spot.path == finding.path);
    spot.map_or(0..0, |spot| match finding.part {
        Part::Key => spot.key.clone(),
        _ => spot.value.clone(),
    })
}

/// `message`, with the last key of `path` in front unless it names that key or is of the whole file.
fn naming(path: &str, message: String) -> String {
    let last = path.rsplit('.').next().unwrap_or(path);
    let key = last.split('[').next().unwrap_or(last);
    let named = key.is_empty() || message.contains(&format!("`{key}`"));
    if named { message } else { format!("`{key}`: {message}") }
}

fn collect_table(table: &DeTable<'_>, path: &str, spots: &mut Vec<Spot>) {
    for (key, value) in table {
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{dot}{}", key.get_ref());
        collect(key.span(), value, path, spots);
    }
}

fn collect_array(array: &DeArray<'_>, path: &str, spots: &mut Vec<Spot>) {
    for (index, value) in array.iter().enumerate() {
        collect(value.span(), value, format!("{path}[{index}]"), spots);
    }
}

fn collect(key: Range<usize>, value: &Spanned<DeValue<'_>>, path: String, spots: &mut Vec<Spot>) {
    let plain = match value.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.as_str().to_string()),
        DeValue::Float(number) => Some(number.as_str().to_string()),
        DeValue::Boolean(yes) => Some(yes.to_string()),
        _ => None,
    };
    spots.push(Spot { path: path.clone(), key, value: value.span(), plain });
    match value.get_ref() {
        DeValue::Table(table) => collect_table(table, &path, spots),
        DeValue::Array(array) => collect_array(array, &path, spots),
        _ => {}
    }
}

/// Adds the keys that are permitted at the top of a file and are not keys of a scenario.
fn with_file_keys(path: &str, message: String) -> String {
    let top = !path.contains(['.', '[']);
    let more = FILE_KEYS.iter().filter(|_| top).map(|key| format!(", `{key}`"));
    message + &more.collect::<String>()
}

fn unknown_key(message: &str) -> bool {
    message.starts_with("unknown field")
}

/// Whether serde found that a key is missing. serde's errors are only text.
fn missing_key(message: &str) -> bool {
    message.starts_with("missing field")
}

/// The one value or key below `within` that `message` quotes; `None` if there are several candidates.
fn culprit<'a>(spots: &'a [Spot], within: &str, message: &str) -> Option<&'a Spot> {
    if missing_key(message) {
        return None;
    }
    let quoted = quoted(message).next()?;
    let inside: Vec<&Spot> = spots.iter().filter(|spot| spot.is_below(within)).collect();
    let value = |spot: &&&Spot| spot.plain.as_deref() == Some(quoted);
    let key = |spot: &&&Spot| spot.path.rsplit('.').next() == Some(quoted);
    let by_value = if unknown_key(message) { None } else { only(inside.iter().filter(value)) };
    by_value.or_else(|| only(inside.iter().filter(key))).copied()
}

fn only<T>(mut candidates: impl Iterator<Item = T>) -> Option<T> {
    let first = candidates.next();
    if candidates.next().is_some() { None } else { first }
}

/// The texts in backticks or double quotes, in order.
pub(super) fn quoted(message: &str) -> impl Iterator<Item = &str> {
    let mut rest = message;
    std::iter::from_fn(move || {
        let open = rest.find(['`', '"'])?;
        let mark = rest[open..].chars().next()?;
        let inner = &rest[open + 1..];
        let close = inner.find(mark)?;
        rest = &inner[close + 1..];
        Some(&inner[..close])
    })
}

/// Replaces serde's terms, which are those of Rust, by terms of scenarios.
fn in_scenario_terms(message: &str) -> String {
    let terms = [
        ("unknown field", "unknown key"),
        ("missing field", "missing key"),
        ("unknown variant", "unknown value"),
        ("expected usize", "expected a whole number"),
        ("expected u64", "expected a whole number"),
        ("expected u32", "expected a whole number"),
        ("expected u16", "expected a whole number"),
        ("expected u8", "expected a whole number"),
        ("expected f64", "expected a number"),
        ("invalid type", "wrong type"),
        ("invalid value", "wrong value"),
        ("expected a string", "expected text in quotes"),
    ];
    terms.iter().fold(message.to_string(), |text, (from, to)| text.replace(from, to))
}
