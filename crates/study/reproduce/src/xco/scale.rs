//! Packets lost in large networks: Figure 27. It is no data, because the port that loses most of its own packets is
//! found among all ports but that to the controller.

use crate::draw::View;
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::{PortRow, RunRecord};
use slotline_net::topology::TopologySpec;
use slotline_net::workload::{Hosts, WorkloadSpec};
use slotline_report::plot::{Figure, Measure};
use slotline_scenario::Scenario;

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
const BUSIEST: Quantity = Quantity {
    key: "busiest",
    name: "packets lost at the port that loses most of its own",
    unit: "%",
    of: lost_at_bottleneck,
};
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
