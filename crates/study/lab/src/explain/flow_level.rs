//! Describes the flow-level engine and what it costs.

use super::several;
use super::survey::Survey;
use crate::output::format::quantity;
use slotline_net::time::Time;
use slotline_net::units::Rate;
use slotline_scenario::metric::Unit;
use slotline_scenario::{EngineSpec, RatesSpec};

/// The engine, if it is not the packet engine.
pub(super) fn sentences(engine: &EngineSpec) -> Vec<String> {
    let EngineSpec::Flow(spec) = engine else { return vec![] };
    let rates = match spec.rates {
        RatesSpec::MaxMin if spec.weights.is_empty() => {
            "Rates are max-min fair at any moment.".into()
        }
        RatesSpec::MaxMin => {
            format!("Rates are max-min fair at any moment, weighted by class: {:?}.", spec.weights)
        }
        RatesSpec::Aimd => format!(
            "Rates follow TCP's slow start and saw-tooth: every {}, rates of flows with spare capacity on \
             their path grow, by {} after slow start, and the other rates are halved.",
            super::span(spec.tick.unwrap_or(Time::us(100))),
            super::survey::rate(spec.increase.unwrap_or(Rate(120_000_000)))
        ),
    };
    let fluid = "Flows are fluids: there are no packets, queues or losses.";
    vec![fluid.into(), rates]
}

/// Nanoseconds for a flow that shares its links with few others: no link is offered nearly all that it can carry.
const FLOW_NS: f64 = 3_500.0;
/// Nanoseconds for a flow at most: hundreds of flows wait for the same links, so that each start and end changes the
/// rates of many. Measured on a star and a leaf-spine network that are offered more than they carry.
const CROWDED_NS: f64 = 160_000.0;
/// Flows accumulate when the busiest link is offered at least this share of what it carries.
const CROWDED: f64 = 0.85;

pub(super) fn cost(survey: &Survey<'_>, slower: f64) -> Vec<String> {
    let scenario = survey.scenario;
    let runs = scenario.scheme.len() as u64 * u64::from(scenario.repeat);
    let flows = survey.flows();
    let takes = |ns: f64| quantity(Unit::Seconds, runs as f64 * flows as f64 * ns * slower * 1e-9);
    let count = format!("{} with {} each", several(runs, "run"), several(flows, "flow"));
    vec![match is_crowded(survey) {
        false => format!("{count} take about {} of processor time.", takes(FLOW_NS)),
        true => format!(
            "{count} take from {} to {} of processor time: the busiest link is offered nearly all that it carries, or \
             more, and time grows with the number of flows that wait for the same links.",
            takes(FLOW_NS),
            takes(CROWDED_NS)
        ),
    }]
}

/// Whether the busiest link has work for most of the run, so that flows accumulate there.
fn is_crowded(survey: &Survey<'_>) -> bool {
    let busy = survey.busiest().map_or(0.0, |link| link.busy().as_secs_f64());
    busy >= CROWDED * survey.lasts().as_secs_f64()
}
