//! The traffic of a scenario.

use slotline_net::error::SpecError;
use slotline_net::time::Time;
use slotline_net::topology::Graph;
use slotline_net::workload::{Count, HostMap, Setting, Traffic, TrafficBuilder, in_order};
use slotline_scenario::check::SAMPLE;
use slotline_scenario::{Files, Scenario};

/// All traffic of `scenario` under `seed`: the same for every scheme.
pub fn traffic(
    scenario: &Scenario,
    graph: &Graph,
    seed: u64,
    files: &Files<'_>,
) -> Result<Traffic, SpecError> {
    let mut out = TrafficBuilder::new(graph.hosts.len() as u32);
    generate(scenario, graph, seed, files, &mut out)?;
    out.finish().map_err(|e| SpecError::new("workload", e.message))
}

/// The first flows of each workload, at most [`SAMPLE`], and the number of all its flows. If `counts` are that number,
/// files are read only as far as the sample needs them.
pub fn sample(
    scenario: &Scenario,
    graph: &Graph,
    seed: u64,
    counts: Option<&[Count]>,
    files: &Files<'_>,
) -> Result<(Traffic, Vec<Count>), SpecError> {
    let hosts = graph.hosts.len() as u32;
    let mut out = match counts {
        Some(counts) => TrafficBuilder::counted_sample(hosts, SAMPLE, counts),
        None => TrafficBuilder::sample(hosts, SAMPLE),
    };
    generate(scenario, graph, seed, files, &mut out)?;
    let counts = out.counts().to_vec();
    let traffic = out.finish_sample().map_err(|e| SpecError::new("workload", e.message))?;
    Ok((traffic, counts))
}

fn generate(
    scenario: &Scenario,
    graph: &Graph,
    seed: u64,
    files: &Files<'_>,
    out: &mut TrafficBuilder,
) -> Result<(), SpecError> {
    let fabric = HostMap::of(graph);
    let setting =
        Setting { fabric: &fabric, horizon: scenario.end.at.unwrap_or(Time::MAX), seed, files };
    for (group, workload) in in_order(&scenario.workload) {
        let in_table = |e: SpecError| e.within(format_args!("workload[{group}]"));
        workload.generate(group, &setting, out).map_err(in_table)?;
    }
    Ok(())
}
