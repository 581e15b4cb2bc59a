//! `slotline emulate` with real hosts, as users call it. If this machine cannot create hosts, the tests print why and
//! pass.

use crate::folder::{BAD_INPUT, Folder, stderr};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PLAIN: &str = r#"
name = "plain"
end = { at = "10s" }

[fabric]
kind = "star"
hosts = 4
rate = "1Gbps"
delay = "10us"

[[scheme]]
name = "reno"
transport = { kind = "newreno", min-rto = "10ms" }
"#;

const INCAST: &str = r#"
[[workload]]
kind = "incast"
block = "1MB"
blocks = 2
request = "100B"
"#;

const PROGRAMS: &str = r#"
[[app]]
host = "h1"
run = "iperf3 -s"
background = true

[[app]]
host = "h0"
run = "iperf3 -c h1 -n 20M --json"
at = "200ms"

[[app]]
host = "h2"
run = "ping -c 3 -i 0.1 h3"

[[app]]
host = "h3"
run = "exit 7"
"#;

/// A folder with a scenario, unless this machine lacks what emulation needs.
fn folder(name: &str, scenario: &[&str]) -> Option<Folder> {
    let folder = Folder::new(name, &[("s.toml", &scenario.concat())]);
    let probed = folder.run(&["probe"]);
    if probed.status.success() {
        return Some(folder);
    }
    println!("skipped: this machine cannot emulate:\n{}", String::from_utf8_lossy(&probed.stdout));
    None
}

/// The summary of an emulation, however late the machine was.
fn emulated(folder: &Folder, more: &[&str]) -> Value {
    let fixed = ["emulate", "s.toml", "--accept-late", "--json", "--dilation", "10"];
    let output = folder.run(&[&fixed, more].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("a summary")
}

fn metric(summary: &Value, key: &str) -> f64 {
    let value = &summary["schemes"]["reno"]["metrics"][key]["mean"];
    value.as_f64().unwrap_or_else(|| panic!("{key}: {summary}"))
}

/// Real TCP over the modelled network behaves like simulated TCP. The tolerance is wide, because machines may be busy.
#[test]
fn a_workload_over_real_sockets_does_as_in_simulation() {
    let Some(folder) = folder("replay", &[PLAIN, INCAST]) else { return };
    for gate in ["queue", "interface"] {
        let real = emulated(&folder, &["--gate", gate, "--force"]);
        let output = folder.run(&["run", "s.toml", "--json", "--force"]);
        let simulated: Value = serde_json::from_slice(&output.stdout).expect("a summary");
        assert_eq!(real["engine"]["conserved"], true);
        assert_eq!(real["engine"]["emulation"]["dilation"], 10.0);
        let key = "completed";
        assert_eq!(metric(&real, key), metric(&simulated, key), "all flows end");
        let ratio = metric(&real, "fct-mean") / metric(&simulated, "fct-mean");
        assert!((0.6..2.0).contains(&ratio), "{gate}: {ratio}");
    }
}

#[test]
fn schedulers_lose_nothing_with_real_senders() {
    let Some(folder) = folder("schedulers", &[PLAIN, INCAST]) else { return };
    for control in ["fastpass", "tdma", "xco"] {
        let scheme = format!("control = {{ kind = \"{control}\", scale = \"auto\" }}\n");
        folder.write("s.toml", &[PLAIN, &scheme, INCAST].concat());
        let summary = emulated(&folder, &["--force"]);
        assert_eq!(summary["engine"]["conserved"], true, "{control}");
        assert_eq!(metric(&summary, "completed"), 12.0, "{control}");
        assert_eq!(metric(&summary, "drops"), 0.0, "{control}");
    }
}

/// A probe is answered when it arrives. There and back are four links of a millisecond; an answer that did not wait for its
/// request would take two. A request that begins late takes a little less.
#[test]
fn answers_wait_for_their_requests() {
    let plain = PLAIN.replace("10us", "1ms").replace("10s", "100ms");
    let probe = "[[workload]]\nkind = \"probe\"\nclients = \"0\"\nservers = \"1\"\n";
    let Some(folder) = folder("answers", &[&plain, probe]) else { return };
    let took = metric(&emulated(&folder, &[]), "qct-mean");
    assert!(took >= 0.003, "{took}");
}

/// Real hosts have the shaper of their transport. 64 KB, the longest burst of a host, may pass it at once.
#[test]
fn a_shaper_limits_real_hosts() {
    let plain = PLAIN.replace("10s", "200ms\", when = \"time");
    let shaped = plain.replace("min-rto", "shaper = \"100Mbps\", min-rto");
    let bulk = "[[workload]]\nkind = \"bulk\"\nsenders = \"0\"\nreceivers = \"1\"\n";
    let Some(folder) = folder("shaper", &[&shaped, bulk]) else { return };
    let goodput = metric(&emulated(&folder, &[]), "goodput");
    assert!((50e6..98e6).contains(&goodput), "{goodput}");
}

/// Senders of datagrams of several packets wait for room in the card, so none is lost outside of the network.
#[test]
fn long_datagrams_wait_for_the_card() {
    let plain = PLAIN.replace("10s", "200ms\", when = \"time");
    let stream = "[[workload]]\nkind = \"udp\"\nsenders = \"0\"\nreceivers = \"1\"\nrate = \"line\"\nmessage = \"64KB\"\n";
    let Some(folder) = folder("datagrams", &[&plain, stream]) else { return };
    let summary = emulated(&folder, &[]);
    assert_eq!(summary["engine"]["emulation"]["lost_outside"], 0, "{summary}");
    assert!(metric(&summary, "goodput") > 5e8, "{summary}");
}

const SWITCHES: &str = r#"
name = "switches"
end = { at = "1500ms", when = "time" }
engine = { kind = "emulate", switches = "open-vswitch", dilation = 2 }

[fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts-per-leaf = 2
host-rate = "4Mbps"
uplink-rate = "4Mbps"

[[workload]]
kind = "stride"
by = 2
size = "100KB"
duration = "1s"

[[scheme]]
name = "reno"
control = { kind = "hedera", poll = "100ms", gather = "1ms", computing = "1ms", install = "0s" }
"#;

/// Whether this machine has Open vSwitch; if not, says that a test is skipped.
fn has_open_vswitch(folder: &Folder) -> bool {
    let probed = folder.run(&["probe"]);
    let probed = String::from_utf8_lossy(&probed.stdout).into_owned();
    let is_there = |line: &str| line.starts_with("yes") && line.contains("Open vSwitch");
    let found = probed.lines().any(is_there);
    if !found {
        println!("skipped: this machine has no Open vSwitch:\n{probed}");
    }
    found
}

/// Open vSwitch forwards what hosts send, its counts of flows reach the scheduler, and what that decides is installed.
/// Nothing leaves faster than links are.
#[test]
fn real_switches_follow_the_scheduler() {
    let Some(folder) = folder("emulate-switches", &[SWITCHES]) else { return };
    if !has_open_vswitch(&folder) {
        return;
    }
    let output = folder.run(&["emulate", "s.toml", "--accept-late", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    assert_eq!(summary["engine"]["emulation"]["gate"], "open-vswitch");
    assert_eq!(summary["engine"]["emulation"]["lost_outside"], 0);
    let goodput = metric(&summary, "goodput");
    assert!((2e6..16e6).contains(&goodput), "{goodput}: four links of 4 Mbit/s");
    let decisions = &summary["schemes"]["reno"]["control"]["flow-decisions"];
    assert!(decisions.as_f64().is_some_and(|count| count > 0.0), "{summary}");
}

/// While both links of a leaf are down nothing passes, and what switches drop there is counted, also after routes have
/// changed. A link that is down alone is
/// avoided once routes have changed.
#[test]
fn real_switches_fail() {
    let down = |at: &str, link: &str| {
        format!(
            "[[event]]\nkind = \"link-down\"\nat = \"{at}\"\nlink = \"{link}\"\nreroute-after = \"50ms\"\n"
        )
    };
    let events = [
        down("300ms", "leaf0-spine0"),
        down("600ms", "leaf0-spine1"),
        down("700ms", "h3-leaf1"),
        "[[event]]\nkind = \"switch-up\"\nat = \"900ms\"\nswitch = \"leaf0\"\n".into(),
        "[[event]]\nkind = \"link-up\"\nat = \"900ms\"\nlink = \"h3-leaf1\"\n".into(),
        "[[event]]\nkind = \"rate\"\nat = \"900ms\"\nlink = \"leaf0-spine0\"\nrate = \"2Mbps\"\n"
            .into(),
    ];
    let Some(folder) = folder("emulate-failures", &[SWITCHES, &events.concat()]) else { return };
    if !has_open_vswitch(&folder) {
        return;
    }
    let output = folder.run(&["emulate", "s.toml", "--accept-late", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    assert_eq!(summary["engine"]["emulation"]["lost_outside"], 0);
    for why in ["link_down", "no_route"] {
        let dropped = summary["engine"]["dropped"][why].as_u64();
        assert!(dropped.is_some_and(|count| count > 0), "{why}: {summary}");
    }
    let flows = std::fs::read_to_string(folder.results()[0].join("flows.csv")).expect("flows");
    let ends = flows.lines().skip(1).filter_map(|line| line.split(',').nth(8)?.parse::<u64>().ok());
    let ends: Vec<u64> = ends.filter(|end| *end > 0).map(|end| end / 1_000_000_000).collect();
    let between = |from, to| ends.iter().filter(|end| (from..to).contains(*end)).count();
    assert!(between(380, 600) > 0, "the other link is used: {ends:?}");
    assert_eq!(between(650, 900), 0, "no link is left: {ends:?}");
    assert!(between(900, 1500) > 0, "links work again: {ends:?}");
}

/// What leaves ports of real switches and of hosts is captured, queues are sampled, and both agree with the ports' counts.
#[test]
fn real_switches_are_observed() {
    let measure = "[measure]\nsample = \"5ms\"\ncapture = [\"h0-leaf0\", \"leaf0-h0\"]\n";
    let slow = SWITCHES.replace("uplink-rate = \"4Mbps\"", "uplink-rate = \"2Mbps\"");
    let Some(folder) = folder("emulate-observed", &[&slow, measure]) else { return };
    if !has_open_vswitch(&folder) {
        return;
    }
    let own = folder.0.join("run");
    let command = |arguments: &[&str]| {
        let mut command = folder.command(arguments);
        command.env("SLOTLINE_RUN_DIR", &own).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("it starts")
    };
    let running = command(&["emulate", "s.toml", "--accept-late", "--dilation", "4"]);
    let mut top = String::new();
    let patience = Instant::now();
    while !top.contains("leaf0-spine") && patience.elapsed() < Duration::from_secs(60) {
        let shown = command(&["top", "--once"]).wait_with_output().expect("it ends");
        top = String::from_utf8_lossy(&shown.stdout).into_owned();
    }
    let output = running.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(top.contains("switches, reno: ") && top.contains("packets entered"), "{top}");
    let rates = top.lines().filter(|line| line.contains("leaf0-spine"));
    let rates: Vec<f64> =
        rates.filter_map(|line| line.split_whitespace().nth(1)?.parse().ok()).collect();
    assert!(rates.iter().any(|rate| (0.2..2.2).contains(rate)), "a link has 2 Mbit/s: {top}");
    let result = &folder.results()[0];
    let table = |name: &str| {
        let text = std::fs::read_to_string(result.join(name)).expect("a table");
        let rows = text.lines().skip(1).map(|row| row.split(',').map(str::to_owned).collect());
        rows.collect::<Vec<Vec<String>>>()
    };
    let number = |row: &Vec<String>, column: usize| row[column].parse::<u64>().expect("a number");
    let (ports, samples) = (table("ports.csv"), table("samples.csv"));
    let port = |node: &str, port: &str| {
        let found = ports.iter().find(|row| row[2] == node && row[3] == port);
        found.expect("a port")
    };
    let of_leaf: Vec<_> =
        samples.iter().filter(|row| row[3] == "leaf0" && row[4] == "h0").collect();
    assert!((100..300).contains(&of_leaf.len()), "{} of 299 samples", of_leaf.len());
    let sent: Vec<u64> = of_leaf.iter().map(|row| number(row, 6)).collect();
    assert!(
        sent.is_sorted() && sent.last().is_some_and(|last| *last <= number(port("leaf0", "h0"), 6))
    );
    let longest = samples.iter().map(|row| number(row, 5)).max().expect("samples");
    assert!((1_000..=128_000).contains(&longest), "{longest} bytes wait at an uplink");
    assert_eq!(ports.iter().map(|row| number(row, 9)).max(), Some(longest));
    let file = folder.0.join("captured.pcapng");
    let names = [result, &file].map(|path| path.to_str().expect("a name"));
    let export = folder.run(&["export", "pcapng", names[0], "-o", names[1]]);
    assert!(export.status.success(), "{}", stderr(&export));
    let [sent, received] = [0, 1].map(|interface| addresses(&file, interface));
    let h0 = [10, 77, 0, 1];
    assert!(sent.iter().all(|(src, _)| *src == h0) && received.iter().all(|(_, dst)| *dst == h0));
    for (captured, port) in [(sent, port("h0", "leaf0")), (received, port("leaf0", "h0"))] {
        let (captured, counted) = (captured.len() as u64, number(port, 5));
        assert!(counted > 50 && captured.abs_diff(counted) < 10, "{captured} {counted}");
    }
}

/// The source and the destination of each packet at an interface of a capture.
fn addresses(file: &Path, interface: u32) -> Vec<([u8; 4], [u8; 4])> {
    let bytes = std::fs::read(file).expect("a capture");
    let word = |at: usize| bytes.get(at..)?.first_chunk().map(|four| u32::from_le_bytes(*four));
    let address = |at: usize| *bytes[at..].first_chunk().expect("an IP header");
    let (mut at, mut found) = (0, Vec::new());
    while let (Some(kind), Some(length)) = (word(at), word(at + 4)) {
        // A packet's block has 28 bytes before the packet, which has 14 bytes before its IP header.
        if kind == 6 && word(at + 8) == Some(interface) {
            found.push((address(at + 28 + 14 + 12), address(at + 28 + 14 + 16)));
        }
        at += length as usize;
    }
    found
}

#[test]
fn programs_run_on_hosts() {
    let capture = "[measure]\ncapture = [\"h2-s0\"]\n";
    let Some(folder) = folder("programs", &[PLAIN, PROGRAMS, capture]) else { return };
    emulated(&folder, &[]);
    let results = folder.results();
    let table = std::fs::read_to_string(results[0].join("apps.csv")).expect("a table of programs");
    assert!(table.contains("exit 7") && table.contains(",7,"), "{table}");
    let installed = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if installed("iperf3") {
        let rate = table
            .split("bits_per_second")
            .nth(1)
            .and_then(|rest| rest.split([':', ',']).nth(1)?.trim().parse::<f64>().ok());
        let rate = rate.unwrap_or_else(|| panic!("{table}"));
        assert!((5e7..1.2e9).contains(&rate), "a rate in network time: {rate}");
    } else {
        println!("skipped: no iperf3");
    }
    if Command::new("ping").arg("-V").output().is_ok() {
        assert!(table.contains("3 packets transmitted, 3 received"), "{table}");
        assert_eq!(captured_pings(&folder, &results[0]), 3);
    } else {
        println!("skipped: no ping");
    }
}

/// The last output of a program may be in its pipe when the program has ended.
#[test]
fn output_is_awaited_after_a_program_has_ended() {
    let app = "[[app]]\nhost = \"h0\"\nrun = \"(sleep 0.01; echo last) & echo first\"\n";
    let Some(folder) = folder("output", &[PLAIN, app]) else { return };
    emulated(&folder, &[]);
    let table = std::fs::read_to_string(folder.results()[0].join("apps.csv"));
    let table = table.expect("a table of programs");
    assert!(table.contains("first\nlast"), "{table}");
}

/// In virtual time a program without the C library's clock is refused, and the others run.
#[test]
fn a_program_that_would_have_real_time_is_refused() {
    let app = |run: &str| format!("[[app]]\nhost = \"h0\"\nrun = \"{run}\"\n");
    let programs = [app("sleep 0.01; ./static"), app("echo works")].concat();
    let Some(folder) = folder("refused", &[PLAIN, &programs]) else { return };
    folder.write("one.c", "int main(void) { return 0; }");
    let mut compiler = Command::new("cc");
    let compiler = compiler.current_dir(&folder.0).args(["-static", "one.c", "-o", "static"]);
    if !compiler.output().is_ok_and(|done| done.status.success()) {
        return println!("skipped: no static program can be built here");
    }
    emulated(&folder, &[]);
    let results = folder.results();
    let table = std::fs::read_to_string(results[0].join("apps.csv")).expect("a table of programs");
    let why = "slotline: ./static: statically linked, so it would have real time";
    assert!(table.contains(why) && table.contains(",126,"), "{table}");
    assert!(table.contains("works\n"), "{table}");
}

/// The captured packets from h2 to h3 with the protocol ICMP. They have a checksum, so they are real ones.
fn captured_pings(folder: &Folder, result: &Path) -> usize {
    let file = folder.0.join("h2.pcapng");
    let [result, file] = [result, &file].map(|path| path.to_str().expect("a name"));
    let output = folder.run(&["export", "pcapng", result, "-o", file]);
    assert!(output.status.success(), "{}", stderr(&output));
    let bytes = std::fs::read(file).expect("a capture");
    // Behind the header's checksum: the addresses 10.77.0.3 and 10.77.0.4, and an echo request.
    let is_ping = |at: &[u8]| {
        at[0] == 1 && at[1..3] != [0, 0] && at[3..11] == [10, 77, 0, 3, 10, 77, 0, 4] && at[11] == 8
    };
    bytes.windows(12).filter(|at| is_ping(at)).count()
}

/// A killed emulation leaves no process and no interface. `exec` works before, and prints the state afterwards.
#[test]
fn nothing_remains_of_a_killed_emulation() {
    let Some(folder) = folder("killed", &[PLAIN, INCAST]) else { return };
    let own = folder.0.join("run");
    let links = || Command::new("ip").args(["-o", "link"]).output().expect("ip").stdout.len();
    let before = links();
    let command = |arguments: &[&str]| {
        let mut command = folder.command(arguments);
        command.env("SLOTLINE_RUN_DIR", &own);
        command
    };
    let mut running = command(&["emulate", "s.toml", "--stay"]).spawn().expect("it starts");
    let exec = |program: &[&str]| {
        command(&[&["exec", "h2", "--"], program].concat()).output().expect("it starts")
    };
    let patience = Instant::now();
    while !exec(&["true"]).status.success() {
        assert!(patience.elapsed() < Duration::from_secs(30), "{}", stderr(&exec(&["true"])));
        std::thread::sleep(Duration::from_millis(100));
    }
    let shown = exec(&["ip", "-o", "-4", "address"]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("10.77.0.3/16"), "{shown:?}");
    assert_eq!(exec(&["sh", "-c", "exit 9"]).status.code(), Some(9));
    assert_eq!(links(), before, "nothing of it is in the namespace of the user");
    let top = command(&["top", "--once"]).output().expect("it starts");
    let text = String::from_utf8_lossy(&top.stdout);
    assert!(text.contains("plain, reno: ") && text.contains("packets entered"), "{top:?}");
    running.kill().and_then(|()| running.wait()).expect("it was killed");
    let gone = || stderr(&exec(&["true"])).contains("no emulation runs");
    let patience = Instant::now();
    while !gone() {
        assert!(patience.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(std::fs::read_dir(&own).expect("the folder").count(), 0);
}

/// Also while the second of its engines runs.
#[test]
fn a_comparison_ends_when_it_is_told_to() {
    let Some(folder) = folder("stopped", &[PLAIN, INCAST]) else { return };
    let own = folder.0.join("run");
    let command = |arguments: &[&str]| {
        let mut command = folder.command(arguments);
        command.env("SLOTLINE_RUN_DIR", &own);
        command
    };
    let compare = ["crosscheck", "s.toml", "--engines", "packet,emulate", "--dilation", "10000"];
    let mut running = command(&compare).spawn().expect("it starts");
    let within = |seconds: u64, done: &mut dyn FnMut() -> bool| {
        let patience = Instant::now();
        while !done() {
            assert!(patience.elapsed() < Duration::from_secs(seconds));
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    let mut emulates =
        || command(&["exec", "h2", "--", "true"]).output().expect("it starts").status.success();
    within(30, &mut emulates);
    let id = running.id().to_string();
    Command::new("kill").args(["-TERM", &id]).status().expect("kill");
    let mut code = None;
    within(10, &mut || {
        code = running.try_wait().expect("it is a child");
        code.is_some()
    });
    assert_eq!(code.and_then(|code| code.code()), Some(130));
}

#[test]
fn a_dilation_is_proposed_for_this_machine() {
    let Some(folder) = folder("calibrate", &[PLAIN, INCAST]) else { return };
    let output = folder.run(&["emulate", "s.toml", "--calibrate"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let found = output.status.success();
    assert!(found || output.status.code() == Some(3), "{}", stderr(&output));
    assert_eq!(text.contains("This machine keeps up with --dilation "), found, "{text}");
    assert!(folder.results().is_empty());
}

/// The paper, the simulation and real hosts, in one table.
#[test]
fn an_experiment_is_reproduced_with_real_hosts() {
    let Some(folder) = folder("reproduce", &[PLAIN, INCAST]) else { return };
    let run = |id: &str| {
        let fixed = ["--engine", "emulate", "--dilation", "20", "--end", "20ms", "--accept-late"];
        folder.run(&[&["reproduce", id, "--json"], &fixed[..]].concat())
    };
    let output = run("xco-9");
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(rows.len() > 2 && rows.iter().all(|row| row["emulated"].is_number()), "{text}");
    let page = folder.0.join("results/reproduce/xco-9/report.html");
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("Emulated") && page.contains("dilation 20"));
    assert!(stderr(&run("ft-1")).contains("nothing to emulate"));
}

#[test]
fn two_emulations_side_by_side() {
    let Some(folder) = folder("side-by-side", &[PLAIN, INCAST]) else { return };
    let arguments = |out| ["emulate", "s.toml", "--accept-late", "--dilation", "10", "--out", out];
    let both = ["a", "b"].map(|out| folder.start(&arguments(out)));
    for one in both {
        let output = one.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", stderr(&output));
    }
}

#[test]
fn what_cannot_be_emulated_is_refused() {
    let refused = |scenario: &str, arguments: &[&str], why: &str| {
        let folder = Folder::new("refused", &[("s.toml", scenario)]);
        let output = folder.run(arguments);
        assert_eq!(output.status.code(), Some(BAD_INPUT), "{why}");
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    };
    let emulate = ["emulate", "s.toml"];
    let all = [PLAIN, INCAST].concat();
    refused(&all.replace("newreno", "swift"), &emulate, "transport");
    refused(
        &all,
        &["emulate", "s.toml", "--dilation", "0.5"],
        "`dilation` = 0.5: from 1 to 100000",
    );
    refused(&format!("{PLAIN}{PROGRAMS}").replace("h3\"", "h4\""), &emulate, "no host `h4`");
    refused(PLAIN, &emulate, "no traffic");
    refused(&format!("{PLAIN}{PROGRAMS}"), &["run", "s.toml"], "use `slotline emulate s.toml`");
    let engine = all.replace("end =", "engine = \"emulate\"\nend =");
    refused(&engine, &["run", "s.toml"], "use `slotline emulate s.toml`");
    refused(&format!("{all}[measure]\nwhy = true\n"), &emulate, "followed only in simulation");
}
