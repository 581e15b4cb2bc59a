//! Scenarios: read, changed and run.

use crate::control::{Faults, extensions};
use crate::errors::{of_run, of_scenario, wrong};
use crate::gym::{self, Episode};
use crate::outcome::Outcome;
use crate::plan::{LinkRow, NodeRow, described};
use crate::running::{Progress, attached, watched};
use crate::session::Run;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use slotline_lab::output::run_id;
use slotline_lab::record::RunSet;
use slotline_lab::run::{Failure, Jobs};
use slotline_scenario::document::Document;
use slotline_scenario::keys::KeyPath;
use slotline_scenario::merge::Node;
use slotline_scenario::{EngineSpec, Extensions, Loaded, ScenarioError, extends};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A scenario that was read and checked.
#[pyclass(frozen, module = "slotline._core")]
pub struct Scenario {
    loaded: Loaded,
    /// The classes that the scenario may name as central schedulers, by name.
    parts: Py<PyDict>,
}

/// Reads `text` as the content of the file at `path`.
fn loaded(
    py: Python<'_>,
    document: Document,
    parts: &Py<PyDict>,
    faults: &Arc<Faults>,
) -> PyResult<Loaded> {
    let extensions = gym::extension(extensions(parts.bind(py), faults)?);
    read_with(py, document, &extensions, faults)
}

/// Reads `document`, which may name the parts in `extensions`.
fn read_with(
    py: Python<'_>,
    document: Document,
    extensions: &Extensions,
    faults: &Faults,
) -> PyResult<Loaded> {
    let checked = py.detach(|| Loaded::of(extends::resolved(document)?, extensions));
    faults.raise()?;
    checked.map_err(of_scenario)
}

/// The scenario with a single run, in which the packets of `flow` are recorded, and the index of its scheme.
pub fn follow(
    mut loaded: Loaded,
    scheme: &str,
    seed: u64,
    flow: u32,
) -> Result<(Loaded, usize), ScenarioError> {
    loaded.follow(&[flow])?;
    loaded.reseed(u32::try_from(seed).ok(), Some(1))?;
    let at = loaded.scenario.scheme.iter().position(|it| it.name == scheme);
    Ok((loaded, at.unwrap_or(0)))
}

/// The value that `text` stands for in TOML. Errors show it as the value of `path`.
fn value(path: &str, text: &str) -> PyResult<Node> {
    let key = toml::Value::String(path.into());
    let document = Document::new(Path::new("replace"), format!("{key} = {text}"));
    let mut table = Node::read(&Arc::new(document)).map_err(of_scenario)?;
    let mut value = table.take(path).ok_or_else(|| wrong("no value"))?;
    value.mark.path = path.into();
    Ok(value)
}

impl Scenario {
    /// The scenario of `document`.
    pub fn read(py: Python<'_>, document: Document, parts: Py<PyDict>) -> PyResult<Scenario> {
        Ok(Scenario { loaded: loaded(py, document, &parts, &Arc::default())?, parts })
    }
    /// The scenario as it was read.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }
    /// The scenario `loaded`, which names no parts of the program.
    pub fn of(py: Python<'_>, loaded: Loaded) -> Scenario {
        Scenario { loaded, parts: PyDict::new(py).unbind() }
    }
}

#[pymethods]
impl Scenario {
    /// Checks `text` as the content of the file at `path`.
    #[staticmethod]
    fn parse(py: Python<'_>, text: String, path: PathBuf, parts: Py<PyDict>) -> PyResult<Scenario> {
        Scenario::read(py, Document::new(&path, text), parts)
    }
    /// The scenario with other values: paths of keys, and values in TOML.
    fn replaced(&self, py: Python<'_>, changes: Vec<(String, String)>) -> PyResult<Scenario> {
        let document = Arc::new(self.loaded.document.clone());
        let mut tree = extends::merged(&document).map_err(of_scenario)?.tree;
        for (path, text) in changes {
            let (steps, value) = (KeyPath::parse(&path).map_err(wrong)?, value(&path, &text)?);
            tree.assign(&steps, &value).map_err(|why| wrong(format!("{path}: {why}")))?;
        }
        Scenario::read(py, tree.document(), self.parts.clone_ref(py))
    }
    /// The text of the scenario, with the content of the files that it extends.
    fn to_toml(&self) -> &str {
        &self.loaded.document.text
    }
    /// The scenario with all defaults, as TOML.
    fn resolved(&self) -> String {
        self.loaded.resolved()
    }
    /// The name of its result: equal for equal scenarios.
    #[getter]
    fn id(&self) -> String {
        run_id(&self.loaded.scenario.name, &self.loaded.resolved())
    }
    /// The file that it was read from.
    #[getter]
    fn path(&self) -> PathBuf {
        self.loaded.document.file.clone()
    }
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.loaded.scenario.name
    }
    /// The network in words.
    #[getter]
    fn fabric(&self) -> &str {
        self.loaded.fabric()
    }
    /// The names of the schemes; the first is the baseline.
    #[getter]
    fn schemes(&self) -> Vec<String> {
        self.loaded.scenario.scheme.iter().map(|scheme| scheme.name.clone()).collect()
    }
    /// The seeds of the runs of each scheme.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.loaded.scenario.seeds()
    }
    /// Sentences about files that it names, and about values that were computed.
    #[getter]
    fn notes(&self) -> Vec<String> {
        [&self.loaded.document.notices[..], &self.loaded.notes[..]].concat()
    }
    /// The network: nodes (name, whether it is a host, tier) and links (names of the ends, rate in bit/s and delay in
    /// picoseconds for each direction).
    fn graph(&self) -> PyResult<(Vec<NodeRow>, Vec<LinkRow>)> {
        let graph = self.loaded.scenario.fabric.build();
        let graph = graph.map_err(|error| of_scenario(self.loaded.blame(error)))?;
        Ok(described(&graph))
    }
    /// Starts a run of its only scheme with its only seed, to which flows can be added.
    fn start(&self, py: Python<'_>, workload: bool, threads: usize) -> PyResult<Run> {
        let faults = Arc::new(Faults::default());
        let loaded = self.own(py, &faults)?;
        py.detach(|| Run::start(loaded, workload, threads.max(1), faults))
    }
    /// Starts a run whose scheduler asks for a decision every `every` picoseconds.
    fn episode(&self, py: Python<'_>, seed: u32, every: u64, hosts: usize) -> PyResult<Episode> {
        let document = self.loaded.document.clone();
        let read = |parts: Extensions| read_with(py, document, &parts, &Faults::default());
        Episode::start(read, (seed, every, hosts))
    }
    /// Runs all schemes with all seeds. Returns the result, and the exception that ended the run early.
    #[pyo3(signature = (seed=None, repeat=None, threads=None, engine=None, progress=None))]
    fn run(
        &self,
        py: Python<'_>,
        seed: Option<u32>,
        repeat: Option<u32>,
        threads: Option<usize>,
        engine: Option<&str>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Outcome, Option<PyErr>)> {
        let faults = Arc::new(Faults::default());
        let mut loaded = self.own(py, &faults)?;
        if let Some(engine) = engine {
            loaded.use_engine(engine_named(engine)?).map_err(of_scenario)?;
        }
        if seed.is_some() || repeat.is_some() {
            py.detach(|| loaded.reseed(seed, repeat)).map_err(of_scenario)?;
        }
        runnable(&loaded)?;
        let jobs = Arc::new(Jobs::of(&loaded));
        // Threads within one run wait for each other, the longer the longer Python takes.
        let useful = if self.parts.bind(py).is_empty() { usize::MAX } else { jobs.0.len() };
        let threads = threads.unwrap_or_else(|| processors().min(useful)).max(1);
        let end = loaded.scenario.end.at.map(|at| at.as_ps());
        let progress = progress.map(|call| Progress { call, end });
        let work = || jobs.run_within(&loaded, threads, |_| (), |work| attached(work));
        let (done, stopped) = watched(py, &jobs, &faults, progress.as_ref(), work);
        if done.records.is_empty() && stopped.is_none() {
            let why: Vec<String> = done.failed.iter().map(Failure::to_string).collect();
            return Err(of_run(why.join("\n")));
        }
        let mut set = RunSet::new(&loaded, done.records);
        set.failed = done.failed.iter().map(Failure::record).collect();
        Ok((py.detach(|| Outcome::of(loaded, set)), stopped))
    }
}

/// Processors that this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn engine_named(name: &str) -> PyResult<EngineSpec> {
    match name {
        "packet" => Ok(EngineSpec::Packet {}),
        "flow" => Ok(EngineSpec::flow()),
        _ => Err(wrong(format!("`engine` is \"packet\" or \"flow\", not \"{name}\""))),
    }
}

/// Refuses scenarios that only real hosts can run.
fn runnable(loaded: &Loaded) -> PyResult<()> {
    let emulated = loaded.scenario.engine.emulated().is_some();
    if emulated || loaded.scenario.workload.is_empty() {
        return Err(wrong(
            "this scenario needs real hosts: use `slotline emulate`, or engine=\"packet\"",
        ));
    }
    match slotline_lab::footprint::excess(loaded, processors()) {
        Some(why) => Err(of_run(why)),
        None => Ok(()),
    }
}

impl Scenario {
    /// The scenario for one run. Parts of the program are supplied anew, so that each run has its own `faults`.
    fn own(&self, py: Python<'_>, faults: &Arc<Faults>) -> PyResult<Loaded> {
        match self.parts.bind(py).is_empty() {
            true => Ok(self.loaded.clone()),
            false => loaded(py, self.loaded.document.clone(), &self.parts, faults),
        }
    }
}
