//! The page of a published experiment in a browser.

use super::harness::{check_keys, narrow, strings, used};
use slotline_lab::run::Jobs;
use slotline_net::time::Time;
use slotline_net::workload::WorkloadSpec;
use slotline_reproduce::{Experiment, experiments};

/// The page of short runs. Not the numbers are tested, but the shape.
fn page(experiment: &Experiment, keep: &[u32]) -> String {
    let study = experiment.study().expect("runs");
    let mut points = study.points().expect("a valid scenario");
    points.retain(|point| keep.contains(&point.x));
    let mut measured = Vec::new();
    for point in &mut points {
        let scenario = &mut point.loaded.scenario;
        scenario.end.at = Some(Time::ms(2_100).min(scenario.end.at.unwrap_or(Time::MAX)));
        for workload in &mut scenario.workload {
            if let WorkloadSpec::Incast(incast) = workload {
                incast.blocks = 5;
            }
        }
        point.loaded.reseed(None, Some(2)).expect("a valid scenario");
        measured.push(point.run(&Jobs::of(&point.loaded), 2).expect("it runs"));
    }
    let folder = std::env::temp_dir().join(format!(
        "slotline-report-{}-page-{}",
        std::process::id(),
        experiment.id
    ));
    let mut findings = study.findings(&measured);
    let written = slotline_reproduce::write(&folder, experiment, &mut findings).expect("a page");
    let again = slotline_reproduce::write(&folder, experiment, &mut study.findings(&measured));
    assert_eq!(again.as_ref().ok(), Some(&written), "an earlier page is replaced");
    std::fs::remove_file(written.join("rows.json")).expect("rows");
    let foreign = slotline_reproduce::write(&folder, experiment, &mut study.findings(&measured));
    assert!(foreign.is_err(), "a folder of something else is left alone");
    let page = std::fs::read_to_string(written.join("report.html")).expect("a page");
    std::fs::remove_dir_all(&folder).expect("a folder");
    page
}

fn check(id: &str, keep: &[u32], figures: &[&str]) {
    let experiment = experiments().find(|experiment| experiment.id == id).expect("it is there");
    let page = page(experiment, keep);
    assert!(page.contains(experiment.paper().title) && page.contains("Paper and ours"));
    let Some(seen) = used(&format!("page-of-{id}"), &page, 1200) else { return };
    assert_eq!(strings(&seen["errors"]), [""; 0], "{id}");
    let plots = seen["plots"].as_object().expect("plots");
    assert!(figures.iter().all(|id| plots.contains_key(*id)) && plots.len() == figures.len());
    for (figure, plot) in plots {
        assert!(plot["marks"].as_u64() > Some(0), "{id} {figure}: {plot}");
        assert_eq!((&plot["odd"], &plot["rows"]), (&false.into(), &plot["vega"]), "{id} {figure}");
        if !["goodput", "one", "flows"].contains(&figure.as_str()) {
            check_keys(figure, plot);
        }
    }
    let Some(seen) = used(&format!("narrow-page-of-{id}"), &narrow(&page), 500) else { return };
    assert_eq!((strings(&seen["errors"]), &seen["overflow"]), (vec![], &0.into()), "{id}");
}

#[test]
fn lines_against_an_axis_are_drawn() {
    check("xco-1", &[1, 3], &["goodput", "timeouts"]);
}

#[test]
fn bars_are_drawn() {
    check("xco-9", &[0], &["first"]);
}

#[test]
fn time_series_and_distributions_are_drawn() {
    check("xco-6", &[1], &["first", "cdf", "course"]);
    check("xco-10", &[2], &["turn"]);
}
