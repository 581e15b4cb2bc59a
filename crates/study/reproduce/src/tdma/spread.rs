//! How closely pause frames reach all hosts: Figures 3 and 4, §3.2.3 and §4.4.

use super::frames::{delay, is_frame, set_size};
use crate::draw::{Values, View};
use crate::quantity::percentile;
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_net::topology::TopologySpec;
use slotline_net::units::Rate;
use slotline_net::workload::WorkloadSpec;
use slotline_net::workload::udp::Pacing;
use slotline_report::plot::{Division, Figure, Measure};
use slotline_scenario::Scenario;
use slotline_schemes::counters;

/// Figures 3 and 4.
pub(super) const ONE_SWITCH: Experiment = Experiment {
    id: "tdma-2",
    about: "Figures 3 and 4: how far the gaps between two pause frames differ over 24 hosts",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/tdma-2.toml",
        text: include_str!("../../../../../scenarios/reproduce/tdma-2.toml"),
        axis: &[64, 512, 1_500, 10_010, 10_050, 10_090],
        set: set_traffic,
        compare: |points| compare(points, &["tdma"]),
        figures: distributions,
    }),
};

/// §3.2.3: three switches below a root.
pub(super) const TREE: Experiment = Experiment {
    id: "tdma-10",
    about: "Section 3.2.3: the same among 24 hosts at three switches below a root, by place of the controller",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/tdma-10.toml",
        text: include_str!("../../../../../scenarios/reproduce/tdma-10.toml"),
        axis: &[64, 512, 1_500],
        set: set_traffic,
        compare: |points| compare(points, &["from the root", "at each switch"]),
        figures: distributions,
    }),
};

/// §4.4.
pub(super) const SCALE: Experiment = Experiment {
    id: "tdma-11",
    about: "Section 4.4: one controller, and one for each switch of 48 hosts, for up to 384 hosts",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/tdma-11.toml",
        text: include_str!("../../../../../scenarios/reproduce/tdma-11.toml"),
        axis: &[1, 2, 4, 8],
        set: set_switches,
        compare: |points| scale(points, &["one controller", "one for each switch"]),
        figures: by_switches,
    }),
};

/// §4.4: triggers.
pub(super) const TRIGGERS: Experiment = Experiment {
    id: "tdma-13",
    about: "Section 4.4: controllers at 8 to 256 switches, triggered one after another or by a broadcast frame",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/tdma-13.toml",
        text: include_str!("../../../../../scenarios/reproduce/tdma-13.toml"),
        axis: &[8, 64, 256],
        set: set_switches,
        compare: |points| {
            scale(points, &["one after another", "broadcast", "broadcast, demand apart"])
        },
        figures: by_switches,
    }),
};

fn by_switches(view: &View) -> Vec<Figure> {
    vec![view.against("switches", &LONGEST_EDGE), view.against("switches", &OVERRUNS)]
}

/// Points from here on have packets of 1,500 bytes and are named by the percentage of the link that is used.
const BY_RATE: u32 = 10_000;
/// The number of flows of each host.
const FLOWS: u64 = 3;
/// Frames that follow each other within this time belong to one edge of a slot.
const EDGE_PS: u64 = 5_000_000;

const NEARLY_ALL: Quantity =
    delay("spread", "spread of 95 % of frame pairs", |run| percentile(&gaps(run), 95.0));
const LARGEST: Quantity = delay("largest", "largest spread", |run| percentile(&gaps(run), 100.0));
const LONGEST_EDGE: Quantity = delay("edge", "from the first to the last host", |run| {
    percentile(&edges(run).iter().map(|edge| width(edge)).collect::<Vec<_>>(), 100.0)
});
const OVERRUNS: Quantity = Quantity {
    key: "overruns",
    name: "packets after their slot",
    unit: "1",
    of: |run| run.control(counters::tdma::OVERRUNS) as f64,
};
const DROPS: Quantity =
    Quantity { key: "drops", name: "drops", unit: "1", of: |run| run.census.lost() as f64 };

/// Sets the size of packets or the rate of each host.
fn set_traffic(scenario: &mut Scenario, x: u32) -> String {
    let Some(percent) = x.checked_sub(BY_RATE) else { return set_size(scenario, x) };
    set_size(scenario, 1_500);
    for workload in &mut scenario.workload {
        if let WorkloadSpec::Udp(udp) = workload {
            udp.rate = Pacing::At(Rate(u64::from(percent) * 100_000_000 / FLOWS));
        }
    }
    format!("1500 B, {percent} % of the link")
}

/// Sets the number of switches with hosts, and records what leaves them.
fn set_switches(scenario: &mut Scenario, switches: u32) -> String {
    let mut hosts = 0;
    if let TopologySpec::Tree(tree) = &mut scenario.fabric {
        tree.racks = switches;
        hosts = tree.hosts_per_rack;
    }
    let port = |host: u32| format!("tor{}-h{host}", host / hosts.max(1));
    scenario.measure.capture = (0..switches * hosts).map(port).collect();
    format!("{} hosts", switches * hosts)
}

/// The times of pause frames to hosts, in picoseconds: when the frame leaves the last switch, and the port.
fn frames(run: &RunRecord) -> Vec<(u64, u32)> {
    let of_port = |capture: &slotline_lab::record::Capture| {
        let frames = capture.packets.iter().filter(|packet| is_frame(packet));
        frames.map(|frame| (frame.t_ps, capture.port)).collect::<Vec<_>>()
    };
    let mut frames: Vec<(u64, u32)> = run.captures.iter().flat_map(of_port).collect();
    frames.sort_unstable();
    frames
}

/// The times at which hosts got their frames, by port, for each edge at which every host got exactly one.
fn edges(run: &RunRecord) -> Vec<Vec<u64>> {
    let hosts = run.captures.len();
    let edge = |frames: &[(u64, u32)]| {
        let mut by_port: Vec<(u32, u64)> = frames.iter().map(|&(at, port)| (port, at)).collect();
        by_port.sort_unstable();
        by_port.dedup_by_key(|(port, _)| *port);
        let whole = frames.len() == hosts && by_port.len() == hosts;
        whole.then(|| by_port.into_iter().map(|(_, at)| at).collect())
    };
    frames(run).chunk_by(|a, b| b.0 - a.0 < EDGE_PS).filter_map(edge).collect()
}

/// From the first to the last frame of an edge, in microseconds.
fn width(edge: &[u64]) -> f64 {
    let ends = edge.iter().min().zip(edge.iter().max());
    ends.map_or(0.0, |(first, last)| (last - first) as f64 / 1e6)
}

/// For each two consecutive edges, the spread of the gaps between them over hosts, in microseconds.
fn gaps(run: &RunRecord) -> Vec<f64> {
    let skew = |pair: &[Vec<u64>]| {
        let gaps: Vec<u64> =
            pair[1].iter().zip(&pair[0]).map(|(late, early)| late - early).collect();
        width(&gaps)
    };
    edges(run).windows(2).map(skew).collect()
}

fn distributions(view: &View) -> Vec<Figure> {
    let figure = |x, id, title| {
        let values =
            Values { id, title, label: "spread", unit: Measure::Seconds, scale: Division::Linear };
        view.distribution(x, &values, |run| gaps(run).iter().map(|us| us / 1e6).collect(), &[])
    };
    let mut all = vec![
        figure(64, "small", "Spread over hosts, beside 64-byte packets"),
        figure(1_500, "large", "Spread over hosts, beside 1,500-byte packets"),
    ];
    if view.points.iter().any(|point| point.x > BY_RATE) {
        all.push(figure(BY_RATE + 10, "light", "Spread over hosts, links used to 10 %"));
        all.push(figure(BY_RATE + 90, "heavy", "Spread over hosts, links used to 90 %"));
    }
    all
}

fn compare(points: &[Measured], schemes: &[&str]) -> Vec<Row> {
    let vast = "\"on the order of 10 to 15 us for the vast majority\"; ours comes only from data queued in front of \
                                                                     the frames, because the manager's software has \
                                                                     no jitter";
    let rarely = "\"rarely more than 20 us\"";
    let of = |point: &Measured| {
        let rows = |scheme: &&str| {
            [
                point.row(scheme, &NEARLY_ALL, Some(Stated::Under(15.0)), vast),
                point.row(scheme, &LARGEST, Some(Stated::Under(20.0)), rarely),
            ]
        };
        schemes.iter().flat_map(rows).collect::<Vec<_>>()
    };
    points.iter().flat_map(of).flatten().collect()
}

fn scale(points: &[Measured], schemes: &[&str]) -> Vec<Row> {
    let guard = "no number in the text, which says that the approach \"would scale to 384 hosts\"; hosts under one \
                 switch get their frames one after the other, 67 ns each";
    let of = |point: &Measured| {
        let rows = |scheme: &&str| {
            [&LONGEST_EDGE, &OVERRUNS, &DROPS]
                .map(|quantity| point.row(scheme, quantity, None, guard))
        };
        schemes.iter().flat_map(rows).collect::<Vec<_>>()
    };
    points.iter().flat_map(of).flatten().collect()
}
