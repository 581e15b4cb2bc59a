//! A long flow beside short ones: Figures 7 and 17.

use super::GOODPUT;
use crate::draw::View;
use crate::quantity::goodput;
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_net::workload::WorkloadSpec;
use slotline_report::plot::Figure;
use slotline_scenario::Scenario;

/// Figures 7 and 17.
pub(super) const SHORT_FLOWS: Experiment = Experiment {
    id: "xco-5",
    about: "Figures 7 and 17: a long TCP flow beside K sequences of flows of 30 KB, 1 Gbit/s",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/xco-5.toml",
        text: include_str!("../../../../../scenarios/reproduce/xco-5.toml"),
        axis: &[0, 10, 25, 50, 100, 200, 300, 400],
        set: set_sequences,
        compare,
        figures,
    }),
};

const LONG: Quantity = Quantity {
    key: "long",
    name: "goodput of the long flow",
    unit: "Mbit/s",
    of: |run| goodput(run, |flow| flow.group == 0),
};
const TIMEOUTS: Quantity = Quantity {
    key: "timeouts",
    name: "time-outs per second",
    unit: "1/s",
    of: |run| {
        let timeouts: u32 = run.flows.iter().map(|flow| flow.timeouts).sum();
        f64::from(timeouts) * 1e12 / run.engine.sim_time_ps.max(1) as f64
    },
};

fn set_sequences(scenario: &mut Scenario, sequences: u32) -> String {
    scenario.workload.retain_mut(|workload| match workload {
        WorkloadSpec::ShortFlows(short) => {
            short.sequences = sequences.max(1);
            sequences > 0
        }
        _ => true,
    });
    format!("K={sequences}")
}

fn figures(view: &View) -> Vec<Figure> {
    let quantities = [LONG, GOODPUT, TIMEOUTS];
    quantities.iter().map(|quantity| view.against("sequences", quantity)).collect()
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let last = points.last().map_or(0, |point| point.x);
    let none = "no number in the text";
    let alone = "1000 less headers and framing";
    let long = "the long flow loses to the short ones, as in the paper, and more: in ours the second sender keeps the \
                queue full, packet by packet, and the long flow finds no gap";
    let total = "our total does not fall: the data of 400 sequences waits in the sender's own card, whose link is as \
                 fast as the bottleneck. There are few time-outs, and some flow always has data to send. The paper's \
                 text does not say what limits its short flows";
    let slices = "half of 1000 less headers and framing: each of the two senders has half of the time; in the \
                  paper \"slightly less than half\"";
    let rise = "no number in the text: more than without; ours has nothing to gain";
    let at = |point: &Measured, value: f64, x: u32| (point.x == x).then_some(Stated::About(value));
    let of = |point: &Measured| {
        let long_alone = at(point, 940.0, 0).or(at(point, 89.0, last));
        let total_end = at(point, 940.0, 0).or(at(point, 280.0, last));
        let (long, total) = match point.x {
            0 => (alone, alone),
            x if x == last => (long, total),
            _ => (none, none),
        };
        let stable = (point.x == last).then_some(Stated::About(430.0));
        [
            point.row("without", &LONG, long_alone, long),
            point.row("without", &GOODPUT, total_end, total),
            point.row("without", &TIMEOUTS, None, ""),
            point.row("timeslice", &LONG, stable, if point.x == 0 { none } else { slices }),
            point.row("timeslice", &GOODPUT, None, if point.x == 0 { none } else { rise }),
            point.row("timeslice", &TIMEOUTS, None, ""),
        ]
    };
    points.iter().flat_map(of).flatten().collect()
}
