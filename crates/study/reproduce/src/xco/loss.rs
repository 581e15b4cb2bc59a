//! Packets lost at the bottleneck: Figures 23 to 27.

use super::PER_TCP_FLOW;
use crate::draw::View;
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::{PortRow, RunRecord};
use slotline_net::topology::TopologySpec;
use slotline_net::workload::{Hosts, WorkloadSpec};
use slotline_report::plot::{Figure, Measure};
use slotline_scenario::Scenario;

/// Figures 23 to 26.
pub(super) const BOTTLENECK: Experiment = Experiment {
    id: "xco-11",
    about: "Figures 23 to 26: packets lost with N UDP senders, and with UDP beside TCP",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/xco-11.toml",
        text: include_str!("../../../../../scenarios/reproduce/xco-11.toml"),
        axis: &[1, 2, 3, 4, 5, 101, 104, 107, 110, 111, 112, 113, 200, 201, 202, 203, 204, 205],
        set: set_senders,
        compare,
        figures,
    }),
};

/// Figure 27.
pub(super) const SCALE: Experiment = Experiment {
    id: "xco-12",
    about: "Figure 27: half of 800 to 19,200 machines send UDP to the other half, 1 and 10 Gbit/s",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/xco-12.toml",
        text: include_str!("../../../../../scenarios/reproduce/xco-12.toml"),
        axis: &[4, 8, 12, 16, 20, 24, 48, 96],
        set: set_rows,
        compare: scale,
        figures: scale_figures,
    }),
};

/// The number of machines of a row.
const ROW: u32 = 200;
/// The first receiver of the smaller experiment.
const RECEIVER: u32 = 13;
/// The number of senders to one receiver.
const FIVE: u32 = 5;

const ONE: Quantity = loss("one", "packets lost at 1 Gbit/s");
const TEN: Quantity = loss("ten", "packets lost at 10 Gbit/s");
const MIX: Quantity = loss("mix", "packets lost at 1 Gbit/s beside TCP");
const BUSIEST: Quantity = loss("busiest", "packets lost at the port that loses most of its own");
const LOST_REPORTS: Quantity = Quantity {
    key: "reports",
    name: "reports to the controller that were lost",
    unit: "%",
    of: |run| lost_at(run, |port| port.port == CONTROLLER),
};
const ALL: Quantity = Quantity {
    key: "all",
    name: "packets lost of all that were sent",
    unit: "%",
    of: crate::quantity::loss,
};

const fn loss(key: &'static str, name: &'static str) -> Quantity {
    Quantity { key, name, unit: "%", of: lost_at_bottleneck }
}

/// The name of the port to the controller.
const CONTROLLER: &str = "controller";

/// The share of packets lost at the switch port with the highest share, except the port to the controller.
fn lost_at_bottleneck(run: &RunRecord) -> f64 {
    lost_at(run, |port| port.port != CONTROLLER)
}

fn lost_at(run: &RunRecord, which: fn(&PortRow) -> bool) -> f64 {
    let switches = run.ports.iter().filter(|port| !port.host && port.drops > 0 && which(port));
    let share = |drops: u64, sent: u64| 100.0 * drops as f64 / (drops + sent) as f64;
    switches.map(|port| share(port.drops, port.tx_packets)).fold(0.0, f64::max)
}

/// The setup, one of three, and the number of senders.
fn part(x: u32) -> (u32, u32) {
    (x / 100, x % 100)
}

fn set_senders(scenario: &mut Scenario, x: u32) -> String {
    let (setup, n) = part(x);
    let hosts = |from: u32, count: u32| Hosts::List(vec![(from, from + count.max(1) - 1)]);
    scenario.workload.retain_mut(|workload| match workload {
        WorkloadSpec::Udp(stream) => {
            stream.senders = hosts(0, n);
            stream.receivers = hosts(RECEIVER, if setup == 1 { n } else { 1 });
            n > 0
        }
        WorkloadSpec::Bulk(bulk) => {
            bulk.senders = hosts(n.min(FIVE - 1), FIVE - n.min(FIVE - 1));
            setup == 2 && n < FIVE
        }
        _ => true,
    });
    match setup {
        0 => format!("1 Gbit/s, N={n}"),
        1 => format!("10 Gbit/s, N={n}"),
        _ => format!("mix, K={n}"),
    }
}

fn figures(view: &View) -> Vec<Figure> {
    let senders = [ONE, TEN].map(|quantity| view.against("UDP senders", &quantity));
    let mixed = [MIX, PER_TCP_FLOW].map(|quantity| view.against("UDP senders of five", &quantity));
    senders.into_iter().chain(mixed).collect()
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let full = "no number in the text, which says that the simulator agrees with the \
                testbed; of N senders at full rate \
                a link that carries one must lose 1 - 1/N, and ours loses a little less: the random gaps of \
                our senders leave 1 % of their own links idle";
    let ten = "no number in the text; of N senders at full rate a link that carries ten must lose 1 - 10/N, and \
               ours loses a little less, as at 1 Gbit/s";
    let mix =
        "no number in the text; TCP backs off, so the loss depends only on UDP, as without TCP";
    let none = "no number in the text: almost nothing";
    let tcp = "no number in the text";
    let of = |point: &Measured| {
        let (setup, n) = part(point.x);
        let (quantity, note) = [(&ONE, full), (&TEN, ten), (&MIX, mix)][setup as usize];
        let per_flow =
            |scheme| point.row(scheme, &PER_TCP_FLOW, None, tcp).filter(|_| setup == 2 && n < FIVE);
        let rows = [
            point.row("without", quantity, None, note),
            point.row("timeslice", quantity, None, none),
            per_flow("without"),
            per_flow("timeslice"),
        ];
        let at = move |row: Row| Row { x: Some(f64::from(n)), ..row };
        rows.map(|row| row.map(at))
    };
    points.iter().flat_map(of).flatten().collect()
}

/// Makes the first half of the rows send to the second half.
fn set_rows(scenario: &mut Scenario, rows: u32) -> String {
    if let TopologySpec::Tree(tree) = &mut scenario.fabric {
        tree.rows = Some(rows);
    }
    let (half, all) = (rows / 2 * ROW, rows * ROW);
    for workload in &mut scenario.workload {
        if let WorkloadSpec::Udp(stream) = workload {
            stream.senders = Hosts::List(vec![(0, half - 1)]);
            stream.receivers = Hosts::List(vec![(half, all - 1)]);
        }
    }
    format!("{all} machines")
}

fn scale_figures(view: &View) -> Vec<Figure> {
    let draw = |quantity| view.against_in("machines", Measure::Number, f64::from(ROW), quantity);
    vec![draw(&BUSIEST), draw(&ALL), draw(&LOST_REPORTS)]
}

fn scale(points: &[Measured]) -> Vec<Row> {
    let most = "the paper has \"up to 90 %\" in the core network: a row's 10 racks offer 100 Gbit/s to its \
                uplink of 10; the racks' uplinks lose half before";
    let beyond = "beyond the paper, which ends at 4,800 machines: every row has the same uplink";
    let all =
        "no number in the text; of 200 machines of a row ten can send at a time, so 1 - 10/200";
    let slices = "the paper: almost none; ours are lost in the first millisecond, when each machine sends the two \
                  packets that need no permission, all at the same time";
    let synchronised = "not in the text: all machines send their first report at the same time, and later reports at \
                        different times";
    let paper = 24;
    let of = |point: &Measured| {
        let within = point.x <= paper;
        let ninety = within.then_some(Stated::About(90.0));
        let none = within.then_some(Stated::About(0.0));
        [
            point.row("without", &BUSIEST, ninety, if within { most } else { beyond }),
            point.row("without", &ALL, None, all),
            point.row("timeslice", &BUSIEST, none, if within { slices } else { beyond }),
            point.row("timeslice", &ALL, None, slices),
            point.row("timeslice", &LOST_REPORTS, None, synchronised),
        ]
    };
    points.iter().flat_map(of).flatten().collect()
}
