//! Describes the flow-level engine and what it costs.

use super::several;
use super::survey::Survey;
use crate::output::format::quantity;
use slotline_net::time::Time;
use slotline_net::units::Rate;
use slotline_scenario::metric::Unit;
use slotline_scenario::{EngineSpec, RatesSpec};

/// The engine, where it is not the usual one.
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

/// Nanoseconds for a flow that shares its links with few others; with many it is some hundred times
/// that (docs/performance.md).
const FLOW_NS: f64 = 10_000.0;

pub(super) fn cost(survey: &Survey<'_>) -> Vec<String> {
    let scenario = survey.scenario;
    let runs = scenario.scheme.len() as u64 * u64::from(scenario.repeat);
    let flows = survey.flows();
    let seconds = runs as f64 * flows as f64 * FLOW_NS * 1e-9;
    vec![format!(
        "{} with {} each take about {} of processor time where few flows share a link, and up to some \
         hundred times as much where dozens do.",
        several(runs, "run"),
        several(flows, "flow"),
        quantity(Unit::Seconds, seconds)
    )]
}
