//! Whole messages (sections 7.1, 7.3 and 7.5).

use crate::modify::{FlowMod, GroupMod};
use crate::reader::{DecodeError, Reader, Write, set_length};
use crate::statistics::{FlowFilter, FlowStats, Port, PortStats};
use crate::{ANY_PORT, VERSION};
use std::fmt::{self, Display, Formatter};

/// The length of the header of messages.
pub const HEADER: usize = 8;

/// A message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The number that its sender gave it. An answer has that of the request.
    pub xid: u32,
    /// Its content.
    pub body: Body,
}

/// The content of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    /// The first message of both ends. Its elements, which say the known versions, are not read.
    Hello,
    /// A request was refused.
    Error(Refusal),
    /// Asks for an answer with the same bytes.
    EchoRequest(Vec<u8>),
    /// The answer to that.
    EchoReply(Vec<u8>),
    /// Asks what the switch is.
    FeaturesRequest,
    /// What the switch is.
    Features(Features),
    /// Changes entries of a table.
    FlowMod(FlowMod),
    /// Changes a group.
    GroupMod(GroupMod),
    /// Asks for the entries that a filter describes.
    FlowStatsRequest(FlowFilter),
    /// Entries; `true` if another message with more of them follows.
    FlowStats(Vec<FlowStats>, bool),
    /// Asks for the counts of a port, or of all with [`ANY_PORT`].
    PortStatsRequest(u32),
    /// Counts of ports; `true` if another message with more of them follows.
    PortStats(Vec<PortStats>, bool),
    /// Asks which ports there are.
    PortsRequest,
    /// The ports; `true` if another message with more of them follows.
    Ports(Vec<Port>, bool),
    /// Asks for an answer when all earlier messages have been handled.
    BarrierRequest,
    /// The answer to that.
    BarrierReply,
    /// Any other message: its type and its content.
    Other(u8, Vec<u8>),
}

/// What a switch is (`ofp_switch_features`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Features {
    /// Its number.
    pub datapath: u64,
    /// Packets for which it has room while a controller decides.
    pub buffers: u32,
    /// Its tables.
    pub tables: u8,
    /// The number of the connection; 0 for the main one.
    pub auxiliary: u8,
    /// `OFPC_…`.
    pub capabilities: u32,
}

/// Why a request was refused (`ofp_error_msg`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// `OFPET_…`.
    pub kind: u16,
    /// The reason, of those of its kind.
    pub code: u16,
    /// The beginning of the refused message.
    pub data: Vec<u8>,
}

/// The names of the kinds of errors, from 0 on, as the specification has them without `OFPET_`.
const KINDS: [&str; 14] = [
    "HELLO_FAILED",
    "BAD_REQUEST",
    "BAD_ACTION",
    "BAD_INSTRUCTION",
    "BAD_MATCH",
    "FLOW_MOD_FAILED",
    "GROUP_MOD_FAILED",
    "PORT_MOD_FAILED",
    "TABLE_MOD_FAILED",
    "QUEUE_OP_FAILED",
    "SWITCH_CONFIG_FAILED",
    "ROLE_REQUEST_FAILED",
    "METER_MOD_FAILED",
    "TABLE_FEATURES_FAILED",
];

impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Refusal { kind, code, .. } = self;
        match KINDS.get(usize::from(*kind)) {
            Some(name) => write!(f, "the switch refused a request: {name}, code {code}"),
            None => write!(f, "the switch refused a request: error of type {kind}, code {code}"),
        }
    }
}

/// Types of messages.
mod kind {
    pub const HELLO: u8 = 0;
    pub const ERROR: u8 = 1;
    pub const ECHO_REQUEST: u8 = 2;
    pub const ECHO_REPLY: u8 = 3;
    pub const FEATURES_REQUEST: u8 = 5;
    pub const FEATURES_REPLY: u8 = 6;
    pub const FLOW_MOD: u8 = 14;
    pub const GROUP_MOD: u8 = 15;
    pub const MULTIPART_REQUEST: u8 = 18;
    pub const MULTIPART_REPLY: u8 = 19;
    pub const BARRIER_REQUEST: u8 = 20;
    pub const BARRIER_REPLY: u8 = 21;
}

/// Types of requests and answers in parts.
mod part {
    pub const FLOW: u16 = 1;
    pub const PORT_STATS: u16 = 4;
    pub const PORT_DESC: u16 = 13;
}

/// More parts of the answer follow (`OFPMPF_REPLY_MORE`).
const MORE: u16 = 1;
/// The element of a hello that lists versions (`OFPHET_VERSIONBITMAP`).
const BITMAP: u16 = 1;

impl Message {
    /// The message as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION, self.body.kind()];
        out.u16(0);
        out.u32(self.xid);
        self.body.encode(&mut out);
        set_length(&mut out, 0, 2);
        out
    }

    /// Reads the bytes of one message.
    ///
    /// # Errors
    /// They are no message of OpenFlow 1.3, or not exactly one.
    pub fn decode(bytes: &[u8]) -> Result<Message, DecodeError> {
        let mut reader = Reader::new("ofp_header", bytes);
        let (version, kind, length) = (reader.u8()?, reader.u8()?, reader.u16()?);
        if version != VERSION && kind != kind::HELLO {
            return Err(DecodeError::Version(version));
        }
        let xid = reader.u32()?;
        if usize::from(length) != bytes.len() {
            let (has, needs) = (bytes.len(), length.into());
            return Err(DecodeError::Length { what: "ofp_header", has, needs });
        }
        let body = Body::decode(kind, &mut Reader::new(Body::name(kind), reader.all()))?;
        Ok(Message { xid, body })
    }
}

impl Body {
    /// The request for all entries of all tables.
    pub fn all_entries() -> Body {
        Body::FlowStatsRequest(FlowFilter::cookie(0, 0))
    }
    /// The request for the counts of all ports.
    pub fn all_ports() -> Body {
        Body::PortStatsRequest(ANY_PORT)
    }

    /// The type of the message.
    fn kind(&self) -> u8 {
        match self {
            Body::Hello => kind::HELLO,
            Body::Error(_) => kind::ERROR,
            Body::EchoRequest(_) => kind::ECHO_REQUEST,
            Body::EchoReply(_) => kind::ECHO_REPLY,
            Body::FeaturesRequest => kind::FEATURES_REQUEST,
            Body::Features(_) => kind::FEATURES_REPLY,
            Body::FlowMod(_) => kind::FLOW_MOD,
            Body::GroupMod(_) => kind::GROUP_MOD,
            Body::FlowStatsRequest(_) | Body::PortStatsRequest(_) | Body::PortsRequest => {
                kind::MULTIPART_REQUEST
            }
            Body::FlowStats(..) | Body::PortStats(..) | Body::Ports(..) => kind::MULTIPART_REPLY,
            Body::BarrierRequest => kind::BARRIER_REQUEST,
            Body::BarrierReply => kind::BARRIER_REPLY,
            Body::Other(kind, _) => *kind,
        }
    }

    /// The name of the structure of a type, for errors.
    fn name(kind: u8) -> &'static str {
        match kind {
            kind::ERROR => "ofp_error_msg",
            kind::FEATURES_REPLY => "ofp_switch_features",
            kind::FLOW_MOD => "ofp_flow_mod",
            kind::GROUP_MOD => "ofp_group_mod",
            kind::MULTIPART_REQUEST => "ofp_multipart_request",
            kind::MULTIPART_REPLY => "ofp_multipart_reply",
            _ => "ofp_header",
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Body::Hello => {
                out.u16(BITMAP);
                out.u16(8);
                out.u32(1 << VERSION);
            }
            Body::Error(Refusal { kind, code, data }) => {
                out.u16(*kind);
                out.u16(*code);
                out.extend(data);
            }
            Body::EchoRequest(data) | Body::EchoReply(data) | Body::Other(_, data) => {
                out.extend(data);
            }
            Body::Features(features) => features.encode(out),
            Body::FlowMod(change) => change.encode(out),
            Body::GroupMod(change) => change.encode(out),
            Body::FlowStatsRequest(filter) => {
                multipart(out, part::FLOW, false);
                filter.encode(out);
            }
            Body::FlowStats(entries, more) => {
                multipart(out, part::FLOW, *more);
                entries.iter().for_each(|entry| entry.encode(out));
            }
            Body::PortStatsRequest(port) => {
                multipart(out, part::PORT_STATS, false);
                out.u32(*port);
                out.zeros(4);
            }
            Body::PortStats(ports, more) => {
                multipart(out, part::PORT_STATS, *more);
                ports.iter().for_each(|port| port.encode(out));
            }
            Body::PortsRequest => multipart(out, part::PORT_DESC, false),
            Body::Ports(ports, more) => {
                multipart(out, part::PORT_DESC, *more);
                ports.iter().for_each(|port| port.encode(out));
            }
            Body::FeaturesRequest | Body::BarrierRequest | Body::BarrierReply => {}
        }
    }

    fn decode(kind: u8, reader: &mut Reader<'_>) -> Result<Body, DecodeError> {
        Ok(match kind {
            kind::HELLO => Body::Hello,
            kind::ERROR => {
                let (kind, code) = (reader.u16()?, reader.u16()?);
                Body::Error(Refusal { kind, code, data: reader.all().to_vec() })
            }
            kind::ECHO_REQUEST => Body::EchoRequest(reader.all().to_vec()),
            kind::ECHO_REPLY => Body::EchoReply(reader.all().to_vec()),
            kind::FEATURES_REQUEST => Body::FeaturesRequest,
            kind::FEATURES_REPLY => Body::Features(Features::decode(reader)?),
            kind::FLOW_MOD => Body::FlowMod(FlowMod::decode(reader)?),
            kind::GROUP_MOD => Body::GroupMod(GroupMod::decode(reader)?),
            kind::MULTIPART_REQUEST => request(reader)?,
            kind::MULTIPART_REPLY => reply(reader)?,
            kind::BARRIER_REQUEST => Body::BarrierRequest,
            kind::BARRIER_REPLY => Body::BarrierReply,
            other => Body::Other(other, reader.all().to_vec()),
        })
    }
}

/// Appends the beginning of a request or answer in parts.
fn multipart(out: &mut Vec<u8>, kind: u16, more: bool) {
    out.u16(kind);
    out.u16(if more { MORE } else { 0 });
    out.zeros(4);
}

/// Reads a request for an answer in parts.
fn request(reader: &mut Reader<'_>) -> Result<Body, DecodeError> {
    let whole = *reader;
    let kind = reader.u16()?;
    reader.skip(6)?;
    Ok(match kind {
        part::FLOW => Body::FlowStatsRequest(FlowFilter::decode(reader)?),
        part::PORT_STATS => Body::PortStatsRequest(reader.u32()?),
        part::PORT_DESC => Body::PortsRequest,
        _ => Body::Other(kind::MULTIPART_REQUEST, { whole }.all().to_vec()),
    })
}

/// Reads a part of an answer.
fn reply(reader: &mut Reader<'_>) -> Result<Body, DecodeError> {
    let whole = *reader;
    let (kind, flags) = (reader.u16()?, reader.u16()?);
    reader.skip(4)?;
    let more = flags & MORE != 0;
    Ok(match kind {
        part::FLOW => Body::FlowStats(list(reader, FlowStats::decode)?, more),
        part::PORT_STATS => Body::PortStats(list(reader, PortStats::decode)?, more),
        part::PORT_DESC => Body::Ports(list(reader, Port::decode)?, more),
        _ => Body::Other(kind::MULTIPART_REPLY, { whole }.all().to_vec()),
    })
}

/// All elements up to the end of `reader`.
fn list<'a, T>(
    reader: &mut Reader<'a>,
    one: impl Fn(&mut Reader<'a>) -> Result<T, DecodeError>,
) -> Result<Vec<T>, DecodeError> {
    let mut all = Vec::new();
    while !reader.is_empty() {
        all.push(one(reader)?);
    }
    Ok(all)
}

impl Features {
    fn encode(&self, out: &mut Vec<u8>) {
        out.u64(self.datapath);
        out.u32(self.buffers);
        out.u8(self.tables);
        out.u8(self.auxiliary);
        out.zeros(2);
        out.u32(self.capabilities);
        out.zeros(4);
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Features, DecodeError> {
        let (datapath, buffers) = (reader.u64()?, reader.u32()?);
        let (tables, auxiliary) = (reader.u8()?, reader.u8()?);
        reader.skip(2)?;
        let capabilities = reader.u32()?;
        reader.skip(4)?;
        Ok(Features { datapath, buffers, tables, auxiliary, capabilities })
    }
}
