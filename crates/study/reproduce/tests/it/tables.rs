//! The tables in the pages of papers are those of the stored results, and what the program computes.

use slotline_lab::run::Jobs;
use slotline_reproduce::{
    Experiment, Row, Stored, StoredTable, Work, experiments, find, marked, with_stored_tables,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn pages() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reproduction")
}

fn rows(experiment: &Experiment) -> Vec<Row> {
    let study = match &experiment.work {
        Work::Computed { find, .. } => return find(2).rows,
        Work::Runs(study) => study,
    };
    let points = study.points().expect("a valid scenario");
    let run = |point: &slotline_reproduce::Point| point.run(&Jobs::of(&point.loaded), 2);
    let measured: Result<Vec<_>, _> = points.iter().map(run).collect();
    study.findings(&measured.expect("they run")).rows
}

/// Every table of a page is made from a stored result, and says so if the result is older than the last change of
/// results of its scenario.
#[test]
fn tables_are_those_of_the_stored_results() {
    for experiment in experiments() {
        let id = experiment.id;
        let stored = Stored::read(&pages(), experiment).unwrap_or_else(|error| panic!("{error}"));
        let page = pages().join(format!("{}.md", experiment.paper().key));
        let page = std::fs::read_to_string(page).expect("a page");
        let written = stored.in_page(&page, experiment).expect("a section");
        assert!(
            written == page,
            "{id}: `slotline reproduce {id} --stored --pages docs/reproduction` writes another table"
        );
    }
}

/// The names of what is in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
    entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect()
}

/// There are no other files beside them.
#[test]
fn every_stored_result_is_of_an_experiment() {
    for name in names(&pages().join("results")).into_iter().filter(|name| name != "tables") {
        let id = name.strip_suffix(".json");
        assert!(id.and_then(find).is_some(), "docs/reproduction/results/{name}");
    }
}

/// The pages, with their names.
fn all_pages() -> Vec<(String, String)> {
    let files = names(&pages()).into_iter().filter(|name| name.ends_with(".md"));
    let page = |name: &String| std::fs::read_to_string(pages().join(name)).expect("a page");
    files.map(|name| (name.clone(), page(&name))).collect()
}

/// Tables that a comment announces are those of the stored files, and each file has its place in a page.
#[test]
fn announced_tables_are_those_of_the_stored_files() {
    let mut announced = BTreeSet::new();
    for (name, page) in all_pages() {
        let read = |table: &str| {
            assert!(
                announced.insert(format!("{table}.json")),
                "{name}: `{table}` is announced twice"
            );
            StoredTable::read(&pages(), table)
        };
        let written = with_stored_tables(&page, read).unwrap_or_else(|error| panic!("{error}"));
        assert!(
            written == page,
            "{name}: `slotline reproduce --stored --pages docs/reproduction` writes other tables"
        );
    }
    let stored: BTreeSet<String> = names(&pages().join("results/tables")).into_iter().collect();
    assert_eq!(announced, stored);
}

/// The heads of tables of words.
const WORDS: [&str; 4] = [
    "| | the paper | ours |",
    "| | Paper | Here | From |",
    "| experiments | reason |",
    "| experiment | sizes |",
];

/// A table of a page is the first one of an experiment, or announced, or has only words.
#[test]
fn no_table_is_written_by_hand() {
    for (name, page) in all_pages() {
        let lines: Vec<&str> = page.lines().collect();
        let mut of_experiment = false;
        for (at, line) in lines.iter().enumerate() {
            if let Some(head) = line.strip_prefix("## ") {
                let id = head.split_once(": ").map_or("", |(id, _)| id);
                of_experiment = find(id).is_some() && name != "emulated.md";
            }
            if !line.starts_with('|') || lines[at - 1].starts_with('|') {
                continue;
            }
            let is_announced = at >= 2 && marked(lines[at - 2]).is_some();
            let is_generated = std::mem::take(&mut of_experiment);
            assert!(
                is_announced || is_generated || WORDS.contains(line),
                "{name}:{}: {line}",
                at + 1
            );
        }
    }
}

/// Those that take less than a few seconds: `slotline reproduce ID --pages docs/reproduction` writes their tables.
#[test]
fn tables_of_cheap_experiments_are_up_to_date() {
    for id in ["tdma-1", "tdma-3", "tdma-9", "ft-7", "hed-1", "nb-9"] {
        let experiment = find(id).expect("it is there");
        let stored = Stored::read(&pages(), experiment).unwrap_or_else(|error| panic!("{error}"));
        let now = Stored::new(experiment, &rows(experiment));
        assert!(
            stored.text() == now.text(),
            "{id}: `slotline reproduce {id} --pages docs/reproduction` gives other results"
        );
    }
}
