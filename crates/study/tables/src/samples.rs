//! Samples of ports, as a table of the result.

use super::columns::Filled;
use super::deltas::Deltas;
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
        self.0.csv(runs, out)
    }
    fn parquet(&self, runs: &[&RunRecord], out: &mut (dyn Write + Send)) -> io::Result<()> {
        self.0.write_groups(runs, out, write)
    }
    fn columns(&self, runs: &[&RunRecord]) -> Vec<Filled> {
        self.0.columns(runs)
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
