//! Tables as CSV (RFC 4180, one line feed per line).

use super::digits;
use super::table::{Cell, Column, Table, port_name};
use crate::record::{NEVER, RunRecord};
use std::borrow::Cow;
use std::io::{self, Write};

/// Bytes collected before they are written.
const BLOCK: usize = 1 << 16;

impl<R: Clone> Table<R> {
    /// Writes the rows of all runs with a header.
    pub fn csv(&self, runs: &[&RunRecord], out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        let mut lines = Lines::of(self.columns, out);
        for &run in runs {
            let beginning = Beginning::of(run, self.columns);
            for range in self.parts(run) {
                for (number, row) in range.clone().zip((self.rows)(run, range).iter()) {
                    lines.text.extend_from_slice(&beginning.text);
                    for column in &self.columns[beginning.columns..] {
                        column.cell.csv(run, number, row, &mut lines.text);
                        lines.text.push(b',');
                    }
                    lines.text.pop();
                    lines.end_line()?;
                }
            }
        }
        lines.finish()
    }
}

/// Lines that are written many at a time.
pub(super) struct Lines<'a, W: Write + ?Sized> {
    /// What has not been written.
    pub text: Vec<u8>,
    out: &'a mut W,
}

impl<'a, W: Write + ?Sized> Lines<'a, W> {
    /// Begins with a header of these columns.
    pub fn of<R>(columns: &[Column<R>], out: &'a mut W) -> Lines<'a, W> {
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        Lines { text: (names.join(",") + "\n").into_bytes(), out }
    }

    pub fn end_line(&mut self) -> io::Result<()> {
        self.text.push(b'\n');
        if self.text.len() >= BLOCK {
            self.out.write_all(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }

    pub fn finish(self) -> io::Result<()> {
        self.out.write_all(&self.text)
    }
}

/// The beginning of all lines of a run: its scheme and seed.
pub(super) struct Beginning {
    /// The number of columns that it covers.
    columns: usize,
    pub text: Vec<u8>,
}

impl Beginning {
    pub fn of<R>(run: &RunRecord, columns: &[Column<R>]) -> Beginning {
        let mut text = Vec::new();
        let same = columns.iter().map_while(|column| match column.cell {
            Cell::Scheme => Some(quoted(&run.scheme)),
            Cell::Seed => Some(Cow::Owned(run.seed.to_string())),
            _ => None,
        });
        let mut columns = 0;
        for field in same {
            text.extend_from_slice(field.as_bytes());
            text.push(b',');
            columns += 1;
        }
        Beginning { columns, text }
    }
}

impl<R> Cell<R> {
    fn csv(&self, run: &RunRecord, number: usize, row: &R, out: &mut Vec<u8>) {
        let mut text = |text: &str| out.extend_from_slice(quoted(text).as_bytes());
        match self {
            Cell::Scheme => text(&run.scheme),
            Cell::Node(port) => text(port_name(run, port(row), true)),
            Cell::Port(port) => text(port_name(run, port(row), false)),
            Cell::Text(get, _) => text(get(row)),
            Cell::Seed => digits::push(run.seed, out),
            Cell::Number => digits::push(number as u64, out),
            Cell::Maybe(get, _) if get(row) == NEVER => {}
            Cell::Count(get, _) | Cell::Maybe(get, _) => digits::push(get(row), out),
            Cell::Flag(get, _) if get(row) => out.extend_from_slice(b"true"),
            Cell::Flag(..) => out.extend_from_slice(b"false"),
        }
    }
}

/// A field as text. Spreadsheets interpret text that begins with one of these characters as a formula, unless an
/// apostrophe precedes it.
pub fn quoted(field: &str) -> Cow<'_, str> {
    if field.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        return Cow::Owned(quoted(&format!("'{field}")).into_owned());
    }
    if field.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", field.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(field)
    }
}
