//! What hosts receive over time: Figure 4.8.

use crate::data;
use crate::draw::{Values, View};
use slotline_lab::record::RunRecord;
use slotline_report::plot::{Division, Figure, Measure};

/// The place of the point with 1,024 hosts in the sweep of hed-5.
const POINT: u32 = 9;

const RATE_OVER_TIME: Values = Values {
    id: "over-time",
    title: "1,024 hosts, random bijective: what the first 256 receive",
    label: "share of their links",
    unit: Measure::Share,
    scale: Division::Linear,
};

/// The figures of the data, and Figure 4.8.
pub(super) fn figures(view: &View) -> Vec<Figure> {
    let mut all = data::figures(view);
    all.push(view.time_series(POINT, &RATE_OVER_TIME, time_series));
    all
}

/// The utilisation of the sampled links to hosts over time.
fn time_series(run: &RunRecord) -> Vec<(f64, f64)> {
    let (times, series) = (run.samples.times(), run.samples.series());
    let sum = |turn: usize| series.iter().filter_map(|port| port.tx_bytes(turn)).sum::<u64>();
    let totals: Vec<(u64, u64)> =
        times.iter().enumerate().map(|(turn, t)| (*t, sum(turn))).collect();
    let share = |pair: &[(u64, u64)]| {
        let ((from, before), (to, after)) = (pair[0], pair[1]);
        let could = (to - from) as f64 / 8e3 * series.len() as f64;
        ((from + to) as f64 / 2e12, (after - before) as f64 / could)
    };
    totals.windows(2).map(share).collect()
}
