//! Barrier-synchronised reads: Figures 2, 3, 13 and 14.

use super::{GOODPUT, TIMEOUTS};
use crate::draw::View;
use crate::{Experiment, Measured, Row, Stated, Study, Work};
use slotline_net::workload::{Hosts, WorkloadSpec};
use slotline_report::plot::Figure;
use slotline_scenario::Scenario;

/// Figures 2 and 13.
pub(super) const STRIPED: Experiment = Experiment {
    id: "xco-1",
    about: "Figures 2 and 13: striped iSCSI reads from N targets, jumbo frames, 1 Gbit/s",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/xco-1.toml",
        text: include_str!("../../../../../scenarios/reproduce/xco-1.toml"),
        axis: &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        set: set_servers,
        compare: striped,
        figures,
    }),
};

/// Figures 3 and 14.
pub(super) const BLOCKS: Experiment = Experiment {
    id: "xco-2",
    about: "Figures 3 and 14: barrier-synchronised reads from N servers, 1 Gbit/s",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/xco-2.toml",
        text: include_str!("../../../../../scenarios/reproduce/xco-2.toml"),
        axis: &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        set: set_servers,
        compare: incast,
        figures,
    }),
};

fn set_servers(scenario: &mut Scenario, servers: u32) -> String {
    for workload in &mut scenario.workload {
        if let WorkloadSpec::Incast(incast) = workload {
            incast.senders = Hosts::List(vec![(0, servers - 1)]);
        }
    }
    format!("N={servers}")
}

fn figures(view: &View) -> Vec<Figure> {
    vec![view.against("servers", &GOODPUT), view.against("servers", &TIMEOUTS)]
}

fn striped(points: &[Measured]) -> Vec<Row> {
    let first = "the paper's 842 is measured by dd through a file system and an iSCSI stack; ours is the traffic of \
                 the network: 1000 less headers, framing and a request per block";
    let tcp = "the text has only the lowest value, see below; ours collapses as in xco-2: last segments are lost, and \
               only the time-out of 200 ms detects it";
    let rates = "no number in the text: better than without, worse than timeslices; ours are best, as in xco-2";
    let slices = "no number in the text: the highest of the three; ours lose 0.1 ms per target and block, as in \
                  xco-2";
    let of = |point: &Measured| {
        let (paper, note) = match point.x {
            1 => (Some(Stated::About(842.0)), first),
            _ => (None, tcp),
        };
        [
            point.row("tcp", &GOODPUT, paper, note),
            point.row("tcp", &TIMEOUTS, None, ""),
            point.row("rate-limit", &GOODPUT, None, rates),
            point.row("timeslice", &GOODPUT, None, slices),
            point.row("timeslice", &TIMEOUTS, None, ""),
        ]
    };
    points.iter().flat_map(of).flatten().chain(lowest(points)).collect()
}

/// The paper's lowest value. Its text does not give the number of targets.
fn lowest(points: &[Measured]) -> Option<Row> {
    let note = "the paper does not say at how many targets; ours is lower: a jumbo packet is a fifteenth of the \
                buffer that we assume, so first windows alone overflow it, and a lost last packet costs 200 ms";
    let rows =
        points.iter().filter_map(|p| p.row("tcp", &GOODPUT, Some(Stated::About(305.0)), note));
    let least = rows.min_by(|a, b| a.ours.mean.total_cmp(&b.ours.mean))?;
    Some(Row { x: None, point: "lowest of all N".into(), ..least })
}

fn incast(points: &[Measured]) -> Vec<Row> {
    let tcp = "no number in the text for Figure 3, a \"steep collapse\" (842 to 305 for the iSCSI reads of \
               Figure 2); ours collapses at once: last segments are lost, and only the time-out of 200 ms detects it";
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
