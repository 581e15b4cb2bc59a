//! The runs of a scenario, and what they were meant to be. What a single run leaves behind is plain data
//! of `slotline-tables`.

mod example;

use slotline_scenario::Loaded;
use slotline_scenario::metric::Metric;

pub use slotline_tables::record::{
    Capture, CapturedPacket, Conservation, ControlRow, EngineStats, EstimateRow, FaultRow, FlowRow,
    LimitRow, NEVER, Part, PortRow, RunRecord, SampleRow, ScheduleRow, SequenceRow, Step,
    StoppedRow, VoqRow, WORST_PORTS, WhyRow,
};

/// The part of a run that counts: flows that start in it, samples taken in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// Its beginning, in picoseconds.
    pub from_ps: u64,
    /// Its end, not included.
    pub until_ps: u64,
}

impl Window {
    /// The whole run.
    pub const ALL: Window = Window { from_ps: 0, until_ps: NEVER };

    /// Whether `t_ps` lies in it.
    pub fn contains(&self, t_ps: u64) -> bool {
        (self.from_ps..self.until_ps).contains(&t_ps)
    }
}

/// All runs of a scenario, and what they were meant to be.
#[derive(Clone, PartialEq, Debug)]
pub struct RunSet {
    /// The scenario's name.
    pub name: String,
    /// What it is about, in the author's words.
    pub description: String,
    /// The scenario with all defaults written out, as TOML.
    pub scenario: String,
    /// The fabric in a few words, for reports.
    pub fabric: String,
    /// Names of the schemes; the first is what the others are compared with.
    pub schemes: Vec<String>,
    /// Names of the workloads, by [`FlowRow::group`].
    pub workloads: Vec<String>,
    /// Seeds planned for each scheme.
    pub seeds: Vec<u64>,
    /// What to show first; empty for the usual choice.
    pub metrics: Vec<Metric>,
    /// The part of each run that counts.
    pub window: Window,
    /// What was done, in any order.
    pub runs: Vec<RunRecord>,
}

impl RunSet {
    /// The comparison that `loaded` asks for, with the `runs` done so far.
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
    /// Whether every planned run is there.
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
