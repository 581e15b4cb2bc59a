//! Published experiments, run again: what the paper says beside what we measure.
//!
//! An experiment is a scenario file, whose schemes are the curves of a figure, and the points of the
//! figure's axis, for which the scenario is altered. Nothing is tuned to match.

mod table;
mod xco;

pub use table::table;

use crate::record::RunRecord;
use crate::run::Jobs;
use crate::scenario::{Loaded, Scenario, ScenarioError};
use crate::statistics::Estimate;
use serde::Serialize;
use std::path::Path;

/// One published experiment.
#[derive(Debug)]
pub struct Experiment {
    /// Its name.
    pub id: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// The scenario file, below the project's folder.
    pub file: &'static str,
    text: &'static str,
    /// The points of the figure's axis.
    axis: &'static [u32],
    /// Sets a scenario to a point and names the point.
    set: fn(&mut Scenario, u32) -> String,
    /// What is compared, from all points.
    compare: fn(&[Measured]) -> Vec<Row>,
}

/// All experiments.
pub static EXPERIMENTS: [Experiment; 3] = [xco::INCAST, xco::MIX, xco::WORK_CONSERVATION];

/// A point of a figure's axis, to be run.
#[derive(Debug)]
pub struct Point {
    /// Its place on the axis.
    pub x: u32,
    /// What it is called, as "N=8".
    pub setup: String,
    /// The scenario at this point.
    pub loaded: Loaded,
}

/// A point that was run.
#[derive(Debug)]
pub struct Measured {
    /// Its place on the axis.
    pub x: u32,
    /// What it is called.
    pub setup: String,
    /// All runs of all schemes.
    pub runs: Vec<RunRecord>,
}

/// What a paper's text says about a quantity.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Stated {
    /// This value, or about this.
    About(f64),
    /// More than this.
    Over(f64),
}

/// One quantity in one setup.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Point and scheme, as "N=8, tcp".
    pub setup: String,
    /// What is measured.
    pub quantity: &'static str,
    /// Unit of both values.
    pub unit: &'static str,
    /// What the paper's text says, if anything: figures are not read off.
    pub paper: Option<Stated>,
    /// What we measure, over seeds.
    pub ours: Estimate,
    /// Why they differ, or what else there is to know; one line.
    pub note: String,
}

/// The experiment called `id`.
pub fn find(id: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|experiment| experiment.id == id)
}

impl Experiment {
    /// Its points, ready to run.
    pub fn points(&self) -> Result<Vec<Point>, ScenarioError> {
        let at = |&x: &u32| {
            let mut loaded = Scenario::parse(Path::new(self.file), self.text.into())?;
            let setup = (self.set)(&mut loaded.scenario, x);
            loaded.reseed(None, None)?;
            Ok(Point { x, setup, loaded })
        };
        self.axis.iter().map(at).collect()
    }
    /// What there is to compare.
    pub fn rows(&self, points: &[Measured]) -> Vec<Row> {
        (self.compare)(points)
    }
}

impl Point {
    /// Runs it. `jobs` are those of its scenario.
    pub fn run(&self, jobs: &Jobs, threads: usize) -> Result<Measured, ScenarioError> {
        let runs = jobs.run(&self.loaded, threads)?;
        Ok(Measured { x: self.x, setup: self.setup.clone(), runs })
    }
}

impl Measured {
    /// The mean over seeds of what `value` says of each run of `scheme`; nothing without such runs.
    fn mean(&self, scheme: &str, value: impl Fn(&RunRecord) -> f64) -> Option<Estimate> {
        let runs = self.runs.iter().filter(|run| run.scheme == scheme);
        Estimate::of(&runs.map(value).collect::<Vec<_>>())
    }
    fn setup_of(&self, scheme: &str) -> String {
        format!("{}, {scheme}", self.setup)
    }
}

impl Stated {
    /// The number.
    pub fn value(self) -> f64 {
        match self {
            Stated::About(value) | Stated::Over(value) => value,
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
    note: &'a str,
}

impl Row {
    /// As one line of JSON. `ours` is the mean, to three decimal places.
    pub fn json(&self, id: &str) -> String {
        let Row { setup, quantity, unit, note, .. } = self;
        let ours = (self.ours.mean * 1e3).round() / 1e3;
        let paper = self.paper.map(Stated::value);
        let line = Line { id, setup, quantity, unit, paper, ours, note };
        // Text and finite numbers.
        serde_json::to_string(&line).expect("plain data")
    }
}
