//! Components that a central scheme has found to be faulty, as a table of the result.

use super::table::{Cell, Column, Table, fit, set};
use super::tables::{field, scheme, seed};
use crate::record::FaultRow;
use std::borrow::Cow;

/// One row per fault.
pub static FAULTS: Table<FaultRow> = Table {
    name: "faults",
    meaning: "One row per link or switch that a central scheme has found to be faulty, in order of \
              discovery.",
    csv: true,
    rows: |run, range| Cow::Borrowed(&run.faults[range]),
    len: |run| run.faults.len(),
    blank: FaultRow::default,
    columns: &[
        scheme(),
        seed(),
        Column {
            name: "name",
            meaning: "Its name, as in events.",
            cell: Cell::Text(|f| &f.name, |f, v| set(&mut f.name, Some(v.into()))),
        },
        field!("switch", Flag, switch, "Whether it is a switch; otherwise it is a link."),
        field!("found_ps", Count, found_ps, "When it was found."),
        field!(
            "avoided_ps",
            Maybe,
            avoided_ps,
            "When the first timeslot that avoids it began; null if the run ended before."
        ),
        field!("cleared_ps", Maybe, cleared_ps, "When it was used again; null if it was not."),
    ],
};
