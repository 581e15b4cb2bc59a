//! Reproduces published experiments, and compares the measured values with those of the papers.
//!
//! Most experiments are a scenario file, whose schemes are the curves of a figure. Its sweep has the points of the
//! figure's axis, and its expectations the values of the paper. If a quantity needs a computation of its own, code beside
//! it has the points and the rows. Other experiments are a computation, or a measurement of this program. No parameter
//! is tuned to match a paper.

/// An experiment that is data: its file has the points, the quantities and the expected values. Fields that follow, such as
/// `figures: more`, replace those of [`Study::data`].
macro_rules! data {
    ($id:literal, $about:literal $(, $field:ident: $value:expr)*) => {
        $crate::Experiment {
            id: $id,
            about: $about,
            work: $crate::Work::Runs($crate::Study {
                $($field: $value,)*
                ..$crate::Study::data(
                    concat!("scenarios/reproduce/", $id, ".toml"),
                    include_str!(concat!(
                        env!("CARGO_MANIFEST_DIR"),
                        "/../../../scenarios/reproduce/",
                        $id,
                        ".toml"
                    )),
                )
            }),
        }
    };
}

mod data;
mod document;
pub mod draw;
mod emulated;
mod etalon;
mod fastpass;
mod fat_tree;
mod hedera;
mod markdown;
mod netbump;
mod page;
pub mod quantity;
mod sizes;
mod stored;
mod stored_table;
mod table;
mod tdma;
mod xco;

pub use document::with_table;
pub use emulated::Emulated;
pub use markdown::markdown;
pub use page::write;
pub use quantity::Quantity;
pub use sizes::Sizes;
pub use stored::Stored;
pub use stored_table::{StoredTable, marked, with_stored_tables};
pub use table::table;

use draw::View;
use serde::{Deserialize, Serialize};
use slotline_lab::record::RunRecord;
use slotline_lab::run::Jobs;
use slotline_lab::statistics::Estimate;
use slotline_report::plot::Figure;
use slotline_scenario::{Loaded, Scenario, ScenarioError};
use std::path::Path;

pub use data::Asked;

/// A paper, with its experiments.
#[derive(Debug)]
pub struct Paper {
    /// Its short name, which is the prefix of the names of its experiments: `xco`.
    pub key: &'static str,
    /// Title, authors, year.
    pub title: &'static str,
    /// Its experiments, in order.
    pub experiments: &'static [Experiment],
}

/// One published experiment.
#[derive(Debug)]
pub struct Experiment {
    /// Its name: that of its paper, a dash, and a number or letter.
    pub id: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// The method.
    pub work: Work,
}

/// The method of an experiment.
#[derive(Debug)]
pub enum Work {
    /// Runs of a scenario.
    Runs(Study),
    /// A computation or a measurement.
    Computed {
        /// A sentence on the method, for the page.
        how: &'static str,
        /// Computes the findings with this number of threads.
        find: fn(usize) -> Findings,
    },
}

/// A scenario at the points of a figure's axis.
#[derive(Debug)]
pub struct Study {
    /// The scenario file, below the project's folder. Its name is that of the experiment.
    pub file: &'static str,
    /// The content of the file.
    pub text: &'static str,
    /// The points of the figure's axis. If empty, the points are those of the file's sweep.
    pub axis: &'static [u32],
    /// Sets a scenario to a point and names the point.
    pub set: fn(&mut Scenario, u32) -> String,
    /// Compares all points with the paper.
    pub compare: fn(&[Measured]) -> Vec<Row>,
    /// Draws the figures.
    pub figures: fn(&View) -> Vec<Figure>,
}

/// All papers.
pub static PAPERS: [&Paper; 7] = [
    &tdma::PAPER,
    &fastpass::PAPER,
    &xco::PAPER,
    &fat_tree::PAPER,
    &hedera::PAPER,
    &etalon::PAPER,
    &netbump::PAPER,
];

/// The findings of an experiment.
#[derive(Debug, Default)]
pub struct Findings {
    /// The names of lines and bars in the figures: schemes.
    pub names: Vec<String>,
    /// The comparison.
    pub rows: Vec<Row>,
    /// The figures, which resemble those of the paper.
    pub figures: Vec<Figure>,
    /// The results of real hosts, if requested.
    pub emulated: Option<Emulated>,
}

/// A point of a figure's axis, to be run.
#[derive(Debug)]
pub struct Point {
    /// Its place on the axis.
    pub x: u32,
    /// The name of the point, such as "N=8".
    pub setup: String,
    /// The scenario at this point.
    pub loaded: Loaded,
}

/// A point that was run.
#[derive(Debug, Default)]
pub struct Measured {
    /// Its place on the axis.
    pub x: u32,
    /// The name of the point.
    pub setup: String,
    /// What the scenario asks for.
    pub asked: Asked,
    /// All runs of all schemes, by seed and then in the order of the schemes.
    pub runs: Vec<RunRecord>,
}

/// The value of a quantity in the text of a paper.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stated {
    /// This value, or about this value.
    About(f64),
    /// More than this.
    Over(f64),
    /// Less than this.
    Under(f64),
}

/// A text of the program, or of a file.
pub type Text = std::borrow::Cow<'static, str>;

/// One quantity in one setup.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Its place on the axis of the figures; `None` if it concerns all points or is not drawn.
    pub x: Option<f64>,
    /// The point of the axis, such as "N=8"; empty if the row concerns all points.
    pub point: String,
    /// The scheme; empty if there is only one.
    pub scheme: String,
    /// The quantity.
    pub quantity: Text,
    /// Unit of both values.
    pub unit: Text,
    /// The value in the text of the paper, if any. Values are not read from figures.
    pub paper: Option<Stated>,
    /// The measured value, over seeds.
    pub ours: Estimate,
    /// A note on the difference, in one line.
    pub note: String,
}

/// All experiments of all papers.
pub fn experiments() -> impl Iterator<Item = &'static Experiment> {
    PAPERS.iter().flat_map(|paper| paper.experiments)
}

/// The experiment with the name `id`.
pub fn find(id: &str) -> Option<&'static Experiment> {
    experiments().find(|experiment| experiment.id == id)
}

impl Experiment {
    /// The paper that contains it.
    pub fn paper(&self) -> &'static Paper {
        let has = |paper: &&&Paper| paper.experiments.iter().any(|own| own.id == self.id);
        PAPERS.iter().find(has).expect("an experiment is in the list of its paper")
    }
    /// The study of its runs; `None` if it is computed.
    pub fn study(&self) -> Option<&Study> {
        match &self.work {
            Work::Runs(study) => Some(study),
            Work::Computed { .. } => None,
        }
    }
}

impl Findings {
    /// The rows as lines of JSON.
    pub fn json(&self, id: &str) -> Vec<String> {
        let line = |(at, row): (usize, &Row)| row.json(id, table::emulated(self, at));
        self.rows.iter().enumerate().map(line).collect()
    }
}

impl Study {
    /// An experiment without computations of its own: the sweep of the file has the points, its metrics are the
    /// quantities, and its expectations are the values of the paper.
    pub const fn data(file: &'static str, text: &'static str) -> Study {
        let (compare, figures) = (data::rows, data::figures);
        Study { file, text, axis: &[], set: |_, _| String::new(), compare, figures }
    }
    /// The points of the axis, ready to run.
    pub fn points(&self) -> Result<Vec<Point>, ScenarioError> {
        self.points_with(None)
    }
    /// Its points, with the sizes of real hosts if there are such.
    pub fn points_with(&self, sizes: Option<&Sizes>) -> Result<Vec<Point>, ScenarioError> {
        let replaced = sizes.map_or(vec![], Sizes::replaced);
        if self.axis.is_empty() {
            let wanted = |x| sizes.is_none_or(|sizes| sizes.has(x));
            let mut points = data::points(Path::new(self.file), self.text, &replaced, wanted)?;
            if sizes.is_some() {
                points.iter_mut().for_each(|point| sizes::as_real(&mut point.loaded.scenario));
            }
            return Ok(points);
        }
        let at = |&x: &u32| {
            let (file, text) = (Path::new(self.file), self.text.into());
            let mut loaded = Scenario::parse_single_with(file, text, &replaced, "--set")?;
            // Expectations are about the file as it is, whose schemes may be missing here.
            loaded.scenario.expect.clear();
            let setup = (self.set)(&mut loaded.scenario, x);
            if sizes.is_some() {
                sizes::as_real(&mut loaded.scenario);
            }
            loaded.reseed(None, None)?;
            Ok(Point { x, setup, loaded })
        };
        self.axis.iter().filter(|x| sizes.is_none_or(|sizes| sizes.has(**x))).map(at).collect()
    }
    /// The findings from the runs of its points.
    pub fn findings(&self, points: &[Measured]) -> Findings {
        let rows = (self.compare)(points);
        let view = View::of(points, &rows);
        let figures = (self.figures)(&view);
        Findings { names: view.names, rows, figures, emulated: None }
    }
}

impl Point {
    /// Runs the point. `jobs` are those of its scenario.
    pub fn run(&self, jobs: &Jobs, threads: usize) -> Result<Measured, ScenarioError> {
        Ok(self.with(jobs.run(&self.loaded, threads)?))
    }
    /// The point with its runs.
    pub fn with(&self, mut runs: Vec<RunRecord>) -> Measured {
        let schemes = &self.loaded.scenario.scheme;
        let place = |run: &RunRecord| schemes.iter().position(|scheme| scheme.name == run.scheme);
        runs.sort_by_key(|run| (run.seed, place(run)));
        let asked = Asked::of(&self.loaded.scenario);
        Measured { x: self.x, setup: self.setup.clone(), asked, runs }
    }
}

impl Measured {
    /// The runs of `scheme`, by seed.
    pub fn of(&self, scheme: &str) -> impl Iterator<Item = &RunRecord> {
        self.runs.iter().filter(move |run| run.scheme == scheme)
    }
    /// The mean over seeds of `value` for each run of `scheme`; `None` without such runs.
    pub fn mean(&self, scheme: &str, value: impl Fn(&RunRecord) -> f64) -> Option<Estimate> {
        Estimate::of(&self.of(scheme).map(value).collect::<Vec<_>>())
    }
    /// A row of the comparison; `None` without runs of `scheme`.
    pub fn row(
        &self,
        scheme: &str,
        quantity: &Quantity,
        paper: Option<Stated>,
        note: &str,
    ) -> Option<Row> {
        Some(Row {
            x: Some(f64::from(self.x)),
            point: self.setup.clone(),
            scheme: scheme.into(),
            quantity: quantity.name.into(),
            unit: quantity.unit.into(),
            paper,
            ours: self.mean(scheme, quantity.of)?,
            note: note.into(),
        })
    }
}

impl Stated {
    /// The number.
    pub fn value(self) -> f64 {
        match self {
            Stated::About(value) | Stated::Over(value) | Stated::Under(value) => value,
        }
    }
    /// The sign before the number.
    pub fn sign(self) -> char {
        match self {
            Stated::About(_) => '~',
            Stated::Over(_) => '>',
            Stated::Under(_) => '<',
        }
    }
}

/// The shape of a JSON line.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    setup: &'a str,
    quantity: &'a str,
    unit: &'a str,
    paper: Option<f64>,
    ours: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    emulated: Option<f64>,
    note: &'a str,
}

impl Row {
    /// Point and scheme, such as "N=8, tcp".
    pub fn setup(&self) -> String {
        match (self.point.as_str(), self.scheme.as_str()) {
            (point, "") => point.into(),
            ("", scheme) => scheme.into(),
            (point, scheme) => format!("{point}, {scheme}"),
        }
    }
    /// The row as a line of JSON, with the value of real hosts if there is one. Means are rounded to three decimal
    /// places.
    pub fn json(&self, id: &str, emulated: Option<&Estimate>) -> String {
        let Row { quantity, unit, note, .. } = self;
        let rounded = |value: &Estimate| (value.mean * 1e3).round() / 1e3;
        let (ours, emulated) = (rounded(&self.ours), emulated.map(rounded));
        let paper = self.paper.map(Stated::value);
        let line = Line { id, setup: &self.setup(), quantity, unit, paper, ours, emulated, note };
        // The line contains only text and finite numbers.
        serde_json::to_string(&line).expect("plain data")
    }
}
