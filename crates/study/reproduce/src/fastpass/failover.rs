//! The failure of an arbiter: §5.1.

use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_schemes::counters;

/// §5.1.
pub(super) const FAIL_OVER: Experiment = Experiment {
    id: "fp-I",
    about: "Section 5.1: the primary arbiter is killed; silence, take-over, first timeslot",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/fp-I.toml",
        text: include_str!("../../../../../scenarios/reproduce/fp-I.toml"),
        axis: &[1],
        set: |_, _| "killed at 5 ms".into(),
        compare,
        figures: |view| vec![view.bars("times", "Take-over", &[SILENCE, GRANT])],
    }),
};

const SILENCE: Quantity = Quantity {
    key: "silence",
    name: "silence until the take-over",
    unit: "us",
    of: |run| run.control(counters::fastpass::TAKE_OVER_SILENCE_NS) as f64 / 1e3,
};
const GRANT: Quantity = Quantity {
    key: "grant",
    name: "take-over to the first timeslot given out",
    unit: "us",
    of: |run| run.control(counters::fastpass::TAKE_OVER_TO_GRANT_NS) as f64 / 1e3,
};
const UNFINISHED: Quantity = Quantity {
    key: "unfinished",
    name: "flows that are never complete",
    unit: "1",
    of: |run| run.flows.iter().filter(|flow| !flow.finished()).count() as f64,
};

fn compare(points: &[Measured]) -> Vec<Row> {
    let silence = "the time-out of the watchdog is a parameter, 1 ms as in the paper";
    let grant = "\"one round-trip time\" to resynchronise, between the nearest hosts and the arbiter; then the first \
                 batch has to be allocated";
    let of = |point: &Measured| {
        [
            point.row("fastpass", &SILENCE, Some(Stated::About(1_000.0)), silence),
            point.row("fastpass", &GRANT, None, grant),
            point.row(
                "fastpass",
                &UNFINISHED,
                None,
                "only requests are lost, and they are sent again",
            ),
        ]
    };
    points.iter().flat_map(of).flatten().collect()
}
