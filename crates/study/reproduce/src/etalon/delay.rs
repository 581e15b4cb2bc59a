//! Circuits of several lengths: Figure 10.

use super::{MEDIAN, USE, fixed, plots, resized};
use crate::{Experiment, Measured, Quantity, Row, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_lab::statistics::Estimate;
use slotline_net::time::Time;
use slotline_net::topology::TopologySpec;
use slotline_scenario::Scenario;

/// Figure 10.
pub(super) const DELAY: Experiment = Experiment {
    id: "et-5",
    about: "Figure 10: what resized queues gain, by the delay of circuits",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/et-5.toml",
        text: include_str!("../../../../../scenarios/reproduce/et-5.toml"),
        axis: &[5, 10, 15, 20, 30, 40, 60, 80, 120],
        set,
        compare,
        figures: |view| vec![view.against("delay of a circuit, us", &GAIN)],
    }),
};

const GAIN: Quantity = Quantity {
    key: "gain",
    name: "median latency below that of static queues with the same utilisation",
    unit: "%",
    of: |_| f64::NAN,
};

/// The sizes of static queues, by the names of their schemes.
const SIZES: [(&str, u32); 5] = [("8", 8), ("16", 16), ("32", 32), ("64", 64), ("128", 128)];

fn set(scenario: &mut Scenario, us: u32) -> String {
    if let TopologySpec::Hybrid(fabric) = &mut scenario.fabric
        && let Some(circuits) = &mut fabric.circuits
    {
        circuits.delay = Time::us(us.into());
    }
    for scheme in &mut scenario.scheme {
        match SIZES.iter().find(|(name, _)| scheme.name == *name) {
            Some((_, packets)) => fixed(scheme, *packets),
            None => resized(scheme, 128, Time::us(1000)),
        }
    }
    format!("{us} us, {:.1} round trips a day", 180.0 / (2.0 * f64::from(us)))
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let of = |point: &Measured| {
        let gain = gain(point).and_then(|gain| Estimate::of(&[gain])).map(|ours| Row {
            x: Some(f64::from(point.x)),
            point: point.setup.clone(),
            scheme: "resized".into(),
            quantity: GAIN.name.into(),
            unit: GAIN.unit.into(),
            paper: plots::gain(point.x),
            ours,
            note: String::new(),
        });
        [gain, point.row("resized", &USE, None, ""), point.row("resized", &MEDIAN, None, "")]
    };
    points.iter().flat_map(of).flatten().collect()
}

/// The reduction of median latency compared with static queues of the same utilisation, interpolated between two sizes.
fn gain(point: &Measured) -> Option<f64> {
    let mean = |scheme: &str, of: fn(&RunRecord) -> f64| Some(point.mean(scheme, of)?.mean);
    let own = (mean("resized", USE.of)?, mean("resized", MEDIAN.of)?);
    let static_queues: Vec<(f64, f64)> = SIZES
        .iter()
        .filter_map(|(name, _)| Some((mean(name, USE.of)?, mean(name, MEDIAN.of)?)))
        .collect();
    let after = static_queues.iter().position(|(used, _)| *used >= own.0)?;
    let (above, below) = (static_queues[after], static_queues[after.checked_sub(1)?]);
    let share = (own.0 - below.0) / (above.0 - below.0).max(1e-9);
    let like = below.1 + share * (above.1 - below.1);
    Some(100.0 * (1.0 - own.1 / like))
}
