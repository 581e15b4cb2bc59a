//! The cost of the pipeline: Table 5.2, and section 5.5.2 on cores.

use super::affinity::{Processors, batches_beside_load, processors};
use crate::quantity::percentile;
use crate::{Experiment, Findings, Row, Stated, Work};
use slotline_bench::bump::{Case, SLACK};
use slotline_lab::statistics::Estimate;

/// Table 5.2.
pub(super) const COST: Experiment = Experiment {
    id: "nb-2",
    about: "Table 5.2 and section 5.5.2: how long a packet takes in a bump, and the smallest packets at line rate",
    work: Work::Computed {
        how: "Frames pass the pipeline with DCTCP's threshold and 1,024 virtual queues, in batches of 32, on this \
              machine, while as many threads as it has processors do nothing but use them. A frame waits for its \
              batch. With affinity the pipeline has a processor from which these threads are kept away; other programs \
              are not. With a single processor there is no such row.",
        find: |_| {
            let shared =
                affinity(Processors::Shared, "No Affinity", [32.0, 39.0, 76.0, 1322.0, 3630.0]);
            let reserved = || {
                affinity(Processors::Reserved, "With Affinity", [30.0, 42.0, 83.0, 169.0, 208.0])
            };
            let reserved = if processors() > 1 { reserved() } else { vec![] };
            let rows = shared.into_iter().chain(reserved).chain([smallest()]).collect();
            Findings { rows, ..Findings::default() }
        },
    },
};

/// A row of Table 5.2.
fn affinity(given: Processors, name: &str, paper: [f64; 5]) -> Vec<Row> {
    let all = batches_beside_load(1_000_000, given);
    let mean = all.iter().sum::<f64>() / all.len().max(1) as f64;
    let at = |percent| percentile(&all, percent);
    let quantities = [
        ("mean", mean),
        ("95th percentile", at(95.0)),
        ("99th percentile", at(99.0)),
        ("99.9th percentile", at(99.9)),
        ("largest", at(100.0)),
    ];
    let note = "the paper measures a packet from network card to network card; ours is the pipeline only. It is \
                wall-clock time, so its tail depends on other load of the machine";
    let row = |((quantity, value), paper): ((&'static str, f64), f64)| {
        row(quantity, name, value * 1e6, "us", Some(paper), note)
    };
    quantities.into_iter().zip(paper).map(row).collect()
}

/// Section 5.5.2.
pub(super) const CORES: Experiment = Experiment {
    id: "nb-8",
    about: "Section 5.5.2: what it costs that pipelines on several cores share the virtual queues",
    work: Work::Computed {
        how: "The part of `slotline bench bump` about shared tables, on this machine: CPU time of the slowest thread, and the packets of all from the start of the first thread to the end of the last.",
        find: |_| {
            let note = "the paper's value is the latency of its whole bump, including the locks of the table; ours is \
                        the time of the pipeline only, which takes no locks. More threads than processors cannot run \
                        in parallel";
            let of = |(case, threads, sharing, paper): (Case, u32, &str, Option<f64>)| {
                let rows = case.run(100);
                let value = |at: usize| rows.get(at).map_or(f64::NAN, |row| row.value);
                let name = format!("{threads} pipelines, {sharing}");
                [
                    row("time for a packet", &name, value(0) / 1e3, "us", paper, note),
                    row("packets of all", &name, value(1), "million/s", None, note),
                ]
            };
            let slack = format!("each holds back at most {} bytes", SLACK.0);
            let exact = "each updated for each packet";
            let cases = [
                (Case::SharedTable(1), 1, slack.as_str(), Some(29.2)),
                (Case::SharedTable(2), 2, &slack, Some(35.5)),
                (Case::SharedTable(4), 4, &slack, Some(36.8)),
                (Case::ExactTable(1), 1, exact, None),
                (Case::ExactTable(2), 2, exact, None),
            ];
            let rows = cases.into_iter().flat_map(of).collect();
            Findings { rows, ..Findings::default() }
        },
    },
};

/// Frames of 64 bytes on one core. At 10 Gbit/s there are 14.88 million in a second.
fn smallest() -> Row {
    let rows = Case::Dctcp.run(100);
    let value = rows.get(1).map_or(f64::NAN, |row| row.value);
    let note = "the paper forwards them at line rate; ours is the pipeline only";
    let row = row("frames of 64 B on one core", "", value, "million/s", None, note);
    Row { paper: Some(Stated::Over(14.88)), ..row }
}

fn row(
    quantity: &'static str,
    point: &str,
    value: f64,
    unit: &'static str,
    paper: Option<f64>,
    note: &str,
) -> Row {
    Row {
        x: None,
        point: point.into(),
        scheme: String::new(),
        quantity: quantity.into(),
        unit: unit.into(),
        paper: paper.map(Stated::About),
        ours: Estimate::read(value, None, 1),
        note: note.into(),
    }
}
