//! The check of a scenario's traffic.

use super::check::{Files, Fit, SAMPLE};
use super::fit::{self, FlowSize};
use super::measured::followed;
use super::spec::Scenario;
use slotline_net::error::{SpecError, SpecErrorKind};
use slotline_net::time::Time;
use slotline_net::topology::Graph;
use slotline_net::workload::{Count, HostMap, Setting, TrafficBuilder, WorkloadSpec, in_order};

/// Other seeds that are tried if the first one gives a workload no flow.
const TRIED: usize = 50;

/// Whether a workload has flows with another seed of the scenario.
fn others_have_flows(
    scenario: &Scenario,
    (group, workload): (u16, &WorkloadSpec),
    setting: &Setting<'_>,
    hosts: u32,
) -> bool {
    scenario.seeds().into_iter().skip(1).take(TRIED).any(|seed| {
        let mut out = TrafficBuilder::sample(hosts, SAMPLE);
        workload.generate(group, &Setting { seed, ..*setting }, &mut out).is_ok()
    })
}

/// The largest number of flows of a run in which flows can be followed by their numbers.
const MOST_NUMBERED: u64 = 1 << 22;

/// The number of flows to make of a workload whose flows are all drawn in the same way. An error of its parameters shows in the
/// first one.
const DRAWN: u64 = 1_000;

/// Generates the traffic of the first seed to find the errors of generators and traces, and keeps only the sizes of
/// `flows`.
pub(super) fn check(
    scenario: &Scenario,
    graph: &Graph,
    files: &Files<'_>,
    notes: &mut Vec<String>,
    flows: &mut Vec<FlowSize>,
) -> (Vec<Fit>, Vec<Count>) {
    let hosts = graph.hosts.len() as u32;
    let surveyed = scenario.scheme.iter().any(|scheme| fit::system(scenario, scheme).is_some());
    let all = TrafficBuilder::sample(hosts, SAMPLE);
    let sample = if surveyed { all } else { all.drawing(DRAWN) };
    let (mut made, mut out) = generated(scenario, graph, files, sample);
    let counts = out.counts().to_vec();
    if made.iter().all(Result::is_ok) && !scenario.measure.follow.is_empty() {
        // Flows to follow are named by number, so all flows are needed.
        match numbered(&counts) {
            Err(error) => made.push(Err(error)),
            Ok(true) => {}
            Ok(false) => {
                (made, out) = generated(scenario, graph, files, TrafficBuilder::new(hosts));
            }
        }
    }
    if made.iter().all(Result::is_ok) {
        notes.extend_from_slice(out.notes());
        // A part of many flows need not be arranged if nobody asks for it.
        if surveyed || out.is_whole() {
            let traffic = out.finish_sample().map_err(|e| SpecError::new("workload", e.message));
            made.push(traffic.and_then(|traffic| {
                if surveyed {
                    *flows = fit::flow_sizes(&traffic);
                }
                followed(&scenario.measure, &traffic)
            }));
        }
    }
    (made, counts)
}

/// Whether a sample with these counts has all flows. Refuses too many flows to number them.
fn numbered(counts: &[Count]) -> Result<bool, SpecError> {
    let all: u64 = counts.iter().map(|count| count.all).sum();
    if all > MOST_NUMBERED {
        let message = format!(
            "`follow` needs at most {MOST_NUMBERED} flows in a run: there are {all}; `why = true` follows some of them"
        );
        return Err(SpecError::new("measure.follow", message));
    }
    Ok(counts.iter().all(|count| count.made == count.all))
}

/// The results of all workloads with the first seed, and their traffic.
fn generated(
    scenario: &Scenario,
    graph: &Graph,
    files: &Files<'_>,
    mut out: TrafficBuilder,
) -> (Vec<Fit>, TrafficBuilder) {
    let fabric = HostMap::of(graph);
    let horizon = scenario.end.at.unwrap_or(Time::MAX);
    let setting = Setting { fabric: &fabric, horizon, seed: scenario.seed.into(), files };
    let hosts = graph.hosts.len() as u32;
    let made = in_order(&scenario.workload).into_iter().map(|(group, workload)| {
        let mut made = workload.generate(group, &setting, &mut out);
        if made.as_ref().is_err_and(|e| e.kind == SpecErrorKind::NoFlow)
            && others_have_flows(scenario, (group, workload), &setting, hosts)
        {
            out.note(format!("workload[{group}] has no flow with seed {}", scenario.seed));
            made = Ok(());
        }
        made.map_err(|e| e.within(format_args!("workload[{group}]")))
    });
    (made.collect(), out)
}
