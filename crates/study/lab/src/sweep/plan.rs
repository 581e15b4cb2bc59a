//! Reads the `sweep` table of a file, and builds its points.

use super::expectations;
use crate::output::run_id;
use serde::{Deserialize, Serialize};
use slotline_scenario::document::Document;
use slotline_scenario::extends::{self, Merged};
use slotline_scenario::keys::{KeyPath, Step};
use slotline_scenario::merge::Node;
use slotline_scenario::overrides;
use slotline_scenario::{Extensions, Loaded, ScenarioError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most points of a study.
pub const MOST_POINTS: usize = 100_000;

/// Keys that cannot be swept: they change no result, or they change the structure of the scenario.
const NOT_SWEPT: [&str; 5] = ["name", "description", "extends", "without", "sweep"];

/// The key of a listed point that names it, instead of a key of the scenario.
const LABEL: &str = "label";

/// Names of columns of the tables, which no parameter may have.
const TAKEN: [&str; 10] =
    ["point", "id", "scheme", "metric", "unit", "mean", "ci_low", "ci_high", "n", "lower_bound"];

/// A varied parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its path in the scenario, as `scheme[dctcp].queue.threshold`.
    pub path: String,
    /// The name of its column: the last key where that is unique, else the path.
    pub label: String,
}

/// A file with a `sweep`.
#[derive(Clone, Debug)]
pub struct Study {
    /// The file.
    pub file: PathBuf,
    /// The scenario's name.
    pub name: String,
    /// The short name of the sweep. It depends on the scenario, on all varied values, and on the version of the
    /// program. It is the same on every machine.
    pub id: String,
    /// The varied parameters, in the order of the file.
    pub parameters: Vec<Parameter>,
    /// A line for each old name that the file, or one that it extends, uses.
    pub notices: Vec<String>,
    /// The scenario without the sweep.
    pub(super) base: Node,
    paths: Vec<KeyPath>,
    /// How many of the parameters, the last ones, are a grid.
    grid: usize,
    points: Vec<Settings>,
    extensions: Extensions,
}

/// A value for each parameter, by position; `None` for the value of the scenario. The key of a value from a list is
/// that of the list.
type Settings = Vec<Option<Arc<Node>>>;

impl Study {
    /// Whether `file`, or a file that it extends, has a `sweep`.
    pub fn is_in(file: &Path) -> bool {
        let Ok(text) = slotline_scenario::read_text(file) else { return false };
        let merged = extends::merged(&Arc::new(Document::new(file, text)));
        merged.is_ok_and(|mut merged| merged.tree.take("sweep").is_some())
    }

    /// Reads `file`. Its points are not checked yet: [`Study::point`] does that.
    pub fn load(file: &Path) -> Result<Study, ScenarioError> {
        Study::load_with(file, &Extensions::new())
    }

    /// As [`Study::load`], for scenarios that name parts of the calling program.
    pub fn load_with(file: &Path, extensions: &Extensions) -> Result<Study, ScenarioError> {
        let read = slotline_scenario::read_text(file);
        let text = read.map_err(|error| ScenarioError::Read { path: file.into(), error })?;
        let study = Study::parse(file, text)?;
        Ok(Study { extensions: extensions.clone(), ..study })
    }

    /// Whether `text`, as the content of `file`, has a `sweep`.
    ///
    /// # Errors
    /// It is not TOML, or extends a file that cannot be read.
    pub fn has_sweep(file: &Path, text: &str) -> Result<bool, ScenarioError> {
        let mut merged = extends::merged(&Arc::new(Document::new(file, text.into())))?;
        Ok(merged.tree.take("sweep").is_some())
    }

    /// Reads `text` as the content of `file`.
    pub fn parse(file: &Path, text: String) -> Result<Study, ScenarioError> {
        Study::parse_with(file, text, &[])
    }

    /// As [`Study::parse`], with values of the scenario `replaced`, as in `fabric.hosts=9`. The sweep still varies what it
    /// varies.
    pub fn parse_with(
        file: &Path,
        text: String,
        replaced: &[String],
    ) -> Result<Study, ScenarioError> {
        let document = Arc::new(Document::new(file, text));
        let Merged { tree: mut base, notices } = extends::merged(&document)?;
        let sweep = base.take("sweep").ok_or_else(|| {
            missing(
                &base,
                "sweep",
                "no `sweep` in this file: use `slotline run` with it, or add, for \
                                     example, [sweep.grid] with seed = [1, 2, 3]",
            )
        })?;
        overrides::set_all(&mut base, replaced)?;
        // The points report that a scenario has no name.
        let name = base.table().and_then(|table| table.get("name")?.text()).unwrap_or_default();
        let name = name.to_string();
        let axes = Axes::read(&sweep)?;
        let points = axes.points(&sweep)?;
        let parameters = parameters(&axes.paths);
        let mut study = Study {
            file: file.into(),
            name,
            id: String::new(),
            parameters,
            notices,
            base,
            grid: axes.grid.len(),
            paths: axes.paths,
            points,
            extensions: Extensions::new(),
        };
        study.check_paths()?;
        expectations::check(&study)?;
        study.id = run_id(&format!("{} sweep", study.name), &study.fingerprint());
        Ok(study)
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether the study has no points, which never happens.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// The values of point `at`, by parameter; `None` where the value of the scenario applies.
    pub fn settings(&self, at: usize) -> Vec<Option<toml::Value>> {
        let plain = |value: &Option<Arc<Node>>| value.as_ref().map(|value| value.plain());
        self.points[at].iter().map(plain).collect()
    }

    /// The settings of point `at` as text: `load = 0.7, k = 8`. A label stands for those of a listed point.
    pub fn settings_text(&self, at: usize) -> String {
        let settings = self.settings(at);
        let is_label = |parameter: &Parameter| parameter.path == LABEL;
        let label = self.parameters.iter().position(is_label);
        let label = label.and_then(|label| settings[label].as_ref()).map(shown);
        let listed = self.parameters.len() - self.grid;
        let pairs = self.parameters.iter().zip(&settings);
        let setting = |(parameter, value): (&Parameter, &Option<toml::Value>)| {
            Some(format!("{} = {}", parameter.label, shown(value.as_ref()?)))
        };
        let unnamed = pairs.skip(if label.is_some() { listed } else { 0 }).filter_map(setting);
        label.into_iter().chain(unnamed).collect::<Vec<_>>().join(", ")
    }

    /// The scenario of point `at`, checked. An error names the place where the fault was written: in the sweep, the
    /// scenario, or a file that it extends.
    pub fn point(&self, at: usize) -> Result<Loaded, ScenarioError> {
        let mut tree = self.base.clone();
        self.set(&mut tree, at)?;
        expectations::keep(&mut tree, self, at);
        let loaded = Loaded::of(tree.document(), &self.extensions)
            .map_err(|error| self.in_point(at, error))?;
        match self.seed(at) {
            Some(seed) if loaded.scenario.repeat != 1 => Err(seed.fault(format!(
                "`seed` is swept: each point is one repetition, but `repeat` is {}",
                loaded.scenario.repeat
            ))),
            _ => Ok(loaded),
        }
    }

    /// Whether repetitions are separate points.
    pub fn sweeps_seed(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.path == "seed")
    }

    fn seed(&self, at: usize) -> Option<&Node> {
        let index = self.parameters.iter().position(|parameter| parameter.path == "seed")?;
        self.points[at][index].as_deref()
    }

    fn set(&self, tree: &mut Node, at: usize) -> Result<(), ScenarioError> {
        let settings = self.paths.iter().zip(&self.points[at]);
        let keys = settings.filter(|(path, _)| path.to_string() != LABEL);
        keys.filter_map(|(path, value)| Some((path, value.as_ref()?))).try_for_each(
            |(path, value)| tree.assign(path, value).map_err(|why| value.fault_of_key(why)),
        )
    }

    /// Checks that every path exists in the scenario.
    fn check_paths(&self) -> Result<(), ScenarioError> {
        (0..self.len()).try_for_each(|at| self.set(&mut self.base.clone(), at))
    }

    /// `error` with the name of its point, unless the fault is in the sweep itself.
    fn in_point(&self, at: usize, error: ScenarioError) -> ScenarioError {
        match error {
            ScenarioError::Fault(mut fault) if !fault.key.starts_with("sweep.") => {
                let point = format!("in point {at} of the sweep: {}", self.settings_text(at));
                let before = fault.hint.take().map_or(String::new(), |hint| format!("{hint}; "));
                fault.hint = Some(before + &point);
                ScenarioError::Fault(fault)
            }
            ScenarioError::Fault(mut fault) if fault.lacks_key => {
                let hint = "the scenario does not have this table: write it there, then vary it";
                fault.hint = Some(hint.into());
                ScenarioError::Fault(fault)
            }
            other => other,
        }
    }

    /// The text that determines the name of the sweep.
    fn fingerprint(&self) -> String {
        let point = |at: usize| format!("{at}: {:?}\n", self.settings(at));
        let points: String = (0..self.len()).map(point).collect();
        let paths: Vec<String> = self.paths.iter().map(KeyPath::to_string).collect();
        format!("{}\n{paths:?}\n{points}", self.base.document().text)
    }
}

/// A value as in a scenario, with text not quoted and tables on one line.
pub fn shown(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn missing(tree: &Node, key: &str, message: &str) -> ScenarioError {
    tree.mark.document.fault_at(key, message.into())
}

/// The last key of each path if no other path has it, else the path.
fn parameters(paths: &[KeyPath]) -> Vec<Parameter> {
    let unique = |path: &KeyPath| {
        let same = paths.iter().filter(|other| other.last_key() == path.last_key());
        same.count() == 1 && !TAKEN.contains(&path.last_key())
    };
    let label = |path: &KeyPath| {
        if unique(path) { path.last_key().to_string() } else { path.to_string() }
    };
    paths.iter().map(|path| Parameter { path: path.to_string(), label: label(path) }).collect()
}

/// The content of the `sweep` table.
struct Axes {
    paths: Vec<KeyPath>,
    grid: Vec<Settings>,
    listed: Vec<Settings>,
}

impl Axes {
    fn read(sweep: &Node) -> Result<Axes, ScenarioError> {
        let table = sweep.table().ok_or_else(|| sweep.fault(EXAMPLE.into()))?;
        if let Some((key, node)) =
            table.iter().find(|(key, _)| !["grid", "point"].contains(&key.as_str()))
        {
            return Err(node.fault_of_key(format!(
                "unknown field `{key}`, expected `grid` or `point`: keys that vary belong in [sweep.grid]"
            )));
        }
        let mut axes = Axes { paths: vec![], grid: vec![], listed: vec![] };
        axes.read_points(table.get("point"))?;
        axes.read_grid(table.get("grid"))?;
        if axes.paths.is_empty() {
            return Err(sweep.fault(EXAMPLE.into()));
        }
        Ok(axes)
    }

    /// Reads a list of points. A key that a point does not name has the value of the scenario.
    fn read_points(&mut self, node: Option<&Node>) -> Result<(), ScenarioError> {
        let Some(node) = node else { return Ok(()) };
        let list = node.list().filter(|list| !list.is_empty());
        let list = list.ok_or_else(|| node.fault("`point` is a list: [[sweep.point]]".into()))?;
        for point in list {
            let mut settings: Settings = vec![];
            for (path, value) in leaves(point)? {
                let at = self.position(path);
                settings.resize(settings.len().max(at + 1), None);
                settings[at] = Some(Arc::new(value));
            }
            self.listed.push(settings);
        }
        Ok(())
    }

    fn read_grid(&mut self, node: Option<&Node>) -> Result<(), ScenarioError> {
        let Some(node) = node else { return Ok(()) };
        for (path, values) in leaves(node)? {
            if self.paths.contains(&path) {
                return Err(values.fault_of_key(format!("`{path}` is already in `point`")));
            }
            let list = values.list().filter(|list| !list.is_empty()).ok_or_else(|| {
                values
                    .fault(format!("`{path}` in a grid is a list of values, for example [1, 2, 3]"))
            })?;
            self.paths.push(path);
            self.grid
                .push(list.iter().map(|value| Some(Arc::new(value.at_key_of(&values)))).collect());
        }
        Ok(())
    }

    fn position(&mut self, path: KeyPath) -> usize {
        self.paths.iter().position(|known| *known == path).unwrap_or_else(|| {
            self.paths.push(path);
            self.paths.len() - 1
        })
    }

    /// Each listed point combined with the whole grid. The last parameter changes fastest.
    fn points(&self, sweep: &Node) -> Result<Vec<Settings>, ScenarioError> {
        let listed = if self.listed.is_empty() { vec![vec![]] } else { self.listed.clone() };
        let wide = self.paths.len() - self.grid.len();
        let count = self.grid.iter().try_fold(listed.len(), |n, axis| n.checked_mul(axis.len()));
        if count.is_none_or(|count| count > MOST_POINTS) {
            return Err(sweep.fault(format!("`sweep` has more than {MOST_POINTS} points")));
        }
        let padded = listed.into_iter().map(|mut point| {
            point.resize(wide, None);
            point
        });
        let with_axis = |points: Vec<Settings>, axis: &Settings| {
            let each = points.into_iter().flat_map(|point| {
                axis.iter()
                    .map(move |choice| [point.as_slice(), std::slice::from_ref(choice)].concat())
            });
            each.collect()
        };
        Ok(self.grid.iter().fold(padded.collect(), with_axis))
    }
}

const EXAMPLE: &str = "`sweep` says what varies, for example: [sweep.grid] with \"workload[0].load\" = \
                       [0.3, 0.5, 0.7], or a [[sweep.point]] for each point";

/// The keys of `table` as paths with their values, in the order in which they are written. `"fabric.k" = …` and
/// `fabric.k = …` mean the same.
fn leaves(table: &Node) -> Result<Vec<(KeyPath, Node)>, ScenarioError> {
    let mut found = vec![];
    collect("", table, &mut found)?;
    if found.is_empty() {
        return Err(table.fault(EXAMPLE.into()));
    }
    let place = |node: &Node| {
        (node.mark.document.file.file_name().map(ToOwned::to_owned), node.mark.key.start)
    };
    found.sort_by_key(|(_, node)| place(node));
    Ok(found)
}

fn collect(
    prefix: &str,
    node: &Node,
    found: &mut Vec<(KeyPath, Node)>,
) -> Result<(), ScenarioError> {
    let table = node.table().ok_or_else(|| node.fault(EXAMPLE.into()))?;
    for (key, value) in table {
        let dot = if prefix.is_empty() { "" } else { "." };
        let text = format!("{prefix}{dot}{key}");
        if value.table().is_some() && !value.is_inline() {
            collect(&text, value, found)?;
            continue;
        }
        let path = KeyPath::parse(&text).map_err(|why| value.fault_of_key(why))?;
        let first = path.0.first().and_then(Step::key);
        if let Some(key) = NOT_SWEPT.iter().find(|key| first == Some(key)) {
            return Err(value.fault_of_key(format!("`{key}` cannot be swept")));
        }
        if found.iter().any(|(other, _)| *other == path) {
            return Err(value.fault_of_key(format!("`{path}` is given twice")));
        }
        found.push((path, value.clone()));
    }
    Ok(())
}
