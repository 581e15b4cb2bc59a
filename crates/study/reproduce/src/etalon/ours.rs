//! Experiments that are not in any paper: nights from 10 ns to 25 ms, and rotation against demand-aware schedulers by
//! skew.

use super::rings::{CIRCUIT_USE, LARGE_MEDIAN, LARGE_TAIL, SMALL_MEDIAN, SMALL_TAIL};
use crate::draw::View;
use crate::{Experiment, Measured, Quantity, Row, Study, Work};
use slotline_hybrid::control::SchedulerKind;
use slotline_net::time::Time;
use slotline_net::topology::TopologySpec;
use slotline_net::workload::WorkloadSpec;
use slotline_report::plot::Figure;
use slotline_scenario::Scenario;
use slotline_schemes::ControlSpec;
use slotline_schemes::counters;

/// Nights of switches from lasers to mirrors.
pub(super) const NIGHTS: Experiment = Experiment {
    id: "et-N",
    about: "New: completion times and use of circuits for nights of 10 ns to 25 ms",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/et-N.toml",
        text: include_str!("../../../../../scenarios/reproduce/et-N.toml"),
        axis: &[10, 100, 1_000, 10_000, 100_000, 1_000_000, 25_000_000],
        set: set_night,
        compare,
        figures,
    }),
};

/// Demand from one ring to all pairs equally.
pub(super) const SKEW: Experiment = Experiment {
    id: "et-K",
    about: "New: a rotor against schedulers that look at demand, from one ring of large flows to seven",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/et-K.toml",
        text: include_str!("../../../../../scenarios/reproduce/et-K.toml"),
        axis: &[1, 2, 3, 4, 5, 6, 7],
        set: set_rings,
        compare,
        figures,
    }),
};

const BY_CIRCUITS: Quantity = Quantity {
    key: "share",
    name: "bytes that went by circuits",
    unit: "%",
    of: |run| {
        let (circuits, packets) = (
            run.control(counters::hybrid::CIRCUIT_BYTES),
            run.control(counters::hybrid::PACKET_SWITCH_BYTES),
        );
        100.0 * circuits as f64 / (circuits + packets).max(1) as f64
    },
};

/// The shortest day that carries some packets.
const SHORT_DAY: Time = Time::us(20);

fn set_night(scenario: &mut Scenario, ns: u32) -> String {
    let night = Time::ns(ns.into());
    if let TopologySpec::Hybrid(fabric) = &mut scenario.fabric
        && let Some(circuits) = &mut fabric.circuits
    {
        circuits.reconfiguration = night;
    }
    for scheme in &mut scenario.scheme {
        if let ControlSpec::Circuits(control) = &mut scheme.control {
            control.day = Some(night.times(9).max(SHORT_DAY));
            let rotor = control.scheduler == SchedulerKind::Rotor;
            control.week = (!rotor).then_some(night.times(40).max(Time::ms(2)));
        }
    }
    format!("night of {night}")
}

fn set_rings(scenario: &mut Scenario, rings: u32) -> String {
    if let Some(WorkloadSpec::RackRings(spec)) = scenario.workload.first_mut() {
        spec.rings = rings;
    }
    if rings == 1 { "1 ring".into() } else { format!("{rings} rings") }
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let all = [LARGE_MEDIAN, LARGE_TAIL, SMALL_MEDIAN, SMALL_TAIL, CIRCUIT_USE, BY_CIRCUITS];
    let mut rows = Vec::new();
    for point in points {
        for scheme in super::rings::schemes(point) {
            rows.extend(all.iter().filter_map(|quantity| point.row(scheme, quantity, None, "")));
        }
    }
    rows
}

fn figures(view: &View) -> Vec<Figure> {
    let label = if view.points.iter().any(|point| point.x > 7) { "night, ns" } else { "rings" };
    [&LARGE_MEDIAN, &SMALL_TAIL, &CIRCUIT_USE, &BY_CIRCUITS]
        .map(|quantity| view.against(label, quantity))
        .into()
}
