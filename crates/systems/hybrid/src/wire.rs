//! Messages between racks and the scheduler of circuits.
//!
//! The scheduler sends each rack its days of a week. All numbers are big-endian:
//!
//! ```text
//! kind: u8 = 2, week: u64, days: u16, days x (uplink: u8, from: u64, until: u64, to: u16, source: u16)
//! ```
//!
//! A rack reports its demand in bytes by destination rack:
//!
//! ```text
//! kind: u8 = 1, week: u64, rack: u16, racks: u16, racks x (bytes: u64)
//! ```
//!
//! A rack reports that its port at a circuit switch has failed or works again. The scheduler forwards this to all
//! other racks:
//!
//! ```text
//! kind: u8 = 3, rack: u64, uplink: u8, works: u8
//! ```
//!
//! The controller of real circuits tells a rack what it has told a circuit switch: where the rack's circuit leads, and from when
//! until when the rack may use it:
//!
//! ```text
//! kind: u8 = 4, from: u64, until: u64, to: u16, uplink: u8
//! ```

use crate::{NO_RACK, RackDay};
use slotline_net::time::Time;
use slotline_net::wire::{ParseError, Reader};

/// A circuit of a rack that its circuit switch has been told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ToldCircuit {
    /// The rack to which it leads, or [`NO_RACK`].
    pub to: u16,
    /// From when on it may be used.
    pub from: Time,
    /// Until when it may be used.
    pub until: Time,
}

impl ToldCircuit {
    /// No circuit was told yet.
    pub const NONE: ToldCircuit = ToldCircuit { to: NO_RACK, from: Time::ZERO, until: Time::ZERO };
}

/// A message between a rack and the scheduler of circuits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// The demand of a rack for a week.
    Report {
        /// The week for which the demand is.
        week: u64,
        /// The rack.
        rack: u16,
        /// Bytes by destination rack.
        bytes: Vec<u64>,
    },
    /// The days of a rack in a week.
    Plan {
        /// The week.
        week: u64,
        /// The days.
        days: Vec<RackDay>,
    },
    /// A port at a circuit switch has failed, or works again.
    Port {
        /// The rack of the port.
        rack: u16,
        /// The circuit switch.
        uplink: u8,
        /// Whether the port works.
        works: bool,
    },
    /// A circuit switch has been told its next circuits.
    Told {
        /// The circuit switch.
        uplink: u8,
        /// The circuit of the rack.
        circuit: ToldCircuit,
    },
}

impl Message {
    /// The message as bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Message::Report { week, rack, bytes } => {
                out.push(1);
                out.extend(week.to_be_bytes());
                out.extend(rack.to_be_bytes());
                out.extend((bytes.len() as u16).to_be_bytes());
                bytes.iter().for_each(|bytes| out.extend(bytes.to_be_bytes()));
            }
            Message::Port { rack, uplink, works } => {
                out.push(3);
                out.extend(u64::from(*rack).to_be_bytes());
                out.extend([*uplink, u8::from(*works)]);
            }
            Message::Told { uplink, circuit: ToldCircuit { to, from, until } } => {
                out.push(4);
                out.extend(from.as_ps().to_be_bytes());
                out.extend(until.as_ps().to_be_bytes());
                out.extend(to.to_be_bytes());
                out.push(*uplink);
            }
            Message::Plan { week, days } => {
                out.push(2);
                out.extend(week.to_be_bytes());
                out.extend((days.len() as u16).to_be_bytes());
                for day in days {
                    out.push(day.uplink);
                    out.extend(day.from.as_ps().to_be_bytes());
                    out.extend(day.until.as_ps().to_be_bytes());
                    out.extend(day.to.to_be_bytes());
                    out.extend(day.source.to_be_bytes());
                }
            }
        }
        out
    }

    /// Reads a message from bytes.
    ///
    /// # Errors
    /// The bytes are not a message of this format.
    pub fn parse(bytes: &[u8]) -> Result<Message, ParseError> {
        let mut reader = Reader(bytes);
        let kind = reader.u8()?;
        let week = reader.u64()?;
        let message = match kind {
            1 => {
                let (rack, count) = (reader.u16()?, reader.u16()?);
                let bytes = (0..count).map(|_| reader.u64()).collect::<Result<_, _>>()?;
                Message::Report { week, rack, bytes }
            }
            2 => {
                let count = reader.u16()?;
                let days = (0..count).map(|_| day(&mut reader)).collect::<Result<_, _>>()?;
                Message::Plan { week, days }
            }
            3 => {
                let wrong = |field, value| ParseError::Field { field, value };
                let rack = u16::try_from(week).map_err(|_| wrong("rack", week))?;
                let (uplink, works) = (reader.u8()?, reader.u8()?);
                if works > 1 {
                    return Err(wrong("works", works.into()));
                }
                Message::Port { rack, uplink, works: works == 1 }
            }
            4 => {
                let (from, until) = (Time::ps(week), Time::ps(reader.u64()?));
                let circuit = ToldCircuit { to: reader.u16()?, from, until };
                Message::Told { uplink: reader.u8()?, circuit }
            }
            _ => return Err(ParseError::Field { field: "kind", value: kind.into() }),
        };
        reader.end()?;
        Ok(message)
    }
}

fn day(reader: &mut Reader<'_>) -> Result<RackDay, ParseError> {
    Ok(RackDay {
        uplink: reader.u8()?,
        from: Time::ps(reader.u64()?),
        until: Time::ps(reader.u64()?),
        to: reader.u16()?,
        source: reader.u16()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(
            week: u64, rack: u16, bytes in prop::collection::vec(any::<u64>(), 0..40),
            days in prop::collection::vec(any::<(u8, u64, u64, u16, u16)>(), 0..40)
        ) {
            let days = days.into_iter().map(|(uplink, from, until, to, source)| {
                RackDay { uplink, from: Time::ps(from), until: Time::ps(until), to, source }
            });
            let plan = Message::Plan { week, days: days.collect() };
            let port = Message::Port { rack, uplink: rack as u8, works: week % 2 == 1 };
            let circuit = ToldCircuit { to: !rack, from: Time::ps(week), until: Time::ps(!week) };
            let told = Message::Told { uplink: rack as u8, circuit };
            for message in [Message::Report { week, rack, bytes }, plan, port, told] {
                let bytes = message.emit();
                prop_assert_eq!(Message::parse(&bytes), Ok(message));
                prop_assert!(Message::parse(&bytes[..bytes.len() - 1]).is_err());
            }
        }

        #[test]
        fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(message) = Message::parse(&bytes) {
                prop_assert_eq!(message.emit(), bytes);
            }
        }
    }
}
