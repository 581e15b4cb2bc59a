//! Samples of ports, as a table of the result.

use super::columns::Filled;
use super::csv::{Beginning, Lines, quoted};
use super::deltas::Deltas;
use super::digits;
use super::shared::Shared;
use super::table::{Cell, Column, Table, TableAbout, fit, port_name};
use super::tables::{AnyTable, PORT_INDEX, field, node, port, scheme, seed};
use crate::record::{RunRecord, SampleRow};
use parquet::errors::{ParquetError, Result};
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::ColumnDescPtr;
use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::{Deref, Range};

/// One row per sampled port and instant.
pub static SAMPLES: SampleTable = SampleTable(Table {
    name: "samples",
    meaning: "One row per sampled port and instant, in order of port, then of time.",
    csv: true,
    rows: |run, range| Cow::Owned(run.samples.rows(range)),
    len: |run| run.samples.len(),
    blank: SampleRow::default,
    columns: &[
        scheme(),
        seed(),
        field!("t_ps", Count, t_ps, "When."),
        node(|s| Some(s.port)),
        port(|s| Some(s.port)),
        field!("queue_bytes", Count, queue_bytes, "Bytes waiting."),
        field!("tx_bytes", Count, tx_bytes, "Bytes sent since the run began, framing included."),
        Column {
            name: "port_index",
            meaning: PORT_INDEX,
            cell: Cell::Count(|s| s.port as u64, |s, v| fit(&mut s.port, v)),
        },
    ],
});

/// The table of samples. Most samples repeat others, so that its columns are encoded as Parquet without rows.
pub struct SampleTable(Table<SampleRow>);

impl Deref for SampleTable {
    type Target = Table<SampleRow>;

    fn deref(&self) -> &Table<SampleRow> {
        &self.0
    }
}

impl AnyTable for SampleTable {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn about(&self) -> TableAbout {
        self.0.about()
    }
    fn has_csv(&self) -> bool {
        self.0.has_csv()
    }
    fn len(&self, run: &RunRecord) -> usize {
        AnyTable::len(&self.0, run)
    }
    fn csv(&self, runs: &[&RunRecord], out: &mut dyn Write) -> io::Result<()> {
        let mut lines = Lines::of(self.0.columns, out);
        for run in runs {
            write_lines(run, self.0.columns, &mut lines)?;
        }
        lines.finish()
    }
    fn parquet(&self, runs: &[&RunRecord], out: &mut (dyn Write + Send)) -> io::Result<()> {
        self.0.write_groups(runs, out, write)
    }
    fn columns(&self, runs: &[&RunRecord]) -> Vec<Filled> {
        self.0.columns(runs)
    }
}

/// Writes the samples of a run as lines. What samples have in common is made into text once: the names of a port, and the
/// times of a run.
fn write_lines(
    run: &RunRecord,
    columns: &[Column<SampleRow>],
    lines: &mut Lines<'_, impl Write + ?Sized>,
) -> io::Result<()> {
    let beginning = Beginning::of(run, columns).text;
    let times = Texts::of(run.samples.times());
    let (mut names, mut of_port, mut end, mut done) = (Vec::new(), None, Vec::new(), Ok(()));
    run.samples.each(0..run.samples.len(), |series, repeated| {
        if done.is_err() {
            return;
        }
        if of_port.replace(series.port) != Some(series.port) {
            names = names_of(run, series.port);
        }
        end.clear();
        for value in [repeated.queue_bytes, repeated.tx_bytes, series.port.into()] {
            end.push(b',');
            digits::push(value, &mut end);
        }
        for turn in repeated.turns {
            [&beginning[..], times.of_number(turn), &names, &end]
                .iter()
                .for_each(|text| lines.text.extend_from_slice(text));
            if done.is_ok() {
                done = lines.end_line();
            }
        }
    });
    done
}

/// The names of a port and its node, each after a comma.
fn names_of(run: &RunRecord, port: u32) -> Vec<u8> {
    let name = |node: bool| quoted(port_name(run, Some(port), node));
    format!(",{},{}", name(true), name(false)).into_bytes()
}

/// Numbers as text.
struct Texts {
    text: Vec<u8>,
    /// The end of each.
    ends: Vec<usize>,
}

impl Texts {
    fn of(numbers: &[u64]) -> Texts {
        let mut text = Vec::new();
        let end = |number: &u64| {
            digits::push(*number, &mut text);
            text.len()
        };
        let ends = numbers.iter().map(end).collect();
        Texts { text, ends }
    }

    fn of_number(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[start..self.ends[at]]
    }
}

/// Writes the rows of `run` with these numbers.
fn write(
    run: &RunRecord,
    rows: Range<usize>,
    columns: &[ColumnDescPtr],
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
) -> Result<()> {
    let [scheme, seed, time, node, port, queue, sent, index] = columns else {
        return Err(ParquetError::General("the table of samples has eight columns".into()));
    };
    let numbers = |numbers: Vec<u64>| Deltas::of(&numbers, |_, number| *number);
    let samples = &run.samples;
    Shared::text(&run.scheme, rows.len()).append(scheme.clone(), group)?;
    Shared::number(run.seed, rows.len()).append(seed.clone(), group)?;
    numbers(samples.times_of(rows.clone())).append(time.clone(), group)?;
    names(run, rows.clone(), true).append(node.clone(), group)?;
    names(run, rows.clone(), false).append(port.clone(), group)?;
    numbers(samples.queue_bytes_of(rows.clone())).append(queue.clone(), group)?;
    numbers(samples.tx_bytes_of(rows.clone())).append(sent.clone(), group)?;
    numbers(samples.ports_of(rows)).append(index.clone(), group)
}

/// The names of ports, or of their nodes.
fn names(run: &RunRecord, rows: Range<usize>, node: bool) -> Shared {
    let none = run.ports.len();
    let ports = run.samples.repeated_ports(rows).into_iter();
    let keys = ports.map(|(port, rows)| ((port as usize).min(none), rows));
    Shared::by_repeated_key(keys, none + 1, |key| port_name(run, Some(key as u32), node))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{PortRow, Samples};
    use proptest::prelude::*;

    proptest! {
        /// Lines are those of the table's rows, written one by one.
        #[test]
        fn lines_are_those_of_rows(
            scheme in "[a,=\"]{0,3}",
            samples in prop::collection::vec((0..3u64, 0..20u64), 0..40),
            names in prop::collection::vec("[a,\n@\"]{0,3}", 2..4),
        ) {
            let turns = samples.len() / 3;
            let row = |(at, (queue_bytes, tx_bytes)): (usize, &(u64, u64))| SampleRow {
                t_ps: (at % turns) as u64 * 70,
                port: [2, 0, 9][at / turns],
                queue_bytes: *queue_bytes,
                tx_bytes: *tx_bytes,
            };
            let rows: Vec<SampleRow> = samples.iter().take(3 * turns).enumerate().map(row).collect();
            let port = |name: &String| PortRow { node: name.clone(), port: format!("-{name}"), ..PortRow::default() };
            let run = RunRecord {
                scheme,
                samples: Samples::from_rows(&rows).unwrap(),
                ports: names.iter().map(port).collect(),
                ..RunRecord::default()
            };
            let (mut lines, mut expected) = (Vec::new(), Vec::new());
            AnyTable::csv(&SAMPLES, &[&run, &run], &mut lines).unwrap();
            SAMPLES.0.csv(&[&run, &run], &mut expected).unwrap();
            prop_assert_eq!(String::from_utf8(lines), String::from_utf8(expected));
        }
    }
}
