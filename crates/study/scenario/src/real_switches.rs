//! Refuses settings that real switches do not have, with the key and the reason.

use super::event::{EventKind, EventSpec};
use super::flow_level::decides_about_flows;
use super::spec::{MeasureSpec, Scenario, SchemeSpec};
use super::{EmulateSpec, GateSpec};
use slotline_net::aqm::spec::QueueSpec;
use slotline_net::error::SpecError;
use slotline_net::route::RoutingSpec;
use slotline_net::topology::{Graph, LinkParams};
use slotline_net::transport::congestion::AlgorithmKind;
use slotline_schemes::ControlSpec;

/// A packet of 1500 bytes. A link may have a delay of at most its time, because a longer one would be missed.
const FULL_PACKET_BITS: f64 = 12_000.0;

/// The least real time between samples, in seconds. To read all queues takes a part of it.
const LEAST_SAMPLE_S: f64 = 2e-3;

/// The errors of a scenario whose hosts are joined by real switches.
pub(super) fn faults(
    scenario: &Scenario,
    spec: &EmulateSpec,
    graph: Option<&Graph>,
) -> Vec<SpecError> {
    let mut faults = engine(spec);
    faults.extend(sample(&scenario.measure, spec));
    faults.extend(scenario.event.iter().enumerate().filter_map(event));
    if scenario.fabric.hybrid().is_some() {
        let why = "circuit switches are modelled only: leave `switches` out";
        faults.push(SpecError::new("fabric", why));
    }
    faults.extend(graph.and_then(links));
    for (at, scheme) in scenario.scheme.iter().enumerate() {
        let in_scheme =
            |(key, why): (&str, &str)| SpecError::new(format!("scheme[{at}].{key}"), why);
        faults.extend(of_scheme(scheme).into_iter().map(in_scheme));
        let controlled = !matches!(scheme.control, ControlSpec::None {});
        let seed = scenario.seed.into();
        let unable = |graph: &&Graph| decides_about_flows(scheme, graph, seed).is_err();
        if graph.filter(|_| controlled).is_some_and(|graph| unable(&graph)) {
            faults.push(in_scheme((
                "control",
                "`control`: OpenFlow's switches follow schemes that choose paths of flows: `hedera` or `flow-scheduler`",
            )));
        }
    }
    faults
}

/// Whether real switches have a routing.
pub fn routes_by(routing: RoutingSpec) -> bool {
    !matches!(routing, RoutingSpec::Spray | RoutingSpec::Flowlet | RoutingSpec::Classifier)
}

fn engine(spec: &EmulateSpec) -> Vec<SpecError> {
    let mut faults = vec![];
    if spec.exact {
        let why = "`exact`: the guest machine has no Open vSwitch: leave one of both out";
        faults.push(SpecError::new("engine.exact", why));
    }
    if spec.gate != GateSpec::Auto {
        let why = "`gate`: packets reach real switches by the hosts' own interfaces: leave it out";
        faults.push(SpecError::new("engine.gate", why));
    }
    faults
}

fn event((at, event): (usize, &EventSpec)) -> Option<SpecError> {
    let of_controller =
        matches!(event.kind, EventKind::ControllerDown { .. } | EventKind::ControllerUp { .. });
    let why = "the controller of real switches does not stop: leave this event out";
    of_controller.then(|| SpecError::new(format!("event[{at}].kind"), why))
}

/// Samples that are closer together than queues can be read.
fn sample(measure: &MeasureSpec, spec: &EmulateSpec) -> Option<SpecError> {
    let (sample, least) = (measure.sample?, LEAST_SAMPLE_S / spec.dilation.max(1.0));
    let why = format!(
        "`sample` = {sample}: the queues of real switches are read every {} ms of real time at most: at least {} us with this dilation",
        LEAST_SAMPLE_S * 1e3,
        (least * 1e6).ceil()
    );
    (sample.as_secs_f64() < least).then(|| SpecError::new("measure.sample", why))
}

/// A host with several cards, or a link with a delay that would be missed.
fn links(graph: &Graph) -> Option<SpecError> {
    let ports = graph.ports();
    let host = graph.hosts.iter().find(|node| ports[node.at()] != 1);
    let cards = host.map(|node| {
        let name = &graph.nodes[node.at()].name;
        format!("host `{name}` has {} links; with real switches each has one", ports[node.at()])
    });
    let mut lanes = graph.links.iter().flat_map(|link| [link.ab, link.ba]);
    let packet = |lane: &LinkParams| FULL_PACKET_BITS / lane.rate.0 as f64;
    let late = lanes.find(|lane| lane.delay.as_secs_f64() > packet(lane));
    let delay = late.map(|lane| {
        format!(
            "a link of {} has a delay of {}; links of real switches have none, so at most the time of a packet of 1500 bytes",
            lane.rate, lane.delay
        )
    });
    cards.or(delay).map(|why| SpecError::new("fabric", why))
}

fn of_scheme(scheme: &SchemeSpec) -> Vec<(&'static str, &'static str)> {
    let SchemeSpec { queue, transport, .. } = scheme;
    let plain = QueueSpec { limit: queue.limit, ..QueueSpec::default() };
    let checks = [
        (
            "routing",
            routes_by(scheme.routing),
            "`routing`: real switches have shortest, ecmp, ecmp-destination, pinned and two-level",
        ),
        ("queue", *queue == plain, "`queue`: real switches have drop-tail queues with a `limit`"),
        (
            "recovery",
            scheme.recovery.is_none(),
            "`recovery`: real switches get their routes from the controller: leave it out, and say `reroute-after` in events",
        ),
        ("bump", scheme.bump.is_none(), "`bump`: there are no bumps at real switches"),
        ("voq", scheme.voq.is_none(), "`voq`: real switches have no circuits"),
        (
            "transport.kind",
            transport.kind != AlgorithmKind::Retcp,
            "`retcp` needs circuits, which real switches do not have",
        ),
        (
            "transport.shaper",
            transport.shaper.is_none(),
            "`shaper`: hosts at real switches have none: leave it out",
        ),
    ];
    let refused = checks.into_iter().filter(|(_, has, _)| !has);
    refused.map(|(key, _, why)| (key, why)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn errors(engine: &str, rest: &str) -> String {
        let text = format!(
            "name = \"x\"\nend = {{ at = \"1s\" }}\nengine = {{ kind = \"emulate\", switches = \"open-vswitch\"{engine} }}\n\
             [fabric]\nkind = \"fat-tree\"\nk = 4\nrate = \"10Mbps\"\n[[workload]]\nkind = \"stride\"\nby = 4\n\
             [[scheme]]\nname = \"a\"\n{rest}"
        );
        match Scenario::parse(Path::new("x.toml"), text) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_real_switches_have_is_accepted() {
        for rest in [
            "",
            "control = \"hedera\"",
            "control = \"flow-scheduler\"",
            "routing = \"two-level\"",
            "[[event]]\nat = \"1ms\"\nkind = \"link-down\"\nlink = \"agg0.0-core0\"",
            "[measure]\nsample = \"2ms\"\ncapture = [\"h0-edge0.0\"]",
            "routing = \"ecmp-destination\"\nqueue = { kind = \"drop-tail\", limit = \"30KB\" }",
        ] {
            assert_eq!(errors("", rest), "", "{rest}");
        }
    }

    #[test]
    fn a_delay_longer_than_a_packet_is_refused() {
        let graph = |delay: &str| {
            let spec = format!("kind = 'star'\nhosts = 2\nrate = '10Mbps'\ndelay = '{delay}'");
            toml::from_str::<slotline_net::topology::TopologySpec>(&spec).unwrap().build().unwrap()
        };
        assert_eq!(links(&graph("1200us")), None);
        let said = links(&graph("2ms")).map(|error| error.to_string()).unwrap_or_default();
        assert!(said.contains("a delay of 2ms"), "{said}");
    }

    #[test]
    fn what_real_switches_lack_is_refused_by_its_key() {
        for (engine, rest, key) in [
            (", exact = true", "", "exact"),
            (", gate = \"queue\"", "", "gate"),
            ("", "routing = \"spray\"", "routing"),
            ("", "control = \"fastpass\"", "control"),
            ("", "queue = { kind = \"ecn\", threshold = \"20KB\" }", "queue"),
            (", dilation = 3", "[measure]\nsample = \"600us\"", "at least 667 us"),
            (
                "",
                "control = \"hedera\"\n[[event]]\nat = \"1ms\"\nkind = \"controller-down\"\ncontroller = \"x\"",
                "event",
            ),
            ("", "recovery = {}", "recovery"),
        ] {
            let said = errors(engine, rest);
            assert!(said.contains(key), "{engine} {rest}: {said}");
        }
    }
}
