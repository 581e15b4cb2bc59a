//! Measures the cost of Hedera's scheduler and the quality of its placements: demand estimation, annealing, exact
//! placement, the control loop. CPU time of one thread.

use crate::Row;
use slotline_hedera::placement::{
    Annealing, Estimator, Fabric, Flow, best, bijective, default_c, first_fit, max_min,
};
use slotline_hedera::wire::{Body, MAX_FLOWS, MAX_PATHS, Message};
use slotline_hedera::{HederaSpec, Scheduler};
use slotline_lab::usage;
use slotline_net::id::{ConnId, HostId};
use slotline_net::rng::{Stream, mix64};
use slotline_net::route::{Routes, RoutingSpec};
use slotline_net::scheme::{Control, Decision, FlowCount, Map, Network, News, Plan};
use slotline_net::time::Time;
use slotline_net::topology::{Down, FatTreeSpec, TopologySpec};
use slotline_net::wire::ETHERNET_OVERHEAD;
use std::sync::Arc;

/// One case of the Hedera benchmark, in a fat-tree of `k` pods.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Case {
    /// Demand estimation of flows between random hosts (Table 4.5).
    Estimate {
        /// Pods.
        k: u32,
        /// Large flows.
        flows: u32,
    },
    /// Annealing (Table 4.6).
    Anneal {
        /// Pods.
        k: u32,
        /// Large flows.
        flows: u32,
        /// Steps.
        iterations: u32,
    },
    /// The exact placement of a permutation.
    Euler {
        /// Pods.
        k: u32,
    },
    /// The control loop: reports, estimation, placement, answers (Table 4.7).
    Loop {
        /// Pods.
        k: u32,
        /// Large flows of each host.
        each: u32,
    },
}

/// Hosts of a fat-tree of `k` pods.
pub fn hosts(k: u32) -> u32 {
    k * k * k / 4
}

/// The cases of `slotline bench hedera`.
pub fn cases() -> Vec<Case> {
    [estimates(), annealings(), eulers(), loops()].concat()
}

/// The rows of Table 4.5, and the largest possible fabric.
pub fn estimates() -> Vec<Case> {
    let sizes = [
        (16, 1_024),
        (16, 5_000),
        (32, 8_192),
        (32, 25_000),
        (32, 50_000),
        (48, 27_648),
        (48, 100_000),
        (48, 250_000),
        (64, 655_360),
    ];
    sizes.map(|(k, flows)| Case::Estimate { k, flows }).to_vec()
}

/// The cells of Table 4.6.
pub fn annealings() -> Vec<Case> {
    let sizes = [(16, 3_215), (16, 6_250), (32, 25_000), (32, 50_000)];
    let steps = [1_000, 5_000, 10_000, 100_000];
    let cell = |(k, flows)| steps.map(|iterations| Case::Anneal { k, flows, iterations });
    sizes.into_iter().flat_map(cell).collect()
}

fn eulers() -> Vec<Case> {
    [16, 32, 48, 64].map(|k| Case::Euler { k }).to_vec()
}

/// The cells of Table 4.7.
pub fn loops() -> Vec<Case> {
    [16, 32, 48].into_iter().flat_map(|k| [1, 5, 10].map(|each| Case::Loop { k, each })).collect()
}

impl Case {
    /// Measures the case `times` times and returns medians.
    pub fn run(&self, times: usize) -> Vec<Row> {
        match *self {
            Case::Estimate { k, flows } => {
                let pairs = random(hosts(k), flows, 1);
                let cards = vec![1.0; hosts(k) as usize];
                let mut estimator = Estimator::default();
                let ms = median(times, || estimator.demands(&cards, &cards, &pairs).len());
                let memory = estimator.memory() as f64 / 1e6;
                vec![self.row("estimate", ms, "ms"), self.row("estimate_memory", memory, "MB")]
            }
            Case::Anneal { k, flows, iterations } => self.anneal(times, k, flows, iterations),
            Case::Euler { k } => {
                let fabric = Fabric::fat_tree(k);
                let mut flows = permutation(hosts(k), 1);
                let ms = median(times, || bijective(&fabric, &mut flows));
                vec![self.row("euler", ms, "ms")]
            }
            Case::Loop { k, each } => self.control_loop(times, k, each),
        }
    }
    fn anneal(&self, times: usize, k: u32, flows: u32, iterations: u32) -> Vec<Row> {
        let mut fabric = Fabric::fat_tree(k);
        let mut flows = estimated(&fabric, &random(hosts(k), flows, 2));
        let first = Annealing::new(&fabric);
        let c = default_c(fabric.hosts());
        let mut stream = Stream::named(1, "bench.annealing", 0);
        let mut took = |steps| {
            median(times, || {
                let mut map = first.clone();
                map.place(&mut fabric, &mut flows, steps, c, &mut stream)
            })
        };
        let (all, none) = (took(iterations), took(0));
        let step = (all - none) * 1e6 / f64::from(iterations);
        vec![self.row("annealing", all, "ms"), self.row("annealing_step", step, "ns")]
    }
    /// The times of the parts of a loop: computing is measured, and transfer times are computed.
    fn control_loop(&self, times: usize, k: u32, each: u32) -> Vec<Row> {
        let network = network(k);
        let spec = HederaSpec { iterations: 1_000, ..HederaSpec::default() };
        let options = spec.build().expect("the defaults make sense");
        let mut scheduler = Scheduler::new(options, &network, 1);
        let reports = reports(hosts(k), each);
        let mut plan = Plan::new();
        let mut now = Time::ZERO;
        let mut decide = || {
            now = now.after(Time::ms(100));
            for (host, flows) in (0..).map(HostId).zip(&reports) {
                let news = News::Flows { host, span: Time::ms(100), flows };
                scheduler.observe(&news, now);
            }
            plan.clear();
            let began = usage::thread_cpu_s();
            scheduler.decide(now, &mut plan);
            (usage::thread_cpu_s() - began) * 1e3
        };
        decide();
        let mut took: Vec<f64> = (0..times).map(|_| decide()).collect();
        took.sort_unstable_by(f64::total_cmp);
        let computing = took[took.len() / 2];
        let [up, down] = [report_bytes(&reports), answer_bytes(&plan)].map(on_link);
        let flows = f64::from(hosts(k) * each);
        let entries = on_link(flows * ENTRY);
        vec![
            self.row("loop_computing", computing, "ms"),
            self.row("loop_reports", up, "ms"),
            self.row("loop_paths", down, "ms"),
            self.row("loop", computing + up + down + SWITCHES, "ms"),
            self.row("loop_openflow", computing + 3.0 * entries + SWITCHES, "ms"),
        ]
    }
    fn row(&self, name: &str, value: f64, unit: &str) -> Row {
        let scenario = match *self {
            Case::Estimate { k, flows } | Case::Anneal { k, flows, .. } => {
                format!("{} hosts, {flows} flows", hosts(k))
            }
            Case::Euler { k } => format!("{} hosts", hosts(k)),
            Case::Loop { k, each } => format!("{} hosts, {each} flows each", hosts(k)),
        };
        let scheme = match *self {
            Case::Estimate { .. } => "demands".into(),
            Case::Anneal { iterations, .. } => format!("{iterations} steps"),
            Case::Euler { .. } => "bijective".into(),
            Case::Loop { .. } => "1000 steps".into(),
        };
        let name = format!("hedera/{name}");
        Row { name, scenario, scheme, threads: 1, value, unit: unit.into() }
    }
}

/// An OpenFlow entry (§4.4.4), in bytes: one up, and one each for edge and aggregation switch down.
const ENTRY: f64 = 72.0;
/// 10 us in each of three switches, there and back, in ms (§4.4.4).
const SWITCHES: f64 = 6.0 * 0.01;

/// The time in milliseconds to transfer `bytes` on the scheduler's link of 10 Gbit/s (§4.4.4).
fn on_link(bytes: f64) -> f64 {
    bytes * 8.0 / 10e9 * 1e3
}

/// The total bytes on the wire of a message to or from each of several hosts.
fn on_wire(messages: impl Iterator<Item = (HostId, Body)>) -> f64 {
    let bytes = |(host, body)| {
        let message = Message { host, seq: u32::MAX, body };
        f64::from(ETHERNET_OVERHEAD) + message.emit().len().max(46) as f64
    };
    messages.map(bytes).sum()
}

fn report_bytes(reports: &[Vec<FlowCount>]) -> f64 {
    let part = |(host, flows): (HostId, &[FlowCount])| {
        let (flows, span) = (flows.to_vec(), Time::ms(100));
        (host, Body::Flows { report: 0, part: 0, parts: 1, span, flows })
    };
    let hosts = (0..).map(HostId).zip(reports);
    let parts = hosts.flat_map(|(host, flows)| flows.chunks(MAX_FLOWS).map(move |f| (host, f)));
    on_wire(parts.map(part))
}

fn answer_bytes(plan: &Plan) -> f64 {
    let path = |decision: &Decision| match *decision {
        Decision::Path { conn, path, .. } => Some((conn, path)),
        _ => None,
    };
    let parts = plan.chunk_by(|a, b| a.host() == b.host()).flat_map(|all| all.chunks(MAX_PATHS));
    let body = |part: &[Decision]| Body::Paths(part.iter().filter_map(path).collect());
    on_wire(parts.map(|part| (part[0].host(), body(part))))
}

/// The median duration of a call in milliseconds.
fn median<T>(times: usize, mut call: impl FnMut() -> T) -> f64 {
    let mut one = || {
        let began = usage::thread_cpu_s();
        std::hint::black_box(call());
        (usage::thread_cpu_s() - began) * 1e3
    };
    one();
    let mut took: Vec<f64> = (0..times).map(|_| one()).collect();
    took.sort_unstable_by(f64::total_cmp);
    took[took.len() / 2]
}

fn random(hosts: u32, flows: u32, seed: u64) -> Vec<(HostId, HostId)> {
    let mut stream = Stream::named(seed, "bench.flows", 0);
    let pair = |at: u32| {
        let src = at % hosts;
        let dst = (src + 1 + stream.below(u64::from(hosts) - 1) as u32) % hosts;
        (HostId(src), HostId(dst))
    };
    (0..flows).map(pair).collect()
}

/// Flows with their natural demands.
pub fn estimated(fabric: &Fabric, pairs: &[(HostId, HostId)]) -> Vec<Flow> {
    let mut estimator = Estimator::default();
    let demands = estimator.demands(fabric.send(), fabric.receive(), pairs);
    let flow = |(&(src, dst), &demand)| Flow { src, dst, demand, path: None };
    pairs.iter().zip(demands).map(flow).collect()
}

/// A random permutation without fixed points, with one flow at full rate for each host.
pub fn permutation(hosts: u32, seed: u64) -> Vec<Flow> {
    let mut stream = Stream::named(seed, "bench.permutation", 0);
    let mut to: Vec<u32> = (0..hosts).collect();
    while (0..).zip(&to).any(|(src, dst)| src == *dst) {
        stream.shuffle(&mut to);
    }
    (0..).zip(to).map(|(src, dst)| Flow::new(src, dst, 1.0)).collect()
}

fn network(k: u32) -> Network {
    let graph = TopologySpec::FatTree(FatTreeSpec::new(k)).build();
    let graph = graph.expect("a fat-tree of an even number of pods");
    let routes = Arc::new(Routes::build(&graph, RoutingSpec::Pinned, &Down::default(), 1));
    Map::new(graph.nodes.len(), graph.hosts.len(), &graph.wiring(), &routes, 1).network()
}

/// The large flows of each host. Connections of a host are consecutive, and each has sent its share of the capacity of
/// the host's link at 10 Gbit/s in 100 ms.
fn reports(hosts: u32, each: u32) -> Vec<Vec<FlowCount>> {
    let mut out = vec![Vec::new(); hosts as usize];
    for (src, dst) in random(hosts, hosts * each, 3) {
        let flows = &mut out[src.at()];
        let conn = ConnId(src.0 * each + flows.len() as u32);
        flows.push(FlowCount { conn, dst, bytes: 125_000_000 / u64::from(each) });
    }
    out
}

/// The method of placing bijective traffic.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Placer {
    /// By hash.
    Ecmp,
    /// Global First Fit.
    FirstFit,
    /// Annealing from the first map on, with this number of steps.
    Annealing(u32),
    /// Exact.
    Best,
}

/// The placers of the quality table.
pub const PLACERS: [Placer; 6] = [
    Placer::Ecmp,
    Placer::FirstFit,
    Placer::Annealing(1_000),
    Placer::Annealing(10_000),
    Placer::Annealing(100_000),
    Placer::Best,
];

impl Placer {
    /// The name in tables.
    pub fn name(self) -> String {
        match self {
            Placer::Ecmp => "ecmp".into(),
            Placer::FirstFit => "first-fit".into(),
            Placer::Annealing(steps) => format!("annealing, {steps} steps"),
            Placer::Best => "best".into(),
        }
    }
    /// The rates of flows in percent of a fat-tree's full bisection bandwidth, for each of `bijections` random
    /// bijections.
    pub fn quality(self, k: u32, bijections: u64) -> Vec<f64> {
        let mut fabric = Fabric::fat_tree(k);
        let first = Annealing::new(&fabric);
        let mut share = |seed| {
            let mut flows = permutation(hosts(k), seed);
            match self {
                Placer::Ecmp => {}
                Placer::FirstFit => {
                    first_fit(&mut fabric, &mut flows);
                }
                Placer::Annealing(steps) => {
                    let mut stream = Stream::named(seed, "bench.annealing", 0);
                    let c = default_c(fabric.hosts());
                    first.clone().place(&mut fabric, &mut flows, steps, c, &mut stream);
                }
                Placer::Best => {
                    best(&mut fabric, &mut flows);
                }
            }
            let hash = |flow: usize| mix64(seed << 32 | flow as u64) as u16;
            100.0 * max_min(&fabric, &flows, hash).iter().sum::<f64>() / f64::from(hosts(k))
        };
        (1..=bijections).map(&mut share).collect()
    }
}

/// The quality table as rows: means over `bijections` random bijections.
pub fn qualities(k: u32, bijections: u64) -> Vec<Row> {
    let row = |placer: Placer| {
        let all = placer.quality(k, bijections);
        Row {
            name: "hedera/bisection".into(),
            scenario: format!("{} hosts, {bijections} bijections", hosts(k)),
            scheme: placer.name(),
            threads: 1,
            value: all.iter().sum::<f64>() / all.len().max(1) as f64,
            unit: "% of full bisection".into(),
        }
    };
    PLACERS.into_iter().map(row).collect()
}

/// The number of measurements of each case.
const TIMES: usize = 7;
/// The number of random bijections for each size of a fabric.
const BIJECTIONS: u64 = 40;

/// Measures all cases, and the quality of the placements.
pub fn rows() -> Vec<Row> {
    let quality = [4, 8, 16, 32].into_iter().flat_map(|k| qualities(k, BIJECTIONS));
    cases().iter().flat_map(|case| case.run(TIMES)).chain(quality).collect()
}
