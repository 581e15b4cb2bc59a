//! Round trips beside large transfers: Figures 9 and 10.

use crate::draw::{Values, View};
use crate::quantity::{goodput, percentile, round_trips};
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_net::frame::Kind;
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

const IN_SLOT_MEAN: Quantity = Quantity {
    key: "in-slot",
    name: "mean in a slot",
    unit: "us",
    of: |run| {
        let all = in_slots(run);
        all.iter().sum::<f64>() / all.len().max(1) as f64 * 1e6
    },
};
const IN_SLOT_TAIL: Quantity = Quantity {
    key: "in-slot-tail",
    name: "95th percentile in a slot",
    unit: "us",
    of: |run| percentile(&in_slots(run), 95.0) * 1e6,
};

/// The runs whose packets were recorded: those of the first seed.
fn with_packets(point: &Measured) -> Measured {
    let runs = point.runs.iter().filter(|run| !run.captures.is_empty());
    Measured {
        runs: runs.cloned().collect(),
        setup: point.setup.clone(),
        x: point.x,
        ..Measured::default()
    }
}

/// For each ping, how long its two packets were in the network: from the moment at which a host begins to send until
/// the other host has received the packet. Waiting for slots is not included.
fn in_slots(run: &RunRecord) -> Vec<f64> {
    let times = |from: &str, to: &str| {
        let sent = pings(run, from, 1);
        let got = pings(run, to, 0);
        sent.into_iter().zip(got).map(|(sent, got)| got - sent).collect::<Vec<_>>()
    };
    let (requests, answers) = (times("h1", "h9"), times("h9", "h1"));
    requests.iter().zip(answers).map(|(there, back)| there + back).collect()
}

/// The times, in seconds, at which the packets of pings begin to leave a host (`sends` is 1) or have arrived at it.
fn pings(run: &RunRecord, host: &str, sends: u64) -> Vec<f64> {
    let is_here = |at: usize| match sends {
        1 => run.ports[at].node == host,
        _ => run.ports[at].port == host,
    };
    let captured = run.captures.iter().filter(|capture| is_here(capture.port as usize));
    let packets = captured.flat_map(|capture| &capture.packets);
    let data = packets.filter(|packet| packet.packet.kind == Kind::Datagram);
    let late = |len: u16| (1 - sends) * (u64::from(len) * PS_PER_BYTE + DELAY_PS);
    data.map(|packet| (packet.t_ps + late(packet.packet.len)) as f64 / 1e12).collect()
}

/// The delay of a link.
const DELAY_PS: u64 = 1_000_000;
/// The rate of all links: picoseconds per byte.
const PS_PER_BYTE: u64 = 800;

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
    let slots = "in each direction the ping waits for the end of the current round and for its slot in the next one";
    let own = "from the moment at which a host may send, as in the paper, whose 26 us include its hosts with kernel \
               bypass; its 170 us are those with the kernel's share added";
    let apart = "the ping needs no slot: it uses the share of the links that is reserved for short flows (section \
                 4.1), which the paper did not implement";
    let bulk = "the paper's transfers lose the 1 % of slots in which the ping is served";
    let of = |point: &Measured| match point.x {
        0 => vec![point.row("tcp", &MEDIAN, None, idle)],
        _ => {
            let recorded = with_packets(point);
            let mut rows = vec![
                point.row("tcp", &MEDIAN, None, tcp),
                point.row("tcp", &TAIL, Some(Stated::Over(3.0 * 170.0)), tcp),
                point.row("tcp", &BULK, None, bulk),
            ];
            for scheme in ["slots", "slots, 3 ms", "slots, 1 ms"] {
                rows.push(point.row(scheme, &MEDIAN, None, slots));
                rows.push(point.row(scheme, &TAIL, None, slots));
                rows.push(point.row(scheme, &BULK, None, bulk));
                rows.push(recorded.row(scheme, &IN_SLOT_MEAN, Some(Stated::About(26.0)), own));
                rows.push(recorded.row(scheme, &IN_SLOT_TAIL, Some(Stated::About(170.0)), own));
            }
            rows.push(point.row("apart", &MEDIAN, None, apart));
            rows.push(point.row("apart", &TAIL, None, apart));
            rows.push(point.row("apart", &BULK, None, bulk));
            rows
        }
    };
    points.iter().flat_map(of).flatten().collect()
}
