//! The virtual queues of flows that bumps limit, as a table of the result.

use super::table::{Cell, Column, Table, fit};
use super::tables::{field, node, port, scheme, seed};
use crate::record::LimitRow;
use std::borrow::Cow;

/// One row per sample of a limited flow.
pub static LIMITS: Table<LimitRow> = Table {
    name: "limits",
    meaning: "One row per sample of a flow that a bump limits: one in each sampling interval in which it sent, \
              if samples are taken.",
    csv: true,
    rows: |run, range| Cow::Borrowed(&run.limits[range]),
    len: |run| run.limits.len(),
    blank: LimitRow::default,
    columns: &[
        scheme(),
        seed(),
        field!("t_ps", Count, t_ps, "When a packet of the flow arrived at the bump."),
        node(|e| Some(e.port)),
        port(|e| Some(e.port)),
        field!("connection", Count, connection, "Number of the connection."),
        field!("rate_bps", Count, rate_bps, "Its rate limit, in bits per second."),
        field!(
            "queue_bytes",
            Count,
            queue_bytes,
            "Bytes in its virtual queue, which drains at that rate; with the packet, if it passed."
        ),
        Column {
            name: "port_index",
            meaning: super::tables::PORT_INDEX,
            cell: Cell::Count(|e| e.port as u64, |e, v| fit(&mut e.port, v)),
        },
    ],
};
