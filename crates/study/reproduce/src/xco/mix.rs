//! TCP beside UDP: Figures 4, 5, 15 and 16.

use super::{GOODPUT, PER_TCP_FLOW};
use crate::draw::View;
use crate::quantity::mbit_per_s;
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_net::workload::{Hosts, WorkloadSpec};
use slotline_report::plot::Figure;
use slotline_scenario::Scenario;

/// Figures 4 and 15.
pub(super) const ONE_GIGABIT: Experiment = Experiment {
    id: "xco-3",
    about: "Figures 4 and 15: K of five senders use UDP, the others TCP, 1 Gbit/s",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/xco-3.toml",
        text: include_str!("../../../../../scenarios/reproduce/xco-3.toml"),
        axis: &[0, 1, 2, 3, 4, 5],
        set: set_udp_senders,
        compare: mix,
        figures,
    }),
};

/// Figures 5 and 16.
pub(super) const TEN_GIGABIT: Experiment = Experiment {
    id: "xco-4",
    about: "Figures 5 and 16: K of 13 senders to 13 receivers use UDP, the others TCP, 10 Gbit/s",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/xco-4.toml",
        text: include_str!("../../../../../scenarios/reproduce/xco-4.toml"),
        axis: &[0, 1, 2, 4, 6, 8, 10, 12, 13],
        set: set_udp_pairs,
        compare: pairs,
        figures: pair_figures,
    }),
};

/// The number of senders of the smaller experiment.
const SENDERS: u32 = 5;
const RECEIVER: &str = "h5";
/// The number of pairs of the larger experiment.
const PAIRS: u32 = 13;
/// The part of a frame that tcpdump does not see: preamble, check sequence and gap.
const UNSEEN: u64 = 8 + 4 + 12;

/// Over the whole run.
pub(super) const UTILISATION: Quantity =
    Quantity { key: "utilisation", name: "link utilisation", unit: "Mbit/s", of: utilisation };

/// The rate that tcpdump would count on the receiver's link.
fn utilisation(run: &RunRecord) -> f64 {
    let link = run.ports.iter().filter(|port| !port.host && port.port == RECEIVER);
    mbit_per_s(link.map(|port| port.tx_bytes - UNSEEN * port.tx_packets).sum(), run)
}

/// Makes the first `udp` senders use UDP and the others TCP. A workload without senders is left out.
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

/// Makes the first `udp` pairs use UDP and the others TCP.
fn set_udp_pairs(scenario: &mut Scenario, udp: u32) -> String {
    let hosts = |from: u32, until: u32| Hosts::List(vec![(from, until.max(from + 1) - 1)]);
    scenario.workload.retain_mut(|workload| match workload {
        WorkloadSpec::Udp(stream) => {
            stream.senders = hosts(0, udp);
            stream.receivers = hosts(PAIRS, PAIRS + udp);
            udp > 0
        }
        WorkloadSpec::Bulk(bulk) => {
            bulk.senders = hosts(udp, PAIRS);
            bulk.receivers = hosts(PAIRS + udp, 2 * PAIRS);
            udp < PAIRS
        }
        _ => true,
    });
    format!("K={udp}")
}

fn pair_figures(view: &View) -> Vec<Figure> {
    [GOODPUT, PER_TCP_FLOW].iter().map(|quantity| view.against("UDP senders", quantity)).collect()
}

fn figures(view: &View) -> Vec<Figure> {
    let quantities = [GOODPUT, UTILISATION, PER_TCP_FLOW];
    quantities.iter().map(|quantity| view.against("UDP senders", quantity)).collect()
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
            "no number in the text; in ours one flow has nearly all of the link: it keeps the queue full, packet by \
             packet, and without any noise the others find no gap"
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
    let rates = "no number in the text: better than without, worse than timeslices; ours are equal, as our \
                 rates are exact and no buffer overflows";
    let total = "\"close to the maximum\"; 1000 less headers and framing is 941 for TCP and 957 for UDP, and ours \
                                         lose nothing else";
    let tcp = "\"close to 200\": ours have a fifth of 1000 less headers and framing";
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
            point: "all K".into(),
            quantity,
            paper: Some(Stated::About(paper)),
            note: note.into(),
            ..row.clone()
        })
    };
    let low = "our UDP senders hardly pause, so the link is never idle; the paper gives no reason for its idle time";
    let high = "our link is full: of 1000, tcpdump does not see preamble, check sequence and gap";
    let lowest = end(rows.first(), "link utilisation, lowest", 800.0, low);
    let highest = end(rows.last(), "link utilisation, highest", 1000.0, high);
    lowest.into_iter().chain(highest).collect()
}

fn pairs(points: &[Measured]) -> Vec<Row> {
    let without = "no number in the text: \"a steep drop\"; of UDP messages of 64 KB few arrive whole, and TCP \
                   backs off; ours falls until UDP alone fills the link";
    let starved = "no number in the text: per-flow TCP throughput \"collapses\"";
    let rates = "no number in the text: better than without, slightly worse than timeslices; ours are exact";
    let slices = "no number in the text: \"a high aggregate throughput\"; ten senders at a time";
    let share = "no number in the text: TCP senders \"maintain their throughput share\"; a share is 10/13 of \
                 1000, less headers and framing";
    let of = |point: &Measured| {
        let some_tcp = |row: &Row| row.quantity != PER_TCP_FLOW.name || point.x < PAIRS;
        let rows = [
            point.row("without", &GOODPUT, None, without),
            point.row("without", &PER_TCP_FLOW, None, starved),
            point.row("rate-limit", &GOODPUT, None, rates),
            point.row("rate-limit", &PER_TCP_FLOW, None, share),
            point.row("timeslice", &GOODPUT, None, slices),
            point.row("timeslice", &PER_TCP_FLOW, None, share),
        ];
        rows.map(|row| row.filter(some_tcp))
    };
    points.iter().flat_map(of).flatten().collect()
}
