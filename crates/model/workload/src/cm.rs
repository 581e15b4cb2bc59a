//! The connection matrix of the htsim simulator (`.cm`), as data.
//!
//! `Nodes N`, `Connections M`, perhaps `Triggers T` and `Failures F`; then M lines
//! `src->dst [id n] start t | trigger k size b [send_done_trigger k] [recv_done_trigger k] [prio p]`,
//! T lines `trigger id k oneshot|multishot|barrier [count n]` and F lines
//! `failure switch_type AGG switch_id n link_id n`, in any order. Their meaning is in
//! `cm_traffic`. Anything else is refused, not skipped, because the run would not be the intended one.

use super::decimal;
use super::text::{LineError, numbered, whole};
use serde::{Deserialize, Serialize};
use slotline_base::time::Time;
use std::collections::BTreeMap;

/// The unit of `start`. It differs between versions of htsim.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum TimeUnit {
    /// Picoseconds, which the current version reads.
    #[default]
    Ps,
    /// Microseconds, which earlier versions read and all versions write.
    Us,
}

impl TimeUnit {
    fn time(self, text: &str) -> Result<Time, String> {
        let scale = match self {
            TimeUnit::Ps => 0,
            TimeUnit::Us => 6,
        };
        let ps = decimal::scaled(text.as_bytes(), scale).map(Time::ps);
        ps.ok_or_else(|| format!("start `{text}`: expected a number, at least 0"))
    }
}

/// The start of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begin {
    /// A time.
    At(Time),
    /// The trigger with this id.
    On(u32),
}

/// A flow of a matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CmFlow {
    /// Its line.
    pub line: usize,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Size, at least 1.
    pub bytes: u64,
    /// The time or trigger at which it starts.
    pub begin: Begin,
    /// The trigger that is activated when the sender has the last acknowledgement.
    pub send_done: Option<u32>,
    /// The trigger that is activated when the receiver has everything.
    pub recv_done: Option<u32>,
    /// Its priority. Lower numbers are served first.
    pub prio: Option<u32>,
}

/// The effect of an activation of a trigger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shots {
    /// Starts all its flows at the first activation.
    Oneshot,
    /// Starts its next flow, in the order of the file.
    Multishot,
    /// Starts all its flows at the activation with this number.
    Barrier(u32),
}

/// A trigger of a matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CmTrigger {
    /// Its line.
    pub line: usize,
    /// Its effect.
    pub shots: Shots,
}

/// A link that is absent: between an aggregation and a core switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Its line.
    pub line: usize,
    /// The aggregation switch, counted over all pods.
    pub switch: u32,
    /// The number of its uplink.
    pub link: u32,
}

/// A connection matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Hosts `0..nodes` may appear.
    pub nodes: u32,
    /// The flows, in the order of the file.
    pub flows: Vec<CmFlow>,
    /// The triggers, by id.
    pub triggers: BTreeMap<u32, CmTrigger>,
    /// The links that are absent.
    pub failures: Vec<Failure>,
}

impl Matrix {
    /// A class for each of the priorities: the lowest number is served first.
    pub fn classes(&self) -> Result<BTreeMap<u32, u8>, LineError> {
        let mut found = BTreeMap::new();
        for flow in &self.flows {
            if let Some(prio) = flow.prio
                && found.insert(prio, 0).is_none()
                && found.len() > 8
            {
                let message = format!("prio {prio} is the ninth: there are 8 classes");
                return Err(LineError { line: flow.line, message });
            }
        }
        Ok(found.into_keys().zip((0..8).rev()).collect())
    }

    /// The matrix without its failures, as a file with times in picoseconds.
    pub fn without_failures(&self) -> String {
        let mut out = format!(
            "Nodes {}\nConnections {}\nTriggers {}\n",
            self.nodes,
            self.flows.len(),
            self.triggers.len()
        );
        for (number, flow) in (1..).zip(&self.flows) {
            let begin = match flow.begin {
                Begin::At(at) => format!("start {}", at.as_ps()),
                Begin::On(trigger) => format!("trigger {trigger}"),
            };
            out += &format!("{}->{} id {number} {begin} size {}", flow.src, flow.dst, flow.bytes);
            for (name, value) in [
                ("send_done_trigger", flow.send_done),
                ("recv_done_trigger", flow.recv_done),
                ("prio", flow.prio),
            ] {
                out += &value.map_or(String::new(), |value| format!(" {name} {value}"));
            }
            out += "\n";
        }
        for (id, trigger) in &self.triggers {
            let shots = match trigger.shots {
                Shots::Oneshot => "oneshot".to_string(),
                Shots::Multishot => "multishot".to_string(),
                Shots::Barrier(count) => format!("barrier count {count}"),
            };
            out += &format!("trigger id {id} {shots}\n");
        }
        out
    }
}

/// The counts in the header, with their lines: nodes, connections, triggers, failures.
type Header = [Option<(u32, usize)>; 4];
const HEADER: [&str; 4] = ["Nodes", "Connections", "Triggers", "Failures"];

/// Reads a connection matrix.
pub fn parse(text: &str, unit: TimeUnit) -> Result<Matrix, LineError> {
    let mut header = Header::default();
    let mut matrix =
        Matrix { nodes: 0, flows: vec![], triggers: BTreeMap::new(), failures: vec![] };
    let (mut in_header, mut end) = (true, 1);
    for (line, words) in numbered(text) {
        let wrong = |message| LineError { line, message };
        in_header = in_header && announce(&mut header, line, &words).map_err(wrong)?;
        if !in_header {
            matrix.nodes = complete(&header).map_err(wrong)?;
            item(&mut matrix, line, &words, unit).map_err(wrong)?;
        }
        end = line;
    }
    let wrong = |message| LineError { line: end, message };
    matrix.nodes = complete(&header).map_err(wrong)?;
    as_announced(&matrix, &header).map_err(wrong)?;
    references(&matrix)?;
    Ok(matrix)
}

/// Reads a line of the header. Returns whether it was one.
fn announce(header: &mut Header, line: usize, words: &[&str]) -> Result<bool, String> {
    let [word, count] = words[..] else { return Ok(false) };
    let Some(at) = HEADER.iter().position(|known| *known == word) else { return Ok(false) };
    match header[at] {
        Some((_, before)) => Err(format!("`{word}` is already in line {before}")),
        None => {
            header[at] = Some((whole(word, count)?, line));
            Ok(true)
        }
    }
}

/// The number of nodes, if the header is complete.
fn complete(header: &Header) -> Result<u32, String> {
    for (word, value) in HEADER.iter().zip(header).take(2) {
        if value.is_none() {
            return Err(format!(
                "`{word}` is missing: expected `{word} <number>` at the beginning"
            ));
        }
    }
    Ok(header[0].unwrap_or_default().0)
}

fn as_announced(matrix: &Matrix, header: &Header) -> Result<(), String> {
    let found = [matrix.flows.len(), matrix.triggers.len(), matrix.failures.len()];
    for ((word, announced), found) in HEADER.iter().zip(header).skip(1).zip(found) {
        let announced = announced.unwrap_or_default().0;
        if announced as usize != found {
            return Err(format!(
                "{announced} {} announced, {found} found: the file is truncated or edited",
                word.to_lowercase()
            ));
        }
    }
    Ok(())
}

/// A line below the header.
fn item(matrix: &mut Matrix, line: usize, words: &[&str], unit: TimeUnit) -> Result<(), String> {
    match words[0] {
        "trigger" => {
            let (id, shots) = trigger(&words[1..])?;
            match matrix.triggers.insert(id, CmTrigger { line, shots }) {
                Some(before) => Err(format!("trigger {id} is already in line {}", before.line)),
                None => Ok(()),
            }
        }
        "failure" => {
            let (switch, link) = failure(&words[1..])?;
            matrix.failures.push(Failure { line, switch, link });
            Ok(())
        }
        pair => {
            let (src, dst) = pair.split_once("->").ok_or_else(|| unknown(pair))?;
            let (src, dst) = (host(src, matrix.nodes)?, host(dst, matrix.nodes)?);
            if src == dst {
                return Err(format!("host {src} would send to itself"));
            }
            let options = pairs(&words[1..], FLOW_WORDS)?;
            matrix.flows.push(flow(line, src, dst, &options, unit)?);
            Ok(())
        }
    }
}

const FLOW_WORDS: &[&str] =
    &["id", "start", "trigger", "size", "send_done_trigger", "recv_done_trigger", "prio"];

/// `name value` pairs, each name at most once and one of `known`.
fn pairs<'a>(
    words: &[&'a str],
    known: &[&'static str],
) -> Result<BTreeMap<&'static str, &'a str>, String> {
    let mut found = BTreeMap::new();
    for pair in words.chunks(2) {
        let Some(name) = known.iter().find(|name| **name == pair[0]) else {
            return Err(format!("`{}` is not known here: expected {}", pair[0], known.join(", ")));
        };
        let value = pair.get(1).ok_or_else(|| format!("`{name}` has no value"))?;
        if found.insert(*name, *value).is_some() {
            return Err(format!("`{name}` is given twice"));
        }
    }
    Ok(found)
}

type Options<'a> = BTreeMap<&'static str, &'a str>;

fn number(options: &Options, name: &str) -> Result<Option<u32>, String> {
    options.get(name).map(|text| whole(name, text)).transpose()
}

/// A number from 1: htsim takes 0 for "none".
fn id(options: &Options, name: &str) -> Result<Option<u32>, String> {
    match number(options, name)? {
        Some(0) => Err(format!("`{name}` is 0: ids count from 1")),
        id => Ok(id),
    }
}

fn flow(
    line: usize,
    src: u32,
    dst: u32,
    options: &Options,
    unit: TimeUnit,
) -> Result<CmFlow, String> {
    id(options, "id")?;
    let begin = match (options.get("start"), id(options, "trigger")?) {
        (Some(start), None) => Begin::At(unit.time(start)?),
        (None, Some(trigger)) => Begin::On(trigger),
        (None, None) => {
            return Err("neither `start` nor `trigger` says when the flow starts".into());
        }
        _ => return Err("`start` and `trigger` are given: a flow has one of them".into()),
    };
    let bytes = options.get("size").ok_or("`size` is missing")?;
    let bytes = whole("size", bytes)?;
    if bytes == 0 {
        return Err("`size` is 0, which means endless in htsim: it must be above 0".into());
    }
    let send_done = id(options, "send_done_trigger")?;
    let recv_done = id(options, "recv_done_trigger")?;
    Ok(CmFlow {
        line,
        src,
        dst,
        bytes,
        begin,
        send_done,
        recv_done,
        prio: number(options, "prio")?,
    })
}

/// `id k oneshot|multishot|barrier [count n]`, in any order.
fn trigger(words: &[&str]) -> Result<(u32, Shots), String> {
    let is_kind = |word: &&&str| matches!(**word, "oneshot" | "multishot" | "barrier");
    let kinds: Vec<&str> = words.iter().filter(is_kind).copied().collect();
    let rest: Vec<&str> = words.iter().filter(|word| !is_kind(word)).copied().collect();
    let options = pairs(&rest, &["id", "count"])?;
    let id = id(&options, "id")?.ok_or("a trigger needs its `id`")?;
    match (&kinds[..], number(&options, "count")?) {
        (["barrier"], Some(count)) if count > 0 => Ok((id, Shots::Barrier(count))),
        (["barrier"], _) => Err("a `barrier` needs a `count` of at least 1".into()),
        ([kind], Some(_)) => Err(format!("`count` is for a `barrier`: this trigger is {kind}")),
        (["oneshot"], None) => Ok((id, Shots::Oneshot)),
        (["multishot"], None) => Ok((id, Shots::Multishot)),
        _ => Err("a trigger is one of `oneshot`, `multishot`, `barrier`".into()),
    }
}

/// `switch_type AGG switch_id n link_id n`: htsim does not support failures of other switches.
fn failure(words: &[&str]) -> Result<(u32, u32), String> {
    let options = pairs(words, &["switch_type", "switch_id", "link_id"])?;
    match options.get("switch_type").copied() {
        Some("AGG") => {}
        Some(other) => {
            return Err(format!(
                "`switch_type` {other}: htsim removes uplinks of AGG switches only"
            ));
        }
        None => return Err("`switch_type` is missing: expected AGG".into()),
    }
    let given = |name| number(&options, name)?.ok_or_else(|| format!("`{name}` is missing"));
    Ok((given("switch_id")?, given("link_id")?))
}

/// Checks that every trigger named by a flow exists.
fn references(matrix: &Matrix) -> Result<(), LineError> {
    for flow in &matrix.flows {
        let started = match flow.begin {
            Begin::On(trigger) => Some(trigger),
            Begin::At(_) => None,
        };
        let named = [started, flow.send_done, flow.recv_done];
        if let Some(id) = named.iter().flatten().find(|id| !matrix.triggers.contains_key(id)) {
            let message = format!("trigger {id} is not in the file: add `trigger id {id} oneshot`");
            return Err(LineError { line: flow.line, message });
        }
    }
    Ok(())
}

fn host(text: &str, nodes: u32) -> Result<u32, String> {
    let host = whole("host", text)?;
    if host < nodes {
        Ok(host)
    } else {
        Err(format!("host {host}: the file announces {nodes} nodes"))
    }
}

fn unknown(word: &str) -> String {
    format!("`{word}`: expected a line `src->dst ...`, `trigger ...` or `failure ...`")
}

#[cfg(test)]
mod tests;
