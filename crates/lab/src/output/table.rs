//! The tables of a result, each written as CSV and as Parquet from one list of columns.
//!
//! Parquet schema: text is `UTF8`, counts are `UINT_64`, yes/no is `BOOLEAN`; all are required except
//! times of what may not have happened, which are optional and null then (empty in CSV). There is a
//! row group per run, in the order of the scenario's schemes and then of seeds.

use crate::record::{FlowRow, NEVER, PortRow, RunRecord, RunSet, SampleRow};
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{
    SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter,
};
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::sync::Arc;

/// How to get a column's value from a row and the run it belongs to.
enum Get<R> {
    Text(for<'a> fn(&'a RunRecord, &'a R) -> &'a str),
    Count(fn(&RunRecord, &R) -> u64),
    /// [`NEVER`] means that there is none.
    Maybe(fn(&RunRecord, &R) -> u64),
    Flag(fn(&RunRecord, &R) -> bool),
}

/// One column.
pub struct Column<R: 'static> {
    name: &'static str,
    get: Get<R>,
}

/// A table: its columns, and its rows in a run.
pub struct Table<R: 'static> {
    columns: &'static [Column<R>],
    rows: fn(&RunRecord) -> &[R],
}

const fn text<R>(
    name: &'static str,
    get: for<'a> fn(&'a RunRecord, &'a R) -> &'a str,
) -> Column<R> {
    Column { name, get: Get::Text(get) }
}
const fn count<R>(name: &'static str, get: fn(&RunRecord, &R) -> u64) -> Column<R> {
    Column { name, get: Get::Count(get) }
}
const fn maybe<R>(name: &'static str, get: fn(&RunRecord, &R) -> u64) -> Column<R> {
    Column { name, get: Get::Maybe(get) }
}
const fn flag<R>(name: &'static str, get: fn(&RunRecord, &R) -> bool) -> Column<R> {
    Column { name, get: Get::Flag(get) }
}

/// One row per flow.
pub static FLOWS: Table<FlowRow> = Table {
    rows: |run| &run.flows,
    columns: &[
        text("scheme", |run, _| &run.scheme),
        count("seed", |run, _| run.seed),
        count("flow", |_, f| f.flow as u64),
        count("group", |_, f| f.group as u64),
        count("src", |_, f| f.src as u64),
        count("dst", |_, f| f.dst as u64),
        count("bytes", |_, f| f.bytes),
        maybe("start_ps", |_, f| f.start_ps),
        maybe("finish_ps", |_, f| f.finish_ps),
        maybe("ideal_ps", |_, f| if f.ideal_ps == 0 { NEVER } else { f.ideal_ps }),
        count("retransmits", |_, f| f.retransmits as u64),
        count("timeouts", |_, f| f.timeouts as u64),
        flag("udp", |_, f| f.udp),
        flag("request", |_, f| f.request),
        maybe("exchange", |_, f| f.exchange.map_or(NEVER, u64::from)),
        count("delivered_bytes", |_, f| f.delivered_bytes),
    ],
};

/// One row per sampled port and instant.
pub static SAMPLES: Table<SampleRow> = Table {
    rows: |run| &run.samples,
    columns: &[
        text("scheme", |run, _| &run.scheme),
        count("seed", |run, _| run.seed),
        count("t_ps", |_, s| s.t_ps),
        text("node", |run, s| run.ports.get(s.port as usize).map_or("", |p| &p.node)),
        text("port", |run, s| run.ports.get(s.port as usize).map_or("", |p| &p.port)),
        count("queue_bytes", |_, s| s.queue_bytes),
        count("tx_bytes", |_, s| s.tx_bytes),
    ],
};

/// One row per port.
pub static PORTS: Table<PortRow> = Table {
    rows: |run| &run.ports,
    columns: &[
        text("scheme", |run, _| &run.scheme),
        count("seed", |run, _| run.seed),
        text("node", |_, p| &p.node),
        text("port", |_, p| &p.port),
        flag("host", |_, p| p.host),
        count("tx_packets", |_, p| p.tx_packets),
        count("tx_bytes", |_, p| p.tx_bytes),
        count("drops", |_, p| p.drops),
        count("marks", |_, p| p.marks),
        count("peak_bytes", |_, p| p.peak_bytes),
        count("pauses", |_, p| p.pauses),
    ],
};

impl<R> Table<R> {
    /// Writes the rows of all runs as CSV (RFC 4180, one line feed per line) with a header.
    pub fn csv(&self, set: &RunSet, out: &mut impl Write) -> io::Result<()> {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name).collect();
        writeln!(out, "{}", names.join(","))?;
        for run in set.in_order() {
            for row in (self.rows)(run) {
                self.csv_line(run, row, out)?;
            }
        }
        Ok(())
    }
    fn csv_line(&self, run: &RunRecord, row: &R, out: &mut impl Write) -> io::Result<()> {
        for (at, column) in self.columns.iter().enumerate() {
            if at > 0 {
                out.write_all(b",")?;
            }
            match column.get {
                Get::Text(get) => out.write_all(quoted(get(run, row)).as_bytes())?,
                Get::Maybe(get) if get(run, row) == NEVER => {}
                Get::Count(get) | Get::Maybe(get) => write!(out, "{}", get(run, row))?,
                Get::Flag(get) => write!(out, "{}", get(run, row))?,
            }
        }
        out.write_all(b"\n")
    }
    /// Writes the rows of all runs as Parquet.
    pub fn parquet(&self, set: &RunSet, out: &mut (impl Write + Send)) -> io::Result<()> {
        let schema = Arc::new(self.schema()?);
        let properties = WriterProperties::builder().set_created_by("slotline".into()).build();
        let mut file = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
        for run in set.in_order() {
            let mut group = file.next_row_group()?;
            for column in self.columns {
                column.parquet(run, (self.rows)(run), &mut group)?;
            }
            group.close()?;
        }
        file.close()?;
        Ok(())
    }
    fn schema(&self) -> parquet::errors::Result<Type> {
        let fields: parquet::errors::Result<Vec<_>> =
            self.columns.iter().map(Column::field).collect();
        Type::group_type_builder("row").with_fields(fields?).build()
    }
}

impl<R> Column<R> {
    fn field(&self) -> parquet::errors::Result<Arc<Type>> {
        let unsigned = Some(LogicalType::integer(64, false));
        let (physical, logical, converted, repetition) = match self.get {
            Get::Text(_) => (
                Physical::BYTE_ARRAY,
                Some(LogicalType::String),
                ConvertedType::UTF8,
                Repetition::REQUIRED,
            ),
            Get::Count(_) => {
                (Physical::INT64, unsigned, ConvertedType::UINT_64, Repetition::REQUIRED)
            }
            Get::Maybe(_) => {
                (Physical::INT64, unsigned, ConvertedType::UINT_64, Repetition::OPTIONAL)
            }
            Get::Flag(_) => (Physical::BOOLEAN, None, ConvertedType::NONE, Repetition::REQUIRED),
        };
        let field = Type::primitive_type_builder(self.name, physical)
            .with_logical_type(logical)
            .with_converted_type(converted)
            .with_repetition(repetition);
        field.build().map(Arc::new)
    }
    fn parquet<W: Write + Send>(
        &self,
        run: &RunRecord,
        rows: &[R],
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> io::Result<()> {
        let mut writer = group.next_column()?.ok_or_else(|| {
            io::Error::other(format!("column {} is not in the schema", self.name))
        })?;
        self.fill(run, rows, &mut writer)?;
        writer.close()?;
        Ok(())
    }
    fn fill(
        &self,
        run: &RunRecord,
        rows: &[R],
        writer: &mut SerializedColumnWriter<'_>,
    ) -> parquet::errors::Result<usize> {
        match self.get {
            Get::Text(get) => {
                let values: Vec<ByteArray> = rows.iter().map(|row| get(run, row).into()).collect();
                writer.typed::<ByteArrayType>().write_batch(&values, None, None)
            }
            Get::Count(get) => {
                let values: Vec<i64> = rows.iter().map(|row| get(run, row) as i64).collect();
                writer.typed::<Int64Type>().write_batch(&values, None, None)
            }
            Get::Maybe(get) => {
                let all: Vec<u64> = rows.iter().map(|row| get(run, row)).collect();
                let levels: Vec<i16> = all.iter().map(|v| i16::from(*v != NEVER)).collect();
                let there = all.iter().filter(|v| **v != NEVER);
                let values: Vec<i64> = there.map(|v| *v as i64).collect();
                writer.typed::<Int64Type>().write_batch(&values, Some(&levels), None)
            }
            Get::Flag(get) => {
                let values: Vec<bool> = rows.iter().map(|row| get(run, row)).collect();
                writer.typed::<BoolType>().write_batch(&values, None, None)
            }
        }
    }
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_string()
    }
}
