//! Hedera: dynamic flow scheduling (Al-Fares' dissertation, 2012, chapter 4; Al-Fares et al., 2010).

mod estimate;
mod over_time;
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
        data!(
            "hed-2",
            "Figure 4.6: bisection bandwidth of 16 hosts for stride, staggered, random and hot-spot traffic"
        ),
        shuffle::SHUFFLE,
        data!(
            "hed-4",
            "Table 4.3: all of 16 hosts send 1 MB at once, packet by packet, least time-out 200 ms"
        ),
        data!(
            "hed-5",
            "Figure 4.7: share of full bisection for the patterns among 8,192 hosts; Figure 4.8: over time, 1,024 hosts",
            figures: over_time::figures
        ),
        data!(
            "hed-6",
            "Table 4.4: annealing's steps and the share of full bisection, random traffic that is not bijective"
        ),
        speed::ESTIMATION,
        speed::ANNEALING,
        speed::CONTROL_LOOP,
        quality::PLACEMENT,
        quality::ONCE,
        search_space::SEARCH_SPACE,
        data!(
            "hed-13",
            "Section 4.4.2: retransmission time-outs of a hash of destinations and of both placements"
        ),
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
