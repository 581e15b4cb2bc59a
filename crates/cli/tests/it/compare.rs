//! Results on disk: reported again, put on one page, and compared.

use crate::folder::Folder;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

const SCENARIO: &str = r#"name = "small"
repeat = 3
end = { at = "1s" }

[fabric]
kind = "star"
hosts = 5

[[workload]]
kind = "incast"
senders = 4
block = "400KB"
jitter = "50us"

[[scheme]]
name = "dctcp"
transport = { kind = "dctcp", min-rto = "10ms" }
queue = { kind = "ecn", limit = "300KB", threshold = "30KB" }
"#;

impl Folder {
    /// Runs `SCENARIO` with `old` replaced; the result is at `name`.
    fn make(&self, name: &str, (old, new): (&str, &str), options: &[&str]) {
        assert!(SCENARIO.contains(old), "{old}");
        fs::write(self.0.join("s.toml"), SCENARIO.replace(old, new)).expect("a scenario");
        let out = format!("out-{name}");
        let arguments = [&["run", "s.toml", "--out", &out][..], options].concat();
        let output = self.run(&arguments);
        assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
        let made = fs::read_dir(self.0.join(&out)).expect("results").next().expect("a result");
        fs::rename(made.expect("a result").path(), self.0.join(name)).expect("a folder");
    }
    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

fn printed(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// Checks that the program ended with `code` and printed all of `parts`.
fn expect(output: &Output, code: i32, parts: &[&str]) {
    let printed = printed(output);
    assert_eq!(output.status.code(), Some(code), "{printed}");
    assert!(!printed.contains("panicked"), "{printed}");
    for part in parts {
        assert!(printed.contains(part), "`{part}` is not in\n{printed}");
    }
}

const SAME: (&str, &str) = ("", "");
const SLOW: (&str, &str) = ("threshold = \"30KB\"", "threshold = \"300KB\"");

#[test]
fn diff_says_what_changed_and_exits_accordingly() {
    let folder = Folder::new("diff", &[]);
    folder.make("old", SAME, &["--threads", "1"]);
    folder.make("same", SAME, &["--threads", "2"]);
    folder.make("loose", SLOW, &[]);
    expect(&folder.run(&["diff", "old", "same"]), 0, &["Identical results", "No regression"]);
    let queue = ["diff", "old", "loose", "--metric", "queue-max"];
    let worse = folder.run(&queue);
    let key = "scheme.dctcp.queue.threshold: \"30KB\" → \"300KB\"";
    expect(&worse, 1, &["The scenarios differ", key, "paired by seed, 3 seeds", "REGRESSION"]);
    expect(&folder.run(&[&queue[..], &["--tolerance", "900%"]].concat()), 0, &["900 %"]);
    expect(&folder.run(&["diff", "loose", "old", "--metric", "queue-max"]), 0, &["better"]);
    let json = folder.run(&[&queue[..], &["--json"]].concat());
    assert_eq!(json.status.code(), Some(1));
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(json["regressions"][0]["metric"], "queue-max");
    // Other seeds, a single seed, and no common seed.
    folder.make("later", SAME, &["--seed", "100"]);
    expect(&folder.run(&["diff", "old", "later"]), 0, &["not paired"]);
    folder.make("once", SAME, &["--repeat", "1"]);
    expect(&folder.run(&["diff", "once", "once"]), 0, &["Identical"]);
}

#[test]
fn diff_refuses_what_cannot_be_compared() {
    let folder = Folder::new("refuse", &[]);
    folder.make("old", SAME, &["--repeat", "1"]);
    folder.make("renamed", ("\"dctcp\"\ntransport", "\"other\"\ntransport"), &["--repeat", "1"]);
    let diff = |arguments: &[&str]| folder.run(&[&["diff"], arguments].concat());
    expect(&diff(&["old", "renamed"]), 2, &["no scheme `dctcp`", "it has other"]);
    expect(&diff(&["old", "nowhere"]), 2, &["`nowhere` is not a result", "runs.json"]);
    expect(&diff(&["old", "s.toml"]), 2, &["not a result"]);
    expect(&diff(&["old"]), 2, &["NEW"]);
    expect(&diff(&["old", "old", "--tolerance", "5"]), 2, &["5% or 0.05"]);
    expect(&diff(&["old", "old", "--metric", "speed"]), 2, &["there are: fct-mean"]);
    expect(&diff(&["old", "old", "--metric", "goodput-udp"]), 2, &["cannot be compared"]);
    let flows = folder.path("renamed/flows.parquet");
    let whole = fs::read(&flows).expect("a table");
    fs::write(&flows, &whole[..whole.len() / 2]).expect("a table");
    let cut = diff(&["renamed", "old"]);
    expect(&cut, 2, &["renamed/flows.parquet", "cut off after"]);
}

#[test]
fn a_report_is_made_again_and_of_several_results() {
    let folder = Folder::new("report", &[]);
    folder.make("a", SAME, &[]);
    folder.make("b", SLOW, &[]);
    let page = folder.path("a/report.html");
    let first = fs::read_to_string(&page).expect("a page");
    fs::remove_file(&page).expect("a page");
    expect(&folder.run(&["report", "a"]), 0, &["Report: a/report.html"]);
    assert_eq!(fs::read_to_string(&page).expect("a page"), first, "the same page again");
    expect(&folder.run(&["report", "a", "-o", "elsewhere.html"]), 0, &["elsewhere.html"]);
    assert_eq!(fs::read_to_string(folder.path("elsewhere.html")).expect("a page"), first);
    expect(&folder.run(&["report", "a", "b"]), 0, &["Report: comparison.html"]);
    let both = fs::read_to_string(folder.path("comparison.html")).expect("a page");
    for part in ["a: dctcp", "b: dctcp", "scheme.dctcp.queue.threshold"] {
        assert!(both.contains(part), "{part}");
    }
    expect(&folder.run(&["report", "a", "b"]), 2, &["--output"]);
    expect(&folder.run(&["report", "a", "b", "--output", "comparison.html"]), 0, &[]);
    expect(&folder.run(&["report", "a", "a", "-o", "x.html"]), 2, &["named twice"]);
    expect(&folder.run(&["report"]), 2, &["RUN"]);
    expect(&folder.run(&["report", "nowhere"]), 2, &["not a result"]);
    expect(&folder.run(&["report", "a", "-o", "no/such/folder.html"]), 2, &["cannot write"]);
    folder.make("late", SAME, &["--seed", "50"]);
    expect(
        &folder.run(&["report", "a", "late", "-o", "x.html"]),
        2,
        &["none in common", "slotline diff"],
    );
    assert!(!Path::new(&folder.path("no")).exists());
}
