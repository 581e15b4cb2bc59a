//! The tables of what was followed in detail: the parts of completion times, the events of flows, the schedule, and
//! captured packets. They exist only if a scenario asks for them.

use super::table::{Cell, Column, Put, Table, fit, set};
use super::tables::{PORT_INDEX, field, node, port, scheme, seed};
use crate::record::{CapturedPacket, Part, RunRecord, ScheduleRow, SequenceRow, Step, WhyRow};
use slotline_net::frame::{Circuits, Kind};
use slotline_net::id::HostId;
use std::borrow::Cow;
use std::ops::Range;

/// A column with the picoseconds of one part.
macro_rules! part {
    ($part:ident, $name:literal, $meaning:literal) => {
        Column {
            name: $name,
            meaning: $meaning,
            cell: Cell::Count(
                |why| why.of(Part::$part),
                |why, v| fit(&mut why.parts[Part::$part as usize], v),
            ),
        }
    };
}

/// The port with index `at` of those at which a flow waited longest; `None` if there are fewer.
fn waited(why: &WhyRow, at: usize) -> Option<u32> {
    let (port, ps) = why.worst[at];
    (ps > 0).then_some(port)
}

const fn worst_node(name: &'static str, get: fn(&WhyRow) -> Option<u32>) -> Column<WhyRow> {
    let meaning = "Node at which it waited longest (2: second, 3: third); empty if there is none.";
    Column { name, meaning, cell: Cell::Node(get) }
}
const fn worst_port(name: &'static str, get: fn(&WhyRow) -> Option<u32>) -> Column<WhyRow> {
    Column { name, meaning: "Port of that node.", cell: Cell::Port(get) }
}
const fn worst_ps(name: &'static str, get: fn(&WhyRow) -> u64, put: Put<WhyRow>) -> Column<WhyRow> {
    let meaning =
        "How long it waited there: for a grant, its network card, a circuit, or in a queue.";
    Column { name, meaning, cell: Cell::Count(get, put) }
}
const fn worst_index(
    name: &'static str,
    get: fn(&WhyRow) -> u64,
    put: Put<WhyRow>,
) -> Column<WhyRow> {
    Column { name, meaning: PORT_INDEX, cell: Cell::Count(get, put) }
}

/// One row per followed flow: where its time went.
pub static WHY: Table<WhyRow> = Table {
    name: "why",
    meaning: "One row per followed flow: where its time went. The parts add up to its completion \
              time.",
    csv: true,
    rows: |run, range| Cow::Borrowed(&run.why[range]),
    len: |run| run.why.len(),
    blank: WhyRow::default,
    columns: &[
        scheme(),
        seed(),
        field!("flow", Count, flow, "The flow's number in the run."),
        part!(Grant, "grant_ps", "Held back in the sending host until a scheduler permitted it."),
        part!(Card, "card_ps", "Waiting for the sending host's own network card."),
        part!(Queue, "queue_ps", "Waiting in queues of switch ports."),
        part!(
            Circuit,
            "circuit_ps",
            "Waiting in a rack's switch for a circuit, on which it then left."
        ),
        part!(Serialising, "serialising_ps", "Transmission onto links."),
        part!(Propagating, "propagating_ps", "Propagation along links."),
        part!(Host, "host_ps", "Reaction of hosts: processing, delayed acknowledgements."),
        part!(Retransmitting, "retransmitting_ps", "Segments sent again, until they arrived."),
        part!(Timeout, "timeout_ps", "Silence until a retransmission timer expired."),
        part!(Unknown, "unknown_ps", "Unknown, because the packets were not followed."),
        field!(
            "round_trips",
            Count,
            round_trips,
            "Acknowledgements on the critical path: round trips that had to follow one another."
        ),
        worst_node("worst1_node", |w| waited(w, 0)),
        worst_port("worst1_port", |w| waited(w, 0)),
        worst_ps("worst1_ps", |w| w.worst[0].1, |w, v| fit(&mut w.worst[0].1, v)),
        worst_index("worst1_index", |w| w.worst[0].0.into(), |w, v| fit(&mut w.worst[0].0, v)),
        worst_node("worst2_node", |w| waited(w, 1)),
        worst_port("worst2_port", |w| waited(w, 1)),
        worst_ps("worst2_ps", |w| w.worst[1].1, |w, v| fit(&mut w.worst[1].1, v)),
        worst_index("worst2_index", |w| w.worst[1].0.into(), |w, v| fit(&mut w.worst[1].0, v)),
        worst_node("worst3_node", |w| waited(w, 2)),
        worst_port("worst3_port", |w| waited(w, 2)),
        worst_ps("worst3_ps", |w| w.worst[2].1, |w, v| fit(&mut w.worst[2].1, v)),
        worst_index("worst3_index", |w| w.worst[2].0.into(), |w, v| fit(&mut w.worst[2].0, v)),
    ],
};

/// One row per step of a followed flow.
pub static SEQUENCE: Table<SequenceRow> = Table {
    name: "sequence",
    meaning: "One row per step of a flow that was followed in detail, for a time-sequence graph.",
    csv: true,
    rows: |run, range| Cow::Borrowed(&run.sequence[range]),
    len: |run| run.sequence.len(),
    blank: || SequenceRow { flow: 0, t_ps: 0, step: Step::Sent, bytes: 0 },
    columns: &[
        scheme(),
        seed(),
        field!("flow", Count, flow, "The flow's number in the run."),
        field!("t_ps", Count, t_ps, "When."),
        Column {
            name: "step",
            meaning: "`sent`, `resent`: a segment was put on the sender's link; `acknowledged`: the \
                      sender got an acknowledgement.",
            cell: Cell::Text(|s| s.step.key(), |s, v| set(&mut s.step, step(v))),
        },
        field!(
            "bytes",
            Count,
            bytes,
            "Payload bytes of the flow up to the segment's end, or all acknowledged bytes."
        ),
    ],
};

fn step(key: &str) -> Option<Step> {
    [Step::Sent, Step::Resent, Step::Acknowledged].into_iter().find(|step| step.key() == key)
}

/// One row per permission to send.
pub static SCHEDULE: Table<ScheduleRow> = Table {
    name: "schedule",
    meaning: "One row per span of time in which a central scheduler permitted a host to send. Only about the first million are kept.",
    csv: true,
    rows: |run, range| Cow::Borrowed(&run.schedule[range]),
    len: |run| run.schedule.len(),
    blank: || ScheduleRow { from_ps: 0, until_ps: 0, src: 0, dst: 0, rate_bps: 0 },
    columns: &[
        scheme(),
        seed(),
        field!("from_ps", Count, from_ps, "When it begins."),
        field!("until_ps", Count, until_ps, "When it ends; not included."),
        field!("src", Count, src, "Number of the sending host."),
        field!("dst", Count, dst, "Number of the only host it may send to."),
        field!(
            "rate_bps",
            Count,
            rate_bps,
            "Its rate limit in bits per second; 0 if only its link limits it."
        ),
    ],
};

/// A captured packet and its port.
#[derive(Clone)]
pub struct CapturedRow {
    /// Index of its port in the run.
    pub port: u32,
    /// The packet.
    pub of: CapturedPacket,
}

fn captured(run: &RunRecord, range: Range<usize>) -> Vec<CapturedRow> {
    let rows = run.captures.iter().flat_map(|capture| {
        capture.packets.iter().map(|of| CapturedRow { port: capture.port, of: of.clone() })
    });
    rows.skip(range.start).take(range.len()).collect()
}

/// A column that is a field of the packet.
macro_rules! packet {
    ($name:literal, $($field:tt).+, $meaning:literal) => {
        Column {
            name: $name,
            meaning: $meaning,
            cell: Cell::Count(
                |row| u64::from(row.of.packet.$($field).+),
                |row, v| fit(&mut row.of.packet.$($field).+, v),
            ),
        }
    };
}

/// A column that is an edge of a range of selective acknowledgement.
macro_rules! sack {
    ($name:literal, $at:literal, $edge:ident) => {
        Column {
            name: $name,
            meaning: "Edge of a range of segments received beyond `seq`, as a distance from it; the \
                      end is not included; 0 if there is none.",
            cell: Cell::Count(
                |row| u64::from(row.of.packet.sack[$at].$edge),
                |row, v| fit(&mut row.of.packet.sack[$at].$edge, v),
            ),
        }
    };
}

/// One row per captured packet.
pub static CAPTURES: Table<CapturedRow> = Table {
    name: "captures",
    meaning: "One row per packet that left a captured port, in the order they left.",
    csv: false,
    rows: |run, range| Cow::Owned(captured(run, range)),
    len: |run| run.captures.iter().map(|capture| capture.packets.len()).sum(),
    blank: || CapturedRow { port: 0, of: CapturedPacket::default() },
    columns: &[
        scheme(),
        seed(),
        node(|c| Some(c.port)),
        port(|c| Some(c.port)),
        Column {
            name: "t_ps",
            meaning: "When its first bit left.",
            cell: Cell::Count(|c| c.of.t_ps, |c, v| fit(&mut c.of.t_ps, v)),
        },
        Column {
            name: "src",
            meaning: "Number of the host that made it.",
            cell: Cell::Count(|c| c.of.src.into(), |c, v| fit(&mut c.of.src, v)),
        },
        Column {
            name: "dst",
            meaning: "Number of the destination host.",
            cell: Cell::Count(|c| c.of.packet.dst.0.into(), put_dst),
        },
        Column {
            name: "kind",
            meaning: "`data`, `ack`, `datagram`, `control` or `pause`.",
            cell: Cell::Text(
                |c| kind_name(c.of.packet.kind),
                |c, v| set(&mut c.of.packet.kind, kind_of(v)),
            ),
        },
        packet!("connection", flow, "Number of its connection."),
        packet!("seq", seq, "Segment, datagram or acknowledgement number; of pauses the classes."),
        packet!("bytes", len, "Its length on the wire, framing included."),
        packet!("class", class, "Its class, 0 to 7; 7 is served first."),
        packet!(
            "flags",
            flags,
            "Sum of: 1 ECN-capable, 2 congestion experienced, 4 ECN echo, 8 window reduced, 16 sent \
             again, 32 end of a message, or a pause frame."
        ),
        Column {
            name: "circuits",
            meaning: "Class of the path it took out of its rack (0: packet switch), plus 8 times the class \
                      of the path back at that time, plus 64 if the path back had a circuit or would \
                      have one soon.",
            cell: Cell::Count(|c| c.of.packet.circuits.bits().into(), put_circuits),
        },
        packet!("stamp_ns", stamp, "Sender's clock in nanoseconds, modulo 2^32; echoed by acks."),
        packet!(
            "entropy",
            entropy,
            "The value that multipath routing hashes, or the number of its path."
        ),
        sack!("sack1_start", 0, start),
        sack!("sack1_end", 0, end),
        sack!("sack2_start", 1, start),
        sack!("sack2_end", 1, end),
        sack!("sack3_start", 2, start),
        sack!("sack3_end", 2, end),
        Column {
            name: "port_index",
            meaning: PORT_INDEX,
            cell: Cell::Count(|c| c.port.into(), |c, v| fit(&mut c.port, v)),
        },
        Column {
            name: "head",
            meaning: "In an emulation, the first 128 bytes of the real IP packet, in hexadecimal; empty in \
                      simulation.",
            cell: Cell::Text(|c| &c.of.head, |c, v| set(&mut c.of.head, Some(v.into()))),
        },
    ],
};

fn put_dst(row: &mut CapturedRow, value: u64) -> Option<()> {
    row.of.packet.dst = HostId(u32::try_from(value).ok()?);
    Some(())
}

fn put_circuits(row: &mut CapturedRow, value: u64) -> Option<()> {
    row.of.packet.circuits = Circuits::from_bits(u8::try_from(value).ok()?)?;
    Some(())
}

/// Names of the kinds of packets in results.
const KINDS: [(Kind, &str); 5] = [
    (Kind::Data, "data"),
    (Kind::Ack, "ack"),
    (Kind::Datagram, "datagram"),
    (Kind::Control, "control"),
    (Kind::Pause, "pause"),
];

fn kind_name(kind: Kind) -> &'static str {
    KINDS.iter().find(|(k, _)| *k == kind).map_or("", |(_, name)| name)
}

fn kind_of(name: &str) -> Option<Kind> {
    KINDS.iter().find(|(_, n)| *n == name).map(|(kind, _)| *kind)
}
