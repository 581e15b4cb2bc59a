//! Queues whose discipline failed, as a table of the result.

use super::table::{Cell, Column, Table, fit, set};
use super::tables::{field, node, port, scheme, seed};
use crate::record::StoppedRow;
use std::borrow::Cow;

/// One row per queue.
pub static STOPPED: Table<StoppedRow> = Table {
    name: "stopped",
    meaning: "One row per queue whose discipline, a program of an object file, was stopped; the packets of \
              that queue passed from then on.",
    csv: true,
    rows: |run, range| Cow::Borrowed(&run.stopped[range]),
    len: |run| run.stopped.len(),
    blank: StoppedRow::default,
    columns: &[
        scheme(),
        seed(),
        field!("t_ps", Count, t_ps, "When it broke a rule."),
        node(|e| Some(e.port)),
        port(|e| Some(e.port)),
        field!(
            "bump",
            Maybe,
            bump,
            "Of a virtual queue: number of its table at its switch; null for a queue of the switch itself."
        ),
        field!("class", Count, class, "Class of its packets; zero if all share one queue."),
        field!(
            "unjudged",
            Count,
            unjudged,
            "Packets that passed without a decision, including the one at which it broke a rule."
        ),
        Column {
            name: "why",
            meaning: "The rule that it broke.",
            cell: Cell::Text(|e| &e.why, |e, v| set(&mut e.why, Some(v.into()))),
        },
        Column {
            name: "port_index",
            meaning: super::tables::PORT_INDEX,
            cell: Cell::Count(|e| e.port as u64, |e, v| fit(&mut e.port, v)),
        },
    ],
};
