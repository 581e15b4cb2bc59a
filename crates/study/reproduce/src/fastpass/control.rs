//! Messages to and from the arbiter: section 7.2. It is no data, because the messages are compared with all other bytes that
//! hosts send.

use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::RunRecord;
use slotline_net::node::Counter;
use slotline_net::time::Time;
use slotline_scenario::Scenario;
use slotline_schemes::{ControlSpec, counters};

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

fn set_jitter(scenario: &mut Scenario, us: u32) -> String {
    for scheme in &mut scenario.scheme {
        if let ControlSpec::Fastpass(spec) = &mut scheme.control {
            spec.jitter = Time::us(u64::from(us));
        }
    }
    format!("jitter {us} us")
}

fn control(points: &[Measured]) -> Vec<Row> {
    let note = "the text has a rack of 32 hosts, and names no direction; our messages are authenticated, over \
                IPv6 and UDP, with at least 132 bytes on the wire, and carry up to 64 timeslots each";
    let of = |point: &Measured| {
        let paper = (point.x == BUSY).then_some(Stated::About(0.3));
        [
            point.row("fastpass", &FROM_ARBITER, paper, note),
            point.row("fastpass", &TO_ARBITER, paper, note),
        ]
    };
    points.iter().flat_map(of).flatten().collect()
}
