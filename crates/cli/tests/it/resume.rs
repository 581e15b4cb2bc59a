//! A run that is killed leaves what it had, and the same command goes on from there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_slotline");
const PATIENCE: Duration = Duration::from_secs(120);

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

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("slotline-resume-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).expect("a temporary folder");
        fs::write(path.join("busy.toml"), BUSY).expect("a file");
        Folder(path)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).current_dir(&self.0).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program starts")
    }

    /// Runs below `out` until `n` runs are kept, and kills it.
    fn killed(&self, out: &str, n: usize, more: &[&str]) {
        let arguments = [&["run", "busy.toml", "--threads", "1", "--out", out], more].concat();
        let mut child = self.command(&arguments).spawn().expect("the program starts");
        self.wait(&mut child, || self.kept(out).len() >= n);
        child.kill().expect("it is there");
        child.wait().expect("it is gone");
    }

    fn wait(&self, child: &mut Child, mut holds: impl FnMut() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < PATIENCE, "nothing is kept");
            assert!(child.try_wait().expect("a child").is_none(), "too fast to be killed");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Runs that are kept whole in drafts below `out`.
    fn kept(&self, out: &str) -> Vec<PathBuf> {
        let programs = entries(&self.0.join(out)).into_iter().filter(|path| is_draft(path));
        let runs = programs.flat_map(|draft| entries(&draft)).flat_map(|runs| entries(&runs));
        runs.filter(|run| fs::read(run.join("runs.json")).is_ok_and(|text| text.ends_with(b"}\n")))
            .collect()
    }

    /// The only thing below `out`.
    fn result(&self, out: &str) -> PathBuf {
        let mut found = entries(&self.0.join(out));
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return vec![] };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

fn is_draft(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "partial")
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The two results are byte for byte the same, but for what the runs cost.
fn same(one: &Path, other: &Path) {
    let names = |folder: &Path| -> Vec<_> {
        entries(folder).iter().filter_map(|path| Some(path.file_name()?.to_owned())).collect()
    };
    assert_eq!(names(one), names(other));
    for name in names(one) {
        let text = |folder: &Path| fs::read(folder.join(&name)).expect("a file");
        // It says what the runs cost, in words.
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
    let folder = Folder::new("missing");
    folder.killed("out", 2, &[]);
    let kept = folder.kept("out");
    assert!(kept.len() >= 2 && kept.len() < 8 && entries(&folder.0.join("out")).len() == 1);
    let whole = folder.run(&["run", "busy.toml", "--out", "whole"]);
    assert!(
        whole.status.success() && !printed(&whole).contains("continuing"),
        "{}",
        printed(&whole)
    );
    // Killed again, it goes on with what both had; another result of the same name is no hindrance.
    folder.killed("out", kept.len() + 1, &[]);
    let kept = folder.kept("out").len();
    let again = folder.run(&["run", "busy.toml", "--out", "out"]);
    let text = printed(&again);
    assert!(again.status.success(), "{text}");
    let notice = format!("continuing from {kept} of 8 runs of an interrupted run");
    assert!(text.contains(&notice), "{text}");
    same(&folder.result("out"), &folder.result("whole"));
    // With --force, a result that is there is in nobody's way, and stays until there is another.
    folder.killed("out", 2, &["--force"]);
    assert_eq!(entries(&folder.0.join("out")).len(), 2);
    let refused = folder.run(&["run", "busy.toml", "--out", "out"]);
    assert!(refused.status.code() == Some(2) && printed(&refused).contains("--force"));
    let forced = folder.run(&["run", "busy.toml", "--out", "out", "--force"]);
    assert!(
        forced.status.success() && printed(&forced).contains("continuing from "),
        "{}",
        printed(&forced)
    );
    same(&folder.result("out"), &folder.result("whole"));
}

#[test]
fn a_damaged_run_is_done_again_and_another_scenario_is_not_concerned() {
    let folder = Folder::new("damaged");
    folder.killed("out", 3, &[]);
    let kept = folder.kept("out");
    fs::write(kept[0].join("ports.parquet"), "PAR1").expect("a file");
    let other = folder.run(&["run", "busy.toml", "--seed", "77", "--repeat", "1", "--out", "out"]);
    assert!(
        other.status.success() && !printed(&other).contains("continuing"),
        "{}",
        printed(&other)
    );
    assert_eq!(folder.kept("out").len(), kept.len(), "of another scenario, and left alone");
    let mine = folder.run(&["run", "busy.toml", "--out", "out"]);
    let text = printed(&mine);
    assert!(mine.status.success(), "{text}");
    let notice = format!("continuing from {} of 8 runs", kept.len() - 1);
    assert!(text.contains(&notice) && text.contains("damaged"), "{text}");
    assert!(folder.kept("out").is_empty() && entries(&folder.0.join("out")).len() == 2);
}

#[test]
fn a_point_of_a_sweep_goes_on_too() {
    let folder = Folder::new("sweep");
    let sweep = "extends = \"busy.toml\"\n[sweep.grid]\nend.at = [\"600ms\"]\n";
    fs::write(folder.0.join("s.toml"), sweep).expect("a file");
    let arguments = ["sweep", "s.toml", "--jobs", "1", "--out", "out"];
    let mut child = folder.command(&arguments).spawn().expect("the program starts");
    folder.wait(&mut child, || folder.kept("out").len() >= 2);
    child.kill().expect("it is there");
    child.wait().expect("it is gone");
    let began = Instant::now();
    let holder = || entries(&folder.0.join("out")).into_iter().find(|path| is_draft(path));
    let pid =
        holder().and_then(|path| Some(path.file_stem()?.to_str()?.rsplit_once('.')?.1.to_string()));
    let process = PathBuf::from(format!("/proc/{}", pid.expect("a draft")));
    while process.exists() {
        assert!(began.elapsed() < PATIENCE, "the point does not give up");
        std::thread::sleep(Duration::from_millis(5));
    }
    let kept = folder.kept("out");
    assert!(kept.len() >= 2, "{kept:?}");
    // The kept runs are notice from done again by being the same files' rows: cost figures and all.
    let cost = |path: &Path| {
        let text = fs::read(path.join("runs.json")).expect("an index");
        let index: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        let runs = index["runs"].as_array().cloned().unwrap_or_default();
        runs.iter().map(|run| run["cpu_s"].to_string()).collect::<Vec<String>>()
    };
    let costs: Vec<String> = kept.iter().flat_map(|path| cost(path)).collect();
    let output = folder.run(&arguments);
    assert!(output.status.success(), "{}", printed(&output));
    let result = entries(&folder.0.join("out"));
    let point = result.iter().find(|path| path.join("runs.json").exists()).expect("a result");
    let found = cost(point);
    assert!(found.len() == 8 && costs.iter().all(|cost| found.contains(cost)), "{costs:?}");
    assert!(result.iter().all(|path| !is_draft(path)), "{result:?}");
}
