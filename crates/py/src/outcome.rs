//! The result of a run, in memory.

use crate::errors::{of_output, of_run, of_scenario, wrong};
use crate::metrics;
use crate::scenario::follow;
use crate::table::Table;
use pyo3::prelude::*;
use slotline_figures::{Format, Look};
use slotline_lab::output::{Place, run_id, summary_text, terminal, why};
use slotline_lab::record::{RunRecord, RunSet, WhyRow};
use slotline_lab::run::Jobs;
use slotline_lab::summary::{EngineTotal, Summary};
use slotline_report::html;
use slotline_scenario::{Loaded, Scenario};
use slotline_tables::tables;
use std::path::PathBuf;

/// All runs of a scenario, with their summary.
#[pyclass(frozen, module = "slotline._core")]
pub struct Outcome {
    set: RunSet,
    summary: Summary,
    /// The scenario, to follow more flows; `None` for a result that was read.
    loaded: Option<Loaded>,
}

impl Outcome {
    /// The result with these runs.
    pub fn new(set: RunSet) -> Outcome {
        Outcome { summary: Summary::of(&set), set, loaded: None }
    }
    /// The result of a scenario that is still in memory.
    pub fn of(loaded: Loaded, set: RunSet) -> Outcome {
        Outcome { loaded: Some(loaded), ..Outcome::new(set) }
    }
    /// The run of `scheme` with `seed`, or the first that fits.
    fn run(&self, scheme: Option<&str>, seed: Option<u64>) -> PyResult<&RunRecord> {
        let fits = |run: &&RunRecord| {
            scheme.is_none_or(|name| run.scheme == name) && seed.is_none_or(|seed| run.seed == seed)
        };
        let run = self.set.in_order().into_iter().find(fits);
        run.ok_or_else(|| {
            let (schemes, seeds) = (self.set.schemes.join(", "), &self.set.seeds);
            wrong(format!("no such run: the schemes are {schemes}, the seeds {seeds:?}"))
        })
    }
    /// The same run again, with the packets of `flow` recorded.
    fn again(&self, run: &RunRecord, flow: u32) -> PyResult<RunRecord> {
        let file = "scenario.toml".as_ref();
        let loaded = self.loaded.clone().map_or_else(
            || Scenario::parse(file, self.set.scenario.clone()).map_err(of_scenario),
            Ok,
        )?;
        let (loaded, scheme) = follow(loaded, &run.scheme, run.seed, flow).map_err(of_scenario)?;
        let records =
            Jobs::of_scheme(&loaded, Some(scheme)).run(&loaded, 1).map_err(of_scenario)?;
        records.into_iter().next().ok_or_else(|| of_run("the run was stopped".into()))
    }
}

/// Where the time of `flow` went, or of the slowest flow that was followed.
fn chosen(record: &RunRecord, flow: Option<u32>) -> Option<&WhyRow> {
    match flow {
        Some(flow) => record.why.iter().find(|row| row.flow == flow),
        None => record.why.iter().max_by_key(|row| row.parts.iter().sum::<u64>()),
    }
}

/// The reason why there is nothing to explain.
fn nothing(run: &RunRecord, flow: Option<u32>) -> String {
    let text = why::nothing(std::slice::from_ref(run));
    flow.map_or(text, |flow| {
        format!(
            "flow {flow} has no completion time under {}: it is a request, or did not end before the run",
            run.scheme
        )
    })
}

#[pymethods]
impl Outcome {
    /// The scenario's name.
    #[getter]
    fn name(&self) -> &str {
        &self.set.name
    }
    /// The name of the result: equal for equal scenarios.
    #[getter]
    fn id(&self) -> String {
        run_id(&self.set.name, &self.set.scenario)
    }
    /// The scenario with all defaults, as TOML.
    #[getter]
    fn scenario(&self) -> &str {
        &self.set.scenario
    }
    /// The names of the schemes; the first is the baseline.
    #[getter]
    fn schemes(&self) -> Vec<String> {
        self.set.schemes.clone()
    }
    /// The seeds of the runs of each scheme.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.set.seeds.clone()
    }
    /// Whether all runs are there.
    #[getter]
    fn complete(&self) -> bool {
        self.set.complete()
    }
    /// A sentence for each run that failed.
    #[getter]
    fn failed(&self) -> Vec<String> {
        self.set.failed.iter().map(|failed| failed.text()).collect()
    }
    /// The fingerprint of all runs: equal for equal results.
    #[getter]
    fn digest(&self) -> String {
        format!("{:016x}", EngineTotal::of(&self.set.in_order()).stats.digest)
    }
    /// The names of the tables, and how many rows they have.
    fn tables(&self) -> Vec<(&'static str, usize)> {
        let rows = |table: &dyn tables::AnyTable| self.set.runs.iter().map(|r| table.len(r)).sum();
        tables::ALL.iter().map(|table| (table.name(), rows(*table))).collect()
    }
    /// The table `name`.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let known = tables::ALL.iter().find(|table| table.name() == name);
        let table = known.ok_or_else(|| wrong(format!("there is no table `{name}`")))?;
        py.detach(|| Table::of(*table, &self.set.in_order())).map_err(wrong)
    }
    /// The metrics of all schemes as a table.
    fn metrics(&self) -> PyResult<Table> {
        metrics::table(&self.summary).map_err(wrong)
    }
    /// The keys of the metrics that tables show.
    fn shown(&self) -> Vec<&'static str> {
        self.summary.shown(&self.set).into_iter().map(|metric| metric.key()).collect()
    }
    /// The content of `summary.json`.
    fn summary(&self) -> String {
        summary_text(&self.set, &self.summary)
    }
    /// The comparison as text, as the command line prints it.
    fn text(&self, width: usize) -> String {
        terminal::table_of(&self.set, &self.summary, width)
    }
    /// The comparison as HTML.
    fn html(&self) -> String {
        html::headline(&self.set, &self.summary) + &html::comparison(&self.set, &self.summary)
    }
    /// The figures of the report as JSON.
    fn figures(&self, py: Python<'_>) -> String {
        py.detach(|| slotline_report::figures(&self.set, &self.summary))
    }
    /// The names and titles of all figures that can be drawn.
    fn charts(&self, py: Python<'_>) -> Vec<(&'static str, String)> {
        let plots = py.detach(|| slotline_report::plots(&self.set, &self.summary));
        plots.into_iter().map(|plot| (plot.id, plot.title.into_owned())).collect()
    }
    /// The file with the figure `name`, `width` millimetres wide.
    fn draw(
        &self,
        py: Python<'_>,
        name: &str,
        format: &str,
        width: f64,
        dpi: u16,
    ) -> PyResult<Vec<u8>> {
        let known = Format::named(format).ok_or_else(|| wrong("a format is svg, pdf or png"))?;
        if !(40.0..=1000.0).contains(&width) || !(30..=2400).contains(&dpi) {
            return Err(wrong("a figure is 40 to 1000 mm wide and has 30 to 2400 dots per inch"));
        }
        let plots = slotline_report::plots(&self.set, &self.summary);
        let plot = plots.iter().find(|plot| plot.id == name);
        let plot = plot.ok_or_else(|| wrong(format!("there is no figure `{name}`")))?;
        let (names, width) = (&self.set.schemes[..], slotline_figures::units(width));
        let look = Look { names, width, hidden: vec![], other_scale: [false; 2] };
        py.detach(|| known.render(plot, &look, dpi)).map_err(wrong)
    }
    /// Where the time of a flow went, as text. A flow that was not followed is followed in a new run.
    #[pyo3(signature = (flow=None, scheme=None, seed=None))]
    fn why(
        &self,
        py: Python<'_>,
        flow: Option<u32>,
        scheme: Option<&str>,
        seed: Option<u64>,
    ) -> PyResult<String> {
        let run = self.run(scheme, seed)?;
        if let Some(row) = chosen(run, flow) {
            return Ok(why::text(run, row));
        }
        let again = flow.map(|flow| py.detach(|| self.again(run, flow))).transpose()?;
        match again.as_ref().and_then(|run| Some((run, chosen(run, flow)?))) {
            Some((run, row)) => Ok(why::text(run, row)),
            None => Err(wrong(nothing(run, flow))),
        }
    }
    /// Writes the result into a new folder below `root`, and returns the folder.
    fn save(&self, py: Python<'_>, root: PathBuf, force: bool) -> PyResult<PathBuf> {
        let write = || {
            let place = Place::claim(&root, &self.set.name, &self.set.scenario, force)?;
            place.write(&self.set, &self.summary, false, &[slotline_report::PAGE])
        };
        Ok(py.detach(write).map_err(of_output)?.folder)
    }
}
