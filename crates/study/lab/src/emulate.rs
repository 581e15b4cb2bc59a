//! One run with real hosts: the network of a scenario between network namespaces of this machine.

use crate::build::{self, Assembly};
use crate::collect::Scene;
use crate::record::{Emulation, FlowRow, NEVER, RunRecord};
use crate::run::Job;
use slotline_emulate::classify::{Addresses, Classifier};
use slotline_emulate::clock::Dilation;
use slotline_emulate::fabric::{Ended, Fabric, Shared};
use slotline_emulate::namespace::{GateKind, Host, KernelTcp};
use slotline_emulate::replay::{Replay, ReplayError, Replayed};
use slotline_net::id::{HostId, NodeId};
use slotline_net::node::host::Plan;
use slotline_net::time::Time;
use slotline_net::transport::TransportSpec;
use slotline_scenario::emulated::kernel_name;
use slotline_scenario::{EmulateSpec, GateSpec, Loaded, ScenarioError};
use slotline_sim::Stepper;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Network time advances in windows of at most this real time: what a packet is late by itself.
const RESOLUTION_US: u64 = 20;

/// Emulates one run. The record lacks its scheme, its seed and its cost.
pub fn record(
    loaded: &Loaded,
    job: &Job,
    spec: &EmulateSpec,
) -> Result<(Scene, RunRecord), ScenarioError> {
    let assembly = build::build(&loaded.scenario, job.scheme, job.seed, loaded);
    let assembly = assembly.map_err(|error| loaded.blame(error))?;
    job.flows.store(assembly.flows, Ordering::Relaxed);
    let dilation = Dilation::new(spec.dilation).unwrap_or(Dilation::NONE);
    let transport = &loaded.scenario.scheme[job.scheme].transport;
    let graph = loaded.scenario.fabric.build().map_err(|error| loaded.blame(error))?;
    let names: Vec<String> =
        graph.hosts.iter().map(|node| graph.nodes[node.at()].name.clone()).collect();
    let hosts = hosts(&names, &kernel(transport, dilation), spec.gate)?;
    let end = loaded.scenario.end.at.unwrap_or(Time::MAX);
    let run = Run { hosts, nodes: graph.hosts.clone(), end, dilation, seed: job.seed };
    let (ended, flows, scene) = run.between(assembly, loaded, job)?;
    let record = of(ended, &flows, &scene, dilation);
    Ok((scene, record))
}

fn failed(what: impl std::fmt::Display) -> ScenarioError {
    ScenarioError::Emulation(what.to_string())
}

/// What the kernel's TCP of hosts is to do.
fn kernel(transport: &TransportSpec, dilation: Dilation) -> KernelTcp {
    KernelTcp {
        congestion: kernel_name(transport.kind).unwrap_or("reno").into(),
        ecn: transport.ecn,
        mtu: transport.mtu.0 as u32,
        initial_window: transport.initial_window,
        least_rto: dilation.real(transport.min_rto),
        quick_acks: transport.delayed_ack == Time::ZERO,
    }
}

/// Makes the hosts, with the best gate that this machine has unless the scenario names one.
fn hosts(names: &[String], tcp: &KernelTcp, gate: GateSpec) -> Result<Vec<Host>, ScenarioError> {
    let addresses = Addresses { hosts: names.len() as u32 };
    let make = |gate: GateKind| {
        let one = |(n, name): (u32, &String)| {
            let address = (addresses.of(HostId(n)), Addresses::PREFIX);
            Host::new(name, address, tcp, gate)
        };
        (0..).zip(names).map(one).collect::<Result<Vec<Host>, _>>()
    };
    let made = match gate {
        GateSpec::Queue => make(GateKind::Queue),
        GateSpec::Interface => make(GateKind::Interface),
        GateSpec::Auto => make(GateKind::Queue).or_else(|_| make(GateKind::Interface)),
    };
    made.map_err(failed)
}

struct Run {
    hosts: Vec<Host>,
    nodes: Vec<NodeId>,
    end: Time,
    dilation: Dilation,
    seed: u64,
}

impl Run {
    /// Runs the network between the hosts, and the workload on them.
    fn between(
        self,
        assembly: Assembly,
        loaded: &Loaded,
        job: &Job,
    ) -> Result<(Ended, Vec<Replayed>, Scene), ScenarioError> {
        let Assembly { network, plan, routes, wiring, .. } = assembly;
        let scene = Scene {
            graph: network.graph.clone(),
            sampled: network.sampled.clone(),
            ideal: loaded.scenario.measure.ideal && loaded.scenario.fabric.hybrid().is_none(),
            circuits: loaded.scenario.fabric.circuit_switches(),
            by_port: loaded.scenario.fabric.has_core(),
            plan: Arc::clone(&plan),
            routes,
            wiring,
        };
        let namespaces = namespaces(&self.hosts).map_err(failed)?;
        let resolution = self.dilation.network(std::time::Duration::from_micros(RESOLUTION_US));
        let stepper = Stepper::new(network, self.end, resolution.max(Time::ns(1)));
        let addresses = Addresses { hosts: self.hosts.len() as u32 };
        let classifier = Classifier::new(Arc::clone(&plan), addresses);
        let shared = Shared::default();
        let fabric = Fabric::new((self.hosts, self.nodes), stepper, classifier, self.end, &shared);
        let (ended, flows) = std::thread::scope(|scope| {
            let work = scope.spawn(|| replay(plan, &namespaces, self.seed, &shared));
            scope.spawn(|| follow_progress(job, &shared));
            let ended = fabric.run(self.dilation);
            shared.stop();
            let flows = work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (ended, flows)
        });
        Ok((ended.map_err(failed)?, flows.map_err(failed)?, scene))
    }
}

fn namespaces(hosts: &[Host]) -> std::io::Result<Vec<OwnedFd>> {
    hosts.iter().map(|host| host.namespace().try_clone_to_owned()).collect()
}

fn replay(
    plan: Arc<Plan>,
    namespaces: &[OwnedFd],
    seed: u64,
    shared: &Shared,
) -> Result<Vec<Replayed>, ReplayError> {
    let stop = |error| {
        shared.stop();
        error
    };
    let replay = Replay::connect(plan, namespaces, seed).map_err(stop)?;
    shared.begin();
    while shared.clock().is_none() && !shared.stopped() {
        std::thread::sleep(std::time::Duration::from_micros(50));
    }
    let flows = match shared.clock() {
        Some(clock) => replay.run(&clock, shared),
        None => Ok(vec![]),
    };
    shared.stop();
    flows
}

/// Shows the progress of a run, and stops it where somebody asks for that.
fn follow_progress(job: &Job, shared: &Shared) {
    while !shared.stopped() {
        if job.watch.cancel.load(Ordering::Relaxed) {
            shared.stop();
        }
        let reached = shared.clock().map_or(0, |clock| clock.now().as_ps());
        job.watch.reached.store(reached, Ordering::Relaxed);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// What the network counted, and what happened to flows.
fn of(ended: Ended, replayed: &[Replayed], scene: &Scene, dilation: Dilation) -> RunRecord {
    let Ended { stepper, classifier, counts, fidelity, reached, .. } = ended;
    let mut outcome = stepper.finish(reached);
    let mut record = scene.record(&mut outcome);
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
        deliveries: counts.delivered,
        late_mean_ns: ns(late.mean()),
        late_p50_ns: ns(late.per_mille(500)),
        late_p99_ns: ns(late.per_mille(990)),
        late_p999_ns: ns(late.per_mille(999)),
        late_most_ns: ns(late.most()),
        cpu_share: fidelity.cpu_share,
        lost_outside: counts.refused,
        foreign: counts.foreign.iter().sum(),
    });
    record
}

fn fill(row: &mut FlowRow, flow: &Replayed) {
    row.start_ps = flow.started.map_or(NEVER, Time::as_ps);
    row.finish_ps = flow.finished.map_or(NEVER, Time::as_ps);
    row.delivered_bytes = flow.delivered;
}
