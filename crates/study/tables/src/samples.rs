//! Samples of ports, as a table of the result.

use super::columns::Filled;
use super::csv::{Beginning, Lines, quoted};
use super::deltas::{Deltas, Steps};
use super::digits;
use super::shared::Shared;
use super::table::{Cell, Column, Table, TableAbout, fit, port_name};
use super::tables::{AnyTable, PORT_INDEX, field, node, port, scheme, seed};
use crate::record::{RunRecord, SampleRow};
use parquet::errors::{ParquetError, Result};
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::ColumnDescPtr;
use slotline_net::samples::Repeated;
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
    let samples = &run.samples;
    let all_times = steps_of(samples.times());
    let by_port = || samples.by_port(rows.clone());
    let numbers = |number: fn(&Repeated) -> u64| {
        let repeated = by_port().flat_map(|(series, turns)| series.repeated(turns));
        let steps =
            repeated.map(|run| Steps { first: number(&run), step: 0, count: run.turns.len() });
        Deltas::of_steps(rows.len(), steps)
    };
    let ports = by_port().map(|(series, turns)| (series.port, turns.len()));
    let indices = ports.map(|(port, count)| Steps { first: u64::from(port), step: 0, count });
    let times = by_port().flat_map(|(_, turns)| within(&all_times, turns));
    Shared::text(&run.scheme, rows.len()).append(scheme.clone(), group)?;
    Shared::number(run.seed, rows.len()).append(seed.clone(), group)?;
    Deltas::of_steps(rows.len(), times).append(time.clone(), group)?;
    names(run, rows.clone(), true).append(node.clone(), group)?;
    names(run, rows.clone(), false).append(port.clone(), group)?;
    numbers(|run| run.queue_bytes).append(queue.clone(), group)?;
    numbers(|run| run.tx_bytes).append(sent.clone(), group)?;
    Deltas::of_steps(rows.len(), indices).append(index.clone(), group)
}

/// Numbers, as few steps.
fn steps_of(numbers: &[u64]) -> Vec<Steps> {
    let mut all: Vec<Steps> = Vec::new();
    for number in numbers {
        match all.last_mut() {
            Some(last) if last.count == 1 => {
                *last = Steps { step: number.wrapping_sub(last.first), count: 2, ..*last };
            }
            Some(last) if last.number(last.count) == *number => last.count += 1,
            _ => all.push(Steps { first: *number, step: 0, count: 1 }),
        }
    }
    all
}

/// The steps between the numbers at `places`.
fn within(all: &[Steps], places: Range<usize>) -> impl Iterator<Item = Steps> {
    let mut before = 0;
    all.iter().filter_map(move |steps| {
        let from = places.start.max(before);
        let until = places.end.min(before + steps.count);
        let first = steps.number(from - before);
        before += steps.count;
        (from < until).then(|| Steps { first, count: until - from, ..*steps })
    })
}

/// The names of ports, or of their nodes.
fn names(run: &RunRecord, rows: Range<usize>, node: bool) -> Shared {
    let none = run.ports.len();
    let ports = run.samples.by_port(rows);
    let keys = ports.map(|(series, turns)| ((series.port as usize).min(none), turns.len()));
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
