//! The amount of code of a discipline: Table 5.3.

use crate::{Experiment, Findings, Row, Stated, Work};
use slotline_lab::statistics::Estimate;

/// Table 5.3.
pub(super) const LINES: Experiment = Experiment {
    id: "nb-9",
    about: "Table 5.3: lines of code of each discipline",
    work: Work::Computed {
        how: "Lines of the source files that are neither empty nor comments, without their tests.",
        find: |_| {
            let rows = SOURCES.iter().map(|&(name, paper, texts, note)| Row {
                x: None,
                point: name.into(),
                scheme: String::new(),
                quantity: "lines",
                unit: "",
                paper: paper.map(Stated::About),
                ours: Estimate::read(
                    texts.iter().map(|text| lines(text)).sum::<usize>() as f64,
                    None,
                    1,
                ),
                note: note.into(),
            });
            Findings { rows: rows.collect(), ..Findings::default() }
        },
    },
};

macro_rules! source {
    ($file:literal) => {
        include_str!(concat!("../../../../model/net/src/", $file))
    };
}

type Source = (&'static str, Option<f64>, &'static [&'static str], &'static str);

const SOURCES: [Source; 7] = [
    (
        "RED",
        Some(29.0),
        &[source!("aqm/red.rs")],
        "ours includes the gentle slope, thresholds in bytes, the decay while idle and even gaps between marks; the \
         paper's does not",
    ),
    ("DCTCP", Some(29.0), &[source!("aqm/threshold.rs")], ""),
    (
        "QCN",
        Some(464.0),
        &[source!("aqm/qcn.rs"), source!("node/reaction.rs"), source!("wire/cnm.rs")],
        "congestion point, reaction point with its rate limiter, and the frames",
    ),
    (
        "core",
        Some(940.0),
        &[
            source!("aqm/discipline.rs"),
            source!("aqm/virtual_queue.rs"),
            source!("aqm/bank.rs"),
            include_str!("../../../../drivers/bump/src/frame.rs"),
            include_str!("../../../../drivers/bump/src/classify.rs"),
            include_str!("../../../../drivers/bump/src/levels.rs"),
            include_str!("../../../../drivers/bump/src/shared.rs"),
            include_str!("../../../../drivers/bump/src/pipeline.rs"),
        ],
        "the pipeline on frames, without input and output of packets, which the paper's includes",
    ),
    ("CoDel", None, &[source!("aqm/codel.rs")], "not in the paper"),
    ("PIE", None, &[source!("aqm/pie.rs")], "not in the paper"),
    ("AVQ", None, &[source!("aqm/avq.rs")], "not in the paper"),
];

/// Lines of code, up to the tests.
fn lines(text: &str) -> usize {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let counts = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    code.lines().filter(counts).count()
}
