//! Checks whether the periods of central schemes fit the network and the traffic of a scenario, and computes the values
//! for `scale = "auto"`.

use crate::spec::{EndWhen, Scenario, SchemeSpec, written};
use slotline_net::scheme::{Conditions, Proposal, System};
use slotline_net::time::Time;
use slotline_net::topology::{Graph, NodeKind, Wire, Wiring};
use slotline_net::transport::Transport;
use slotline_net::units::Rate;
use slotline_net::workload::{Role, Start, Traffic};
use slotline_schemes::{ControlSpec, Setting};
use std::cell::LazyCell;
use std::collections::VecDeque;

/// The properties of a flow that periods have to fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowSize {
    /// The number of its source.
    pub src: u32,
    /// The number of its destination.
    pub dst: u32,
    /// Payload bytes.
    pub bytes: u64,
    /// When it starts, if that is known.
    pub start: Time,
}

/// The flows of `traffic`, without requests.
pub fn flow_sizes(traffic: &Traffic) -> Vec<FlowSize> {
    let wanted = traffic.flows.iter().filter(|flow| !matches!(flow.role, Role::Request(_)));
    let size = |flow: &slotline_net::workload::Flow| {
        let conn = &traffic.conns[flow.conn.at()];
        let start = match flow.start {
            Start::At(time) => time,
            Start::After { .. } => Time::ZERO,
        };
        FlowSize { src: conn.src.0, dst: conn.dst.0, bytes: flow.bytes, start }
    };
    wanted.map(size).collect()
}

/// How long a run of `scenario` takes at most.
pub fn longest_run(scenario: &Scenario) -> Time {
    scenario.end.at.unwrap_or(Time::MAX)
}

/// The proposals for each scheme under traffic with these flows, on `graph`. A run ends at `end` at the latest.
pub fn proposals(
    scenario: &Scenario,
    graph: &Graph,
    flows: &[FlowSize],
    end: Time,
) -> Vec<Vec<Proposal>> {
    // Most scenarios have no scheme that needs it.
    let survey = LazyCell::new(|| Survey::of(graph, flows));
    let by_time = scenario.end.when == EndWhen::Time;
    let of = |scheme: &SchemeSpec| {
        let system = system(scenario, scheme)?;
        let transport = scheme.transport.build().ok()?;
        let own = scheme.fabric.as_ref().map(|fabric| fabric.build()).transpose().ok()?;
        let own = own.as_ref().map(|graph| Survey::of(graph, flows));
        let survey = own.as_ref().unwrap_or_else(|| &survey);
        let conditions = survey.conditions(&transport, end, by_time)?;
        Some(system.proposals(&conditions))
    };
    scenario.scheme.iter().map(|scheme| of(scheme).unwrap_or_default()).collect()
}

/// The central scheme of `scheme` on the fabric of `scenario`; `None` without one, or if it cannot be built.
pub fn system(scenario: &Scenario, scheme: &SchemeSpec) -> Option<Box<dyn System>> {
    let setting = Setting {
        fabric: scenario.fabric_of(scheme),
        voq: scheme.voq.unwrap_or_default(),
        workloads: &scenario.workload,
        loss: scheme.control_loss,
        seed: scenario.seed.into(),
        crew: None,
    };
    scheme.control.system(&setting).ok().flatten()
}

/// The periods that do not fit, in a sentence for each reason.
pub fn misfits(scheme: &str, proposals: &[Proposal]) -> Vec<String> {
    let wrong: Vec<&Proposal> = proposals.iter().filter(|proposal| !proposal.is_fit()).collect();
    let sentence = |some: &[&Proposal]| {
        let given: Vec<String> =
            some.iter().map(|p| format!("{} = \"{}\"", p.key, p.given)).collect();
        let fits: Vec<String> =
            some.iter().map(|p| format!("{} = \"{}\"", p.key, p.proposed)).collect();
        let (values, it) = if some.len() == 1 {
            ("A value that fits is", "it")
        } else {
            ("Values that fit are", "them")
        };
        format!(
            "{scheme}: {} does not fit: {}. {values} {}; scale = \"auto\" takes {it}.",
            given.join(", "),
            some[0].because,
            fits.join(", ")
        )
    };
    wrong.chunk_by(|a, b| a.because == b.because).map(sentence).collect()
}

/// `control` with the proposed values of all keys that are not given, and without `scale`; `None` if it has no `scale`.
/// The second value lists the keys that were set.
pub(crate) fn scaled(
    control: &ControlSpec,
    proposals: &[Proposal],
    is_given: impl Fn(&str) -> bool,
) -> Option<(ControlSpec, Vec<String>)> {
    let mut table = written(control)?;
    let keys = table.as_table_mut()?;
    keys.remove("scale")?;
    let mut set = vec![];
    for Proposal { key, proposed, .. } in proposals.iter().filter(|p| !is_given(p.key)) {
        keys.insert((*key).into(), toml::Value::String(proposed.to_string()));
        set.push(format!("{key} = \"{proposed}\""));
    }
    Some((table.try_into().ok()?, set))
}

/// Whether `control` has `scale = "auto"`.
pub(crate) fn is_scaled(control: &ControlSpec) -> bool {
    let table = written(control);
    table.is_some_and(|table| table.get("scale").is_some())
}

/// The data from which [`Conditions`] are computed, apart from the transport.
struct Survey {
    hosts: u32,
    rate: Rate,
    /// The links from the first host to the farthest one.
    path: Vec<Wire>,
    /// Sizes of flows, sorted.
    sizes: Vec<u64>,
    last_start: Time,
    /// The most bytes that a host sends or receives.
    busiest: u128,
}

impl Survey {
    fn of(graph: &Graph, flows: &[FlowSize]) -> Survey {
        let wiring = graph.wiring();
        let links = graph.hosts.iter().filter_map(|host| wiring.of(*host).first());
        let rate = links.map(|wire| wire.lane.rate).min().unwrap_or_default();
        let mut sizes: Vec<u64> = flows.iter().map(|flow| flow.bytes).collect();
        sizes.sort_unstable();
        let mut sums = vec![(0u128, 0u128); graph.hosts.len()];
        for flow in flows {
            sums[flow.src as usize].0 += u128::from(flow.bytes);
            sums[flow.dst as usize].1 += u128::from(flow.bytes);
        }
        Survey {
            hosts: graph.hosts.len() as u32,
            rate,
            path: longest_path(graph, &wiring),
            sizes,
            last_start: flows.iter().map(|flow| flow.start).max().unwrap_or_default(),
            busiest: sums.into_iter().map(|(out, into)| out.max(into)).max().unwrap_or(0),
        }
    }
    /// `None` without flows.
    fn conditions(&self, transport: &Transport, end: Time, by_time: bool) -> Option<Conditions> {
        let packet = u64::from(transport.data_len(transport.mss()));
        let trip = |wire: &Wire| {
            let pace = wire.lane.rate.inverse_rate();
            let both = packet + u64::from(transport.ack_len());
            wire.lane.delay.times(2).after(pace.time_for(both))
        };
        let round_trip = self.path.iter().map(trip).fold(Time::ZERO, Time::after);
        let seconds = |bytes: f64| bytes * 8.0 / self.rate.0.max(1) as f64;
        let alone = |bytes: u64| {
            let whole = (seconds(bytes as f64) + round_trip.as_secs_f64()).min(end.as_secs_f64());
            Time::from_secs_f64(whole)
        };
        let work = Time::from_secs_f64(seconds(self.busiest as f64).min(end.as_secs_f64()));
        Some(Conditions {
            hosts: self.hosts,
            rate: self.rate,
            packet,
            round_trip,
            flow: alone(*self.sizes.get(self.sizes.len() / 2)?),
            large_flow: alone(median_byte(&self.sizes)?),
            run: match by_time {
                true => end,
                false => work.max(self.last_start).after(round_trip).min(end),
            },
        })
    }
}

/// The size of the flow with the median byte.
fn median_byte(sizes: &[u64]) -> Option<u64> {
    let all: u128 = sizes.iter().map(|size| u128::from(*size)).sum();
    let mut sum = 0;
    sizes.iter().copied().find(|size| {
        sum += u128::from(*size);
        sum * 2 >= all
    })
}

/// The links of a shortest path from the first host to one of the farthest.
fn longest_path(graph: &Graph, wiring: &Wiring) -> Vec<Wire> {
    let mut from: Vec<Option<(usize, Wire)>> = vec![None; graph.nodes.len()];
    let Some(first) = graph.hosts.first() else { return vec![] };
    let mut next = VecDeque::from([*first]);
    let mut farthest = *first;
    while let Some(node) = next.pop_front() {
        if graph.nodes[node.at()].kind == NodeKind::Host {
            farthest = node;
        }
        for wire in wiring.of(node) {
            let far = wire.far.node;
            if far != *first && from[far.at()].is_none() {
                from[far.at()] = Some((node.at(), *wire));
                next.push_back(far);
            }
        }
    }
    let mut path = vec![];
    let mut at = farthest.at();
    while let Some((before, wire)) = from[at] {
        path.push(wire);
        at = before;
    }
    path
}

#[cfg(test)]
mod tests {
    use crate::Scenario;
    use slotline_net::time::Time;
    use std::path::Path;

    fn loaded(control: &str) -> crate::Loaded {
        let text = format!(
            "name = \"fit\"\nend = {{ at = \"1s\" }}\n\
             fabric = {{ kind = \"fat-tree\", k = 4, rate = \"1Gbps\", delay = \"1us\" }}\n\
             [[workload]]\nkind = \"random-bijective\"\nsize = \"1MB\"\n\
             [[scheme]]\nname = \"new\"\ncontrol = {control}\n"
        );
        Scenario::parse(Path::new("fit.toml"), text).expect("a scenario")
    }

    #[test]
    fn a_poll_of_seconds_does_not_fit_flows_of_milliseconds() {
        let found = loaded("\"hedera\"").misfits();
        assert!(found[0].starts_with("new: poll = \"5s\", "), "{found:?}");
        assert!(found[0].contains("Values that fit are poll = \"810us\""), "{found:?}");
        let fits = loaded(
            "{ kind = \"hedera\", poll = \"800us\", gather = \"80us\", computing = \"80us\", install = \"80us\" }",
        );
        assert!(fits.misfits().is_empty(), "{:?}", fits.misfits());
        assert!(loaded("\"none\"").misfits().is_empty());
    }

    #[test]
    fn auto_sets_what_is_not_given_and_resolves_to_numbers() {
        for kind in ["hedera", "flow-scheduler", "xco", "tdma", "fastpass"] {
            let scaled = loaded(&format!("{{ kind = \"{kind}\", scale = \"auto\" }}"));
            assert!(scaled.misfits().is_empty(), "{kind}: {:?}", scaled.misfits());
            let resolved = scaled.resolved();
            assert!(!resolved.contains("scale"), "{resolved}");
            let again = Scenario::parse(Path::new("again.toml"), resolved.clone());
            assert_eq!(again.expect("what was resolved").resolved(), resolved);
            assert!(scaled.notes.iter().any(|note| note.contains("scale = \"auto\"")), "{kind}");
        }
        let partly = loaded("{ kind = \"hedera\", scale = \"auto\", poll = \"3ms\" }");
        assert!(partly.resolved().contains("poll = \"3ms\""), "{}", partly.resolved());
        assert!(!partly.resolved().contains("computing = \"100ms\""), "{}", partly.resolved());
    }

    #[test]
    fn auto_does_not_depend_on_the_seed() {
        let mut one = loaded("{ kind = \"tdma\", scale = \"auto\" }");
        let before = one.scenario.scheme.clone();
        one.reseed(Some(7), None).expect("another seed");
        assert_eq!(one.scenario.scheme, before);
        assert_eq!(super::longest_run(&one.scenario), Time::s(1));
    }

    #[test]
    fn auto_without_a_period_is_refused() {
        let text = "name = \"fixed\"\nend = { at = \"1ms\" }\n\
             fabric = { kind = \"hybrid\", racks = 2, hosts-per-rack = 1, circuits = { switches = 1, rate = \"10Gbps\" } }\n\
             [[workload]]\nkind = \"bulk\"\nsenders = \"0\"\nreceivers = \"1\"\n\
             [[scheme]]\nname = \"new\"\n\
             control = { kind = \"circuits\", scheduler = \"fixed\", schedule = \"1 180 1/0\", scale = \"auto\" }\n";
        let refused =
            Scenario::parse(Path::new("fixed.toml"), text.into()).unwrap_err().to_string();
        assert!(refused.contains("`scale` does nothing"), "{refused}");
    }
}
