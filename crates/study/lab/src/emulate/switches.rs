//! Runs with real switches: Open vSwitch under this program's controller.

use super::{Work, WorkDone, captures, fill, follow_progress, kernel, programs, publish};
use crate::build;
use crate::build_flow::{self, Parts};
use crate::collect::{Scene, control_row, planned};
use crate::follow::Choice;
use crate::record::{Conservation, Emulation, EngineStats, FlowRow, Gate, PortRow, RunRecord};
use crate::run::Job;
use crate::status::Status;
use slotline_emulate::classify::Addresses;
use slotline_emulate::clock::Dilation;
use slotline_emulate::registry::Registered;
use slotline_emulate::replay::Replayed;
use slotline_emulate::shared::{Shared, Snapshot};
use slotline_emulate::switches::controller::{Chooser, Controller, Ended, Lost};
use slotline_emulate::switches::observer::{Asked, Observed, Observer};
use slotline_emulate::switches::ports::{Passed, Place};
use slotline_emulate::switches::{Entries, RealNetwork, SwitchOptions};
use slotline_emulate::virtual_time::Environment;
use slotline_net::id::{HostId, NodeId, PortId};
use slotline_net::node::DropReason;
use slotline_net::route::RoutingSpec;
use slotline_net::samples::Series;
use slotline_net::scheme::Map;
use slotline_net::time::Time;
use slotline_scenario::{EmulateSpec, EndWhen, Loaded, ScenarioError};
use slotline_schemes::counters;
use slotline_sim::flow::Scheduled;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::ScopedJoinHandle;
use std::time::Duration;

/// The folder of Open vSwitch's files in that of the emulation.
const FOLDER: &str = "switches";

/// One run.
pub(super) fn record(
    loaded: &Loaded,
    job: &Job,
    spec: &EmulateSpec,
) -> Result<(Scene, RunRecord), ScenarioError> {
    let parts = build::parts(&loaded.scenario, job.scheme, job.seed, loaded);
    let parts = parts.map_err(|error| loaded.blame(error))?;
    job.flows.store(parts.plan.traffic.flows.len() as u64, Ordering::Relaxed);
    let dilation = Dilation::new(spec.dilation).unwrap_or(Dilation::NONE);
    let (graph, wiring, routes) = (&parts.graph, &parts.wiring, &parts.routes);
    let of = Scene::of(
        &loaded.scenario,
        job.scheme,
        graph.clone(),
        wiring.clone(),
        &parts.plan,
        Arc::clone(routes),
        parts.sampled.clone(),
    );
    let choice = Choice::capture(&of, &loaded.scenario.measure);
    let asked = Asked {
        sampled: parts.sampled.clone(),
        interval: loaded.scenario.measure.sample.unwrap_or_default(),
        captured: if job.followed { choice.ports.clone() } else { Vec::new() },
        limit: choice.limit,
    };
    let Done { ended, observed, work: done } = run(loaded, job, spec, (&parts, &of), asked)?;
    let mut record = record_of(&of, &ended, &observed, &done.flows);
    record.captures = captures(&choice, observed.omitted.iter().copied(), &observed.frames, &of);
    let late = limit(&parts, dilation);
    record.engine.emulation = Some(emulation(&ended, dilation, late));
    record.apps = loaded
        .scenario
        .app
        .iter()
        .zip(done.programs)
        .map(|(a, ran)| super::app_row(a, ran))
        .collect();
    Ok((of, record))
}

/// The controller's scheme, if there is one.
fn chooser(parts: &Parts, seed: u64) -> Result<Option<Chooser>, ScenarioError> {
    let scheme = build_flow::scheduler(parts, seed).map_err(super::failed)?;
    let life = parts.system.as_ref().and_then(|system| system.path_life());
    let (nodes, hosts) = (parts.graph.nodes.len(), parts.graph.hosts.len());
    Ok(scheme.map(|scheme| Chooser {
        expire: life.unwrap_or(scheme.poll.times(3)),
        scheme: Scheduled::new(scheme, Map::new(nodes, hosts, &parts.wiring, &parts.routes, seed)),
    }))
}

/// What a run has left.
struct Done {
    ended: Ended,
    observed: Observed,
    work: WorkDone,
}

/// Makes the network, and runs the workload on it.
fn run(
    loaded: &Loaded,
    job: &Job,
    spec: &EmulateSpec,
    (parts, scene): (&Parts, &Scene),
    asked: Asked,
) -> Result<Done, ScenarioError> {
    let dilation = Dilation::new(spec.dilation).unwrap_or(Dilation::NONE);
    let scheme = &loaded.scenario.scheme[job.scheme];
    let framing = scheme.transport.framing.0 as u32;
    let (tcp, buffer) = (kernel(&scheme.transport, dilation), scheme.queue.limit.0);
    let options = SwitchOptions { tcp, framing, buffer, dilation };
    let registered = Registered::new().map_err(super::failed)?;
    let folder = registered.folder().join(FOLDER);
    let network = RealNetwork::new(&parts.graph, &parts.wiring, &options, &folder);
    let network = network.map_err(super::failed)?;
    let namespaces = network.namespaces().map_err(super::failed)?;
    let named = named(parts);
    let environment = Environment::new(registered.folder(), dilation).map_err(super::failed)?;
    registered
        .tell(&loaded.scenario.name, &named, &namespaces, &environment)
        .map_err(super::failed)?;
    let observer = Observer::new((&parts.graph, &parts.wiring), &parts.plan, asked);
    let observer = observer.map_err(super::failed)?;
    let chooser = chooser(parts, job.seed)?;
    let entries = entries(parts, scheme.routing, chooser.is_some());
    let controller = Controller::new(network, entries, chooser, framing, &parts.timeline);
    let controller = controller.map_err(super::failed)?;
    let names: Vec<String> = named.into_iter().map(|(name, _)| name).collect();
    let end = loaded.scenario.end.at.filter(|_| !spec.stay).unwrap_or(Time::MAX);
    let shared = Shared::default();
    let work = Work {
        plan: Arc::clone(&parts.plan),
        namespaces,
        programs: programs(&loaded.scenario.app, &names),
        environment,
        until_time: spec.stay || loaded.scenario.end.when == EndWhen::Time,
        seed: job.seed,
        shared: &shared,
    };
    let show = |taken: &Snapshot| {
        let status = Status::of(taken, scene, &scheme.name, dilation);
        publish(&registered, &Status { lost_outside: None, ..status });
    };
    let (ended, observed, work) = std::thread::scope(|scope| {
        let work = scope.spawn(|| work.run());
        let observing = scope.spawn(|| observer.run(end, &shared));
        let shared = &shared;
        scope.spawn(move || follow_progress(job, shared, show));
        let ended = controller.run(dilation, end, shared);
        shared.stop();
        (ended, joined(observing), joined(work))
    });
    Ok(Done {
        ended: ended.map_err(super::failed)?,
        observed: observed.map_err(super::failed)?,
        work: work.map_err(super::failed)?,
    })
}

/// The result of a thread.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Names and addresses of hosts.
fn named(parts: &Parts) -> Vec<(String, Ipv4Addr)> {
    let all = Addresses { hosts: parts.graph.hosts.len() as u32 };
    let hosts = (0..).map(HostId).zip(&parts.graph.hosts);
    hosts.map(|(host, node)| (parts.graph.nodes[node.at()].name.clone(), all.of(host))).collect()
}

fn entries(parts: &Parts, own: RoutingSpec, counts: bool) -> Entries<'_> {
    let routing = parts.system.as_ref().and_then(|system| system.routing()).unwrap_or(own);
    Entries {
        graph: &parts.graph,
        wiring: &parts.wiring,
        routes: &parts.routes,
        plan: &parts.plan,
        spreads: !matches!(routing, RoutingSpec::Shortest | RoutingSpec::TwoLevel),
        counts,
    }
}

/// How late switches may be: by the time of a full packet on the fastest link of a host.
fn limit(parts: &Parts, dilation: Dilation) -> Duration {
    let lanes = parts.graph.hosts.iter().flat_map(|node| parts.wiring.of(*node));
    let fastest = lanes.map(|wire| wire.lane.rate).max().unwrap_or_default();
    dilation.real(parts.plan.transport.packet_time(fastest))
}

fn emulation(ended: &Ended, dilation: Dilation, limit: Duration) -> Emulation {
    let ns = |span: Duration| span.as_nanos() as u64;
    let late = &ended.lateness;
    Emulation {
        dilation: dilation.factor(),
        gate: Gate::OpenVswitch,
        deliveries: late.events(),
        late_mean_ns: ns(late.mean()),
        late_p50_ns: ns(late.per_mille(500)),
        late_p99_ns: ns(late.per_mille(990)),
        late_p999_ns: ns(late.per_mille(999)),
        late_most_ns: ns(late.most()),
        late_limit_ns: ns(limit),
        cpu_share: ended.cpu_share,
        lost_outside: ended.lost.unprocessed,
        foreign: 0,
    }
}

/// What happened to flows and packets. The longest queue of a port is that of its samples.
fn record_of(
    scene: &Scene,
    ended: &Ended,
    observed: &Observed,
    replayed: &[Replayed],
) -> RunRecord {
    let longest = longest(scene, observed);
    let port = |node: NodeId, port: PortId| {
        let counted = ended.ports.of((node, port));
        PortRow {
            peak_bytes: longest.get(&(node, port)).copied().unwrap_or_default(),
            tx_packets: counted.packets,
            tx_bytes: counted.bytes,
            drops: counted.dropped,
            ..PortRow::default()
        }
    };
    let mut control: Vec<_> = ended.counters.iter().copied().map(control_row).collect();
    if !control.is_empty() {
        control.push(control_row((counters::hedera::INSTALLED_PATHS, ended.moves)));
    }
    let ports = scene.ports_with(port);
    let packet_hops = ports.iter().map(|port| port.tx_packets).sum();
    let engine = EngineStats {
        packet_hops,
        threads: 1,
        sim_time_ps: ended.reached.as_ps(),
        ..EngineStats::default()
    };
    let census = census(scene, ended);
    RunRecord {
        flows: flows(scene, replayed),
        samples: scene.samples(observed.samples.clone()),
        ports,
        control,
        engine,
        census,
        ..RunRecord::default()
    }
}

/// The longest queue among the samples of each port.
fn longest(scene: &Scene, observed: &Observed) -> BTreeMap<Place, u64> {
    let of = |series: &Series| (scene.sampled[series.port as usize], series.longest_queue());
    observed.samples.series().iter().map(of).collect()
}

fn flows(scene: &Scene, replayed: &[Replayed]) -> Vec<FlowRow> {
    let plan = &scene.plan;
    let mut rows: Vec<FlowRow> =
        (0..plan.all_flows()).map(|id| planned(plan, id, plan.flow(id))).collect();
    rows.iter_mut().zip(replayed).for_each(|(row, flow)| fill(row, flow));
    scene.fill_ideal(&plan.transport, &mut rows);
    rows
}

/// What hosts sent, and what became of it. Counters are read one after the other, so packets between them are those that
/// are left.
fn census(scene: &Scene, ended: &Ended) -> Conservation {
    let Lost { unprocessed, cut, nowhere } = ended.lost;
    let Passed { sent, delivered, dropped } = ended.ports.passed(&scene.graph, &scene.wiring);
    let mut census = Conservation { delivered, ..Conservation::default() };
    census.dropped[DropReason::Full as usize] = dropped + unprocessed;
    census.dropped[DropReason::LinkDown as usize] = cut;
    census.dropped[DropReason::NoRoute as usize] = nowhere;
    let known = delivered + census.lost();
    census.sent = sent.max(known);
    census.in_flight = census.sent - known;
    census
}
