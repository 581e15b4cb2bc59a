//! The runs of a scenario, and the plan for them. The record of a single run is plain data of
//! `slotline-tables`.

mod example;

use slotline_scenario::Loaded;
use slotline_scenario::metric::Metric;
use std::ops::Range;

pub use slotline_tables::record::{
    AppRow, Capture, CapturedPacket, Conservation, ControlRow, Emulation, EngineStats, EstimateRow,
    FaultRow, FlowRow, Gate, LimitRow, NEVER, Part, PortRow, RunRecord, SampleRow, Samples,
    ScheduleRow, SequenceRow, Step, StoppedRow, VoqRow, WORST_PORTS, WhyRow,
};

/// The measured part of a run: flows that start in it and samples taken in it count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// Its start in picoseconds.
    pub from_ps: u64,
    /// Its end in picoseconds, which is not included.
    pub until_ps: u64,
}

impl Window {
    /// The whole run.
    pub const ALL: Window = Window { from_ps: 0, until_ps: NEVER };

    /// The numbers of those of `times`, which are in order, that are in the window.
    pub fn of(self, times: &[u64]) -> Range<usize> {
        let before = |time: u64| times.partition_point(|at| *at < time);
        before(self.from_ps)..before(self.until_ps)
    }

    /// Whether `t_ps` is in the window.
    #[inline]
    pub fn contains(&self, t_ps: u64) -> bool {
        (self.from_ps..self.until_ps).contains(&t_ps)
    }
}

/// A planned run that has no result.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailedRun {
    /// Name of the scheme.
    pub scheme: String,
    /// The seed.
    pub seed: u64,
    /// Why it has no result.
    pub why: String,
}

impl FailedRun {
    /// The failure as a sentence.
    pub fn text(&self) -> String {
        format!("The run of {} with seed {} failed: {}", self.scheme, self.seed, self.why)
    }
}

/// All runs of a scenario, and the plan for them.
#[derive(Clone, PartialEq, Debug)]
pub struct RunSet {
    /// The scenario's name.
    pub name: String,
    /// The description that the scenario has.
    pub description: String,
    /// The scenario with all defaults written out, as TOML.
    pub scenario: String,
    /// A short description of the fabric, for reports.
    pub fabric: String,
    /// Names of the schemes. The first is the baseline.
    pub schemes: Vec<String>,
    /// Names of the workloads, by [`FlowRow::group`].
    pub workloads: Vec<String>,
    /// Seeds planned for each scheme.
    pub seeds: Vec<u64>,
    /// The metrics to show first. If empty, all metrics that are not zero in every run.
    pub metrics: Vec<Metric>,
    /// The measured part of each run.
    pub window: Window,
    /// The complete runs, in any order.
    pub runs: Vec<RunRecord>,
    /// The runs that failed.
    pub failed: Vec<FailedRun>,
}

impl RunSet {
    /// The plan of `loaded`, with the `runs` that are complete.
    pub fn new(loaded: &Loaded, runs: Vec<RunRecord>) -> RunSet {
        let scenario = &loaded.scenario;
        let until_ps = scenario.measure.until.map_or(NEVER, |until| until.as_ps());
        RunSet {
            name: scenario.name.clone(),
            description: scenario.description.clone(),
            scenario: loaded.resolved(),
            fabric: loaded.fabric().into(),
            schemes: scenario.scheme.iter().map(|scheme| scheme.name.clone()).collect(),
            workloads: scenario.workload.iter().map(|w| w.kind().to_string()).collect(),
            seeds: scenario.seeds(),
            metrics: scenario.measure.metrics.clone(),
            window: Window { from_ps: scenario.measure.warmup.as_ps(), until_ps },
            runs,
            failed: vec![],
        }
    }
    /// The plan, without runs.
    pub fn plan(&self) -> RunSet {
        RunSet {
            name: self.name.clone(),
            description: self.description.clone(),
            scenario: self.scenario.clone(),
            fabric: self.fabric.clone(),
            schemes: self.schemes.clone(),
            workloads: self.workloads.clone(),
            seeds: self.seeds.clone(),
            metrics: self.metrics.clone(),
            window: self.window,
            runs: vec![],
            failed: vec![],
        }
    }
    /// The runs of `scheme`, by seed.
    pub fn of<'a>(&'a self, scheme: &str) -> Vec<&'a RunRecord> {
        let mut runs: Vec<_> = self.runs.iter().filter(|run| run.scheme == scheme).collect();
        runs.sort_by_key(|run| run.seed);
        runs
    }
    /// All runs, by scheme as listed and then by seed.
    pub fn in_order(&self) -> Vec<&RunRecord> {
        self.schemes.iter().flat_map(|scheme| self.of(scheme)).collect()
    }
    /// Whether every planned run is complete.
    pub fn complete(&self) -> bool {
        let done = |scheme: &String| {
            self.seeds.iter().all(|s| self.of(scheme).iter().any(|run| run.seed == *s))
        };
        self.schemes.iter().all(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_scenario::Scenario;

    #[test]
    fn a_run_set_knows_what_was_planned() {
        let text = "name = \"x\"\nend = { at = \"100ms\" }\n[fabric]\nkind = \"star\"\nhosts = 9\n\
                    [[workload]]\nkind = \"incast\"\n[[scheme]]\nname = \"tcp\"\n\
                    [[scheme]]\nname = \"dctcp\"\n";
        let set = RunSet::new(&Scenario::parse("x.toml".as_ref(), text.into()).unwrap(), vec![]);
        assert_eq!(set.schemes, ["tcp", "dctcp"]);
        assert_eq!(set.fabric, "star of 9 hosts and 1 switch");
        assert!(!set.complete());
    }
}
