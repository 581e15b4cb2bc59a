//! Loads a scenario from a file.

use super::check::check;
use super::document::Document;
use super::engine::EngineSpec;
use super::error::ScenarioError;
use super::extends;
use super::extensions::Extensions;
use super::fit;
use super::imported::{Imported, resolve};
use super::input::{Input, Reader};
use super::objects::Objects;
use super::own_fabric;
use super::spec::{MeasureSpec, Scenario, SchemeSpec, written};
use crate::import::captures::Captures;
use crate::read_text;
use slotline_net::error::SpecError;
use slotline_net::scheme::Proposal;
use slotline_net::topology::{Graph, GraphSpec, NodeKind, TopologySpec};
use slotline_net::workload::bulk::Bulk;
use slotline_net::workload::{Count, EachLine, Files, WorkloadSpec};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A scenario that was read and checked.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Its content.
    pub scenario: Scenario,
    /// Its text, to report errors at the place of a key.
    pub document: Document,
    /// Assumptions about the files that it names, which the user should know.
    pub notes: Vec<String>,
    /// The files it names.
    inputs: BTreeMap<String, Input>,
    /// The number of flows of each workload with the first seed.
    counts: Vec<Count>,
    /// The file of the fabric, if it has one of its own.
    imported: Option<Imported>,
    /// The files of schemes' own fabrics.
    own: Vec<Imported>,
    /// The object files that queues name.
    objects: Objects,
    fabric: String,
    /// The values that `scale = "auto"` has set, as notes.
    scaled: Vec<String>,
    /// For each scheme, values that fit its periods.
    proposals: Vec<Vec<Proposal>>,
}

impl Scenario {
    /// Reads and checks the file at `path`. Files that it names are looked for beside it.
    pub fn load(path: &Path) -> Result<Loaded, ScenarioError> {
        Scenario::load_with(path, &Extensions::new())
    }

    /// As [`Scenario::load`], for scenarios that name parts of the calling program.
    pub fn load_with(path: &Path, extensions: &Extensions) -> Result<Loaded, ScenarioError> {
        let read = read_text(path);
        let text = read.map_err(|error| ScenarioError::Read { path: path.into(), error })?;
        Scenario::parse_with(path, text, extensions)
    }

    /// Checks `text` as the content of the file at `path`; reports the first error.
    pub fn parse(path: &Path, text: String) -> Result<Loaded, ScenarioError> {
        Scenario::parse_with(path, text, &Extensions::new())
    }

    /// As [`Scenario::parse`], for scenarios that name parts of the calling program.
    pub fn parse_with(
        path: &Path,
        text: String,
        extensions: &Extensions,
    ) -> Result<Loaded, ScenarioError> {
        let document = extends::resolved(Document::new(path, text))?;
        Loaded::all_of(document, extensions).map_err(first)
    }

    /// Checks `text` as [`Scenario::parse`] does, without its sweep and the expectations about its points.
    pub fn parse_single(path: &Path, text: String) -> Result<Loaded, ScenarioError> {
        let document = extends::single(Document::new(path, text))?;
        Loaded::of(document, &Extensions::new())
    }

    /// As [`Scenario::load`], but reports every error that is independent of others.
    pub fn load_all(path: &Path) -> Result<Loaded, Vec<ScenarioError>> {
        Scenario::load_all_with(path, &Extensions::new())
    }

    /// As [`Scenario::load_all`], for scenarios that name parts of the calling program.
    pub fn load_all_with(
        path: &Path,
        extensions: &Extensions,
    ) -> Result<Loaded, Vec<ScenarioError>> {
        let read = read_text(path);
        let text = read.map_err(|error| vec![ScenarioError::Read { path: path.into(), error }])?;
        let document = extends::resolved(Document::new(path, text)).map_err(|error| vec![error])?;
        Loaded::all_of(document, extensions)
    }
}

impl Loaded {
    /// Checks `document`, which extends no other file. It may name parts of the calling program.
    pub fn of(document: Document, extensions: &Extensions) -> Result<Loaded, ScenarioError> {
        Loaded::all_of(document, extensions).map_err(first)
    }

    /// As [`Loaded::of`], but reports every error.
    pub(super) fn all_of(
        document: Document,
        extensions: &Extensions,
    ) -> Result<Loaded, Vec<ScenarioError>> {
        let shape = document.shape_faults();
        if !shape.is_empty() {
            return Err(shape);
        }
        let scenario: Scenario =
            toml::from_str(&document.text).map_err(|error| vec![document.fault_of(&error)])?;
        let mut loaded = Loaded {
            scenario,
            document,
            notes: vec![],
            inputs: BTreeMap::new(),
            counts: vec![],
            imported: None,
            own: vec![],
            objects: Objects::beside(Path::new("")),
            fabric: String::new(),
            scaled: vec![],
            proposals: vec![],
        };
        loaded.import(extensions)?;
        loaded.follow_nothing_unasked();
        loaded.scale(extensions)?;
        let faults = loaded.faults();
        if faults.is_empty() { Ok(loaded) } else { Err(faults) }
    }

    /// Replaces the seeds of the file, as options of the command line can, and checks again.
    pub fn reseed(&mut self, seed: Option<u32>, repeat: Option<u32>) -> Result<(), ScenarioError> {
        self.scenario.seed = seed.unwrap_or(self.scenario.seed);
        self.scenario.repeat = repeat.unwrap_or(self.scenario.repeat);
        self.check()
    }

    /// Replaces the engine of the file, as the command line can, and checks again.
    pub fn use_engine(&mut self, engine: EngineSpec) -> Result<(), ScenarioError> {
        self.scenario.engine = engine;
        self.follow_nothing_unasked();
        self.check()
    }

    /// Sets `why` for the packet engine, unless the file has it. Other engines cannot find where the time of flows was
    /// spent.
    fn follow_nothing_unasked(&mut self) {
        if !self.document.says("measure.why") {
            let engine = &self.scenario.engine;
            self.scenario.measure.why = engine.is_packet() && engine.emulated().is_none();
        }
    }

    /// The same scenario with another fabric and only scheme number `at`. Traffic, events, programs and what is expected, which
    /// may name parts of this fabric, are left out: one flow is there instead.
    ///
    /// # Errors
    /// The scheme cannot run on the fabric.
    pub fn on_fabric(&self, fabric: GraphSpec, at: usize) -> Result<Loaded, ScenarioError> {
        let mut loaded = self.clone();
        let scenario = &mut loaded.scenario;
        scenario.fabric = TopologySpec::Graph(fabric);
        scenario.scheme = scenario.scheme.drain(..).skip(at).take(1).collect();
        scenario.scheme.iter_mut().for_each(|scheme| scheme.fabric = None);
        scenario.workload = vec![WorkloadSpec::Bulk(Bulk::default())];
        scenario.measure = MeasureSpec::default();
        (scenario.event, scenario.app, scenario.expect) = Default::default();
        (loaded.imported, loaded.own) = (None, Vec::new());
        loaded.check()?;
        Ok(loaded)
    }

    /// Follows these flows only; without any, the slowest flows.
    pub fn follow(&mut self, flows: &[u32]) -> Result<(), ScenarioError> {
        self.scenario.measure.follow = flows.to_vec();
        self.scenario.measure.why = flows.is_empty();
        self.check()
    }

    /// Replaces the name of a fabric's file by its content, loads the programs of queues, and adds the parts of the
    /// calling program.
    fn import(&mut self, extensions: &Extensions) -> Result<(), Vec<ScenarioError>> {
        let folder = self.folder();
        let imported = resolve(&mut self.scenario.fabric, |name| read(&folder.join(name)));
        self.imported = imported.map_err(|error| vec![self.blame(error)])?;
        self.import_own(&folder).map_err(|error| vec![self.blame(error)])?;
        self.objects = Objects::beside(&folder);
        let mut faults = self.objects.fill_all(&mut self.scenario.scheme);
        faults.extend(extensions.supply(&mut self.scenario));
        let faults: Vec<_> = faults.into_iter().map(|error| self.blame(error)).collect();
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    /// Replaces the names of files of schemes' own fabrics by their content, and `racks-of` by racks.
    fn import_own(&mut self, folder: &Path) -> Result<(), SpecError> {
        for (at, scheme) in self.scenario.scheme.iter_mut().enumerate() {
            let Some(fabric) = &mut scheme.fabric else { continue };
            let found = resolve(fabric, |name| read(&folder.join(name)));
            self.own.extend(found.map_err(|error| error.within(format_args!("scheme[{at}]")))?);
        }
        own_fabric::take_racks(&mut self.scenario)
    }

    /// Replaces `scale = "auto"` by periods that fit. They follow from the traffic of seed 1, whatever the scenario's
    /// seed is, so that all repetitions have the same periods.
    fn scale(&mut self, extensions: &Extensions) -> Result<(), Vec<ScenarioError>> {
        let schemes = 0..self.scenario.scheme.len();
        let asks = |at: &usize| fit::is_scaled(&self.scenario.scheme[*at].control);
        let asking: Vec<usize> = schemes.filter(asks).collect();
        if asking.is_empty() {
            return Ok(());
        }
        let seed = std::mem::replace(&mut self.scenario.seed, 1);
        let faults = self.faults();
        self.scenario.seed = seed;
        if !faults.is_empty() {
            return Err(faults);
        }
        for at in asking {
            self.scale_scheme(at).map_err(|error| vec![error])?;
        }
        let faults = extensions.supply(&mut self.scenario);
        let faults: Vec<_> = faults.into_iter().map(|error| self.blame(error)).collect();
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    fn scale_scheme(&mut self, at: usize) -> Result<(), ScenarioError> {
        let path = |key: &str| format!("scheme[{at}].control.{key}");
        let proposals = self.proposals.get(at).cloned().unwrap_or_default();
        let is_given = |key: &str| self.document.says(&path(key));
        let name = self.scenario.scheme[at].name.clone();
        match fit::scaled(&self.scenario.scheme[at].control, &proposals, is_given) {
            Some((control, set)) if !set.is_empty() => {
                self.scaled.push(format!("{name}: scale = \"auto\" sets {}", set.join(", ")));
                self.scenario.scheme[at].control = control;
                Ok(())
            }
            _ => {
                let why = "`scale` does nothing: all periods are given, or no value can be computed for them";
                Err(self.blame(SpecError::new(path("scale"), why)))
            }
        }
    }

    /// A sentence for each period of a central scheme that does not fit the network and its traffic.
    pub fn misfits(&self) -> Vec<String> {
        let schemes = self.scenario.scheme.iter().zip(&self.proposals);
        schemes.flat_map(|(scheme, proposals)| fit::misfits(&scheme.name, proposals)).collect()
    }

    fn check(&mut self) -> Result<(), ScenarioError> {
        self.faults().into_iter().next().map_or(Ok(()), Err)
    }

    /// Checks the scenario; returns every error.
    fn faults(&mut self) -> Vec<ScenarioError> {
        let folder = self.folder();
        let captures = Captures::new(&self.scenario.workload, &folder);
        let files = Reader { folder: &folder, captures: &captures, inputs: RefCell::default() };
        let checked = check(&self.scenario, &files);
        let inputs = files.inputs.into_inner();
        self.counts = checked.counts;
        self.notes = captures.notes();
        self.notes.extend(checked.notes);
        self.notes.extend(self.scaled.iter().cloned());
        self.proposals = checked.proposals;
        let from = self.imported.as_ref().map_or_else(String::new, Imported::description);
        let described = checked.graph.map(|graph| described(&self.scenario.fabric, &graph) + &from);
        let described = described.map(|text| text + &self.own_fabrics());
        self.fabric = described.unwrap_or_default();
        self.inputs = inputs;
        checked.faults.into_iter().map(|error| self.blame(error)).collect()
    }

    /// The fabrics that schemes have of their own, as the end of a text.
    fn own_fabrics(&self) -> String {
        let one = |scheme: &SchemeSpec| {
            let fabric = scheme.fabric.as_deref()?;
            Some(format!("; {}: {}", scheme.name, described(fabric, &fabric.build().ok()?)))
        };
        self.scenario.scheme.iter().filter_map(one).collect()
    }

    /// The folder in which files named in the scenario are looked for.
    fn folder(&self) -> PathBuf {
        self.document.file.parent().map_or_else(PathBuf::new, Path::to_path_buf)
    }

    /// The fabric as text: `star of 9 hosts and 1 switch`.
    pub fn fabric(&self) -> &str {
        &self.fabric
    }

    /// The number of flows of each workload with the first seed. For many flows it is an estimate.
    pub fn counts(&self) -> &[Count] {
        &self.counts
    }

    /// The number of flows of a run with the first seed.
    pub fn flows(&self) -> u64 {
        self.counts.iter().map(|count| count.all).sum()
    }

    /// The text of a file that the scenario names, as read when it was loaded. The text of a long file of lines is not
    /// in memory.
    pub fn file(&self, name: &str) -> Result<String, String> {
        self.input(name)?.text(name)
    }

    fn input(&self, name: &str) -> Result<&Input, String> {
        self.inputs.get(name).ok_or_else(|| format!("`{name}` was not read"))
    }

    /// `error`, whose key is a full path (`workload[0].load`), as an error with file and line.
    pub fn blame(&self, error: SpecError) -> ScenarioError {
        self.document.fault_at(&error.key, error.message)
    }

    /// The scenario with all defaults written out, and a fingerprint of each file that it names.
    pub fn resolved(&self) -> String {
        let input = |(name, input): (&String, &Input)| {
            let name = name.replace(char::is_control, "?");
            format!("# {name}: {} bytes, {}\n", input.bytes, input.content)
        };
        let inputs: String = self.inputs.iter().map(input).collect();
        let imported = self.imported.as_ref().map_or_else(String::new, Imported::remarks);
        let own: String = self.own.iter().map(Imported::remarks).collect();
        self.scenario.resolved() + &inputs + &imported + &own + &self.objects.remarks()
    }
}

/// Files as they were read when the scenario was loaded. A file that is read again and has changed is an error.
impl Files for Loaded {
    fn text(&self, name: &str) -> Result<String, String> {
        self.file(name)
    }

    fn lines(&self, name: &str, each: &mut EachLine<'_>) -> Result<(), String> {
        let folder = self.folder();
        let captures = Captures::new(&self.scenario.workload, &folder);
        self.input(name)?.lines(name, &folder, &captures, each)
    }
}

/// The first of the faults for which a scenario was refused.
fn first(faults: Vec<ScenarioError>) -> ScenarioError {
    faults.into_iter().next().expect("refused for a fault")
}

pub(crate) fn read(path: &Path) -> Result<String, String> {
    read_text(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn described(fabric: &TopologySpec, graph: &Graph) -> String {
    let hosts = graph.nodes.iter().filter(|node| node.kind == NodeKind::Host).count();
    let switches = graph.nodes.len() - hosts;
    let kind = written(fabric).and_then(|f| Some(f.get("kind")?.as_str()?.to_string()));
    let plural =
        |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    format!(
        "{} of {} and {}",
        kind.unwrap_or_default(),
        plural(hosts, "host", "hosts"),
        plural(switches, "switch", "switches")
    )
}
