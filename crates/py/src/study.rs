//! Parameter studies.

use crate::control::Faults;
use crate::errors::{of_join, of_output, of_scenario, wrong};
use crate::running::{Progress, watched};
use crate::scenario::Scenario;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use slotline_lab::sweep::part::{Found, PointRecord, Shard, Sweep, find, join};
use slotline_lab::sweep::single::{Keep, Point};
use slotline_lab::sweep::{Part, State, Study as Plan, store};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A scenario with a `sweep`, which stands for many scenarios: its points.
#[pyclass(frozen, module = "slotline._core")]
pub struct Study(Plan);

#[pymethods]
impl Study {
    /// Reads `text` as the content of the file at `path`.
    #[staticmethod]
    fn parse(text: String, path: PathBuf) -> PyResult<Study> {
        Plan::parse(&path, text).map(Study).map_err(of_scenario)
    }
    fn __len__(&self) -> usize {
        self.0.len()
    }
    /// The scenario's name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }
    /// The name of the sweep: equal for equal studies.
    #[getter]
    fn id(&self) -> &str {
        &self.0.id
    }
    /// The varied parameters: their paths, and their names in tables.
    #[getter]
    fn parameters(&self) -> Vec<(String, String)> {
        self.0.parameters.iter().map(|it| (it.path.clone(), it.label.clone())).collect()
    }
    /// The settings of point `at` in words.
    fn settings(&self, at: usize) -> PyResult<String> {
        self.within(at)?;
        Ok(self.0.settings_text(at))
    }
    /// The scenario of point `at`.
    fn point(&self, py: Python<'_>, at: usize) -> PyResult<Scenario> {
        self.within(at)?;
        let loaded = py.detach(|| self.0.point(at)).map_err(of_scenario)?;
        Ok(Scenario::of(py, loaded))
    }
    /// Runs point `at` and writes its result below `out`. Returns its record as JSON. `alive` is called now and then; an
    /// exception that it raises stops the point.
    #[pyo3(signature = (at, out, whole, threads, alive=None))]
    fn run(
        &self,
        py: Python<'_>,
        at: usize,
        out: PathBuf,
        whole: bool,
        threads: usize,
        alive: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        self.within(at)?;
        let keep = if whole { Keep::Result(&[slotline_report::PAGE]) } else { Keep::Summary };
        let point = py.detach(|| Point::prepare(&self.0, at)).map_err(of_scenario)?;
        let jobs = Arc::clone(&point.jobs);
        let faults = Arc::new(Faults::default());
        let alive = alive.map(|call| Progress { call, end: None });
        let (record, stopped) =
            watched(py, &jobs, &faults, alive.as_ref(), || point.run(&out, keep, threads));
        stopped.map_or(Ok(()), Err)?;
        serde_json::to_string(&record.map_err(of_output)?).map_err(wrong)
    }
    /// Writes the tables of the sweep below `out` from the records of its points, and returns their folder, whether
    /// all points are done, and the table.
    fn finish(
        &self,
        py: Python<'_>,
        out: PathBuf,
        records: Vec<String>,
        width: usize,
    ) -> PyResult<(PathBuf, bool, String)> {
        let records: Result<Vec<PointRecord>, _> =
            records.iter().map(|text| serde_json::from_str(text)).collect();
        let records = records.map_err(wrong)?;
        let sweep = py.detach(|| self.joined(&out, records))?;
        let folder = slotline_report::sweep::write(&out, &sweep).map_err(of_output)?;
        Ok((folder, sweep.complete, sweep.table(width)))
    }
}

impl Study {
    fn within(&self, at: usize) -> PyResult<()> {
        let (name, of) = (&self.0.name, self.0.len());
        let beyond = || PyIndexError::new_err(format!("`{name}` has the points 0 to {}", of - 1));
        (at < of).then_some(()).ok_or_else(beyond)
    }
    /// The sweep with these records of points.
    fn joined(&self, out: &Path, records: Vec<PointRecord>) -> PyResult<Sweep> {
        let mut part = Part::of(&self.0, Shard::WHOLE);
        for record in records {
            let at = record.point;
            self.within(at)?;
            // A point that could not be prepared has no settings of its own.
            let settings = std::mem::take(&mut part.points[at].settings);
            part.points[at] = PointRecord { settings, ..record };
        }
        let good = (0..self.0.len()).find_map(|at| self.0.point(at).ok());
        part.metrics = good.map(|loaded| loaded.scenario.measure.metrics).unwrap_or_default();
        store::write_part(out, &part).map_err(of_output)?;
        join(&[(out.to_path_buf(), part)]).map_err(of_join)
    }
}

/// The folder of a sweep, whether it is complete, its table, and why points failed.
type Collected = (PathBuf, bool, String, Vec<(usize, String)>);

/// Joins the parts of a sweep in `folders`, and writes its tables below `out`.
#[pyfunction]
#[pyo3(signature = (folders, out, width))]
pub fn collect(folders: Vec<PathBuf>, out: Option<PathBuf>, width: usize) -> PyResult<Collected> {
    let found: Result<Vec<Vec<Found>>, _> = folders.iter().map(|folder| find(folder)).collect();
    let parts = found.map_err(of_join)?.concat();
    let sweep = join(&parts).map_err(of_join)?;
    let root = out.or_else(|| Some(parts.first()?.0.clone())).unwrap_or_default();
    let folder = slotline_report::sweep::write(&root, &sweep).map_err(of_output)?;
    let failed = sweep.points.iter().filter(|point| point.state == State::Failed);
    let why = |point: &PointRecord| (point.point, point.message.clone().unwrap_or_default());
    Ok((folder, sweep.complete, sweep.table(width), failed.map(why).collect()))
}
