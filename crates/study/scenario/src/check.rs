//! Checks a scenario as a whole. Errors have the full path of a key, as `scheme[1].queue`.

use super::bumps;
use super::error::nearest;
use super::event::{EventKind, EventSpec};
use super::fit;
use super::measured::{capture, measure, ports, quantity_ports};
use super::own_fabric;
use super::paths;
use super::spec::{EndWhen, Scenario, SchemeSpec};
use super::traffic;
use slotline_net::aqm::Policy;
use slotline_net::aqm::spec::QueueSpec;
use slotline_net::error::SpecError;
use slotline_net::node::bump::BumpSpec;
use slotline_net::route::RoutingSpec;
use slotline_net::scheme::{CONTROL_CLASS, Proposal};
use slotline_net::time::Time;
use slotline_net::topology::{End, FASTEST, Graph, LONGEST_DELAY, Link, NodeKind};
use slotline_net::transport::congestion::AlgorithmKind;
use slotline_net::units::{Bytes, Rate};
use slotline_net::workload::{Count, Machines, WorkloadSpec};
use slotline_schemes::ControlSpec;
use std::collections::BTreeSet;

pub(super) type Fit = Result<(), SpecError>;

/// The files that a scenario names.
pub type Files<'a> = dyn slotline_net::workload::Files + 'a;

/// At most this many flows of each workload are generated to check and describe a scenario. The others are only
/// counted.
pub const SAMPLE: u64 = 100_000;

/// The result of checking a whole scenario.
pub struct Checked {
    /// The fabric, unless it is invalid.
    pub graph: Option<Graph>,
    /// Every error that is independent of other errors.
    pub faults: Vec<SpecError>,
    /// Assumptions about files, which the user should know.
    pub notes: Vec<String>,
    /// The number of flows of each workload.
    pub counts: Vec<Count>,
    /// For each scheme, values that fit its periods; empty where there are errors.
    pub proposals: Vec<Vec<Proposal>>,
}

/// Checks everything, including the traffic of the first seed.
pub fn check(scenario: &Scenario, files: &Files<'_>) -> Checked {
    let mut checks = vec![general(scenario)];
    checks.extend(machines(scenario));
    let (mut notes, mut counts, mut flows) = (vec![], vec![], vec![]);
    let graph = scenario.fabric.build().map_err(|e| e.within("fabric"));
    checks.extend(graph.as_ref().err().map(|error| Err(error.clone())));
    checks.push(measure(&scenario.measure, scenario.end.at));
    for (at, scheme) in scenario.scheme.iter().enumerate() {
        let in_scheme = |e: SpecError| e.within(format_args!("scheme[{at}]"));
        checks.push(distinct(scenario, at).map_err(in_scheme));
        checks.push(self::scheme(scheme).map_err(in_scheme));
    }
    let (sharing, kept) = own_fabric::sharing(scenario);
    let in_whole = |error: SpecError| own_fabric::in_whole(error, &kept);
    if let Ok(graph) = &graph {
        let on_it = on_fabric(&sharing, graph).into_iter().chain(paths::check(&sharing, graph));
        checks.extend(on_it.map(|fit| fit.map_err(in_whole)));
        let (made, counted) = traffic::check(scenario, graph, files, &mut notes, &mut flows);
        checks.extend(made);
        counts = counted;
    }
    let mut faults: Vec<SpecError> = checks.into_iter().filter_map(Result::err).collect();
    let flow_level = super::flow_level::faults(&sharing, graph.as_ref().ok());
    faults.extend(super::quantity::faults(scenario));
    faults.extend(super::expect::faults(scenario));
    faults.extend(super::app::faults(&scenario.app, graph.as_ref().ok()));
    notes.extend(super::emulated::notes(scenario));
    faults.extend(super::emulated::faults(scenario, graph.as_ref().ok()));
    let hybrid = if graph.is_ok() { super::hybrid::faults(&sharing) } else { vec![] };
    let own = own_fabric::faults(scenario, graph.as_ref().ok().map(|graph| graph.hosts.len()));
    for fault in flow_level.into_iter().chain(hybrid).map(in_whole).chain(own) {
        faults.extend(Some(fault).filter(|fault| !faults.contains(fault)));
    }
    let proposals = match &graph {
        Ok(graph) if faults.is_empty() => {
            fit::proposals(scenario, graph, &flows, fit::longest_run(scenario))
        }
        _ => vec![],
    };
    Checked { graph: graph.ok(), faults, notes, counts, proposals }
}

/// Checks that need the fabric, except those of the traffic.
pub(super) fn on_fabric(scenario: &Scenario, graph: &Graph) -> Vec<Fit> {
    let end = scenario.end.at;
    let stations = stations(&scenario.scheme, graph);
    let schemes = scenario.scheme.iter().enumerate().map(|(at, scheme)| {
        let fits = central(scheme, graph).and_then(|()| bumps::on_fabric(scheme, graph));
        fits.map_err(|e| e.within(format_args!("scheme[{at}]")))
    });
    let events = scenario.event.iter().enumerate().map(|(at, event)| {
        let in_event = |e: SpecError| e.within(format_args!("event[{at}]"));
        self::event(event, graph, &stations, end).map_err(in_event)
    });
    let measure = [
        plausible_links(graph),
        node_names(graph),
        ports(&scenario.measure, graph),
        quantity_ports(&scenario.measure, graph),
        capture(&scenario.measure, graph),
    ];
    measure.into_iter().chain(schemes).chain(events).collect()
}

/// Checks that no link is faster than [`FASTEST`] or longer than [`LONGEST_DELAY`].
fn plausible_links(graph: &Graph) -> Fit {
    graph.links.iter().try_for_each(|link| {
        let rate = link.ab.rate.max(link.ba.rate);
        let delay = link.ab.delay.max(link.ba.delay);
        let fault = if rate > FASTEST {
            format!("{rate}: no link has more than {FASTEST}")
        } else if delay > LONGEST_DELAY {
            format!("a delay of {delay}: no link has more than {LONGEST_DELAY}")
        } else {
            return Ok(());
        };
        let name = |end: End| &graph.nodes[end.node.at()].name;
        let (a, b) = (name(link.a), name(link.b));
        Err(SpecError::new("fabric", format!("link `{a}-{b}` has {fault}")))
    })
}

fn node_names(graph: &Graph) -> Fit {
    graph.nodes.iter().try_for_each(|node| short("fabric", "a node's name", &node.name))
}

/// The most characters of a name.
const LONGEST_NAME: usize = 100;

/// Refuses names that fit neither into tables nor into names of files.
fn short(key: &str, what: &str, name: &str) -> Fit {
    let length = name.chars().count();
    ensure(length <= LONGEST_NAME, key, || {
        let begin: String = name.chars().take(20).collect();
        format!(
            "{what}, \"{begin}…\", has {length} characters: at most {LONGEST_NAME} are possible"
        )
    })
}

pub(super) fn ensure(holds: bool, key: &str, why: impl FnOnce() -> String) -> Fit {
    if holds { Ok(()) } else { Err(SpecError::new(key, why())) }
}

fn general(scenario: &Scenario) -> Fit {
    ensure(scenario.name.chars().any(|c| c.is_ascii_alphanumeric()), "name", || {
        format!(
            "`name` is \"{}\": it needs a letter or a digit, results are named after it",
            scenario.name
        )
    })?;
    short("name", "`name`", &scenario.name)?;
    ensure((1..=10_000).contains(&scenario.repeat), "repeat", || {
        format!("`repeat` is {}: it has to be 1 to 10000", scenario.repeat)
    })?;
    let emulated = scenario.engine.emulated();
    let programs = emulated.is_some_and(|spec| spec.stay) || !scenario.app.is_empty();
    ensure(!scenario.workload.is_empty() || programs, "workload", || {
        "no traffic: add a `workload`, for example [[workload]] with kind = \"incast\"".into()
    })?;
    ensure(!scenario.scheme.is_empty(), "scheme", || {
        "nothing to compare: add a `scheme`, for example [[scheme]] with name = \"tcp\"".into()
    })?;
    ensure(scenario.end.at != Some(Time::ZERO), "end.at", || {
        "`at` is 0: nothing would happen".into()
    })?;
    ensure(scenario.end.when == EndWhen::FlowsDone || scenario.end.at.is_some(), "end", || {
        "a run that ends by time needs `at`, for example at = \"100ms\"".into()
    })
}

/// Only XCo uses virtual machines.
fn machines(scenario: &Scenario) -> Vec<Fit> {
    let known = scenario.scheme.iter().any(|scheme| scheme.control.uses_coordinators());
    let one = |(at, workload): (usize, &WorkloadSpec)| {
        let Machines { from, to } = workload.machines();
        let key = if from > 0 { "vm" } else { "to-vm" };
        ensure(known || (from, to) == (0, 0), &format!("workload[{at}].{key}"), || {
            format!(
                "`{key}` does nothing: no scheme has control = \"xco\", which distinguishes virtual machines"
            )
        })
    };
    scenario.workload.iter().enumerate().map(one).collect()
}

fn distinct(scenario: &Scenario, at: usize) -> Fit {
    let name = &scenario.scheme[at].name;
    ensure(!name.trim().is_empty(), "name", || "a scheme's `name` is empty".into())?;
    short("name", "a scheme's `name`", name)?;
    let before = scenario.scheme[..at].iter().position(|other| other.name == *name);
    ensure(before.is_none(), "name", || {
        format!(
            "`name` = \"{name}\" is the name of another scheme: their results would have the same name"
        )
    })
}

/// Checks that a queue has room for a full packet. Otherwise flows never end.
fn holds_a_packet(queue: &QueueSpec, packet: u64) -> Fit {
    let holds = |key: &str, room: Bytes| {
        ensure(room.0 >= packet, &format!("queue.{key}"), || {
            format!(
                "`{key}` is {room}, but a full packet of the transport has {packet}B on the wire"
            )
        })
    };
    if let Policy::Avq(avq) = &queue.policy
        && !avq.ecn
    {
        holds("size", avq.size)?;
    }
    holds("limit", queue.limit)
}

fn scheme(scheme: &SchemeSpec) -> Fit {
    scheme.queue.validate().map_err(|e| e.within("queue"))?;
    let transport = scheme.transport.build().map_err(|e| e.within("transport"))?;
    holds_a_packet(&scheme.queue, transport.data_len(transport.mss()).into())?;
    scheme.control.build().map_err(|e| e.within("control"))?;
    routing(scheme)?;
    bumps::scheme(scheme)?;
    ensure((0.0..=1.0).contains(&scheme.control_loss), "control-loss", || {
        format!("`control-loss` is {}; it is a share, from 0 to 1", scheme.control_loss)
    })?;
    let by_bump = scheme.bump.as_ref().is_some_and(BumpSpec::marks);
    let marked = by_bump || scheme.queue.policy.marks();
    let blind = scheme.transport.kind == AlgorithmKind::Dctcp && !marked;
    ensure(!blind, "queue", || {
        "`queue` never marks packets, but `dctcp` needs marks: use \
         queue = { kind = \"ecn\", threshold = \"22.5KB\" }, or \"red\" with ecn = true"
            .into()
    })?;
    let lossless = scheme.queue.pfc.as_ref().map(|pfc| &pfc.classes[..]);
    if let Some(class) = scheme.control.scheduled_class() {
        return ensure(lossless.is_none_or(|classes| classes == [class]), "queue.pfc", || {
            format!(
                "under fastpass all packets but messages have class {class}: classes = [{class}]"
            )
        });
    }
    let pauses_control = !matches!(scheme.control, ControlSpec::None {})
        && lossless.is_some_and(|classes| classes.contains(&CONTROL_CLASS));
    ensure(!pauses_control, "queue.pfc", || {
        format!(
            "`pfc` would pause the scheduler's own messages (class {CONTROL_CLASS}): \
             list the other classes, for example classes = [0]"
        )
    })
}

/// Checks that the keys about paths have an effect.
fn routing(scheme: &SchemeSpec) -> Fit {
    let flowlets = scheme.routing == RoutingSpec::Flowlet;
    ensure(scheme.flowlet_gap.is_none() || flowlets, "flowlet-gap", || {
        "`flowlet-gap` does nothing: it needs routing = \"flowlet\"".into()
    })?;
    ensure(scheme.flowlet_gap != Some(Time::ZERO), "flowlet-gap", || {
        "`flowlet-gap` is 0: to select a path for each packet, use routing = \"spray\"".into()
    })?;
    let own = matches!(scheme.routing, RoutingSpec::Ecmp | RoutingSpec::Pinned);
    let one_way =
        matches!(scheme.routing, RoutingSpec::Ecmp | RoutingSpec::Shortest | RoutingSpec::TwoLevel);
    let (fits, why) = match scheme.control {
        ControlSpec::Hedera(_) | ControlSpec::FlowScheduler(_) => (
            own,
            "under hedera and flow-scheduler, hashes route small flows and the scheduler routes large ones: \
             leave `routing` out",
        ),
        ControlSpec::Fastpass(_) => {
            (own, "under fastpass the arbiter gives each packet its path: leave `routing` out")
        }
        ControlSpec::Custom(ref spec) if !spec.is_scheduler() => (true, ""),
        ControlSpec::Xco(_) | ControlSpec::Tdma(_) | ControlSpec::Custom(_) => (
            one_way,
            "under xco and tdma all packets between two hosts must take one path, which the scheduler knows: use \
             routing = \"ecmp\", \"shortest\", or \"two-level\"",
        ),
        ControlSpec::None {} | ControlSpec::Circuits(_) => (true, ""),
    };
    ensure(fits, "routing", || why.into())
}

/// Checks that the fabric suits the central scheme.
fn central(scheme: &SchemeSpec, graph: &Graph) -> Fit {
    // Faults of the options alone are found without a fabric.
    let system = scheme.control.build().unwrap_or_default();
    system.map_or(Ok(Vec::new()), |system| system.stations(graph)).map(drop)
}

/// The names of all schemes' controllers.
fn stations(schemes: &[SchemeSpec], graph: &Graph) -> Vec<String> {
    let systems = schemes.iter().filter_map(|scheme| scheme.control.build().ok().flatten());
    let mut names: Vec<String> =
        systems.flat_map(|s| s.stations(graph).unwrap_or_default()).map(|s| s.name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn event(event: &EventSpec, graph: &Graph, stations: &[String], end: Option<Time>) -> Fit {
    let end = end.unwrap_or(Time::MAX);
    ensure(event.at <= end, "at", || {
        format!("`at` is {}, but the run ends at {end}: it would not happen", event.at)
    })?;
    ensure(event.last() <= end, "times", || {
        format!(
            "`times` is {}: the last is at {}, but the run ends at {end}",
            event.times,
            event.last()
        )
    })?;
    match &event.kind {
        EventKind::LinkDown { link } | EventKind::LinkUp { link } => known_link(graph, link),
        EventKind::SwitchDown { switch } | EventKind::SwitchUp { switch } => {
            known_switch(graph, switch)
        }
        EventKind::ControllerDown { controller } | EventKind::ControllerUp { controller } => {
            ensure(stations.contains(controller), "controller", || match stations {
                [] => "no scheme of this scenario has a controller".into(),
                _ => format!(
                    "`controller` = \"{controller}\" is in no scheme; there are: {}",
                    stations.join(", ")
                ),
            })
        }
        EventKind::Leave { host } | EventKind::Join { host } => known_host(graph, host),
        EventKind::Rate { link, rate } => {
            ensure(*rate > Rate(0), "rate", || {
                "`rate` is 0: use kind = \"link-down\" for a link that carries nothing".into()
            })?;
            ensure(*rate <= FASTEST, "rate", || {
                format!("`rate` = {rate}: no link has more than {FASTEST}")
            })?;
            known_link(graph, link)
        }
    }
}

fn known_link(graph: &Graph, link: &str) -> Fit {
    let name = |end: End| graph.nodes[end.node.at()].name.as_str();
    let both = |link: &Link| [(link.a, link.b), (link.b, link.a)];
    ensure(!graph.links_named(link).is_empty(), "link", || {
        let all = graph.links.iter().rev().flat_map(both);
        let names: Vec<String> = all.map(|(a, b)| format!("{}-{}", name(a), name(b))).collect();
        // Prefer links at a node that `link` names. Links to a scheduler of circuits never fail.
        let named = |name: &&String| name.split('-').any(|end| link.split('-').any(|it| it == end));
        let fails = |name: &&String| !name.split('-').any(|end| end == "scheduler");
        let mut near: Vec<&String> = names.iter().filter(fails).filter(named).collect();
        if near.is_empty() {
            near = names.iter().filter(fails).collect();
        }
        let mut known = BTreeSet::new();
        near.retain(|name| known.insert(*name));
        let some: Vec<String> =
            near.iter().step_by(2).take(3).map(|name| format!("`{name}`")).collect();
        format!(
            "`link` = \"{link}\" is not in this fabric: write the names of its two ends, for example {}{}",
            some.join(", "),
            perhaps(link, &names)
        )
    })
}

fn known_switch(graph: &Graph, switch: &str) -> Fit {
    let switches = graph.nodes.iter().filter(|node| node.kind == NodeKind::Switch);
    let names: Vec<String> = switches.map(|node| node.name.clone()).collect();
    ensure(names.iter().any(|name| name == switch), "switch", || {
        let some: Vec<String> = names.iter().take(6).map(|name| format!("`{name}`")).collect();
        format!(
            "`switch` = \"{switch}\" is not in this fabric: switches here are called {}{}",
            some.join(", "),
            perhaps(switch, &names)
        )
    })
}

fn known_host(graph: &Graph, host: &str) -> Fit {
    let names: Vec<String> =
        graph.hosts.iter().map(|node| graph.nodes[node.at()].name.clone()).collect();
    ensure(names.iter().any(|name| name == host), "host", || {
        let some: Vec<String> = names.iter().take(3).map(|name| format!("`{name}`")).collect();
        format!(
            "`host` = \"{host}\" is not in this fabric: hosts here are called {}{}",
            some.join(", "),
            perhaps(host, &names)
        )
    })
}

/// Suggests the nearest of `names`, if it is similar to `given`.
pub(super) fn perhaps(given: &str, names: &[String]) -> String {
    let near = nearest(given, names.iter().map(String::as_str));
    near.map_or(String::new(), |name| format!("; did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::topology::{TopologySpec, TreeSpec};

    /// Links side by side have one name, which is suggested once.
    #[test]
    fn suggested_links_differ() {
        let spec = TreeSpec { nics: 2, ..TreeSpec::new(1, 3) };
        let graph = TopologySpec::Tree(spec).build().expect("a tree");
        let message = known_link(&graph, "h1-tor9").expect_err("no link").to_string();
        assert!(message.contains("for example `h1-tor0`; did you mean `h1-tor0`?"), "{message}");
    }
}
