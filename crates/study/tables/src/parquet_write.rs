//! Writes tables as Parquet.
//!
//! Each run has row groups of its own, of at most [`GROUP`] rows. Runs are in the order of the scenario's schemes and
//! then of seeds. Numbers are delta-encoded, which is small, and fast to write and read.

use super::table::{Cell, Column, Table, Type, port_name};
use crate::record::{NEVER, RunRecord};
use parquet::basic::{ConvertedType, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{
    SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter,
};
use parquet::schema::types::{ColumnPath, Type as Schema};
use std::io::{self, Write};
use std::sync::Arc;

/// The most rows of a row group: as many as fit into the cache while their columns are encoded one by one.
pub(crate) const GROUP: usize = 1 << 17;

/// Rows encoded at a time.
const BATCH: usize = 4096;

impl<R: Clone> Table<R> {
    /// Writes the rows of all runs as Parquet.
    pub fn parquet(
        &self,
        runs: &[&RunRecord],
        out: &mut (impl Write + Send + ?Sized),
    ) -> io::Result<()> {
        let schema = Arc::new(self.schema()?);
        let mut file = SerializedFileWriter::new(out, schema, Arc::new(self.properties()))?;
        for &run in runs {
            for (at, rows) in (self.rows)(run).chunks(GROUP).enumerate() {
                let mut group = file.next_row_group()?;
                for column in self.columns {
                    column.write(&Part { run, rows, first: at * GROUP }, &mut group)?;
                }
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
            if matches!(column.kind(), Type::Count | Type::Maybe) {
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
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> io::Result<()> {
        let missing = || io::Error::other(format!("column {} is not in the schema", self.name));
        let mut writer = group.next_column()?.ok_or_else(missing)?;
        self.fill(part, &mut writer)?;
        writer.close()?;
        Ok(())
    }
    fn fill(&self, part: &Part<'_, R>, writer: &mut SerializedColumnWriter<'_>) -> Result<()> {
        let run = part.run;
        match self.cell {
            Cell::Scheme => same(run.scheme.as_str().into(), part.rows.len(), writer),
            Cell::Node(port) => port_names(part, writer, port, true),
            Cell::Port(port) => port_names(part, writer, port, false),
            Cell::Text(get, _) => texts(part, writer, get),
            Cell::Seed => counts(part, writer, |_, _| run.seed),
            Cell::Number => counts(part, writer, |number, _| number as u64),
            Cell::Count(get, _) => counts(part, writer, |_, row| get(row)),
            Cell::Maybe(get, _) => maybes(part, writer, get),
            Cell::Flag(get, _) => flags(part, writer, get),
        }
    }
}

/// Writes the same text in all rows.
fn same(text: ByteArray, rows: usize, writer: &mut SerializedColumnWriter<'_>) -> Result<()> {
    let values = vec![text; rows.min(BATCH)];
    let mut left = rows;
    while left > 0 {
        let n = left.min(BATCH);
        writer.typed::<ByteArrayType>().write_batch(&values[..n], None, None)?;
        left -= n;
    }
    Ok(())
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

/// Writes the names of ports, or of their nodes. Neighbouring rows often have different ports, so each name is created
/// only once.
fn port_names<R>(
    part: &Part<'_, R>,
    writer: &mut SerializedColumnWriter<'_>,
    port: fn(&R) -> Option<u32>,
    node: bool,
) -> Result<()> {
    let name = |port| ByteArray::from(port_name(part.run, port, node));
    let names: Vec<ByteArray> = (0..part.run.ports.len() as u32).map(|at| name(Some(at))).collect();
    let none = name(None);
    let name = |row: &R| port(row).and_then(|at| names.get(at as usize)).unwrap_or(&none).clone();
    let mut values = Vec::with_capacity(BATCH);
    for rows in part.rows.chunks(BATCH) {
        values.clear();
        values.extend(rows.iter().map(name));
        writer.typed::<ByteArrayType>().write_batch(&values, None, None)?;
    }
    Ok(())
}

fn counts<R>(
    part: &Part<'_, R>,
    writer: &mut SerializedColumnWriter<'_>,
    get: impl Fn(usize, &R) -> u64,
) -> Result<()> {
    let mut values = Vec::with_capacity(BATCH);
    for (at, rows) in part.rows.chunks(BATCH).enumerate() {
        let first = part.first + at * BATCH;
        values.clear();
        values.extend((first..).zip(rows).map(|(number, row)| get(number, row) as i64));
        writer.typed::<Int64Type>().write_batch(&values, None, None)?;
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
