//! The tables in the pages of papers are what the program computes.

use slotline_lab::run::Jobs;
use slotline_reproduce::{Experiment, Row, Work, find, with_table};
use std::path::Path;

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

/// Those that take less than a few seconds: `slotline reproduce ID --pages docs/reproduction` writes their tables.
#[test]
fn tables_of_cheap_experiments_are_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reproduction");
    for id in ["tdma-1", "tdma-3", "tdma-9", "ft-7", "hed-1", "nb-9"] {
        let experiment = find(id).expect("it is there");
        let path = root.join(format!("{}.md", experiment.paper().key));
        let page = std::fs::read_to_string(path).expect("a page");
        let written = with_table(&page, experiment, &rows(experiment)).expect("a section");
        assert!(
            written == page,
            "{id}: `slotline reproduce {id} --pages docs/reproduction` writes another table"
        );
    }
}
