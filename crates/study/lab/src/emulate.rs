//! Runs a scenario with real hosts: its network connects network namespaces of this machine.

use crate::build::{self, Assembly};
use crate::collect::Scene;
use crate::follow::{self, Choice};
use crate::record::{AppRow, Capture, Emulation, FlowRow, Gate, NEVER, RunRecord};
use crate::run::Job;
use crate::status::Status;
use slotline_emulate::circuits::Circuits;
use slotline_emulate::classify::{Addresses, Classifier};
use slotline_emulate::clock::Dilation;
use slotline_emulate::fabric::{CapturedFrame, Ended, Fabric};
use slotline_emulate::isolation;
use slotline_emulate::namespace::{GateKind, Host, KernelTcp};
use slotline_emulate::programs::{self, Program, Ran};
use slotline_emulate::registry::Registered;
use slotline_emulate::replay::{Replay, Replayed};
use slotline_emulate::seat::Seat;
use slotline_emulate::shared::{Shared, Snapshot};
use slotline_emulate::virtual_time::Environment;
use slotline_net::id::{HostId, NodeId};
use slotline_net::node::host::Plan;
use slotline_net::time::Time;
use slotline_net::transport::TransportSpec;
use slotline_net::units::Rate;
use slotline_scenario::emulated::kernel_name;
use slotline_scenario::{AppSpec, EmulateSpec, EndWhen, GateSpec, Loaded, ScenarioError};
use slotline_sim::Stepper;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

mod congestion;
mod switches;

/// Network time advances in windows of at most this real time. A packet can be late by one window.
const RESOLUTION_US: u64 = 20;

/// Emulates one run. The caller adds the scheme, the seed and the cost to the record.
pub fn record(
    loaded: &Loaded,
    job: &Job,
    spec: &EmulateSpec,
) -> Result<(Scene, RunRecord), ScenarioError> {
    if !isolation::is_inside() {
        return Err(failed(
            "its engine is `emulate`: only `slotline emulate` and `slotline crosscheck` have real hosts",
        ));
    }
    if loaded.scenario.engine.has_real_switches() {
        return switches::record(loaded, job, spec);
    }
    let assembly = build::build(&loaded.scenario, job.scheme, job.seed, loaded);
    let assembly = assembly.map_err(|error| loaded.blame(error))?;
    job.flows.store(assembly.flows, Ordering::Relaxed);
    let dilation = Dilation::new(spec.dilation).unwrap_or(Dilation::NONE);
    let transport = &loaded.scenario.scheme[job.scheme].transport;
    let graph = loaded.scenario.fabric.build().map_err(|error| loaded.blame(error))?;
    let names: Vec<String> =
        graph.hosts.iter().map(|node| graph.nodes[node.at()].name.clone()).collect();
    let registered = Registered::new().map_err(failed)?;
    let circuits = congestion::load(transport, spec, names.len() as u32, registered.folder());
    let circuits = circuits.map_err(failed)?;
    let mut tcp = kernel(transport, dilation);
    // Without dilation the network's thread is late more often then.
    tcp.waits = assembly.times_packets && dilation.factor() > 1.0;
    circuits.iter().for_each(|own| own.name().clone_into(&mut tcp.congestion));
    let hosts = hosts(&names, &tcp, spec.gate)?;
    let gate = match hosts.first().map(Host::gate) {
        Some(GateKind::Interface) => Gate::Interface,
        Some(GateKind::Packet) => Gate::Packet,
        Some(GateKind::Xdp) => Gate::Xdp,
        _ => Gate::Queue,
    };
    let end = loaded.scenario.end.at.filter(|_| !spec.stay).unwrap_or(Time::MAX);
    let programs = programs(&loaded.scenario.app, &names);
    let (nodes, stay, seed) = (graph.hosts.clone(), spec.stay, job.seed);
    let run = Run { registered, circuits, hosts, nodes, programs, stay, end, dilation, seed };
    let (ended, done, scene) = run.between(assembly, loaded, job)?;
    let captured = Choice::capture(&scene, &loaded.scenario.measure);
    let mut record = of(ended, &done.flows, &captured, &scene, dilation, gate);
    record.apps =
        loaded.scenario.app.iter().zip(done.programs).map(|(app, ran)| app_row(app, ran)).collect();
    Ok((scene, record))
}

/// Names and addresses of the hosts of a scenario.
///
/// # Errors
/// Its fabric cannot be built.
pub fn addresses(loaded: &Loaded) -> Result<Vec<(String, Ipv4Addr)>, ScenarioError> {
    let graph = loaded.scenario.fabric.build().map_err(|error| loaded.blame(error))?;
    let addresses = Addresses { hosts: graph.hosts.len() as u32 };
    let name = |node: &NodeId| graph.nodes[node.at()].name.clone();
    let numbered = (0..).zip(&graph.hosts);
    Ok(numbered.map(|(n, node)| (name(node), addresses.of(HostId(n)))).collect())
}

fn failed(what: impl std::fmt::Display) -> ScenarioError {
    ScenarioError::Emulation(what.to_string())
}

/// The settings of the kernel's TCP on all hosts.
fn kernel(transport: &TransportSpec, dilation: Dilation) -> KernelTcp {
    KernelTcp {
        congestion: kernel_name(transport.kind).unwrap_or("reno").into(),
        ecn: transport.ecn,
        mtu: transport.mtu.0 as u32,
        initial_window: transport.initial_window,
        max_window: transport.max_window.0,
        least_rto: dilation.real(transport.min_rto),
        quick_acks: transport.delayed_ack == Time::ZERO,
        tail_loss_probes: transport.tail_loss_probe,
        waits: false,
    }
}

/// Makes the hosts. Without a gate in the scenario, they use the best one that this machine has.
fn hosts(names: &[String], tcp: &KernelTcp, gate: GateSpec) -> Result<Vec<Host>, ScenarioError> {
    let addresses = Addresses { hosts: names.len() as u32 };
    let make = |gate: GateKind| {
        let one = |(n, name): (u32, &String)| Host::new(name, addresses.of(HostId(n)), tcp, gate);
        (0..).zip(names).map(one).collect::<Result<Vec<Host>, _>>()
    };
    let made = match gate {
        GateSpec::Queue => make(GateKind::Queue),
        GateSpec::Interface => make(GateKind::Interface),
        GateSpec::Packet => make(GateKind::Packet),
        GateSpec::Xdp => make(GateKind::Xdp),
        GateSpec::Auto => {
            make(GateKind::Queue).or_else(|_| make(GateKind::Interface)).or_else(|why| {
                make(GateKind::Packet).or_else(|_| make(GateKind::Xdp)).map_err(|_| why)
            })
        }
    };
    made.map_err(failed)
}

/// The programs of a scenario. Their hosts exist.
fn programs(apps: &[AppSpec], names: &[String]) -> Vec<Program> {
    let program = |app: &AppSpec| Program {
        host: names.iter().position(|name| *name == app.host).unwrap_or_default(),
        run: app.run.clone(),
        at: app.at,
        background: app.background,
    };
    apps.iter().map(program).collect()
}

fn app_row(app: &AppSpec, ran: Ran) -> AppRow {
    let ps = |at: Option<Time>| at.map_or(NEVER, Time::as_ps);
    AppRow {
        host: app.host.clone(),
        run: app.run.clone(),
        start_ps: ps(ran.started),
        end_ps: ps(ran.ended),
        exit: ran.exit.and_then(|code| u64::try_from(code).ok()).unwrap_or(NEVER),
        output: ran.output,
    }
}

struct Run {
    registered: Registered,
    circuits: Option<Circuits>,
    hosts: Vec<Host>,
    nodes: Vec<NodeId>,
    programs: Vec<Program>,
    stay: bool,
    end: Time,
    dilation: Dilation,
    seed: u64,
}

impl Run {
    /// Runs the network between the hosts, with the workload on them.
    fn between(
        self,
        assembly: Assembly,
        loaded: &Loaded,
        job: &Job,
    ) -> Result<(Ended, WorkDone, Scene), ScenarioError> {
        let Assembly { mut network, plan, routes, wiring, .. } = assembly;
        let (graph, sampled) = (network.graph.clone(), network.sampled.clone());
        let scene = Scene::of(&loaded.scenario, job.scheme, graph, wiring, &plan, routes, sampled);
        if job.followed {
            network.follow = Choice::capture(&scene, &loaded.scenario.measure).follow(&scene.plan);
        }
        let namespaces = namespaces(&self.hosts).map_err(failed)?;
        let named: Vec<(String, Ipv4Addr)> =
            self.hosts.iter().map(|host| (host.name.clone(), host.address)).collect();
        let registered = self.registered;
        let environment = Environment::new(registered.folder(), self.dilation).map_err(failed)?;
        registered
            .tell(&loaded.scenario.name, &named, &namespaces, &environment)
            .map_err(failed)?;
        let resolution = self.dilation.network(std::time::Duration::from_micros(RESOLUTION_US));
        let stepper = Stepper::new(network, self.end, resolution.max(Time::ns(1)));
        let addresses = Addresses { hosts: self.hosts.len() as u32 };
        let classifier = Classifier::new(Arc::clone(&plan), addresses);
        let scheme = &loaded.scenario.scheme[job.scheme].name;
        let shared = Shared::default();
        let shaper = loaded.scenario.scheme[job.scheme].transport.shaper.unwrap_or(Rate(u64::MAX));
        let rate = |node: NodeId| scene.wiring.of(node)[0].lane.rate.min(shaper);
        let seat = |(host, node)| Seat::new(host, node, rate(node));
        let seats = self.hosts.into_iter().zip(self.nodes).map(seat).collect();
        let fabric = Fabric::new(seats, stepper, classifier, self.end, &shared);
        let fabric = fabric.with_circuits(self.circuits);
        let work = Work {
            plan,
            namespaces,
            programs: self.programs,
            environment,
            until_time: self.stay || loaded.scenario.end.when == EndWhen::Time,
            seed: self.seed,
            shared: &shared,
        };
        let (ended, done) = std::thread::scope(|scope| {
            let work = scope.spawn(|| work.run());
            let show = |taken: &Snapshot| {
                publish(&registered, &Status::of(taken, &scene, scheme, self.dilation));
            };
            let shared = &shared;
            scope.spawn(move || follow_progress(job, shared, show));
            let ended = fabric.run(self.dilation);
            shared.stop();
            let done = work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (ended, done)
        });
        Ok((ended.map_err(failed)?, done.map_err(failed)?, scene))
    }
}

fn namespaces(hosts: &[Host]) -> std::io::Result<Vec<OwnedFd>> {
    hosts.iter().map(|host| host.namespace().try_clone_to_owned()).collect()
}

/// The workload and the programs on the hosts.
struct Work<'a> {
    plan: Arc<Plan>,
    namespaces: Vec<OwnedFd>,
    programs: Vec<Program>,
    environment: Environment,
    /// Whether the run continues after the workload and the programs end.
    until_time: bool,
    seed: u64,
    shared: &'a Shared,
}

/// The results of the workload and the programs.
struct WorkDone {
    flows: Vec<Replayed>,
    programs: Vec<Ran>,
}

impl Work<'_> {
    /// Opens all connections, lets network time begin, and replays the workload while the programs run. Stops the
    /// emulation at the end of all of them, or at an error.
    fn run(self) -> Result<WorkDone, String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let result = Replay::connect(Arc::clone(&self.plan), &self.namespaces, self.seed)
            .map_err(|error| text(&error))
            .and_then(|replay| self.beside(replay));
        self.shared.stop();
        result
    }

    fn beside(&self, replay: Replay) -> Result<WorkDone, String> {
        self.shared.begin();
        let Some(clock) = self.shared.wait_for_clock() else {
            return Ok(WorkDone { flows: vec![], programs: vec![] });
        };
        let replayed = AtomicBool::new(false);
        let others_done = || replayed.load(Ordering::Acquire) && !self.until_time;
        std::thread::scope(|scope| {
            let programs = scope.spawn(|| {
                let (namespaces, environment) = (&self.namespaces, &self.environment);
                programs::run(&self.programs, namespaces, environment, self.shared, others_done)
            });
            let flows = replay.run(&clock, self.shared);
            replayed.store(true, Ordering::Release);
            if flows.is_err() {
                self.shared.stop();
            }
            let programs = programs.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let programs = programs.map_err(|error| format!("cannot run a program: {error}"))?;
            Ok(WorkDone { flows: flows.map_err(|error| error.to_string())?, programs })
        })
    }
}

/// Publishes the state of a run. If this fails, readers see the previous state.
fn publish(registered: &Registered, status: &Status) {
    let _ = serde_json::to_string(status).map(|text| registered.show(&text));
}

/// Shows the progress of a run, and stops it on request.
fn follow_progress(job: &Job, shared: &Shared, show: impl Fn(&Snapshot)) {
    while !shared.stopped() {
        shared.snapshot().iter().for_each(&show);
        if job.watch.cancel.load(Ordering::Relaxed) {
            shared.stop();
        }
        let reached = shared.clock().map_or(0, |clock| clock.now().as_ps());
        job.watch.reached.store(reached, Ordering::Relaxed);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// The record: what the network counted, and what happened to flows.
fn of(
    ended: Ended,
    replayed: &[Replayed],
    ports: &Choice,
    scene: &Scene,
    dilation: Dilation,
    gate: Gate,
) -> RunRecord {
    let Ended { stepper, classifier, counts, fidelity, captured, reached } = ended;
    let mut outcome = stepper.finish(reached);
    let mut record = scene.record(&mut outcome);
    let omitted = outcome.journal.captures.iter().map(|(_, omitted)| *omitted);
    record.captures = captures(ports, omitted, &captured, scene);
    for (row, flow) in record.flows.iter_mut().zip(replayed) {
        fill(row, flow);
    }
    for (row, again) in record.flows.iter_mut().zip(classifier.retransmitted()) {
        row.retransmits = *again;
    }
    scene.fill_ideal(&scene.plan.transport, &mut record.flows);
    let late = &fidelity.deliveries;
    let ns = |span: std::time::Duration| span.as_nanos() as u64;
    record.engine.emulation = Some(Emulation {
        dilation: dilation.factor(),
        gate,
        deliveries: counts.delivered,
        late_mean_ns: ns(late.mean()),
        late_p50_ns: ns(late.per_mille(500)),
        late_p99_ns: ns(late.per_mille(990)),
        late_p999_ns: ns(late.per_mille(999)),
        late_most_ns: ns(late.most()),
        late_limit_ns: Emulation::LATEST_NS,
        cpu_share: fidelity.cpu_share,
        lost_outside: counts.refused,
        foreign: counts.foreign,
    });
    record
}

/// The real packets that left the captured ports of an emulation.
fn captures(
    choice: &Choice,
    omitted: impl Iterator<Item = u64>,
    frames: &[CapturedFrame],
    scene: &Scene,
) -> Vec<Capture> {
    let rows = scene.rows();
    let empty = |(port, omitted)| Capture { port: rows[port], packets: vec![], omitted };
    let mut captures: Vec<Capture> = choice.ports.iter().zip(omitted).map(empty).collect();
    for frame in frames {
        let head = frame.head.iter().map(|byte| format!("{byte:02x}")).collect();
        let packet = follow::captured(frame.at.as_ps(), frame.packet, scene, head);
        captures[frame.place].packets.push(packet);
    }
    captures
}

fn fill(row: &mut FlowRow, flow: &Replayed) {
    row.start_ps = flow.started.map_or(NEVER, Time::as_ps);
    row.finish_ps = flow.finished.map_or(NEVER, Time::as_ps);
    row.delivered_bytes = flow.delivered;
}
