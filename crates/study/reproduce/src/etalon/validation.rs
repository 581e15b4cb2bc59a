//! Timing and throughput of the fabric: Table 1.

use crate::quantity::samples;
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_net::time::Time;
use slotline_scenario::Scenario;
use slotline_schemes::counters;

/// Table 1.
pub(super) const TIMING: Experiment = Experiment {
    id: "et-1",
    about: "Table 1: days, weeks and rates of a strobe schedule of eight racks, and the rates' deviations",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/et-1.toml",
        text: include_str!("../../../../../scenarios/reproduce/et-1.toml"),
        axis: &[128],
        set,
        compare,
        figures: |view| vec![view.bars("rates", "Rates", &[PACKET, CIRCUIT])],
    }),
};

const RACKS: f64 = 8.0;

/// The length of a week, and the times in it in which the sending pair may use each network.
const WEEK_US: u64 = 1_400;
const OPEN_US: u64 = WEEK_US - 200;
const DAY_US: u64 = 180;

/// Samples at the end of each week give the bytes of the week.
fn set(scenario: &mut Scenario, packets: u32) -> String {
    scenario.measure.sample = Some(Time::us(WEEK_US));
    scenario.measure.ports = vec!["tor0-packet0".into(), "tor0-circuit0".into()];
    format!("{packets} packets")
}

/// The standard deviation over weeks of the rate at which rack 0 sends to a network that is open for `us` in a week, in
/// Gbit/s. The first weeks, in which windows grow, are left out.
fn deviation(run: &RunRecord, port: &str, us: u64) -> f64 {
    let sent: Vec<u64> = samples(run, "tor0", port).iter().map(|sample| sample.tx_bytes).collect();
    let weeks = sent.windows(2).skip(sent.len() / 5);
    let rates: Vec<f64> = weeks.map(|pair| (pair[1] - pair[0]) as f64 * 8e-3 / us as f64).collect();
    // Relative to one of them, so that equal rates have a deviation of exactly zero.
    let (first, count) = (rates.first().copied().unwrap_or(f64::NAN), rates.len() as f64);
    let off = |rate: &f64| rate - first;
    let (sum, squares) =
        rates.iter().map(off).fold((0.0, 0.0), |(sum, all), one| (sum + one, all + one * one));
    ((squares - sum * sum / count) / (count - 1.0)).sqrt()
}

const PACKET_DEVIATION: Quantity = Quantity {
    key: "packet-deviation",
    name: "packet switch, deviation over weeks",
    unit: "Gbit/s",
    of: |run| deviation(run, "packet0", OPEN_US),
};
const CIRCUIT_DEVIATION: Quantity = Quantity {
    key: "circuit-deviation",
    name: "circuit, deviation over weeks",
    unit: "Gbit/s",
    of: |run| deviation(run, "circuit0", DAY_US),
};

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
        (&PACKET_DEVIATION, 0.75, "the paper does not say over which intervals"),
        (&CIRCUIT_DEVIATION, 1.60, "the paper does not say over which intervals"),
    ];
    let of = |point: &Measured| {
        let row = |(quantity, paper, note): (&Quantity, f64, &str)| {
            point.row("tcp", quantity, Some(Stated::About(paper)), note)
        };
        stated.into_iter().filter_map(row).collect::<Vec<_>>()
    };
    points.iter().flat_map(of).collect()
}
