//! The points of a study with real hosts, in addition to the simulated ones.

use crate::data::conversion;
use crate::{Measured, Point, Row, Study};
use slotline_lab::record::Emulation;
use slotline_lab::statistics::Estimate;
use slotline_net::time::Time;
use slotline_scenario::real_switches::routes_by;
use slotline_scenario::{EmulateSpec, EngineSpec, ScenarioError, SchemeSpec, SwitchesSpec};

/// The results of real hosts at the points of a study.
#[derive(Debug)]
pub struct Emulated {
    /// For each row of the comparison, the value with real hosts; `None` if nothing was measured.
    pub values: Vec<Option<Estimate>>,
    /// How well the machine kept up: the worst of all runs.
    pub emulation: Emulation,
}

impl Point {
    /// Leaves out schemes with a fabric of their own, because real hosts are on one fabric, and those whose routing real
    /// switches do not have, if there are real switches.
    pub fn keep_emulated(&mut self, spec: &EmulateSpec) {
        let scenario = &mut self.loaded.scenario;
        let modelled = spec.switches == SwitchesSpec::Modelled;
        let has = |scheme: &SchemeSpec| modelled || routes_by(scheme.routing);
        scenario.scheme.retain(|scheme| scheme.fabric.is_none() && has(scheme));
        let schemes: Vec<&String> = scenario.scheme.iter().map(|scheme| &scheme.name).collect();
        let is_there =
            |name: &Option<String>| name.as_ref().is_none_or(|name| schemes.contains(&name));
        scenario.expect.retain(|expect| is_there(&expect.scheme) && is_there(&expect.relative_to));
    }

    /// The same point with real hosts.
    ///
    /// # Errors
    /// The point cannot be emulated.
    pub fn emulated(&self, spec: &EmulateSpec) -> Result<Point, ScenarioError> {
        let mut loaded = self.loaded.clone();
        loaded.use_engine(EngineSpec::Emulate(spec.clone()))?;
        Ok(Point { x: self.x, setup: self.setup.clone(), loaded })
    }

    /// Ends the point at `end`, if that is earlier.
    pub fn shorten(&mut self, end: Time) {
        let at = &mut self.loaded.scenario.end.at;
        *at = Some(at.map_or(end, |at| at.min(end)));
    }
}

impl Emulated {
    /// Compares the points with real hosts in the same way as the simulated points that gave `rows`.
    pub fn of(study: &Study, points: &[Measured], rows: &[Row]) -> Emulated {
        let found = (study.compare)(points);
        let same = |a: &Row, b: &Row| {
            (a.x, &a.point, &a.scheme, &a.quantity) == (b.x, &b.point, &b.scheme, &b.quantity)
        };
        // The unit of a quantity depends on the values that were compared.
        let value = |row: &Row| {
            let other = found.iter().find(|other| same(row, other))?;
            Some(other.ours.over(1.0 / conversion(&other.unit, &row.unit)?))
        };
        let runs = points.iter().flat_map(|point| &point.runs);
        let each = runs.filter_map(|run| run.engine.emulation);
        Emulated {
            values: rows.iter().map(value).collect(),
            emulation: each.reduce(Emulation::worse).unwrap_or_default(),
        }
    }
}
