//! Sweeps on the command line: each point runs once even if processes are stopped or killed, shards together give the
//! whole sweep, and errors have their place in the file.

use crate::folder::{Folder, SMALL, entries, stderr, stdout, until};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// A flow that sends until the run ends: `end` sets how long it takes.
const BUSY: &str = r#"name = "busy"
end = { at = "1ms", when = "time" }
fabric = { kind = "star", hosts = 3 }

[[workload]]
kind = "bulk"

[[scheme]]
name = "tcp"
"#;

/// Seconds of work, and more than any test waits for.
const LONG: &str = "200ms";
const ENDLESS: &str = "100000s";

impl Folder {
    /// Runs the program, which must end with `code`. Returns what it prints to both outputs.
    fn ends(&self, code: i32, arguments: &[&str]) -> (String, String) {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        (stdout(&output), stderr(&output))
    }

    /// The results of points below `out`, by name, each with the time of its creation.
    fn points(&self, out: &str) -> Vec<(PathBuf, SystemTime)> {
        let point = |path: PathBuf| {
            let made = fs::metadata(path.join("scenario.toml")).ok()?.modified().ok()?;
            let hidden = path.file_name()?.to_str()?.starts_with('.');
            (!hidden).then_some((path, made))
        };
        entries(&self.0.join(out)).into_iter().filter_map(point).collect()
    }

    /// The entries that begin with a dot: drafts and locks.
    fn left_behind(&self, out: &str) -> Vec<PathBuf> {
        let hidden = |path: &PathBuf| {
            path.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| name.starts_with('.'))
        };
        entries(&self.0.join(out)).into_iter().filter(hidden).collect()
    }

    /// The only sweep below `out`.
    fn sweep(&self, out: &str) -> PathBuf {
        let is_sweep = |path: &PathBuf| path.to_string_lossy().contains("-sweep-");
        let found = |out: &str| {
            let own =
                |path: &PathBuf| path.file_name().is_some_and(|n| is_sweep(&PathBuf::from(n)));
            entries(&self.0.join(out)).into_iter().filter(own).collect::<Vec<_>>()
        };
        let found = found(out);
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].clone()
    }
}

/// Sends a signal to one process, by its number.
fn signal(name: &str, process: u32) {
    let sent = Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status();
    assert!(sent.expect("kill").success());
}

/// The processes that `parent` started and that still run.
fn children(parent: u32) -> Vec<u32> {
    let number = |path: PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let is_child = |process: &u32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let after = stat.rsplit(") ").next().unwrap_or("").to_string();
        let mut fields = after.split(' ');
        fields.next() != Some("Z") && fields.next() == Some(&parent.to_string())
    };
    entries(Path::new("/proc")).into_iter().filter_map(number).filter(is_child).collect()
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("a file")).expect("JSON")
}

#[test]
fn each_point_is_run_once() {
    let sweep = "extends = \"base.toml\"\nrepeat = 2\n[sweep.grid]\nfabric.hosts = [5, 6]\n\
                 \"scheme[dctcp].queue.threshold\" = [\"15KB\", \"30KB\"]\n";
    let folder = Folder::new("once", &[("base.toml", SMALL), ("s.toml", sweep)]);
    let (listed, _) = folder.ends(0, &["sweep", "s.toml", "--dry-run"]);
    assert_eq!(listed.matches("to do").count(), 4, "{listed}");
    assert!(folder.points("results").is_empty(), "a dry run makes nothing");
    let (shown, _) = folder.ends(0, &["sweep", "s.toml", "--jobs", "2"]);
    assert!(shown.starts_with("small: 4 of 4 points\n") && shown.contains("dctcp"), "{shown}");
    let points = folder.points("results");
    assert_eq!(points.len(), 4);
    assert_eq!(folder.left_behind("results"), [] as [PathBuf; 0]);
    let (again, printed) = folder.ends(0, &["sweep", "s.toml"]);
    assert_eq!(again, shown);
    assert_eq!(printed, "", "nothing was run");
    assert_eq!(folder.points("results"), points);
    // Another sweep shares the common points, and a plain run of a point equals the point.
    folder.write("t.toml", &sweep.replace("[5, 6]", "[6, 7]"));
    let (listed, _) = folder.ends(0, &["sweep", "t.toml", "--dry-run"]);
    assert_eq!((listed.matches("to do").count(), listed.matches(" done ").count()), (2, 2));
    let plain = "extends = \"base.toml\"\nrepeat = 2\nfabric.hosts = 5\n";
    folder.write("p.toml", plain);
    let (_, printed) = folder.ends(2, &["run", "p.toml"]);
    assert!(printed.contains("already holds a result"), "{printed}");
    for file in ["sweep.csv", "sweep.json", "sweep.html", "sweep.vl.json"] {
        assert!(folder.sweep("results").join(file).is_file(), "{file}");
    }
    let (printed, _) = folder.ends(0, &["sweep", "s.toml", "--json"]);
    let printed: Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(
        (printed["rows"].as_array().map(Vec::len), &printed["complete"]),
        (Some(8), &true.into())
    );
}

#[test]
fn a_sweep_is_not_for_run_nor_a_scenario_for_sweep() {
    let sweep = format!("{SMALL}[sweep.grid]\nseed = [1, 2]\n");
    let folder = Folder::new("misused", &[("s.toml", &sweep), ("base.toml", SMALL)]);
    let (_, printed) = folder.ends(2, &["run", "s.toml"]);
    assert!(
        printed.starts_with("s.toml:17:2: ") && printed.contains("`slotline sweep`"),
        "{printed}"
    );
    let (_, printed) = folder.ends(2, &["sweep", "base.toml"]);
    assert!(printed.contains("no `sweep`") && printed.contains("`slotline run`"), "{printed}");
    for wrong in ["2/2", "1", "x/y"] {
        folder.ends(2, &["sweep", "s.toml", "--shard", wrong]);
    }
    folder.ends(2, &["sweep", "s.toml", "--time", "1:00"]);
    let same = format!("{SMALL}[sweep.grid]\nend.at = [\"1ms\", \"1000us\"]\n");
    folder.write("same.toml", &same);
    let (_, printed) = folder.ends(2, &["sweep", "same.toml"]);
    assert!(
        printed.contains("points 0 (at = 1ms) and 1 (at = 1000us) are the same scenario"),
        "{printed}"
    );
    assert!(entries(&folder.0.join("results")).is_empty());
}

#[test]
fn faults_point_into_the_right_file_before_anything_runs() {
    let sweep = "extends = \"base.toml\"\n[sweep.grid]\nfabric.hosts = [5, 3]\n";
    let folder = Folder::new("faults", &[("base.toml", SMALL), ("s.toml", sweep)]);
    let (_, printed) = folder.ends(2, &["sweep", "s.toml"]);
    assert!(printed.starts_with("base.toml:7:11: "), "{printed}");
    assert!(printed.contains("in point 1 of the sweep: hosts = 3"), "{printed}");
    folder.write("s.toml", &sweep.replace("hosts", "hots"));
    let (_, printed) = folder.ends(2, &["sweep", "s.toml"]);
    assert!(
        printed.starts_with("s.toml:3:8: ") && printed.contains("did you mean `hosts`?"),
        "{printed}"
    );
    folder.write("s.toml", "extends = \"base.toml\"\nrepeat = 0\n");
    let (_, printed) = folder.ends(2, &["run", "s.toml"]);
    assert!(printed.starts_with("s.toml:2:10: "), "{printed}");
    assert!(entries(&folder.0.join("results")).is_empty(), "nothing was begun");
}

#[test]
fn shards_together_are_the_whole() {
    let sweep = "extends = \"base.toml\"\n[sweep.grid]\nseed = [1, 2, 3]\n\
                 \"workload[0].senders\" = [2, 3, 4]\n";
    let folder = Folder::new("shards", &[("base.toml", SMALL), ("s.toml", sweep)]);
    folder.ends(0, &["sweep", "s.toml", "--out", "whole"]);
    // Both shards at the same time in one folder, and a third process for all points.
    let shard = |which| folder.start(&["sweep", "s.toml", "--out", "shared", "--shard", which]);
    let both = [shard("0/2"), shard("1/2"), folder.start(&["sweep", "s.toml", "--out", "shared"])];
    for child in both {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", stderr(&output));
    }
    assert_eq!(folder.left_behind("shared"), [] as [PathBuf; 0]);
    let (shown, _) = folder.ends(0, &["collect", "shared"]);
    assert!(shown.starts_with("small: 9 of 9 points\n"), "{shown}");
    let same = |file: &str, other: &str| {
        let read = |out: &str| fs::read_to_string(folder.sweep(out).join(file)).expect("a file");
        assert_eq!(read("whole"), read(other), "{file} of {other}");
    };
    ["sweep.csv", "sweep.json", "sweep.html"].iter().for_each(|file| same(file, "shared"));
    // On two machines, one part is not enough.
    folder.ends(0, &["sweep", "s.toml", "--out", "one", "--shard", "0/2"]);
    folder.ends(0, &["sweep", "s.toml", "--out", "two", "--shard", "1/2"]);
    let (_, printed) = folder.ends(1, &["collect", "one"]);
    assert_eq!(printed.matches("is missing (").count(), 4, "{printed}");
    folder.ends(0, &["collect", "one", "two", "-o", "joined"]);
    ["sweep.csv", "sweep.json"].iter().for_each(|file| same(file, "joined"));
    let (_, printed) = folder.ends(0, &["collect", "one", "two", "whole", "-o", "joined"]);
    assert!(
        printed.contains("9 points were done in several folders, with equal results"),
        "{printed}"
    );
    let (_, printed) = folder.ends(2, &["collect", "nowhere"]);
    assert!(printed.contains("nowhere"), "{printed}");
}

/// A sweep of `BUSY` over its length.
fn busy(lengths: &[&str]) -> String {
    format!("extends = \"busy.toml\"\n[sweep.grid]\nend.at = {lengths:?}\n")
}

#[test]
fn a_point_that_is_killed_is_one_point() {
    let sweep = busy(&["1ms", ENDLESS, "2ms"]);
    let folder = Folder::new("killed", &[("busy.toml", BUSY), ("s.toml", &sweep)]);
    let child = folder.start(&["sweep", "s.toml", "--jobs", "1"]);
    until("the first point", || folder.points("results").len() == 1);
    // The process is found by its arguments, because a child may still belong to the first point.
    let long = || {
        children(child.id()).into_iter().find(|process| {
            let line = fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default();
            line.contains("\u{0}1:busy-")
        })
    };
    until("the second point", || long().is_some());
    signal("KILL", long().expect("it runs"));
    let output = child.wait_with_output().expect("it ends");
    let printed = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains("point 1 failed (at = 100000s):\n    killed (signal 9)"), "{printed}");
    assert!(stdout(&output).starts_with("busy: 2 of 3 points\n"));
    assert_eq!(folder.points("results").len(), 2);
    assert_eq!(folder.left_behind("results"), [] as [PathBuf; 0]);
    let found = json(&folder.sweep("results").join("sweep.json"));
    assert_eq!(found["points"][1]["state"], "failed");
    assert_eq!(found["complete"], false);
}

#[test]
fn a_sweep_whose_process_is_killed_goes_on_where_it_was() {
    let sweep = busy(&["1ms", LONG, "2ms"]);
    let folder = Folder::new("resumed", &[("busy.toml", BUSY), ("s.toml", &sweep)]);
    let mut child = folder.start(&["sweep", "s.toml", "--jobs", "1"]);
    until("the second point", || {
        let partial = |path: &PathBuf| path.to_string_lossy().ends_with(".partial");
        folder.points("results").len() == 1 && folder.left_behind("results").iter().any(partial)
    });
    let first = folder.points("results");
    let running = children(child.id());
    signal("KILL", child.id());
    child.wait().expect("it is gone");
    until("the point gives up", || {
        running.iter().all(|process| !Path::new(&format!("/proc/{process}")).exists())
    });
    assert_eq!(folder.points("results").len(), 1, "no half result");
    let (shown, printed) = folder.ends(0, &["sweep", "s.toml", "--jobs", "1"]);
    assert!(shown.starts_with("busy: 3 of 3 points\n"), "{shown}");
    assert_eq!(printed.matches("  done  ").count(), 2, "{printed}");
    assert!(folder.points("results").contains(&first[0]), "the first point was not run again");
    assert_eq!(folder.left_behind("results"), [] as [PathBuf; 0]);
}

#[test]
fn an_interrupted_sweep_keeps_what_is_done() {
    let sweep = busy(&["1ms", ENDLESS, "2ms"]);
    let folder = Folder::new("interrupted", &[("busy.toml", BUSY), ("s.toml", &sweep)]);
    let child = folder.start(&["sweep", "s.toml", "--jobs", "1"]);
    until("the second point", || {
        let partial = |path: &PathBuf| path.to_string_lossy().ends_with(".partial");
        folder.points("results").len() == 1 && folder.left_behind("results").iter().any(partial)
    });
    signal("INT", child.id());
    let output = child.wait_with_output().expect("it ends");
    let printed = stderr(&output);
    assert_eq!(output.status.code(), Some(130), "{printed}");
    assert!(printed.contains("interrupted: 2 points are left"), "{printed}");
    assert_eq!(folder.points("results").len(), 1);
    assert_eq!(folder.left_behind("results"), [] as [PathBuf; 0]);
    let (listed, _) = folder.ends(0, &["sweep", "s.toml", "--dry-run"]);
    assert_eq!(listed.matches("to do").count(), 2, "{listed}");
}

#[test]
fn what_went_wrong_in_a_point_is_reported() {
    let traced = SMALL.replace(
        "kind = \"incast\"\nsenders = 4\nblock = \"100KB\"",
        "kind = \"trace\"\nfile = \"flows.csv\"\n[[workload]]\nkind = \"bulk\"",
    );
    let traced = traced.replace("\"50ms\"", "\"50ms\", when = \"time\"");
    let sweep = format!("{traced}[sweep.grid]\nend.at = [{LONG:?}, \"1ms\"]\n");
    let flows = "src,dst,bytes,start_s\n0,1,1000,0\n";
    let folder = Folder::new("changed", &[("s.toml", &sweep), ("flows.csv", flows)]);
    let child = folder.start(&["sweep", "s.toml", "--jobs", "1"]);
    until("the first point", || {
        let partial = |path: &PathBuf| path.to_string_lossy().ends_with(".partial");
        folder.left_behind("results").iter().any(partial)
    });
    folder.write("flows.csv", "src,dst,bytes,start_s\n0,1,2000,0\n");
    let output = child.wait_with_output().expect("it ends");
    let printed = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(
        printed.contains(
            "point 1 failed (at = 1ms):\n    `s.toml` or a file that it names has changed"
        ),
        "{printed}"
    );
    assert_eq!(folder.points("results").len(), 1);
}

#[test]
fn a_job_array_is_written_and_does_the_sweep() {
    let sweep = "extends = \"base.toml\"\n[sweep.grid]\n\"workload[0].senders\" = [1, 2, 3, 4]\n";
    let folder = Folder::new("slurm it's", &[("base.toml", SMALL), ("s.toml", sweep)]);
    let options = [
        "sweep",
        "s.toml",
        "--slurm",
        "--tasks",
        "3",
        "--at-once",
        "2",
        "--cpus",
        "2",
        "--time",
        "1:00:00",
        "--mem",
        "2G",
        "--partition",
        "short",
        "--account",
        "net",
        "--sbatch",
        "qos=low",
    ];
    let (shown, _) = folder.ends(0, &options);
    let script = folder.sweep("results").join("job.sbatch");
    assert!(shown.contains("sbatch ") && shown.contains("slotline collect "), "{shown}");
    assert!(folder.points("results").is_empty(), "nothing is run");
    let printed = fs::read_to_string(&script).expect("a script");
    for directive in [
        "array=0-2%2",
        "cpus-per-task=2",
        "time=1:00:00",
        "mem=2G",
        "partition=short",
        "account=net",
        "qos=low",
    ] {
        assert!(
            printed.contains(&format!("#SBATCH --{directive}\n")),
            "{directive} is not in\n{printed}"
        );
    }
    // Tasks as Slurm would start them, without Slurm.
    for task in ["0", "1", "2"] {
        let done = Command::new("bash")
            .arg(&script)
            .env("SLURM_ARRAY_TASK_ID", task)
            .current_dir("/")
            .output();
        let output = done.expect("bash");
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let (shown, _) =
        folder.ends(0, &["collect", folder.sweep("results").to_str().expect("a path")]);
    assert!(shown.starts_with("small: 4 of 4 points\n"), "{shown}");
    folder.ends(2, &["sweep", "s.toml", "--slurm", "--time", "1 hour"]);
}

#[test]
fn expectations_decide_how_a_run_and_a_sweep_end() {
    let expect = |least: u32| {
        format!(
            "{SMALL}\n[[expect]]\nmetric = \"completed\"\nat-least = {least}\nsource = \"a page\"\n"
        )
    };
    let folder = Folder::new("expectations", &[]);
    folder.write("met.toml", &expect(1));
    folder.write("unmet.toml", &expect(1_000_000));
    let (printed, _) = folder.ends(0, &["run", "met.toml", "--out", "a"]);
    assert!(printed.contains("Expectations: ") && !printed.contains("does not hold"), "{printed}");
    let (printed, _) = folder.ends(4, &["run", "unmet.toml", "--out", "b"]);
    assert!(
        printed.contains("at least 1000000") && printed.contains("does not hold  (a page)"),
        "{printed}"
    );
    let page =
        fs::read_to_string(entries(&folder.0.join("b")).remove(0).join("report.html")).unwrap();
    assert!(page.contains("Table of expectations") && page.contains("(a page)"));
    let sweep = "[sweep.grid]\nseed = [1, 2]\n";
    folder.write("sweep.toml", &format!("{}{sweep}", expect(1_000_000)));
    let (printed, _) = folder.ends(4, &["sweep", "sweep.toml", "--out", "c"]);
    assert!(printed.contains("seed = 2") && printed.contains("does not hold"), "{printed}");
}
