//! The connection matrix of the htsim simulator (`.cm`), as data.
//!
//! `Nodes N`, `Connections M`, perhaps `Triggers T` and `Failures F`; then M lines
//! `src->dst [id n] start t | trigger k size b [send_done_trigger k] [recv_done_trigger k] [prio p]`,
//! T lines `trigger id k oneshot|multishot|barrier [count n]` and F lines
//! `failure switch_type AGG switch_id n link_id n`, in any order. Their meaning is in
//! `cm_traffic`. Anything else is refused, not skipped, because the run would not be the intended one.

use super::decimal;
use super::text::{LineError, whole};
use serde::{Deserialize, Serialize};
use slotline_base::time::Time;
use std::collections::{BTreeMap, BTreeSet};

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
#[derive(Clone, Debug, Default, PartialEq)]
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

impl CmFlow {
    /// The triggers that it names.
    pub(super) fn triggers(&self) -> impl Iterator<Item = u32> {
        let started = match self.begin {
            Begin::On(trigger) => Some(trigger),
            Begin::At(_) => None,
        };
        [started, self.send_done, self.recv_done].into_iter().flatten()
    }

    /// Checks that the triggers that it names are `known`.
    pub(super) fn check_triggers(&self, known: impl Fn(u32) -> bool) -> Result<(), LineError> {
        let Some(id) = self.triggers().find(|id| !known(*id)) else { return Ok(()) };
        let message = format!("trigger {id} is not in the file: add `trigger id {id} oneshot`");
        Err(LineError { line: self.line, message })
    }
}

impl Matrix {
    /// Adds the item of a line.
    pub(super) fn add(&mut self, item: Item) -> Result<(), String> {
        match item {
            Item::Flow(flow) => self.flows.push(flow),
            Item::Failure(failure) => self.failures.push(failure),
            Item::Trigger(id, trigger) => {
                if let Some(before) = self.triggers.insert(id, trigger) {
                    return Err(format!("trigger {id} is already in line {}", before.line));
                }
            }
        }
        Ok(())
    }

    /// Checks that every trigger named by a flow exists.
    pub(super) fn check_references(&self) -> Result<(), LineError> {
        let known = |id| self.triggers.contains_key(&id);
        self.flows.iter().try_for_each(|flow| flow.check_triggers(known))
    }

    /// A class for each of the priorities.
    pub fn classes(&self) -> Result<BTreeMap<u32, u8>, LineError> {
        let mut found = Priorities::default();
        for flow in &self.flows {
            let added = flow.prio.map_or(Ok(()), |prio| found.add(prio));
            added.map_err(|message| LineError { line: flow.line, message })?;
        }
        Ok(found.classes())
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

/// The priorities of the flows of a matrix.
#[derive(Clone, Debug, Default)]
pub struct Priorities(BTreeSet<u32>);

impl Priorities {
    /// Adds the priority of a flow.
    ///
    /// # Errors
    /// There are more priorities than classes.
    pub fn add(&mut self, prio: u32) -> Result<(), String> {
        self.0.insert(prio);
        match self.0.len() {
            0..=8 => Ok(()),
            _ => Err(format!("prio {prio} is the ninth: there are 8 classes")),
        }
    }

    /// A class for each of the priorities: the lowest number is served first.
    pub fn classes(self) -> BTreeMap<u32, u8> {
        self.0.into_iter().zip((0..8).rev()).collect()
    }
}

/// A line below the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    /// A flow.
    Flow(CmFlow),
    /// A trigger with its id.
    Trigger(u32, CmTrigger),
    /// A link that is absent.
    Failure(Failure),
}

/// The counts in the header, with their lines: nodes, connections, triggers, failures.
type Header = [Option<(u32, usize)>; 4];
const HEADER: [&str; 4] = ["Nodes", "Connections", "Triggers", "Failures"];

/// Reads a connection matrix, one line after another: a file need not be in memory as a whole.
#[derive(Clone, Debug)]
pub struct Reader {
    unit: TimeUnit,
    header: Header,
    in_header: bool,
    /// The flows, triggers and failures so far.
    found: [u64; 3],
    /// The number of the last line with text.
    last: usize,
}

impl Reader {
    /// A reader that has read nothing.
    pub fn new(unit: TimeUnit) -> Reader {
        Reader { unit, header: Header::default(), in_header: true, found: [0; 3], last: 1 }
    }

    /// Reads line `number`, without its line break.
    pub fn line(&mut self, number: usize, line: &[u8]) -> Result<Option<Item>, String> {
        let line = str::from_utf8(line).map_err(|_| "the line is not text in UTF-8")?;
        let mut words = line.split_ascii_whitespace();
        let Some(first) = words.next().filter(|word| !word.starts_with('#')) else {
            return Ok(None);
        };
        self.last = number;
        self.in_header =
            self.in_header && announce(&mut self.header, number, first, words.clone())?;
        if self.in_header {
            return Ok(None);
        }
        let item = item(complete(&self.header)?, number, first, words, self.unit)?;
        self.found[match item {
            Item::Flow(_) => 0,
            Item::Trigger(..) => 1,
            Item::Failure(_) => 2,
        }] += 1;
        Ok(Some(item))
    }

    /// The number of hosts, once an item was read.
    pub fn nodes(&self) -> u32 {
        self.header[0].unwrap_or_default().0
    }

    /// Whether the header announces triggers.
    pub fn has_triggers(&self) -> bool {
        self.header[2].is_some_and(|(count, _)| count > 0)
    }

    /// Checks at the end of the file that nothing is missing.
    pub fn end(&self) -> Result<(), LineError> {
        let all = complete(&self.header).and_then(|_| as_announced(&self.found, &self.header));
        all.map_err(|message| LineError { line: self.last, message })
    }
}

/// Reads a connection matrix.
pub fn parse(text: &str, unit: TimeUnit) -> Result<Matrix, LineError> {
    let mut reader = Reader::new(unit);
    let mut matrix = Matrix::default();
    for (number, line) in (1..).zip(text.lines()) {
        let wrong = |message| LineError { line: number, message };
        if let Some(item) = reader.line(number, line.as_bytes()).map_err(wrong)? {
            matrix.add(item).map_err(wrong)?;
        }
    }
    reader.end()?;
    matrix.nodes = reader.nodes();
    matrix.check_references()?;
    Ok(matrix)
}

/// Reads a line of the header. Returns whether it was one.
fn announce<'a>(
    header: &mut Header,
    line: usize,
    word: &str,
    mut rest: impl Iterator<Item = &'a str>,
) -> Result<bool, String> {
    let (Some(count), None) = (rest.next(), rest.next()) else { return Ok(false) };
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

fn as_announced(found: &[u64; 3], header: &Header) -> Result<(), String> {
    for ((word, announced), found) in HEADER.iter().zip(header).skip(1).zip(found) {
        let announced = announced.unwrap_or_default().0;
        if u64::from(announced) != *found {
            return Err(format!(
                "{announced} {} announced, {found} found: the file is truncated or edited",
                word.to_lowercase()
            ));
        }
    }
    Ok(())
}

fn item<'a>(
    nodes: u32,
    line: usize,
    first: &str,
    rest: impl Iterator<Item = &'a str>,
    unit: TimeUnit,
) -> Result<Item, String> {
    match first {
        "trigger" => {
            let (id, shots) = trigger(rest)?;
            Ok(Item::Trigger(id, CmTrigger { line, shots }))
        }
        "failure" => {
            let (switch, link) = failure(rest)?;
            Ok(Item::Failure(Failure { line, switch, link }))
        }
        pair => {
            let (src, dst) = pair.split_once("->").ok_or_else(|| unknown(pair))?;
            let (src, dst) = (host(src, nodes)?, host(dst, nodes)?);
            if src == dst {
                return Err(format!("host {src} would send to itself"));
            }
            Ok(Item::Flow(flow(line, src, dst, rest, unit)?))
        }
    }
}

const FLOW_WORDS: [&str; 7] =
    ["id", "start", "trigger", "size", "send_done_trigger", "recv_done_trigger", "prio"];

/// The values of `name value` pairs, each name at most once and one of `known`.
fn pairs<'a, const N: usize>(
    mut words: impl Iterator<Item = &'a str>,
    known: [&str; N],
) -> Result<[Option<&'a str>; N], String> {
    let mut found = [None; N];
    while let Some(name) = words.next() {
        let Some(at) = known.iter().position(|known| *known == name) else {
            return Err(format!("`{name}` is not known here: expected {}", known.join(", ")));
        };
        let value = words.next().ok_or_else(|| format!("`{name}` has no value"))?;
        if found[at].replace(value).is_some() {
            return Err(format!("`{name}` is given twice"));
        }
    }
    Ok(found)
}

fn number(name: &str, text: Option<&str>) -> Result<Option<u32>, String> {
    text.map(|text| whole(name, text)).transpose()
}

/// A number from 1: htsim takes 0 for "none".
fn id(name: &str, text: Option<&str>) -> Result<Option<u32>, String> {
    match number(name, text)? {
        Some(0) => Err(format!("`{name}` is 0: ids count from 1")),
        id => Ok(id),
    }
}

fn flow<'a>(
    line: usize,
    src: u32,
    dst: u32,
    words: impl Iterator<Item = &'a str>,
    unit: TimeUnit,
) -> Result<CmFlow, String> {
    let [own, start, trigger, size, send_done, recv_done, prio] = pairs(words, FLOW_WORDS)?;
    id("id", own)?;
    let begin = match (start, id("trigger", trigger)?) {
        (Some(start), None) => Begin::At(unit.time(start)?),
        (None, Some(trigger)) => Begin::On(trigger),
        (None, None) => {
            return Err("neither `start` nor `trigger` says when the flow starts".into());
        }
        _ => return Err("`start` and `trigger` are given: a flow has one of them".into()),
    };
    let bytes = whole("size", size.ok_or("`size` is missing")?)?;
    if bytes == 0 {
        return Err("`size` is 0, which means endless in htsim: it must be above 0".into());
    }
    let send_done = id("send_done_trigger", send_done)?;
    let recv_done = id("recv_done_trigger", recv_done)?;
    Ok(CmFlow { line, src, dst, bytes, begin, send_done, recv_done, prio: number("prio", prio)? })
}

/// `id k oneshot|multishot|barrier [count n]`, in any order.
fn trigger<'a>(words: impl Iterator<Item = &'a str>) -> Result<(u32, Shots), String> {
    let (kinds, rest): (Vec<&str>, Vec<&str>) =
        words.partition(|word| matches!(*word, "oneshot" | "multishot" | "barrier"));
    let [own, count] = pairs(rest.into_iter(), ["id", "count"])?;
    let id = id("id", own)?.ok_or("a trigger needs its `id`")?;
    match (&kinds[..], number("count", count)?) {
        (["barrier"], Some(count)) if count > 0 => Ok((id, Shots::Barrier(count))),
        (["barrier"], _) => Err("a `barrier` needs a `count` of at least 1".into()),
        ([kind], Some(_)) => Err(format!("`count` is for a `barrier`: this trigger is {kind}")),
        (["oneshot"], None) => Ok((id, Shots::Oneshot)),
        (["multishot"], None) => Ok((id, Shots::Multishot)),
        _ => Err("a trigger is one of `oneshot`, `multishot`, `barrier`".into()),
    }
}

/// `switch_type AGG switch_id n link_id n`: htsim does not support failures of other switches.
fn failure<'a>(words: impl Iterator<Item = &'a str>) -> Result<(u32, u32), String> {
    let [kind, switch, link] = pairs(words, ["switch_type", "switch_id", "link_id"])?;
    match kind {
        Some("AGG") => {}
        Some(other) => {
            return Err(format!(
                "`switch_type` {other}: htsim removes uplinks of AGG switches only"
            ));
        }
        None => return Err("`switch_type` is missing: expected AGG".into()),
    }
    let given = |name, text| number(name, text)?.ok_or_else(|| format!("`{name}` is missing"));
    Ok((given("switch_id", switch)?, given("link_id", link)?))
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
