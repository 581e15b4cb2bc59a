//! Refuses settings that cannot be emulated with real hosts, with the key and the reason.

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

/// Linux's name for a congestion control algorithm; `None` if it has none.
pub fn kernel_name(kind: AlgorithmKind) -> Option<&'static str> {
    match kind {
        AlgorithmKind::NewReno => Some("reno"),
        AlgorithmKind::Cubic => Some("cubic"),
        AlgorithmKind::Dctcp => Some("dctcp"),
        _ => None,
    }
}

/// The settings of transports that real hosts also have.
const FOLLOWED: [&str; 8] = [
    "kind",
    "mtu",
    "framing",
    "initial-window",
    "min-rto",
    "delayed-ack",
    "ecn",
    "tail-loss-probe",
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
        let kind = scheme.transport.kind;
        if kernel_name(kind).is_none() {
            let why = format!(
                "`{}`: an emulated host has the kernel's TCP, so `newreno`, `cubic` or `dctcp`",
                kind.name()
            );
            refuse(format!("scheme[{at}].transport.kind"), why);
        }
    }
    faults
}
