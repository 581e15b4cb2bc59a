//! Measures the speed of the flow-level engine in flows per second on fat-trees, and writes the same traffic as a plain
//! file.

use crate::Row;
use crate::table::{Choice, Outcome, Separate};
use slotline_lab::usage;
use slotline_net::error::SpecError;
use slotline_net::id::HostId;
use slotline_net::node::host::{Plan, Spread};
use slotline_net::rng::Stream;
use slotline_net::route::{Routes, RoutingSpec};
use slotline_net::time::Time;
use slotline_net::topology::{Down, FatTreeSpec, Graph, TopologySpec};
use slotline_net::transport::congestion::AlgorithmKind;
use slotline_net::transport::{Transport, TransportSpec};
use slotline_net::units::{Bytes, Rate};
use slotline_net::workload::{Carrier, HostMap, Setting, Start, Traffic, TrafficBuilder, When};
use slotline_sim::flow::{Fabric, FlowNetwork, FlowOutcome, Model};
use slotline_sim::{Options, Watch};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The traffic of hosts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Load {
    /// Every host always has this number of flows. When one is done, another begins, to a random host. Sizes are
    /// exponential with a mean of 1 MB.
    Closed(u32),
    /// Poisson arrivals of WebSearch sizes at this load of the hosts' links.
    Poisson(f64),
}

/// One case: a fat-tree of 10 Gbit/s links without delay, and packets without framing or headers beyond
/// the transport's own.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Case {
    /// The name on the command line.
    pub name: &'static str,
    /// The fat-tree.
    pub k: u32,
    /// The traffic.
    pub load: Load,
    /// The number of flows that are generated.
    pub flows: u32,
    /// The number of flows that are completed.
    pub completed: u64,
    /// Changes of a link's level below this fraction are not propagated.
    pub tolerance: f64,
    /// Whether each flow is spread over all its equal paths.
    pub spread: bool,
    /// Whether the case takes gigabytes.
    pub large: bool,
}

/// The cases of `slotline bench flow`.
pub const CASES: [Case; 5] = [
    Case {
        name: "k16x1",
        k: 16,
        load: Load::Closed(1),
        flows: 200_000,
        completed: 150_000,
        tolerance: 0.0,
        spread: false,
        large: false,
    },
    Case {
        name: "k16x10",
        k: 16,
        load: Load::Closed(10),
        flows: 60_000,
        completed: 10_000,
        tolerance: 0.0,
        spread: false,
        large: false,
    },
    Case {
        name: "k16x10-rough",
        k: 16,
        load: Load::Closed(10),
        flows: 60_000,
        completed: 10_000,
        tolerance: 1e-4,
        spread: false,
        large: false,
    },
    Case {
        name: "k16x10-spray",
        k: 16,
        load: Load::Closed(10),
        flows: 60_000,
        completed: 10_000,
        tolerance: 0.0,
        spread: true,
        large: false,
    },
    Case {
        name: "k64",
        k: 64,
        load: Load::Poisson(0.5),
        flows: 600_000,
        completed: 500_000,
        tolerance: 0.0,
        spread: false,
        large: true,
    },
];

const SEED: u64 = 1;

impl Case {
    /// The case with this name.
    pub fn named(name: &str) -> Option<Case> {
        CASES.into_iter().find(|case| case.name == name)
    }

    /// The same case with fewer completed flows.
    pub fn shortened(self, completed: Option<u64>) -> Case {
        Case { completed: completed.unwrap_or(self.completed), ..self }
    }

    fn network(&self) -> Result<FlowNetwork, SpecError> {
        let delay = Time::ZERO;
        let spec = FatTreeSpec { rate: Rate(10_000_000_000), delay, ..FatTreeSpec::new(self.k) };
        let graph = TopologySpec::FatTree(spec).build()?;
        let traffic = match self.load {
            Load::Closed(each) => self.closed(&graph, each)?,
            Load::Poisson(load) => self.poisson(&graph, load)?,
        };
        let spread = if self.spread { Spread::PerPacket } else { Spread::PerFlow };
        let plan = Plan::new(traffic, transport()?, spread, graph.host_keys(), SEED)?;
        let routes = Routes::build(&graph, RoutingSpec::Ecmp, &Down::default(), SEED);
        Ok(FlowNetwork {
            plan: Arc::new(plan),
            routes: Arc::new(routes),
            timeline: vec![],
            sampled: vec![],
            interval: Time::ZERO,
            model: Model::MaxMin { tolerance: self.tolerance },
            weights: [1.0; 8],
            store_and_forward: false,
            classifier: None,
            scheduler: None,
            seed: SEED,
            graph,
        })
    }

    /// Chains of flows, `each` per host. No two flows have the same source and destination, so that a simulator with
    /// one route for each pair can simulate the same traffic.
    fn closed(&self, graph: &Graph, each: u32) -> Result<Traffic, SpecError> {
        let hosts = graph.hosts.len() as u32;
        let mut rng = Stream::named(SEED, "bench.flow", 0);
        let mut out = TrafficBuilder::new(hosts);
        let mut known = BTreeSet::new();
        let mut last = vec![None; (hosts * each) as usize];
        for n in 0..self.flows {
            let slot = n % (hosts * each);
            let src = slot % hosts;
            let dst = loop {
                let dst = rng.below(hosts.into()) as u32;
                if dst != src && known.insert((src, dst)) {
                    break dst;
                }
            };
            let start = match last[slot as usize] {
                Some(trigger) => Start::After { trigger, delay: Time::ZERO },
                None => Start::At(Time::ZERO),
            };
            let trigger = out.trigger(HostId(src), 1);
            last[slot as usize] = Some(trigger);
            let conn = out.connect(HostId(src), HostId(dst), Carrier::Tcp, 0)?;
            let bytes = rng.exponential(1e6) as u64 + 1;
            out.flow(conn, bytes, start, Some((trigger, When::Acked)), 0)?;
        }
        out.finish()
    }

    fn poisson(&self, graph: &Graph, load: f64) -> Result<Traffic, SpecError> {
        let files = |name: &str| Err(format!("`{name}`: no files here"));
        let fabric = HostMap::of(graph);
        let setting = Setting { fabric: &fabric, horizon: Time::s(10), seed: SEED, files: &files };
        let mut out = TrafficBuilder::new(graph.hosts.len() as u32);
        let mut workload = slotline_net::workload::poisson::Poisson::default();
        (workload.load, workload.flows) = (load, Some(self.flows));
        slotline_net::workload::WorkloadSpec::Poisson(workload).generate(0, &setting, &mut out)?;
        out.finish()
    }

    /// Runs the case in this process, and returns its results and cost.
    ///
    /// # Errors
    /// The case is not valid.
    pub fn run(&self) -> Result<Vec<Row>, SpecError> {
        let network = self.network()?;
        let plan = Arc::clone(&network.plan);
        let options = Options { threads: 1, end: Time::MAX, completions: self.completed };
        let (began, before) = (Instant::now(), usage::process_cpu_s());
        let outcome = slotline_sim::flow::run(network, options, &Watch::default());
        let (wall, cpu) = (began.elapsed().as_secs_f64(), usage::process_cpu_s() - before);
        Ok(self.rows(&plan, &outcome, wall, cpu))
    }

    fn rows(&self, plan: &Plan, outcome: &FlowOutcome, wall: f64, cpu: f64) -> Vec<Row> {
        let row = |name: &str, value: f64, unit: &str| Row {
            name: format!("flow/{name}"),
            scenario: self.name.into(),
            scheme: "max-min".into(),
            threads: 1,
            value,
            unit: unit.into(),
        };
        let done = outcome.completed as f64;
        let took = outcome.flows.iter().filter(|flow| flow.finished < Time::MAX);
        let sum: f64 = took.map(|flow| flow.finished.since(flow.started).as_secs_f64()).sum();
        let effort = outcome.effort;
        vec![
            row("hosts", f64::from(self.k.pow(3) / 4), "hosts"),
            row("flows_made", plan.traffic.flows.len() as f64, "flows"),
            row("completed", done, "flows"),
            row("flows_per_second", done / wall, "1/s"),
            row("flows_per_cpu_second", done / cpu, "1/s"),
            row("flows_per_cpu_second_in_all", done / usage::process_cpu_s(), "1/s"),
            row("rates_per_flow", effort.given as f64 / done, "rates"),
            row("scans_per_flow", effort.scans as f64 / done, "links"),
            row("simulated", outcome.reached.as_secs_f64(), "s"),
            row("fct_sum", sum, "s"),
            row("peak_memory", usage::peak_rss_bytes() as f64 / 1e6, "MB"),
        ]
    }

    /// The traffic as text for other simulators: lines `hosts N`, `link ID BYTES_PER_SECOND`, and `flow SLOT SRC DST
    /// BYTES_ON_THE_WIRE LINK...`. The flows of a slot run one after another.
    ///
    /// # Errors
    /// The flows of this case do not run one after another.
    pub fn plain(&self) -> Result<String, SpecError> {
        let Load::Closed(each) = self.load else {
            return Err(SpecError::new("case", "only closed loops can be written as a file"));
        };
        let FlowNetwork { graph, plan, routes, .. } = self.network()?;
        let fabric = Fabric::new(&graph, routes);
        let hosts = graph.hosts.len() as u32;
        let mut text = format!("hosts {hosts}\n");
        for link in 0..fabric.links() as u32 {
            text.push_str(&format!("link {link} {}\n", fabric.capacity(link)));
        }
        let mut way = Vec::new();
        // The flows of each host are assigned to its slots in turn.
        let mut turn = vec![0; hosts as usize];
        for (id, flow) in (0..).zip(&plan.traffic.flows) {
            let conn = &plan.traffic.conns[flow.conn.at()];
            let slot = conn.src.0 + hosts * (turn[conn.src.at()] % each);
            turn[conn.src.at()] += 1;
            fabric.path(conn.src, conn.dst, plan.entropy(flow.conn.0), &mut way);
            let links: Vec<String> = way.iter().map(u32::to_string).collect();
            let (wire, _) = plan.wire_bytes(id);
            let links = links.join(" ");
            let (src, dst) = (conn.src.0, conn.dst.0);
            text.push_str(&format!("flow {slot} {src} {dst} {wire} {links}\n"));
        }
        Ok(text)
    }
}

fn transport() -> Result<Transport, SpecError> {
    let spec = TransportSpec::of(AlgorithmKind::NewReno);
    TransportSpec { framing: Bytes(0), ..spec }.build()
}

/// The benchmark for the command line. A case is `k16x10`, or `k16x10:300` for only the first 300 flows.
pub const SEPARATE: Separate = Separate {
    cases: names,
    run: run_named,
    compared: None,
    has_large: true,
    takes_threads: false,
};

fn names(choice: &Choice<'_>) -> Vec<String> {
    let cases = CASES.iter().filter(|case| choice.large || !case.large);
    cases.map(|case| case.name.to_string()).collect()
}

fn run_named(case: &str, _scenarios: &Path) -> Outcome {
    let (name, first) = match case.split_once(':') {
        Some((name, first)) => (name, Some(first.parse()?)),
        None => (case, None),
    };
    Ok(Case::named(name).ok_or_else(|| unknown(name))?.shortened(first).run()?)
}

/// A message that lists the cases.
pub fn unknown(name: &str) -> String {
    format!("there is no case `{name}`: {}", CASES.map(|case| case.name).join(", "))
}
