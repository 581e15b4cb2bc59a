//! `cargo bench -p slotline-bench`: the packet engine on the benchmark permutations, three times each, so that two
//! builds can be compared by their smallest values. `slotline bench engine` measures whole processes and also has the
//! large cases; docs/performance.md has the measured values.

use slotline_bench::engine::ENGINE;
use slotline_lab::run::Jobs;
use slotline_scenario::{Scenario, ScenarioError};
use std::path::Path;

const TIMES: usize = 3;

fn main() -> Result<(), ScenarioError> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios/bench");
    for case in ENGINE.iter().filter(|case| !case.large) {
        let mut loaded = Scenario::load(&folder.join(format!("{}.toml", case.scenario)))?;
        loaded.scenario.scheme.retain(|scheme| scheme.name == case.scheme);
        let name = format!("{} {} {} threads", case.scenario, case.scheme, case.threads);
        for _ in 0..TIMES {
            let runs = Jobs::of(&loaded).run(&loaded, case.threads as usize)?;
            let engine = runs[0].engine;
            let per_hop = |seconds: f64| seconds * 1e9 / engine.packet_hops as f64;
            let (cpu, wall) = (per_hop(engine.cpu_s), per_hop(engine.wall_s));
            println!("{name:<28} {cpu:>7.1} ns CPU per hop {wall:>7.1} ns elapsed");
        }
    }
    Ok(())
}
