//! Congestion controls that an emulation loads into the kernel. Where that is impossible, the tests print why and pass.

use crate::folder::{Folder, stderr};
use serde_json::Value;
use std::fs;
use std::time::{Duration, Instant};

/// Two senders of one rack to another, which has a circuit for 1.8 of every 6 ms. Queues never overflow, and a program
/// prints a window again and again.
const FABRIC: &str = r#"
name = "ramps"
end = { at = "60ms", when = "time" }

[fabric]
kind = "hybrid"
racks = 4
hosts-per-rack = 2
host-rate = "1Gbps"
packet = { rate = "100Mbps", delay = "5us" }
circuits = { rate = "400Mbps", delay = "30us", reconfiguration = "200us" }

[[workload]]
kind = "bulk"
senders = "0-1"
receivers = "2-3"

[[scheme]]
name = "one"
transport = { kind = "KIND", min-rto = "100ms" }
queue = { kind = "drop-tail", limit = "40MB" }
control = { kind = "circuits", day = "1800us" }
voq = { packets = 8000, mark-ahead = "200us" }

[[app]]
host = "h0"
run = "for i in $(seq 2000); do ss -Htin dst 10.77.0.3 | grep -o ' cwnd:[0-9]*'; done"
background = true
"#;

/// A folder with a scenario, unless this machine cannot load congestion controls.
fn folder(name: &str, scenario: &str) -> Option<Folder> {
    let folder = Folder::new(name, &[("s.toml", scenario)]);
    let probed = String::from_utf8_lossy(&folder.run(&["probe"]).stdout).into_owned();
    if probed.contains("yes  retcp") {
        return Some(folder);
    }
    println!("skipped: this machine cannot load congestion controls:\n{probed}");
    None
}

/// The windows of the first sender, in order.
fn windows(name: &str, scenario: &str) -> Option<Vec<f64>> {
    let folder = folder(name, scenario)?;
    let output = folder.run(&["emulate", "s.toml", "--accept-late", "--json", "--dilation", "50"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    assert_eq!(summary["schemes"]["one"]["metrics"]["drops"]["mean"], 0.0);
    let table = fs::read_to_string(folder.results()[0].join("apps.csv")).expect("a table");
    let number = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    Some(table.split("cwnd:").skip(1).filter_map(number).collect())
}

/// How often the window jumped up and down by nearly a factor of two between two lines.
fn jumps(windows: &[f64]) -> [usize; 2] {
    let steps = || windows.windows(2).map(|pair| pair[1] / pair[0]);
    [steps().filter(|step| *step > 1.7).count(), steps().filter(|step| *step < 0.6).count()]
}

/// The network tells the kernel of circuits by packets, by messages of racks, and by ECN-Echo.
#[test]
fn the_window_of_retcp_jumps_at_circuits() {
    let marks = "engine = { kind = \"emulate\", circuit-signal = \"ecn-echo\" }\nname =";
    for (name, from, to) in [
        ("ramps-packets", "", ""),
        ("ramps-messages", "voq = {", "voq = { notify = {}, "),
        ("ramps-marks", "name = \"ramps\"", &format!("{marks} \"ramps\"")),
    ] {
        let scenario = FABRIC.replace("KIND", "retcp").replacen(from, to, 1);
        let Some(windows) = windows(name, &scenario) else { return };
        let [up, down] = jumps(&windows);
        assert!(up >= 3 && down >= 3, "{name}: {windows:?}");
    }
}

#[test]
fn the_window_of_reno_does_not_jump() {
    let Some(windows) = windows("ramps-reno", &FABRIC.replace("KIND", "newreno")) else { return };
    assert!(windows.len() > 20 && windows.is_sorted(), "{windows:?}");
}

#[test]
fn a_killed_emulation_leaves_no_congestion_control() {
    let Some(folder) = folder("killed-congestion", &FABRIC.replace("KIND", "retcp")) else {
        return;
    };
    let available = || {
        fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").expect("a list")
    };
    let mut running = folder.start(&["emulate", "s.toml", "--stay", "--dilation", "50"]);
    let name = format!("retcp_{}", running.id());
    let until = |there: bool| {
        let patience = Instant::now();
        while available().split_whitespace().any(|one| one == name) != there {
            assert!(patience.elapsed() < Duration::from_secs(60), "{name}: {}", available());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    until(true);
    running.kill().and_then(|()| running.wait()).expect("it was killed");
    until(false);
}
