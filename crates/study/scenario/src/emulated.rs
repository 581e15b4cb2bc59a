//! Refuses settings that cannot be emulated with real hosts, with the key and the reason.

use super::engine::SignalSpec;
use super::spec::{Scenario, SchemeSpec};
use slotline_net::error::SpecError;
use slotline_net::topology::Graph;
use slotline_net::transport::TransportSpec;
use slotline_net::transport::congestion::AlgorithmKind;
use slotline_net::workload::WorkloadSpec;

/// The most hosts of an emulation.
const MOST_HOSTS: usize = 1_000;
/// The greatest dilation.
const MOST_DILATION: f64 = 100_000.0;

/// Linux's name for a congestion control algorithm; `None` if it has none. `retcp` is not Linux's own.
pub fn kernel_name(kind: AlgorithmKind) -> Option<&'static str> {
    match kind {
        AlgorithmKind::NewReno => Some("reno"),
        AlgorithmKind::Cubic => Some("cubic"),
        AlgorithmKind::Dctcp => Some("dctcp"),
        AlgorithmKind::Retcp => Some("retcp"),
        _ => None,
    }
}

/// The reason why a real host cannot have a transport.
fn refusal(kind: AlgorithmKind) -> String {
    let why = match kind {
        AlgorithmKind::Tdtcp => {
            "detects losses and measures round-trip times for each path, which the kernel's TCP cannot"
        }
        _ => "is not a transport of the kernel",
    };
    let name = kind.name();
    format!("`{name}` {why}; emulated hosts have `newreno`, `cubic`, `dctcp` or `retcp`")
}

/// The settings of transports that real hosts also have.
const FOLLOWED: [&str; 13] = [
    "kind",
    "mtu",
    "framing",
    "initial-window",
    "max-window",
    "min-rto",
    "delayed-ack",
    "ecn",
    "tail-loss-probe",
    "shaper",
    "gain-shift",
    "circuit-increase",
    "circuit-decrease",
];

/// Settings of transports that only simulated hosts have, as notes.
pub(super) fn notes(scenario: &Scenario) -> Vec<String> {
    if scenario.engine.emulated().is_none() {
        return vec![];
    }
    let note = |scheme: &SchemeSpec| {
        let ignored = ignored(&scheme.transport);
        let all = ignored.join("`, `");
        let name = &scheme.name;
        (!ignored.is_empty())
            .then(|| format!("{name}: real hosts do not have its transport's `{all}`"))
    };
    scenario.scheme.iter().filter_map(note).collect()
}

/// The keys that differ from their defaults and that a real host does not follow.
fn ignored(spec: &TransportSpec) -> Vec<String> {
    let value = |spec: &TransportSpec| serde_json::to_value(spec).unwrap_or_default();
    let (own, usual) = (value(spec), value(&TransportSpec::of(spec.kind)));
    let keys = own.as_object().into_iter().flat_map(|table| table.iter());
    let differs = keys.filter(|(key, value)| usual[key.as_str()] != **value);
    let ignored = differs.filter(|(key, _)| !FOLLOWED.contains(&key.as_str()));
    ignored.map(|(key, _)| key.clone()).collect()
}

/// The errors of a scenario that is to be emulated.
pub(super) fn faults(scenario: &Scenario, graph: Option<&Graph>) -> Vec<SpecError> {
    let Some(spec) = scenario.engine.emulated() else { return vec![] };
    let mut faults = vec![];
    let mut refuse = |key: String, why: String| faults.push(SpecError::new(key, why));
    if !(1.0..=MOST_DILATION).contains(&spec.dilation) {
        let why = format!("`dilation` = {}: from 1 to {MOST_DILATION}", spec.dilation);
        refuse("engine.dilation".into(), why);
    }
    if scenario.engine.has_real_switches() {
        faults.extend(super::real_switches::faults(scenario, spec, graph));
    }
    let mut refuse = |key: String, why: String| faults.push(SpecError::new(key, why));
    if spec.exact && spec.stay {
        let why = "`stay`: nothing outside can reach the hosts of an exact emulation: leave it out";
        refuse("engine.stay".into(), why.into());
    }
    if let Some(graph) = graph.filter(|graph| graph.hosts.len() > MOST_HOSTS) {
        let hosts = graph.hosts.len();
        refuse("fabric".into(), format!("{hosts} hosts; an emulation has at most {MOST_HOSTS}"));
    }
    let measure = &scenario.measure;
    let recorded = [("why", measure.why), ("follow", !measure.follow.is_empty())];
    for (key, _) in recorded.into_iter().filter(|(_, asked)| *asked) {
        let why = "packets can be followed only in simulation: leave it out";
        refuse(format!("measure.{key}"), format!("`{key}`: {why}"));
    }
    for (at, workload) in scenario.workload.iter().enumerate() {
        if matches!(workload, WorkloadSpec::RackRings(spec) if spec.give_up.is_some()) {
            let why = "an emulation never aborts a flow: leave `give-up` out";
            refuse(format!("workload[{at}].give-up"), why.into());
        }
    }
    for (at, scheme) in scenario.scheme.iter().enumerate() {
        let TransportSpec { kind, ecn, .. } = scheme.transport;
        let key = |key: &str| format!("scheme[{at}].transport.{key}");
        if kernel_name(kind).is_none() {
            refuse(key("kind"), refusal(kind));
        }
        if kind == AlgorithmKind::Retcp && spec.exact {
            let why = "`retcp`: an exact emulation has no compiler for the guest's kernel";
            refuse(key("kind"), why.into());
        }
        if kind == AlgorithmKind::Retcp && ecn && spec.circuit_signal == SignalSpec::EcnEcho {
            let why = "`ecn`: ECN-Echo tells of circuits (`circuit-signal`): leave one of both out";
            refuse(key("ecn"), why.into());
        }
    }
    faults
}
