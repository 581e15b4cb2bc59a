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
