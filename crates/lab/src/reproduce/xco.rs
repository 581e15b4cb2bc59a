//! XCo: explicit coordination to prevent network fabric congestion (Rajanna et al., 2010).
//!
//! Of the figures only the captions were at hand: what the paper has is what its text says.

use super::{Experiment, Measured, Row, Stated};
use crate::record::{FlowRow, RunRecord};
use crate::scenario::Scenario;
use slotline_net::workload::{Hosts, WorkloadSpec};

/// Figures 3 and 14.
pub(super) const INCAST: Experiment = Experiment {
    id: "xco-2",
    about: "XCo, Figures 3 and 14: barrier-synchronised reads from N servers, 1 Gbit/s",
    file: "scenarios/reproduce/xco-2.toml",
    text: include_str!("../../../../scenarios/reproduce/xco-2.toml"),
    axis: &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    set: set_servers,
    compare: incast,
};

/// Figures 4 and 15.
pub(super) const MIX: Experiment = Experiment {
    id: "xco-3",
    about: "XCo, Figures 4 and 15: K of five senders use UDP, the others TCP, 1 Gbit/s",
    file: "scenarios/reproduce/xco-3.toml",
    text: include_str!("../../../../scenarios/reproduce/xco-3.toml"),
    axis: &[0, 1, 2, 3, 4, 5],
    set: set_udp_senders,
    compare: mix,
};

/// Figure 21.
pub(super) const WORK_CONSERVATION: Experiment = Experiment {
    id: "xco-9",
    about: "XCo, Figure 21: three slow and two greedy UDP senders; what work conservation is worth",
    file: "scenarios/reproduce/xco-9.toml",
    text: include_str!("../../../../scenarios/reproduce/xco-9.toml"),
    axis: &[5],
    set: |_, senders| format!("{senders} UDP senders"),
    compare: work_conservation,
};

/// Senders of the mixed experiment, and the receiver's name in ports.
const SENDERS: u32 = 5;
const RECEIVER: &str = "h5";
/// What tcpdump does not see of a frame: preamble, check sequence and gap.
const UNSEEN: u64 = 8 + 4 + 12;

fn set_servers(scenario: &mut Scenario, servers: u32) -> String {
    for workload in &mut scenario.workload {
        if let WorkloadSpec::Incast(incast) = workload {
            incast.senders = Hosts::List(vec![(0, servers - 1)]);
        }
    }
    format!("N={servers}")
}

/// The first `udp` senders use UDP, the others TCP; a workload without senders is left out.
fn set_udp_senders(scenario: &mut Scenario, udp: u32) -> String {
    scenario.workload.retain_mut(|workload| match workload {
        WorkloadSpec::Udp(stream) => {
            stream.senders = Hosts::List(vec![(0, udp.saturating_sub(1))]);
            udp > 0
        }
        WorkloadSpec::Bulk(bulk) => {
            bulk.senders = Hosts::List(vec![(udp.min(SENDERS - 1), SENDERS - 1)]);
            udp < SENDERS
        }
        _ => true,
    });
    format!("K={udp}")
}

/// Something measured in a run.
struct Quantity {
    name: &'static str,
    unit: &'static str,
    of: fn(&RunRecord) -> f64,
}

const GOODPUT: Quantity =
    Quantity { name: "goodput", unit: "Mbit/s", of: |run| goodput(run, |_| true) };
const TIMEOUTS: Quantity =
    Quantity { name: "time-outs per 100 blocks", unit: "1", of: timeouts_per_100_blocks };
const UTILISATION: Quantity =
    Quantity { name: "link utilisation", unit: "Mbit/s", of: utilisation };
const PER_TCP_FLOW: Quantity =
    Quantity { name: "goodput per TCP flow", unit: "Mbit/s", of: |run| each(run, |f| !f.udp) };
const PER_SLOW_FLOW: Quantity = Quantity {
    name: "goodput per slow flow",
    unit: "Mbit/s",
    of: |run| each(run, |f| f.group == 0),
};
const PER_GREEDY_FLOW: Quantity = Quantity {
    name: "goodput per greedy flow",
    unit: "Mbit/s",
    of: |run| each(run, |f| f.group == 1),
};

fn mbit_per_s(bytes: u64, run: &RunRecord) -> f64 {
    let end = |f: &FlowRow| if f.finished() { f.finish_ps } else { run.engine.sim_time_ps };
    let ps = run.flows.iter().map(end).max().unwrap_or(0).max(1);
    bytes as f64 * 8e6 / ps as f64
}

fn wanted(run: &RunRecord, which: fn(&FlowRow) -> bool) -> impl Iterator<Item = &FlowRow> {
    run.flows.iter().filter(move |flow| !flow.request && which(flow))
}

fn goodput(run: &RunRecord, which: fn(&FlowRow) -> bool) -> f64 {
    mbit_per_s(wanted(run, which).map(|flow| flow.delivered_bytes).sum(), run)
}

fn each(run: &RunRecord, which: fn(&FlowRow) -> bool) -> f64 {
    goodput(run, which) / wanted(run, which).count().max(1) as f64
}

fn timeouts_per_100_blocks(run: &RunRecord) -> f64 {
    let timeouts: u32 = run.flows.iter().map(|flow| flow.timeouts).sum();
    let blocks = run.flows.iter().filter_map(|flow| flow.exchange).max().map_or(1, |last| last + 1);
    f64::from(timeouts) * 100.0 / f64::from(blocks)
}

/// What tcpdump would count on the receiver's link.
fn utilisation(run: &RunRecord) -> f64 {
    let link = run.ports.iter().filter(|port| !port.host && port.port == RECEIVER);
    mbit_per_s(link.map(|port| port.tx_bytes - UNSEEN * port.tx_packets).sum(), run)
}

impl Measured {
    fn row(
        &self,
        scheme: &str,
        quantity: &Quantity,
        paper: Option<Stated>,
        note: &str,
    ) -> Option<Row> {
        Some(Row {
            setup: self.setup_of(scheme),
            quantity: quantity.name,
            unit: quantity.unit,
            paper,
            ours: self.mean(scheme, quantity.of)?,
            note: note.into(),
        })
    }
}

fn incast(points: &[Measured]) -> Vec<Row> {
    let tcp = "no number in the text for Figure 3, a \"steep collapse\" (842 to 305 for the iSCSI reads of \
               Figure 2); ours collapses at once: last segments are lost, and nothing but the time-out of \
               200 ms shows it";
    let rates = "no number in the text: better than without, worse than timeslices, as buffers still \
                 overflowed for moments; ours are best, as our rates are exact and nothing overflows";
    let slices = "no number in the text: the highest of the three; ours lose 0.1 ms per server and block: \
                  50 us of hysteresis, then a message to the controller, a decision, and one back";
    let of = |point: &Measured| {
        [
            point.row("tcp", &GOODPUT, None, tcp),
            point.row("tcp", &TIMEOUTS, None, tcp),
            point.row("rate-limit", &GOODPUT, None, rates),
            point.row("timeslice", &GOODPUT, None, slices),
            point.row("timeslice", &TIMEOUTS, None, slices),
        ]
    };
    points.iter().flat_map(of).flatten().collect()
}

fn mix(points: &[Measured]) -> Vec<Row> {
    let mut rows = Vec::new();
    for point in points {
        rows.extend(uncoordinated(point).into_iter().flatten());
        rows.extend(coordinated(point).into_iter().flatten());
    }
    rows.extend(utilisation_range(points));
    rows
}

fn uncoordinated(point: &Measured) -> [Option<Row>; 3] {
    let all_tcp = Some(Stated::Over(900.0)).filter(|_| point.x == 0);
    let total = match point.x {
        0 => "",
        _ => {
            "no number in the text: \"an immediate drop\"; a message of 64 KB is lost with any of its 44 \
             fragments, and the full queue drops some of all senders"
        }
    };
    let tcp = match point.x {
        0 => {
            "no number in the text; in ours one flow has nearly all: it keeps the full queue full, packet \
             by packet, and without any noise the others find no gap"
        }
        _ => "no number in the text: \"a negligible share\"",
    };
    let link = "the text has a range for all K, see below";
    [
        point.row("without", &GOODPUT, all_tcp, total),
        point.row("without", &UTILISATION, None, link),
        point.row("without", &PER_TCP_FLOW, None, tcp).filter(|_| point.x < SENDERS),
    ]
}

fn coordinated(point: &Measured) -> [Option<Row>; 4] {
    let rates = "no number in the text: better than without, worse than timeslices; ours are alike, as our \
                 rates are exact and no buffer overflows";
    let total = "\"close to the maximum\"; of 1000, headers and framing leave 941 to TCP and 957 to UDP, and \
                 ours lose nothing else";
    let tcp = "\"close to 200\": ours have a fifth of what headers and framing leave";
    let (maximum, fifth) = (Some(Stated::About(1000.0)), Some(Stated::About(200.0)));
    let some_tcp = |_: &Row| point.x < SENDERS;
    [
        point.row("rate-limit", &GOODPUT, None, rates),
        point.row("rate-limit", &PER_TCP_FLOW, None, rates).filter(some_tcp),
        point.row("timeslice", &GOODPUT, maximum, total),
        point.row("timeslice", &PER_TCP_FLOW, fifth, tcp).filter(some_tcp),
    ]
}

/// "Between 800 Mbps and 1 Gbps".
fn utilisation_range(points: &[Measured]) -> Vec<Row> {
    let rows = points.iter().filter_map(|point| point.row("without", &UTILISATION, None, ""));
    let mut rows: Vec<Row> = rows.collect();
    rows.sort_by(|a, b| a.ours.mean.total_cmp(&b.ours.mean));
    let end = |row: Option<&Row>, quantity, paper, note: &str| {
        row.map(|row| Row {
            setup: "all K, without".into(),
            quantity,
            paper: Some(Stated::About(paper)),
            note: note.into(),
            ..row.clone()
        })
    };
    let low = "our UDP senders hardly pause, so the link is never idle; why it was in the paper is not said";
    let high = "our link is full: of 1000, tcpdump does not see preamble, check sequence and gap";
    let lowest = end(rows.first(), "link utilisation, lowest", 800.0, low);
    let highest = end(rows.last(), "link utilisation, highest", 1000.0, high);
    lowest.into_iter().chain(highest).collect()
}

fn work_conservation(points: &[Measured]) -> Vec<Row> {
    let without = "in ours fewer messages arrive whole: that hangs on how the packets of two senders \
                   interleave at the full queue (random gaps here; 435 with evenly spaced packets)";
    let slices = "as in the paper: the greedy flows have a fifth of the link each, the slow ones leave theirs";
    let conserving =
        "more than in the paper: in ours the slow flows' rest is handed over within 0.1 ms";
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
