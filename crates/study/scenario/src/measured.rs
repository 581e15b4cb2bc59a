//! The check of what a scenario measures.

use super::check::{Fit, ensure, perhaps};
use super::spec::MeasureSpec;
use crate::metric::Metric;
use crate::port_names::{ports_named, switch_ports_named};
use crate::quantity::Values;
use slotline_net::error::SpecError;
use slotline_net::time::Time;
use slotline_net::topology::{End, Graph, NodeKind};
use slotline_net::workload::{Carrier, Traffic};

/// More samples would fill the memory without adding information.
const MOST_SAMPLES: u64 = 10_000_000;

/// More packets of one port than this would not fit into the memory of most machines.
const MOST_CAPTURED: u64 = 100_000_000;

pub(super) fn measure(spec: &MeasureSpec, end: Option<Time>) -> Fit {
    let end = end.unwrap_or(Time::MAX);
    let until = spec.until.unwrap_or(end);
    ensure(spec.warmup < end, "measure.warmup", || {
        format!("`warmup` is {}, but the run ends at {end}: nothing would count", spec.warmup)
    })?;
    ensure(spec.warmup < until, "measure.until", || {
        format!("`until` is {until}: it has to be later than `warmup`, {}", spec.warmup)
    })?;
    if let Some(sample) = spec.sample {
        ensure(sample > Time::ZERO, "measure.sample", || {
            "`sample` is 0: for example \"10us\"".into()
        })?;
        let samples = if end == Time::MAX { 0 } else { end.as_ps() / sample.as_ps() };
        ensure(samples <= MOST_SAMPLES, "measure.sample", || {
            format!("`sample` is {sample}: {samples} samples per port; at most {MOST_SAMPLES}")
        })?;
    }
    let shown = |metrics: &[Metric]| spec.metrics.iter().find(|m| metrics.contains(m)).copied();
    let slowdown = shown(&[Metric::SlowdownMean, Metric::SlowdownP99]).filter(|_| !spec.ideal);
    let queue = shown(&[Metric::QueueP50, Metric::QueueP99]).filter(|_| spec.sample.is_none());
    slowdown.map_or(Ok(()), |m| lacks(m, "ideal = true"))?;
    queue.map_or(Ok(()), |m| lacks(m, "an interval for samples, for example sample = \"10us\""))
}

pub(super) fn ports(spec: &MeasureSpec, graph: &Graph) -> Fit {
    for (at, port) in spec.ports.iter().enumerate() {
        let known = switch_ports_named(graph, port).next().is_some();
        ensure(known, &format!("measure.ports[{at}]"), || {
            format!(
                "`ports` has \"{port}\": write a switch and its neighbour, for example {}{}",
                some_ports(graph),
                perhaps(port, &port_names(graph))
            )
        })?;
    }
    ensure(spec.ports.is_empty() || spec.sample.is_some(), "measure.ports", || {
        "`ports` needs an interval for samples, for example sample = \"10us\"".into()
    })
}

/// The ports of quantities exist, and are sampled if samples are needed.
pub(super) fn quantity_ports(spec: &MeasureSpec, graph: &Graph) -> Fit {
    for (at, quantity) in spec.quantity.iter().enumerate() {
        let Some(port) = &quantity.port else { continue };
        let key = format!("measure.quantity[{at}].port");
        ensure(ports_named(graph, port).next().is_some(), &key, || {
            let known = port_names(graph);
            format!(
                "there is no port \"{port}\": write a node and its neighbour, for example {}{}",
                some_ports(graph),
                perhaps(port, &known)
            )
        })?;
        let needed = quantity.values.is_some_and(Values::is_sampled);
        ensure(!needed || spec.ports.is_empty() || spec.ports.contains(port), &key, || {
            format!("\"{port}\" is not sampled: add it to `ports` of `measure`")
        })?;
    }
    Ok(())
}

pub(super) fn capture(spec: &MeasureSpec, graph: &Graph) -> Fit {
    for (at, port) in spec.capture.iter().enumerate() {
        let known = ports_named(graph, port).next().is_some();
        ensure(known, &format!("measure.capture[{at}]"), || {
            format!(
                "`capture` has \"{port}\": write a node and its neighbour, for example {}",
                some_ports(graph)
            )
        })?;
    }
    ensure((1..=MOST_CAPTURED).contains(&spec.capture_limit), "measure.capture-limit", || {
        format!(
            "`capture-limit` is {}: it has to be 1 to {MOST_CAPTURED} packets",
            spec.capture_limit
        )
    })?;
    let limits_nothing =
        spec.capture.is_empty() && spec.capture_limit != MeasureSpec::CAPTURE_LIMIT;
    ensure(!limits_nothing, "measure.capture-limit", || {
        "`capture-limit` limits nothing: name ports in `capture`, for example capture = [\"s0-h0\"]"
            .into()
    })
}

fn some_ports(graph: &Graph) -> String {
    let names = port_names(graph);
    names.iter().take(3).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn port_names(graph: &Graph) -> Vec<String> {
    let name = |end: End| &graph.nodes[end.node.at()].name;
    let ends = graph.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]);
    let of_switch = ends.filter(|(near, _)| graph.nodes[near.node.at()].kind == NodeKind::Switch);
    of_switch.map(|(near, far)| format!("{}-{}", name(near), name(far))).collect()
}

/// Checks that the flows to follow exist and have acknowledgements.
pub(super) fn followed(spec: &MeasureSpec, traffic: &Traffic) -> Fit {
    let flows = traffic.flows.len();
    for (at, &number) in spec.follow.iter().enumerate() {
        let key = format!("measure.follow[{at}]");
        let flow = traffic.flows.get(number as usize).ok_or_else(|| {
            SpecError::new(
                &key,
                format!("`follow` has {number}: there are {flows} flows, numbered from 0"),
            )
        })?;
        ensure(traffic.conns[flow.conn.at()].carrier == Carrier::Tcp, &key, || {
            format!(
                "`follow` has {number}, which is a stream of datagrams: only TCP flows can be followed"
            )
        })?;
    }
    Ok(())
}

fn lacks(metric: Metric, what: &str) -> Fit {
    Err(SpecError::new("measure.metrics", format!("`{}` needs {what}", metric.key())))
}
