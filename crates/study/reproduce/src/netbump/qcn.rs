//! Quantized congestion notification: Figure 5.17.

use crate::draw::Values;
use crate::quantity::{rates, samples};
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::{LimitRow, RunRecord};
use slotline_report::plot::{Division, Measure};
use slotline_schemes::counters;

/// Figure 5.17.
pub(super) const QCN: Experiment = Experiment {
    id: "nb-7",
    about: "Figure 5.17: three senders of datagrams at 1 Gbit/s each to one, with and without QCN",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/nb-7.toml",
        text: include_str!("../../../../../scenarios/reproduce/nb-7.toml"),
        axis: &[3],
        set: |_, flows| format!("{flows} flows"),
        compare,
        figures: |view| {
            let queue = Values {
                id: "queue",
                title: "Occupancy of the queue of 100 KB",
                label: "queue",
                unit: Measure::Bytes,
                scale: Division::LinearFirst,
            };
            let limited = Values {
                id: "limited",
                title: "Fullest of the virtual queues of 100 KB that the flows have at the reaction point",
                label: "virtual queue",
                ..queue
            };
            let rate = Values {
                id: "rate",
                title: "Throughput at the receiver",
                label: "throughput",
                unit: Measure::BitsPerSecond,
                scale: Division::LinearFirst,
            };
            let time_series = |run: &RunRecord| {
                let all = samples(run, "s1", "h3").into_iter();
                all.map(|s| (s.t_ps as f64 / 1e12, s.queue_bytes as f64)).collect()
            };
            vec![
                view.time_series(3, &queue, time_series),
                view.time_series(3, &limited, most_of_limited),
                view.time_series(3, &rate, |run| rates(&samples(run, "s1", "h3"))),
            ]
        },
    }),
};

const ROOM: f64 = 100_000.0;

const PEAK: Quantity = Quantity {
    key: "peak",
    name: "highest occupancy",
    unit: "%",
    of: |run| {
        let ports = run.ports.iter().filter(|port| port.node == "s1" && port.port == "h3");
        100.0 * ports.map(|port| port.peak_bytes).max().unwrap_or(0) as f64 / ROOM
    },
};
const ABOVE: Quantity = Quantity {
    key: "above",
    name: "samples above 40 %",
    unit: "%",
    of: |run| {
        let all = samples(run, "s1", "h3");
        let above = all.iter().filter(|sample| sample.queue_bytes as f64 > 0.4 * ROOM).count();
        100.0 * above as f64 / all.len().max(1) as f64
    },
};
/// The paper's curve covers 20 s. It can hardly show more detail of a queue than these means.
const MEAN: Quantity = Quantity {
    key: "mean",
    name: "highest mean over 50 ms",
    unit: "%",
    of: |run| {
        let all = samples(run, "s1", "h3");
        let means = all.chunks(100).map(|some| {
            some.iter().map(|sample| sample.queue_bytes as f64).sum::<f64>() / some.len() as f64
        });
        100.0 * means.fold(0.0, f64::max) / ROOM
    },
};
/// The largest virtual queue of any flow at the bump that limits them, over time.
fn most_of_limited(run: &RunRecord) -> Vec<(f64, f64)> {
    let row = |row: &LimitRow| (row.t_ps as f64 / 1e12, row.queue_bytes as f64);
    let mut all: Vec<(f64, f64)> = Vec::new();
    for (at, bytes) in run.limits.iter().map(row) {
        match all.last_mut() {
            Some(last) if at - last.0 < SAMPLE => last.1 = last.1.max(bytes),
            _ => all.push((at, bytes)),
        }
    }
    all
}

/// The file's sampling interval, in seconds.
const SAMPLE: f64 = 500e-6;

const LIMITED_PEAK: Quantity = Quantity {
    key: "limited-peak",
    name: "highest occupancy of a flow's virtual queue at the reaction point",
    unit: "%",
    of: |run| 100.0 * run.counted(counters::net::LIMITER_QUEUE_MOST).unwrap_or(0) as f64 / ROOM,
};
const LIMITED_ABOVE: Quantity = Quantity {
    key: "limited-above",
    name: "samples of them above 40 %",
    unit: "%",
    of: |run| {
        let above = run.limits.iter().filter(|row| row.queue_bytes as f64 > 0.4 * ROOM).count();
        100.0 * above as f64 / run.limits.len().max(1) as f64
    },
};
const LIMITED_DROPS: Quantity = Quantity {
    key: "limited-drops",
    name: "packets dropped at the reaction point",
    unit: "",
    of: |run| run.counted(counters::net::LIMITER_DROPS).unwrap_or(0) as f64,
};
const CONGESTED_DROPS: Quantity = Quantity {
    key: "congested-drops",
    name: "packets dropped at the congestion point",
    unit: "",
    of: |run| run.census.lost() as f64 - (LIMITED_DROPS.of)(run),
};
const USE: Quantity = Quantity {
    key: "use",
    name: "throughput at the receiver",
    unit: "Mbit/s",
    of: |run| {
        let all = rates(&samples(run, "s1", "h3"));
        all.iter().map(|(_, rate)| rate).sum::<f64>() / all.len().max(1) as f64 / 1e6
    },
};
const NOTICES: Quantity = Quantity {
    key: "notices",
    name: "notices",
    unit: "",
    of: |run| {
        let of = |counter| run.control(counter) as f64;
        of(counters::net::NOTICES) + of(counters::net::LIMITER_NOTICES)
    },
};

const WITHOUT: &str = "the paper: \"persistently overwhelmed\"";
const QCN_NOTE: &str = "the congested port's queue, as the bump in front of it knows it; reaction points are in the hosts' cards";
const LARGEST_NOTE: &str =
    "with the paper's choice of the flow that is notified, and with notices of half the effect";
const BUMP_NOTE: &str =
    "the reaction point is a bump next to the senders, which drops what is beyond a flow's rate";

/// The quantities of schemes without and with a limiting bump.
const CONGESTED: [&Quantity; 5] = [&PEAK, &ABOVE, &MEAN, &CONGESTED_DROPS, &USE];
const LIMITED: [&Quantity; 3] = [&LIMITED_PEAK, &LIMITED_ABOVE, &LIMITED_DROPS];

fn compare(points: &[Measured]) -> Vec<Row> {
    let stated = |quantity: &Quantity, scheme: &str| {
        let occupancy = [PEAK.key, LIMITED_PEAK.key].contains(&quantity.key);
        (occupancy && scheme != "without").then_some(Stated::Under(40.0))
    };
    let schemes = [
        ("without", WITHOUT),
        ("qcn", QCN_NOTE),
        ("largest", LARGEST_NOTE),
        ("bump", BUMP_NOTE),
        ("bump, 3 KB", BUMP_NOTE),
    ];
    let of = |point: &Measured| {
        let rows = schemes.iter().flat_map(|&(scheme, note)| {
            let limits: &[&Quantity] = match scheme {
                "bump" => &LIMITED,
                // A virtual queue with room for two packets cannot be compared with one of 100 KB.
                "bump, 3 KB" => &[&LIMITED_DROPS],
                _ => &[],
            };
            let notices: &[&Quantity] = if scheme == "without" { &[] } else { &[&NOTICES] };
            let all = CONGESTED.iter().chain(limits).chain(notices);
            all.filter_map(|quantity| point.row(scheme, quantity, stated(quantity, scheme), note))
                .collect::<Vec<_>>()
        });
        rows.collect::<Vec<_>>()
    };
    points.iter().flat_map(of).collect()
}
