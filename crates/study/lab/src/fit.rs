//! Whether the central schemes of a set of runs acted, and whether their periods fit the traffic that there was.

use crate::output::format::grouped;
use crate::record::{FlowRow, RunRecord, RunSet};
use slotline_net::node::Counter;
use slotline_net::scheme::Deeds;
use slotline_net::time::Time;
use slotline_scenario::fit::{self, FlowSize};
use slotline_scenario::{Scenario, SchemeSpec};
use slotline_schemes::counters::net;

/// What bumps do, beside estimating.
const OF_BUMPS: [Counter; 3] = [net::BUMP_MARKS, net::BUMP_DROPS, net::BUMP_NOTICES];

/// One scheme of a set of runs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Fit {
    /// What it counted of its deeds: counter, and the mean over runs.
    pub deeds: Vec<(Counter, f64)>,
    /// Whether it has a scheduler or bumps, and none of them did anything.
    pub never_acted: bool,
    /// Why, and which periods do not fit, in sentences.
    pub warnings: Vec<String>,
}

/// Each scheme of `set`. Where the scenario cannot be read, as that of a calling program with parts of its own, nothing
/// is said.
pub fn of(set: &RunSet) -> Vec<Fit> {
    let Ok(scenario) = toml::from_str::<Scenario>(&set.scenario) else {
        return vec![Fit::default(); set.schemes.len()];
    };
    let misfits = misfits(&scenario, set);
    let one = |name: &String| {
        let at = scenario.scheme.iter().position(|scheme| scheme.name == *name);
        let own = at.and_then(|at| misfits.get(at).cloned()).unwrap_or_default();
        let scheme = at.map(|at| &scenario.scheme[at]);
        scheme.map_or_else(Fit::default, |scheme| fit(&scenario, scheme, &set.of(name), own))
    };
    set.schemes.iter().map(one).collect()
}

fn fit(scenario: &Scenario, scheme: &SchemeSpec, runs: &[&RunRecord], misfits: Vec<String>) -> Fit {
    let deeds = fit::system(scenario, scheme).map_or(Deeds::default(), |system| system.deeds());
    let marks = scheme.bump.as_ref().is_some_and(|bump| !bump.observe);
    let of_bumps: &[Counter] = if marks { &OF_BUMPS } else { &[] };
    let acted = || deeds.acted.iter().chain(of_bumps).copied();
    let mean = |counter: Counter| {
        let sum: u64 = runs.iter().filter_map(|run| run.counted(counter)).sum();
        (counter, sum as f64 / runs.len().max(1) as f64)
    };
    let never_acted =
        acted().next().is_some() && !runs.is_empty() && acted().all(|c| mean(c).1 == 0.0);
    let idle = never_acted.then(|| idle(scheme, acted(), runs.len()));
    Fit {
        deeds: deeds.heard.iter().copied().chain(acted()).map(mean).collect(),
        never_acted,
        warnings: idle.into_iter().chain(misfits).collect(),
    }
}

fn idle(scheme: &SchemeSpec, acted: impl Iterator<Item = Counter>, runs: usize) -> String {
    let none: Vec<String> = acted.map(|counter| label(counter)).collect();
    format!(
        "{} never acted: its runs ({}) counted no {}. What differs is not its doing, so there is no verdict.",
        scheme.name,
        grouped(runs as u64),
        none.join(" and no ")
    )
}

/// The name of a counter in a sentence.
pub fn label(counter: Counter) -> String {
    counter.name.replace(['_', '-'], " ")
}

/// By scheme of the scenario: the periods that do not fit the flows of the first run of the set.
fn misfits(scenario: &Scenario, set: &RunSet) -> Vec<Vec<String>> {
    let (Ok(graph), Some(run)) = (scenario.fabric.build(), set.runs.first()) else { return vec![] };
    let hosts = graph.hosts.len() as u32;
    let known = |flow: &&FlowRow| !flow.request && flow.src < hosts && flow.dst < hosts;
    let size = |flow: &FlowRow| FlowSize {
        src: flow.src,
        dst: flow.dst,
        bytes: flow.bytes,
        start: if flow.started() { Time::ps(flow.start_ps) } else { Time::ZERO },
    };
    let flows: Vec<FlowSize> = run.flows.iter().filter(known).map(size).collect();
    let end = fit::longest_run(scenario);
    let proposals = fit::proposals(scenario, &graph, &flows, end);
    let schemes = scenario.scheme.iter().zip(&proposals);
    schemes.map(|(scheme, proposals)| fit::misfits(&scheme.name, proposals)).collect()
}
