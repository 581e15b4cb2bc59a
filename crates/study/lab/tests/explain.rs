//! Tests `explain`: whole texts, and estimates compared with real runs.

use slotline_lab::explain::{Machine, explain};
use slotline_lab::run::Jobs;
use slotline_scenario::{Loaded, Scenario};
use std::path::{Path, PathBuf};

const MACHINE: Machine = Machine { slower: 1.0, at_once: 2 };

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn repository(file: &str) -> Loaded {
    Scenario::load(&root().join("scenarios").join(file)).unwrap_or_else(|error| panic!("{error}"))
}

/// A scenario without the sweep and the expectations at its end.
fn without_sweep(file: &str) -> Loaded {
    let path = root().join("scenarios").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let single = text.split("\n[[sweep").next().unwrap_or_default();
    Scenario::parse(&path, single.into()).unwrap_or_else(|error| panic!("{error}"))
}

fn text(loaded: &Loaded) -> String {
    explain(loaded, MACHINE).unwrap_or_else(|error| panic!("{error}")).to_string()
}

/// A scenario that causes every warning.
const DOUBTFUL: &str = r#"name = "doubtful"
end = { at = "20ms" }

[fabric]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts-per-leaf = 4
host-rate = "100Gbps"
uplink-rate = "100Gbps"
delay = "10us"

[[workload]]
kind = "poisson"
load = 0.9
pairs = "inter-rack"
sizes = "100KB"

[[workload]]
kind = "bulk"
senders = "0"
receivers = "7"
size = "1GB"

[[scheme]]
name = "early"
transport = { kind = "dctcp", max-window = "100KB" }
queue = { kind = "ecn", limit = "100KB", threshold = "15KB", priorities = true, pfc = { classes = [0] } }

[[scheme]]
name = "red"
routing = "spray"
queue = { kind = "red", limit = "4MB", shared = { total = "8MB" } }

[[event]]
at = "5ms"
kind = "link-down"
link = "leaf0-spine0"
reroute-after = "1ms"

[[event]]
at = "6ms"
kind = "rate"
link = "leaf0-spine0"
rate = "40Gbps"

[measure]
ideal = false
sample = "100us"
"#;

#[test]
fn explanations_are_these() {
    let doubtful = Scenario::parse(Path::new("doubtful.toml"), DOUBTFUL.into());
    let all = [
        ("incast", repository("incast.toml")),
        ("websearch", repository("websearch.toml")),
        ("xco-4", without_sweep("reproduce/xco-4.toml")),
        ("doubtful", doubtful.unwrap_or_else(|error| panic!("{error}"))),
    ];
    let shown: String =
        all.iter().map(|(name, loaded)| format!("# {name}\n\n{}\n", text(loaded))).collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/explained.txt");
    let golden = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(shown, golden, "got:\n{shown}");
}

/// Controllers near the hosts can keep a guard time that one fabric manager cannot.
#[test]
fn guard_times_that_are_too_short_are_named() {
    let shown = |options: &str| {
        let scenario = format!(
            "name = \"slots\"\nend = {{ at = \"5ms\" }}\n\
             fabric = {{ kind = \"leaf-spine\", leaves = 20, spines = 2, hosts-per-leaf = 20 }}\n\
             [[workload]]\nkind = \"shuffle\"\nhosts = \"0-3\"\nsize = \"1KB\"\n\
             [[scheme]]\nname = \"tdma\"\ncontrol = {{ kind = \"tdma\"{options} }}\n"
        );
        let loaded = Scenario::parse(Path::new("slots.toml"), scenario);
        text(&loaded.unwrap_or_else(|error| panic!("{error}")))
    };
    assert!(shown("").contains("the guard time, 15 µs, is shorter"), "{}", shown(""));
    let near = shown(", controllers = \"per-switch\"");
    assert!(near.contains("fabric manager") && !near.contains("the guard time"), "{near}");
}

/// For scenarios that run in a moment, packet-hops are within a factor of two of the estimate.
#[test]
fn estimates_are_within_a_factor_of_two() {
    for file in ["incast.toml", "bench/perm128.toml"] {
        let mut loaded = repository(file);
        loaded.reseed(None, Some(1)).unwrap();
        let estimates = explain(&loaded, MACHINE).unwrap().estimates;
        let runs = Jobs::of(&loaded).run(&loaded, 2).unwrap();
        assert_eq!(runs.len(), estimates.len());
        for (run, estimate) in runs.iter().zip(&estimates) {
            assert_eq!(run.scheme, estimate.scheme);
            let ratio = estimate.hops / run.engine.packet_hops as f64;
            assert!((0.5..2.0).contains(&ratio), "{file} {}: {ratio}", run.scheme);
        }
    }
}
