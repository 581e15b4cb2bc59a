//! Checks of a scenario's bumps and notifications.

use super::spec::SchemeSpec;
use crate::port_names::{bump_ports, limiter_ports, switch_ports_named};
use slotline_net::error::SpecError;
use slotline_net::node::bump::{BumpSpec, Sharing};
use slotline_net::topology::{Graph, NodeKind};
use slotline_schemes::ControlSpec;

type Fit = Result<(), SpecError>;

fn ensure(holds: bool, key: &str, why: impl FnOnce() -> String) -> Fit {
    if holds { Ok(()) } else { Err(SpecError::new(key, why())) }
}

/// Checks of a single scheme that do not need the fabric.
pub(super) fn scheme(scheme: &SchemeSpec) -> Fit {
    if let Some(bump) = &scheme.bump {
        bump.validate().map_err(|e| e.within("bump"))?;
    }
    if let Some(reaction) = &scheme.reaction {
        ensure(scheme.notifies(), "reaction", || {
            "`reaction` does nothing: no queue notifies hosts; use queue = \"qcn\", or bump = { queue = \"qcn\" }"
                .into()
        })?;
        reaction.validate().map_err(|e| e.within("reaction"))?;
    }
    let alone = matches!(scheme.control, ControlSpec::None {});
    ensure(alone || !scheme.notifies(), "control", || {
        "a host's reaction point and a scheduler's agent would both hold packets back: \
         leave `control` or the queues of kind \"qcn\" out"
            .into()
    })?;
    let paused = scheme.queue.pfc.is_some();
    ensure(!paused || !scheme.notifies(), "queue.pfc", || {
        "a host's reaction point does not obey pause frames: leave `pfc` or the queues of kind \"qcn\" out"
            .into()
    })
}

/// Checks that need the fabric.
pub(super) fn on_fabric(scheme: &SchemeSpec, graph: &Graph) -> Fit {
    if let Some(bump) = &scheme.bump {
        places(bump, graph)?;
    }
    let several = || {
        let mut links = vec![0u32; graph.nodes.len()];
        graph.links.iter().flat_map(|link| link.ends()).for_each(|end| links[end.node.at()] += 1);
        graph.hosts.iter().any(|host| links[host.at()] > 1)
    };
    ensure(!scheme.notifies() || !several(), "queue", || {
        "hosts of this fabric have several network cards, which one reaction point cannot limit"
            .into()
    })
}

/// Checks that each name in `at` is a port of a switch.
fn named(at: &[String], key: &str, graph: &Graph) -> Fit {
    at.iter().enumerate().try_for_each(|(n, name)| {
        ensure(switch_ports_named(graph, name).next().is_some(), &format!("{key}[{n}]"), || {
            let switch = graph.nodes.iter().find(|node| node.kind == NodeKind::Switch);
            let example = switch.map_or("s1-s0".into(), |node| format!("{}-…", node.name));
            format!("`at` has \"{name}\": write a switch and its neighbour, for example {example}")
        })
    })
}

fn places(bump: &BumpSpec, graph: &Graph) -> Fit {
    named(&bump.at, "bump.at", graph)?;
    if let Some(reaction) = &bump.reaction {
        named(&reaction.at, "bump.reaction.at", graph)?;
        ensure(!limiter_ports(bump, graph).is_empty(), "bump.reaction.at", || {
            "no switch of this fabric has a host: name the ports that limit flows in `at`".into()
        })?;
    }
    let all =
        bump.also.iter().enumerate().map(|(at, one)| (format!("also[{at}].flows"), &one.flows));
    let hosts = graph.hosts.len() as u32;
    for (place, flows) in all.chain([("flows".into(), &bump.flows)]) {
        let missing = flows.missing(hosts);
        ensure(
            missing.is_none(),
            &format!("bump.{place}.{}", missing.map_or("to", |one| one.0)),
            || {
                format!(
                    "there is no host {}: there are {hosts} hosts",
                    missing.map_or(0, |one| one.1)
                )
            },
        )?;
    }
    let ends = bump_ports(bump, graph);
    ensure(!ends.is_empty(), "bump.at", || {
        "no two switches of this fabric are connected: name the ports that have bumps in `at`, for example \
         at = [\"s0-h0\"]"
            .into()
    })?;
    let several = ends.windows(2).any(|pair| pair[0].node == pair[1].node);
    ensure(several || bump.sharing == Sharing::Table, "bump.sharing", || {
        "`sharing` does nothing: no switch has more than one bump".into()
    })
}
