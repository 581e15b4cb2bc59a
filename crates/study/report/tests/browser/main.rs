//! The report in a browser: it loads without an error, every figure has marks, and all buttons work. Without a browser
//! these tests print that and check nothing.

mod data;
mod harness;
mod sweep;

use data::{Size, set};
use harness::{check_keys, narrow, strings, used};
use serde_json::Value;
use slotline_lab::record::{RunSet, Samples};
use slotline_lab::summary::Summary;
use slotline_lab::usage::process_cpu_s;

/// Every figure that a report can have.
const ALL: [&str; 14] = [
    "fct-cdf",
    "slowdown-cdf",
    "slowdown-by-size",
    "fairness",
    "why",
    "waits",
    "flow",
    "throughput",
    "queue",
    "queue-cdf",
    "utilisation",
    "fabric",
    "schedule",
    "sequence",
];

fn page(set: &RunSet) -> String {
    slotline_report::html("made-up-0", set, &Summary::of(set))
}

#[test]
fn every_figure_is_drawn_and_can_be_used() {
    let page = page(&set(Size::SMALL));
    let Some(seen) = used("every_figure_is_drawn_and_can_be_used", &page, 1200) else { return };
    assert_eq!(strings(&seen["errors"]), [""; 0]);
    for id in ALL {
        let plot = &seen["plots"][id];
        assert!(plot["marks"].as_u64() > Some(0), "{id}: {plot}");
        assert_eq!((&plot["odd"], &plot["focused"]), (&false.into(), &true.into()), "{id}");
        check_keys(id, plot);
        check_buttons(id, plot);
        check_files(id, plot);
        assert_eq!(plot["rows"], plot["vega"], "{id}: the data saved are the data of the figure");
        assert!(plot["rows"].as_u64() > Some(0), "{id}: {plot}");
        assert_ne!(plot["chosen"], false, "{id}: another flow is another drawing");
    }
    assert_eq!(seen["plots"].as_object().map(|plots| plots.len()), Some(ALL.len()));
}

/// The drawing as a file needs no style sheet, and the specification for Vega-Lite has the colours of the page.
fn check_files(id: &str, plot: &Value) {
    let file = &plot["file"];
    assert_eq!((&file["name"], &file["odd"]), (&"svg".into(), &false.into()), "{id}: {file}");
    assert_eq!(file["white"], "#ffffff", "{id}");
    assert!(file["parts"].as_u64() > Some(3), "{id}: {file}");
    let text = plot["spec"].to_string();
    let by_scheme = text.contains(r#""color":{"field":"scheme""#);
    assert!(!by_scheme || text.contains("#0072b2"), "{id}: {text}");
    assert!(!text.contains("viridis"), "{id}");
}

/// Each scheme can be hidden and shown again; every other button changes the drawing.
fn check_buttons(id: &str, plot: &Value) {
    let toggles = plot["toggles"].as_array().unwrap();
    let schemes = if id == "schedule" { 1 } else { 3 };
    assert_eq!(toggles.len(), schemes, "{id}");
    let count = |toggle: &Value, key: &str| toggle[key].as_u64().unwrap();
    for (at, toggle) in toggles.iter().enumerate() {
        let (before, off) = (count(toggle, "before"), count(toggle, "off"));
        assert_eq!((&toggle["pressed"], before), (&"false".into(), count(toggle, "after")), "{id}");
        // The selection shows one flow, of the first scheme.
        assert!(off < before || (id == "flow" && (at > 0 || off > 0)), "{id}: {toggle}");
    }
    for axis in plot["axes"].as_array().unwrap() {
        assert_eq!(axis["odd"], false, "{id}: {axis}");
        assert!(axis["marks"].as_u64() > Some(0), "{id}: {axis}");
        let idle = ["◀", "−", "all"].iter().any(|name| axis["name"] == *name);
        assert!(axis["changed"] == true || idle, "{id}: {axis}");
    }
}

#[test]
fn nothing_is_wider_than_a_phone() {
    let page = page(&set(Size::SMALL));
    // The narrowest window of headless Chromium has 500 pixels, so a frame makes the page as narrow as a phone.
    let Some(seen) = used("nothing_is_wider_than_a_phone", &narrow(&page), 500) else { return };
    assert_eq!(strings(&seen["errors"]), [""; 0]);
    assert_eq!(seen["overflow"], 0, "{seen}");
    for (id, plot) in seen["plots"].as_object().unwrap() {
        assert_eq!(plot["wide"], true, "{id}");
    }
}

#[test]
fn a_large_fabric_and_schedule_are_drawn_too() {
    let size = Size { leaves: 128, hosts_per_leaf: 8, windows: 60_000, seeds: 1, ..Size::SMALL };
    let page = page(&set(size));
    assert!(page.len() < 3_000_000, "{}", page.len());
    let Some(seen) = used("a_large_fabric_and_schedule_are_drawn_too", &page, 1200) else { return };
    assert_eq!(strings(&seen["errors"]), [""; 0]);
    for id in ["fabric", "schedule", "utilisation"] {
        let marks = seen["plots"][id]["marks"].as_u64().unwrap();
        assert!((100..20_000).contains(&marks), "{id}: {marks}");
    }
}

#[test]
fn a_page_without_optional_records_has_no_error() {
    let mut bare = set(Size { seeds: 1, ..Size::SMALL });
    for run in &mut bare.runs {
        run.samples = Samples::default();
        (run.why, run.sequence, run.schedule) = Default::default();
    }
    let Some(seen) = used("a_page_without_optional_records_has_no_error", &page(&bare), 1200)
    else {
        return;
    };
    assert_eq!(strings(&seen["errors"]), [""; 0]);
    let drawn: Vec<&str> = seen["plots"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        drawn,
        ["fabric", "fairness", "fct-cdf", "slowdown-by-size", "slowdown-cdf", "utilisation"]
    );
}

#[test]
#[ignore = "writes pages for people to look at: cargo test -p slotline-report --test browser -- --ignored pages"]
fn pages_to_look_at() {
    let folder = std::env::temp_dir().join("slotline-report-pages");
    std::fs::create_dir_all(&folder).unwrap();
    let large = Size { leaves: 128, hosts_per_leaf: 8, windows: 60_000, seeds: 1, ..Size::SMALL };
    for (name, size) in [("small", Size::SMALL), ("large", large)] {
        let file = folder.join(format!("{name}.html"));
        std::fs::write(&file, page(&set(size))).unwrap();
        println!("{}", file.display());
    }
}

#[test]
#[ignore = "only says something in a release build: cargo test --release -p slotline-report --test browser -- --ignored --nocapture"]
fn a_million_flows_are_quick() {
    let size = Size { schemes: 4, seeds: 1, flows: 1_000_000, ..Size::SMALL };
    let set = set(size);
    // CPU time is measured, so that other load of the machine does not count.
    let began = process_cpu_s();
    let summary = Summary::of(&set);
    let summed = process_cpu_s() - began;
    let page = slotline_report::html("made-up-0", &set, &summary);
    let built = process_cpu_s() - began;
    println!("CPU: summary {summed:.2} s, page {:.2} s; {} bytes", built - summed, page.len());
    assert!(built < 5.0 && page.len() < 3_000_000);
    let Some(seen) = used("a_million_flows_are_quick", &page, 1200) else { return };
    println!("opened after {} ms", seen["opened"]);
    assert!((1.0..1_000.0).contains(&seen["opened"].as_f64().unwrap()), "{}", seen["opened"]);
}
