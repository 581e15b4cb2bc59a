//! The tables in the pages of papers are those of the stored results, and what the program computes.

use slotline_lab::run::Jobs;
use slotline_reproduce::{Experiment, Row, Stored, Work, experiments, find};
use std::path::PathBuf;

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

/// There are no other files beside them.
#[test]
fn every_stored_result_is_of_an_experiment() {
    let names: Vec<String> = std::fs::read_dir(pages().join("results"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    for name in names {
        let id = name.strip_suffix(".json");
        assert!(id.and_then(find).is_some(), "docs/reproduction/results/{name}");
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
