//! A killed run leaves its finished runs, and the same command continues from there.

use crate::folder::{Folder, entries, stderr, until};
use std::fs;
use std::path::{Path, PathBuf};

/// Eight runs of some tenths of a second each.
const BUSY: &str = r#"name = "busy"
end = { at = "600ms", when = "time" }
repeat = 4
fabric = { kind = "star", hosts = 3 }

[[workload]]
kind = "bulk"

[[scheme]]
name = "tcp"

[[scheme]]
name = "cubic"
transport = "cubic"
"#;

impl Folder {
    /// Starts a run below `out`, and kills it when `n` runs are stored.
    fn killed(&self, out: &str, n: usize, more: &[&str]) {
        let arguments = [&["run", "busy.toml", "--threads", "1", "--out", out], more].concat();
        self.kill_when_stored(&arguments, out, n);
    }

    /// Starts the program, and kills it when `n` runs are stored below `out`.
    fn kill_when_stored(&self, arguments: &[&str], out: &str, n: usize) {
        let mut child = self.start(arguments);
        until("a stored run", || {
            assert!(child.try_wait().expect("a child").is_none(), "too fast to be killed");
            self.stored(out).len() >= n
        });
        child.kill().expect("it is there");
        child.wait().expect("it is gone");
    }

    /// The complete runs in drafts below `out`.
    fn stored(&self, out: &str) -> Vec<PathBuf> {
        let programs = entries(&self.0.join(out)).into_iter().filter(|path| is_draft(path));
        let runs = programs.flat_map(|draft| entries(&draft)).flat_map(|runs| entries(&runs));
        runs.filter(|run| fs::read(run.join("runs.json")).is_ok_and(|text| text.ends_with(b"}\n")))
            .collect()
    }

    /// The only entry below `out`.
    fn result(&self, out: &str) -> PathBuf {
        let mut found = entries(&self.0.join(out));
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }
}

fn is_draft(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "partial")
}

/// The two results are identical, except for the cost of the runs.
fn same(one: &Path, other: &Path) {
    let names = |folder: &Path| -> Vec<_> {
        entries(folder).iter().filter_map(|path| Some(path.file_name()?.to_owned())).collect()
    };
    assert_eq!(names(one), names(other));
    for name in names(one) {
        let text = |folder: &Path| fs::read(folder.join(&name)).expect("a file");
        // The page contains the cost of the runs in words.
        if name == "report.html" {
            continue;
        }
        if name.to_string_lossy().ends_with(".json") {
            let value = |folder: &Path| {
                let mut value = serde_json::from_slice(&text(folder)).expect("JSON");
                without_cost(&mut value);
                value
            };
            assert_eq!(value(one), value(other), "{name:?}");
        } else {
            assert!(text(one) == text(other), "{name:?}");
        }
    }
}

const COSTS: [&str; 7] = [
    "cpu_s",
    "wall_s",
    "peak_rss_bytes",
    "ns_per_hop",
    "cpu_ns_per_packet_hop",
    "threads",
    // Of a file that has them.
    "checksum",
];

fn without_cost(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(fields) => {
            fields.retain(|key, _| !COSTS.contains(&key.as_str()));
            fields.values_mut().for_each(without_cost);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(without_cost),
        _ => {}
    }
}

#[test]
fn only_what_is_missing_is_run() {
    let folder = Folder::new("missing", &[("busy.toml", BUSY)]);
    folder.killed("out", 2, &[]);
    let stored = folder.stored("out");
    assert!(stored.len() >= 2 && stored.len() < 8 && entries(&folder.0.join("out")).len() == 1);
    let whole = folder.run(&["run", "busy.toml", "--out", "whole"]);
    assert!(whole.status.success() && !stderr(&whole).contains("continuing"), "{}", stderr(&whole));
    // Killed again, it continues with the runs of both processes. Another result of the same name does not matter.
    folder.killed("out", stored.len() + 1, &[]);
    let stored = folder.stored("out").len();
    let again = folder.run(&["run", "busy.toml", "--out", "out"]);
    let text = stderr(&again);
    assert!(again.status.success(), "{text}");
    let notice = format!("continuing from {stored} of 8 runs of an interrupted run");
    assert!(text.contains(&notice), "{text}");
    same(&folder.result("out"), &folder.result("whole"));
    // With --force, an existing result remains until there is a new one.
    folder.killed("out", 2, &["--force"]);
    assert_eq!(entries(&folder.0.join("out")).len(), 2);
    let refused = folder.run(&["run", "busy.toml", "--out", "out"]);
    assert!(refused.status.code() == Some(2) && stderr(&refused).contains("--force"));
    let forced = folder.run(&["run", "busy.toml", "--out", "out", "--force"]);
    assert!(
        forced.status.success() && stderr(&forced).contains("continuing from "),
        "{}",
        stderr(&forced)
    );
    same(&folder.result("out"), &folder.result("whole"));
}

#[test]
fn a_damaged_run_is_done_again_and_another_scenario_is_not_concerned() {
    let folder = Folder::new("damaged", &[("busy.toml", BUSY)]);
    folder.killed("out", 3, &[]);
    let stored = folder.stored("out");
    fs::write(stored[0].join("ports.parquet"), "PAR1").expect("a file");
    let other = folder.run(&["run", "busy.toml", "--seed", "77", "--repeat", "1", "--out", "out"]);
    assert!(other.status.success() && !stderr(&other).contains("continuing"), "{}", stderr(&other));
    assert_eq!(folder.stored("out").len(), stored.len(), "of another scenario, and left alone");
    let mine = folder.run(&["run", "busy.toml", "--out", "out"]);
    let text = stderr(&mine);
    assert!(mine.status.success(), "{text}");
    let notice = format!("continuing from {} of 8 runs", stored.len() - 1);
    assert!(text.contains(&notice) && text.contains("damaged"), "{text}");
    assert!(folder.stored("out").is_empty() && entries(&folder.0.join("out")).len() == 2);
}

#[test]
fn a_point_of_a_sweep_goes_on_too() {
    let folder = Folder::new("sweep", &[("busy.toml", BUSY)]);
    let sweep = "extends = \"busy.toml\"\n[sweep.grid]\nend.at = [\"600ms\"]\n";
    folder.write("s.toml", sweep);
    let arguments = ["sweep", "s.toml", "--jobs", "1", "--out", "out"];
    folder.kill_when_stored(&arguments, "out", 2);
    let holder = || entries(&folder.0.join("out")).into_iter().find(|path| is_draft(path));
    let pid =
        holder().and_then(|path| Some(path.file_stem()?.to_str()?.rsplit_once('.')?.1.to_string()));
    let process = PathBuf::from(format!("/proc/{}", pid.expect("a draft")));
    until("the end of the point's process", || !process.exists());
    let stored = folder.stored("out");
    assert!(stored.len() >= 2, "{stored:?}");
    // The stored runs are not repeated: the result has their cost.
    let cost = |path: &Path| {
        let text = fs::read(path.join("runs.json")).expect("an index");
        let index: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        let runs = index["runs"].as_array().cloned().unwrap_or_default();
        runs.iter().map(|run| run["cpu_s"].to_string()).collect::<Vec<String>>()
    };
    let costs: Vec<String> = stored.iter().flat_map(|path| cost(path)).collect();
    let output = folder.run(&arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let result = entries(&folder.0.join("out"));
    let point = result.iter().find(|path| path.join("runs.json").exists()).expect("a result");
    let found = cost(point);
    assert!(found.len() == 8 && costs.iter().all(|cost| found.contains(cost)), "{costs:?}");
    assert!(result.iter().all(|path| !is_draft(path)), "{result:?}");
}
