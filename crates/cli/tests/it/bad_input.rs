//! The behaviour for invalid input and interrupts: a clear message, the right exit code, and no partial result.

use crate::folder::{BAD_INPUT, Folder, PROGRAM, entries, stderr, stdout, until};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

const INTERRUPTED: Option<i32> = Some(130);

/// A scenario that runs in a very short time.
const GOOD: &str = r#"name = "small"
end = { at = "50ms" }

[fabric]
kind = "star"
hosts = 5

[[workload]]
kind = "incast"
senders = 4
block = "100KB"

[[scheme]]
name = "tcp"

[[scheme]]
name = "dctcp"
transport = "dctcp"
queue = { kind = "ecn", threshold = "30KB" }

[[scheme]]
name = "xco"
control = { kind = "xco", slice = "1ms" }
"#;

impl Folder {
    /// `arguments` are refused with a message that has all of `parts`, and leave nothing behind.
    fn refuses(&self, title: &str, arguments: &[&str], parts: &[&str]) {
        let output = self.run(arguments);
        let printed = stderr(&output);
        assert_eq!(output.status.code(), Some(BAD_INPUT), "{title}: {printed}");
        assert!(output.stdout.is_empty(), "{title}: {}", stdout(&output));
        assert!(!printed.contains("panicked") && !printed.trim().is_empty(), "{title}: {printed}");
        for part in parts {
            assert!(printed.contains(part), "{title}: `{part}` is not in\n{printed}");
        }
        assert_eq!(self.results(), [] as [PathBuf; 0], "{title}");
    }
}

/// `GOOD` with `old` replaced.
fn with(old: &str, new: &str) -> String {
    assert!(GOOD.contains(old), "{old}");
    GOOD.replacen(old, new, 1)
}

#[test]
fn faults_in_a_scenario_name_file_and_line() {
    let cases = [
        ("unknown key", "hosts = 5", "hots = 5", "s.toml:6:1", "did you mean `hosts`?"),
        ("wrong unit", "\"100KB\"", "\"100us\"", "s.toml:11:9", "`100us`"),
        ("no unit", "\"50ms\"", "50", "s.toml:2:14", "\"10us\""),
        ("odd k", "\"star\"\nhosts = 5", "\"fat-tree\"\nk = 5", "s.toml:6:5", "even number"),
        (
            "load above 1",
            "kind = \"incast\"\nsenders = 4\nblock = \"100KB\"",
            "kind = \"poisson\"\nload = 1.5",
            "s.toml:10:8",
            "at most 1",
        ),
        ("mistyped transport", "\"dctcp\"\nqueue", "\"dctpc\"\nqueue", "s.toml:18:13", "`dctcp`?"),
        (
            "dctcp on a queue that never marks",
            "queue = { kind = \"ecn\", threshold = \"30KB\" }",
            "queue = \"drop-tail\"",
            "s.toml:19:9",
            "marks",
        ),
        (
            "two schemes of one name",
            "\"xco\"\ncontrol",
            "\"tcp\"\ncontrol",
            "s.toml:22:8",
            "`name`",
        ),
        ("not TOML", "hosts = 5", "hosts = = 5", "s.toml:6:9", "extra `=`"),
    ];
    for (title, old, new, place, part) in cases {
        let folder = Folder::new("scenario", &[("s.toml", &with(old, new))]);
        folder.refuses(title, &["run", "s.toml"], &[place, part]);
    }
}

#[test]
fn faults_in_a_trace_name_its_file_and_line() {
    let trace = |file: &str| {
        let workload = format!("kind = \"trace\"\nfile = \"{file}\"");
        with("kind = \"incast\"\nsenders = 4\nblock = \"100KB\"", &workload)
    };
    let cases = [
        ("an empty trace", "t.cm", "", "t.cm"),
        ("an empty table", "t.csv", "src,dst,bytes,start_s\n", "t.csv"),
        (
            "a truncated trace",
            "t.cm",
            "Nodes 5\nConnections 2\n0->1 id 1 start 0 size 1000\n",
            "t.cm",
        ),
        (
            "a line cut short",
            "t.cm",
            "Nodes 5\nConnections 2\n0->1 id 1 start 0 size 1000\n1->2 id 2 sta",
            "line 4",
        ),
        ("a line that is no flow", "t.csv", "src,dst,bytes,start_s\n0,1,x,0\n", "line 2"),
        ("a host that is not there", "t.csv", "src,dst,bytes,start_s\n0,9,10,0\n", "9"),
    ];
    for (title, file, content, part) in cases {
        let folder = Folder::new("trace", &[("s.toml", &trace(file))]);
        fs::write(folder.0.join(file), content).expect("a trace");
        folder.refuses(title, &["run", "s.toml"], &["s.toml:10:8", file, part]);
    }
    let folder = Folder::new("trace", &[("s.toml", &trace("none.cm"))]);
    folder.refuses("a missing trace", &["run", "s.toml"], &["s.toml:10:8", "none.cm"]);
}

#[test]
fn what_the_command_line_gets_wrong_is_said() {
    let folder = Folder::new("arguments", &[("s.toml", GOOD)]);
    folder.refuses("no such file", &["run", "no.toml"], &["cannot read `no.toml`"]);
    folder.refuses("a folder", &["run", "."], &["cannot read `.`"]);
    let flow = &["run", "s.toml", "--engine", "flow"];
    folder.refuses("queues for fluids", flow, &["s.toml:19", "queue", "no queues", "packet"]);
    folder.refuses("no engine", &["run", "s.toml", "--engine", "quantum"], &["packet"]);
    folder.refuses("no threads", &["run", "s.toml", "--threads", "0"], &["--threads"]);
    folder.refuses(
        "no repetition",
        &["run", "s.toml", "--repeat", "0"],
        &["0 is not in 1..=10000"],
    );
    for (what, wrong, right) in [
        ("links slower than a timeslot", "fastpass --rate 20Mbps", "at least 25Mbps"),
        ("a buffer without room", "xco --buffer 1KB", "at least 2KB"),
        ("a watchdog without a second arbiter", "fastpass --watchdog 1ms", "--kill primary"),
        ("a watchdog of nothing", "fastpass --kill primary --watchdog 1us", "500us to 1s"),
    ] {
        let words: Vec<&str> = ["demo"].into_iter().chain(wrong.split(' ')).collect();
        folder.refuses(what, &words, &[right]);
    }
    folder.refuses("a seed below zero", &["run", "s.toml", "--seed", "-1"], &["-1"]);
    folder.refuses("no file", &["run"], &["FILE"]);
    folder.refuses("no command", &["walk"], &["walk"]);
    folder.refuses("no kind", &["list", "switches"], &["topology"]);
}

#[test]
fn a_result_is_not_overwritten_unless_asked() {
    let folder = Folder::new("exists", &[("s.toml", GOOD)]);
    assert_eq!(folder.run(&["run", "s.toml"]).status.code(), Some(0));
    let [result] = &folder.results()[..] else { panic!("{:?}", folder.results()) };
    fs::write(result.join("mine"), "").expect("a file");
    let again = folder.run(&["run", "s.toml"]);
    assert_eq!(again.status.code(), Some(BAD_INPUT));
    let printed = stderr(&again);
    assert!(printed.contains("--force") && printed.contains("--out"), "{printed}");
    assert!(result.join("mine").exists() && folder.results().len() == 1);
    assert_eq!(folder.run(&["run", "s.toml", "--force"]).status.code(), Some(0));
    assert!(!result.join("mine").exists() && folder.results().len() == 1);
    fs::write(result.join("scenario.toml"), "something else").expect("a file");
    let foreign = folder.run(&["run", "s.toml", "--force"]);
    assert_eq!(foreign.status.code(), Some(BAD_INPUT), "{}", stderr(&foreign));
    assert!(stderr(&foreign).contains("is not replaced"), "{}", stderr(&foreign));
}

#[test]
fn an_output_folder_that_cannot_be_is_refused_before_the_work() {
    let folder = Folder::new("output", &[("s.toml", GOOD)]);
    folder.refuses(
        "below a file",
        &["run", "s.toml", "--out", "s.toml"],
        &["cannot write", "s.toml"],
    );
    if Path::new("/proc/self").exists() {
        let arguments = ["run", "s.toml", "--out", "/proc/slotline"];
        folder.refuses("a system's folder", &arguments, &["cannot write", "/proc/slotline"]);
    }
}

/// The files of a result exceed the allowed size. As on a full disk, some files can be written and the next one cannot.
#[test]
fn a_disk_that_takes_no_more_leaves_nothing() {
    let folder = Folder::new("full", &[("s.toml", GOOD)]);
    let script = format!("trap '' XFSZ; ulimit -f 2; exec {PROGRAM} run s.toml");
    let output = Command::new("sh").args(["-c", &script]).current_dir(&folder.0).output();
    let output = output.expect("a shell");
    let printed = stderr(&output);
    assert_eq!(output.status.code(), Some(BAD_INPUT), "{printed}");
    assert!(
        printed.contains("cannot write") && printed.contains("no result was stored"),
        "{printed}"
    );
    assert_eq!(folder.results(), [] as [PathBuf; 0]);
}

/// The same with a disk that is really full. This needs the right to mount.
#[test]
fn a_full_disk_leaves_nothing() {
    let folder = Folder::new("tmpfs", &[("s.toml", GOOD)]);
    let disk = folder.0.join("disk");
    fs::create_dir(&disk).expect("a folder");
    let mount = |program: &str, arguments: &[&str]| {
        let done = Command::new(program).args(arguments).arg(&disk).output();
        done.is_ok_and(|output| output.status.success())
    };
    if !mount("mount", &["-t", "tmpfs", "-o", "size=16k", "slotline"]) {
        eprintln!("skipped: no right to mount a small disk here");
        return;
    }
    let output = folder.run(&["run", "s.toml", "--out", "disk"]);
    let left = entries(&disk);
    assert!(mount("umount", &[]), "the disk stays mounted at {}", disk.display());
    assert_eq!(output.status.code(), Some(BAD_INPUT), "{}", stderr(&output));
    assert!(stderr(&output).contains("cannot write"), "{}", stderr(&output));
    assert_eq!(left, [] as [PathBuf; 0]);
}

/// The first scheme takes almost no time, because its window lets two packets through in a round trip of 10 ms. The
/// second scheme takes minutes.
const LONG: &str = r#"name = "long"
repeat = 2
end = { at = "100s", when = "time" }

[fabric]
kind = "star"
hosts = 2
rate = "100Gbps"
delay = "5ms"

[[workload]]
kind = "bulk"

[[scheme]]
name = "quick"
transport = { kind = "newreno", max-window = "3KB" }

[[scheme]]
name = "slow"
transport = { kind = "newreno", max-window = "80MB" }
"#;

/// Starts `folder`'s scenario and interrupts it when it has run for `time`.
fn interrupted(folder: &Folder, arguments: &[&str], time: Duration) -> Output {
    let mut child = folder.start(arguments);
    // The draft exists when the scenario has been read and the work begins.
    until("a draft", || !folder.results().is_empty());
    std::thread::sleep(time);
    let id = child.id().to_string();
    let sent = Command::new("sh").args(["-c", &format!("kill -INT {id}")]).status();
    assert!(sent.is_ok_and(|status| status.success()), "no signal sent");
    until("the end after an interrupt", || child.try_wait().expect("a child").is_some());
    child.wait_with_output().expect("its output")
}

#[test]
fn an_interrupt_keeps_what_is_complete() {
    let folder = Folder::new("interrupt", &[("s.toml", LONG)]);
    let arguments = ["run", "s.toml", "--threads", "1"];
    let output = interrupted(&folder, &arguments, Duration::from_secs(3));
    assert_eq!(output.status.code(), INTERRUPTED, "{}", stderr(&output));
    assert!(stdout(&output).contains("Incomplete: 1 of 4 runs"), "{}", stdout(&output));
    assert!(stderr(&output).contains("1 of 4 runs are stored"), "{}", stderr(&output));
    // No result has the final name. The next process continues.
    let [draft] = &folder.results()[..] else { panic!("{:?}", folder.results()) };
    assert!(draft.extension().is_some_and(|end| end == "partial"), "{}", draft.display());
    let output = interrupted(&folder, &["run", "s.toml", "--json"], Duration::from_secs(2));
    assert_eq!(output.status.code(), INTERRUPTED, "{}", stderr(&output));
    assert!(stderr(&output).contains("continuing from 1 of 4 runs"), "{}", stderr(&output));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(summary["complete"], false);
    assert!(summary["schemes"]["quick"]["runs"].as_u64() >= Some(1));
    assert_eq!(summary["schemes"]["slow"]["runs"], 0);
}

#[test]
fn an_interrupt_before_anything_is_complete_keeps_nothing() {
    let (quick, slow) = (LONG.find("[[scheme]]").expect("a scheme"), LONG.rfind("[[scheme]]"));
    let scenario = LONG[..quick].to_string() + &LONG[slow.expect("a scheme")..];
    let folder = Folder::new("interrupt-early", &[("s.toml", &scenario)]);
    let output = interrupted(&folder, &["run", "s.toml"], Duration::from_millis(300));
    assert_eq!(output.status.code(), INTERRUPTED, "{}", stderr(&output));
    assert!(stderr(&output).contains("nothing to save"), "{}", stderr(&output));
    assert_eq!(folder.results(), [] as [PathBuf; 0]);
}

#[test]
fn the_program_says_what_it_can_do() {
    let folder = Folder::new("about", &[("s.toml", GOOD)]);
    let about = folder.run(&[]);
    assert_eq!(about.status.code(), Some(0));
    let lines = stdout(&about).lines().count();
    assert!((5..=25).contains(&lines), "{}", stdout(&about));
    let list = stdout(&folder.run(&["list"]));
    for name in ["fat-tree", "incast", "websearch", "ecmp", "drop-tail", "dctcp", "xco"] {
        assert!(list.contains(&format!("\n  {name} ")), "{name}: {list}");
    }
    let controls = stdout(&folder.run(&["list", "control"]));
    assert!(controls.contains("xco") && !controls.contains("dctcp"), "{controls}");
}

#[test]
fn json_is_all_that_json_prints() {
    let folder = Folder::new("json", &[("s.toml", GOOD)]);
    let output = folder.run(&["run", "s.toml", "--json", "--repeat", "2"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let printed: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(printed["complete"], true);
    let fct = &printed["schemes"]["dctcp"]["metrics"]["fct-mean"];
    assert!(fct["mean"].is_f64() && fct["unit"] == "s" && fct["n"] == 2, "{fct}");
    for key in ["cpu_s", "wall_s", "events", "packet_hops", "peak_rss_bytes", "digest", "threads"] {
        assert!(!printed["engine"][key].is_null(), "{key}");
    }
    let kept = fs::read(folder.results()[0].join("summary.json")).expect("a summary");
    assert_eq!(String::from_utf8_lossy(&kept).trim_end(), stdout(&output).trim_end());
}
