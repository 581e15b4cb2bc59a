//! The scenario beside this crate runs with its parts.

#[test]
fn the_scheduler_decides_and_all_flows_are_done() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/scenario.toml");
    let results = slotline::run_with(file, &@CRATE@::parts()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(results.runs.len(), 4);
    assert!(results.runs.iter().all(|run| run.flows.iter().all(|flow| flow.finished())));
}
