//! Tables of pages that are not the comparison of an experiment: results of real hosts, and of single changes to an
//! experiment. Each is a file beside the pages, and a comment above the table names it.

use super::table::{emulated, estimate, stated};
use super::{Experiment, Findings, Row};
use serde::{Deserialize, Serialize};
use slotline_lab::output::format::emulated as emulation_line;
use slotline_lab::record::Gate;
use std::fs;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// The folder of the files, beside the pages.
const FOLDER: &str = "results/tables";

/// What stands above a table, around its name.
const MARK: [&str; 2] = ["<!-- table: ", " -->"];

/// A table of a page.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredTable {
    /// Its name, which is that of its file.
    pub table: String,
    /// The command that made it, when, and on which machine.
    pub made: String,
    /// The heads of its columns.
    columns: Vec<String>,
    /// Its lines.
    rows: Vec<Vec<String>>,
}

impl StoredTable {
    /// The values of an experiment with real hosts, beside the simulated ones. `made` is the command.
    pub fn emulated(experiment: &Experiment, findings: &Findings, made: &str) -> StoredTable {
        let mut last = String::new();
        let mut line = |(at, row): (usize, &Row)| {
            let setup = row.setup();
            let shown = if setup == last { String::new() } else { setup.clone() };
            last = setup;
            let real = emulated(findings, at).map_or("-".into(), estimate);
            let paper = row.paper.map_or("-".into(), stated);
            vec![shown, quantity(row), paper, estimate(&row.ours), real]
        };
        let rows = findings.rows.iter().enumerate().map(&mut line).collect();
        let how = findings.emulated.as_ref().map(|found| emulation_line(&found.emulation));
        let switches = findings.emulated.as_ref().map(|found| found.emulation.gate);
        let kind = match switches {
            Some(Gate::OpenVswitch) => Gate::OpenVswitch.name(),
            _ => "emulated",
        };
        StoredTable {
            table: format!("{}-{kind}", experiment.id),
            made: [Some(made.into()), how].into_iter().flatten().collect::<Vec<_>>().join("; "),
            columns: ["", "quantity", "paper", "simulated", "real hosts"].map(String::from).into(),
            rows,
        }
    }

    /// The file of the table `name`, where `pages` is the folder of the pages.
    pub fn path(pages: &Path, name: &str) -> PathBuf {
        pages.join(FOLDER).join(format!("{name}.json"))
    }

    /// Reads the table `name`.
    ///
    /// # Errors
    /// There is no such file, or it is not such a table.
    pub fn read(pages: &Path, name: &str) -> Result<StoredTable, Error> {
        let path = StoredTable::path(pages, name);
        let wrong =
            |kind: ErrorKind, why: String| Error::new(kind, format!("{}: {why}", path.display()));
        let text =
            fs::read_to_string(&path).map_err(|error| wrong(error.kind(), error.to_string()))?;
        let read = serde_json::from_str(&text);
        let table: StoredTable = read.map_err(|e| wrong(ErrorKind::InvalidData, e.to_string()))?;
        let width = table.columns.len();
        match table.rows.iter().position(|row| row.len() != width) {
            None if table.table == name => Ok(table),
            None => {
                Err(wrong(ErrorKind::InvalidData, format!("it is the table `{}`", table.table)))
            }
            Some(at) => {
                let why = format!("row {at} has {} cells, expected {width}", table.rows[at].len());
                Err(wrong(ErrorKind::InvalidData, why))
            }
        }
    }

    /// Writes the file of the table.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, pages: &Path) -> Result<(), Error> {
        fs::create_dir_all(pages.join(FOLDER))?;
        fs::write(StoredTable::path(pages, &self.table), self.text())
    }

    /// The content of the file: JSON with a line for each row.
    pub fn text(&self) -> String {
        let rows: Vec<String> = self.rows.iter().map(json).collect();
        let head = json(&StoredTable { rows: vec![], ..self.clone() });
        format!("{}\n{}\n]}}\n", head.replace("\"rows\":[]}", "\"rows\":["), rows.join(",\n"))
    }

    /// The table in Markdown. Columns of numbers are aligned to the right.
    fn markdown(&self) -> String {
        let align = |at: usize| if self.has_numbers(at) { "---:" } else { "---" };
        let aligned: Vec<&str> = (0..self.columns.len()).map(align).collect();
        let line = |cells: &[String]| {
            format!("|{}|\n", cells.iter().map(|cell| padded(cell)).collect::<Vec<_>>().join("|"))
        };
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("{}|{}|\n{rows}", line(&self.columns), aligned.join("|"))
    }

    /// Whether each cell of a column, except in the first one, is empty, `-`, or begins with a number.
    fn has_numbers(&self, at: usize) -> bool {
        let number = |cell: &String| {
            let text = cell.trim_start_matches(['~', '<', '>', '-', '/', ' ']);
            text.is_empty() || text.starts_with(|first: char| first.is_ascii_digit())
        };
        at > 0 && self.rows.iter().all(|row| number(&row[at]))
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain text")
}

fn padded(cell: &str) -> String {
    if cell.is_empty() { " ".into() } else { format!(" {cell} ") }
}

fn quantity(row: &Row) -> String {
    match row.unit.as_ref() {
        "" | "1" => row.quantity.to_string(),
        unit => format!("{}, {unit}", row.quantity),
    }
}

/// The name of the table that `line` announces.
pub fn marked(line: &str) -> Option<&str> {
    line.strip_prefix(MARK[0])?.strip_suffix(MARK[1])
}

/// `page` with all tables that are announced.
///
/// # Errors
/// `read` fails.
pub fn with_stored_tables(
    page: &str,
    mut read: impl FnMut(&str) -> Result<StoredTable, Error>,
) -> Result<String, Error> {
    let mut out = String::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        out += line;
        out.push('\n');
        let Some(name) = marked(line) else { continue };
        while lines.next_if(|line| line.starts_with('|') || line.is_empty()).is_some() {}
        out += &format!("\n{}", read(name)?.markdown());
        if lines.peek().is_some() {
            out.push('\n');
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Emulated, Stated, find};
    use slotline_lab::statistics::{ANY, Estimate};

    fn example() -> StoredTable {
        let row = |scheme: &str, quantity: &'static str, mean| Row {
            x: None,
            point: "N = 1".into(),
            scheme: scheme.into(),
            quantity: quantity.into(),
            unit: "Mbit/s".into(),
            paper: Some(Stated::Over(900.0)),
            ours: Estimate { mean, half: None, n: 1, possible: ANY },
            note: String::new(),
        };
        let rows = vec![
            row("tcp", "goodput", 940.0),
            row("tcp", "rate", 950.0),
            row("xco", "goodput", 930.0),
        ];
        let real = Estimate { mean: 935.0, half: Some(2.0), n: 2, possible: ANY };
        let emulated =
            Emulated { values: vec![Some(real), None, None], emulation: Default::default() };
        let findings = Findings { rows, emulated: Some(emulated), ..Findings::default() };
        StoredTable::emulated(find("xco-9").unwrap(), &findings, "a command")
    }

    #[test]
    fn a_table_of_real_hosts_names_each_setup_once() {
        let expected = "\
| | quantity | paper | simulated | real hosts |
|---|---|---:|---:|---:|
| N = 1, tcp | goodput, Mbit/s | > 900 | 940 | 935 ± 2.0 |
| | rate, Mbit/s | > 900 | 950 | - |
| N = 1, xco | goodput, Mbit/s | > 900 | 930 | - |
";
        assert_eq!(example().markdown(), expected);
    }

    #[test]
    fn announced_tables_are_replaced_and_all_else_stays() {
        let table = example();
        let page = "# A\n\n| a |\n|---|\n| other |\n\n<!-- table: xco-9-emulated -->\n\n| old |\n|---|\n\nText.\n";
        let read = |name: &str| {
            assert_eq!(name, "xco-9-emulated");
            Ok(table.clone())
        };
        let written = with_stored_tables(page, read).unwrap();
        assert_eq!(written, page.replace("| old |\n|---|\n", &table.markdown()));
        assert_eq!(with_stored_tables(&written, read).unwrap(), written);
        let missing = |_: &str| Err(Error::other("none"));
        assert!(with_stored_tables(page, missing).is_err());
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        let pages = std::env::temp_dir().join(format!("slotline-tables-{}", std::process::id()));
        let table = example();
        table.write(&pages).unwrap();
        assert_eq!(StoredTable::read(&pages, &table.table).unwrap(), table);
        let renamed = table.text().replace("xco-9-emulated", "other");
        fs::write(StoredTable::path(&pages, &table.table), renamed).unwrap();
        let error = StoredTable::read(&pages, &table.table).unwrap_err().to_string();
        assert!(error.contains("it is the table `other`"), "{error}");
        let short = table.text().replace(",\"935 ± 2.0\"]", "]");
        fs::write(StoredTable::path(&pages, &table.table), short).unwrap();
        let error = StoredTable::read(&pages, &table.table).unwrap_err().to_string();
        assert!(error.contains("row 0 has 4 cells, expected 5"), "{error}");
        fs::remove_dir_all(&pages).unwrap();
    }
}
