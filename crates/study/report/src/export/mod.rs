//! Results, and the fabrics of scenarios, in the formats of other tools, with one file for each. An exporter of results
//! is a function over a [`RunSet`] or one of its runs that writes piece by piece.

pub mod containerlab;
pub mod hpcc_fct;
pub mod openmetrics;
pub mod pcapng;
pub mod perfetto;
pub mod routes;

use slotline_lab::record::{PortRow, RunRecord, RunSet};
use std::collections::BTreeMap;
use std::io;

/// The reason why a result cannot be written in a format.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// No run has this scheme and seed.
    #[error("no such run{asked}: there are {there}")]
    NoRun {
        /// The requested scheme and seed.
        asked: String,
        /// The runs that exist.
        there: String,
    },
    /// The format shows a single run, and there are several.
    #[error("several runs: choose one with --scheme and --seed; there are {there}")]
    Several {
        /// The runs that exist.
        there: String,
    },
    /// The run has no data for the format.
    #[error("{0}")]
    Nothing(String),
    /// The output cannot be written.
    #[error("cannot write: {0}")]
    Io(#[from] io::Error),
}

/// The runs of `scheme` with `seed`; `None` stands for all schemes or all seeds.
pub fn runs<'a>(
    set: &'a RunSet,
    scheme: Option<&str>,
    seed: Option<u64>,
) -> Result<Vec<&'a RunRecord>, ExportError> {
    let mut chosen = set.in_order();
    chosen.retain(|run| scheme.is_none_or(|name| run.scheme == name));
    chosen.retain(|run| seed.is_none_or(|seed| run.seed == seed));
    if !chosen.is_empty() {
        return Ok(chosen);
    }
    let scheme = scheme.map(|name| format!(" of scheme `{name}`")).unwrap_or_default();
    let seed = seed.map(|seed| format!(" with seed {seed}")).unwrap_or_default();
    Err(ExportError::NoRun { asked: scheme + &seed, there: listed(&set.in_order()) })
}

/// The only run of `scheme` with `seed`.
pub fn one_run<'a>(
    set: &'a RunSet,
    scheme: Option<&str>,
    seed: Option<u64>,
) -> Result<&'a RunRecord, ExportError> {
    match runs(set, scheme, seed)?[..] {
        [run] => Ok(run),
        ref several => Err(ExportError::Several { there: listed(several) }),
    }
}

/// The largest number of runs that an error lists.
const MOST_LISTED: usize = 8;

fn listed(runs: &[&RunRecord]) -> String {
    let name = |run: &&RunRecord| format!("`{}` with seed {}", run.scheme, run.seed);
    let mut names: Vec<String> = runs.iter().take(MOST_LISTED).map(name).collect();
    if runs.len() > MOST_LISTED {
        names.push(format!("{} more", runs.len() - MOST_LISTED));
    }
    if names.is_empty() { "no runs".into() } else { names.join(", ") }
}

/// The names of ports in scenarios: `s0-h0`, or `leaf0-spine1#1` if links are parallel.
pub fn port_names(ports: &[PortRow]) -> Vec<String> {
    let ends = |port: &'_ PortRow| format!("{}-{}", port.node, port.port);
    let mut parallel: BTreeMap<String, usize> = BTreeMap::new();
    ports.iter().for_each(|port| *parallel.entry(ends(port)).or_default() += 1);
    parallel.retain(|_, ports| *ports > 1);
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let name = |port: &PortRow| {
        let name = ends(port);
        if !parallel.contains_key(&name) {
            return name;
        }
        let nth = seen.entry(name.clone()).or_default();
        *nth += 1;
        format!("{name}#{}", *nth - 1)
    };
    ports.iter().map(name).collect()
}

/// Name of each host, by number.
fn host_names(ports: &[PortRow]) -> Vec<&str> {
    let mut names: Vec<&str> =
        ports.iter().filter(|port| port.host).map(|port| port.node.as_str()).collect();
    names.dedup();
    names
}

#[cfg(test)]
mod tests;
