//! Messages between hosts, the fabric manager and its controllers under TDMA (Vattikonda et al.,
//! EuroSys 2012, §4 and §5.2): demand and receive buffers, the classes of a round, the slots for distant
//! controllers, and their trigger. `docs/protocol/tdma.md` specifies them. All numbers are big-endian:
//!
//! ```text
//! 0         1         2         3         4
//! | version |  type   |      length       |   of the whole message
//! |              host                     |   that sends or receives it; all ones: all controllers
//! |            sequence                   |   counts the sender's messages with this host
//! |             heard                     |   last sequence from the other side; 0 before the first
//! | body ...
//! ```
//!
//! | type | message | from | body |
//! |---|---|---|---|
//! | 1 | hello | either | |
//! | 2 | leave | host | |
//! | 3 | demand | host | report: u32, part: u16, parts: u16, round: u32, slot: u16, whole: u8, 0: u8, free: u64, count: u16, count of (destination: u32, bytes: u64) |
//! | 4 | reported | manager | report: u32 |
//! | 5 | classes | manager | round: u32, part: u16, parts: u16, next: u16, slots: u16, begins: u32, slot: u32, guard: u32, count: u16, count of (class: u16, from: u16, destination: u32, rate: u64, bytes: u64) |
//! | 6 | ready | host | round: u32 |
//! | 7 | slots | manager | round: u32, part: u16, parts: u16, count: u16, count of (slot: u16, host: u32, class: u16) |
//! | 8 | trigger | manager | round: u32, slot: u16, edge: u8 (1: begins, 2: ends), 0: u8 |

#[cfg(test)]
mod tests;

use slotline_net::id::HostId;
use slotline_net::time::Time;
use slotline_net::units::Rate;
use slotline_net::wire::list;
use slotline_net::wire::{ParseError, Reader};

/// Version of the protocol.
pub const VERSION: u8 = 1;
/// The number of destinations that fit into one [`Demand`] within a 1500-byte frame.
pub const MAX_DEMANDS: usize = 120;
/// The number of classes that fit into one [`Body::Classes`].
pub const MAX_CLASSES: usize = 60;
/// The number of entries that fit into one [`Body::Slots`].
pub const MAX_SLOTS: usize = 184;

const HEADER: usize = 16;

/// A message between a host, or a controller, and the fabric manager.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The host that sends or receives it.
    pub host: HostId,
    /// Counts the messages of one sender about one host, modulo 2³².
    pub seq: u32,
    /// The number of the latest message from the other side when this was sent.
    pub heard: u32,
    /// The content.
    pub body: Body,
}

/// The place of a message in a sequence of messages with one content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// The number of the message, from zero, below `parts`.
    pub part: u16,
    /// The number of messages, at least one.
    pub parts: u16,
}

impl Fragment {
    /// The whole content is in one message.
    pub const ALONE: Fragment = Fragment { part: 0, parts: 1 };
}

/// The waiting bytes of a host, and its room for received bytes (§4.1, §4.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Demand {
    /// Counts the reports of this host; the parts of one report have one number.
    pub report: u32,
    /// Which part of the report this is.
    pub part: Fragment,
    /// The round in whose slot `slot` the report was made. Bytes that are scheduled from that slot on are still counted
    /// in `waiting`.
    pub round: u32,
    /// See `round`.
    pub slot: u16,
    /// Whether destinations that no part of the report lists have no waiting bytes. Otherwise these are unchanged.
    pub whole: bool,
    /// The free bytes of the receive buffer; all ones if it is not limited.
    pub free: u64,
    /// The destinations and all bytes that wait for them, in bytes on the wire; at most [`MAX_DEMANDS`].
    pub waiting: Vec<(HostId, u64)>,
}

/// The times of the slots of a round. They are nanoseconds on the wire, so they are below 4.2 s.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// The slot that begins next when this is sent.
    pub next: u16,
    /// The number of slots of the round.
    pub slots: u16,
    /// How long it takes until slot `next` begins: until the first frame that opens it is sent.
    pub begins: Time,
    /// How long a slot is.
    pub slot: Time,
    /// The unused time after a slot.
    pub guard: Time,
}

/// A class of a host's link in one round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Class {
    /// The number of the class, below 2,048.
    pub class: u16,
    /// The slot from which this holds. Until then the class has its former destination.
    pub from: u16,
    /// The destination of its packets.
    pub dst: HostId,
    /// The highest rate while the class is open; `None` for the rate of the link.
    pub rate: Option<Rate>,
    /// The most bytes that may leave from that slot on: reported bytes for which the receiver has room.
    pub bytes: u64,
}

/// A host's class is open in a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Open {
    /// Counted from zero within the round.
    pub slot: u16,
    /// The sending host.
    pub host: HostId,
    /// The class of its link.
    pub class: u16,
}

/// The beginning or the end of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edge {
    /// The slot begins: its classes are opened.
    Begins,
    /// The slot ends: everything is paused.
    Ends,
}

/// The content of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    /// A host, a controller or the manager has (re)started and knows nothing.
    Hello,
    /// To the manager: a host stops.
    Leave,
    /// To the manager: the waiting bytes.
    Demand(Demand),
    /// To a host: all parts of this report have arrived.
    Reported(u32),
    /// To a host: its classes in a round, at most [`MAX_CLASSES`] in one part.
    Classes {
        /// Counts rounds, modulo 2³².
        round: u32,
        /// Which part this is.
        part: Fragment,
        /// The times of the slots.
        timing: Timing,
        /// The classes.
        classes: Vec<Class>,
    },
    /// To the manager: this host has all its classes of the round.
    Ready(u32),
    /// To a controller: which classes are opened in which slots, at most [`MAX_SLOTS`] entries in one part.
    Slots {
        /// Counts rounds, modulo 2³².
        round: u32,
        /// Which part this is.
        part: Fragment,
        /// The entries by slot.
        open: Vec<Open>,
    },
    /// To all controllers: send your pause frames now (§4.4).
    Trigger {
        /// Counts rounds, modulo 2³².
        round: u32,
        /// Counted from zero within the round.
        slot: u16,
        /// Whether the slot begins or ends.
        edge: Edge,
    },
}

impl Fragment {
    fn emit(self, out: &mut Vec<u8>) {
        out.extend(self.part.to_be_bytes());
        out.extend(self.parts.to_be_bytes());
    }
    fn parse(reader: &mut Reader<'_>) -> Result<Fragment, ParseError> {
        let (part, parts) = (reader.u16()?, reader.u16()?);
        if part >= parts {
            return Err(ParseError::Field { field: "part", value: part.into() });
        }
        Ok(Fragment { part, parts })
    }
}

impl Timing {
    fn emit(self, out: &mut Vec<u8>) {
        out.extend(self.next.to_be_bytes());
        out.extend(self.slots.to_be_bytes());
        for time in [self.begins, self.slot, self.guard] {
            let ns = u32::try_from(time.as_ns()).unwrap_or(u32::MAX);
            out.extend(ns.to_be_bytes());
        }
    }
    fn parse(reader: &mut Reader<'_>) -> Result<Timing, ParseError> {
        let (next, slots) = (reader.u16()?, reader.u16()?);
        let mut time = || reader.u32().map(|ns| Time::ns(ns.into()));
        Ok(Timing { next, slots, begins: time()?, slot: time()?, guard: time()? })
    }
}

impl Demand {
    fn emit(&self, out: &mut Vec<u8>) {
        out.extend(self.report.to_be_bytes());
        self.part.emit(out);
        out.extend(self.round.to_be_bytes());
        out.extend(self.slot.to_be_bytes());
        out.extend([self.whole.into(), 0]);
        out.extend(self.free.to_be_bytes());
        out.extend((self.waiting.len() as u16).to_be_bytes());
        for (dst, bytes) in &self.waiting {
            out.extend(dst.0.to_be_bytes());
            out.extend(bytes.to_be_bytes());
        }
    }
    fn parse(reader: &mut Reader<'_>) -> Result<Demand, ParseError> {
        let (report, part) = (reader.u32()?, Fragment::parse(reader)?);
        let (round, slot) = (reader.u32()?, reader.u16()?);
        let whole = within("whole", reader.u8()?.into(), 0..=1)? == 1;
        within("reserved", reader.u8()?.into(), 0..=0)?;
        let free = reader.u64()?;
        let waiting = list(reader, |reader| Ok((HostId(reader.u32()?), reader.u64()?)))?;
        Ok(Demand { report, part, round, slot, whole, free, waiting })
    }
}

impl Class {
    fn emit(&self, out: &mut Vec<u8>) {
        out.extend(self.class.to_be_bytes());
        out.extend(self.from.to_be_bytes());
        out.extend(self.dst.0.to_be_bytes());
        out.extend(self.rate.map_or(0, |rate| rate.0).to_be_bytes());
        out.extend(self.bytes.to_be_bytes());
    }
    fn parse(reader: &mut Reader<'_>) -> Result<Class, ParseError> {
        let (class, from, dst) = (class(reader)?, reader.u16()?, HostId(reader.u32()?));
        let rate = Some(reader.u64()?).filter(|&rate| rate > 0).map(Rate);
        Ok(Class { class, from, dst, rate, bytes: reader.u64()? })
    }
}

impl Open {
    fn emit(&self, out: &mut Vec<u8>) {
        out.extend(self.slot.to_be_bytes());
        out.extend(self.host.0.to_be_bytes());
        out.extend(self.class.to_be_bytes());
    }
    fn parse(reader: &mut Reader<'_>) -> Result<Open, ParseError> {
        let (slot, host) = (reader.u16()?, HostId(reader.u32()?));
        Ok(Open { slot, host, class: class(reader)? })
    }
}

fn class(reader: &mut Reader<'_>) -> Result<u16, ParseError> {
    let class = reader.u16()?;
    within(
        "class",
        class.into(),
        0..=slotline_net::wire::mac_control::EXTENDED_CLASSES as u64 - 1,
    )?;
    Ok(class)
}

fn within(
    field: &'static str,
    value: u64,
    range: std::ops::RangeInclusive<u64>,
) -> Result<u64, ParseError> {
    Some(value).filter(|value| range.contains(value)).ok_or(ParseError::Field { field, value })
}

impl Body {
    const fn kind(&self) -> u8 {
        match self {
            Body::Hello => 1,
            Body::Leave => 2,
            Body::Demand(_) => 3,
            Body::Reported(_) => 4,
            Body::Classes { .. } => 5,
            Body::Ready(_) => 6,
            Body::Slots { .. } => 7,
            Body::Trigger { .. } => 8,
        }
    }
    fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Body::Hello | Body::Leave => {}
            Body::Demand(demand) => demand.emit(out),
            Body::Reported(number) | Body::Ready(number) => out.extend(number.to_be_bytes()),
            Body::Classes { round, part, timing, classes } => {
                out.extend(round.to_be_bytes());
                part.emit(out);
                timing.emit(out);
                out.extend((classes.len() as u16).to_be_bytes());
                classes.iter().for_each(|class| class.emit(out));
            }
            Body::Slots { round, part, open } => {
                out.extend(round.to_be_bytes());
                part.emit(out);
                out.extend((open.len() as u16).to_be_bytes());
                open.iter().for_each(|open| open.emit(out));
            }
            Body::Trigger { round, slot, edge } => {
                out.extend(round.to_be_bytes());
                out.extend(slot.to_be_bytes());
                out.extend([if *edge == Edge::Begins { 1 } else { 2 }, 0]);
            }
        }
    }
    fn parse(kind: u8, reader: &mut Reader<'_>) -> Result<Body, ParseError> {
        Ok(match kind {
            1 => Body::Hello,
            2 => Body::Leave,
            3 => Body::Demand(Demand::parse(reader)?),
            4 => Body::Reported(reader.u32()?),
            5 => Body::Classes {
                round: reader.u32()?,
                part: Fragment::parse(reader)?,
                timing: Timing::parse(reader)?,
                classes: list(reader, Class::parse)?,
            },
            6 => Body::Ready(reader.u32()?),
            7 => Body::Slots {
                round: reader.u32()?,
                part: Fragment::parse(reader)?,
                open: list(reader, Open::parse)?,
            },
            8 => trigger(reader)?,
            _ => return Err(ParseError::Field { field: "type", value: kind.into() }),
        })
    }
}

fn trigger(reader: &mut Reader<'_>) -> Result<Body, ParseError> {
    let (round, slot) = (reader.u32()?, reader.u16()?);
    let begins = within("edge", reader.u8()?.into(), 1..=2)? == 1;
    within("reserved", reader.u8()?.into(), 0..=0)?;
    Ok(Body::Trigger { round, slot, edge: if begins { Edge::Begins } else { Edge::Ends } })
}

impl Message {
    /// The message as bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = vec![VERSION, self.body.kind(), 0, 0];
        out.extend(self.host.0.to_be_bytes());
        out.extend(self.seq.to_be_bytes());
        out.extend(self.heard.to_be_bytes());
        self.body.emit(&mut out);
        let length = (out.len() as u16).to_be_bytes();
        out[2..4].copy_from_slice(&length);
        out
    }
    /// Reads a message from bytes. Padding after the message is ignored.
    ///
    /// # Errors
    /// The bytes are not a message of this format.
    pub fn parse(bytes: &[u8]) -> Result<Message, ParseError> {
        let mut reader = Reader(bytes);
        let (version, kind, length) = (reader.u8()?, reader.u8()?, reader.u16()?);
        within("version", version.into(), VERSION.into()..=VERSION.into())?;
        let rest = usize::from(length).checked_sub(4);
        let rest = rest.ok_or(ParseError::Truncated { need: HEADER, have: length.into() })?;
        let mut reader = Reader(reader.bytes(rest)?);
        let (host, seq, heard) = (HostId(reader.u32()?), reader.u32()?, reader.u32()?);
        let body = Body::parse(kind, &mut reader)?;
        reader.end()?;
        Ok(Message { host, seq, heard, body })
    }
}
