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
            let rows = SOURCES.iter().map(|&(name, paper, lines, note)| Row {
                x: None,
                point: name.into(),
                scheme: String::new(),
                quantity: "lines".into(),
                unit: "".into(),
                paper: paper.map(Stated::About),
                ours: Estimate::read(lines as f64, None, 1),
                note: note.into(),
            });
            Findings { rows: rows.collect(), ..Findings::default() }
        },
    },
};

macro_rules! source {
    ($file:literal) => {
        lines(include_str!(concat!("../../../../model/net/src/", $file)))
    };
}

/// The name of a discipline, the paper's number of lines, ours, and a note.
type Source = (&'static str, Option<f64>, usize, &'static str);

const SOURCES: [Source; 7] = [
    (
        "RED",
        Some(29.0),
        source!("aqm/red.rs"),
        "ours includes the gentle slope, thresholds in bytes, the decay while idle and even gaps between marks; the \
         paper's does not",
    ),
    ("DCTCP", Some(29.0), source!("aqm/threshold.rs"), ""),
    (
        "QCN",
        Some(464.0),
        source!("aqm/qcn.rs") + source!("node/reaction.rs") + source!("wire/cnm.rs"),
        "congestion point, reaction point with its rate limiter, and the frames",
    ),
    (
        "core",
        Some(940.0),
        source!("aqm/discipline.rs")
            + source!("aqm/virtual_queue.rs")
            + source!("aqm/bank.rs")
            + lines(include_str!("../../../../drivers/bump/src/frame.rs"))
            + lines(include_str!("../../../../drivers/bump/src/classify.rs"))
            + lines(include_str!("../../../../drivers/bump/src/levels.rs"))
            + lines(include_str!("../../../../drivers/bump/src/shared.rs"))
            + lines(include_str!("../../../../drivers/bump/src/pipeline.rs")),
        "the pipeline on frames, without input and output of packets, which the paper's includes",
    ),
    ("CoDel", None, source!("aqm/codel.rs"), "not in the paper"),
    ("PIE", None, source!("aqm/pie.rs"), "not in the paper"),
    ("AVQ", None, source!("aqm/avq.rs"), "not in the paper"),
];

/// Lines of code, up to the tests. They are counted by the compiler, so that the program does not contain the sources.
const fn lines(text: &str) -> usize {
    let (text, mut at, mut count, mut line_begins) = (text.as_bytes(), 0, 0, true);
    while at < text.len() && !has(text, at, b"#[cfg(test)]") {
        match text[at] {
            b'\n' => line_begins = true,
            b' ' => {}
            _ => {
                count += (line_begins && !has(text, at, b"//")) as usize;
                line_begins = false;
            }
        }
        at += 1;
    }
    count
}

/// Whether `text` has `part` at `at`.
const fn has(text: &[u8], at: usize, part: &[u8]) -> bool {
    let mut same = 0;
    while same < part.len() && at + same < text.len() && text[at + same] == part[same] {
        same += 1;
    }
    same == part.len()
}
