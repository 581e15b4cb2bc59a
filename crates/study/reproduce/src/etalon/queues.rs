//! Queues of fixed size, and queues that grow before days: what is sent over time (Figure 5), and the authors' own logs.

use super::{BY_CIRCUIT, BY_PACKET, MEDIAN, TAIL, USE, fixed, resized};
use crate::data;
use crate::draw::{Values, View};
use crate::quantity::samples;
use crate::{Experiment, Measured, Row, Stated, Study, Work};
use slotline_lab::record::{RunRecord, SampleRow};
use slotline_net::time::Time;
use slotline_net::topology::TopologySpec;
use slotline_net::units::Rate;
use slotline_report::plot::{Division, Figure, Measure};
use slotline_scenario::Scenario;
use slotline_schemes::ControlSpec;

/// The authors' logs with queues of fixed size.
pub(super) const LOGS_STATIC: Experiment = Experiment {
    id: "et-S",
    about: "The authors' logs: the week of 25 racks, queues of 4 to 128 packets, CUBIC and reTCP",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/et-S.toml",
        text: include_str!("../../../../../scenarios/reproduce/et-S.toml"),
        axis: &[4, 8, 16, 32, 64, 128, 10_004, 10_008, 10_016, 10_032, 10_064, 10_128],
        set: set_logs,
        compare: compare_logs_static,
        figures: |view| {
            let all = [&USE, &MEDIAN, &TAIL, &BY_CIRCUIT, &BY_PACKET];
            all.map(|quantity| view.against("queue in packets", quantity)).into()
        },
    }),
};

/// The authors' logs with queues that grow.
pub(super) const LOGS_DYNAMIC: Experiment = Experiment {
    id: "et-D",
    about: "The authors' logs: the week of 25 racks, queues from 16 to 50 packets ahead of a day, CUBIC and reTCP",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/et-D.toml",
        text: include_str!("../../../../../scenarios/reproduce/et-D.toml"),
        axis: &[0, 50, 100, 150, 200, 250, 300, 600, 900, 1200, 1500, 1800, 2100, 2400, 2700, 3000],
        set: set_ahead,
        compare: compare_logs_dynamic,
        figures: |view| vec![view.against("ahead of a day, us", &USE)],
    }),
};

fn set_packets(scenario: &mut Scenario, packets: u32) -> String {
    scenario.scheme.iter_mut().for_each(|scheme| fixed(scheme, packets));
    format!("{packets} packets")
}

/// From here on the axis is that of the real setup behind the logs' week: 25 racks in turn, and hosts of 10 Gbit/s.
const TRUE_STROBE: u32 = 10_000;

fn set_logs(scenario: &mut Scenario, x: u32) -> String {
    let setup = set_packets(scenario, x % TRUE_STROBE);
    if x < TRUE_STROBE {
        return setup;
    }
    if let TopologySpec::Hybrid(fabric) = &mut scenario.fabric {
        fabric.racks = 25;
    }
    for scheme in &mut scenario.scheme {
        scheme.control = ControlSpec::Circuits(Default::default());
        scheme.transport.shaper = Some(Rate(10_000_000_000));
    }
    format!("{setup}, 25 racks in turn, hosts of 10 Gbit/s")
}

/// Queues that grow to 50 packets, at zero as a day begins.
fn set_ahead(scenario: &mut Scenario, us: u32) -> String {
    scenario.scheme.iter_mut().for_each(|scheme| resized(scheme, 50, Time::us(us.into())));
    format!("{us} us ahead")
}

/// The figures of the data, and that of Figure 5a.
pub(super) fn fixed_sizes(view: &View) -> Vec<Figure> {
    with_sequence(view, 64)
}

/// The figures of the data, and that of Figure 5b.
pub(super) fn resized_sizes(view: &View) -> Vec<Figure> {
    with_sequence(view, 1_000)
}

fn with_sequence(view: &View, at: u32) -> Vec<Figure> {
    let sequence = Values {
        id: "sequence",
        title: "Bytes sent from rack 0 to rack 1 in the first weeks that are sampled",
        label: "sent",
        unit: Measure::Bytes,
        scale: Division::Linear,
    };
    let mut all = data::figures(view);
    all.push(view.time_series(at, &sequence, sent));
    all
}

/// The bytes that both uplinks of rack 0 have sent in three weeks.
fn sent(run: &RunRecord) -> Vec<(f64, f64)> {
    let (circuit, packet) = (samples(run, "tor0", "circuit0"), samples(run, "tor0", "packet0"));
    let both = circuit.iter().zip(&packet);
    let middle = run.engine.sim_time_ps / 2;
    let within = both.filter(|(c, _)| (middle..middle + 4_200_000_000).contains(&c.t_ps));
    let mut first = None;
    let point = |(c, p): (&SampleRow, &SampleRow)| {
        let (at, all) = (c.t_ps, c.tx_bytes + p.tx_bytes);
        let (t0, sent) = *first.get_or_insert((at, all));
        ((at - t0) as f64 / 1e12, (all - sent) as f64)
    };
    within.map(point).collect()
}

/// Values of the authors' logs by size of queues: utilisation of CUBIC and reTCP, median latency of all packets, of
/// those by circuits and by the packet switch, and the 99th percentile. The latencies are CUBIC's.
const LOGS: [(u32, [f64; 6]); 6] = [
    (4, [21.3, 24.0, 42.0, 31.0, 42.0, 52.0]),
    (8, [31.1, 33.9, 69.0, 32.0, 71.0, 81.0]),
    (16, [48.7, 52.7, 123.0, 33.0, 127.0, 139.0]),
    (32, [76.7, 83.2, 236.0, 34.0, 238.0, 254.0]),
    (64, [99.9, 99.8, 453.0, 48.0, 461.0, 484.0]),
    (128, [99.9, 99.9, 884.0, 286.0, 906.0, 943.0]),
];

fn compare_logs_static(points: &[Measured]) -> Vec<Row> {
    let of = |point: &Measured| {
        let size = point.x % TRUE_STROBE;
        let paper = LOGS.iter().find(|(packets, _)| *packets == size).map(|(_, row)| row);
        let at = |n: usize| paper.map(|row| Stated::About(row[n]));
        [
            point.row("cubic", &USE, at(0), ""),
            point.row("retcp", &USE, at(1), ""),
            point.row("cubic", &MEDIAN, at(2), ""),
            point.row("cubic", &BY_CIRCUIT, at(3), ""),
            point.row("cubic", &BY_PACKET, at(4), ""),
            point.row("cubic", &TAIL, at(5), ""),
        ]
    };
    points.iter().flat_map(of).flatten().collect()
}

const CUBIC: [(u32, f64); 11] = [
    (0, 49.2),
    (300, 60.3),
    (600, 64.9),
    (900, 71.6),
    (1200, 78.6),
    (1500, 85.9),
    (1800, 91.1),
    (2100, 95.9),
    (2400, 97.7),
    (2700, 97.4),
    (3000, 96.7),
];
const RETCP: [(u32, f64); 7] =
    [(0, 79.7), (50, 87.3), (100, 91.1), (150, 92.7), (200, 93.9), (250, 92.8), (300, 93.3)];

fn compare_logs_dynamic(points: &[Measured]) -> Vec<Row> {
    let of = |point: &Measured| {
        let stated = |table: &[(u32, f64)]| {
            let found = table.iter().find(|(us, _)| *us == point.x);
            found.map(|(_, percent)| Stated::About(*percent))
        };
        let row = |scheme, table: &[(u32, f64)]| {
            stated(table).and_then(|paper| point.row(scheme, &USE, Some(paper), ""))
        };
        [row("cubic", &CUBIC), row("retcp", &RETCP)]
    };
    points.iter().flat_map(of).flatten().collect()
}
