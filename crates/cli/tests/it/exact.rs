//! `slotline emulate --exact`: real hosts in a guest machine with virtual time. If this machine cannot run guests, the
//! tests that need one print why and pass.

use crate::folder::{BAD_INPUT, Folder, stderr};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const SCENARIO: &str = r#"
name = "repeated"
end = { at = "20s" }

[fabric]
kind = "star"
hosts = 4
rate = "100Mbps"
delay = "10us"

[[scheme]]
name = "dctcp"
transport = { kind = "dctcp" }
queue = { kind = "ecn", limit = "256KB", threshold = "30KB" }

[[workload]]
kind = "trace"
file = "flows.csv"

[[app]]
host = "h2"
run = "ping -c 3 -i 0.1 h3 && cat notes.txt && exit 7"
"#;

/// Two senders to one host, at once.
const FLOWS: &str = "src,dst,bytes,start_s\n0,3,300000,0\n1,3,300000,0\n2,3,20000,0.01\n";

fn folder(name: &str) -> Folder {
    Folder::new(name, &[("s.toml", SCENARIO), ("flows.csv", FLOWS), ("notes.txt", "a note\n")])
}

/// The folder, unless this machine lacks what guests need.
fn guest_folder(name: &str) -> Option<Folder> {
    let folder = folder(name);
    let probed = folder.run(&["probe"]);
    let text = String::from_utf8_lossy(&probed.stdout).into_owned();
    let line = text.lines().find(|line| line.contains("exact emulation")).expect("a line");
    if line.starts_with("yes") {
        return Some(folder);
    }
    println!("skipped: this machine cannot run a guest: {line}");
    None
}

fn emulated(folder: &Folder, out: &str) -> Output {
    let arguments = ["emulate", "s.toml", "--exact", "--dilation", "5", "--out", out];
    folder.run(&arguments)
}

/// A table without the columns of starts and ends, of which `first` is the first one, and these, in ps.
fn split_times(table: &str, first: usize) -> (String, Vec<i64>) {
    let mut times = Vec::new();
    let row = |line: &str| {
        let mut fields: Vec<&str> = line.splitn(first + 3, ',').collect();
        if fields.len() == first + 3 {
            times.extend(fields.drain(first..first + 2).flat_map(str::parse::<i64>));
        }
        fields.join(",") + "\n"
    };
    (table.lines().map(row).collect(), times)
}

/// The tables of the only result in a folder, and the starts and ends of its flows and programs.
fn tables(folder: &Folder, out: &str) -> ([String; 4], Vec<i64>) {
    let results = std::fs::read_dir(folder.0.join(out)).expect("results");
    let result = results.flatten().next().expect("a result").path();
    for file in ["report.html", "scenario.toml", "summary.json", "flows.parquet"] {
        assert!(result.join(file).is_file(), "{file}");
    }
    let table = |name: &str| std::fs::read_to_string(result.join(name)).expect("a table");
    let (flows, times) = split_times(&table("flows.csv"), 7);
    let (apps, times_of_apps) = split_times(&table("apps.csv"), 4);
    ([flows, table("ports.csv"), table("samples.csv"), apps], [times, times_of_apps].concat())
}

/// The same packets are sent in both runs, whatever else the machine does. Programs, which begin flows and see their ends, may be
/// some instructions apart.
#[test]
fn two_runs_in_a_guest_are_equal() {
    let Some(folder) = guest_folder("exact") else { return };
    let outputs = std::thread::scope(|scope| {
        let run = |out: &'static str| scope.spawn(|| emulated(&folder, out));
        ["a", "b"].map(run).map(|run| run.join().expect("it ran"))
    });
    for output in &outputs {
        assert!(output.status.success(), "{}", stderr(output));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("Emulation: valid") && text.contains("Results: "), "{text}");
    }
    let [(first, times), (second, others)] = ["a", "b"].map(|out| tables(&folder, out));
    assert_eq!(first[..3], second[..3]);
    let are_near = |(one, other): (&i64, &i64)| (one - other).abs() < 100_000;
    assert!(times.len() == 8 && times.len() == others.len(), "{times:?} {others:?}");
    assert!(times.iter().zip(&others).all(are_near), "{times:?} {others:?}");
    assert_eq!(first[0].lines().count(), 4, "{}", first[0]);
    let has_ping = Command::new("ping").arg("-V").output().is_ok();
    for apps in [&first[3], &second[3]] {
        assert!(apps.contains("a note") && apps.contains(",7,"), "{apps}");
        assert!(!has_ping || apps.contains("3 packets transmitted, 3 received"), "{apps}");
    }
    let again = emulated(&folder, "a");
    assert!(stderr(&again).contains("already holds a result"), "{}", stderr(&again));
}

/// The guest's kernel has what this machine's may lack.
#[test]
fn a_guest_says_what_it_has() {
    let Some(folder) = guest_folder("exact-probe") else { return };
    let output = folder.run(&["probe", "--exact"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for feature in ["gate `queue`", "gate `xdp`", "packets leave at given times"] {
        let line = text.lines().find(|line| line.contains(feature));
        assert!(line.is_some_and(|line| line.starts_with("yes")), "{feature}: {text}");
    }
}

#[test]
fn a_guest_that_takes_too_long_is_ended() {
    let Some(folder) = guest_folder("exact-hangs") else { return };
    let began = Instant::now();
    let output = folder.run(&["emulate", "s.toml", "--exact", "--exact-timeout", "100ms"]);
    assert_eq!(output.status.code(), Some(BAD_INPUT));
    assert!(stderr(&output).contains("raise --exact-timeout"), "{}", stderr(&output));
    assert!(began.elapsed() < Duration::from_secs(60));
    assert!(folder.results().is_empty());
}

/// Ctrl-C and a kill both end QEMU.
#[test]
fn nothing_remains_of_a_stopped_guest() {
    let Some(folder) = guest_folder("exact-stopped") else { return };
    for (signal, exit) in [("-INT", Some(130)), ("-KILL", None)] {
        let mut command = folder.command(&["emulate", "s.toml", "--exact"]);
        let mut running = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let guest = qemu_of(running.id());
        let sent = Command::new("kill").args([signal, &running.id().to_string()]).status();
        assert!(sent.expect("kill").success());
        assert_eq!(running.wait().expect("it ends").code(), exit);
        let patience = Instant::now();
        while is_running(guest) {
            assert!(patience.elapsed() < Duration::from_secs(10), "QEMU still runs");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The number of the process with QEMU that `process` starts.
fn qemu_of(process: u32) -> u32 {
    let patience = Instant::now();
    loop {
        let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
        let children = tasks
            .flatten()
            .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
            .collect::<String>();
        let ids = children.split_whitespace().filter_map(|id| id.parse().ok());
        if let Some(qemu) = ids.into_iter().find(|&id| is_running(id)) {
            return qemu;
        }
        assert!(patience.elapsed() < Duration::from_secs(60), "no QEMU");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn is_running(process: u32) -> bool {
    let name = std::fs::read_to_string(Path::new("/proc").join(process.to_string()).join("comm"));
    name.is_ok_and(|name| name.starts_with("qemu"))
}

#[test]
fn what_a_guest_lacks_is_named() {
    let folder = folder("exact-missing");
    let refused = |variables: &[(&str, &str)], arguments: &[&str], why: &str| {
        let mut command = folder.command(&[&["emulate", "s.toml"], arguments].concat());
        let output = command.envs(variables.iter().copied()).output().expect("it starts");
        assert_eq!(output.status.code(), Some(BAD_INPUT), "{why}");
        assert!(stderr(&output).contains(why), "{why}: {}", stderr(&output));
    };
    refused(&[("PATH", "/none")], &["--exact"], "sudo apt install qemu-system-x86");
    refused(&[], &["--exact", "--stay"], "cannot be used with");
    refused(&[], &["--exact", "--calibrate"], "cannot be used with");
    folder.write(
        "s.toml",
        &format!("engine = {{ kind = \"emulate\", exact = true, stay = true }}{SCENARIO}"),
    );
    refused(&[], &[], "`stay`: nothing outside can reach");
    folder.write("s.toml", SCENARIO);
    if guest_folder("exact-kernel").is_some() {
        refused(&[("SLOTLINE_KERNEL", "/none")], &["--exact"], "linux-image-cloud-amd64");
    }
}
