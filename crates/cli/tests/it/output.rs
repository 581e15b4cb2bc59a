//! Either everything is printed and written, or the program reports that it is not.

use crate::folder::{Folder, PROGRAM, stderr, stdout};
use std::fs;
use std::process::{Command, Output, Stdio};

impl Folder {
    fn shell(&self, script: &str) -> Output {
        let script = script.replace("slotline", PROGRAM);
        let mut command = Command::new("sh");
        command.args(["-c", &script]).current_dir(&self.0).stdin(Stdio::null());
        command.output().expect("a shell")
    }
}

/// About half of the seeds have a flow.
const SPARSE: &str = r#"name = "sparse"
end = { at = "1ms", when = "time" }
repeat = 20
fabric = { kind = "star", hosts = 4 }

[[workload]]
kind = "poisson"
sizes = "1MB"
load = 0.2

[[scheme]]
name = "tcp"
"#;

#[test]
fn a_seed_without_flows_is_named_and_the_others_stay() {
    let folder = Folder::new("sparse", &[("s.toml", SPARSE)]);
    let checked = folder.shell("slotline check s.toml");
    let printed = stderr(&checked);
    let expected = "poisson: 1.0 flows are expected in a run, so that 37 % of seeds have none";
    assert!(printed.contains(expected) || checked.status.code() == Some(2), "{printed}");
    let output = folder.shell("slotline run s.toml --seed 2");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("the run of `tcp` with seed"), "{}", stderr(&output));
    assert!(stdout(&output).contains("Incomplete:"), "{}", stdout(&output));
    let [result] = &folder.results()[..] else { panic!("{:?}", folder.results()) };
    let summary = fs::read(result.join("summary.json")).expect("a summary");
    let summary: serde_json::Value = serde_json::from_slice(&summary).expect("JSON");
    let failed = summary["failed"].as_array().expect("a list").len() as u64;
    assert_eq!(summary["complete"], false);
    assert_eq!(summary["schemes"]["tcp"]["runs"].as_u64(), Some(20 - failed));
    assert!(failed > 0 && failed < 20, "{summary}");
    let page = fs::read_to_string(result.join("report.html")).expect("a page");
    assert!(page.contains("failed: "), "the page names the failed runs");
}

const GOOD: &str = r#"name = "good"
end = { at = "50ms" }
fabric = { kind = "star", hosts = 5 }

[[workload]]
kind = "incast"
senders = 4
block = "100KB"

[[scheme]]
name = "tcp"
"#;

#[test]
fn an_output_that_takes_nothing_is_an_error_and_a_closed_one_is_none() {
    let folder = Folder::new("full", &[("s.toml", GOOD)]);
    for command in ["run s.toml", "check s.toml", "explain s.toml", "list", "schema", "new"] {
        let output = folder.shell(&format!("slotline {command} >/dev/full"));
        assert_eq!(output.status.code(), Some(2), "{command}: {}", stderr(&output));
        let printed = stderr(&output);
        assert!(printed.contains("cannot write to the standard output"), "{command}: {printed}");
    }
    let [result] = &folder.results()[..] else { panic!("the result is stored in any case") };
    let result = result.file_name().expect("a folder").to_string_lossy();
    let export = format!("export openmetrics results/{result}");
    let output = folder.shell(&format!("slotline {export} >/dev/full"));
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(stderr(&output).matches("cannot write").count(), 1, "{}", stderr(&output));
    for command in ["list", "schema", "bench ports --json", &export] {
        let output = folder.shell(&format!("{{ slotline {command}; echo $? >code; }} | head -c 1"));
        assert!(!stderr(&output).contains("panicked"), "{command}: {}", stderr(&output));
    }
}

#[test]
fn names_do_not_reach_the_terminal_as_commands() {
    let named = GOOD.replace("\"tcp\"", "\"=1+1\\u001b[2J\\nnew\"");
    let folder = Folder::new("names", &[("s.toml", &named)]);
    let output = folder.shell("slotline run s.toml && slotline explain s.toml");
    assert!(output.status.success(), "{}", stderr(&output));
    let printed = stdout(&output);
    assert!(!printed.contains('\u{1b}') && printed.contains("\\u{1b}"), "{printed}");
    let [result] = &folder.results()[..] else { panic!("{:?}", folder.results()) };
    let csv = fs::read_to_string(result.join("flows.csv")).expect("a table");
    assert!(csv.contains("\"'=1+1"), "{}", &csv[..200.min(csv.len())]);
}

#[test]
fn a_device_without_end_is_refused_and_a_mark_of_byte_order_is_not() {
    let trace = GOOD.replace(
        "kind = \"incast\"\nsenders = 4\nblock = \"100KB\"",
        "kind = \"trace\"\nfile = \"/dev/zero\"\nformat = \"csv\"",
    );
    let folder = Folder::new("zero", &[("s.toml", &trace)]);
    let output = folder.shell("slotline check s.toml");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("longer than"), "{}", stderr(&output));
    for format in ["cm", "goal", "hpcc-flows", "pcap"] {
        folder.write("s.toml", &trace.replace("\"csv\"", &format!("\"{format}\"")));
        assert_eq!(folder.shell("slotline check s.toml").status.code(), Some(2), "{format}");
    }
    let own = trace.replace("/dev/zero", "t.csv");
    folder.write("s.toml", &format!("\u{feff}{own}"));
    folder.write("t.csv", "\u{feff}src,dst,bytes,start_s\n0,1,10,0\n");
    let output = folder.shell("slotline run s.toml");
    assert!(output.status.success(), "{}", stderr(&output));
    // The trace is not stored in memory. Another trace in its place is noticed by its name.
    folder.write("t.csv", "src,dst,bytes,start_s\n0,1,11,0\n");
    assert!(folder.shell("slotline run s.toml").status.success());
    assert_eq!(folder.results().len(), 2);
}

#[test]
fn sweeps_are_checked_point_by_point() {
    let folder =
        Folder::new("sweep", &[("s.toml", &format!("{GOOD}[sweep.grid]\nseed = [1, 2, 3]\n"))]);
    let output = folder.shell("slotline check s.toml");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).starts_with("ok: s.toml: sweep of 3 points"), "{}", stdout(&output));
    let wrong = format!("{GOOD}[sweep.grid]\nfabric.hosts = [5, 2]\n");
    folder.write("s.toml", &wrong);
    let output = folder.shell("slotline check s.toml");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("in point 1 of the sweep"), "{}", stderr(&output));
}

/// The first amount of memory after `word` in a text, in bytes.
fn memory_after(word: &str, text: &str) -> f64 {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (before, after) = text.split_once(word).unwrap_or_else(|| panic!("no `{word}` in {text}"));
    let amount = if word == "of memory" { before.rsplit("and ").next() } else { Some(after) };
    let mut words = amount.expect("text").split_whitespace();
    let number: f64 = words.next().expect("a number").parse().expect("a number");
    let unit = words.next().expect("a unit").trim_matches(|c: char| !c.is_alphanumeric());
    number * if unit == "GB" { 1e9 } else { 1e6 }
}

/// The tolerance is wide, because allocators and operating systems differ.
#[test]
fn memory_is_as_explained() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let folder = Folder::new("memory", &[("s.toml", GOOD)]);
    for name in ["incast", "notified"] {
        let file = format!("{name}.toml");
        fs::copy(root.join(&file), folder.0.join(&file)).expect("a scenario");
        let explained = folder.shell(&format!("slotline explain {file}"));
        let ran = folder.shell(&format!("slotline run {file}"));
        let expected = memory_after("of memory", &stdout(&explained));
        let ratio = memory_after("peak memory", &stdout(&ran)) / expected;
        assert!((0.4..2.5).contains(&ratio), "{name}: {ratio} of {expected} bytes");
    }
}
