//! Estimates the size of the results of a scenario.

use super::cost::{Estimate, followed, samples};
use super::memory::permissions;
use super::survey::Survey;
use crate::output::CSV_ROWS;
use slotline_sim::FIRST_NOTES;

/// Bytes of a row of a table, as text and as Parquet.
#[derive(Clone, Copy)]
struct Row(f64, f64);

const FLOW: Row = Row(90.0, 15.0);
const SAMPLE: Row = Row(40.0, 1.0);
const PORT: Row = Row(130.0, 50.0);
const PERMISSION: Row = Row(40.0, 7.0);

impl Row {
    /// Bytes of a table with so many rows. Long tables are not written as text.
    fn of(self, rows: f64) -> f64 {
        let text = if rows <= CSV_ROWS as f64 { self.0 } else { 0.0 };
        rows * (text + self.1)
    }
}

/// Bytes of the report and of other files.
const REPORT: f64 = 200e3;

/// Bytes about followed flows for each packet-hop of a run.
const FOLLOWED_HOP: f64 = 6.0;

/// The most bytes about followed flows of a run.
const FOLLOWED_MOST: f64 = 1.2e6;

/// Bytes of all files.
pub(super) fn results(survey: &Survey<'_>, estimates: &[Estimate]) -> f64 {
    let schemes = &survey.scenario.scheme;
    let runs = (schemes.len() as u32 * survey.scenario.repeat) as f64;
    let (flows, ports) = (survey.flows() as f64, survey.lanes.len() as f64);
    let tables = FLOW.of(runs * flows) + SAMPLE.of(runs * samples(survey)) + PORT.of(runs * ports);
    if !followed(survey.scenario) {
        return REPORT + tables;
    }
    let about_flows = estimates.iter().map(|run| (run.hops * FOLLOWED_HOP).min(FOLLOWED_MOST));
    let permitted = |scheme| permissions(survey, scheme).min(FIRST_NOTES as f64);
    let schedule = PERMISSION.of(schemes.iter().map(permitted).sum());
    REPORT + tables + about_flows.sum::<f64>() + schedule
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::cost::estimates;
    use crate::output;
    use crate::record::RunSet;
    use crate::run::Jobs;
    use slotline_scenario::Scenario;
    use std::fs;

    /// The estimate of a scenario's results without reports, and their size.
    fn both(name: &str, rest: &str) -> (f64, f64) {
        let text = format!(
            "name = \"{name}\"\nfabric = {{ kind = \"leaf-spine\", leaves = 4, spines = 2, hosts-per-leaf = 4 }}\n{rest}"
        );
        let loaded = Scenario::parse(format!("{name}.toml").as_ref(), text);
        let loaded = loaded.unwrap_or_else(|error| panic!("{error}"));
        let survey = Survey::of(&loaded).expect("a scenario");
        let estimate = results(&survey, &estimates(&survey, 1.0)) - REPORT;
        let set = RunSet::new(&loaded, Jobs::of(&loaded).run(&loaded, 1).expect("runs"));
        let root =
            std::env::temp_dir().join(format!("slotline-size-{name}-{}", std::process::id()));
        let folder = output::write(&set, &root, false, &[]).expect("results");
        let files = fs::read_dir(folder).expect("a folder").flatten();
        let bytes: u64 = files.map(|file| file.metadata().map_or(0, |about| about.len())).sum();
        fs::remove_dir_all(root).expect("it is ours");
        (estimate, bytes as f64)
    }

    #[test]
    fn estimates_are_near_the_size_of_results() {
        let poisson = "[[workload]]\nkind = \"poisson\"\nsizes = \"googlerpc\"\nload = 0.3\n[[scheme]]\nname = \"s\"\n";
        let cases = [
            ("flows", format!("end = {{ at = \"3ms\" }}\nmeasure = {{ why = false }}\n{poisson}")),
            ("followed", format!("end = {{ at = \"3ms\" }}\n{poisson}")),
            (
                "samples",
                format!(
                    "end = {{ at = \"3ms\", when = \"time\" }}\nmeasure = {{ why = false, sample = \"1us\" }}\n{poisson}"
                ),
            ),
            ("schedule", format!("end = {{ at = \"3ms\" }}\n{poisson}control = \"fastpass\"\n")),
        ];
        for (name, rest) in cases {
            let (estimate, size) = both(name, &rest);
            assert!((0.5..2.0).contains(&(estimate / size)), "{name}: {estimate} of {size} bytes");
        }
    }
}
