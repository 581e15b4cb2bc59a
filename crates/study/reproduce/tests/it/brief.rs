//! The published experiments at a fraction of their length. Not their numbers are tested, but their shape.

use slotline_lab::run::Jobs;
use slotline_lab::statistics::{ANY, Estimate};
use slotline_lab::sweep::Study as Sweep;
use slotline_net::time::Time;
use slotline_net::workload::WorkloadSpec;
use slotline_reproduce::{Measured, PAPERS, Row, Stated, Study, experiments, find};
use std::path::Path;

/// The rows of `id` at these points of its axis, with one seed and a short run.
fn brief(id: &str, axis: &[u32], end: Time, blocks: u32) -> Vec<Row> {
    let study = find(id).and_then(|experiment| experiment.study()).expect("a study");
    let mut points = study.points().expect("a valid scenario");
    points.retain(|point| axis.contains(&point.x));
    let mut measured = Vec::new();
    for point in &mut points {
        let scenario = &mut point.loaded.scenario;
        scenario.end.at = Some(end);
        for workload in &mut scenario.workload {
            if let WorkloadSpec::Incast(incast) = workload {
                incast.blocks = blocks;
            }
        }
        point.loaded.reseed(None, Some(1)).expect("a valid scenario");
        measured.push(point.run(&Jobs::of(&point.loaded), 2).expect("it runs"));
    }
    study.findings(&measured).rows
}

fn of(rows: &[Row], setup: &str, quantity: &str) -> f64 {
    let row = rows.iter().find(|row| row.setup() == setup && row.quantity == quantity);
    row.unwrap_or_else(|| panic!("no {quantity} for {setup}")).ours.mean
}

#[test]
fn incast_collapses_but_not_with_timeslices() {
    let rows = brief("xco-2", &[1, 10], Time::s(100), 100);
    let goodput = |setup: &str| of(&rows, setup, "Goodput");
    assert!(goodput("senders = 1, tcp") > 900.0);
    assert!(goodput("senders = 10, tcp") < 0.6 * goodput("senders = 1, tcp"));
    assert!(of(&rows, "senders = 10, tcp", "Time-outs") > 1.0);
    for setup in ["senders = 1, timeslice", "senders = 10, timeslice", "senders = 10, rate-limit"] {
        assert!(goodput(setup) > 800.0, "{setup}");
    }
    assert_eq!(of(&rows, "senders = 10, timeslice", "Time-outs"), 0.0);
}

#[test]
fn controllers_that_are_triggered_at_once_open_slots_on_time() {
    let rows = brief("tdma-13", &[64], Time::ms(5), 0);
    let late =
        |scheme: &str| of(&rows, &format!("128 hosts, {scheme}"), "packets after their slot");
    assert!(late("one after another") > 30.0);
    assert!(late("broadcast") < 20.0 && late("broadcast, demand apart") < 20.0);
}

#[test]
fn tcp_starves_beside_udp_but_not_with_timeslices() {
    let rows = brief("xco-3", &[2, 4], Time::s(2), 0);
    let goodput = |setup: &str| of(&rows, setup, "Goodput");
    let tcp = |setup: &str| of(&rows, setup, "goodput per TCP flow");
    assert!(goodput("K = 2, without") < 600.0);
    assert!(goodput("K = 4, without") < goodput("K = 2, without"));
    assert!(of(&rows, "K = 4, without", "link utilisation") > 950.0, "and yet the link is full");
    for point in ["K = 2", "K = 4"] {
        assert!(tcp(&format!("{point}, without")) < 10.0);
        for scheme in ["timeslice", "rate-limit"] {
            let setup = format!("{point}, {scheme}");
            assert!((170.0..200.0).contains(&tcp(&setup)), "{setup}");
            assert!(goodput(&setup) > 900.0, "{setup}");
        }
    }
}

#[test]
fn work_conservation_gives_the_rest_to_the_greedy() {
    let rows = brief("xco-9", &[0], Time::s(1), 0);
    let goodput = |scheme| of(&rows, scheme, "Goodput");
    assert!(goodput("without") < 450.0);
    assert!((450.0..600.0).contains(&goodput("timeslice")));
    assert!(goodput("work-conserving") > 800.0);
    let slow = |scheme| of(&rows, scheme, "goodput per slow flow");
    assert!(slow("timeslice") > slow("without") && slow("work-conserving") > slow("without"));
}

#[test]
fn a_json_line_has_exactly_the_named_keys() {
    let row = |paper| Row {
        x: Some(8.0),
        point: "N=8".into(),
        scheme: "tcp".into(),
        quantity: "goodput".into(),
        unit: "Mbit/s".into(),
        paper,
        ours: Estimate { mean: 305.123_456, half: Some(1.0), n: 3, possible: ANY },
        note: "a \"quoted\" word".into(),
    };
    let line = row(Some(Stated::Over(900.0))).json("xco-2", None);
    let expected = r#"{"id":"xco-2","setup":"N=8, tcp","quantity":"goodput","unit":"Mbit/s","paper":900.0,"ours":305.123,"note":"a \"quoted\" word"}"#;
    assert_eq!(line, expected);
    assert!(row(None).json("xco-2", None).contains(r#""paper":null"#));
}

#[test]
fn every_row_is_a_line_of_json() {
    let rows = brief("xco-9", &[0], Time::ms(50), 0);
    assert!(!rows.is_empty());
    for row in rows {
        let line = row.json("xco-9", None);
        let value: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let keys: Vec<&String> = value.as_object().expect("an object").keys().collect();
        let mut named = ["id", "setup", "quantity", "unit", "paper", "ours", "note"];
        named.sort_unstable();
        assert_eq!(keys, named, "{line}");
        assert!(value["ours"].is_number() && !line.contains('\n'), "{line}");
        assert!(value["paper"].is_number() || value["paper"].is_null(), "{line}");
    }
}

#[test]
fn every_experiment_is_a_scenario_of_that_name() {
    for experiment in experiments() {
        let Some(study) = experiment.study() else { continue };
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let loaded =
            slotline_scenario::Scenario::parse_single(&root.join(study.file), study.text.into());
        let loaded = loaded.unwrap_or_else(|error| panic!("{}: {error}", experiment.id));
        assert_eq!(loaded.scenario.name, experiment.id);
        let points = points(study);
        assert!(points.len() == 1 || points.iter().all(|point| !point.1.is_empty()));
        // Nothing measured is nothing to compare.
        let empty = |(x, setup)| Measured { x, setup, ..Measured::default() };
        let points: Vec<Measured> = points.into_iter().map(empty).collect();
        assert!(study.findings(&points).rows.is_empty());
    }
    assert!(find("xco-77").is_none());
}

/// Every scenario with expected values loads at all points of its sweep, and each value is about some point.
#[test]
fn expected_values_are_about_points_of_the_sweep() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios/reproduce");
    let files =
        std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut with_values = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).expect("it is there");
        let written = text.matches("[[expect]]").count();
        let loaded = match Sweep::has_sweep(&file, &text).expect("TOML") {
            true => {
                let sweep = Sweep::parse(&file, text).unwrap_or_else(|error| panic!("{error}"));
                (0..sweep.len()).map(|at| sweep.point(at)).collect()
            }
            false => vec![slotline_scenario::Scenario::parse(&file, text)],
        };
        let each = loaded.into_iter().map(|point| point.unwrap_or_else(|error| panic!("{error}")));
        let kept: usize = each.map(|point| point.scenario.expect.len()).sum();
        assert!(kept >= written, "{}: {kept} of {written}", file.display());
        with_values += usize::from(written > 0);
    }
    assert!(with_values >= 27, "{with_values}");
}

/// The name of an experiment begins with that of its paper, and all names differ. Each experiment has a section in the
/// paper's page of the documentation, and there are no other sections.
#[test]
fn every_experiment_is_documented() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reproduction");
    for paper in PAPERS {
        let ids: Vec<&str> = paper.experiments.iter().map(|experiment| experiment.id).collect();
        assert!(
            ids.iter().all(|id| id.strip_prefix(paper.key).is_some_and(|n| n.starts_with('-')))
        );
        let page = std::fs::read_to_string(root.join(format!("{}.md", paper.key)));
        let page = page.unwrap_or_else(|error| panic!("{}: {error}", paper.key));
        let heads = page.lines().filter_map(|line| line.strip_prefix("## "));
        let heads = heads.filter_map(|head| Some(head.split_once(": ")?.0));
        let prefix = format!("{}-", paper.key);
        let sections: Vec<&str> = heads.filter(|head| head.starts_with(&prefix)).collect();
        assert_eq!(sections, ids, "sections of docs/reproduction/{}.md", paper.key);
    }
}

/// Experiments that no paper has, those of logs that authors published, and another reading of one that a paper has.
const OWN: [&str; 11] = [
    "hed-10", "hed-11", "et-9", "et-N", "et-K", "et-M", "et-T", "nb-A", "xco-14", "xco-15",
    "xco-16",
];
const LOGS: [&str; 2] = ["et-S", "et-D"];
const READINGS: [&str; 1] = ["nb-4c"];

#[test]
fn the_readme_counts_them() {
    let others: Vec<&str> = [&OWN[..], &LOGS, &READINGS].concat();
    assert!(others.iter().all(|id| find(id).is_some()));
    let published = experiments().filter(|experiment| !others.contains(&experiment.id)).count();
    let (own, logs, readings) = (OWN.len(), LOGS.len(), READINGS.len());
    let counted = format!(
        "[{published} published experiments](docs/how-to/reproduce.md) of seven papers, and {} more: {own} of our own, {logs} \
         from authors' logs, {readings} in another reading",
        others.len()
    );
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../README.md");
    let text = std::fs::read_to_string(readme).expect("it is there");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&counted), "README.md: {counted}");
}

fn points(study: &Study) -> Vec<(u32, String)> {
    let points = study.points().expect("a valid scenario");
    points.into_iter().map(|point| (point.x, point.setup)).collect()
}

#[test]
fn a_bump_that_sees_everything_knows_the_queue_and_marks_shorten_it() {
    let rows = brief("nb-3", &[0], Time::ms(300), 0);
    assert_eq!(of(&rows, "ideal", "largest error"), 0.0);
    assert!(of(&rows, "software", "within 2 packets") > 90.0);
    let rows = brief("nb-5", &[1], Time::ms(600), 0);
    let queue = |scheme| of(&rows, &format!("150 KB for each port, {scheme}"), "mean queue");
    assert!(queue("red 0.1") < queue("red 0.01") && queue("red 0.01") < 0.7 * queue("drop-tail"));
    let rows = brief("nb-7", &[3], Time::s(5), 0);
    assert!(of(&rows, "3 flows, without", DROPPED) > 10_000.0);
    assert_eq!(of(&rows, "3 flows, qcn", DROPPED), 0.0);
    assert!(of(&rows, "3 flows, qcn", "throughput at the receiver") > 900.0);
    // Senders continue at the rates of their links: the bump drops the packets that would exceed the congested port.
    let at_bump = |what| of(&rows, "3 flows, bump, 3 KB", what);
    assert!(at_bump("packets dropped at the reaction point") > 10_000.0);
    assert!(at_bump(DROPPED) < 0.01 * at_bump("packets dropped at the reaction point"));
    assert!(at_bump("throughput at the receiver") > 900.0);
}

const DROPPED: &str = "packets dropped at the congestion point";
