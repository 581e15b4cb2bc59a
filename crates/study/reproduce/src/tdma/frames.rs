//! Pause frames: the delay until hosts obey, and the overhead: Figures 1, 2 and 5, §6.5.

use crate::draw::{Values, View};
use crate::quantity::percentile;
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::{CapturedPacket, RunRecord};
use slotline_net::frame::{Kind, PUSH};
use slotline_net::units::Bytes;
use slotline_net::workload::WorkloadSpec;
use slotline_report::plot::{Division, Figure, Measure};
use slotline_scenario::Scenario;

/// Figures 1 and 2.
pub(super) const HARDWARE: Experiment = Experiment {
    id: "tdma-1",
    about: "Figures 1 and 2: how soon a card stops after a pause frame of 802.3x, and how long it pauses, by packet size",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/tdma-1.toml",
        text: include_str!("../../../../../scenarios/reproduce/tdma-1.toml"),
        axis: &SIZES,
        set: set_size,
        compare: hardware,
        figures: delays,
    }),
};

/// Figure 5.
pub(super) const SOFTWARE: Experiment = Experiment {
    id: "tdma-3",
    about: "Figure 5: how soon software stops after a frame of priority flow control, and how long it pauses, by packet size",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/tdma-3.toml",
        text: include_str!("../../../../../scenarios/reproduce/tdma-3.toml"),
        axis: &SIZES,
        set: set_size,
        compare: software,
        figures: delays,
    }),
};

/// Bytes of packets, from addresses to payload.
const SIZES: [u32; 6] = [64, 256, 512, 1_024, 1_280, 1_500];
/// Addresses, IPv4 and UDP; no check sequence.
const HEADERS: u32 = 14 + 28;
/// The delay of a link: from the departure of a frame from the switch to its arrival at the host.
const DELAY_PS: u64 = 1_000_000;
/// The rate of all links: picoseconds per byte.
const PS_PER_BYTE: u64 = 800;

const MEAN: Quantity = delay("delay", "mean delay", |run| mean(&stops(run)));
const DEVIATION: Quantity =
    delay("deviation", "mean deviation of the pause", |run| mean(&deviations(run)));
const LEAST: Quantity = delay("least", "least delay", |run| percentile(&stops(run), 0.0));
const MOST: Quantity = delay("most", "longest delay", |run| percentile(&stops(run), 100.0));
pub(super) const fn delay(
    key: &'static str,
    name: &'static str,
    of: fn(&RunRecord) -> f64,
) -> Quantity {
    Quantity { key, name, unit: "us", of }
}

/// Sets the size of packets.
pub(super) fn set_size(scenario: &mut Scenario, size: u32) -> String {
    for workload in &mut scenario.workload {
        if let WorkloadSpec::Udp(udp) = workload {
            udp.message = Bytes(u64::from(size.saturating_sub(HEADERS)));
        }
    }
    format!("{size} B")
}

/// Whether a packet is a pause frame.
pub(super) fn is_frame(packet: &CapturedPacket) -> bool {
    packet.packet.kind == Kind::Control && packet.packet.has(PUSH)
}

/// The packets that left the port of `node` towards `to`.
fn captured<'a>(run: &'a RunRecord, node: &str, to: &str) -> &'a [CapturedPacket] {
    let port = run.ports.iter().position(|port| port.node == node && port.port == to);
    let found = run.captures.iter().find(|capture| Some(capture.port as usize) == port);
    found.map_or(&[], |capture| &capture.packets)
}

fn duration(packet: &CapturedPacket) -> u64 {
    u64::from(packet.packet.len) * PS_PER_BYTE
}

/// A pause of the host.
struct Pause {
    /// The arrival of the frame that asks for it.
    asked_ps: u64,
    /// The arrival of the next frame, which ends it.
    ended_ps: Option<u64>,
    /// The end of the host's last packet before it.
    from_ps: u64,
    /// The start of the host's first packet after it.
    until_ps: u64,
}

/// The pauses of the host: for each frame after which it was silent.
fn pauses(run: &RunRecord) -> Vec<Pause> {
    let sent: Vec<&CapturedPacket> =
        captured(run, "h0", "s0").iter().filter(|p| p.packet.kind == Kind::Datagram).collect();
    let frames: Vec<u64> = captured(run, "s0", "h0")
        .iter()
        .filter(|p| is_frame(p))
        .map(|frame| frame.t_ps + duration(frame) + DELAY_PS)
        .collect();
    let idle = |at: usize| {
        let end = sent[at].t_ps + duration(sent[at]);
        sent.get(at + 1).map_or(u64::MAX, |p| p.t_ps) - end
    };
    let pause = |&asked_ps: &u64| {
        // This is the last packet before the next silence.
        let mut last = sent.partition_point(|packet| packet.t_ps <= asked_ps).checked_sub(1)?;
        while idle(last) < SILENCE_PS {
            last += 1;
        }
        let from_ps = sent[last].t_ps + duration(sent[last]);
        let until_ps = sent.get(last + 1)?.t_ps;
        let ended_ps = frames.iter().copied().find(|frame| *frame > asked_ps);
        let stopped = from_ps > asked_ps && from_ps - asked_ps < SLOT_PS;
        stopped.then_some(Pause { asked_ps, ended_ps, from_ps, until_ps })
    };
    frames.iter().filter_map(pause).collect()
}

/// For each pause, the time from the arrival of its frame to the end of the host's last packet, in us.
fn stops(run: &RunRecord) -> Vec<f64> {
    pauses(run).iter().map(|pause| (pause.from_ps - pause.asked_ps) as f64 / 1e6).collect()
}

/// For each pause, how far its length differs from the time between the frame that asks for it and the one that ends it, in
/// us.
fn deviations(run: &RunRecord) -> Vec<f64> {
    let of = |pause: &Pause| {
        let wanted = pause.ended_ps? - pause.asked_ps;
        let took = pause.until_ps - pause.from_ps;
        Some(took.abs_diff(wanted) as f64 / 1e6)
    };
    pauses(run).iter().filter_map(of).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// A time longer than any gap between packets of a stream.
const SILENCE_PS: u64 = 4_000_000;
/// A time shorter than a slot, to assign a frame to the slot's end.
const SLOT_PS: u64 = 280_000_000;

const UNSTATED: &str = "no number in the text, which calls the deviation of its cards from a pause of 3.4 ms significant; \
                        here a frame ends the pause, not the card's clock";

fn delays(view: &View) -> Vec<Figure> {
    let bytes = |quantity| view.against_in("packet size", Measure::Bytes, 1.0, quantity);
    let cdf = Values {
        id: "cdf",
        title: "Delay until the card is silent, 64-byte packets",
        label: "delay",
        unit: Measure::Seconds,
        scale: Division::Linear,
    };
    let smallest =
        view.distribution(64, &cdf, |run| stops(run).iter().map(|us| us / 1e6).collect(), &[]);
    vec![smallest, bytes(&MEAN), bytes(&MOST), bytes(&DEVIATION)]
}

fn hardware(points: &[Measured]) -> Vec<Row> {
    let given = "a parameter: 2 us and up to 4 us at random are the paper's values for its cards; what is \
                 measured is that the running system complies with them";
    let linear = "no number in the text: it grows in proportion to the packet, because the packet in transmission is \
                  completed; ours grows by 0.4 ns per byte on average and by 0.8 ns at most";
    let of = |point: &Measured| {
        let deviation = point.row("pause", &DEVIATION, None, UNSTATED);
        match point.x {
            64 => vec![
                point.row("pause", &LEAST, Some(Stated::About(2.0)), given),
                point.row("pause", &MEAN, None, linear),
                point.row("pause", &MOST, Some(Stated::About(6.0)), given),
                deviation,
            ],
            _ => vec![
                point.row("pause", &MEAN, None, linear),
                point.row("pause", &MOST, None, linear),
                deviation,
            ],
        }
    };
    points.iter().flat_map(of).flatten().collect()
}

fn software(points: &[Measured]) -> Vec<Row> {
    let given = "a parameter: 150 us is the middle of the paper's 100 to 200 us for most sizes, with up to 5 us \
                 at random, as its text calls the variation low";
    let of = |point: &Measured| {
        [
            point.row("software", &MEAN, Some(Stated::About(150.0)), given),
            point.row("software", &MOST, Some(Stated::Under(200.0)), given),
            point.row("software", &DEVIATION, None, UNSTATED),
        ]
    };
    points.iter().flat_map(of).flatten().collect()
}
