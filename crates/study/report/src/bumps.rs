//! The virtual queues of bumps, compared with the real queues.

use super::flows::cumulative;
use super::plot::{Axis, Division, Figure, Lines, Measure, Plot, Series, Shape};
use super::thin::{self, Moment, envelope};
use super::view::{View, seconds};
use slotline_lab::output::format;
use slotline_lab::record::{EstimateRow, RunRecord};
use std::collections::BTreeMap;

const TIME: Axis = Axis { label: "time", unit: Measure::Seconds, scale: Division::LinearFirst };
const QUEUE: Axis = Axis { label: "queue", unit: Measure::Bytes, scale: Division::LinearFirst };
const ERROR: Axis = Axis { label: "error", unit: Measure::Bytes, scale: Division::LinearFirst };
const SHARE: Axis = Axis { label: "share", unit: Measure::Share, scale: Division::Tail };

/// The figures of this subject; none if there were no bumps or no samples.
pub fn figures(view: &View<'_>) -> Vec<Figure> {
    if view.first().all(|(_, run)| run.estimates.is_empty()) {
        return vec![];
    }
    vec![time_series(view), errors(view)]
}

/// The estimates of the longest virtual queue.
pub fn longest(run: &RunRecord) -> Vec<&EstimateRow> {
    let mut sums: BTreeMap<(u32, u16), u64> = BTreeMap::new();
    for row in &run.estimates {
        let sum = sums.entry((row.port, row.bump)).or_default();
        *sum = sum.saturating_add(row.real_bytes);
    }
    // If several queues are equal, the first one counts.
    let best = sums.iter().rev().max_by_key(|(_, sum)| **sum).map(|(key, _)| *key);
    run.estimates.iter().filter(|row| Some((row.port, row.bump)) == best).collect()
}

fn time_series(view: &View<'_>) -> Figure {
    let (mut series, mut places) = (Vec::new(), Vec::new());
    for (scheme, run) in view.first() {
        let rows = longest(run);
        let Some(first) = rows.first() else { continue };
        if let Some(port) = run.ports.get(first.port as usize) {
            places.push(format::direction(&port.node, &port.port));
        }
        let line = |part: &'static str, of: fn(&EstimateRow) -> u64| {
            let moment = |row: &&EstimateRow| Moment {
                at: seconds(row.t_ps),
                weight: 1.0,
                value: of(row) as f64,
            };
            let thin = envelope(&rows.iter().map(moment).collect::<Vec<_>>());
            Series { scheme, part, x: thin.at, y: thin.mean, ..Series::default() }
        };
        series.push(line("virtual", |row| row.estimate_bytes));
        series.push(line("real", |row| row.real_bytes));
    }
    places.dedup();
    let caption = format!(
        "The virtual queue of a bump and the real queue, as arriving packets found them, in the first seed, at the port with the longest queue: {}.",
        places.join(", ")
    );
    let lines = Lines { x: TIME, y: QUEUE, series };
    Ok(Plot {
        id: "bump-queue",
        title: "Virtual and real queue".into(),
        caption,
        shape: Shape::Lines(lines),
    })
}

fn errors(view: &View<'_>) -> Figure {
    let mut most = 0;
    let line = |(scheme, runs): (usize, &Vec<&RunRecord>)| {
        let all = runs.iter().flat_map(|run| &run.estimates);
        let errors: Vec<f64> = all.map(|row| row.error() as f64).collect();
        most = most.max(errors.len());
        cumulative(scheme, errors, 0)
    };
    let series = view.runs.iter().enumerate().map(line).filter(|line| !line.x.is_empty()).collect();
    let caption = format!(
        "Share of comparisons in which the error of a virtual queue was this large or smaller, over all bumps and seeds.{}",
        thin::note(most)
    );
    let lines = Lines { x: ERROR, y: SHARE, series };
    Ok(Plot {
        id: "bump-error",
        title: "Error of virtual queues".into(),
        caption,
        shape: Shape::Lines(lines),
    })
}
