//! Results of experiments in files beside the pages on papers. The tables of the pages are made from these files, so no
//! figure is copied by hand.

use super::{Experiment, Row, Stated, Text, with_table};
use serde::{Deserialize, Serialize};
use slotline_lab::statistics::Estimate;
use slotline_scenario::fingerprint;
use std::fs;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// The digests of all scenarios, which change with every change of results.
const DIGESTS: &str = include_str!("../../../../scenarios/digests.txt");

/// The folder of the files, beside the pages.
const FOLDER: &str = "results";

/// The result of an experiment.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stored {
    /// The experiment.
    pub id: String,
    /// The version of the program that made it.
    pub version: String,
    /// A fingerprint of what the scenario gave in the short runs of `scenarios/digests` at that time; empty without a
    /// scenario.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digests: String,
    /// The rows of the table, in order.
    rows: Vec<StoredRow>,
}

/// A row, without the note and the place in figures, which pages do not have.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct StoredRow {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    point: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    scheme: String,
    quantity: Text,
    unit: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    paper: Option<Stated>,
    mean: f64,
    /// Half of the 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    half: Option<f64>,
    n: usize,
}

impl Stored {
    /// The result that this program has found. Means have nine significant digits.
    pub fn new(experiment: &Experiment, rows: &[Row]) -> Stored {
        Stored {
            id: experiment.id.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            digests: digests(experiment),
            rows: rows.iter().map(StoredRow::of).collect(),
        }
    }

    /// The file of `experiment`, where `pages` is the folder of the pages.
    pub fn path(pages: &Path, experiment: &Experiment) -> PathBuf {
        pages.join(FOLDER).join(format!("{}.json", experiment.id))
    }

    /// Reads the file of `experiment`.
    ///
    /// # Errors
    /// There is no such file, or it has other content; the text says how it is made.
    pub fn read(pages: &Path, experiment: &Experiment) -> Result<Stored, Error> {
        let (path, id) = (Stored::path(pages, experiment), experiment.id);
        let wrong = |kind: ErrorKind, why: String| {
            let make = format!("`slotline reproduce {id} --pages {}` makes it", pages.display());
            Error::new(kind, format!("{}: {why}; {make}", path.display()))
        };
        let text = fs::read_to_string(&path).map_err(|e| wrong(e.kind(), e.to_string()))?;
        let read = serde_json::from_str(&text);
        let stored: Stored = read.map_err(|e| wrong(ErrorKind::InvalidData, e.to_string()))?;
        if stored.id != id {
            return Err(wrong(ErrorKind::InvalidData, format!("it is of `{}`", stored.id)));
        }
        Ok(stored)
    }

    /// Writes the file of `experiment`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, pages: &Path, experiment: &Experiment) -> Result<(), Error> {
        fs::create_dir_all(pages.join(FOLDER))?;
        fs::write(Stored::path(pages, experiment), self.text())
    }

    /// The content of the file: JSON with a line for each row.
    pub fn text(&self) -> String {
        // The content is text and finite numbers.
        let line = |row: &StoredRow| serde_json::to_string(row).expect("plain data");
        let rows: Vec<String> = self.rows.iter().map(line).collect();
        let head = serde_json::to_string(&Stored { rows: vec![], ..self.clone() });
        let head = head.expect("plain data").replace("\"rows\":[]}", "\"rows\":[");
        format!("{head}\n{}\n]}}\n", rows.join(",\n"))
    }

    /// Whether results of the experiment's scenario have changed since.
    pub fn is_older(&self, experiment: &Experiment) -> bool {
        self.digests != digests(experiment)
    }

    /// `page` with the table of `experiment` from this result; `None` without a section and a table for it.
    pub fn in_page(&self, page: &str, experiment: &Experiment) -> Option<String> {
        let rows: Vec<Row> = self.rows.iter().map(StoredRow::row).collect();
        with_table(page, experiment, &rows, self.is_older(experiment))
    }
}

impl StoredRow {
    fn of(row: &Row) -> StoredRow {
        StoredRow {
            point: row.point.clone(),
            scheme: row.scheme.clone(),
            quantity: row.quantity.clone(),
            unit: row.unit.clone(),
            paper: row.paper,
            mean: digits(row.ours.mean),
            half: row.ours.half.map(digits),
            n: row.ours.n,
        }
    }

    fn row(&self) -> Row {
        let ends = self.half.map(|half| (self.mean - half, self.mean + half));
        Row {
            x: None,
            point: self.point.clone(),
            scheme: self.scheme.clone(),
            quantity: self.quantity.clone(),
            unit: self.unit.clone(),
            paper: self.paper,
            ours: Estimate::read(self.mean, ends, self.n),
            note: String::new(),
        }
    }
}

/// Nine significant digits.
fn digits(value: f64) -> f64 {
    format!("{value:.8e}").parse().unwrap_or(value)
}

/// A fingerprint of the lines that `scenarios/digests.txt` has about the experiment's scenario.
fn digests(experiment: &Experiment) -> String {
    let Some(study) = experiment.study() else { return String::new() };
    let own =
        |line: &&str| line.strip_prefix(study.file).is_some_and(|rest| rest.starts_with(" |"));
    let lines: Vec<&str> = DIGESTS.lines().filter(own).collect();
    format!("{:016x}", fingerprint(lines.join("\n").as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;
    use proptest::prelude::*;

    fn any_row() -> impl Strategy<Value = Row> {
        let paper = prop_oneof![
            Just(None),
            (0.0..1e6_f64).prop_map(|value| Some(Stated::About(value))),
            (0.0..1e6_f64).prop_map(|value| Some(Stated::Over(value))),
            (0.0..1e6_f64).prop_map(|value| Some(Stated::Under(value))),
        ];
        let values = (-1e9..1e9_f64, proptest::option::of(0.0..1e3_f64), 1..50_usize);
        ("[a-z \"]{0,9}", "[a-z]{0,4}", "[a-z]{1,9}", paper, values).prop_map(
            |(point, scheme, quantity, paper, (mean, half, n))| {
                let ends = half.map(|half| (mean - half, mean + half));
                let ours = Estimate::read(mean, ends, n);
                let (quantity, unit) = (quantity.into(), "us".into());
                Row { x: Some(1.0), point, scheme, quantity, unit, paper, ours, note: "n".into() }
            },
        )
    }

    proptest! {
        /// What is read is what was written, and gives the same table as the rows themselves.
        #[test]
        fn stored_rows_give_the_same_table(rows in proptest::collection::vec(any_row(), 0..9)) {
            let experiment = find("xco-9").unwrap();
            let stored = Stored::new(experiment, &rows);
            let read: Stored = serde_json::from_str(&stored.text()).unwrap();
            prop_assert_eq!(&read, &stored);
            let rounded: Vec<Row> = read.rows.iter().map(StoredRow::row).collect();
            prop_assert_eq!(rounded.len(), rows.len());
            for (row, own) in rounded.iter().zip(&rows) {
                prop_assert!((row.ours.mean - own.ours.mean).abs() <= 1e-8 * own.ours.mean.abs());
                prop_assert_eq!(row.paper, own.paper);
                prop_assert_eq!(row.setup(), own.setup());
            }
        }
    }

    #[test]
    fn a_result_is_older_if_the_digests_of_its_scenario_have_changed() {
        let (with, without) = (find("xco-9").unwrap(), find("hed-1").unwrap());
        let stored = Stored::new(with, &[]);
        assert!(!stored.is_older(with) && !stored.digests.is_empty());
        assert!(Stored { digests: "0".into(), ..stored }.is_older(with));
        assert!(!Stored::new(without, &[]).is_older(without));
        // Every scenario has digests of its own.
        let all: std::collections::BTreeSet<String> =
            crate::experiments().map(digests).filter(|text| !text.is_empty()).collect();
        assert_eq!(all.len(), crate::experiments().filter(|e| e.study().is_some()).count());
    }
}
