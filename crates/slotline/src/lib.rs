//! Simulates datacenter networks with centrally scheduled traffic, as a library.
//!
//! A scenario file describes a network, its traffic, and the schemes to compare. [`run`] runs all schemes with all
//! seeds and returns what was measured:
//!
//! ```
//! use slotline::prelude::*;
//!
//! let summary = slotline::run("small.toml")?;
//! let tcp = summary.cell(0, Metric::FctMean).expect("a scheme with complete flows");
//! assert!(tcp.estimate.mean > 0.0);
//! # Ok::<(), slotline::Error>(())
//! ```
//!
//! A scenario can also name parts that the program supplies: a central scheduler ([`Control`](prelude::Control)) or a
//! whole scheme ([`System`](prelude::System)), a queue policy ([`Settings`](prelude::Settings) and
//! [`Discipline`](prelude::Discipline)), a congestion control algorithm ([`Congestion`](prelude::Congestion)), a
//! circuit scheduler ([`Scheduler`](prelude::Scheduler)), or a workload ([`Generate`](prelude::Generate)). The program
//! puts its parts into [`Extensions`] and calls [`run_with`]:
//!
//! ```
//! use slotline::prelude::*;
//!
//! /// Congestion control without reactions: the window is constant.
//! #[derive(Clone, Debug)]
//! struct Constant(u32);
//!
//! impl Congestion for Constant {
//!     fn on_ack(&mut self, _ack: &Ack, _now: Time) {}
//!     fn on_loss(&mut self, _loss: Loss, _now: Time) {}
//!     fn restart(&mut self, _initial_window: u32) {}
//!     fn window(&self) -> u32 {
//!         self.0
//!     }
//! }
//!
//! let extensions = Extensions::new().transport("constant", |_options| Ok(Constant));
//! let text = std::fs::read_to_string("small.toml").expect("a file");
//! let text = text.replace("kind = \"cubic\"", "kind = \"custom\", name = \"constant\"");
//! let loaded = Scenario::parse_with("small.toml".as_ref(), text, &extensions)?;
//! let results = slotline::run_loaded(&loaded)?;
//! assert!(results.runs.iter().all(|run| run.flows.iter().all(|flow| flow.finished())));
//! # Ok::<(), slotline::Error>(())
//! ```
//!
//! The crates behind this one are re-exported as modules: [`net`] (what a network is), [`circuits`] (circuit
//! schedulers), [`scenario`] (files) and [`lab`] (runs, measurements and results).
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub use slotline_circuits as circuits;
pub use slotline_hybrid as hybrid;
pub use slotline_lab as lab;
pub use slotline_net as net;
pub use slotline_scenario as scenario;
pub use slotline_xco as xco;

pub mod prelude;

pub use slotline_lab::record::RunSet;
pub use slotline_lab::summary::Summary;
pub use slotline_net::custom::Options;
pub use slotline_scenario::{Extensions, Loaded, Scenario, ScenarioError as Error, provide};

use slotline_lab::output::terminal;
use slotline_lab::run::Jobs;
use slotline_lab::sweep::Study;
use std::path::Path;
use std::thread::available_parallelism;

/// The width of a table in characters.
const WIDTH: usize = 100;

/// Runs the scenario at `path` and returns the measurements of each scheme.
///
/// # Errors
/// The file cannot be read, or the scenario is not valid.
pub fn run(path: impl AsRef<Path>) -> Result<Summary, Error> {
    run_with(path, &Extensions::new()).map(|results| Summary::of(&results))
}

/// Runs a scenario that names parts of the calling program, and returns all runs. [`Summary::of`] measures them, and
/// [`table`] shows them.
///
/// # Errors
/// As [`run`], and the scenario names a part that `extensions` does not have.
pub fn run_with(path: impl AsRef<Path>, extensions: &Extensions) -> Result<RunSet, Error> {
    run_loaded(&Scenario::load_with(path.as_ref(), extensions)?)
}

/// Runs all points of the sweep at `path`, one after the other, and returns the runs of each point. The scenario may
/// name parts that `extensions` has.
///
/// # Errors
/// As [`run_with`], and the file has no `sweep`.
pub fn sweep_with(path: impl AsRef<Path>, extensions: &Extensions) -> Result<Vec<RunSet>, Error> {
    let study = Study::load_with(path.as_ref(), extensions)?;
    (0..study.len()).map(|at| run_loaded(&study.point(at)?)).collect()
}

/// Runs a scenario that has been loaded and checked.
///
/// # Errors
/// The scenario is not valid for one of its schemes or seeds.
pub fn run_loaded(loaded: &Loaded) -> Result<RunSet, Error> {
    let threads = available_parallelism().map_or(1, |threads| threads.get());
    let records = Jobs::of(loaded).run(loaded, threads)?;
    Ok(RunSet::new(loaded, records))
}

/// Checks the scenario at `path` without running it, and returns all errors.
///
/// # Errors
/// The file cannot be read, or the scenario is not valid.
pub fn check(path: impl AsRef<Path>, extensions: &Extensions) -> Result<Loaded, Vec<Error>> {
    Scenario::load_all_with(path.as_ref(), extensions)
}

/// The results as a table of text, as `slotline run` prints it.
pub fn table(results: &RunSet) -> String {
    terminal::table(results, WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::transport::congestion::Reno;

    const SMALL: &str = include_str!("../small.toml");

    #[test]
    fn points_of_a_sweep_may_name_parts_of_the_program() {
        let folder = std::env::temp_dir().join(format!("slotline-facade-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("sweep.toml");
        let text = SMALL.replace("kind = \"cubic\"", "kind = \"custom\", name = \"own\"");
        let sweep = "[sweep.grid]\n\"workload[0].block\" = [\"30KB\", \"90KB\"]\n";
        std::fs::write(&file, format!("{text}\n{sweep}")).expect("a file");
        let extensions = Extensions::new().transport("own", |_options| Ok(Reno::new));
        let done = sweep_with(&file, &extensions).map(|points| points.len());
        let missing = sweep_with(&file, &Extensions::new()).map(drop);
        std::fs::remove_dir_all(&folder).expect("a folder");
        assert_eq!(done.map_err(|error| error.to_string()), Ok(2));
        assert!(missing.is_err_and(|error| error.to_string().contains("`name` = \"own\"")));
    }
}
