//! Finds the dilation that an emulation needs on this machine: the smallest of a series with which it keeps up.

use crate::record::{Emulation, RunSet};
use crate::run::Jobs;
use crate::summary::EngineTotal;
use slotline_net::time::Time;
use slotline_scenario::{EmulateSpec, EngineSpec, Loaded, ScenarioError};
use std::time::Duration;

/// The dilations that are tried, in turn.
pub const SERIES: [f64; 12] =
    [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0, 2_000.0, 5_000.0];
/// A machine has no headroom if the network takes more than this share of a processor.
pub const MOST_CPU: f64 = 0.7;
/// How long each scheme is tried with each dilation, in real time.
const SPAN: Duration = Duration::from_secs(2);

/// Whether the machine kept up and has headroom.
pub fn suffices(emulation: &Emulation) -> bool {
    emulation.is_valid() && emulation.cpu_share <= MOST_CPU
}

/// Emulates the beginning of all schemes with the first seed, until a dilation suffices or the series ends. Returns the
/// dilation that suffices. Calls `tried` for each dilation with the worst result of all schemes. Programs of the
/// scenario are started each time.
///
/// # Errors
/// The scenario cannot be emulated.
pub fn calibrate(
    loaded: &Loaded,
    mut tried: impl FnMut(&Emulation),
) -> Result<Option<f64>, ScenarioError> {
    for dilation in SERIES {
        let emulation = trial(loaded, dilation)?;
        tried(&emulation);
        if suffices(&emulation) {
            return Ok(Some(dilation));
        }
    }
    Ok(None)
}

fn trial(loaded: &Loaded, dilation: f64) -> Result<Emulation, ScenarioError> {
    let mut loaded = loaded.clone();
    loaded.reseed(None, Some(1))?;
    let span = Time::ns((SPAN.as_nanos() as f64 / dilation) as u64);
    let end = &mut loaded.scenario.end;
    end.at = Some(end.at.map_or(span, |at| at.min(span)));
    let spec = loaded.scenario.engine.emulated().cloned().unwrap_or_default();
    loaded.use_engine(EngineSpec::Emulate(EmulateSpec { dilation, stay: false, ..spec }))?;
    let set = RunSet::new(&loaded, Jobs::of(&loaded).run(&loaded, 1)?);
    Ok(EngineTotal::of(&set.in_order()).stats.emulation.unwrap_or_default())
}
