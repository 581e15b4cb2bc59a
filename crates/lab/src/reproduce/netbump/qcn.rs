//! Quantized congestion notification: Figure 5.17.

use crate::output::report::plot::{Division, Measure};
use crate::record::RunRecord;
use crate::reproduce::draw::Values;
use crate::reproduce::quantity::{rates, samples};
use crate::reproduce::{Experiment, Measured, Quantity, Row, Stated, Study, Work};

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
            let rate = Values {
                id: "rate",
                title: "Throughput at the receiver",
                label: "throughput",
                unit: Measure::BitsPerSecond,
                scale: Division::LinearFirst,
            };
            let course = |run: &RunRecord| {
                let all = samples(run, "s1", "h3").into_iter();
                all.map(|s| (s.t_ps as f64 / 1e12, s.queue_bytes as f64)).collect()
            };
            vec![
                view.course(3, &queue, course),
                view.course(3, &rate, |run| rates(&samples(run, "s1", "h3"))),
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
/// The paper's curve has 20 s; what it shows of a queue is hardly more than this.
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
const DROPS: Quantity = Quantity {
    key: "drops",
    name: "packets dropped",
    unit: "",
    of: |run| run.census.lost() as f64,
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
    of: |run| run.counted("notices").unwrap_or(0) as f64,
};

fn compare(points: &[Measured]) -> Vec<Row> {
    let without = "the paper: \"persistently overwhelmed\"";
    let qcn = "the paper's occupancy is that of its bump next to the senders; ours is the congested port's, and the \
               reaction points are in the hosts' cards";
    let largest = "as the paper chooses the flow that is told, and with notices of half the effect";
    let of = |point: &Measured| {
        [
            point.row("without", &PEAK, None, without),
            point.row("without", &ABOVE, None, without),
            point.row("without", &MEAN, None, without),
            point.row("without", &DROPS, None, without),
            point.row("without", &USE, None, without),
            point.row("qcn", &PEAK, Some(Stated::Under(40.0)), qcn),
            point.row("qcn", &ABOVE, None, qcn),
            point.row("qcn", &MEAN, None, qcn),
            point.row("qcn", &DROPS, None, qcn),
            point.row("qcn", &USE, None, qcn),
            point.row("qcn", &NOTICES, None, qcn),
            point.row("largest", &PEAK, Some(Stated::Under(40.0)), largest),
            point.row("largest", &ABOVE, None, largest),
            point.row("largest", &MEAN, None, largest),
            point.row("largest", &DROPS, None, largest),
            point.row("largest", &USE, None, largest),
            point.row("largest", &NOTICES, None, largest),
        ]
    };
    points.iter().flat_map(of).flatten().collect()
}
