//! Timing and throughput of the fabric: Table 1.

use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_schemes::counters;

/// Table 1.
pub(super) const TIMING: Experiment = Experiment {
    id: "et-1",
    about: "Table 1: days, weeks and rates of a strobe schedule of eight racks",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/et-1.toml",
        text: include_str!("../../../../../scenarios/reproduce/et-1.toml"),
        axis: &[128],
        set: |_, packets| format!("{packets} packets"),
        compare,
        figures: |view| vec![view.bars("rates", "Rates", &[PACKET, CIRCUIT])],
    }),
};

const RACKS: f64 = 8.0;

const DAY: Quantity = Quantity { key: "day", name: "circuit day", unit: "us", of: day_us };
const WEEK: Quantity = Quantity { key: "week", name: "week", unit: "us", of: week_us };
const PACKET: Quantity = Quantity {
    key: "packet",
    name: "packet switch, while it may be used",
    unit: "Gbit/s",
    of: |run| {
        // A circuit's day and the night before it are not available to the packet switch.
        let open = 1.0 - (day_us(run) + 20.0) / week_us(run);
        run.control(counters::hybrid::DATA_PACKET_SWITCH_BYTES) as f64 * 8e3
            / (run.engine.sim_time_ps as f64 * open)
    },
};
const CIRCUIT: Quantity = Quantity {
    key: "circuit",
    name: "circuit, in its days",
    unit: "Gbit/s",
    of: |run| {
        let up = run.control(counters::hybrid::DATA_CIRCUIT_UP_NS).max(1) as f64;
        run.control(counters::hybrid::DATA_CIRCUIT_BYTES) as f64 * 8.0 / up
    },
};

/// The mean length of a day.
fn day_us(run: &RunRecord) -> f64 {
    run.control(counters::hybrid::CIRCUIT_UP_NS) as f64
        / run.control(counters::hybrid::CIRCUIT_DAYS).max(1) as f64
        / 1e3
}

/// The time in which each pair of racks has a day.
fn week_us(run: &RunRecord) -> f64 {
    let pairs = RACKS * (RACKS - 1.0);
    run.engine.sim_time_ps as f64 / 1e6 * pairs
        / run.control(counters::hybrid::CIRCUIT_DAYS).max(1) as f64
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let exact = "Etalon measures with its own clock";
    let full = "a day without pauses would have the full rate; packets are not split, and the first packets of a day do not wait";
    let stated = [
        (&DAY, 180.25, exact),
        (&WEEK, 1400.02, exact),
        (&PACKET, 9.93, full),
        (&CIRCUIT, 79.99, full),
    ];
    let of = |point: &Measured| {
        let row = |(quantity, paper, note): (&Quantity, f64, &str)| {
            point.row("tcp", quantity, Some(Stated::About(paper)), note)
        };
        stated.into_iter().filter_map(row).collect::<Vec<_>>()
    };
    points.iter().flat_map(of).collect()
}
