//! XCo's control messages, carried directly in Ethernet frames as in the paper (§3.5). Big-endian:
//!
//! ```text
//! 0         1         2         3         4
//! | version |  type   |      length       |   of the whole message
//! |              host                     |   whose coordinator sends or receives; the sender of alive, ...
//! |            sequence                   |   of the sender's messages with this host
//! |             heard                     |   last sequence from the other side; 0 before the first
//! |  level  |    0    |       term        |   of the controller; the number of take-overs so far
//! | body ...
//! ```
//!
//! | type | message | body |
//! |---|---|---|
//! | 1 | hello | |
//! | 2 | leave | |
//! | 3 | backlog | count: u16, for each V2V flow: destination: u32, source VM: u16, destination VM: u16 |
//! | 4 | release | destination: u32 |
//! | 5 | window | destination: u32 (all ones: none), duration in ns: u64, rate in bit/s: u64 (0: none) |
//! | 6 | rates | count: u16, destination: u32 and rate in bit/s: u64 each |
//! | 7 | load | duration in ns: u64, count: u16, destination: u32 and bytes: u64 each |
//! | 8 | controlled | count: u16, destination: u32 each |
//! | 9 | alive | |
//! | 10 | share request | flows: u32, share in 65,536ths: u32 |
//! | 11 | share grant | share in 65,536ths: u32 |
//!
//! Times are durations: a coordinator counts them from the arrival of the directive (§3.5). V2V flows to
//! one destination follow each other. The last three messages are between controllers.
//!
//! Version 2 has V2V flows in backlogs, terms, and the messages from 7 on.

use slotline_net::id::HostId;
use slotline_net::time::Time;
use slotline_net::units::Rate;
use slotline_net::wire::{ParseError, Reader, list};
use slotline_net::workload::Machines;

/// Version of the protocol.
pub const VERSION: u8 = 2;
/// The number of V2V flows that fit into one [`Body::Backlog`] within a 1500-byte frame.
pub const MAX_FLOWS: usize = 184;
/// The number of rates that fit into one [`Body::Rates`], or of loads into one [`Body::Load`].
pub const MAX_RATES: usize = 120;
/// The number of destinations that fit into one [`Body::Controlled`].
pub const MAX_DESTINATIONS: usize = 360;

const HEADER: usize = 20;
const NOBODY: u32 = u32::MAX;

/// A message between a coordinator and a controller, or between controllers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The host whose coordinator sends or receives the message. Between controllers, it is the sender.
    pub host: HostId,
    /// The number of this message among those of one sender about one host, modulo 2³².
    pub seq: u32,
    /// The number of the latest message from the other side when this was sent. It identifies a directive
    /// that crosses a message which would have changed it.
    pub heard: u32,
    /// The level of the controller. Level 0 is the lowest, or the only one.
    pub level: u8,
    /// How often a standby has taken over. A directive of an earlier term is ignored.
    pub term: u16,
    /// The content.
    pub body: Body,
}

/// A V2V flow: packets of one virtual machine wait for another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct V2v {
    /// The host of the receiving machine.
    pub dst: HostId,
    /// The two virtual machines.
    pub machines: Machines,
}

/// The content of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    /// To the controller: a coordinator has started.
    Hello,
    /// To the controller: a coordinator stops.
    Leave,
    /// To the controller: all V2V flows with packets waiting, at most [`MAX_FLOWS`]. The flows for one
    /// destination follow each other.
    Backlog(Vec<V2v>),
    /// To the controller: the permission for this destination is given back.
    Release(HostId),
    /// From the controller: the host may send to this destination, and to no other.
    Window {
        /// The permitted destination. `None`: the host has to wait.
        dst: Option<HostId>,
        /// The duration from the arrival of the directive, in whole nanoseconds.
        duration: Time,
        /// The upper limit of the rate within the window.
        rate: Option<Rate>,
    },
    /// From the controller: new rates, at most [`MAX_RATES`]. The rates of other destinations stay.
    Rates(Vec<(HostId, Rate)>),
    /// To the controller: bytes sent to each destination, at most [`MAX_RATES`], within `span`.
    Load {
        /// The measured time, in whole nanoseconds.
        span: Time,
        /// Destinations and bytes on the wire.
        loads: Vec<(HostId, u64)>,
    },
    /// From the controller: the destinations that need permission, at most [`MAX_DESTINATIONS`]; all others
    /// are free.
    Controlled(Vec<HostId>),
    /// To the other controller: this one is in control.
    Alive,
    /// To the controller below: what a controller needs of the links that both use.
    ShareRequest {
        /// The number of V2V flows that wait for these links.
        flows: u32,
        /// The share of the links that it uses now, in 65,536ths.
        share: u32,
    },
    /// To the controller above: the share of links that it may use, in 65,536ths.
    ShareGrant(u32),
}

impl Body {
    const fn kind(&self) -> u8 {
        match self {
            Body::Hello => 1,
            Body::Leave => 2,
            Body::Backlog(_) => 3,
            Body::Release(_) => 4,
            Body::Window { .. } => 5,
            Body::Rates(_) => 6,
            Body::Load { .. } => 7,
            Body::Controlled(_) => 8,
            Body::Alive => 9,
            Body::ShareRequest { .. } => 10,
            Body::ShareGrant(_) => 11,
        }
    }
    /// Bytes of the body.
    const fn size(&self) -> usize {
        match self {
            Body::Hello | Body::Leave | Body::Alive => 0,
            Body::Backlog(flows) => 2 + 8 * flows.len(),
            Body::Release(_) | Body::ShareGrant(_) => 4,
            Body::ShareRequest { .. } => 8,
            Body::Window { .. } => 20,
            Body::Rates(rates) => 2 + 12 * rates.len(),
            Body::Load { loads, .. } => 10 + 12 * loads.len(),
            Body::Controlled(destinations) => 2 + 4 * destinations.len(),
        }
    }
    fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Body::Hello | Body::Leave | Body::Alive => {}
            Body::Backlog(flows) => emit_all(flows, out, |flow, out| {
                out.extend(flow.dst.0.to_be_bytes());
                out.extend(flow.machines.from.to_be_bytes());
                out.extend(flow.machines.to.to_be_bytes());
            }),
            Body::Release(dst) => out.extend(dst.0.to_be_bytes()),
            Body::Window { dst, duration, rate } => {
                out.extend(dst.map_or(NOBODY, |dst| dst.0).to_be_bytes());
                out.extend(duration.as_ns().to_be_bytes());
                out.extend(rate.map_or(0, |rate| rate.0).to_be_bytes());
            }
            Body::Rates(rates) => emit_all(rates, out, |(dst, rate), out| {
                out.extend(dst.0.to_be_bytes());
                out.extend(rate.0.to_be_bytes());
            }),
            Body::Load { span, loads } => {
                out.extend(span.as_ns().to_be_bytes());
                emit_all(loads, out, |(dst, bytes), out| {
                    out.extend(dst.0.to_be_bytes());
                    out.extend(bytes.to_be_bytes());
                });
            }
            Body::Controlled(destinations) => {
                emit_all(destinations, out, |dst, out| out.extend(dst.0.to_be_bytes()));
            }
            Body::ShareRequest { flows, share } => {
                out.extend(flows.to_be_bytes());
                out.extend(share.to_be_bytes());
            }
            Body::ShareGrant(share) => out.extend(share.to_be_bytes()),
        }
    }
    fn parse(kind: u8, reader: &mut Reader<'_>) -> Result<Body, ParseError> {
        Ok(match kind {
            1 => Body::Hello,
            2 => Body::Leave,
            3 => Body::Backlog(list(reader, flow)?),
            4 => Body::Release(HostId(reader.u32()?)),
            5 => Body::Window {
                dst: Some(reader.u32()?).filter(|&dst| dst != NOBODY).map(HostId),
                duration: duration(reader.u64()?)?,
                rate: Some(reader.u64()?).filter(|&rate| rate > 0).map(Rate),
            },
            6 => Body::Rates(list(reader, |reader| {
                Ok((HostId(reader.u32()?), Rate(reader.u64()?)))
            })?),
            7 => Body::Load {
                span: duration(reader.u64()?)?,
                loads: list(reader, |reader| Ok((HostId(reader.u32()?), reader.u64()?)))?,
            },
            8 => Body::Controlled(list(reader, |reader| reader.u32().map(HostId))?),
            9 => Body::Alive,
            10 => Body::ShareRequest { flows: reader.u32()?, share: reader.u32()? },
            11 => Body::ShareGrant(reader.u32()?),
            _ => {
                return Err(ParseError::Field { field: "type", value: kind.into() });
            }
        })
    }
}

fn flow(reader: &mut Reader<'_>) -> Result<V2v, ParseError> {
    let dst = HostId(reader.u32()?);
    Ok(V2v { dst, machines: Machines { from: reader.u16()?, to: reader.u16()? } })
}

fn duration(ns: u64) -> Result<Time, ParseError> {
    let ps = ns.checked_mul(1_000).ok_or(ParseError::Field { field: "duration", value: ns })?;
    Ok(Time::ps(ps))
}

fn emit_all<T>(items: &[T], out: &mut Vec<u8>, each: impl Fn(&T, &mut Vec<u8>)) {
    out.extend((items.len() as u16).to_be_bytes());
    items.iter().for_each(|item| each(item, out));
}

impl Message {
    /// Writes the message as bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER + self.body.size());
        out.extend([VERSION, self.body.kind(), 0, 0]);
        out.extend(self.host.0.to_be_bytes());
        out.extend(self.seq.to_be_bytes());
        out.extend(self.heard.to_be_bytes());
        out.extend([self.level, 0]);
        out.extend(self.term.to_be_bytes());
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
        if version != VERSION {
            return Err(ParseError::Field { field: "version", value: version.into() });
        }
        let body = usize::from(length).checked_sub(4);
        let body = body.ok_or(ParseError::Truncated { need: HEADER, have: length.into() })?;
        let mut reader = Reader(reader.bytes(body)?);
        let (host, seq, heard) = (HostId(reader.u32()?), reader.u32()?, reader.u32()?);
        let (level, reserved, term) = (reader.u8()?, reader.u8()?, reader.u16()?);
        if reserved != 0 {
            return Err(ParseError::Field { field: "reserved", value: reserved.into() });
        }
        let body = Body::parse(kind, &mut reader)?;
        reader.end()?;
        Ok(Message { host, seq, heard, level, term, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use slotline_net::wire::newer;

    fn host() -> impl Strategy<Value = HostId> {
        (0..NOBODY).prop_map(HostId)
    }
    fn body() -> impl Strategy<Value = Body> {
        let rate = || (1..u64::MAX).prop_map(Rate);
        let ns = 0..u64::MAX / 1_000;
        let window = (prop::option::of(host()), ns.clone(), prop::option::of(rate()));
        let v2v = (host(), any::<u16>(), any::<u16>())
            .prop_map(|(dst, from, to)| V2v { dst, machines: Machines { from, to } });
        let loads = prop::collection::vec((host(), any::<u64>()), 0..=MAX_RATES);
        prop_oneof![
            Just(Body::Hello),
            Just(Body::Alive),
            (any::<u32>(), any::<u32>())
                .prop_map(|(flows, share)| Body::ShareRequest { flows, share }),
            any::<u32>().prop_map(Body::ShareGrant),
            (ns, loads).prop_map(|(ns, loads)| Body::Load { span: Time::ns(ns), loads }),
            prop::collection::vec(host(), 0..=MAX_DESTINATIONS).prop_map(Body::Controlled),
            Just(Body::Leave),
            prop::collection::vec(v2v, 0..=MAX_FLOWS).prop_map(Body::Backlog),
            host().prop_map(Body::Release),
            window.prop_map(|(dst, ns, rate)| Body::Window { dst, duration: Time::ns(ns), rate }),
            prop::collection::vec((host(), rate()), 0..=MAX_RATES).prop_map(Body::Rates),
        ]
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(host in host(), seq: u32, heard: u32, level: u8, term: u16, body in body(), padding in 0usize..64) {
            let message = Message { host, seq, heard, level, term, body };
            let mut bytes = message.emit();
            prop_assert_eq!(bytes.len(), HEADER + message.body.size());
            prop_assert!(bytes.len() <= 1_500);
            for cut in 0..bytes.len() {
                prop_assert!(Message::parse(&bytes[..cut]).is_err());
            }
            bytes.extend(vec![0; padding]);
            prop_assert_eq!(Message::parse(&bytes), Ok(message));
        }

        #[test]
        fn no_bytes_make_the_parser_panic(
            mut bytes in prop::collection::vec(any::<u8>(), 0..64), header in any::<bool>(), kind in 0u8..13
        ) {
            if header && bytes.len() >= 4 {
                let length = bytes.len() as u8;
                bytes[..4].copy_from_slice(&[VERSION, kind, 0, length]);
            }
            if let Ok(message) = Message::parse(&bytes) {
                prop_assert_eq!(Message::parse(&message.emit()), Ok(message));
            }
        }
    }

    #[test]
    fn bytes_are_where_the_table_says() {
        let body = Body::Window { dst: Some(HostId(5)), duration: Time::us(1), rate: None };
        let message = Message { host: HostId(3), seq: 258, heard: 259, level: 2, term: 7, body };
        let expected = [
            2, 5, 0, 40, 0, 0, 0, 3, 0, 0, 1, 2, 0, 0, 1, 3, 2, 0, 0, 7, // header
            0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 3, 232, 0, 0, 0, 0, 0, 0, 0, 0,
        ];
        assert_eq!(message.emit(), expected);
    }

    #[test]
    fn sequence_numbers_wrap() {
        assert!(newer(1, 0) && newer(0, u32::MAX) && !newer(0, 0) && !newer(u32::MAX, 0));
    }
}
