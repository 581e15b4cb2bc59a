//! MAC control frames that stop and start a sender: PAUSE (IEEE 802.3 annex 31B), priority-based flow control (IEEE
//! 802.1Qbb; 802.3 annex 31D), and a form of the latter with classes of 11 bits, which the TDMA paper needs (Vattikonda
//! et al., EuroSys 2012, §5.1). `docs/protocol/tdma.md` specifies them.
//!
//! ```text
//!  0 destination: 6 octets    6 source: 6    12 EtherType 0x8808    14 opcode    16 parameters    zeros
//! ```
//!
//! | opcode | frame | parameters |
//! |---|---|---|
//! | 0x0001 | PAUSE | time: u16 |
//! | 0x0101 | PFC | 0: u8, enabled: u8 (bit n: class n), time: u16 for each of classes 0 to 7 |
//! | 0xfffe | extended | 02-53-4c, version 1: u8, flags: u8 (bit 0: others), 0: u8, others: u16, count: u16, count of (class: u16, time: u16) |
//!
//! Times are in quanta of 512 bit times. A frame has 60 octets; an extended frame with many entries is longer. A check
//! sequence of 4 octets follows, which captures usually lack.

#[cfg(test)]
mod tests;

use super::{ParseError, Reader};
use crate::id::HostId;
use crate::time::Time;
use crate::units::Rate;

/// The EtherType of MAC control.
pub const ETHERTYPE: u16 = 0x8808;
/// Octets of the shortest frame, without check sequence.
pub const SHORTEST: usize = 60;
/// Octets that follow a frame on the wire and precede the next: check sequence, gap and preamble.
pub const AROUND: usize = 4 + 12 + 8;
/// Classes of PFC.
pub const PFC_CLASSES: usize = 8;
/// Classes of an extended frame: 11 bits.
pub const EXTENDED_CLASSES: usize = 1 << 11;
/// Entries that fit into one extended frame of 1,514 octets.
pub const MAX_ENTRIES: usize = (1_514 - EXTENDED_HEAD) / 4;

const PAUSE: u16 = 0x0001;
const PFC: u16 = 0x0101;
/// The opcode for organisations (802.3 annex 31C).
const EXTENSION: u16 = 0xfffe;
/// A locally administered identifier, which belongs to no organisation.
const ORGANISATION: [u8; 3] = [0x02, 0x53, 0x4c];
const EXTENDED_VERSION: u8 = 1;
/// Octets before the entries of an extended frame.
const EXTENDED_HEAD: usize = 26;

/// An Ethernet address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// The multicast address of MAC control. It addresses the other end of the link, and is never forwarded.
    pub const CONTROL: Mac = Mac([0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]);
    /// The address of a host: locally administered, as in captures that Slotline writes.
    pub const fn of(host: HostId) -> Mac {
        let [a, b, c, d] = host.0.to_be_bytes();
        Mac([0x02, 0, a, b, c, d])
    }
}

/// A time to pause, in units of 512 bit times of the link on which the frame arrives; 0 ends a pause.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Quanta(pub u16);

impl Quanta {
    /// The end of a pause.
    pub const NONE: Quanta = Quanta(0);
    /// The longest pause: 3.355 ms at 10 Gbit/s.
    pub const MAX: Quanta = Quanta(u16::MAX);
    /// The shortest pause of at least `time` on a link of `rate`; `None` if it needs more than 16 bits.
    pub fn at_least(time: Time, rate: Rate) -> Option<Quanta> {
        let bits = u128::from(time.as_ps()) * u128::from(rate.0);
        let quanta = bits.div_ceil(512 * 1_000_000_000_000);
        u16::try_from(quanta).ok().map(Quanta)
    }
    /// As [`Quanta::at_least`], but the longest pause if `time` is longer. It must then be repeated before it ends.
    pub fn up_to(time: Time, rate: Rate) -> Quanta {
        Quanta::at_least(time, rate).unwrap_or(Quanta::MAX)
    }
    /// How long a sender on a link of `rate` pauses, rounded up to the picosecond.
    pub fn time(self, rate: Rate) -> Time {
        let bits = u128::from(self.0) * 512 * 1_000_000_000_000;
        let ps = bits.div_ceil(u128::from(rate.0.max(1)));
        Time::ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }
}

/// Times for the eight classes of PFC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Classes {
    /// Bit n: the time of class n is valid. Other classes keep their state.
    pub enabled: u8,
    /// One for each class. It has no meaning if the class is not enabled.
    pub times: [Quanta; PFC_CLASSES],
}

impl Classes {
    /// Pauses all classes for `time`, except those of `open`, which may send.
    pub fn all_but(open: u8, time: Quanta) -> Classes {
        let of = |class: usize| if open >> class & 1 == 1 { Quanta::NONE } else { time };
        Classes { enabled: u8::MAX, times: std::array::from_fn(of) }
    }
    /// The time for `class`, if the frame has one.
    pub fn time(&self, class: u8) -> Option<Quanta> {
        let at = usize::from(class);
        self.times.get(at).copied().filter(|_| self.enabled >> class & 1 == 1)
    }
}

/// Times for up to 2,048 classes: a list, and one time for all classes that are not listed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Extended {
    /// For all classes that are not listed; `None`: they keep their state.
    pub others: Option<Quanta>,
    /// At most [`MAX_ENTRIES`] classes in ascending order, each below [`EXTENDED_CLASSES`].
    pub entries: Vec<(u16, Quanta)>,
}

impl Extended {
    /// Pauses all classes for `time`, except those of `open`, in ascending order, which may send.
    pub fn all_but(open: &[u16], time: Quanta) -> Extended {
        let entries = open.iter().map(|&class| (class, Quanta::NONE)).collect();
        Extended { others: Some(time), entries }
    }
    /// The time for `class`, if the frame has one.
    pub fn time(&self, class: u16) -> Option<Quanta> {
        let at = self.entries.binary_search_by_key(&class, |entry| entry.0);
        at.map_or(self.others, |at| Some(self.entries[at].1))
    }
}

/// The request of a frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pause {
    /// All traffic (802.3x).
    All(Quanta),
    /// Eight classes (802.1Qbb).
    Classes(Classes),
    /// Up to 2,048 classes.
    Extended(Extended),
}

/// A MAC control frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// [`Mac::CONTROL`], or the address of a station. Switches forward frames to a station (paper, §3.2.3).
    pub destination: Mac,
    /// The sender.
    pub source: Mac,
    /// The request.
    pub pause: Pause,
}

impl Frame {
    /// As octets without check sequence, as given to a network card.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(SHORTEST);
        out.extend(self.destination.0);
        out.extend(self.source.0);
        out.extend(ETHERTYPE.to_be_bytes());
        self.pause.emit(&mut out);
        out.resize(out.len().max(SHORTEST), 0);
        out
    }
    /// As octets with check sequence, as on the wire.
    pub fn emit_checked(&self) -> Vec<u8> {
        let mut out = self.emit();
        out.extend(check_sequence(&out).to_le_bytes());
        out
    }
    /// The octets that it takes on a link, from preamble to gap.
    pub fn wire_len(&self) -> u16 {
        let entries = match &self.pause {
            Pause::Extended(extended) => EXTENDED_HEAD + 4 * extended.entries.len(),
            Pause::All(_) | Pause::Classes(_) => 0,
        };
        (entries.max(SHORTEST) + AROUND) as u16
    }
    /// From octets without check sequence. Only the output of [`Frame::emit`] is accepted: the shortest possible
    /// length, with zeros behind the parameters.
    pub fn parse(octets: &[u8]) -> Result<Frame, ParseError> {
        if octets.len() < SHORTEST {
            return Err(ParseError::Truncated { need: SHORTEST, have: octets.len() });
        }
        let mut reader = Reader(octets);
        let (destination, source) = (Mac(reader.array()?), Mac(reader.array()?));
        value("ethertype", reader.u16()?, ETHERTYPE)?;
        let pause = Pause::parse(&mut reader)?;
        let used = octets.len() - reader.0.len();
        let pad = reader.bytes(SHORTEST.saturating_sub(used))?;
        reader.end()?;
        pad.iter().try_for_each(|&octet| value("padding", octet.into(), 0))?;
        Ok(Frame { destination, source, pause })
    }
    /// From octets with check sequence.
    pub fn parse_checked(octets: &[u8]) -> Result<Frame, ParseError> {
        let need = SHORTEST + 4;
        let truncated = ParseError::Truncated { need, have: octets.len() };
        let (frame, check) = octets.split_last_chunk::<4>().ok_or(truncated)?;
        if octets.len() < need {
            return Err(truncated);
        }
        let check = u32::from_le_bytes(*check);
        if check != check_sequence(frame) {
            return Err(ParseError::Field { field: "check sequence", value: check.into() });
        }
        Frame::parse(frame)
    }
}

impl Pause {
    fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Pause::All(time) => {
                out.extend(PAUSE.to_be_bytes());
                out.extend(time.0.to_be_bytes());
            }
            Pause::Classes(classes) => {
                out.extend(PFC.to_be_bytes());
                out.extend([0, classes.enabled]);
                classes.times.iter().for_each(|time| out.extend(time.0.to_be_bytes()));
            }
            Pause::Extended(extended) => {
                out.extend(EXTENSION.to_be_bytes());
                extended.emit(out);
            }
        }
    }
    fn parse(reader: &mut Reader<'_>) -> Result<Pause, ParseError> {
        match reader.u16()? {
            PAUSE => Ok(Pause::All(Quanta(reader.u16()?))),
            PFC => {
                value("reserved", reader.u8()?.into(), 0)?;
                let mut classes = Classes { enabled: reader.u8()?, ..Classes::default() };
                for time in &mut classes.times {
                    *time = Quanta(reader.u16()?);
                }
                Ok(Pause::Classes(classes))
            }
            EXTENSION => Extended::parse(reader).map(Pause::Extended),
            opcode => Err(ParseError::Field { field: "opcode", value: opcode.into() }),
        }
    }
}

impl Extended {
    fn emit(&self, out: &mut Vec<u8>) {
        out.extend(ORGANISATION);
        out.extend([EXTENDED_VERSION, self.others.is_some().into(), 0]);
        out.extend(self.others.unwrap_or_default().0.to_be_bytes());
        out.extend((self.entries.len() as u16).to_be_bytes());
        for (class, time) in &self.entries {
            out.extend(class.to_be_bytes());
            out.extend(time.0.to_be_bytes());
        }
    }
    fn parse(reader: &mut Reader<'_>) -> Result<Extended, ParseError> {
        for expected in ORGANISATION {
            value("organisation", reader.u8()?.into(), expected.into())?;
        }
        value("version", reader.u8()?.into(), EXTENDED_VERSION.into())?;
        let flags = reader.u8()?;
        value("flags", u16::from(flags & !1), 0)?;
        value("reserved", reader.u8()?.into(), 0)?;
        let others = Quanta(reader.u16()?);
        if flags == 0 {
            value("others", others.0, 0)?;
        }
        let count = reader.u16()?;
        if usize::from(count) > MAX_ENTRIES {
            return Err(ParseError::Field { field: "count", value: count.into() });
        }
        let mut entries: Vec<(u16, Quanta)> = Vec::with_capacity(count.into());
        for _ in 0..count {
            let class = reader.u16()?;
            let ascends = entries.last().is_none_or(|last| last.0 < class);
            if usize::from(class) >= EXTENDED_CLASSES || !ascends {
                return Err(ParseError::Field { field: "class", value: class.into() });
            }
            entries.push((class, Quanta(reader.u16()?)));
        }
        Ok(Extended { others: Some(others).filter(|_| flags == 1), entries })
    }
}

fn value(field: &'static str, value: u16, expected: u16) -> Result<(), ParseError> {
    if value == expected {
        return Ok(());
    }
    Err(ParseError::Field { field, value: value.into() })
}

/// The check sequence of an Ethernet frame (802.3, clause 3.2.9): CRC-32, sent lowest octet first.
pub fn check_sequence(octets: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    let octet = |crc: u32, &octet: &u8| (0..8).fold(crc ^ u32::from(octet), |crc, _| step(crc));
    !octets.iter().fold(u32::MAX, octet)
}
