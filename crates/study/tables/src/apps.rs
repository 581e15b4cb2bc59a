//! Programs on real hosts, as a table of the result.

use super::table::{Cell, Column, Table, fit, set};
use super::tables::{field, scheme, seed};
use crate::record::AppRow;
use std::borrow::Cow;

/// One row per program.
pub static APPS: Table<AppRow> = Table {
    name: "apps",
    meaning: "One row per program that ran on a real host.",
    csv: true,
    rows: |run, range| Cow::Borrowed(&run.apps[range]),
    len: |run| run.apps.len(),
    blank: AppRow::default,
    columns: &[
        scheme(),
        seed(),
        Column {
            name: "host",
            meaning: "Name of the host.",
            cell: Cell::Text(|e| &e.host, |e, v| set(&mut e.host, Some(v.into()))),
        },
        Column {
            name: "run",
            meaning: "The command that its shell ran.",
            cell: Cell::Text(|e| &e.run, |e, v| set(&mut e.run, Some(v.into()))),
        },
        field!("start_ps", Maybe, start_ps, "When it started; null if the run ended before."),
        field!("end_ps", Maybe, end_ps, "When it ended; null if the end of the run stopped it."),
        field!(
            "exit",
            Maybe,
            exit,
            "Its exit code; 128 plus the signal if a signal ended it; null if there is none."
        ),
        Column {
            name: "output",
            meaning: "Its output, at most 1 MiB.",
            cell: Cell::Text(|e| &e.output, |e, v| set(&mut e.output, Some(v.into()))),
        },
    ],
};
