//! Checks that a scheme's routing fits its fabric.

use super::spec::{Scenario, SchemeSpec};
use slotline_net::error::SpecError;
use slotline_net::route::RoutingSpec;
use slotline_net::route::two_level::Plan;
use slotline_net::time::Time;
use slotline_net::topology::{Graph, NodeKind, TopologySpec};

type Fit = Result<(), SpecError>;

/// The errors in the routing of all schemes, each with the path of its key.
pub(super) fn check(scenario: &Scenario, graph: &Graph) -> Vec<Fit> {
    let one = |(at, scheme): (usize, &SchemeSpec)| {
        fits(&scenario.fabric, scheme)
            .and_then(|()| classifies(scheme))
            .and_then(|()| recovers(scheme, graph))
            .map_err(|e| e.within(format_args!("scheme[{at}]")))
    };
    let schemes = scenario.scheme.iter().enumerate().map(one);
    schemes.chain([rerouted(scenario)]).collect()
}

/// Checks that two-level routing fits the fabric, which has to be a fat-tree.
fn fits(fabric: &TopologySpec, scheme: &SchemeSpec) -> Fit {
    if scheme.routing == RoutingSpec::TwoLevel {
        Plan::of(fabric).map_err(|error| {
            let message = format!("`routing` = \"two-level\" does not fit: {}", error.message);
            SpecError::new("routing", message)
        })?;
    }
    Ok(())
}

/// Checks the options of classifying switches.
fn classifies(scheme: &SchemeSpec) -> Fit {
    let Some(spec) = &scheme.classifier else { return Ok(()) };
    if scheme.routing != RoutingSpec::Classifier {
        let message = "`classifier` does nothing: it needs routing = \"classifier\"";
        return Err(SpecError::new("classifier", message));
    }
    spec.check().map_err(|e| e.within("classifier"))
}

/// Checks `recovery`. Switches that detect failures themselves need hosts that are attached to one switch.
fn recovers(scheme: &SchemeSpec, graph: &Graph) -> Fit {
    let Some(spec) = &scheme.recovery else { return Ok(()) };
    spec.check().map_err(|e| e.within("recovery"))?;
    let ports = graph.ports();
    let several = graph.nodes.iter().zip(&ports).find(|(n, p)| n.kind == NodeKind::Host && **p > 1);
    several.map_or(Ok(()), |(host, ports)| {
        let message = format!(
            "`recovery` is for hosts with one card, but `{}` has {ports}: leave it out, or give each \
             host one",
            host.name
        );
        Err(SpecError::new("recovery", message))
    })
}

/// Refuses `reroute-after` if the switches of all schemes detect failures themselves.
fn rerouted(scenario: &Scenario) -> Fit {
    let all = scenario.scheme.iter().all(|scheme| scheme.recovery.is_some());
    let rerouted = scenario.event.iter().position(|event| event.reroute_after > Time::ZERO);
    match rerouted {
        Some(at) if all && !scenario.scheme.is_empty() => Err(SpecError::new(
            format!("event[{at}].reroute-after"),
            "`reroute-after` does nothing: all schemes have `recovery`, and detect failures themselves",
        )),
        _ => Ok(()),
    }
}
