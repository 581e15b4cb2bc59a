//! Tables in Arrow's memory format. Other libraries share the memory of a table through Arrow's C stream interface.

use crate::errors::wrong;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DurationNanosecondArray, Float64Array, LargeStringArray,
    RecordBatch, RecordBatchIterator, UInt64Array, ffi::FFI_ArrowSchema,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use slotline_lab::record::{NEVER, RunRecord};
use slotline_tables::columns::{Cells, Filled};
use slotline_tables::table::Type;
use slotline_tables::tables::AnyTable;
use std::sync::Arc;

/// A table: columns with names, types and units.
#[pyclass(frozen, module = "slotline._core")]
pub struct Table {
    /// Its name.
    #[pyo3(get)]
    name: String,
    batch: RecordBatch,
}

/// A column and its description.
pub type Made = (Field, ArrayRef);

impl Table {
    /// A table of these columns.
    pub fn new(name: &str, columns: Vec<Made>) -> Result<Table, ArrowError> {
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?;
        Ok(Table { name: name.into(), batch })
    }

    /// The rows of `runs` in a table of a result. Flows get the column `fct_ps`.
    pub fn of(table: &dyn AnyTable, runs: &[&RunRecord]) -> Result<Table, ArrowError> {
        let mut filled = table.columns(runs);
        if table.name() == "flows" {
            filled.extend(completion(&filled));
        }
        let made: Result<Vec<Made>, ArrowError> = filled.into_iter().map(column).collect();
        Table::new(table.name(), made?)
    }

    fn column(&self, name: &str) -> PyResult<&ArrayRef> {
        let names = || self.columns().join(", ");
        self.batch.column_by_name(name).ok_or_else(|| {
            PyKeyError::new_err(format!(
                "`{}` has no column `{name}`: it has {}",
                self.name,
                names()
            ))
        })
    }
}

/// The completion times of flows.
fn completion(columns: &[Filled]) -> Option<Filled> {
    let find = |name| columns.iter().find(|column| column.about.name == name);
    let finish = find("finish_ps")?;
    let (Cells::Maybe(starts), Cells::Maybe(ends)) = (&find("start_ps")?.cells, &finish.cells)
    else {
        return None;
    };
    let time = |(start, end): (&u64, &u64)| if *end == NEVER { NEVER } else { end - start };
    let cells = starts.iter().zip(ends).map(time).collect();
    let mut about = finish.about;
    about.name = "fct_ps";
    about.meaning =
        "Its completion time: from `start_ps` to `finish_ps`; null if it is unfinished.";
    Some(Filled { about, cells: Cells::Maybe(cells) })
}

fn column(Filled { about, cells }: Filled) -> Result<Made, ArrowError> {
    let array: ArrayRef = match cells {
        Cells::Text(texts) => {
            let ends = arrow_buffer::OffsetBuffer::new(texts.ends.into());
            Arc::new(LargeStringArray::try_new(ends, texts.bytes.into(), None)?)
        }
        Cells::Count(numbers) => Arc::new(UInt64Array::from(numbers)),
        Cells::Maybe(numbers) => {
            let present = numbers.iter().map(|number| *number != NEVER).collect();
            Arc::new(UInt64Array::try_new(numbers.into(), Some(present))?)
        }
        Cells::Flag(flags) => Arc::new(BooleanArray::from(flags)),
    };
    let field = Field::new(about.name, array.data_type().clone(), about.kind == Type::Maybe);
    Ok((field.with_metadata(notes(about.meaning, unit(about.name))), array))
}

/// The unit of a column, by the end of its name.
fn unit(name: &str) -> Option<&'static str> {
    let units = [("_ps", "ps"), ("bytes", "B"), ("_bps", "bit/s")];
    units.iter().find(|(end, _)| name.ends_with(end)).map(|(_, unit)| *unit)
}

fn notes(meaning: &str, unit: Option<&str>) -> std::collections::HashMap<String, String> {
    let meaning = ("meaning".to_string(), meaning.to_string());
    let unit = unit.map(|unit| ("unit".to_string(), unit.to_string()));
    std::iter::once(meaning).chain(unit).collect()
}

/// A column of picoseconds as durations in nanoseconds. Other columns do not change.
fn rounded(field: &Field, array: &ArrayRef) -> Made {
    let numbers = array.as_any().downcast_ref::<UInt64Array>();
    let (Some(name), Some(numbers)) = (field.name().strip_suffix("_ps"), numbers) else {
        return (field.clone(), Arc::clone(array));
    };
    let nanoseconds = numbers.values().iter().map(|ps| (ps / 1000 + (ps % 1000) / 500) as i64);
    let values = nanoseconds.collect::<Vec<i64>>().into();
    let array = DurationNanosecondArray::new(values, numbers.nulls().cloned());
    let meaning = field.metadata().get("meaning").cloned().unwrap_or_default();
    let field = Field::new(name, array.data_type().clone(), field.is_nullable());
    (field.with_metadata(notes(&meaning, Some("ns"))), Arc::new(array))
}

/// A name for a type, as in documents.
fn type_name(kind: &DataType) -> &'static str {
    match kind {
        DataType::LargeUtf8 => "text",
        DataType::UInt64 => "count",
        DataType::Boolean => "true or false",
        DataType::Float64 => "number",
        _ => "duration",
    }
}

#[pymethods]
impl Table {
    /// The table as an Arrow stream, which shares its memory.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The producer may ignore the wish for other types.
        drop(requested_schema);
        let schema = self.batch.schema();
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
    /// The types of the columns as an Arrow schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.batch.schema()).map_err(wrong)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }
    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }
    /// For each column its name, type, unit and meaning.
    fn about(&self) -> Vec<(String, String, Option<String>, String)> {
        let about = |field: &Arc<Field>| {
            let note = |key: &str| field.metadata().get(key).cloned();
            let kind = type_name(field.data_type()).to_string();
            (field.name().clone(), kind, note("unit"), note("meaning").unwrap_or_default())
        };
        self.batch.schema().fields().iter().map(about).collect()
    }
    /// The cells of the column `name` as a list.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let array = self.column(name)?.as_any();
        if let Some(numbers) = array.downcast_ref::<UInt64Array>() {
            return PyList::new(py, numbers.iter());
        }
        if let Some(numbers) = array.downcast_ref::<Float64Array>() {
            return PyList::new(py, numbers.iter());
        }
        if let Some(flags) = array.downcast_ref::<BooleanArray>() {
            return PyList::new(py, flags.iter());
        }
        if let Some(spans) = array.downcast_ref::<DurationNanosecondArray>() {
            return PyList::new(py, spans.iter());
        }
        match array.downcast_ref::<LargeStringArray>() {
            Some(texts) => PyList::new(py, texts.iter()),
            None => Err(wrong("a column of an unknown type")),
        }
    }
    /// The table with durations in nanoseconds in place of picoseconds: `fct` for `fct_ps`.
    fn durations(&self) -> PyResult<Table> {
        let schema = self.batch.schema();
        let columns = schema.fields().iter().zip(self.batch.columns());
        let made = columns.map(|(field, array)| rounded(field, array)).collect();
        Table::new(&self.name, made).map_err(wrong)
    }
}
