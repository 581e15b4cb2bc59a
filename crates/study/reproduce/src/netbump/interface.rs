//! The latency of packets through a bump between real interfaces: Figures 5.7 and 5.9.

use crate::draw::{Named, View};
use crate::{Experiment, Findings, Row, Work};
use slotline_bench::Row as Benched;
use slotline_lab::statistics::Estimate;
use slotline_report::plot::{Axis, Division, Figure, Lines, Measure, Missing, Plot, Series, Shape};
use std::process::Command;

/// Figures 5.7 and 5.9.
pub(super) const LATENCY: Experiment = Experiment {
    id: "nb-2b",
    about: "Figures 5.7 and 5.9: latency of packets of 1,500 bytes through a bump on real interfaces, by load",
    work: Work::Computed {
        how: "`slotline bench interface`: two network namespaces at a bridge of the kernel, and `slotline bump` between its \
              ports. One of them sends datagrams at a constant rate with the time of each, and the kernel of the other \
              notes when they arrive. Without a bump this is the latency of the measurement itself.",
        find: |_| measured().map_or_else(|_| missing(), |rows| findings(&rows)),
    },
};

/// The percentiles in the table, and on the lines of Figure 5.9, as the benchmark names them.
const SHOWN: [(&str, &str, &str); 6] = [
    ("p50", "median", "us"),
    ("p95", "95th percentile", "us"),
    ("p99", "99th percentile", "us"),
    ("p99.9", "99.9th percentile", "us"),
    ("p100", "largest", "us"),
    ("lost", "lost", "%"),
];
/// The load of the distributions in Figure 5.7.
const LOAD: &str = "400Mbps";
const PREFIX: &str = "interface/";

/// The rows of the benchmark, from a process of this program; `None` inside of the error if it cannot be run.
fn measured() -> Result<Vec<Benched>, Box<dyn std::error::Error>> {
    let program = std::env::current_exe()?;
    let done = Command::new(program).args(["bench", "interface", "--json"]).output()?;
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).into());
    }
    Ok(String::from_utf8(done.stdout)?
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?)
}

fn missing() -> Findings {
    let remedy =
        "Run `slotline bench interface`, which says why: it needs network namespaces and iptables.";
    let figure = Err(Missing { title: "Latency by load", remedy });
    Findings { figures: vec![figure], ..Findings::default() }
}

fn findings(all: &[Benched]) -> Findings {
    let mut rows: Vec<Row> = all.iter().filter_map(row).collect();
    rows.sort_by(|a, b| a.x.unwrap_or(0.0).total_cmp(&b.x.unwrap_or(0.0)));
    let view = View::of(&[], &rows);
    let by_load = |(_, name, unit): &(&'static str, &'static str, &'static str)| {
        view.against_in("load", Measure::BitsPerSecond, 1e6, Named { key: name, name, unit })
    };
    let distribution = distribution(all, &view.names);
    let figures = [distribution].into_iter().chain(SHOWN[..4].iter().map(by_load)).collect();
    let names = view.names;
    Findings { names, rows, figures, ..Findings::default() }
}

/// The load in Mbit/s.
fn load(row: &Benched) -> Option<f64> {
    row.scenario.strip_suffix("Mbps")?.parse().ok()
}

/// A row of the table; `None` for a percentile that it does not have.
fn row(found: &Benched) -> Option<Row> {
    let own = |(key, ..): &&(&str, &str, &str)| found.name.strip_prefix(PREFIX) == Some(*key);
    let (_, quantity, unit) = SHOWN.iter().find(own)?;
    let load = load(found)?;
    Some(Row {
        x: Some(load),
        point: format!("{load} Mbit/s"),
        scheme: found.scheme.clone(),
        quantity: (*quantity).into(),
        unit: (*unit).into(),
        paper: None,
        ours: Estimate::read(found.value, None, 1),
        note:
            "no number in the text; our own generator, and interfaces of the kernel without cards"
                .into(),
    })
}

/// The percentiles of the latency at [`LOAD`], as a distribution.
fn distribution(all: &[Benched], names: &[String]) -> Figure {
    let line = |(at, name): (usize, &String)| {
        let own = all.iter().filter(|row| row.scheme == *name && row.scenario == LOAD);
        let share = |row: &Benched| {
            let percent = row.name.strip_prefix(PREFIX)?.strip_prefix('p')?.parse::<f64>().ok()?;
            Some((row.value * 1e-6, percent / 100.0))
        };
        let (x, y) = own.filter_map(share).unzip();
        Series { scheme: at, x, y, marks: true, ..Series::default() }
    };
    Ok(Plot {
        id: "distribution",
        title: "Latency at 400 Mbit/s".into(),
        caption: "Share of packets whose latency is this long or shorter, at twelve percentiles."
            .into(),
        shape: Shape::Lines(Lines {
            x: Axis { label: "latency", unit: Measure::Seconds, scale: Division::LogFirst },
            y: Axis { label: "share", unit: Measure::Share, scale: Division::Linear },
            series: names.iter().enumerate().map(line).collect(),
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_figures_have_all_disciplines_and_loads() {
        let benched = |scheme: &str, load: u32, name: &str, value: f64| Benched {
            name: format!("{PREFIX}{name}"),
            scenario: format!("{load}Mbps"),
            scheme: scheme.into(),
            threads: 1,
            value,
            unit: "us".into(),
        };
        let mut all = Vec::new();
        for (scheme, base) in [("none", 10.0), ("dctcp", 40.0)] {
            for load in [100, 400] {
                for (percent, name) in [(1.0, "p0"), (2.0, "p50"), (3.0, "p99"), (0.0, "lost")] {
                    all.push(benched(scheme, load, name, base * percent + f64::from(load)));
                }
            }
        }
        let found = findings(&all);
        assert_eq!(found.names, ["none", "dctcp"]);
        assert_eq!(found.rows.len(), 2 * 2 * 3, "the least is only in the distribution");
        let of = |point: &str, scheme: &str, quantity: &str| {
            let own = |row: &&Row| {
                (row.point.as_str(), row.scheme.as_str(), row.quantity.as_ref())
                    == (point, scheme, quantity)
            };
            found.rows.iter().find(own).map(|row| row.ours.mean)
        };
        assert_eq!(of("400 Mbit/s", "dctcp", "median"), Some(480.0));
        let Ok(Plot { shape: Shape::Lines(lines), .. }) = &found.figures[0] else {
            panic!("lines")
        };
        assert_eq!(lines.series[1].y, [0.0, 0.5, 0.99]);
        assert!((lines.series[1].x[1] - 480e-6).abs() < 1e-12);
        assert_eq!(found.figures.len(), 5);
        assert!(missing().rows.is_empty() && missing().figures[0].is_err());
    }
}
