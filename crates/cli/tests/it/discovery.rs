//! Arbiters that discover a network of real hosts and switches by LLDP. If this machine cannot create hosts, or has no lldpd, the
//! test prints why and passes.

use crate::folder::Folder;
use crate::live::makes_hosts;
use crate::network::{Network, PATIENCE, entry};
use serde_json::Value;
use std::process::Command;
use std::time::{Duration, Instant};

/// Times that suit busy machines.
const SCENARIO: &str = "name = 'found'\nend.at = '1s'\nfabric = { kind = 'star', hosts = 3 }\n\
    [[workload]]\nkind = 'bulk'\nsenders = '1'\nreceivers = '0'\n\
    [[scheme]]\nname = 'fastpass'\n[scheme.control]\nkind = 'fastpass'\nsecondary = true\nslot = '500us'\nbatch = 4\n\
    lead = '2ms'\ngap = '100us'\ntimeout = '5ms'\nwatchdog-interval = '10ms'\nwatchdog-timeout = '100ms'\nreserve = 0.06\n";

/// The hosts, switches and arbiters, none of which has begun.
fn network(folder: Folder) -> Network {
    folder.write("fabric.toml", SCENARIO).write("discovery.sh", include_str!("discovery.sh"));
    let mut config = String::from(
        "scenario = 'fabric.toml'\nnetwork = ['10.1.0.0/24']\nagent.silence = '400ms'\nclock.guard = '20ms'\n\
         [discovery]\nrate = '100Mbps'\npatience = '60s'\n",
    );
    for (table, name, address) in [
        ("arbiter", "a0", "'10.1.0.10'"),
        ("arbiter", "a1", "'10.1.0.11'"),
        ("host", "h0", "['10.1.0.1']"),
        ("host", "h1", "['10.1.0.2']"),
        ("host", "h2", "['10.1.0.3']"),
        ("switch", "s0", "'10.1.0.20'"),
        ("switch", "s1", "'10.1.0.21'"),
    ] {
        config += &entry(&folder, table, name, address);
    }
    folder.write("network.toml", &config);
    Network::run(folder, "discovery.sh")
}

/// Whether an arbiter's network has so many cables, and has changed so often.
fn knows(cables: u64, changes: u64) -> impl Fn(&Value) -> bool {
    move |status| {
        let topology = &status["topology"];
        let counts = [&topology["cables"], &topology["changes"]].map(Value::as_u64);
        counts == [Some(cables), Some(changes)] && topology["missing"] == serde_json::json!([])
    }
}

#[test]
fn arbiters_discover_a_network_and_follow_its_cables() {
    let folder = Folder::new("discovery", &[]);
    if !makes_hosts(&folder) {
        return;
    }
    if Command::new("lldpd").arg("-v").output().is_err() {
        println!("skipped: this machine has no lldpd");
        return;
    }
    let network = network(folder);
    let arbiters = ["a0", "a1"];
    for name in ["h0", "h2", "s0", "s1"] {
        network.folder.write(&format!("{name}.start"), "");
    }
    // One host does not report, and the others wait for it.
    let lacks = ["h1 has not told its neighbours"];
    network.wait(&arbiters, "names the host that is missing", |status| {
        status["topology"]["missing"] == serde_json::json!(lacks)
    });
    let waits = |status: &Value| status["topology"]["known"] == false && status["active"] == false;
    assert!(arbiters.iter().all(|arbiter| waits(&network.status(arbiter))));
    assert!(network.status("h0")["obeys"].is_null());
    network.folder.write("h1.start", "");
    network.wait(&arbiters, "knows the network", knows(4, 0));
    network.wait(&["s0", "s1"], "tells its cables", |status| {
        status["arbiters"] == 2 && status["cables"].as_array().is_some_and(|of| of.len() > 1)
    });
    let hosts = ["h0", "h1", "h2"];
    network.wait(&hosts, "obeys", |status| status["obeys"].is_u64());

    // A host is moved to the other switch while packets of others are scheduled.
    network.folder.write("ping", "");
    network.wait(&["h0"], "sends", |status| status["scheduled"].as_u64() > Some(50));
    network.folder.write("move", "");
    network
        .wait(&arbiters, "follows the cable", |status| knows(4, 1)(status) || knows(4, 2)(status));
    network.wait(&hosts, "obeys again", |status| status["obeys"].is_u64());
    // The other arbiter takes over with the network that it has found itself.
    let obeyed = network.status("h0")["obeys"].as_u64().expect("an arbiter");
    network.folder.write("kill", &obeyed.to_string());
    network.wait(&hosts, "obeys the other one", |status| status["obeys"] == 1 - obeyed);
    let scheduled = network.status("h0")["scheduled"].as_u64();
    network.wait(&["h0"], "sends as scheduled", |status| {
        status["scheduled"].as_u64() > scheduled.map(|count| count + 50)
    });
    network.folder.write("stop", "");
    let since = Instant::now();
    while !network.folder.0.join("stopped").exists() && since.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(50));
    }
    let pings = network.folder.read("ping.txt");
    let number = |line: &str| line.split("icmp_seq=").nth(1)?.split(' ').next()?.parse().ok();
    let mut answered: Vec<u32> = pings.lines().filter_map(number).collect();
    answered.sort_unstable();
    // Those on their way at the end have no answer.
    assert!(answered.len() > 100, "{pings}");
    assert!(answered.windows(2).all(|pair| pair[1] == pair[0] + 1), "{pings}");
}
