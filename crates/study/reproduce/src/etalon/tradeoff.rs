//! Utilisation against latency: Figures 8 and 9.

use crate::draw::View;
use slotline_report::plot::{Axis, Division, Figure, Lines, Measure, Plot, Series, Shape};

const USE: &str = "circuit utilisation";

/// Figure 8 and Figure 9.
pub(super) fn figures(view: &View) -> Vec<Figure> {
    let median = "Circuit utilisation and median latency";
    let tail = "Circuit utilisation and 99th percentile";
    vec![
        plane(view, "median", median, "median latency"),
        plane(view, "tail", tail, "99th percentile of the latency"),
    ]
}

/// The points of each scheme, with utilisation from left to right and latency upwards. Queues of fixed size and queues
/// that are resized are two lines.
fn plane(view: &View, id: &'static str, title: &'static str, latency: &'static str) -> Figure {
    let line = |(at, scheme): (usize, &String)| {
        [("packets", ""), ("us ahead", "resized")].map(|(kind, part)| {
            let (x, y) = points(view, scheme, kind, latency);
            Series { scheme: at, part, marks: true, x, y, ..Series::default() }
        })
    };
    let x = Axis { label: USE, unit: Measure::Share, scale: Division::Linear };
    let y = Axis { label: latency, unit: Measure::Seconds, scale: Division::Linear };
    let series = view.names.iter().enumerate().flat_map(line).collect();
    Ok(Plot {
        id,
        title: title.into(),
        caption: "A point for each size, and on a second line for each time ahead. Better is to the right and below."
            .into(),
        shape: Shape::Lines(Lines { x, y, series }),
    })
}

/// The points of `scheme` whose names end with `kind`, by utilisation.
fn points(view: &View, scheme: &str, kind: &str, latency: &str) -> (Vec<f64>, Vec<f64>) {
    let rows = || view.rows.iter().filter(|row| row.scheme == *scheme && row.point.ends_with(kind));
    let at = |point: &str| {
        let row = rows().find(|row| row.point == point && row.quantity == latency)?;
        Some(row.ours.mean * 1e-6)
    };
    let uses = rows().filter(|row| row.quantity == USE);
    let mut points: Vec<(f64, f64)> =
        uses.filter_map(|row| Some((row.ours.mean / 100.0, at(&row.point)?))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.into_iter().unzip()
}
