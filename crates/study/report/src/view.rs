//! The data that all figures use: the runs by scheme, and the names of ports and hosts.

use slotline_lab::metrics::busiest_port;
use slotline_lab::output::format;
use slotline_lab::record::{FlowRow, RunRecord, RunSet, Window};
use std::cell::OnceCell;

/// The runs of a set, by scheme.
pub struct View<'a> {
    /// The set.
    pub set: &'a RunSet,
    /// The runs by scheme in the order of the scenario, then by seed.
    pub runs: Vec<Vec<&'a RunRecord>>,
    /// By scheme, the port that represents its first run in plots over time.
    busiest: OnceCell<Vec<Option<u32>>>,
}

impl<'a> View<'a> {
    /// Sorts the runs of `set`.
    pub fn of(set: &'a RunSet) -> View<'a> {
        let runs = set.schemes.iter().map(|scheme| set.of(scheme)).collect();
        View { set, runs, busiest: OnceCell::new() }
    }

    /// The first run of each scheme that has one, with the scheme's index.
    pub fn first(&self) -> impl Iterator<Item = (usize, &'a RunRecord)> {
        self.runs.iter().enumerate().filter_map(|(at, runs)| Some((at, *runs.first()?)))
    }

    /// Whether the runs had no packets.
    pub fn is_flow_level(&self) -> bool {
        self.first().any(|(_, run)| run.engine.flow_level)
    }

    /// The remedy for a figure that needs packets: `usual`, unless the engine has none.
    pub fn with_packets(&self, usual: &'static str) -> &'static str {
        match self.is_flow_level() {
            true => "The flow-level engine has no packets to follow: use engine = \"packet\".",
            false => usual,
        }
    }

    /// All runs of scheme `at` with their flows that have a meaningful completion time: flows over TCP that carry data
    /// and started in the measured part of the run.
    pub fn transfers(
        &self,
        at: usize,
    ) -> impl Iterator<Item = (&'a RunRecord, &'a FlowRow)> + use<'a> {
        let window = self.set.window;
        let counts = move |f: &&FlowRow| is_transfer(f, window) && !f.udp;
        let runs = self.runs[at].clone();
        runs.into_iter().flat_map(move |run| run.flows.iter().filter(counts).map(move |f| (run, f)))
    }

    /// The port that represents `scheme` in plots over time: the busiest one of its first run.
    pub fn busiest(&self, scheme: usize) -> Option<u32> {
        let of_run = |run: &&RunRecord| busiest_port(run, Window::ALL);
        let all = || self.runs.iter().map(|runs| runs.first().and_then(of_run)).collect();
        self.busiest.get_or_init(all)[scheme]
    }

    /// `name: place` of the port that represents each scheme in plots over time.
    pub fn busiest_places(&self) -> String {
        let place = |(at, run): (usize, &RunRecord)| {
            let port = run.ports.get(self.busiest(at)? as usize)?;
            Some((self.set.schemes[at].as_str(), format::direction(&port.node, &port.port)))
        };
        let places: Vec<(&str, String)> = self.first().filter_map(place).collect();
        match places.first() {
            Some((_, one)) if places.iter().all(|(_, other)| other == one) => one.clone(),
            _ => places.iter().map(|(s, p)| format!("{s}: {p}")).collect::<Vec<_>>().join(", "),
        }
    }
}

/// Whether a flow carries payload and started in the measured part of the run.
pub fn is_transfer(flow: &FlowRow, window: Window) -> bool {
    flow.started() && !flow.request && window.contains(flow.start_ps)
}

/// The completion time of `flow`, or its time until the end of the run, in picoseconds.
pub fn lifetime(run: &RunRecord, flow: &FlowRow) -> u64 {
    let end = if flow.finished() { flow.finish_ps } else { run.engine.sim_time_ps };
    end.saturating_sub(flow.start_ps)
}

/// Picoseconds as seconds.
pub fn seconds(ps: u64) -> f64 {
    ps as f64 / 1e12
}

/// Names of all hosts, by number.
pub fn hosts(run: &RunRecord) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for port in run.ports.iter().filter(|port| port.host) {
        if names.last() != Some(&port.node) {
            names.push(port.node.clone());
        }
    }
    names
}

/// The name of host `at`.
pub fn host(names: &[String], at: u32) -> String {
    names.get(at as usize).cloned().unwrap_or_else(|| format!("host {at}"))
}
