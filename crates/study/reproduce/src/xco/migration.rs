//! Live migration beside other senders: Figure 19.

use super::mix::UTILISATION;
use crate::draw::View;
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_net::workload::{Hosts, WorkloadSpec};
use slotline_report::plot::Figure;
use slotline_scenario::Scenario;

/// Figure 19.
pub(super) const MIGRATION: Experiment = Experiment {
    id: "xco-7",
    about: "Figure 19: live migration of 256 MB beside 0 to 4 senders with TCP or UDP, 1 Gbit/s",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/xco-7.toml",
        text: include_str!("../../../../../scenarios/reproduce/xco-7.toml"),
        axis: &[0, 1, 2, 3, 4, 101, 102, 103, 104],
        set: set_senders,
        compare,
        figures,
    }),
};

/// From here on points have UDP senders.
const UDP: u32 = 100;

const TOTAL: Quantity = Quantity { key: "total", name: "migration time", unit: "s", of: total };
const DOWN: Quantity = Quantity { key: "downtime", name: "downtime", unit: "ms", of: downtime };

/// The time from the first byte to the last, or to the run's end if the migration is not complete.
fn total(run: &RunRecord) -> f64 {
    let rounds = || run.flows.iter().filter(|flow| flow.group == 0);
    let began = rounds().map(|flow| flow.start_ps).min().unwrap_or(0);
    let end = rounds().map(|flow| flow.finish_ps.min(run.engine.sim_time_ps)).max().unwrap_or(0);
    end.saturating_sub(began) as f64 / 1e12
}

/// The time of the last round, in which the virtual machine is stopped; NaN if it was not reached.
fn downtime(run: &RunRecord) -> f64 {
    let last = run.flows.iter().filter(|flow| flow.group == 0).max_by_key(|flow| flow.flow);
    let done = last.filter(|flow| flow.finished());
    done.map_or(0.0, |flow| (flow.finish_ps - flow.start_ps) as f64 / 1e9)
}

fn set_senders(scenario: &mut Scenario, x: u32) -> String {
    let (udp, senders) = (x > UDP, x % UDP);
    let hosts = Hosts::List(vec![(1, senders.max(1))]);
    scenario.workload.retain_mut(|workload| match workload {
        WorkloadSpec::Udp(stream) => {
            stream.senders = hosts.clone();
            udp
        }
        WorkloadSpec::Bulk(bulk) => {
            bulk.senders = hosts.clone();
            !udp && senders > 0
        }
        _ => true,
    });
    let kind = if udp { "UDP" } else { "TCP" };
    if senders == 0 { "alone".into() } else { format!("{senders} {kind}") }
}

fn figures(view: &View) -> Vec<Figure> {
    vec![view.against("competing senders", &TOTAL)]
}

fn compare(points: &[Measured]) -> Vec<Row> {
    points
        .iter()
        .flat_map(|point| ["without", "timeslice"].map(|scheme| rows(point, scheme)))
        .flatten()
        .collect()
}

/// The time and the downtime. A curve of the figure is a scheme with one kind of senders.
fn rows(point: &Measured, scheme: &str) -> Vec<Row> {
    let open = point.of(scheme).any(|run| downtime(run) == 0.0);
    let (udp, senders) = (point.x > UDP, point.x % UDP);
    let time = match (scheme, udp, open) {
        ("without", true, _) => {
            "no number in the text: \"increases exponentially\" with UDP; ours has not ended when the run ends, \
                                                               because UDP leaves no capacity: a lower bound"
        }
        (_, _, true) => {
            "a lower bound, because the migration has not ended when the run ends: in ours one of three flows has \
             nearly all of the link and keeps the queue full, packet by packet, as in xco-3 with K = 0"
        }
        ("without", false, _) => {
            "no number in the text: \"still a significant increase\"; in ours TCP fills the link, in the paper it \
             used less than half"
        }
        _ => {
            "no number in the text: linear, and almost no difference between TCP and UDP; ours is the same, because \
             each sender has an equal part of the time"
        }
    };
    let (time, down) = match senders {
        0 => ("256 MiB at 1 Gbit/s less headers and framing", ""),
        _ => (time, "not in the text; with timeslices the last page waits for its turn"),
    };
    let down = point.row(scheme, &DOWN, None, down).filter(|_| !open);
    let curves: &[&str] = if senders == 0 {
        &["TCP", "UDP"]
    } else if udp {
        &["UDP"]
    } else {
        &["TCP"]
    };
    let of = |row: Row| {
        let curve = move |kind: &&str| Row {
            x: Some(f64::from(senders)),
            point: format!("{senders} senders"),
            scheme: format!("{kind}, {}", row.scheme),
            ..row.clone()
        };
        curves.iter().map(curve).collect::<Vec<Row>>()
    };
    // The text has the use of the link beside TCP.
    let stated = match scheme {
        "without" => Stated::Under(500.0),
        _ => Stated::About(950.0),
    };
    let stated = Some(stated).filter(|_| !udp && senders > 0);
    let used = "in the paper TCP senders \"backoff due to increased packet drops\"; ours keep the link full";
    let link = point.row(scheme, &UTILISATION, stated, used).filter(|_| senders > 0);
    let all = [point.row(scheme, &TOTAL, None, time), link, down];
    all.into_iter().flatten().flat_map(of).collect()
}
