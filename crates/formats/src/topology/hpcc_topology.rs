//! Topology files of HPCC's ns-3 simulator.

use super::draft::{Draft, Edge, Node, Role, Speed};
use super::{Fabric, ReadError};
use crate::error::FormatError;
use crate::tree::short;
use slotline_net::time::Time;
use slotline_net::topology::GraphSpec;
use slotline_net::units::Rate;
use std::collections::BTreeSet;

pub(super) fn read(text: &str, asked: &GraphSpec) -> Result<Fabric, ReadError> {
    let mut words = Words::new(text);
    let header = "the first line has the numbers of nodes, of switches and of links, as `66 1 65`";
    let nodes: u64 = words.number("number of nodes", header)?;
    let switches: u64 = words.number("number of switches", header)?;
    let links: u64 = words.number("number of links", header)?;
    if nodes > links + 1 || switches > nodes {
        let message = format!(
            "{nodes} nodes, {switches} of them switches, cannot hang together with {links} links; {header}"
        );
        return Err(FormatError::new(words.line, message).into());
    }
    let ids = switch_ids(&mut words, nodes, switches)?;
    let mut draft = Draft::new([""; 3]);
    let line = words.line;
    let mut lines = vec![line; nodes as usize];
    let mut edges = Vec::new();
    for _ in 0..links {
        let edge = link(&mut words, nodes, links)?;
        for (end, name) in [(&edge.a, edge.line), (&edge.b, edge.line)] {
            if let Some(known) = end.parse::<usize>().ok().and_then(|at| lines.get_mut(at)) {
                *known = if *known == line { name } else { *known };
            }
        }
        edges.push(edge);
    }
    for (id, line) in (0..).zip(lines) {
        let (role, letter) =
            if ids.contains(&id) { (Role::Switch, 's') } else { (Role::Host, 'h') };
        draft.node(Node { id: id.to_string(), name: format!("{letter}{id}"), line, role })?;
    }
    edges.into_iter().try_for_each(|edge| draft.link(edge))?;
    words.rest(&mut draft)?;
    draft.finish(asked)
}

fn switch_ids(words: &mut Words<'_>, nodes: u64, count: u64) -> Result<BTreeSet<u64>, FormatError> {
    let mut ids = BTreeSet::new();
    for _ in 0..count {
        let id = words
            .id(nodes, &format!("the ids of all {count} switches come after the first line"))?;
        if !ids.insert(id) {
            return words.fail(format!("switch {id} is listed twice"));
        }
    }
    Ok(ids)
}

fn link(words: &mut Words<'_>, nodes: u64, links: u64) -> Result<Edge, FormatError> {
    let hint = format!(
        "after the ids of all switches, each of the {links} links has two nodes, a rate, a delay and an \
         error rate"
    );
    let a = words.id(nodes, &hint)?;
    let line = words.line;
    let b = words.id(nodes, &hint)?;
    let rate = words.next("rate", &hint)?;
    let Some(rate) = data_rate(rate) else {
        let rate = short(rate);
        return words.fail(format!("`{rate}` is no rate: expected for example `100Gbps`; {hint}"));
    };
    let delay = words.next("delay", &hint)?;
    let delay: Time = delay
        .parse()
        .map_err(|error| FormatError::new(words.line, format!("the delay: {error}; {hint}")))?;
    let loss = words.next("error rate", &hint)?;
    match loss.parse::<f64>() {
        Ok(0.0) => {}
        Ok(loss) if loss > 0.0 && loss <= 1.0 => {
            return words.fail(format!(
                "error rate {loss}: packets are never lost by chance here, only in full queues and on \
                 failed links; set it to 0"
            ));
        }
        _ => return words.fail(format!("`{}` is no error rate: expected 0; {hint}", short(loss))),
    }
    let speed = Speed { rate: Some(rate), delay: Some(delay) };
    Ok(Edge { a: a.to_string(), b: b.to_string(), line, speed })
}

/// A rate as ns-3 writes it: `bps` or `b/s` are bits, `Bps` or `B/s` bytes; k, M, G and T are powers of
/// 1000, with an i of 1024.
fn data_rate(text: &str) -> Option<Rate> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(split);
    let (prefix, bits) = [("bps", 1.0), ("b/s", 1.0), ("Bps", 8.0), ("B/s", 8.0)]
        .into_iter()
        .find_map(|(unit_, bits)| Some((unit.strip_suffix(unit_)?, bits)))?;
    let scale = match prefix {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1024.0,
        "Mi" => 1048576.0,
        "Gi" => 1073741824.0,
        _ => return None,
    };
    let rate = (number.parse::<f64>().ok()? * scale * bits).round();
    (rate < 1e19).then_some(Rate(rate as u64))
}

/// A file as words, as its simulator reads it, with the line of the latest.
struct Words<'a> {
    words: std::iter::Peekable<Box<dyn Iterator<Item = (usize, &'a str)> + 'a>>,
    line: usize,
}

impl<'a> Words<'a> {
    fn new(text: &'a str) -> Words<'a> {
        let line = |(line, text): (usize, &'a str)| {
            text.split_whitespace().map(move |word| (line + 1, word))
        };
        let words: Box<dyn Iterator<Item = _>> = Box::new(text.lines().enumerate().flat_map(line));
        Words { words: words.peekable(), line: 1 }
    }

    fn fail<T>(&self, why: String) -> Result<T, FormatError> {
        Err(FormatError::new(self.line, why))
    }

    fn next(&mut self, what: &str, hint: &str) -> Result<&'a str, FormatError> {
        match self.words.next() {
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
            Err(_) => self.fail(format!("`{}` is no {what}: {hint}", short(word))),
        }
    }

    fn id(&mut self, nodes: u64, hint: &str) -> Result<u64, FormatError> {
        let id = self.number("node", hint)?;
        if id < nodes {
            return Ok(id);
        }
        let last = nodes.saturating_sub(1);
        self.fail(format!("node {id} does not exist: nodes are 0 to {last}; {hint}"))
    }

    /// What comes after the last link: remarks, but no further links.
    fn rest(&mut self, draft: &mut Draft) -> Result<(), FormatError> {
        let rest: Vec<(usize, &str)> = self.words.by_ref().collect();
        for line in rest.chunk_by(|a, b| a.0 == b.0) {
            if line.len() >= 5 && line[..2].iter().all(|(_, word)| word.parse::<u32>().is_ok()) {
                let message = "one link more than the first line says: correct its third number";
                return Err(FormatError::new(line[0].0, message));
            }
        }
        if let Some((line, _)) = rest.first() {
            draft.unread.insert(format!("text after the last link, from line {line} on"));
        }
        Ok(())
    }
}
