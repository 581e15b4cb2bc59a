//! Round trips beside large transfers: Figures 9 and 10.

use crate::draw::{Values, View};
use crate::quantity::{goodput, percentile, round_trips};
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_net::workload::WorkloadSpec;
use slotline_report::plot::{Division, Figure, Measure};
use slotline_scenario::Scenario;

/// Figures 9 and 10.
pub(super) const PING: Experiment = Experiment {
    id: "tdma-6",
    about: "Figures 9 and 10: a ping every 30 ms beside two large transfers, in a tree of four switches",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/tdma-6.toml",
        text: include_str!("../../../../../scenarios/reproduce/tdma-6.toml"),
        axis: &[0, 2],
        set: set_transfers,
        compare,
        figures,
    }),
};

/// The workload of the pings, which is the first one.
const PINGS: u16 = 0;

const MEAN: Quantity = Quantity {
    key: "mean",
    name: "mean round trip",
    unit: "us",
    of: |run| {
        let all = round_trips(run, PINGS);
        all.iter().sum::<f64>() / all.len().max(1) as f64 * 1e6
    },
};
const MEDIAN: Quantity =
    Quantity { key: "median", name: "median round trip", unit: "us", of: |run| at(run, 50.0) };
const TAIL: Quantity =
    Quantity { key: "tail", name: "95th percentile", unit: "us", of: |run| at(run, 95.0) };
const BULK: Quantity = Quantity {
    key: "bulk",
    name: "goodput of the transfers",
    unit: "Mbit/s",
    of: |run| goodput(run, |flow| flow.group != PINGS),
};

fn at(run: &RunRecord, percent: f64) -> f64 {
    percentile(&round_trips(run, PINGS), percent) * 1e6
}

/// Sets the number of transfers. Without any, the ping is alone.
fn set_transfers(scenario: &mut Scenario, transfers: u32) -> String {
    scenario
        .workload
        .retain(|workload| transfers > 0 || matches!(workload, WorkloadSpec::Probe(_)));
    match transfers {
        0 => "idle".into(),
        n => format!("{n} transfers"),
    }
}

fn figures(view: &View) -> Vec<Figure> {
    let all = Values {
        id: "cdf",
        title: "Round trips beside two transfers",
        label: "round trip",
        unit: Measure::Seconds,
        scale: Division::LogFirst,
    };
    vec![view.distribution(2, &all, |run| round_trips(run, PINGS), &[])]
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let idle = "no number in the text; the paper's includes its hosts' kernels, ours only links and switches";
    let tcp = "the text only says that TDMA's 95th percentile is over three times lower; ours is the queue of the \
               port that both transfers share";
    let slots = "in each direction the ping waits for a report, a round, and its slot. The paper's host measures from \
                 the moment at which it may send, which excludes this";
    let no_slot = "the ping needs no slot (section 4.1): it uses the share of the links that is reserved for short flows";
    let own = "the paper's 26 us are measured within a slot, with kernel bypass; its 170 us with the kernel's share \
               added";
    let bulk = "the paper's transfers lose the 1 % of slots in which the ping is served";
    let of = |point: &Measured| match point.x {
        0 => vec![point.row("tcp", &MEDIAN, None, idle)],
        _ => vec![
            point.row("tcp", &MEDIAN, None, tcp),
            point.row("tcp", &TAIL, Some(Stated::Over(3.0 * 170.0)), tcp),
            point.row("tcp", &BULK, None, bulk),
            point.row("slots", &MEDIAN, None, slots),
            point.row("slots", &TAIL, None, slots),
            point.row("slots", &BULK, None, bulk),
            point.row("apart", &MEAN, Some(Stated::About(26.0)), own),
            point.row("apart", &TAIL, Some(Stated::About(170.0)), no_slot),
            point.row("apart", &BULK, None, bulk),
        ],
    };
    points.iter().flat_map(of).flatten().collect()
}
