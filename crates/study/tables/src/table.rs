//! The definition of a table of a result: columns with name, type and meaning. From it the table is written as CSV and
//! as Parquet and read back, and its documentation is generated.

use crate::record::{NEVER, RunRecord};
use std::borrow::Cow;
use std::ops::Range;

/// The most rows of a part of a table: as many as fit into the cache while their columns are made one by one.
pub(crate) const PART: usize = 1 << 17;

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// Text; `UTF8` in Parquet.
    Text,
    /// A whole number from zero on; `UINT_64` in Parquet.
    Count,
    /// A count or nothing: null in Parquet, empty in CSV.
    Maybe,
    /// Yes or no; `BOOLEAN` in Parquet, `true` and `false` in CSV.
    Flag,
}

impl Type {
    /// The name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Type::Text => "text",
            Type::Count => "count",
            Type::Maybe => "count or null",
            Type::Flag => "true or false",
        }
    }
}

/// A column, for documents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColumnAbout {
    /// Its name.
    pub name: &'static str,
    /// The type of its cells.
    pub kind: Type,
    /// The meaning of its cells, with the unit. Names that end in `_ps` are durations in picoseconds, or times in
    /// picoseconds since the run began.
    pub meaning: &'static str,
}

/// A table, for documents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableAbout {
    /// Its name: that of its files without the ending.
    pub name: &'static str,
    /// The meaning of a row.
    pub meaning: &'static str,
    /// Whether it is also written as CSV.
    pub csv: bool,
    /// Its columns, in order.
    pub columns: Vec<ColumnAbout>,
}

/// All tables of a result with their columns.
pub fn columns() -> Vec<TableAbout> {
    super::tables::ALL.iter().map(|table| table.about()).collect()
}

/// How to get a cell from a row and its run, and how to put it back. Putting back a value that does not fit gives
/// `None`.
pub(crate) enum Cell<R: 'static> {
    /// The run's scheme.
    Scheme,
    /// The run's seed.
    Seed,
    /// The row's number in its run.
    Number,
    /// Name of the node of a port of the run; empty if there is none.
    Node(fn(&R) -> Option<u32>),
    /// Name of a port of the run; empty if there is none.
    Port(fn(&R) -> Option<u32>),
    Text(for<'a> fn(&'a R) -> &'a str, fn(&mut R, &str) -> Option<()>),
    Count(fn(&R) -> u64, Put<R>),
    /// [`NEVER`] means that there is none.
    Maybe(fn(&R) -> u64, Put<R>),
    Flag(fn(&R) -> bool, fn(&mut R, bool)),
}

/// Puts a number into a row; `None` if it does not fit.
pub(crate) type Put<R> = fn(&mut R, u64) -> Option<()>;

/// One column.
pub(crate) struct Column<R: 'static> {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
    pub cell: Cell<R>,
}

impl<R> Column<R> {
    pub fn kind(&self) -> Type {
        match self.cell {
            Cell::Scheme | Cell::Node(_) | Cell::Port(_) | Cell::Text(..) => Type::Text,
            Cell::Seed | Cell::Number | Cell::Count(..) => Type::Count,
            Cell::Maybe(..) => Type::Maybe,
            Cell::Flag(..) => Type::Flag,
        }
    }
    pub(crate) fn about(&self) -> ColumnAbout {
        ColumnAbout { name: self.name, kind: self.kind(), meaning: self.meaning }
    }
}

/// A table: its columns, and its rows in a run.
pub struct Table<R: Clone + 'static> {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
    pub(crate) csv: bool,
    pub(crate) columns: &'static [Column<R>],
    /// The rows of a run with these numbers, of which each is below `len`.
    pub(crate) rows: for<'a> fn(&'a RunRecord, Range<usize>) -> Cow<'a, [R]>,
    /// Number of rows in a run.
    pub(crate) len: fn(&RunRecord) -> usize,
    /// A row to be filled when read back.
    pub(crate) blank: fn() -> R,
}

impl<R: Clone> Table<R> {
    /// Its name: that of its files without the ending.
    pub fn name(&self) -> &'static str {
        self.name
    }
    /// The numbers of a run's rows, in parts.
    pub(crate) fn parts(&self, run: &RunRecord) -> impl Iterator<Item = Range<usize>> + use<R> {
        let len = (self.len)(run);
        (0..len).step_by(PART).map(move |first| first..len.min(first + PART))
    }
    pub(crate) fn about(&self) -> TableAbout {
        let columns = self.columns.iter().map(Column::about).collect();
        TableAbout { name: self.name, meaning: self.meaning, csv: self.csv, columns }
    }
}

/// The text of a cell that names a port's node, or the port.
pub(crate) fn port_name(run: &RunRecord, port: Option<u32>, node: bool) -> &str {
    let row = port.and_then(|port| run.ports.get(port as usize));
    row.map_or("", |row| if node { &row.node } else { &row.port })
}

/// Sets `place` to `value`; `None` if it does not fit.
pub(crate) fn fit<T: TryFrom<u64>>(place: &mut T, value: u64) -> Option<()> {
    *place = T::try_from(value).ok()?;
    Some(())
}

/// Sets `place` to `value`, if there is one.
pub(crate) fn set<T>(place: &mut T, value: Option<T>) -> Option<()> {
    *place = value?;
    Some(())
}

/// A time or number that may be missing, in the form of rows.
pub(crate) fn or_never(value: Option<u64>) -> u64 {
    value.unwrap_or(NEVER)
}
