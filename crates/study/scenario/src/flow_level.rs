//! Refuses settings that the flow-level engine cannot simulate, with the key and the reason.

use super::engine::{EngineSpec, FlowSpec, RatesSpec};
use super::event::EventKind;
use super::spec::{Scenario, SchemeSpec};
use slotline_net::aqm::spec::QueueSpec;
use slotline_net::error::SpecError;
use slotline_net::frame::CLASSES;
use slotline_net::route::Routes;
use slotline_net::scheme::{Map, Network, System};
use slotline_net::time::Time;
use slotline_net::topology::{Down, Graph};
use slotline_net::transport::TransportSpec;
use slotline_net::transport::congestion::AlgorithmKind;
use slotline_net::workload::WorkloadSpec;
use slotline_schemes::ControlSpec;
use std::sync::Arc;

/// The errors of a scenario under the flow-level engine.
pub(super) fn faults(scenario: &Scenario, graph: Option<&Graph>) -> Vec<SpecError> {
    let EngineSpec::Flow(spec) = &scenario.engine else { return vec![] };
    let mut faults = options(spec);
    faults.extend(measure(scenario));
    faults.extend(scenario.workload.iter().enumerate().filter_map(|(at, workload)| {
        let given_up = matches!(workload, WorkloadSpec::RackRings(spec) if spec.give_up.is_some());
        let why = "the flow-level engine never aborts a flow: leave `give-up` out";
        given_up.then(|| SpecError::new(format!("workload[{at}].give-up"), why))
    }));
    for (at, event) in scenario.event.iter().enumerate() {
        let why = impossible(&event.kind);
        faults.extend(why.map(|why| SpecError::new(format!("event[{at}].kind"), why)));
    }
    for (at, scheme) in scenario.scheme.iter().enumerate() {
        let in_scheme =
            |(key, why): (&str, String)| SpecError::new(format!("scheme[{at}].{key}"), why);
        faults.extend(of_scheme(scheme).into_iter().map(in_scheme));
        if let Some(graph) = graph.filter(|_| !matches!(scheme.control, ControlSpec::None {})) {
            let seed = scenario.seed.into();
            faults.extend(decides_about_flows(scheme, graph, seed).err().map(in_scheme));
        }
    }
    faults
}

/// Why an event is impossible in the flow-level engine; `None` if it is possible.
pub fn impossible(event: &EventKind) -> Option<&'static str> {
    match event {
        EventKind::ControllerDown { .. } | EventKind::ControllerUp { .. } => {
            Some("the flow-level engine has no controllers that could stop")
        }
        EventKind::Leave { .. } | EventKind::Join { .. } => {
            Some("the flow-level engine has no schedulers that hosts could leave")
        }
        _ => None,
    }
}

fn options(spec: &FlowSpec) -> Vec<SpecError> {
    let aimd = spec.rates == RatesSpec::Aimd;
    let fault = |key: &str, why: String| SpecError::new(format!("engine.{key}"), why);
    let mut faults = vec![];
    if !aimd && (spec.tick.is_some() || spec.increase.is_some()) {
        let key = if spec.tick.is_some() { "tick" } else { "increase" };
        faults.push(fault(
            key,
            format!("`{key}` does nothing with max-min fair rates: use rates = \"aimd\""),
        ));
    }
    if spec.tick == Some(Time::ZERO) {
        faults.push(fault("tick", "`tick` is 0: for example \"100us\"".into()));
    }
    if spec.increase.is_some_and(|rate| rate.0 == 0) {
        faults.push(fault("increase", "`increase` is 0: for example \"120Mbps\"".into()));
    }
    if !(0.0..=0.01).contains(&spec.tolerance) || (aimd && spec.tolerance > 0.0) {
        let why = "`tolerance` is a share from 0 to 0.01, for rates = \"max-min\"";
        faults.push(fault("tolerance", why.into()));
    }
    if aimd && !spec.weights.is_empty() {
        let why = "`weights` do nothing with rates = \"aimd\": leave one of them out";
        faults.push(fault("weights", why.into()));
    }
    let wrong = spec.weights.iter().any(|weight| !(1e-6..=1e6).contains(weight));
    if wrong || spec.weights.len() > CLASSES {
        let why =
            format!("`weights` has to be up to {CLASSES} numbers, each from 0.000001 to 1000000");
        faults.push(fault("weights", why));
    }
    faults
}

fn measure(scenario: &Scenario) -> Vec<SpecError> {
    let measure = &scenario.measure;
    let mut faults = vec![];
    let mut refuse = |given: bool, key: &str, why: String| {
        faults.extend(given.then(|| SpecError::new(format!("measure.{key}"), why)));
    };
    let no_packets = |key: &str| {
        format!(
            "`{key}` needs packets, which the flow-level engine does not have: leave it out, or use engine = \"packet\""
        )
    };
    refuse(measure.why, "why", no_packets("why"));
    refuse(!measure.capture.is_empty(), "capture", no_packets("capture"));
    refuse(!measure.follow.is_empty(), "follow", no_packets("follow"));
    for (at, metric) in measure.metrics.iter().enumerate() {
        let of_packets = metric.is_of_packets();
        refuse(of_packets, &format!("metrics[{at}]"), no_packets(metric.key()));
    }
    faults
}

fn of_scheme(scheme: &SchemeSpec) -> Vec<(&'static str, String)> {
    let mut faults = vec![];
    if scheme.queue != QueueSpec::default() {
        let why = "`queue` does nothing here: the flow-level engine has no queues, so that nothing waits, is \
                   marked or dropped; leave it out, or use engine = \"packet\"";
        faults.push(("queue", why.to_string()));
    }
    if scheme.bump.is_some() {
        let why = "`bump` does nothing here: the flow-level engine has no packets that could pass one; leave \
                   it out, or use engine = \"packet\"";
        faults.push(("bump", why.to_string()));
    }
    if scheme.transport != plain(&scheme.transport) {
        let why = "`transport` has settings that the flow-level engine does not use: its rates are fair whatever the \
                   congestion control, and it uses only mtu, framing and headers, as in transport = \
                   { kind = \"newreno\", mtu = \"9000B\" }; leave the rest out, or use engine = \"packet\"";
        faults.push(("transport", why.to_string()));
    }
    if scheme.control_loss > 0.0 {
        let why = "`control-loss`: the flow-level engine has no messages that could be lost";
        faults.push(("control-loss", why.to_string()));
    }
    faults
}

/// The settings of a transport that the flow-level engine uses. The others are defaults.
pub fn plain(transport: &TransportSpec) -> TransportSpec {
    let TransportSpec { mtu, framing, headers, .. } = *transport;
    TransportSpec { mtu, framing, headers, ..TransportSpec::of(AlgorithmKind::NewReno) }
}

/// Whether a central scheme can be run without packets.
pub fn decides_about_flows(
    scheme: &SchemeSpec,
    graph: &Graph,
    seed: u64,
) -> Result<(), (&'static str, String)> {
    // Faults of the options alone are found by other checks.
    let Ok(Some(system)) = scheme.control.build() else { return Ok(()) };
    let network = network(system.as_ref(), scheme, graph, seed);
    match system.per_flow(&network, seed) {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err((
            "control",
            "`control` decides about packets: the flow-level engine can run schemes that decide about the \
             paths of flows only; use engine = \"packet\""
                .into(),
        )),
        Err(error) => Err(("control", error.message)),
    }
}

/// The network as a scheme knows it.
fn network(system: &dyn System, scheme: &SchemeSpec, graph: &Graph, seed: u64) -> Network {
    let routing = system.routing().unwrap_or(scheme.routing);
    let routes = Arc::new(Routes::build(graph, routing, &Down::default(), seed));
    Map::new(graph.nodes.len(), graph.hosts.len(), &graph.wiring(), &routes, seed).network()
}
