//! Hedera: dynamic flow scheduling (Al-Fares' dissertation, 2012, chapter 4; Al-Fares et al., 2010).

mod arrivals;
mod estimate;
mod patterns;
mod quality;
mod search_space;
mod shuffle;
mod speed;

use super::{Paper, Row, Stated};
use slotline_lab::statistics::Estimate;

/// The paper.
pub(super) static PAPER: Paper = Paper {
    key: "hed",
    title: "Hedera: Dynamic Flow Scheduling for Data Center Networks (Al-Fares, Radhakrishnan, Raghavan, Huang and \
            Vahdat, 2010; Al-Fares' dissertation, 2012, chapter 4)",
    experiments: &[
        estimate::EXAMPLE,
        patterns::BISECTION,
        shuffle::SHUFFLE,
        patterns::TRANSFERS,
        arrivals::LARGE,
        arrivals::ITERATIONS,
        speed::ESTIMATION,
        speed::ANNEALING,
        speed::CONTROL_LOOP,
        quality::PLACEMENT,
        quality::ONCE,
        search_space::SEARCH_SPACE,
        patterns::TIMEOUTS,
    ],
};

/// A row of a comparison that does not come from a run.
fn row(
    x: Option<f64>,
    (point, scheme): (String, String),
    (quantity, unit): (&'static str, &'static str),
    paper: Option<f64>,
    ours: &[f64],
    note: &str,
) -> Option<Row> {
    let paper = paper.map(Stated::About);
    let ours = Estimate::of(ours)?;
    let (quantity, unit) = (quantity.into(), unit.into());
    Some(Row { x, point, scheme, quantity, unit, paper, ours, note: note.into() })
}
