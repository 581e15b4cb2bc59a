//! The input of htsim (csg-htsim) for a case of `bench engine`: its topology, connection matrix and options.

use slotline_lab::build;
use slotline_net::aqm::spec::{EcnSpec, Policy};
use slotline_net::time::Time;
use slotline_net::topology::{FatTreeSpec, TopologySpec};
use slotline_net::transport::congestion::AlgorithmKind;
use slotline_net::units::Bytes;
use slotline_net::workload::{Carrier, Start, Traffic};
use slotline_scenario::{Loaded, SchemeSpec};
use std::fmt::Write;

/// The marking threshold of htsim's queues in packets. It is fixed.
const THRESHOLD: u64 = 15;

/// What htsim reads.
#[derive(Clone, PartialEq, Debug)]
pub struct Input {
    /// The file of `-topo`.
    pub topology: String,
    /// The file of `-tm`.
    pub matrix: String,
    /// The other options.
    pub options: Vec<String>,
}

impl Input {
    /// The network, traffic and settings of the first scheme.
    ///
    /// # Errors
    /// htsim cannot run the same case.
    pub fn of(loaded: &Loaded) -> Result<Input, String> {
        let scenario = &loaded.scenario;
        let TopologySpec::FatTree(fabric) = &scenario.fabric else {
            return Err("htsim gets fat-trees only: the scenario has another kind of fabric".into());
        };
        let seed = scenario.seeds()[0];
        let graph = scenario.fabric.build().map_err(|e| e.to_string())?;
        let traffic =
            build::traffic(scenario, &graph, seed, loaded).map_err(|error| error.to_string())?;
        let end = scenario.end.at.ok_or("`end.at` is missing: htsim needs a time to stop")?;
        Ok(Input {
            topology: topology(fabric)?,
            matrix: matrix(&traffic, graph.hosts.len())?,
            options: options(&scenario.scheme[0], end)?,
        })
    }
}

/// Three tiers of switches, all links alike.
fn topology(fabric: &FatTreeSpec) -> Result<String, String> {
    let uniform = fabric.host_rate.is_none_or(|rate| rate == fabric.rate);
    let plain = fabric.oversubscription == 1 && fabric.nics == 1 && fabric.overrides.is_empty();
    let (rate, delay) = (fabric.rate.0, fabric.delay.as_ps());
    let whole = rate.is_multiple_of(1_000_000_000) && delay.is_multiple_of(1_000);
    if !(uniform && plain && whole) {
        return Err("htsim gets fat-trees whose links are alike, with whole Gbit/s and ns".into());
    }
    let half = fabric.k / 2;
    let mut text = format!("Nodes {}\nTiers 3\nPodsize {}\n", half * half * fabric.k, half * half);
    for (tier, down, up) in [(0, half, Some(half)), (1, half, Some(half)), (2, fabric.k, None)] {
        let up = up.map_or(String::new(), |up| format!("Radix_Up {up}\n"));
        let (gbps, ns) = (rate / 1_000_000_000, delay / 1_000);
        let links = format!("Downlink_speed_Gbps {gbps}\nDownlink_Latency_ns {ns}\n");
        write!(text, "Tier {tier}\n{links}Radix_Down {down}\n{up}").expect("memory is enough");
    }
    Ok(text)
}

/// One line for each flow. Its starts are in picoseconds.
fn matrix(traffic: &Traffic, hosts: usize) -> Result<String, String> {
    let mut text = format!("Nodes {hosts}\nConnections {}\n", traffic.flows.len());
    for (id, flow) in (1..).zip(&traffic.flows) {
        let conn = &traffic.conns[flow.conn.at()];
        let (Start::At(start), Carrier::Tcp, 1) = (flow.start, conn.carrier, conn.count) else {
            return Err("htsim gets TCP flows that start at known times, one per connection".into());
        };
        let ends = format!("{}->{}", conn.src.0, conn.dst.0);
        writeln!(text, "{ends} id {id} start {} size {}", start.as_ps(), flow.bytes)
            .expect("memory is enough");
    }
    Ok(text)
}

fn options(scheme: &SchemeSpec, end: Time) -> Result<Vec<String>, String> {
    let (queue, transport) = (&scheme.queue, &scheme.transport);
    let marks = EcnSpec { threshold: Bytes(THRESHOLD * transport.mtu.0), ..EcnSpec::default() };
    let plain = queue.is_plain() && scheme.control == Default::default();
    let cc = match (&queue.policy, transport.kind) {
        (Policy::DropTail(_), AlgorithmKind::NewReno) if plain => "tcp",
        (Policy::Ecn(policy), AlgorithmKind::Dctcp) if plain && *policy == marks => "dctcp",
        _ => {
            return Err(format!(
                "scheme `{}`: htsim gets newreno over drop-tail queues, or dctcp over queues that mark above \
                 {THRESHOLD} packets",
                scheme.name
            ));
        }
    };
    let us = |time: Time| time.as_ps() / 1_000_000;
    let values = [
        ("-cc", cc.to_string()),
        ("-q", (queue.limit.0 / transport.mtu.0).to_string()),
        ("-mtu", transport.mtu.0.to_string()),
        ("-min_rto", us(transport.min_rto).to_string()),
        ("-end", us(end).to_string()),
    ];
    Ok(values.into_iter().flat_map(|(name, value)| [name.to_string(), value]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_scenario::Scenario;
    use std::path::Path;

    fn loaded(name: &str) -> Loaded {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scenarios/bench"));
        Scenario::load(&folder.join(name)).unwrap()
    }

    /// The matrix has the flows of the file that the scenario names, which is in htsim's own format.
    #[test]
    fn the_traffic_is_that_of_the_scenario() {
        let input = Input::of(&loaded("perm128.toml")).unwrap();
        let file = include_str!("../../../../data/traces/perm128.cm");
        let flows = |text: &str| {
            let mut flows: Vec<String> = text
                .lines()
                .filter(|line| line.contains("->"))
                .map(|line| {
                    let words: Vec<&str> = line.split(' ').collect();
                    [words[0], words[4], words[6]].join(" ")
                })
                .collect();
            flows.sort();
            flows
        };
        assert_eq!(flows(&input.matrix), flows(file));
        assert!(input.matrix.starts_with("Nodes 128\nConnections 128\n"));
    }

    #[test]
    fn topology_and_options_are_those_of_the_scenario() {
        let mut loaded = loaded("perm1024.toml");
        let input = Input::of(&loaded).unwrap();
        assert!(input.topology.starts_with("Nodes 1024\nTiers 3\nPodsize 64\n"));
        assert!(input.topology.ends_with("Downlink_Latency_ns 1000\nRadix_Down 16\n"));
        let expected = "-cc tcp -q 100 -mtu 1500 -min_rto 10000 -end 4000000";
        assert_eq!(input.options.join(" "), expected);
        loaded.scenario.scheme.remove(0);
        assert_eq!(Input::of(&loaded).unwrap().options[1], "dctcp");
    }

    #[test]
    fn what_htsim_cannot_run_is_refused() {
        let error = Input::of(&loaded("queues128.toml")).unwrap_err();
        assert!(error.starts_with("scheme `shared`: htsim gets newreno"), "{error}");
        let error = Input::of(&loaded("hybrid128.toml")).unwrap_err();
        assert!(error.starts_with("htsim gets fat-trees only"), "{error}");
    }
}
