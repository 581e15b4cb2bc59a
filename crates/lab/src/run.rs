//! Runs a scenario: all schemes, all seeds, side by side.

use crate::build::{self, Assembly};
use crate::ideal::Ideal;
use crate::record::{Conservation, EngineStats, FlowRow, NEVER, PortRow, RunRecord, SampleRow};
use crate::scenario::{EndWhen, Loaded, ScenarioError};
use crate::usage;
use slotline_net::id::NodeId;
use slotline_net::node::host::{FlowResult, Plan};
use slotline_net::node::switch::Switch;
use slotline_net::time::Time;
use slotline_net::topology::NodeKind;
use slotline_net::workload::Carrier;
use slotline_sim::{Options, Outcome, Place, Watch};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// One run to be done, and how far it is.
pub struct Job {
    /// Index of the scheme.
    pub scheme: usize,
    /// The seed.
    pub seed: u64,
    /// Progress, and the way to stop it.
    pub watch: Watch,
    /// Flows of the run, once known.
    pub flows: AtomicU64,
    /// Whether it is complete.
    pub done: AtomicBool,
}

/// The runs of a scenario, in order.
pub struct Jobs(pub Vec<Job>);

impl Jobs {
    /// All schemes with all seeds.
    pub fn of(loaded: &Loaded) -> Jobs {
        let seeds = loaded.scenario.seeds();
        let job = |(seed, scheme)| Job {
            scheme,
            seed,
            watch: Watch::default(),
            flows: AtomicU64::new(0),
            done: AtomicBool::new(false),
        };
        let schemes = loaded.scenario.scheme.len();
        Jobs(seeds.iter().flat_map(|&seed| (0..schemes).map(move |s| (seed, s))).map(job).collect())
    }

    /// Stops everything soon; what is done is kept.
    pub fn cancel(&self) {
        self.0.iter().for_each(|job| job.watch.cancel.store(true, Ordering::Relaxed));
    }

    fn cancelled(&self) -> bool {
        self.0.iter().any(|job| job.watch.cancel.load(Ordering::Relaxed))
    }

    /// Does them, `threads` at a time; where there are fewer runs than threads, each run uses several.
    /// Returns complete runs only, in order.
    pub fn run(&self, loaded: &Loaded, threads: usize) -> Result<Vec<RunRecord>, ScenarioError> {
        let workers = threads.clamp(1, self.0.len().max(1));
        let each = (threads / workers).max(1);
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<(usize, Result<RunRecord, ScenarioError>)>> = Mutex::default();
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = self.0.get(at).filter(|_| !self.cancelled()) else { return };
                let record = one(loaded, job, each, workers == 1);
                if job.watch.cancel.load(Ordering::Relaxed) && record.is_ok() {
                    return;
                }
                job.done.store(true, Ordering::Relaxed);
                done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, record));
            }
        };
        std::thread::scope(|scope| {
            (1..workers).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        done.sort_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, record)| record).collect()
    }
}

/// One run, on `threads` threads. `alone`: nothing else runs in the process meanwhile.
fn one(loaded: &Loaded, job: &Job, threads: usize, alone: bool) -> Result<RunRecord, ScenarioError> {
    let scenario = &loaded.scenario;
    let cpu = || if alone { usage::process_cpu_s() } else { usage::thread_cpu_s() };
    let (began, cpu_before) = (Instant::now(), cpu());
    let files = |name: &str| loaded.file(name);
    let assembly = build::build(scenario, job.scheme, job.seed, &files).map_err(|e| loaded.blame(e))?;
    job.flows.store(assembly.flows, Ordering::Relaxed);
    let completions = match scenario.end.when {
        EndWhen::FlowsDone => assembly.flows,
        EndWhen::Time => u64::MAX,
    };
    let end = scenario.end.at.unwrap_or(Time::MAX);
    let options = Options { threads, end, completions };
    let Assembly { network, plan, routes, wiring, .. } = assembly;
    let graph = network.graph.clone();
    let sampled = network.sampled.clone();
    let mut outcome = slotline_sim::run(network, options, &job.watch);
    let mut record = RunRecord {
        scheme: scenario.scheme[job.scheme].name.clone(),
        seed: job.seed,
        ports: Vec::new(),
        flows: flows(&plan, &mut outcome),
        ..RunRecord::default()
    };
    if scenario.measure.ideal {
        Ideal::new(&plan, &routes, &wiring).fill(&mut record.flows);
    }
    let mut row_of = std::collections::BTreeMap::new();
    for (node, info) in graph.nodes.iter().enumerate() {
        for port in 0..outcome.ports[node].len() {
            let far = wiring.of(NodeId(node as u32))[port].far.node;
            row_of.insert((node, port), record.ports.len() as u32);
            record.ports.push(PortRow {
                node: info.name.clone(),
                port: graph.nodes[far.at()].name.clone(),
                host: info.kind == NodeKind::Host,
                ..port_row(&outcome, node, port)
            });
        }
    }
    record.samples = outcome
        .samples
        .iter()
        .map(|sample| {
            let (node, port) = sampled[sample.series as usize];
            SampleRow {
                t_ps: sample.time,
                port: row_of[&(node.at(), port.at())],
                queue_bytes: sample.queued,
                tx_bytes: sample.sent,
            }
        })
        .collect();
    record.census = Conservation {
        sent: outcome.conservation.created,
        delivered: outcome.conservation.consumed,
        dropped: outcome.conservation.dropped,
        in_flight: outcome.conservation.in_flight,
    };
    assert!(record.census.holds(), "packets were lost or invented: {:?}", record.census);
    record.engine = EngineStats {
        cpu_s: cpu() - cpu_before,
        wall_s: began.elapsed().as_secs_f64(),
        events: outcome.events,
        packet_hops: outcome.packet_hops,
        peak_rss_bytes: usage::peak_rss_bytes(),
        digest: outcome.digest,
        threads: outcome.threads as u32,
        sim_time_ps: outcome.reached.as_ps(),
    };
    Ok(record)
}

/// What happened to each flow, both ends' accounts joined.
fn flows(plan: &Plan, outcome: &mut Outcome) -> Vec<FlowRow> {
    let traffic = &plan.traffic;
    let row = |(id, flow): (u32, &slotline_net::workload::Flow)| {
        let conn = &traffic.conns[flow.conn.at()];
        FlowRow {
            flow: id,
            group: flow.group,
            src: conn.src.0,
            dst: conn.dst.0,
            bytes: flow.bytes,
            start_ps: NEVER,
            finish_ps: NEVER,
            udp: conn.carrier != Carrier::Tcp,
            ..FlowRow::default()
        }
    };
    let mut rows: Vec<FlowRow> = (0..).zip(&traffic.flows).map(row).collect();
    for place in &mut outcome.places {
        let Place::Host(host) = place else { continue };
        for result in host.results() {
            match result {
                FlowResult::Sent(flow, sent) => {
                    let row = &mut rows[flow.at()];
                    row.start_ps = sent.started.as_ps();
                    (row.retransmits, row.timeouts) = (sent.retransmissions, sent.timeouts);
                }
                FlowResult::Received(flow, received) => {
                    let row = &mut rows[flow.at()];
                    row.finish_ps = received.finished.as_ps();
                    row.delivered_bytes = received.bytes;
                }
            }
        }
    }
    rows
}

/// The counters of a port: the engine's for a FIFO, the switch's own otherwise.
fn port_row(outcome: &Outcome, node: usize, port: usize) -> PortRow {
    let counters = &outcome.ports[node][port];
    let mut row = PortRow {
        tx_packets: counters.packets,
        tx_bytes: counters.bytes,
        drops: counters.full + counters.early + counters.down,
        marks: counters.marks,
        peak_bytes: counters.peak,
        ..PortRow::default()
    };
    if let Place::Node(place) = &outcome.places[node]
        && let Some(switch) = place.as_any().downcast_ref::<Switch>()
    {
        let stats = switch.stats(slotline_net::id::PortId(port as u16));
        row.drops += stats.classes.iter().flat_map(|class| class.drops).sum::<u64>();
        row.marks += stats.classes.iter().map(|class| class.marks).sum::<u64>();
        row.peak_bytes = row.peak_bytes.max(stats.max_backlog);
        row.pauses = stats.pauses_received;
    }
    row
}
