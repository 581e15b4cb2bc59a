//! Reads tables from Parquet.

use super::table::{Cell, Column, PART, Put, Table};
use crate::caught::caught;
use crate::parallel;
use bytes::Bytes;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{BoolType, ByteArrayType, Int64Type};
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::ops::Range;

/// Rows decoded at a time.
const BATCH: usize = 4096;

/// The error message of a table that cannot be read.
type Fault = String;

type File = SerializedFileReader<Bytes>;

impl<R: Clone + Send + Sync> Table<R> {
    /// The rows of each run. Their numbers must be those in `rows`.
    pub fn read(&self, bytes: Bytes, rows: &[usize]) -> Result<Vec<Vec<R>>, Fault> {
        let (file, shares) = decoded(|| {
            let file = File::new(bytes).map_err(|error| error.to_string())?;
            self.check_schema(&file)?;
            let shares = share_out(&file, rows)?;
            Ok((file, shares))
        })?;
        let runs = parallel::map(&shares, |groups| decoded(|| self.read_run(&file, groups)));
        runs.into_iter().collect()
    }
    fn check_schema(&self, file: &File) -> Result<(), Fault> {
        let expected = self.schema().map_err(|error| error.to_string())?;
        let there = file.metadata().file_metadata().schema();
        let same = expected.get_fields().len() == there.get_fields().len()
            && expected.get_fields().iter().zip(there.get_fields()).all(|(a, b)| a == b);
        if same { Ok(()) } else { Err("its columns are not those of this table".into()) }
    }
    fn read_run(&self, file: &File, groups: &Range<usize>) -> Result<Vec<R>, Fault> {
        let length = |group: usize| file.metadata().row_group(group).num_rows() as usize;
        let mut rows = vec![(self.blank)(); groups.clone().map(length).sum()];
        let mut rest = &mut rows[..];
        for group in groups.clone() {
            let (part, later) = rest.split_at_mut(length(group));
            self.read_group(file, group, part)?;
            rest = later;
        }
        Ok(rows)
    }
    fn read_group(&self, file: &File, group: usize, rows: &mut [R]) -> Result<(), Fault> {
        let reader = file.get_row_group(group).map_err(|error| error.to_string())?;
        for (at, column) in self.columns.iter().enumerate().filter(|(_, c)| c.is_own()) {
            let cells = reader.get_column_reader(at).map_err(|error| error.to_string())?;
            column.read(cells, rows).map_err(|fault| format!("column {}: {fault}", column.name))?;
        }
        Ok(())
    }
}

/// The result of `read`. The library for Parquet panics on some damaged files.
fn decoded<T>(read: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    caught(read).unwrap_or_else(|| Err("it cannot be decoded".into()))
}

/// The row groups of each run.
fn share_out(file: &File, rows: &[usize]) -> Result<Vec<Range<usize>>, Fault> {
    let mut next = 0usize;
    let share = |expected: &usize| {
        let end = next.saturating_add(expected.div_ceil(PART));
        let groups = next..end.min(file.metadata().num_row_groups());
        let length = |at| usize::try_from(file.metadata().row_group(at).num_rows()).ok();
        let lengths = groups.clone().map(|at| length(at).filter(|rows| *rows <= PART));
        let there: usize = lengths.sum::<Option<usize>>().ok_or("a group has too many rows")?;
        next = groups.end;
        let fits = *expected == there;
        fits.then_some(groups).ok_or(format!("{there} rows of a run instead of {expected}"))
    };
    let shares: Result<Vec<_>, Fault> = rows.iter().map(share).collect();
    let more = file.metadata().num_row_groups() > next;
    if more { Err("more rows than there should be".into()) } else { shares }
}

impl<R> Column<R> {
    /// Whether its cells belong to the row itself. All others are known from the run.
    fn is_own(&self) -> bool {
        matches!(self.cell, Cell::Text(..) | Cell::Count(..) | Cell::Maybe(..) | Cell::Flag(..))
    }
    fn read(&self, reader: ColumnReader, rows: &mut [R]) -> Result<(), Fault> {
        use ColumnReader::{BoolColumnReader, ByteArrayColumnReader, Int64ColumnReader};
        match (&self.cell, reader) {
            (Cell::Count(_, put), Int64ColumnReader(cells)) => counts(cells, rows, *put),
            (Cell::Maybe(_, put), Int64ColumnReader(cells)) => maybes(cells, rows, *put),
            (Cell::Text(_, put), ByteArrayColumnReader(cells)) => texts(cells, rows, *put),
            (Cell::Flag(_, put), BoolColumnReader(cells)) => flags(cells, rows, *put),
            _ => Err("another type than this column has".into()),
        }
    }
}

const TOO_FEW: &str = "fewer cells than rows";

fn unfit(value: &dyn std::fmt::Display) -> Fault {
    format!("`{value}` cannot stand there")
}

fn counts<R>(
    mut cells: ColumnReaderImpl<Int64Type>,
    rows: &mut [R],
    put: Put<R>,
) -> Result<(), Fault> {
    let mut values = Vec::with_capacity(BATCH);
    for rows in rows.chunks_mut(BATCH) {
        values.clear();
        let read = cells.read_records(rows.len(), None, None, &mut values);
        if read.map_err(|error| error.to_string())?.0 < rows.len() {
            return Err(TOO_FEW.into());
        }
        for (row, value) in rows.iter_mut().zip(&values) {
            put(row, *value as u64).ok_or_else(|| unfit(&(*value as u64)))?;
        }
    }
    Ok(())
}

fn maybes<R>(
    mut cells: ColumnReaderImpl<Int64Type>,
    rows: &mut [R],
    put: Put<R>,
) -> Result<(), Fault> {
    let (mut values, mut levels) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
    for rows in rows.chunks_mut(BATCH) {
        values.clear();
        levels.clear();
        let read = cells.read_records(rows.len(), Some(&mut levels), None, &mut values);
        if read.map_err(|error| error.to_string())?.0 < rows.len() {
            return Err(TOO_FEW.into());
        }
        let there = rows.iter_mut().zip(&levels).filter(|(_, level)| **level > 0);
        for ((row, _), value) in there.zip(&values) {
            put(row, *value as u64).ok_or_else(|| unfit(&(*value as u64)))?;
        }
    }
    Ok(())
}

fn texts<R>(
    mut cells: ColumnReaderImpl<ByteArrayType>,
    rows: &mut [R],
    put: fn(&mut R, &str) -> Option<()>,
) -> Result<(), Fault> {
    let mut values = Vec::with_capacity(BATCH);
    for rows in rows.chunks_mut(BATCH) {
        values.clear();
        let read = cells.read_records(rows.len(), None, None, &mut values);
        if read.map_err(|error| error.to_string())?.0 < rows.len() {
            return Err(TOO_FEW.into());
        }
        for (row, value) in rows.iter_mut().zip(&values) {
            let text = value.as_utf8().map_err(|error| error.to_string())?;
            put(row, text).ok_or_else(|| unfit(&text))?;
        }
    }
    Ok(())
}

fn flags<R>(
    mut cells: ColumnReaderImpl<BoolType>,
    rows: &mut [R],
    put: fn(&mut R, bool),
) -> Result<(), Fault> {
    let mut values = Vec::with_capacity(BATCH);
    for rows in rows.chunks_mut(BATCH) {
        values.clear();
        let read = cells.read_records(rows.len(), None, None, &mut values);
        if read.map_err(|error| error.to_string())?.0 < rows.len() {
            return Err(TOO_FEW.into());
        }
        rows.iter_mut().zip(&values).for_each(|(row, value)| put(row, *value));
    }
    Ok(())
}
