//! The tables of a result.

use super::columns::Filled;
use super::table::{Cell, Column, Table, TableAbout, fit, or_never, set};
use crate::record::{ControlRow, FlowRow, NEVER, PortRow, RunRecord};
use std::borrow::Cow;
use std::io::{self, Write};

pub use super::apps::APPS;
pub use super::estimates::ESTIMATES;
pub use super::faults::FAULTS;
pub use super::followed::{CAPTURES, CapturedRow, SCHEDULE, SEQUENCE, WHY};
pub use super::limits::LIMITS;
pub use super::samples::SAMPLES;
pub use super::stopped::STOPPED;
pub use super::voqs::VOQS;

/// A table with rows of any type.
pub trait AnyTable: Sync {
    /// Its name: that of its files without the ending.
    fn name(&self) -> &'static str;
    /// Its description for documents.
    fn about(&self) -> TableAbout;
    /// Whether it is also written as CSV.
    fn has_csv(&self) -> bool;
    /// Rows of one run.
    fn len(&self, run: &RunRecord) -> usize;
    /// Writes the rows of `runs` as CSV, with a header.
    fn csv(&self, runs: &[&RunRecord], out: &mut dyn Write) -> io::Result<()>;
    /// Writes the rows of `runs` as Parquet.
    fn parquet(&self, runs: &[&RunRecord], out: &mut (dyn Write + Send)) -> io::Result<()>;
    /// The columns with the rows of `runs`.
    fn columns(&self, runs: &[&RunRecord]) -> Vec<Filled>;
}

impl<R: Clone + Sync> AnyTable for Table<R> {
    fn name(&self) -> &'static str {
        self.name
    }
    fn about(&self) -> TableAbout {
        Table::about(self)
    }
    fn has_csv(&self) -> bool {
        self.csv
    }
    fn len(&self, run: &RunRecord) -> usize {
        (self.len)(run)
    }
    fn csv(&self, runs: &[&RunRecord], out: &mut dyn Write) -> io::Result<()> {
        Table::csv(self, runs, out)
    }
    fn parquet(&self, runs: &[&RunRecord], out: &mut (dyn Write + Send)) -> io::Result<()> {
        Table::parquet(self, runs, out)
    }
    fn columns(&self, runs: &[&RunRecord]) -> Vec<Filled> {
        Table::columns(self, runs)
    }
}

/// All tables.
pub static ALL: [&dyn AnyTable; 14] = [
    &FLOWS, &SAMPLES, &PORTS, &CONTROL, &FAULTS, &ESTIMATES, &LIMITS, &STOPPED, &APPS, &VOQS, &WHY,
    &SEQUENCE, &SCHEDULE, &CAPTURES,
];

/// A column of [`Cell::Count`], [`Cell::Maybe`] or [`Cell::Flag`] that is a field of its row.
macro_rules! field {
    ($name:literal, Count, $field:ident, $meaning:literal) => {
        Column {
            name: $name,
            meaning: $meaning,
            cell: Cell::Count(|row| u64::from(row.$field), |row, v| fit(&mut row.$field, v)),
        }
    };
    ($name:literal, Maybe, $field:ident, $meaning:literal) => {
        Column {
            name: $name,
            meaning: $meaning,
            cell: Cell::Maybe(|row| row.$field, |row, v| fit(&mut row.$field, v)),
        }
    };
    ($name:literal, Flag, $field:ident, $meaning:literal) => {
        Column {
            name: $name,
            meaning: $meaning,
            cell: Cell::Flag(|row| row.$field, |row, v| row.$field = v),
        }
    };
}
pub(crate) use field;

pub(crate) const fn scheme<R>() -> Column<R> {
    Column { name: "scheme", meaning: "Name of the scheme.", cell: Cell::Scheme }
}
pub(crate) const fn seed<R>() -> Column<R> {
    Column { name: "seed", meaning: "Seed of the run.", cell: Cell::Seed }
}
pub(crate) const fn node<R>(port: fn(&R) -> Option<u32>) -> Column<R> {
    Column { name: "node", meaning: "Name of the port's node.", cell: Cell::Node(port) }
}
pub(crate) const fn port<R>(port: fn(&R) -> Option<u32>) -> Column<R> {
    Column {
        name: "port",
        meaning: "Name of the port: the node that it leads to.",
        cell: Cell::Port(port),
    }
}

/// One row per flow.
pub static FLOWS: Table<FlowRow> = Table {
    name: "flows",
    meaning: "One row per flow: one message from one host to another.",
    csv: true,
    rows: |run, range| Cow::Borrowed(&run.flows[range]),
    len: |run| run.flows.len(),
    blank: || FlowRow { start_ps: NEVER, finish_ps: NEVER, ..FlowRow::default() },
    columns: &[
        scheme(),
        seed(),
        field!("flow", Count, flow, "Its number in the run."),
        field!("group", Count, group, "Number of the workload that made it, from 0."),
        field!("src", Count, src, "Number of the sending host."),
        field!("dst", Count, dst, "Number of the receiving host."),
        field!("bytes", Count, bytes, "Payload, in bytes."),
        field!("start_ps", Maybe, start_ps, "When it began; null if the run ended before."),
        field!(
            "finish_ps",
            Maybe,
            finish_ps,
            "When its last byte arrived at the receiver; null if it was unfinished at the end of the run."
        ),
        Column {
            name: "ideal_ps",
            meaning: "Its completion time alone in the network; null if it was not computed.",
            cell: Cell::Maybe(
                |f| if f.ideal_ps == 0 { NEVER } else { f.ideal_ps },
                |f, v| fit(&mut f.ideal_ps, v),
            ),
        },
        field!("retransmits", Count, retransmits, "Segments sent again."),
        field!("timeouts", Count, timeouts, "Retransmission time-outs."),
        field!("udp", Flag, udp, "Whether it consists of datagrams instead of a byte stream."),
        field!(
            "request",
            Flag,
            request,
            "Whether it is a request, which only asks for other flows."
        ),
        Column {
            name: "exchange",
            meaning: "Number of the exchange (requests and their responses) that it is part of; \
                      null if it is part of none.",
            cell: Cell::Maybe(
                |f| or_never(f.exchange.map(u64::from)),
                |f, v| fit(f.exchange.insert(0), v),
            ),
        },
        field!(
            "delivered_bytes",
            Count,
            delivered_bytes,
            "Payload bytes that arrived, each counted once."
        ),
    ],
};

/// The meaning of a `port_index`.
pub(crate) const PORT_INDEX: &str = "Number of the port, as in the table of ports of the same run.";

/// One row per port.
pub static PORTS: Table<PortRow> = Table {
    name: "ports",
    meaning: "One row per port, with its totals over the run.",
    csv: true,
    rows: |run, range| Cow::Borrowed(&run.ports[range]),
    len: |run| run.ports.len(),
    blank: PortRow::default,
    columns: &[
        scheme(),
        seed(),
        Column {
            name: "node",
            meaning: "Name of its node.",
            cell: Cell::Text(|p| &p.node, |p, v| set(&mut p.node, Some(v.into()))),
        },
        Column {
            name: "port",
            meaning: "Its name: the node that it leads to.",
            cell: Cell::Text(|p| &p.port, |p, v| set(&mut p.port, Some(v.into()))),
        },
        field!(
            "host",
            Flag,
            host,
            "Whether its node is a host: packets that wait there are not in a queue of the network."
        ),
        field!("tx_packets", Count, tx_packets, "Packets sent."),
        field!("tx_bytes", Count, tx_bytes, "Bytes sent, framing included."),
        field!("drops", Count, drops, "Packets dropped on arrival at its queue."),
        field!("marks", Count, marks, "Packets marked with congestion experienced."),
        field!(
            "peak_bytes",
            Count,
            peak_bytes,
            "Longest queue, in bytes, without messages that wait in a class of their own."
        ),
        field!(
            "message_peak_bytes",
            Count,
            message_peak_bytes,
            "Most bytes of messages of a central scheme that waited in a class of their own."
        ),
        field!("pauses", Count, pauses, "Pause frames it obeyed."),
        field!("rate_bps", Count, rate_bps, "Rate of its link at the start, in bits per second."),
        Column {
            name: "port_index",
            meaning: "Its number in the run, from 0, by which other tables refer to it.",
            cell: Cell::Number,
        },
    ],
};

/// One row per count of a central scheme.
pub static CONTROL: Table<ControlRow> = Table {
    name: "control",
    meaning: "One row per counter of a central scheme, with its sum over the run.",
    csv: true,
    rows: |run, range| Cow::Borrowed(&run.control[range]),
    len: |run| run.control.len(),
    blank: ControlRow::default,
    columns: &[
        scheme(),
        seed(),
        Column {
            name: "count",
            meaning: "Name of the counter.",
            cell: Cell::Text(|c| &c.count, |c, v| set(&mut c.count, Some(v.into()))),
        },
        field!("value", Count, value, "Its sum; the highest value if it is a high-water mark."),
    ],
};
