//! The connection matrix of the htsim simulator (`.cm`).
//!
//! `Nodes N`, `Connections M`, then M lines `src->dst [id n] start t size bytes`. What else the format
//! knows (triggers, failures, priorities) is refused, not skipped: the run would not be the one meant.

use super::text::{LineError, numbered, whole};
use super::trace::Entry;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// What a `start` of 1 means: it differs between versions of htsim.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum TimeUnit {
    /// Picoseconds.
    #[default]
    Ps,
    /// Microseconds.
    Us,
}

impl TimeUnit {
    fn time(self, count: u64) -> Time {
        match self {
            TimeUnit::Ps => Time::ps(count),
            TimeUnit::Us => Time::us(1).times(count),
        }
    }
}

/// A connection matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Hosts `0..nodes` may appear.
    pub nodes: u32,
    /// The flows, in the order of the file.
    pub entries: Vec<Entry>,
}

/// Reads a connection matrix.
pub fn parse(text: &str, unit: TimeUnit) -> Result<Matrix, LineError> {
    let mut lines = numbered(text);
    let nodes = announced(lines.next(), "Nodes")?;
    let announced = announced(lines.next(), "Connections")?;
    let mut entries = Vec::new();
    let mut end = 2;
    for (line, words) in lines {
        let entry =
            connection(&words, nodes, unit).map_err(|message| LineError { line, message })?;
        entries.push(entry);
        end = line;
    }
    if entries.len() != announced as usize {
        let message = format!(
            "{announced} connections announced, {} found: the file is truncated or edited",
            entries.len()
        );
        return Err(LineError { line: end, message });
    }
    Ok(Matrix { nodes, entries })
}

fn announced(line: Option<(usize, Vec<&str>)>, key: &str) -> Result<u32, LineError> {
    let (line, words) = line.unwrap_or_default();
    let value = match words[..] {
        [word, count] if word == key => whole(key, count),
        _ => Err(format!("`{}`: expected `{key} <number>`", words.join(" "))),
    };
    value.map_err(|message| LineError { line: line.max(1), message })
}

fn connection(words: &[&str], nodes: u32, unit: TimeUnit) -> Result<Entry, String> {
    let (src, dst) = words[0].split_once("->").ok_or_else(|| unsupported(words[0]))?;
    let (src, dst) = (host(src, nodes)?, host(dst, nodes)?);
    if src == dst {
        return Err(format!("host {src} would send to itself"));
    }
    let (mut start, mut size) = (None, None);
    for pair in words[1..].chunks(2) {
        let value = pair.get(1).ok_or_else(|| format!("`{}` has no value", pair[0]))?;
        let number = whole(pair[0], value);
        let known = match pair[0] {
            "id" => number.map(|_: u64| None),
            "start" => number.map(|n| start.replace(n)),
            "size" => number.map(|n| size.replace(n)),
            other => Err(unsupported(other)),
        };
        if known?.is_some() {
            return Err(format!("`{}` is given twice", pair[0]));
        }
    }
    let start = start.ok_or("`start` is missing: flows started by triggers are not supported")?;
    match size {
        Some(bytes) if bytes > 0 => {
            Ok(Entry { src, dst, bytes, start: unit.time(start), class: None })
        }
        _ => Err("`size` must be given and above 0".into()),
    }
}

fn host(text: &str, nodes: u32) -> Result<u32, String> {
    let host = whole("host", text)?;
    if host < nodes {
        Ok(host)
    } else {
        Err(format!("host {host}: the file announces {nodes} nodes"))
    }
}

fn unsupported(word: &str) -> String {
    let supported = "only lines `src->dst id n start t size bytes` are";
    if word.to_lowercase().contains("trigger") || word.to_lowercase().contains("failure") {
        return format!("`{word}`: triggers and failures are not supported, {supported}");
    }
    format!("`{word}` is not known, {supported}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PERM: &str =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/traces/perm128.cm"));

    #[test]
    fn a_matrix_is_read_as_written() {
        let text =
            "Nodes 4\nConnections 2\n\n3->0 id 1 start 7 size 10\n# c\n 1->2 start 0 size 5\r\n";
        let matrix = parse(text, TimeUnit::Us).unwrap();
        let entry = |src, dst, bytes, start| Entry { src, dst, bytes, start, class: None };
        assert_eq!(matrix.nodes, 4);
        assert_eq!(matrix.entries, [entry(3, 0, 10, Time::us(7)), entry(1, 2, 5, Time::ZERO)]);
        assert_eq!(parse(text, TimeUnit::Ps).unwrap().entries[0].start, Time::ps(7));
        assert_eq!(parse(PERM, TimeUnit::Ps).unwrap().entries.len(), 128);
    }

    #[test]
    fn errors_name_the_line() {
        let flow = |line: &str| format!("Nodes 4\nConnections 1\n{line}\n");
        for (text, line, why) in [
            (String::new(), 1, "expected `Nodes <number>`"),
            ("Nodes 4\n".into(), 1, "expected `Connections <number>`"),
            (
                "Nodes 4\nConnections 2\n0->1 start 0 size 1\n".into(),
                3,
                "2 connections announced, 1 found",
            ),
            (
                "Nodes 4\nConnections 0\n0->1 start 0 size 1\n".into(),
                3,
                "0 connections announced, 1 found",
            ),
            ("Nodes x\n".into(), 1, "`x`"),
            (
                "Nodes 4\nConnections 1\nTriggers 1\n".into(),
                3,
                "triggers and failures are not supported",
            ),
            (flow("0->1 start 0 size 1 send_done_trigger 1"), 3, "triggers and failures"),
            (flow("trigger id 1 oneshot"), 3, "triggers and failures"),
            (flow("0->1 trigger 1 size 5"), 3, "triggers and failures"),
            (flow("0->1 start 0 size 1 prio 2"), 3, "`prio` is not known"),
            (flow("0->1 start 0 si"), 3, "`si` has no value"),
            (flow("0->1 start 0"), 3, "`size` must be given"),
            (flow("0->1 start 0 size 0"), 3, "above 0"),
            (flow("0->1 size 5"), 3, "`start` is missing"),
            (flow("0->1 start 0 start 0 size 1"), 3, "twice"),
            (flow("0->1 start -1 size 1"), 3, "`-1`"),
            (flow("0->4 start 0 size 1"), 3, "announces 4 nodes"),
            (flow("2->2 start 0 size 1"), 3, "itself"),
        ] {
            let error = parse(&text, TimeUnit::Ps).expect_err(&text);
            assert_eq!(error.line, line, "{text:?}: {error}");
            assert!(error.message.contains(why), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(bytes in any::<Vec<u8>>()) {
            let _ = parse(&String::from_utf8_lossy(&bytes), TimeUnit::Us);
        }

        /// A file cut after any whole line but the last is refused.
        #[test]
        fn a_truncated_file_is_refused(lines in 0usize..130) {
            let cut: String = PERM.split_inclusive('\n').take(lines).collect();
            prop_assert!(parse(&cut, TimeUnit::Ps).is_err());
        }

        /// One byte changed: refused, or still 128 flows between announced hosts.
        #[test]
        fn a_damaged_file_is_refused_or_sound(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = PERM.as_bytes().to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(matrix) = parse(&String::from_utf8_lossy(&bytes), TimeUnit::Us) {
                prop_assert!(matrix.entries.iter().all(|e| e.src < matrix.nodes && e.dst < matrix.nodes));
                prop_assert!(matrix.entries.iter().all(|e| e.src != e.dst && e.bytes > 0));
            }
        }
    }
}
