//! Schedules in the GOAL language (Hoefler, Siebert, Lumsdaine, ICPP 2009), as LogGOPSim and ATLAHS
//! write them as text: what each rank of a parallel program computes, sends and receives, and in
//! which order.
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//! l1: calc 1000
//! l2: send 8b to 1 tag 5
//! l2 requires l1
//! }
//! rank 1 {
//! l1: recv 8b from 0 tag 5
//! }
//! ```
//!
//! `goal_traffic` converts a program into traffic.

use super::decimal;
use super::text::LineError;
use std::collections::{BTreeMap, VecDeque};

/// An action of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Computes for a time in nanoseconds, on the processor of the given number.
    Calc {
        /// The time.
        ns: u64,
        /// The processor.
        cpu: u8,
    },
    /// Sends a message.
    Send {
        /// Its size.
        bytes: u64,
        /// The rank that receives it.
        to: u32,
        /// The tag for matching.
        tag: u32,
    },
    /// Waits for a message.
    Recv {
        /// Room for it: at least its size.
        bytes: u64,
        /// The rank that sends it.
        from: u32,
        /// The tag for matching.
        tag: u32,
    },
}

/// An operation of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Op {
    /// Its line.
    pub line: usize,
    /// The rank that does it.
    pub rank: u32,
    /// The action.
    pub act: Act,
}

/// A dependency between two operations of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Need {
    /// The operation that waits: an index into [`Program::ops`].
    pub op: u32,
    /// The operation that it waits for.
    pub on: u32,
    /// Whether it waits for the beginning (`irequires`) and not for the end (`requires`).
    pub begun: bool,
}

/// A program that can run to its end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Number of ranks.
    pub ranks: u32,
    /// All operations, rank by rank in the order of the file.
    pub ops: Vec<Op>,
    /// The dependencies within ranks.
    pub needs: Vec<Need>,
    /// For each message, the operations that send and receive it.
    pub messages: Vec<(u32, u32)>,
}

fn wrong(line: usize, message: impl Into<String>) -> LineError {
    LineError { line, message: message.into() }
}

/// Reads a program. Every message must be sent and received, and no operation may wait for itself.
pub fn parse(text: &str) -> Result<Program, LineError> {
    let mut reader = Reader::default();
    let mut comment = None;
    let mut end = 1;
    for (at, line) in text.lines().enumerate() {
        let line = without_comments(line, at + 1, &mut comment);
        end = at + 1;
        reader.number = end;
        reader.line(&line).map_err(|message| wrong(reader.number, message))?;
    }
    if let Some(line) = comment {
        return Err(wrong(line, "this comment has no end: expected `*/`"));
    }
    if let Some((rank, line)) = reader.open {
        return Err(wrong(end, format!("rank {rank}, line {line}, has no end: expected `}}`")));
    }
    let Some(ranks) = reader.ranks else {
        return Err(wrong(end, "expected `num_ranks <number>` at the beginning"));
    };
    let mut program = Program { ranks, ops: reader.ops, needs: reader.needs, messages: vec![] };
    program.messages = matched(&program.ops)?;
    ends(&program)?;
    Ok(program)
}

/// `line` without `// ...` and `/* ... */`; `open` is the line at which an open comment began.
fn without_comments(line: &str, number: usize, open: &mut Option<usize>) -> String {
    let (mut rest, mut out) = (line, String::new());
    loop {
        if open.is_some() {
            let Some(at) = rest.find("*/") else { return out };
            (*open, rest) = (None, &rest[at + 2..]);
            out.push(' ');
        }
        let line_comment = rest.find("//").unwrap_or(rest.len());
        match rest.find("/*").filter(|at| *at < line_comment) {
            Some(at) => {
                out.push_str(&rest[..at]);
                (*open, rest) = (Some(number), &rest[at + 2..]);
            }
            None => {
                out.push_str(&rest[..line_comment]);
                return out;
            }
        }
    }
}

#[derive(Default)]
struct Reader {
    /// The line being read, or the line with the error.
    number: usize,
    ranks: Option<u32>,
    /// The rank being read and its line.
    open: Option<(u32, usize)>,
    /// Line of each rank read.
    seen: BTreeMap<u32, usize>,
    labels: BTreeMap<String, u32>,
    /// Dependencies of the open rank by label, with their lines.
    waiting: Vec<(usize, String, String, bool)>,
    ops: Vec<Op>,
    needs: Vec<Need>,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let spaced = line.replace('{', " { ").replace('}', " } ").replace(':', " : ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        match (&words[..], self.open, self.ranks) {
            ([], ..) => Ok(()),
            (["num_ranks", count], None, None) => {
                self.ranks = Some(small("num_ranks", count)?);
                Ok(())
            }
            (_, None, None) => Err("expected `num_ranks <number>` at the beginning".into()),
            (["rank", rank, "{"], None, Some(ranks)) => self.begin(small("rank", rank)?, ranks),
            (["}"], Some(_), _) => self.end(),
            (_, None, _) => Err(format!("`{}`: expected `rank <number> {{`", line.trim())),
            ([a, "requires", b], ..) => self.wait(a, b, false),
            ([a, "irequires", b], ..) => self.wait(a, b, true),
            ([label, ":", act @ ..], Some((rank, _)), _) => {
                let op = self.ops.len() as u32;
                if self.labels.insert(identifier(label)?, op).is_some() {
                    return Err(format!("label `{label}` is given twice in this rank"));
                }
                self.op(rank, act)
            }
            (act, Some((rank, _)), _) => self.op(rank, act),
        }
    }

    fn begin(&mut self, rank: u32, ranks: u32) -> Result<(), String> {
        if rank >= ranks {
            return Err(format!("rank {rank}: there are ranks 0 to {}", ranks.max(1) - 1));
        }
        if let Some(line) = self.seen.insert(rank, self.number) {
            return Err(format!("rank {rank} is already in line {line}"));
        }
        self.open = Some((rank, self.number));
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        for (line, op, on, begun) in std::mem::take(&mut self.waiting) {
            // Errors belong to that line.
            self.number = line;
            let find = |label: &String| {
                let found = self.labels.get(label).copied();
                found.ok_or_else(|| format!("`{label}` is not a label of this rank"))
            };
            self.needs.push(Need { op: find(&op)?, on: find(&on)?, begun });
        }
        self.labels.clear();
        self.open = None;
        Ok(())
    }

    fn wait(&mut self, op: &str, on: &str, begun: bool) -> Result<(), String> {
        self.waiting.push((self.number, identifier(op)?, identifier(on)?, begun));
        Ok(())
    }

    fn op(&mut self, rank: u32, words: &[&str]) -> Result<(), String> {
        let act = act(words)?;
        let (peer, ranks) = (peer(&act), self.ranks.unwrap_or_default());
        if let Some(peer) = peer.filter(|peer| *peer >= ranks || *peer == rank) {
            return Err(match peer == rank {
                true => format!("a message from rank {rank} to itself: expected two ranks"),
                false => format!("rank {peer}: there are ranks 0 to {}", ranks.max(1) - 1),
            });
        }
        self.ops.push(Op { line: self.number, rank, act });
        Ok(())
    }
}

fn peer(act: &Act) -> Option<u32> {
    match *act {
        Act::Calc { .. } => None,
        Act::Send { to: peer, .. } | Act::Recv { from: peer, .. } => Some(peer),
    }
}

/// A letter, then letters, digits and underscores.
fn identifier(text: &str) -> Result<String, String> {
    let letter = text.starts_with(|c: char| c.is_ascii_alphabetic());
    if letter && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Ok(text.to_string());
    }
    Err(format!("`{text}` is not a label: expected a letter, then letters, digits or `_`"))
}

fn act(words: &[&str]) -> Result<Act, String> {
    match *words {
        ["calc", ns, ref rest @ ..] => {
            let [cpu] = options(rest, ["cpu"])?;
            Ok(Act::Calc { ns: number("calc", ns)?, cpu: cpu.unwrap_or(0) as u8 })
        }
        ["send", size, "to", to, ref rest @ ..] => {
            let [tag, ..] = options(rest, ["tag", "cpu", "nic"])?;
            Ok(Act::Send { bytes: bytes(size)?, to: rank(to)?, tag: tag.unwrap_or(0) })
        }
        ["recv", size, "from", from, ref rest @ ..] => {
            let [tag, ..] = options(rest, ["tag", "cpu", "nic"])?;
            Ok(Act::Recv { bytes: bytes(size)?, from: rank(from)?, tag: tag.unwrap_or(0) })
        }
        _ => Err(format!(
            "`{}`: expected `calc <ns>`, `send <size>b to <rank>`, `recv <size>b from <rank>` or \
             `<label> requires <label>`",
            words.join(" ")
        )),
    }
}

/// `name number` pairs, each at most once.
fn options<const N: usize>(words: &[&str], known: [&str; N]) -> Result<[Option<u32>; N], String> {
    let mut found = [None; N];
    for pair in words.chunks(2) {
        let Some(at) = known.iter().position(|name| *name == pair[0]) else {
            return Err(format!("`{}` is not known here: expected {}", pair[0], known.join(", ")));
        };
        let value = pair.get(1).ok_or_else(|| format!("`{}` has no value", pair[0]))?;
        if *value == "-1" {
            return Err(format!("`{} -1`: messages of any {} are not supported", pair[0], pair[0]));
        }
        let value: u32 = small(pair[0], value)?;
        if pair[0] != "tag" && value > 255 {
            return Err(format!("`{}` is {value}: expected 0 to 255", pair[0]));
        }
        if found[at].replace(value).is_some() {
            return Err(format!("`{}` is given twice", pair[0]));
        }
    }
    Ok(found)
}

fn rank(text: &str) -> Result<u32, String> {
    if text == "-1" {
        return Err("`from -1`: messages from any rank are not supported".into());
    }
    small("rank", text)
}

fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.strip_suffix('b');
    let digits = digits.ok_or_else(|| format!("size `{text}`: expected bytes, such as `8b`"))?;
    number("size", digits)
}

fn number(what: &str, text: &str) -> Result<u64, String> {
    let number = decimal::whole(text.as_bytes());
    number.ok_or_else(|| format!("{what} `{text}`: expected a whole number"))
}

fn small(what: &str, text: &str) -> Result<u32, String> {
    let small = number(what, text)?;
    u32::try_from(small).map_err(|_| format!("{what} {small}: at most {}", u32::MAX))
}

/// Matches the n-th send with the n-th receive of the same two ranks and tag.
fn matched(ops: &[Op]) -> Result<Vec<(u32, u32)>, LineError> {
    let mut waiting: BTreeMap<(u32, u32, u32), VecDeque<u32>> = BTreeMap::new();
    for (at, op) in (0..).zip(ops) {
        if let Act::Recv { from, tag, .. } = op.act {
            waiting.entry((from, op.rank, tag)).or_default().push_back(at);
        }
    }
    let mut messages = Vec::new();
    for (at, op) in (0..).zip(ops) {
        let Act::Send { bytes, to, tag } = op.act else { continue };
        let receive = waiting.get_mut(&(op.rank, to, tag)).and_then(VecDeque::pop_front);
        let Some(receive) = receive else {
            return Err(wrong(op.line, format!("rank {to} has no receive for this message")));
        };
        let Op { line, act, .. } = ops[receive as usize];
        if let Act::Recv { bytes: room, .. } = act
            && room < bytes
        {
            let why = format!("room for {room} bytes, but line {} sends {bytes}", op.line);
            return Err(wrong(line, why));
        }
        messages.push((at, receive));
    }
    match waiting.values().flatten().min() {
        None => Ok(messages),
        Some(receive) => Err(wrong(
            ops[*receive as usize].line,
            "no rank sends this message: the receive would wait forever",
        )),
    }
}

/// Refuses programs in which some operation would wait for itself.
fn ends(program: &Program) -> Result<(), LineError> {
    let needs = program.needs.iter().map(|need| (need.on, need.op));
    let edges: Vec<(u32, u32)> = needs.chain(program.messages.iter().copied()).collect();
    let mut missing = vec![0u32; program.ops.len()];
    let mut first = vec![0u32; program.ops.len() + 1];
    for (from, to) in &edges {
        missing[*to as usize] += 1;
        first[*from as usize + 1] += 1;
    }
    (1..first.len()).for_each(|at| first[at] += first[at - 1]);
    let mut place = first.clone();
    let mut after = vec![0; edges.len()];
    for (from, to) in edges {
        after[place[from as usize] as usize] = to;
        place[from as usize] += 1;
    }
    let mut done: Vec<u32> =
        (0..missing.len() as u32).filter(|op| missing[*op as usize] == 0).collect();
    while let Some(op) = done.pop() {
        for &next in &after[first[op as usize] as usize..first[op as usize + 1] as usize] {
            missing[next as usize] -= 1;
            if missing[next as usize] == 0 {
                done.push(next);
            }
        }
    }
    match missing.iter().position(|count| *count > 0) {
        None => Ok(()),
        Some(op) => Err(wrong(
            program.ops[op].line,
            "this operation waits for itself, directly or through others",
        )),
    }
}
