//! Finds errors of central schemes that appear only when a run is built.

use super::build;
use slotline_net::error::SpecErrorKind;
use slotline_scenario::check::SAMPLE;
use slotline_scenario::{Loaded, Scenario, ScenarioError};
use slotline_schemes::ControlSpec;

/// The errors of the central schemes of `loaded` that depend on the fabric and the options of the scheme. Each error
/// names its place in the file.
pub fn central_faults(loaded: &Loaded) -> Vec<ScenarioError> {
    let Scenario { scheme, engine, seed, .. } = &loaded.scenario;
    let central =
        |at: &usize| engine.is_packet() && !matches!(scheme[*at].control, ControlSpec::None {});
    // Building such a run generates all of its flows. An error appears later, when the run starts.
    if loaded.flows() > SAMPLE {
        return vec![];
    }
    let fault = |at| {
        let error = build(&loaded.scenario, at, (*seed).into(), loaded).err()?;
        // Only the run of this seed fails. Other seeds may have flows.
        let only_here = loaded.scenario.repeat > 1 && error.kind == SpecErrorKind::NoFlow;
        (!only_here).then_some(error)
    };
    let faults = (0..scheme.len()).filter(central).filter_map(fault);
    faults.map(|error| loaded.blame(error)).collect()
}
