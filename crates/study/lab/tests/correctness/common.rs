//! Runs scenarios from their text and reads the results.

use slotline_lab::build::{Assembly, build, build_open};
use slotline_lab::record::{FlowRow, RunRecord};
use slotline_lab::run::Jobs;
use slotline_net::node::Node;
use slotline_net::node::host::FlowResult;
use slotline_net::time::Time;
use slotline_scenario::{Loaded, Scenario, ScenarioError};
use slotline_sim::{Network, Options, Outcome, Place, Watch, run};
use std::path::Path;

/// Reads a scenario as if its file were in the folder of the traces.
pub fn parse(text: &str) -> Result<Loaded, ScenarioError> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../data/traces/scenario.toml");
    Scenario::parse(&file, text.to_string())
}

/// As [`parse`], for a scenario that is valid.
pub fn load(text: &str) -> Loaded {
    parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// All runs of a scenario, on `threads` threads. With several, packets are not recorded in a second pass unless the text
/// asks for it.
pub fn records(text: &str, threads: usize) -> Vec<RunRecord> {
    let mut loaded = load(text);
    loaded.scenario.measure.why &= threads == 1 || text.contains("why = true");
    Jobs::of(&loaded).run(&loaded, threads).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The network of a scenario's first scheme, not yet run.
pub fn assemble(text: &str, seed: u64) -> Assembly {
    let loaded = load(text);
    build(&loaded.scenario, 0, seed, &loaded).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// As [`assemble`], with switches that are prepared for packets of all classes.
pub fn assemble_open(text: &str, seed: u64) -> Assembly {
    let loaded = load(text);
    build_open(&loaded.scenario, 0, seed, &loaded).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Runs until no event remains.
pub fn drain(network: Network, threads: usize) -> Outcome {
    run(network, Options { threads, end: Time::MAX, completions: u64::MAX }, &Watch::default())
}

/// The node of type `N` at place `at` of an outcome.
pub fn node<N: Node + 'static>(outcome: &Outcome, at: usize) -> &N {
    let found = match &outcome.places[at] {
        Place::Node(node) => node.downcast_ref(),
        _ => None,
    };
    found.expect("the node that the test put there")
}

/// How long a flow took, in picoseconds.
pub fn fct_ps(flow: &FlowRow) -> u64 {
    assert!(flow.finished(), "unfinished: {flow:?}");
    flow.finish_ps - flow.start_ps
}

/// Mean completion time of a run's flows in milliseconds.
pub fn mean_fct_ms(run: &RunRecord) -> f64 {
    mean(run.flows.iter().map(|flow| fct_ps(flow) as f64 * 1e-9))
}

/// The mean of some values.
pub fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0u32), |(sum, n), value| (sum + value, n + 1));
    sum / f64::from(n)
}

/// The results of all hosts of an outcome.
pub fn results(outcome: &Outcome) -> Vec<FlowResult> {
    let host = |place: &Place| match place {
        Place::Host(host) => host.results().collect(),
        _ => Vec::new(),
    };
    outcome.places.iter().flat_map(host).collect()
}

/// Numbers that look random, of a linear congruential generator (Knuth's MMIX).
#[derive(Default)]
pub struct Random(pub u64);

impl Random {
    /// The next number below `most`.
    pub fn below(&mut self, most: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most.max(1)
    }
}
