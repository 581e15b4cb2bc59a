//! Topology files of HPCC's ns-3 simulator.

use super::draft::{Draft, Edge, Node, Role, Speed};
use super::{Fabric, ReadError};
use crate::error::FormatError;
use crate::tree::short;
use slotline_net::time::Time;
use slotline_net::topology::GraphSpec;
use slotline_net::units::Rate;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn read(text: &str, asked: &GraphSpec) -> Result<Fabric, ReadError> {
    let mut tokens = Tokens::new(text);
    let header = Header::read(&mut tokens)?;
    let switches = switch_ids(&mut tokens, &header)?;
    let edges: Vec<Edge> =
        (0..header.links).map(|_| link(&mut tokens, &header)).collect::<Result<_, _>>()?;
    let mut draft = Draft::new([""; 3]);
    let lines = first_lines(&edges);
    for id in (0..header.nodes).map(|id| id.to_string()) {
        let (role, letter) =
            if switches.contains(&id) { (Role::Switch, 's') } else { (Role::Host, 'h') };
        let line = lines.get(id.as_str()).copied().unwrap_or(1);
        draft.node(Node { name: format!("{letter}{id}"), id, line, role })?;
    }
    edges.into_iter().try_for_each(|edge| draft.link(edge))?;
    tokens.rest(&mut draft);
    draft.finish(asked)
}

/// The numbers in the first line.
struct Header {
    nodes: u64,
    switches: u64,
    links: u64,
}

impl Header {
    fn read(tokens: &mut Tokens<'_>) -> Result<Header, FormatError> {
        let hint =
            "the first line has the numbers of nodes, of switches and of links, such as `66 1 65`";
        let [nodes, switches, links] = ["nodes", "switches", "links"]
            .map(|of| tokens.number(&format!("number of {of}"), hint));
        let (nodes, switches, links) = (nodes?, switches?, links?);
        if nodes <= links + 1 && switches <= nodes {
            return Ok(Header { nodes, switches, links });
        }
        tokens.fail(format!(
            "{nodes} nodes, {switches} of them switches, cannot be connected by {links} links; {hint}"
        ))
    }
}

/// The line in which a node is first linked.
fn first_lines(edges: &[Edge]) -> BTreeMap<&str, usize> {
    let ends = edges.iter().rev().flat_map(|edge| [(&*edge.a, edge.line), (&*edge.b, edge.line)]);
    ends.collect()
}

fn switch_ids(tokens: &mut Tokens<'_>, header: &Header) -> Result<BTreeSet<String>, FormatError> {
    let hint = format!("the ids of all {} switches come after the first line", header.switches);
    let mut ids = BTreeSet::new();
    for _ in 0..header.switches {
        let id = tokens.id(header.nodes, &hint)?;
        if !ids.insert(id.clone()) {
            return tokens.fail(format!("switch {id} is listed twice"));
        }
    }
    Ok(ids)
}

fn link(tokens: &mut Tokens<'_>, header: &Header) -> Result<Edge, FormatError> {
    let hint = format!(
        "after the ids of all switches, each of the {} links has two nodes, a rate, a delay and an error \
         rate",
        header.links
    );
    let a = tokens.id(header.nodes, &hint)?;
    let line = tokens.line;
    let b = tokens.id(header.nodes, &hint)?;
    let speed = Speed { rate: Some(rate(tokens, &hint)?), delay: Some(delay(tokens, &hint)?) };
    no_loss(tokens, &hint)?;
    Ok(Edge { a, b, line, speed })
}

fn rate(tokens: &mut Tokens<'_>, hint: &str) -> Result<Rate, FormatError> {
    let text = tokens.next("rate", hint)?;
    let example = "expected for example `100Gbps`";
    data_rate(text).map_or_else(
        || tokens.fail(format!("`{}` is not a rate: {example}; {hint}", short(text))),
        Ok,
    )
}

fn delay(tokens: &mut Tokens<'_>, hint: &str) -> Result<Time, FormatError> {
    let text = tokens.next("delay", hint)?;
    text.parse().or_else(|error| tokens.fail(format!("the delay: {error}; {hint}")))
}

fn no_loss(tokens: &mut Tokens<'_>, hint: &str) -> Result<(), FormatError> {
    let text = tokens.next("error rate", hint)?;
    match text.parse::<f64>() {
        Ok(0.0) => Ok(()),
        Ok(loss) if loss > 0.0 && loss <= 1.0 => tokens.fail(format!(
            "error rate {loss}: packets are never lost by chance here, only in full queues and on failed \
             links; set it to 0"
        )),
        _ => tokens.fail(format!("`{}` is not an error rate: expected 0; {hint}", short(text))),
    }
}

const PREFIXES: [(&str, f64); 9] = [
    ("", 1.0),
    ("k", 1e3),
    ("K", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("Ki", 1024.0),
    ("Mi", 1048576.0),
    ("Gi", 1073741824.0),
];

/// A rate as ns-3 writes it: `bps` or `b/s` are bits, `Bps` or `B/s` bytes; k, M, G and T are powers of
/// 1000, with an i of 1024.
fn data_rate(text: &str) -> Option<Rate> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(split);
    let (prefix, bits) = [("bps", 1.0), ("b/s", 1.0), ("Bps", 8.0), ("B/s", 8.0)]
        .into_iter()
        .find_map(|(unit_, bits)| Some((unit.strip_suffix(unit_)?, bits)))?;
    let (_, scale) = PREFIXES.iter().find(|(name, _)| *name == prefix)?;
    let rate = (number.parse::<f64>().ok()? * scale * bits).round();
    (rate < 1e19).then_some(Rate(rate as u64))
}

/// The tokens of a file, as its simulator reads them, with the line of the latest one.
struct Tokens<'a> {
    tokens: std::iter::Peekable<Box<dyn Iterator<Item = (usize, &'a str)> + 'a>>,
    line: usize,
}

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Tokens<'a> {
        let line = |(line, text): (usize, &'a str)| {
            text.split_whitespace().map(move |word| (line + 1, word))
        };
        let tokens: Box<dyn Iterator<Item = _>> = Box::new(text.lines().enumerate().flat_map(line));
        Tokens { tokens: tokens.peekable(), line: 1 }
    }

    fn fail<T>(&self, why: String) -> Result<T, FormatError> {
        Err(FormatError::new(self.line, why))
    }

    fn next(&mut self, what: &str, hint: &str) -> Result<&'a str, FormatError> {
        match self.tokens.next() {
            Some((line, word)) => {
                self.line = line;
                Ok(word)
            }
            None => self.fail(format!("the file ends where the {what} should be: {hint}")),
        }
    }

    fn number(&mut self, what: &str, hint: &str) -> Result<u64, FormatError> {
        let word = self.next(what, hint)?;
        match word.parse::<u32>() {
            Ok(number) => Ok(number.into()),
            Err(_) => self.fail(format!("`{}` is not a {what}: {hint}", short(word))),
        }
    }

    fn id(&mut self, nodes: u64, hint: &str) -> Result<String, FormatError> {
        let id = self.number("node", hint)?;
        if id < nodes {
            return Ok(id.to_string());
        }
        let last = nodes.saturating_sub(1);
        self.fail(format!("node {id} does not exist: nodes are 0 to {last}; {hint}"))
    }

    /// Notes what comes after the last link: remarks, or further links. The simulator ignores it.
    fn rest(&mut self, draft: &mut Draft) {
        let rest: Vec<(usize, &str)> = self.tokens.by_ref().collect();
        let is_link = |line: &&[(usize, &str)]| {
            line.len() >= 5 && line[..2].iter().all(|(_, word)| word.parse::<u32>().is_ok())
        };
        let more = rest.chunk_by(|a, b| a.0 == b.0).filter(is_link).count();
        if let Some((line, _)) = rest.first() {
            draft.unread.insert(match more {
                0 => format!("text after the last link, from line {line} on"),
                _ => format!("{more} links more than the first line counts, from line {line} on"),
            });
        }
    }
}
