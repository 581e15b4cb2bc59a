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
    rows: |run| Cow::Borrowed(&run.apps),
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
            meaning: "What its shell ran.",
            cell: Cell::Text(|e| &e.run, |e, v| set(&mut e.run, Some(v.into()))),
        },
        field!("start_ps", Maybe, start_ps, "When it started; null where the run ended before."),
        field!("end_ps", Maybe, end_ps, "When it ended; null where the run ended it."),
        field!(
            "exit",
            Maybe,
            exit,
            "Its exit code, 128 and the signal where a signal ended it; null without any."
        ),
        Column {
            name: "output",
            meaning: "What it wrote, at most 1 MiB.",
            cell: Cell::Text(|e| &e.output, |e, v| set(&mut e.output, Some(v.into()))),
        },
    ],
};
