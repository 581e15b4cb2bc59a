//! Whether the central schemes of a set of runs acted, and whether their periods fit the traffic that there was.

use crate::output::format::grouped;
use crate::record::{Emulation, FlowRow, RunRecord, RunSet};
use slotline_net::node::Counter;
use slotline_net::scheme::Activity;
use slotline_net::time::Time;
use slotline_scenario::fit::{self, FlowSize};
use slotline_scenario::{Scenario, SchemeSpec};
use slotline_schemes::counters::net;

/// The counters of what bumps do with packets.
const OF_BUMPS: [Counter; 3] = [net::BUMP_MARKS, net::BUMP_DROPS, net::BUMP_NOTICES];

/// The activity of one scheme of a set of runs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Fit {
    /// Its counts of activity: counter, and the mean over runs.
    pub activity: Vec<(Counter, f64)>,
    /// Whether it has a scheduler or bumps that never did anything.
    pub never_acted: bool,
    /// Sentences on why it never acted, and on periods that do not fit.
    pub warnings: Vec<String>,
}

/// The activity of each scheme of `set`. Empty if the scenario cannot be read, for example because it names parts of
/// the calling program.
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
    let activity =
        fit::system(scenario, scheme).map_or(Activity::default(), |system| system.activity());
    let marks = scheme.bump.as_ref().is_some_and(|bump| !bump.observe);
    let of_bumps: &[Counter] = if marks { &OF_BUMPS } else { &[] };
    let acted = || activity.acted.iter().chain(of_bumps).copied();
    let mean = |counter: Counter| {
        let sum: u64 = runs.iter().filter_map(|run| run.counted(counter)).sum();
        (counter, sum as f64 / runs.len().max(1) as f64)
    };
    let never_acted =
        acted().next().is_some() && !runs.is_empty() && acted().all(|c| mean(c).1 == 0.0);
    let idle = never_acted.then(|| idle(scheme, acted(), runs.len()));
    Fit {
        activity: activity.heard.iter().copied().chain(acted()).map(mean).collect(),
        never_acted,
        warnings: late(scheme, runs).into_iter().chain(idle).chain(misfits).collect(),
    }
}

/// Nothing follows from the results of an emulation if the machine did not keep up.
fn late(scheme: &SchemeSpec, runs: &[&RunRecord]) -> Option<String> {
    let worst = runs.iter().filter_map(|run| run.engine.emulation).reduce(Emulation::worse);
    let late = worst.filter(|worst| !worst.is_valid())?;
    Some(format!(
        "{} is not valid: the machine did not keep up with the network (lateness {} us at the 99th percentile, {} \
         packets lost outside of it). Raise the dilation.",
        scheme.name,
        grouped(late.late_p99_ns / 1_000),
        grouped(late.lost_outside)
    ))
}

fn idle(scheme: &SchemeSpec, acted: impl Iterator<Item = Counter>, runs: usize) -> String {
    let none: Vec<String> = acted.map(label).collect();
    format!(
        "{} never acted: its runs ({}) counted no {}. It did not cause any difference, so there is no verdict.",
        scheme.name,
        grouped(runs as u64),
        none.join(" and no ")
    )
}

/// The name of a counter, as used in a sentence.
pub fn label(counter: Counter) -> String {
    counter.name.replace(['_', '-'], " ")
}

/// For each scheme of the scenario, the periods that do not fit the flows of the first run of the set.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::tally::tallies;
    use crate::run::Jobs;
    use crate::statistics::Verdict;
    use crate::summary::Summary;
    use std::path::Path;

    fn set(control: &str) -> RunSet {
        let text = format!(
            "name = \"fit\"\nrepeat = 2\nend = {{ at = \"1s\" }}\nmeasure = {{ why = false }}\n\
             fabric = {{ kind = \"fat-tree\", k = 4, rate = \"1Gbps\", delay = \"1us\" }}\n\
             [[workload]]\nkind = \"random-bijective\"\nsize = \"1MB\"\n\
             [[scheme]]\nname = \"old\"\n[[scheme]]\nname = \"new\"\ncontrol = {control}\n"
        );
        let loaded = Scenario::parse(Path::new("fit.toml"), text).expect("a scenario");
        let runs = Jobs::of(&loaded).run(&loaded, 2).expect("runs");
        RunSet::new(&loaded, runs)
    }

    #[test]
    fn a_scheduler_that_never_acted_gets_no_verdict() {
        let set = set("\"hedera\"");
        let summary = Summary::of(&set);
        let fit = &summary.schemes[1].fit;
        assert!(fit.never_acted && !summary.schemes[0].fit.never_acted);
        assert!(fit.warnings[0].starts_with("new never acted"), "{:?}", fit.warnings);
        assert!(fit.warnings[1].contains("poll = \"5s\""), "{:?}", fit.warnings);
        let tally = tallies(&summary, &summary.shown(&set)).remove(0);
        assert_eq!(tally.those(Verdict::Idle).len(), tally.len());
        assert_eq!(tally.headline(), "new: no verdict, because its scheduler never acted.");
        let shown = crate::output::terminal::table(&set, 100);
        let (warning, verdict) = (shown.find("new never acted"), shown.find("new: no verdict"));
        assert!(warning.is_some() && warning < verdict, "{shown}");
    }

    #[test]
    fn every_scheme_acts_with_the_periods_proposed() {
        for kind in ["hedera", "flow-scheduler", "xco", "tdma", "fastpass"] {
            let set = set(&format!("{{ kind = \"{kind}\", scale = \"auto\" }}"));
            let fit = &Summary::of(&set).schemes[1].fit;
            assert!(!fit.never_acted && fit.warnings.is_empty(), "{kind}: {fit:?}");
            assert!(fit.activity.iter().any(|(_, mean)| *mean > 0.0), "{kind}: {fit:?}");
        }
    }
}
