//! Messages between switches and Hedera's scheduler (thesis §4.1, §4.4.4): large flows with their counted bytes,
//! the paths that they take, and links that do not work. `docs/hedera.md` describes them.
//! Big-endian:
//!
//! ```text
//! 0         1         2         3         4
//! | version |  type   |      length       |   of the whole message
//! |              host                     |   the host of the flows, or the switch
//! |            sequence                   |   counts the sender's messages about this host
//! | body ...
//! ```
//!
//! | type | message | from | body |
//! |---|---|---|---|
//! | 1 | flows | edge switch | report: u32, part: u16, parts: u16, span: u64 (ns), count: u16, count of (connection, destination, bytes) |
//! | 2 | paths | scheduler | count: u16, count of (connection, path) |
//! | 3 | ports | switch | count: u16, count of ports that do not work |
//! | 4 | broken | scheduler | count: u16, count of directed links that do not work |
//!
//! Connections, destinations, bytes, paths, ports and links are numbers in groups of seven bits, the lowest group first, in as few
//! bytes as they need. All bytes but the last have their highest bit set. A connection, port or link is encoded as its
//! difference from the one before it in the list (the first: from 0), modulo 2³², because the connections of a
//! host mostly have successive numbers.

use slotline_net::id::{ConnId, HostId};
use slotline_net::scheme::FlowCount;
use slotline_net::time::Time;
use slotline_net::wire::{ParseError, Reader, put_number};

/// Version of the protocol.
pub const VERSION: u8 = 1;
/// Flows that fit into one [`Body::Flows`] within a 1500-byte frame.
pub const MAX_FLOWS: usize = 73;
/// Flows that fit into one [`Body::Paths`].
pub const MAX_PATHS: usize = 185;
/// Ports or links that fit into one message.
pub const MAX_LINKS: usize = 280;

const HEADER: usize = 12;

/// A message about the flows of one host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The host whose flows the message is about.
    pub host: HostId,
    /// Counts the sender's messages about this host, modulo 2³².
    pub seq: u32,
    /// The content.
    pub body: Body,
}

/// The content of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    /// To the scheduler: a part of a host's large flows.
    Flows {
        /// Counts the reports about this host. All parts of a report have the same number.
        report: u32,
        /// The number of the part, from zero, below `parts`.
        part: u16,
        /// The number of parts, at least one.
        parts: u16,
        /// How long the bytes were counted.
        span: Time,
        /// The flows; at most [`MAX_FLOWS`].
        flows: Vec<FlowCount>,
    },
    /// To the edge switch: paths of connections; at most [`MAX_PATHS`].
    Paths(Vec<(ConnId, u16)>),
    /// To the scheduler: the ports of a switch towards other switches that do not work; at most [`MAX_LINKS`].
    Ports(Vec<u32>),
    /// To switches: the directed links that do not work, by their numbers in the network; at most [`MAX_LINKS`].
    Broken(Vec<u32>),
}

impl Message {
    /// The message as bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = vec![VERSION, 0, 0, 0];
        out.extend(self.host.0.to_be_bytes());
        out.extend(self.seq.to_be_bytes());
        out[1] = match &self.body {
            Body::Flows { report, part, parts, span, flows } => {
                out.extend(report.to_be_bytes());
                out.extend(part.to_be_bytes());
                out.extend(parts.to_be_bytes());
                out.extend(span.as_ns().to_be_bytes());
                out.extend((flows.len() as u16).to_be_bytes());
                let mut last = 0;
                for flow in flows {
                    put_conn(&mut out, &mut last, flow.conn);
                    put_number(&mut out, flow.dst.0.into());
                    put_number(&mut out, flow.bytes);
                }
                1
            }
            Body::Paths(paths) => {
                out.extend((paths.len() as u16).to_be_bytes());
                let mut last = 0;
                for &(conn, path) in paths {
                    put_conn(&mut out, &mut last, conn);
                    put_number(&mut out, path.into());
                }
                2
            }
            Body::Ports(ports) => {
                put_links(&mut out, ports);
                3
            }
            Body::Broken(links) => {
                put_links(&mut out, links);
                4
            }
        };
        let length = (out.len() as u16).to_be_bytes();
        out[2..4].copy_from_slice(&length);
        out
    }
    /// Reads a message, which has to fill `bytes`.
    ///
    /// # Errors
    /// The bytes are not a message of this version.
    pub fn parse(bytes: &[u8]) -> Result<Message, ParseError> {
        let mut reader = Reader(bytes);
        let field = |field, value| Err(ParseError::Field { field, value });
        let (version, kind, length) = (reader.u8()?, reader.u8()?, reader.u16()?);
        if version != VERSION {
            return field("version", version.into());
        }
        if usize::from(length) != bytes.len().max(HEADER) {
            return field("length", length.into());
        }
        let (host, seq) = (HostId(reader.u32()?), reader.u32()?);
        let body = match kind {
            1 => flows(&mut reader)?,
            2 => Body::Paths(paths(&mut reader)?),
            3 => Body::Ports(links(&mut reader)?),
            4 => Body::Broken(links(&mut reader)?),
            _ => return field("type", kind.into()),
        };
        reader.end()?;
        Ok(Message { host, seq, body })
    }
}

fn flows(reader: &mut Reader<'_>) -> Result<Body, ParseError> {
    let (report, part, parts) = (reader.u32()?, reader.u16()?, reader.u16()?);
    if part >= parts {
        return Err(ParseError::Field { field: "part", value: part.into() });
    }
    let ns = reader.u64()?;
    let span = match ns.checked_mul(1_000) {
        Some(ps) => Time::ps(ps),
        None => return Err(ParseError::Field { field: "span", value: ns }),
    };
    let mut last = 0;
    let flow = |r: &mut Reader<'_>| {
        Ok(FlowCount {
            conn: conn(r, &mut last)?,
            dst: HostId(r.number32("destination")?),
            bytes: r.number("bytes")?,
        })
    };
    Ok(Body::Flows { report, part, parts, span, flows: list(reader, MAX_FLOWS, flow)? })
}

fn paths(reader: &mut Reader<'_>) -> Result<Vec<(ConnId, u16)>, ParseError> {
    let mut last = 0;
    list(reader, MAX_PATHS, |r| {
        let conn = conn(r, &mut last)?;
        let path = r.number32("path")?;
        let wrong = ParseError::Field { field: "path", value: path.into() };
        u16::try_from(path).map(|path| (conn, path)).map_err(|_| wrong)
    })
}

fn links(reader: &mut Reader<'_>) -> Result<Vec<u32>, ParseError> {
    let mut last = 0;
    list(reader, MAX_LINKS, |r| conn(r, &mut last).map(|link| link.0))
}

/// Reads a connection, which is encoded as the difference from `last`.
fn conn(reader: &mut Reader<'_>, last: &mut u32) -> Result<ConnId, ParseError> {
    *last = last.wrapping_add(reader.number32("connection")?);
    Ok(ConnId(*last))
}

fn put_conn(out: &mut Vec<u8>, last: &mut u32, conn: ConnId) {
    put_number(out, conn.0.wrapping_sub(*last).into());
    *last = conn.0;
}

fn put_links(out: &mut Vec<u8>, links: &[u32]) {
    out.extend((links.len() as u16).to_be_bytes());
    let mut last = 0;
    links.iter().for_each(|link| put_conn(out, &mut last, ConnId(*link)));
}

fn list<T>(
    reader: &mut Reader<'_>,
    most: usize,
    mut entry: impl FnMut(&mut Reader<'_>) -> Result<T, ParseError>,
) -> Result<Vec<T>, ParseError> {
    let count = reader.u16()?;
    if usize::from(count) > most {
        return Err(ParseError::Field { field: "count", value: count.into() });
    }
    (0..count).map(|_| entry(reader)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn messages() -> impl Strategy<Value = Message> {
        let flow = (any::<u32>(), any::<u32>(), any::<u64>()).prop_map(|(conn, dst, bytes)| {
            FlowCount { conn: ConnId(conn), dst: HostId(dst), bytes }
        });
        let flows = (any::<u32>(), any::<(u16, u16)>(), 0..1u64 << 50).prop_map(
            |(report, (part, parts), ns)| (report, part % parts.max(1), parts.max(1), ns),
        );
        let flows = (flows, prop::collection::vec(flow, 0..=MAX_FLOWS)).prop_map(
            |((report, part, parts, ns), flows)| Body::Flows {
                report,
                part,
                parts,
                span: Time::ns(ns >> 10),
                flows,
            },
        );
        let path = (any::<u32>(), any::<u16>()).prop_map(|(conn, path)| (ConnId(conn), path));
        let paths = prop::collection::vec(path, 0..=MAX_PATHS).prop_map(Body::Paths);
        let links = || prop::collection::vec(any::<u32>(), 0..=MAX_LINKS);
        let (ports, broken) = (links().prop_map(Body::Ports), links().prop_map(Body::Broken));
        (any::<u32>(), any::<u32>(), prop_oneof![flows, paths, ports, broken])
            .prop_map(|(host, seq, body)| Message { host: HostId(host), seq, body })
    }

    /// The encoding is that of docs/hedera.md.
    #[test]
    fn flows_and_paths_take_few_bytes() {
        let flow = |conn, dst, bytes| FlowCount { conn: ConnId(conn), dst: HostId(dst), bytes };
        let body = Body::Flows {
            report: 7,
            part: 0,
            parts: 1,
            span: Time::ms(100),
            flows: vec![flow(300, 27_647, 12_500_000), flow(301, 5, 0)],
        };
        let bytes = Message { host: HostId(30), seq: 9, body }.emit();
        let entries = [0xac, 2, 0xff, 0xd7, 1, 0xa0, 0xf8, 0xfa, 5, 1, 5, 0];
        assert_eq!((bytes.len(), &bytes[30..]), (42, &entries[..]));
        let body = Body::Paths(vec![(ConnId(300), 575), (ConnId(302), 4), (ConnId(301), 4)]);
        let bytes = Message { host: HostId(30), seq: 9, body }.emit();
        let entries = [0xac, 2, 0xbf, 4, 2, 4, 0xff, 0xff, 0xff, 0xff, 0xf, 4];
        assert_eq!(bytes[14..], entries);
        let bytes = Message { host: HostId(40), seq: 1, body: Body::Broken(vec![48, 64]) }.emit();
        assert_eq!(bytes, [1, 4, 0, 16, 0, 0, 0, 40, 0, 0, 0, 1, 0, 2, 48, 16]);
        // Numbers in more bytes than they need, or too large, are refused.
        for strange in [&[0x80, 0][..], &[0xff, 0xff, 0xff, 0xff, 0x1f]] {
            let mut message = vec![VERSION, 2, 0, 15 + strange.len() as u8];
            message.extend([0, 0, 0, 30, 0, 0, 0, 9, 0, 1]);
            message.extend(strange);
            message.push(4);
            assert!(matches!(Message::parse(&message), Err(ParseError::Field { .. })));
        }
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(message in messages()) {
            let bytes = message.emit();
            prop_assert!(bytes.len() <= 1_500);
            prop_assert_eq!(Message::parse(&bytes), Ok(message));
        }

        /// Cut, lengthened and altered messages are errors or other messages. They never cause a panic.
        #[test]
        fn anything_can_arrive(
            message in messages(),
            bytes in prop::collection::vec(any::<u8>(), 0..80),
            at: prop::sample::Index,
            value: u8,
        ) {
            let _ = Message::parse(&bytes);
            let mut emitted = message.emit();
            let end = at.index(emitted.len());
            prop_assert!(Message::parse(&emitted[..end]).is_err());
            emitted[end] = value;
            if let Ok(other) = Message::parse(&emitted) {
                prop_assert_eq!(other.emit(), emitted.clone());
            }
            emitted.push(0);
            prop_assert!(Message::parse(&emitted).is_err());
        }
    }
}
