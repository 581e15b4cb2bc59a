//! Tables in memory, column by column, for libraries that work on columns.

use super::table::{Cell, Column, ColumnAbout, Table, port_name};
use crate::record::RunRecord;

/// Rows whose columns are filled in turn: so many that they stay in the cache.
const BLOCK: usize = 1024;

/// A column with its cells.
#[derive(Clone, PartialEq, Debug)]
pub struct Filled {
    /// Its description.
    pub about: ColumnAbout,
    /// Its cells, one for each row.
    pub cells: Cells,
}

/// The cells of a column.
#[derive(Clone, PartialEq, Debug)]
pub enum Cells {
    /// Texts.
    Text(Texts),
    /// Whole numbers.
    Count(Vec<u64>),
    /// Whole numbers; [`NEVER`](crate::record::NEVER) stands for nothing.
    Maybe(Vec<u64>),
    /// Yes or no.
    Flag(Vec<bool>),
}

/// Texts, one behind the other.
#[derive(Clone, PartialEq, Debug)]
pub struct Texts {
    /// All texts.
    pub bytes: Vec<u8>,
    /// Zero, and the end of each text.
    pub ends: Vec<i64>,
}

impl Texts {
    fn push(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        // A vector has at most `isize::MAX` bytes.
        self.ends.push(self.bytes.len() as i64);
    }
}

impl<R: Clone> Table<R> {
    /// The columns with the rows of all runs.
    pub fn columns(&self, runs: &[&RunRecord]) -> Vec<Filled> {
        let rows = runs.iter().map(|run| (self.len)(run)).sum();
        let mut filled: Vec<Filled> =
            self.columns.iter().map(|column| column.empty(rows)).collect();
        for run in runs {
            for range in self.parts(run) {
                let rows = (self.rows)(run, range.clone());
                for (first, rows) in (range.start..).step_by(BLOCK).zip(rows.chunks(BLOCK)) {
                    for (column, filled) in self.columns.iter().zip(&mut filled) {
                        column.cell.fill(run, first, rows, &mut filled.cells);
                    }
                }
            }
        }
        filled
    }
}

impl<R> Column<R> {
    fn empty(&self, rows: usize) -> Filled {
        let cells = match self.cell {
            Cell::Scheme | Cell::Node(_) | Cell::Port(_) | Cell::Text(..) => {
                let mut ends = Vec::with_capacity(rows + 1);
                ends.push(0);
                Cells::Text(Texts { bytes: vec![], ends })
            }
            Cell::Seed | Cell::Number | Cell::Count(..) => Cells::Count(Vec::with_capacity(rows)),
            Cell::Maybe(..) => Cells::Maybe(Vec::with_capacity(rows)),
            Cell::Flag(..) => Cells::Flag(Vec::with_capacity(rows)),
        };
        Filled { about: self.about(), cells }
    }
}

impl<R> Cell<R> {
    /// Appends the cells of `rows`, of which the first has the number `first` in its run.
    fn fill(&self, run: &RunRecord, first: usize, rows: &[R], out: &mut Cells) {
        match (self, out) {
            (Cell::Scheme, Cells::Text(texts)) => rows.iter().for_each(|_| texts.push(&run.scheme)),
            (Cell::Node(port), Cells::Text(texts)) => {
                rows.iter().for_each(|row| texts.push(port_name(run, port(row), true)));
            }
            (Cell::Port(port), Cells::Text(texts)) => {
                rows.iter().for_each(|row| texts.push(port_name(run, port(row), false)));
            }
            (Cell::Text(get, _), Cells::Text(texts)) => {
                rows.iter().for_each(|row| texts.push(get(row)));
            }
            (Cell::Seed, Cells::Count(numbers)) => {
                numbers.resize(numbers.len() + rows.len(), run.seed);
            }
            (Cell::Number, Cells::Count(numbers)) => {
                numbers.extend((first as u64..).take(rows.len()));
            }
            (Cell::Count(get, _), Cells::Count(numbers))
            | (Cell::Maybe(get, _), Cells::Maybe(numbers)) => numbers.extend(rows.iter().map(get)),
            (Cell::Flag(get, _), Cells::Flag(flags)) => flags.extend(rows.iter().map(get)),
            _ => unreachable!("`Column::empty` makes cells of this kind"),
        }
    }
}

impl Cells {
    /// The number of cells.
    pub fn len(&self) -> usize {
        match self {
            Cells::Text(texts) => texts.ends.len() - 1,
            Cells::Count(numbers) | Cells::Maybe(numbers) => numbers.len(),
            Cells::Flag(flags) => flags.len(),
        }
    }
    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{FlowRow, NEVER, SampleRow, Samples};
    use crate::tables::{ALL, FLOWS};

    /// A run with `flows` flows, every third of them unfinished, and a sample of a port.
    fn run(scheme: &str, flows: u32) -> RunRecord {
        let flow = |flow: u32| FlowRow {
            flow,
            finish_ps: if flow.is_multiple_of(3) { NEVER } else { u64::from(flow) * 7 },
            udp: flow.is_multiple_of(2),
            ..FlowRow::default()
        };
        RunRecord {
            scheme: scheme.into(),
            seed: 9,
            flows: (0..flows).map(flow).collect(),
            samples: Samples::from_rows(&[SampleRow::default()]).unwrap(),
            ports: vec![crate::record::PortRow { node: "s0".into(), ..Default::default() }],
            ..RunRecord::default()
        }
    }

    /// The table as CSV, made from its columns.
    fn csv(columns: &[Filled]) -> String {
        let names: Vec<&str> = columns.iter().map(|column| column.about.name).collect();
        let rows = columns.first().map_or(0, |column| column.cells.len());
        let cell = |cells: &Cells, at: usize| match cells {
            Cells::Text(texts) => {
                let span = texts.ends[at] as usize..texts.ends[at + 1] as usize;
                String::from_utf8(texts.bytes[span].to_vec()).unwrap()
            }
            Cells::Flag(flags) => flags[at].to_string(),
            Cells::Maybe(numbers) if numbers[at] == NEVER => String::new(),
            Cells::Count(numbers) | Cells::Maybe(numbers) => numbers[at].to_string(),
        };
        let line = |at: usize| {
            let cells: Vec<String> = columns.iter().map(|c| cell(&c.cells, at)).collect();
            cells.join(",") + "\n"
        };
        names.join(",") + "\n" + &(0..rows).map(line).collect::<String>()
    }

    #[test]
    fn columns_have_the_cells_of_the_rows() {
        // More rows than a block, and a second run whose rows are numbered anew.
        let runs = [run("tcp", BLOCK as u32 + 5), run("dctcp", 3)];
        let runs: Vec<&RunRecord> = runs.iter().collect();
        for table in ALL {
            let mut text = vec![];
            table.csv(&runs, &mut text).expect("memory");
            assert_eq!(csv(&table.columns(&runs)), String::from_utf8(text).unwrap());
        }
        assert_eq!(FLOWS.columns(&runs)[0].cells.len(), BLOCK + 8);
    }
}
