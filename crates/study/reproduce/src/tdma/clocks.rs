//! Clocks that nobody corrects: §3.2.1.

use crate::draw::{Values, View};
use crate::quantity::percentile;
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_net::frame::Kind;
use slotline_report::plot::{Division, Figure, Measure};
use std::collections::BTreeMap;

/// §3.2.1.
pub(super) const CLOCKS: Experiment = Experiment {
    id: "tdma-12",
    about: "Section 3.2.1: how far 24 hosts that send by their own clocks are apart",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/tdma-12.toml",
        text: include_str!("../../../../../scenarios/reproduce/tdma-12.toml"),
        axis: &[24],
        set: |_, hosts| format!("{hosts} hosts"),
        compare,
        figures,
    }),
};

const AFTER_1: Quantity = apart("second", "apart after 1 s", |run| apart_at(run, 1.0) * 1e6);
const AFTER_20: Quantity = apart("end", "apart after 20 s", |run| apart_at(run, 20.0) * 1e6);
const GUARD: Quantity = apart("guard", "time until a guard time of 15 us is used up", |run| {
    let late = apart_over_time(run).into_iter().find(|(_, apart)| *apart > 15e-6);
    late.map_or(f64::NAN, |(at, _)| at * 1e6)
});

const fn apart(key: &'static str, name: &'static str, of: fn(&RunRecord) -> f64) -> Quantity {
    Quantity { key, name, unit: "us", of }
}

/// The arrivals of each sender's packets in seconds, by the number of the packet.
fn arrivals(run: &RunRecord) -> Vec<Vec<f64>> {
    let mut by_number: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    let packets = run.captures.iter().flat_map(|capture| &capture.packets);
    for packet in packets.filter(|packet| packet.packet.kind == Kind::Datagram) {
        by_number.entry(packet.packet.seq).or_default().push(packet.t_ps as f64 / 1e12);
    }
    let most = by_number.values().map(Vec::len).max().unwrap_or(0);
    by_number.into_values().filter(|times| times.len() == most).collect()
}

/// For each number of packets, when the first sender's packet arrived, and how much later the last sender's one.
fn apart_over_time(run: &RunRecord) -> Vec<(f64, f64)> {
    let ends = |times: Vec<f64>| (percentile(&times, 0.0), percentile(&times, 100.0));
    arrivals(run).into_iter().map(ends).map(|(first, last)| (first, last - first)).collect()
}

/// How far senders are apart in the last packets before `seconds`.
fn apart_at(run: &RunRecord, seconds: f64) -> f64 {
    let before = apart_over_time(run).into_iter().take_while(|(at, _)| *at < seconds);
    before.last().map_or(f64::NAN, |(_, apart)| apart)
}

fn figures(view: &View) -> Vec<Figure> {
    let values = Values {
        id: "apart",
        title: "From the first to the last sender's packet of the same number",
        label: "apart",
        unit: Measure::Seconds,
        scale: Division::Linear,
    };
    vec![view.time_series(24, &values, apart_over_time)]
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let given = "the drift is a parameter, 100 us in a second as in the text; what is measured is what it means for \
                 packets";
    let slots = "the text concludes that hosts have to be synchronised every few milliseconds, and may be left alone for \
                 100s of microseconds";
    let of = |point: &Measured| {
        [
            point.row("none", &AFTER_1, Some(Stated::Under(100.0)), given),
            point.row("none", &AFTER_20, Some(Stated::Under(2_000.0)), given),
            point.row("none", &GUARD, None, slots),
        ]
    };
    points.iter().flat_map(of).flatten().collect()
}
