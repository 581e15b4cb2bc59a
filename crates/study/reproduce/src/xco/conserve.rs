//! Work conservation: Figure 21.

use super::GOODPUT;
use crate::draw::View;
use crate::quantity::each;
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_report::plot::Figure;

/// Figure 21.
pub(super) const WORK_CONSERVATION: Experiment = Experiment {
    id: "xco-9",
    about: "Figure 21: three slow and two greedy UDP senders; what work conservation is worth",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/xco-9.toml",
        text: include_str!("../../../../../scenarios/reproduce/xco-9.toml"),
        axis: &[5],
        set: |_, senders| format!("{senders} UDP senders"),
        compare: work_conservation,
        figures,
    }),
};

const PER_SLOW_FLOW: Quantity = Quantity {
    key: "slow",
    name: "goodput per slow flow",
    unit: "Mbit/s",
    of: |run| each(run, |f| f.group == 0),
};
const PER_GREEDY_FLOW: Quantity = Quantity {
    key: "greedy",
    name: "goodput per greedy flow",
    unit: "Mbit/s",
    of: |run| each(run, |f| f.group == 1),
};

fn figures(view: &View) -> Vec<Figure> {
    let title = "Throughput, in all and for each flow";
    vec![view.bars("goodput", title, &[GOODPUT, PER_SLOW_FLOW, PER_GREEDY_FLOW])]
}

fn work_conservation(points: &[Measured]) -> Vec<Row> {
    let without = "in ours fewer messages arrive whole: this depends on how the packets of two senders interleave at the full queue (random gaps here; 435 with evenly spaced packets)";
    let slices = "as in the paper: the greedy flows have a fifth of the link each, and the slow flows leave most of \
                  theirs unused";
    let conserving =
        "more than in the paper: in ours the unused time of slow flows is reassigned within 0.1 ms";
    let alone = "no number in the text";
    let waiting = "no number in the text; ours miss some of their 48, as the 213 KB of a socket are full before \
                   it is their turn again";
    let of = |point: &Measured| {
        let total = |scheme, paper, note| point.row(scheme, &GOODPUT, Some(paper), note);
        let part = |scheme, quantity| point.row(scheme, quantity, None, alone);
        [
            total("without", Stated::About(300.0), without),
            part("without", &PER_SLOW_FLOW),
            part("without", &PER_GREEDY_FLOW),
            total("timeslice", Stated::Over(500.0), slices),
            point.row("timeslice", &PER_SLOW_FLOW, None, waiting),
            part("timeslice", &PER_GREEDY_FLOW),
            total("work-conserving", Stated::Over(800.0), conserving),
            part("work-conserving", &PER_SLOW_FLOW),
            part("work-conserving", &PER_GREEDY_FLOW),
        ]
    };
    points.iter().flat_map(of).flatten().collect()
}
