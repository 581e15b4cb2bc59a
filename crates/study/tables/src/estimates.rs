//! Virtual queues compared with real queues, as a table of the result.

use super::table::{Cell, Column, Table, fit};
use super::tables::{field, node, port, scheme, seed};
use crate::record::EstimateRow;
use std::borrow::Cow;

/// One row per recorded comparison.
pub static ESTIMATES: Table<EstimateRow> = Table {
    name: "estimates",
    meaning: "One row per recorded comparison of a bump's virtual queue with the queue that it models: \
              one in each sampling interval, if samples are taken.",
    csv: true,
    rows: |run, range| Cow::Borrowed(&run.estimates[range]),
    len: |run| run.estimates.len(),
    blank: EstimateRow::default,
    columns: &[
        scheme(),
        seed(),
        field!("t_ps", Count, t_ps, "When a packet arrived at the switch through the bump."),
        node(|e| Some(e.port)),
        port(|e| Some(e.port)),
        field!(
            "bump",
            Count,
            bump,
            "Number of the table of virtual queues at its switch; bumps that share one are all number 0."
        ),
        field!(
            "estimate_bytes",
            Count,
            estimate_bytes,
            "Bytes in the virtual queue, without the packet."
        ),
        field!("real_bytes", Count, real_bytes, "Bytes that the port had not sent yet."),
        Column {
            name: "port_index",
            meaning: super::tables::PORT_INDEX,
            cell: Cell::Count(|e| e.port as u64, |e, v| fit(&mut e.port, v)),
        },
    ],
};
