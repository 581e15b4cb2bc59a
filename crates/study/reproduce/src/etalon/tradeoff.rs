//! Utilisation against latency: Figures 8 and 9.

use super::{MEDIAN, TAIL, USE, fixed, plots, resized};
use crate::draw::View;
use crate::{Experiment, Measured, Quantity, Row, Study, Work};
use slotline_net::time::Time;
use slotline_net::transport::congestion::AlgorithmKind;
use slotline_report::plot::{Axis, Division, Figure, Lines, Measure, Plot, Series, Shape};
use slotline_scenario::Scenario;

/// Figures 8 and 9.
pub(super) const TRADEOFF: Experiment = Experiment {
    id: "et-4",
    about: "Figures 8 and 9: circuit utilisation against latency, with resized queues, reTCP and both",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/et-4.toml",
        text: include_str!("../../../../../scenarios/reproduce/et-4.toml"),
        axis: &[
            4, 8, 16, 32, 64, 128, 10_200, 10_400, 10_600, 10_800, 11_000, 11_200, 11_400, 20_004,
            20_008, 20_016, 20_032, 20_064, 20_128, 30_200, 30_400, 30_600, 30_800, 31_000, 31_200,
            31_400,
        ],
        set,
        compare,
        figures: |view| {
            vec![
                plane(view, "median", "Circuit utilisation and median latency", &MEDIAN),
                plane(view, "tail", "Circuit utilisation and 99th percentile", &TAIL),
            ]
        },
    }),
};

const CURVES: [&str; 4] = ["static", "resized", "reTCP", "reTCP, resized"];

/// The axis contains four curves: the thousands are the curve, and the rest is the size or the time ahead.
fn set(scenario: &mut Scenario, x: u32) -> String {
    let (curve, rest) = ((x / 10_000) as usize, x % 10_000);
    let scheme = &mut scenario.scheme[0];
    scheme.name = CURVES[curve].into();
    if curve >= 2 {
        scheme.transport.kind = AlgorithmKind::Retcp;
    }
    if curve % 2 == 0 {
        fixed(scheme, rest);
        return format!("{rest} packets");
    }
    resized(scheme, 128, Time::us(rest.into()));
    format!("{rest} us ahead")
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let of = |point: &Measured| {
        let (curve, rest) = ((point.x / 10_000) as usize, point.x % 10_000);
        let paper = |quantity: &Quantity| match curve {
            0 => plots::with_size(rest, quantity),
            1 => plots::resized(rest, quantity),
            2 => None,
            _ => plots::resized_with_retcp(rest, quantity),
        };
        let all = [&USE, &MEDIAN, &TAIL];
        all.map(|quantity| point.row(CURVES[curve], quantity, paper(quantity), ""))
    };
    points.iter().flat_map(of).flatten().collect()
}

/// The points of each scheme, with utilisation from left to right and latency upwards.
fn plane(view: &View, id: &'static str, title: &'static str, latency: &Quantity) -> Figure {
    let value = |scheme: &str, x: f64, quantity: &Quantity| {
        let own =
            |row: &&Row| row.scheme == scheme && row.x == Some(x) && row.quantity == quantity.name;
        view.rows.iter().find(own).map(|row| row.ours.mean)
    };
    let line = |(at, scheme): (usize, &String)| {
        let uses = view.rows.iter().filter(|row| row.scheme == *scheme && row.quantity == USE.name);
        let mut points: Vec<(f64, f64)> = uses
            .filter_map(|row| {
                let us = value(scheme, row.x?, latency)?;
                Some((row.ours.mean / 100.0, us * 1e-6))
            })
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (x, y) = points.into_iter().unzip();
        Series { scheme: at, x, y, ..Series::default() }
    };
    let x = Axis { label: "circuit utilisation", unit: Measure::Share, scale: Division::Linear };
    let y = Axis { label: latency.name, unit: Measure::Seconds, scale: Division::Linear };
    let series = view.names.iter().enumerate().map(line).collect();
    Ok(Plot {
        id,
        title: title.into(),
        caption: "A point for each size, or each time ahead. Better is to the right and below."
            .into(),
        shape: Shape::Lines(Lines { x, y, series }),
    })
}
