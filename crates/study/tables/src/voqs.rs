//! The queues of a hybrid fabric's racks, as a table of the result.

use super::table::{Cell, Column, Table, fit};
use super::tables::{field, scheme, seed};
use crate::record::VoqRow;
use std::borrow::Cow;

/// One row per queue that had packets.
pub static VOQS: Table<VoqRow> = Table {
    name: "voqs",
    meaning: "One row per queue of a hybrid fabric's rack for another rack, if any packet arrived.",
    csv: true,
    rows: |run, range| Cow::Borrowed(&run.voqs[range]),
    len: |run| run.voqs.len(),
    blank: VoqRow::default,
    columns: &[
        scheme(),
        seed(),
        field!("src_rack", Count, src_rack, "Number of the rack that has the queue."),
        field!("dst_rack", Count, dst_rack, "Number of the destination rack."),
        field!("packets", Count, packets, "Packets that arrived, including dropped ones."),
        field!("circuit_bytes", Count, circuit_bytes, "Bytes that left by a circuit."),
        field!(
            "packet_switch_bytes",
            Count,
            packet_switch_bytes,
            "Bytes that left by the packet switch."
        ),
        field!("drops", Count, drops, "Packets dropped because it was full."),
        field!("resize_drops", Count, resize_drops, "Packets dropped when it was made shorter."),
        field!("resizes", Count, resizes, "How often its size was changed."),
        field!("longest", Count, longest, "Most packets that waited at a time."),
        field!("mean_wait_ps", Count, mean_wait_ps, "Mean waiting time of packets that left."),
        field!("circuit_up_ps", Count, circuit_up_ps, "Time during which a circuit existed."),
    ],
};
