//! The cost of the central flow scheduler: Table 3.2.

use crate::draw::View;
use crate::{Experiment, Findings, Quantity, Row, Stated, Work};
use slotline_hedera::flow_scheduler::FlowScheduler;
use slotline_lab::statistics::Estimate;
use slotline_lab::usage::thread_cpu_s;
use slotline_net::id::{ConnId, HostId};
use slotline_net::rng::Stream;
use slotline_net::route::{Routes, RoutingSpec};
use slotline_net::scheme::Map;
use slotline_net::time::Time;
use slotline_net::topology::{Down, FatTreeSpec, TopologySpec};
use slotline_report::plot::Figure;
use std::sync::Arc;

/// Table 3.2.
pub(super) const COST: Experiment = Experiment {
    id: "ft-4",
    about: "Table 3.2: time and memory of the flow scheduler, k = 4 to 48, one request per host",
    work: Work::Computed {
        how: "One request per host, to a random host that no other host sends to, placed one after another: CPU time \
              of one thread, on this machine; bytes of the state of links and of flows.",
        find: |_| findings(&CASES, 5),
    },
};

/// A row of the table.
struct Case {
    k: u32,
    /// Microseconds per request.
    time: f64,
    /// Kilobytes for the state of links and of flows.
    memory: [f64; 2],
}

const fn case(k: u32, time: f64, memory: [f64; 2]) -> Case {
    Case { k, time, memory }
}

const CASES: [Case; 5] = [
    case(4, 50.9, [0.064, 4.0]),
    case(16, 55.3, [4.0, 205.0]),
    case(24, 116.8, [14.0, 691.0]),
    case(32, 237.6, [33.0, 1_640.0]),
    case(48, 754.4, [111.0, 5_530.0]),
];

const fn quantity(key: &'static str, name: &'static str, unit: &'static str) -> Quantity {
    Quantity { key, name, unit, of: |_| f64::NAN }
}

const TIME: Quantity = quantity("time", "time per request", "us");
const LINKS: Quantity = quantity("links", "memory for links", "KB");
const FLOWS: Quantity = quantity("flows", "memory for flows", "KB");
const PLACED: Quantity = quantity("placed", "flows that found a path", "%");

/// The results of one run, in the order of the quantities.
fn measure(k: u32, seed: u64) -> Option<[f64; 4]> {
    let graph = TopologySpec::FatTree(FatTreeSpec::new(k)).build().ok()?;
    let routes = Arc::new(Routes::build(&graph, RoutingSpec::Pinned, &Down::default(), seed));
    let hosts = graph.hosts.len();
    let map = Map::new(graph.nodes.len(), hosts, &graph.wiring(), &routes, seed);
    let mut scheduler = FlowScheduler::new(map.network(), Time::s(1));
    let mut to: Vec<u32> = (0..hosts as u32).collect();
    Stream::named(seed, "reproduce.scheduler-cost", k.into()).shuffle(&mut to);
    let pairs: Vec<(u32, u32)> = (0..).zip(to).filter(|(src, dst)| src != dst).collect();
    let begun = thread_cpu_s();
    let found = pairs.iter().filter(|(src, dst)| {
        let path = scheduler.request(HostId(*src), ConnId(*src), HostId(*dst), Time::ZERO);
        path.is_some()
    });
    let found = found.count() as f64;
    let spent = thread_cpu_s() - begun;
    let (memory, requests) = (scheduler.memory(), pairs.len() as f64);
    Some([
        spent / requests * 1e6,
        memory.links as f64 / 1e3,
        memory.flows as f64 / 1e3,
        found / requests * 100.0,
    ])
}

fn findings(cases: &[Case], runs: u64) -> Findings {
    let rows: Vec<Row> = cases.iter().flat_map(|case| rows(case, runs)).collect();
    let view = View::of(&[], &rows);
    let figures: Vec<Figure> =
        [TIME, LINKS, FLOWS].iter().map(|quantity| view.against("k", quantity)).collect();
    Findings { names: view.names, rows, figures, emulated: None }
}

fn rows(case: &Case, runs: u64) -> Vec<Row> {
    let found: Vec<[f64; 4]> = (1..=runs).filter_map(|seed| measure(case.k, seed)).collect();
    let paper = [Some(case.time), Some(case.memory[0]), Some(case.memory[1]), None];
    let quantities = [TIME, LINKS, FLOWS, PLACED].into_iter().zip(NOTES).enumerate();
    let row = |(at, (quantity, note)): (usize, (Quantity, &str))| {
        Some(Row {
            x: Some(f64::from(case.k)),
            point: format!("k = {}, {} hosts", case.k, case.k.pow(3) / 4),
            scheme: "first fit".into(),
            quantity: quantity.name.into(),
            unit: quantity.unit.into(),
            paper: paper[at].map(Stated::About),
            ours: Estimate::of(&found.iter().map(|run| run[at]).collect::<Vec<_>>())?,
            note: note.into(),
        })
    };
    quantities.filter_map(row).collect()
}

const NOTES: [&str; 4] = [
    "the paper's machine is a 2.33 GHz PC of 2008; ours is measured on this machine",
    "one byte per directed link, as in the paper; ours counts the links of hosts, too, which the paper leaves out",
    "ours stores the links of each path, so they can be freed without another look-up of the path",
    "the paper's footnote: 94 % of the bandwidth for random destinations among 27k hosts, in simulations",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_flows_find_a_path_and_memory_is_linear_in_links() {
        let [_, links, flows, placed] = measure(8, 1).expect("it runs");
        // 4 k (k/2)² directed links between switches, and two for each of k³/4 hosts.
        assert_eq!(links * 1e3, f64::from(4 * 8 * 16 + 2 * 128));
        assert!(flows > 0.0 && (60.0..=100.0).contains(&placed), "{placed} %");
    }
}
