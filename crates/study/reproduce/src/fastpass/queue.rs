//! Queues, round trips and control traffic under a bulk transfer: Figures 7 and 8, §7.1 and §7.2.

use crate::draw::{Values, View};
use crate::quantity::{goodput, percentile, round_trips, samples};
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_net::node::Counter;
use slotline_net::time::Time;
use slotline_report::plot::{Division, Figure, Measure};
use slotline_scenario::Scenario;
use slotline_schemes::ControlSpec;
use slotline_schemes::counters;

/// Figure 7.
pub(super) const QUEUE: Experiment = Experiment {
    id: "fp-A",
    about: "Figure 7: queue and throughput, four senders with 20 TCP flows each to one receiver",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/fp-A.toml",
        text: include_str!("../../../../../scenarios/reproduce/fp-A.toml"),
        axis: &[0, 1, 2, 5, 10],
        set: set_jitter,
        compare: queue,
        figures: queues,
    }),
};

/// Figure 8.
pub(super) const PING: Experiment = Experiment {
    id: "fp-B",
    about: "Figure 8: a ping every 10 ms beside the same transfer",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/fp-B.toml",
        text: include_str!("../../../../../scenarios/reproduce/fp-B.toml"),
        axis: &[2],
        set: set_jitter,
        compare: ping,
        figures: pings,
    }),
};

/// §7.2.
pub(super) const CONTROL: Experiment = Experiment {
    id: "fp-E",
    about: "Section 7.2: what messages to and from the arbiter take, beside 4 and 32 senders",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/fp-E.toml",
        text: include_str!("../../../../../scenarios/reproduce/fp-E.toml"),
        axis: &[4, BUSY],
        set: set_senders,
        compare: control,
        figures: |view| vec![view.bars("control", "Control traffic", &[FROM_ARBITER, TO_ARBITER])],
    }),
};

/// The jitter that represents the paper's hosts, in microseconds: its timers are of that order (§6.3).
const LIKE_THE_PAPER: u32 = 2;
/// Our default, and the paper's batch of timeslots.
const SCHEMES: [&str; 2] = ["fastpass", "fastpass, batch of 16"];
/// The workload of the pings, which is the first one.
const PINGS: u16 = 0;

const RATE: Quantity = Quantity {
    key: "goodput",
    name: "goodput",
    unit: "Gbit/s",
    of: |run| goodput(run, |_| true) / 1e3,
};
const MEDIAN: Quantity = kilobytes("median", "median queue", |run| queue_at(run, 50.0));
const P90: Quantity = kilobytes("p90", "90th percentile of the queue", |run| queue_at(run, 90.0));
const P99: Quantity = kilobytes("p99", "99th percentile of the queue", |run| queue_at(run, 99.0));
const P999: Quantity =
    kilobytes("p999", "99.9th percentile of the queue", |run| queue_at(run, 99.9));
const TRIP: Quantity = trip("trip", "median round trip", |run| trip_at(run, 50.0));
const TRIP90: Quantity = trip("trip90", "90th percentile of round trips", |run| trip_at(run, 90.0));
const TRIP99: Quantity = trip("trip99", "99th percentile of round trips", |run| trip_at(run, 99.0));
const TRIP999: Quantity =
    trip("trip999", "99.9th percentile of round trips", |run| trip_at(run, 99.9));
const FROM_ARBITER: Quantity = Quantity {
    key: "from",
    name: "messages of the arbiter over data",
    unit: "%",
    of: |run| control_share(run, counters::fastpass::ARBITER_MESSAGE_BYTES),
};
const TO_ARBITER: Quantity = Quantity {
    key: "to",
    name: "messages to the arbiter over data",
    unit: "%",
    of: |run| control_share(run, counters::fastpass::ENDPOINT_MESSAGE_BYTES),
};
/// The number of senders if all hosts are busy.
const BUSY: u32 = 32;

/// The bytes on the wire of messages counted by `counter` in percent of the bytes of all other traffic from hosts.
fn control_share(run: &RunRecord, counter: Counter) -> f64 {
    let control = run.control(counters::fastpass::ENDPOINT_MESSAGE_BYTES)
        + run.control(counters::fastpass::ARBITER_MESSAGE_BYTES);
    let hosts = run.ports.iter().filter(|port| port.host);
    let all: u64 = hosts.map(|port| port.tx_bytes).sum();
    100.0 * run.control(counter) as f64 / all.saturating_sub(control).max(1) as f64
}

/// The first workload is that of four senders, and the others are those of all hosts.
fn set_senders(scenario: &mut Scenario, senders: u32) -> String {
    set_jitter(scenario, LIKE_THE_PAPER);
    if senders == BUSY {
        scenario.workload.remove(0);
    } else {
        scenario.workload.truncate(1);
    }
    format!("{senders} senders")
}

const fn kilobytes(key: &'static str, name: &'static str, of: fn(&RunRecord) -> f64) -> Quantity {
    Quantity { key, name, unit: "KB", of }
}

const fn trip(key: &'static str, name: &'static str, of: fn(&RunRecord) -> f64) -> Quantity {
    Quantity { key, name, unit: "ms", of }
}

fn set_jitter(scenario: &mut Scenario, us: u32) -> String {
    for scheme in &mut scenario.scheme {
        if let ControlSpec::Fastpass(spec) = &mut scheme.control {
            spec.jitter = Time::us(u64::from(us));
        }
    }
    format!("jitter {us} us")
}

/// Bytes in the queue to the receiver, after the first quarter of the run.
fn occupancy(run: &RunRecord) -> Vec<f64> {
    let warm = run.engine.sim_time_ps / 4;
    let late = |sample: &&&slotline_lab::record::SampleRow| sample.t_ps > warm;
    samples(run, "s0", "h4").iter().filter(late).map(|sample| sample.queue_bytes as f64).collect()
}

fn queue_at(run: &RunRecord, percent: f64) -> f64 {
    percentile(&occupancy(run), percent) / 1e3
}

fn trip_at(run: &RunRecord, percent: f64) -> f64 {
    percentile(&round_trips(run, PINGS), percent) * 1e3
}

fn queues(view: &View) -> Vec<Figure> {
    let time_series = Values {
        id: "course",
        title: "Queue at the receiver's port over time",
        label: "queue",
        unit: Measure::Bytes,
        scale: Division::LinearFirst,
    };
    let all = Values { id: "cdf", title: "Queue at the receiver's port", ..time_series };
    let over_time = |run: &RunRecord| {
        let at =
            |s: &&slotline_lab::record::SampleRow| (s.t_ps as f64 / 1e12, s.queue_bytes as f64);
        samples(run, "s0", "h4").iter().map(at).collect()
    };
    // Fastpass is drawn alone, because its growth would be invisible beside the baseline's megabytes.
    let own: Vec<Row> = view.rows.iter().filter(|row| row.scheme != "baseline").cloned().collect();
    let alone = View { points: view.points, rows: &own, names: view.names.clone() };
    let jitter = |quantity| alone.against_in("jitter", Measure::Seconds, 1e-6, quantity);
    vec![
        view.time_series(LIKE_THE_PAPER, &time_series, over_time),
        view.distribution(LIKE_THE_PAPER, &all, occupancy, &[]),
        jitter(&MEDIAN),
        jitter(&P999),
        jitter(&RATE),
    ]
}

fn pings(view: &View) -> Vec<Figure> {
    let all = Values {
        id: "cdf",
        title: "Round trips beside the transfer",
        label: "round trip",
        unit: Measure::Seconds,
        scale: Division::LogFirst,
    };
    vec![view.distribution(LIKE_THE_PAPER, &all, |run| round_trips(run, PINGS), &[])]
}

fn queue(points: &[Measured]) -> Vec<Row> {
    let full = "TCP fills the buffer: the paper's 5.2 MB and ours; how far the median is below the maximum depends on how the windows of the 80 flows are synchronised";
    let rate = "10 Gbit/s less headers and framing";
    let reserve = "1 % of each timeslot is left for control messages; the paper lost some to timeslots that came too \
                   late";
    let few = "queues come from late transmissions; the paper's hosts were also delayed by locks and interrupts, \
               which we do not model, so its tail is longer";
    let of = |point: &Measured| {
        let like = point.x == LIKE_THE_PAPER;
        let about = |value| Some(Stated::About(value)).filter(|_| like);
        let baseline = [
            point.row("baseline", &RATE, about(9.43), rate),
            point.row("baseline", &MEDIAN, about(4_351.0), full),
            point.row("baseline", &P90, about(5_097.0), full),
            point.row("baseline", &P99, about(5_224.0), full),
            point.row("baseline", &P999, about(5_239.0), full),
        ];
        let fastpass = SCHEMES.map(|scheme| {
            [
                point.row(scheme, &RATE, about(9.28), reserve),
                point.row(scheme, &MEDIAN, about(18.0), few),
                point.row(scheme, &P90, about(36.0), few),
                point.row(scheme, &P99, about(53.0), few),
                point.row(scheme, &P999, about(305.0), few),
            ]
        });
        let fastpass = fastpass.into_iter().flatten();
        baseline.into_iter().filter(|_| like).chain(fastpass).flatten().collect::<Vec<Row>>()
    };
    points.iter().flat_map(of).collect()
}

fn ping(points: &[Measured]) -> Vec<Row> {
    let full = "the queue of the port, drained at 10 Gbit/s, and nothing else; the paper's includes its hosts";
    let slots = "one timeslot in each direction: each is requested, and allocated 65 us before it begins, in batches \
                 of 64 (77 us) or, as in the paper, of 16. The paper's value includes delays of its hosts";
    let of = |point: &Measured| {
        [
            point.row("baseline", &TRIP, Some(Stated::About(3.56)), full),
            point.row("baseline", &TRIP90, Some(Stated::About(3.89)), full),
            point.row("baseline", &TRIP99, Some(Stated::About(3.92)), full),
            point.row("baseline", &TRIP999, Some(Stated::About(3.95)), full),
        ]
        .into_iter()
        .chain(SCHEMES.into_iter().flat_map(|scheme| {
            [
                point.row(scheme, &TRIP, Some(Stated::About(0.23)), slots),
                point.row(scheme, &TRIP90, Some(Stated::About(0.27)), slots),
                point.row(scheme, &TRIP99, Some(Stated::About(0.32)), slots),
                point.row(scheme, &TRIP999, Some(Stated::About(0.38)), slots),
            ]
        }))
        .collect::<Vec<_>>()
    };
    points.iter().flat_map(of).flatten().collect()
}

fn control(points: &[Measured]) -> Vec<Row> {
    let note = "the text gives neither the number of hosts nor the direction; our messages are authenticated, over \
                IPv6 and UDP, with at least 132 bytes on the wire, and carry up to 64 timeslots each";
    let of = |point: &Measured| {
        let paper = Some(Stated::About(0.3));
        [
            point.row("fastpass", &FROM_ARBITER, paper, note),
            point.row("fastpass", &TO_ARBITER, paper, note),
        ]
    };
    points.iter().flat_map(of).flatten().collect()
}
