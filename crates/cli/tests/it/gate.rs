//! Agents of real hosts with each gate: what passes while an agent hangs, is killed, and runs again. If this machine cannot create
//! hosts, the test prints why and passes.

use crate::folder::Folder;
use crate::live::makes_hosts;
use crate::network::{Network, PATIENCE, entry};
use serde_json::Value;
use std::fs::OpenOptions;
use std::io::Write;
use std::time::{Duration, Instant};

/// Times that suit busy machines.
const SCENARIO: &str = "name = 'pair'\nend.at = '1s'\nfabric = { kind = 'star', hosts = 2, rate = '200Mbps' }\n\
    [[workload]]\nkind = 'bulk'\nsenders = '1'\nreceivers = '0'\n\
    [[scheme]]\nname = 'fastpass'\n[scheme.control]\nkind = 'fastpass'\nslot = '500us'\nbatch = 4\n\
    lead = '2ms'\ngap = '100us'\ntimeout = '5ms'\nreserve = 0.06\n\
    [[scheme]]\nname = 'tdma'\ncontrol = { kind = 'tdma', scale = 'auto' }\n";
/// The time for which an agent hangs, or is missing, and the longest time without an answer meanwhile where its gate opens.
const ABSENCE: Duration = Duration::from_secs(1);
const OPENS: f64 = 0.1;

/// Two hosts whose agents obey.
fn network(name: &str, gate: &str, scheme: &str) -> Network {
    let folder = Folder::new(name, &[]);
    folder.write("fabric.toml", SCENARIO).write("gate.sh", include_str!("gate.sh"));
    let mut config = format!(
        "scenario = 'fabric.toml'\nscheme = '{scheme}'\nnetwork = ['10.1.0.0/24', 'fd01::/64']\nclock.guard = '20ms'\n\
         agent = {{ gate = '{gate}', silence = '400ms', exempt-ports = [5201], exempt-below = 60 }}\n"
    );
    config += &entry(&folder, "arbiter", "a0", "'10.1.0.10'");
    config += &entry(&folder, "host", "h0", "['10.1.0.1', 'fd01::1']");
    config += &entry(&folder, "host", "h1", "['10.1.0.2', 'fd01::2']");
    folder.write("network.toml", &config);
    let network = Network::run(folder, "gate.sh");
    network.wait(&["h0"], "obeys", |status| status["obeys"] == 0 && status["gate"] == gate);
    network.wait(&["h1"], "obeys", |status| status["obeys"] == 0);
    network
}

impl Network {
    /// Carries out a line of the shell in the namespaces, and waits until it is done.
    fn order(&self, line: &str) {
        let (done, since) = (self.folder.0.join("done"), Instant::now());
        drop(std::fs::remove_file(&done));
        while !self.folder.0.join("orders").exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut orders =
            OpenOptions::new().write(true).open(self.folder.0.join("orders")).expect("a pipe");
        writeln!(orders, "{line}; touch done").expect("the shell reads");
        while !done.exists() {
            assert!(since.elapsed() < PATIENCE, "{line}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// What a command prints on a host.
    fn told(&self, command: &str) -> String {
        self.order(&format!("ip netns exec h0 {command} > told 2>&1"));
        self.folder.read("told")
    }

    /// The longest time without an answer, in seconds, while pings leave every five milliseconds, and something happens to the
    /// agent for some time.
    fn longest_silence(&self, begin: &str, end: &str) -> f64 {
        self.order(
            "ip netns exec h0 ping -D -i 0.005 10.1.0.2 > ping.txt 2>&1 & ping=$!; sleep 0.3",
        );
        self.order(begin);
        std::thread::sleep(ABSENCE);
        self.order(end);
        self.order("sleep 0.3; kill -INT $ping; wait $ping");
        let pings = self.folder.read("ping.txt");
        let at = |line: &str| line.strip_prefix('[')?.split_once(']')?.0.parse::<f64>().ok();
        let mut answers: Vec<f64> = pings.lines().filter_map(at).collect();
        answers.sort_unstable_by(f64::total_cmp);
        assert!(answers.len() > 20, "{pings}");
        answers.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max)
    }

    /// The rate of a connection over IPv6, in Mbit/s, unless it was refused.
    fn rate(&self) -> Option<f64> {
        self.order(
            "ip netns exec h1 iperf3 --server --port 5300 --one-off > /dev/null 2>&1 & sleep 0.3",
        );
        let told = self.told("iperf3 --client fd01::2 --port 5300 --time 1 --json");
        let result: Value =
            serde_json::from_str(&told).unwrap_or_else(|why| panic!("{why}: {told}"));
        result["end"]["sum_received"]["bits_per_second"].as_f64().map(|rate| rate / 1e6)
    }
}

const HANG: [&str; 2] = ["kill -STOP $h0", "kill -CONT $h0"];
const KILL: [&str; 2] = ["kill -KILL $h0; wait $h0 2> /dev/null", "agent h0; h0=$!"];

#[test]
fn packets_are_held_and_pass_a_packet_gate_whose_agent_hangs_or_is_killed() {
    if !makes_hosts(&Folder::new("gate", &[])) {
        return;
    }
    let network = network("gate-packet", "packet", "fastpass");
    holds(&network, "fastpass");
    let hung = network.longest_silence(HANG[0], HANG[1]);
    network.wait(&["h0"], "obeys again", |status| status["obeys"] == 0);
    let killed = network.longest_silence(KILL[0], KILL[1]);
    network.wait(&["h0"], "obeys after its start", |status| status["obeys"] == 0);
    println!("no answer for {hung:.3} s (SIGSTOP), {killed:.3} s (SIGKILL)");
    // Machines may be busy.
    assert!(hung < 3.0 * OPENS && killed < 3.0 * OPENS, "{hung} {killed}");
    holds(&network, "fastpass");
    leaves_nothing(&network);
}

/// Under TDMA hosts do not answer one whose agent hangs.
#[test]
fn tdma_schedules_packets_of_a_packet_gate() {
    if !makes_hosts(&Folder::new("gate", &[])) {
        return;
    }
    let network = network("gate-tdma", "packet", "tdma");
    holds(&network, "tdma");
    leaves_nothing(&network);
}

/// Connections over IPv6 are scheduled. A busy machine may refuse or starve some, so that there are as many as are needed to
/// see it.
fn holds(network: &Network, scheme: &str) {
    let since = Instant::now();
    let (rate, status) = loop {
        let (rate, status) = (network.rate().unwrap_or(0.0), network.status("h0"));
        if rate > 0.0 && status["scheduled"].as_u64() > Some(100) {
            break (rate, status);
        }
        assert!(since.elapsed() < PATIENCE, "{scheme}: {rate} Mbit/s, {status}");
    };
    println!("{scheme}: {rate} Mbit/s");
    assert!(rate <= 210.0, "{scheme}: {rate} Mbit/s");
    assert_eq!(status["gate-lost"], 0, "{status}");
    assert!(network.told("ip -brief link").contains("slot7077n0"));
}

/// An agent that ends removes its interfaces, its program and its limits, and those of one that was killed before.
fn leaves_nothing(network: &Network) {
    network.order("kill -TERM $h0; wait $h0");
    let left = network.told("sh -c 'ip -brief link; tc qdisc show; ip -details link show eth0'");
    assert!(!left.contains("slot7077") && !left.contains("clsact"), "{left}");
    assert!(left.contains("gso_max_segs 65535"), "{left}");
}

/// What the gate `packet` does is compared with this.
#[test]
fn packets_wait_in_a_queue_gate_whose_agent_hangs() {
    if !makes_hosts(&Folder::new("gate", &[])) {
        return;
    }
    let network = network("gate-queue", "queue", "fastpass");
    let killed = network.longest_silence(KILL[0], KILL[1]);
    network.wait(&["h0"], "obeys after its start", |status| status["obeys"] == 0);
    let hung = network.longest_silence(HANG[0], HANG[1]);
    println!("no answer for {hung:.3} s (SIGSTOP), {killed:.3} s (SIGKILL)");
    assert!(killed < 3.0 * OPENS && hung > 0.8, "{killed} {hung}");
}
