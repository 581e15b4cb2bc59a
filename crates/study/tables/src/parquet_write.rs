//! Writes tables as Parquet.
//!
//! Each run has row groups of its own, of at most [`PART`] rows. Runs are in the order of the scenario's schemes and
//! then of seeds. Numbers are delta-encoded, which is small, and fast to write and read.

use super::deltas::Deltas;
use super::shared::Shared;
use super::table::{Cell, Column, Table, Type, port_name};
use crate::record::{NEVER, RunRecord};
use parquet::basic::{ConvertedType, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{
    SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter,
};
use parquet::schema::types::{ColumnDescPtr, ColumnPath, Type as Schema};
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

/// Rows encoded at a time.
const BATCH: usize = 4096;

impl<R: Clone> Table<R> {
    /// Writes the rows of all runs as Parquet.
    pub fn parquet(
        &self,
        runs: &[&RunRecord],
        out: &mut (impl Write + Send + ?Sized),
    ) -> io::Result<()> {
        self.write_groups(runs, out, |run, range, described, group| {
            let rows = &(self.rows)(run, range.clone());
            let part = Part { run, rows, first: range.start };
            for (column, described) in self.columns.iter().zip(described) {
                column.write(&part, ColumnDescPtr::clone(described), group)?;
            }
            Ok(())
        })
    }
    /// Writes row groups. `fill` writes the columns of the rows of a run with these numbers.
    pub(crate) fn write_groups<W: Write + Send>(
        &self,
        runs: &[&RunRecord],
        out: W,
        fill: impl Fn(
            &RunRecord,
            Range<usize>,
            &[ColumnDescPtr],
            &mut SerializedRowGroupWriter<'_, W>,
        ) -> Result<()>,
    ) -> io::Result<()> {
        let schema = Arc::new(self.schema()?);
        let mut file = SerializedFileWriter::new(out, schema, Arc::new(self.properties()))?;
        let described = file.schema_descr().columns().to_vec();
        for &run in runs {
            for range in self.parts(run) {
                let mut group = file.next_row_group()?;
                fill(run, range, &described, &mut group)?;
                group.close()?;
            }
        }
        file.close()?;
        Ok(())
    }
    pub(crate) fn schema(&self) -> Result<Schema> {
        let fields: Result<Vec<_>> = self.columns.iter().map(Column::field).collect();
        Schema::group_type_builder("row").with_fields(fields?).build()
    }
    fn properties(&self) -> WriterProperties {
        let mut properties = WriterProperties::builder()
            .set_created_by("slotline".into())
            .set_offset_index_disabled(true)
            .set_statistics_enabled(EnabledStatistics::Chunk);
        for column in self.columns {
            if column.kind() == Type::Maybe {
                let path = ColumnPath::from(column.name);
                properties = properties
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
            }
        }
        properties.build()
    }
}

/// Rows of one row group.
struct Part<'a, R> {
    run: &'a RunRecord,
    rows: &'a [R],
    /// Number of its first row in the run.
    first: usize,
}

impl<R> Part<'_, R> {
    /// By row, the name of a port of the run or of the port's node.
    fn names(&self, port: fn(&R) -> Option<u32>, node: bool) -> Shared {
        let (run, none) = (self.run, self.run.ports.len());
        let key = |row| port(row).map_or(none, |port| (port as usize).min(none));
        let name = |key: usize| port_name(run, Some(key as u32), node);
        Shared::by_key(self.rows.iter().map(key), none + 1, name)
    }
}

impl<R> Column<R> {
    fn field(&self) -> Result<Arc<Schema>> {
        let unsigned = Some(LogicalType::integer(64, false));
        let (physical, logical, converted) = match self.kind() {
            Type::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String), ConvertedType::UTF8),
            Type::Count | Type::Maybe => (Physical::INT64, unsigned, ConvertedType::UINT_64),
            Type::Flag => (Physical::BOOLEAN, None, ConvertedType::NONE),
        };
        let optional = self.kind() == Type::Maybe;
        let field = Schema::primitive_type_builder(self.name, physical)
            .with_logical_type(logical)
            .with_converted_type(converted)
            .with_repetition(if optional { Repetition::OPTIONAL } else { Repetition::REQUIRED });
        field.build().map(Arc::new)
    }
    fn write<W: Write + Send>(
        &self,
        part: &Part<'_, R>,
        described: ColumnDescPtr,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        let run = part.run;
        match self.cell {
            Cell::Scheme => Shared::text(&run.scheme, part.rows.len()).append(described, group),
            Cell::Seed => Shared::number(run.seed, part.rows.len()).append(described, group),
            Cell::Node(port) => part.names(port, true).append(described, group),
            Cell::Port(port) => part.names(port, false).append(described, group),
            Cell::Text(get, _) => fill(group, |column| texts(part, column, get)),
            Cell::Number => {
                Deltas::of(part.rows, |at, _| (part.first + at) as u64).append(described, group)
            }
            Cell::Count(get, _) => {
                Deltas::of(part.rows, |_, row| get(row)).append(described, group)
            }
            Cell::Maybe(get, _) => fill(group, |column| maybes(part, column, get)),
            Cell::Flag(get, _) => fill(group, |column| flags(part, column, get)),
        }
    }
}

/// Writes the next column of a row group.
fn fill<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    cells: impl FnOnce(&mut SerializedColumnWriter<'_>) -> Result<()>,
) -> Result<()> {
    let missing = || ParquetError::General("the schema has fewer columns than the table".into());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    cells(&mut column)?;
    column.close()
}

fn texts<'a, R>(
    part: &Part<'a, R>,
    writer: &mut SerializedColumnWriter<'_>,
    get: impl Fn(&'a R) -> &'a str,
) -> Result<()> {
    // Neighbouring rows often have equal texts. A text is created once for all of them.
    let mut last = ByteArray::from("");
    for rows in part.rows.chunks(BATCH) {
        let values = rows.iter().map(|row| {
            let text = get(row);
            if last.data() != text.as_bytes() {
                last = text.into();
            }
            last.clone()
        });
        let values: Vec<ByteArray> = values.collect();
        writer.typed::<ByteArrayType>().write_batch(&values, None, None)?;
    }
    Ok(())
}

fn maybes<R>(
    part: &Part<'_, R>,
    writer: &mut SerializedColumnWriter<'_>,
    get: impl Fn(&R) -> u64,
) -> Result<()> {
    let (mut values, mut levels) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
    for rows in part.rows.chunks(BATCH) {
        values.clear();
        values.extend(rows.iter().map(&get).filter(|v| *v != NEVER).map(|v| v as i64));
        levels.clear();
        levels.extend(rows.iter().map(|row| i16::from(get(row) != NEVER)));
        writer.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
    }
    Ok(())
}

fn flags<R>(
    part: &Part<'_, R>,
    writer: &mut SerializedColumnWriter<'_>,
    get: impl Fn(&R) -> bool,
) -> Result<()> {
    let mut values = Vec::with_capacity(BATCH);
    for rows in part.rows.chunks(BATCH) {
        values.clear();
        values.extend(rows.iter().map(&get));
        writer.typed::<BoolType>().write_batch(&values, None, None)?;
    }
    Ok(())
}
