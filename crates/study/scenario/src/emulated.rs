//! Refuses what cannot be emulated with real hosts, with the key and the reason.

use super::spec::Scenario;
use slotline_net::error::SpecError;
use slotline_net::topology::Graph;
use slotline_net::transport::congestion::AlgorithmKind;

/// Most hosts of an emulation.
const MOST_HOSTS: usize = 1_000;
/// The greatest dilation.
const MOST_DILATION: f64 = 100_000.0;

/// The name that Linux has for a congestion control algorithm; `None` where it has none.
pub fn kernel_name(kind: AlgorithmKind) -> Option<&'static str> {
    match kind {
        AlgorithmKind::NewReno => Some("reno"),
        AlgorithmKind::Cubic => Some("cubic"),
        AlgorithmKind::Dctcp => Some("dctcp"),
        _ => None,
    }
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
    if let Some(graph) = graph.filter(|graph| graph.hosts.len() > MOST_HOSTS) {
        let hosts = graph.hosts.len();
        refuse("fabric".into(), format!("{hosts} hosts; an emulation has at most {MOST_HOSTS}"));
    }
    let measure = &scenario.measure;
    let recorded = [
        ("why", measure.why),
        ("follow", !measure.follow.is_empty()),
        ("capture", !measure.capture.is_empty()),
    ];
    for (key, _) in recorded.into_iter().filter(|(_, asked)| *asked) {
        let why = "single packets are only followed in simulation: leave it out";
        refuse(format!("measure.{key}"), format!("`{key}`: {why}"));
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
