//! Estimates the cost of running a scenario: packet-hops, processor time and size of the results.

use super::memory::memory;
use super::size::results;
use super::survey::{DirectedLink, Load, Survey};
use super::{several, span};
use crate::follow::{HOPS_PER_SEGMENT, most_hops, room};
use crate::output::format::Scale;
use crate::run::Jobs;
use crate::usage;
use slotline_net::time::Time;
use slotline_net::transport::Transport;
use slotline_net::workload::{Carrier, Conn};
use slotline_scenario::metric::Unit;
use slotline_scenario::{Scenario, SchemeSpec};
use slotline_schemes::ControlSpec;
use std::path::Path;

/// The machine that a scenario is to run on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Its time for a task, divided by the time of the machine of docs/performance.md.
    pub slower: f64,
    /// The number of runs at a time.
    pub at_once: usize,
}

/// What one run of a scheme is expected to cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The name of the scheme.
    pub scheme: String,
    /// Packet-hops: links that all data packets and acknowledgements cross.
    pub hops: f64,
    /// The processor time of one run in seconds.
    pub cpu_s: f64,
}

pub(super) fn estimates(survey: &Survey<'_>, slower: f64) -> Vec<Estimate> {
    let of = |scheme: &SchemeSpec| {
        let work = work(survey, scheme);
        let flows = survey.flows() as f64 * FLOW_NS;
        let cpu_s = (START_NS + flows + work.ns(survey, scheme)) * slower * 1e-9;
        Estimate { scheme: scheme.name.clone(), hops: work.hops, cpu_s }
    };
    survey.scenario.scheme.iter().map(of).collect()
}

/// The packets to simulate.
#[derive(Clone, Copy, Default)]
struct Work {
    /// Packet-hops.
    hops: f64,
    /// Packet-hops at hosts that send or receive TCP segments.
    segments: f64,
    /// Packet-hops at hosts that send datagrams.
    datagrams: f64,
}

impl Work {
    fn times(self, factor: f64) -> Work {
        Work {
            hops: self.hops * factor,
            segments: self.segments * factor,
            datagrams: self.datagrams * factor,
        }
    }

    fn and(self, other: Work) -> Work {
        Work {
            hops: self.hops + other.hops,
            segments: self.segments + other.segments,
            datagrams: self.datagrams + other.datagrams,
        }
    }

    /// The processor time in nanoseconds on the machine of docs/performance.md.
    fn ns(&self, survey: &Survey<'_>, scheme: &SchemeSpec) -> f64 {
        let scheduled = !matches!(scheme.control, ControlSpec::None {});
        let (segment, datagram) =
            if scheduled { (SCHEDULED_NS, SCHEDULED_NS) } else { (SEGMENT_NS, DATAGRAM_NS) };
        let at_switches = (self.hops - self.segments - self.datagrams).max(0.0);
        let queues = scheme.queues();
        let general = if queues.is_fifo(queues.priorities) { 1.0 } else { GENERAL };
        at_switches * switch_ns(survey.graph.hosts.len()) * general
            + self.segments * segment
            + self.datagrams * datagram
    }
}

/// The packets of all connections, limited to what each link can carry before the run ends. A sender of datagrams sends
/// all of them nevertheless, unless a scheduler limits it.
fn work(survey: &Survey<'_>, scheme: &SchemeSpec) -> Work {
    let Ok(transport) = scheme.transport.build() else { return Work::default() };
    let scheduled = !matches!(scheme.control, ControlSpec::None {});
    let conns = survey.traffic.conns.iter().enumerate();
    let each = conns.map(|(at, conn)| {
        work_of(survey, at, conn, &transport, scheduled).times(survey.scale_of(conn))
    });
    each.fold(Work::default(), Work::and)
}

fn work_of(
    survey: &Survey<'_>,
    at: usize,
    conn: &Conn,
    transport: &Transport,
    scheduled: bool,
) -> Work {
    let load: Load = survey.load(conn, transport);
    let end = survey.scenario.end.at.unwrap_or(Time::MAX).as_secs_f64();
    let share = |link: &DirectedLink| (end / link.busy().as_secs_f64().max(1e-12)).min(1.0);
    let least = survey.done(at);
    let hops = survey.path(at).count() as f64;
    if scheduled || conn.carrier == Carrier::Tcp {
        let packets = (load.packets + load.acks) * least;
        let (tcp, udp) = if conn.carrier == Carrier::Tcp { (packets, 0.0) } else { (0.0, packets) };
        return Work { hops: packets * hops, segments: tcp, datagrams: udp };
    }
    let left = survey.path(at).scan(1.0, |left: &mut f64, link| {
        let before = *left;
        *left = left.min(share(link));
        Some(before)
    });
    Work { hops: load.packets * left.sum::<f64>(), segments: 0.0, datagrams: load.packets }
}

/// Number of hosts of a fabric, and nanoseconds for a packet at a plain switch in it. They follow from the measurements
/// of DCTCP in docs/performance.md: six hops for a packet, with [`SEGMENT_NS`] at its hosts.
const SWITCH_NS: [(f64, f64); 3] = [(128.0, 31.6), (1024.0, 44.0), (8192.0, 83.0)];
/// Nanoseconds for a TCP segment at both hosts.
const SEGMENT_NS: f64 = 90.0;
/// Nanoseconds for a datagram at both hosts.
const DATAGRAM_NS: f64 = 200.0;
/// Nanoseconds for a segment or datagram under a central scheduler, with the scheduler's messages.
const SCHEDULED_NS: f64 = 270.0;
/// The factor of a switch that is not plain: one with priorities, a shared buffer or pause frames.
const GENERAL: f64 = 2.5;
/// Nanoseconds for a flow in addition to its packets, to create, measure and write it.
const FLOW_NS: f64 = 2_500.0;
/// Nanoseconds to set up a run.
const START_NS: f64 = 3e6;

/// Nanoseconds for a packet at a switch, interpolated by the logarithm of the number of hosts.
fn switch_ns(hosts: usize) -> f64 {
    let hosts = hosts as f64;
    let between = SWITCH_NS.windows(2).find(|pair| hosts <= pair[1].0).unwrap_or(&SWITCH_NS[1..]);
    let (low, high) = (between[0], between[1]);
    let along = ((hosts / low.0).log2() / (high.0 / low.0).log2()).max(0.0);
    low.1 + along * (high.1 - low.1)
}

pub(super) fn sentences(
    survey: &Survey<'_>,
    estimates: &[Estimate],
    at_once: usize,
) -> Vec<String> {
    let scenario = survey.scenario;
    let (schemes, repeat) = (scenario.scheme.len() as u64, u64::from(scenario.repeat));
    let seeds = scenario.seeds();
    let seeds = match &seeds[..] {
        [one] => format!("seed {one}"),
        [first, .., last] => format!("seeds {first} to {last}"),
        [] => String::new(),
    };
    let again = repeated(survey);
    let times = (repeat + u64::from(again)) as f64;
    let hops: f64 = estimates.iter().map(|e| e.hops).sum::<f64>() * times;
    let cpu: f64 = estimates.iter().map(|e| e.cpu_s).sum::<f64>() * times;
    let twice =
        if again { " Runs with the first seed are done twice, to follow flows." } else { "" };
    let simulate = if schemes * repeat == 1 { "simulates" } else { "simulate" };
    let each: Vec<String> = estimates
        .iter()
        .map(|e| format!("{} {}", e.scheme, rough(Unit::Seconds, e.cpu_s)))
        .collect();
    vec![
        format!(
            "{} of {} with {seeds} {simulate} at least {} each.{twice}",
            several(schemes * repeat, "run"),
            several(schemes, "scheme"),
            span(survey.lasts())
        ),
        format!(
            "They take about {} packet-hops, {} of processor time (per run: {}), and {} of memory.",
            rough(Unit::Count, hops),
            rough(Unit::Seconds, cpu),
            each.join(", "),
            rough(Unit::Bytes, memory(survey, estimates, at_once))
        ),
        format!("The results take about {}.", rough(Unit::Bytes, results(survey, estimates))),
    ]
}

/// `value` with two significant digits: an estimate is not more precise.
fn rough(unit: Unit, value: f64) -> String {
    let step = 10f64.powf(value.max(1e-12).log10().floor() - 1.0);
    let rounded = (value / step).round() * step;
    match unit {
        Unit::Count if value >= 1e9 => format!("{} billion", short(rounded / 1e9)),
        Unit::Count if value >= 1e6 => format!("{} million", short(rounded / 1e6)),
        Unit::Count => crate::output::format::grouped(rounded as u64),
        unit => {
            let scale = Scale::of(unit, rounded);
            scale.with(short(rounded / scale.factor))
        }
    }
}

/// `value` with one decimal below ten, unless that decimal is zero.
fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    let whole = value >= 9.95 || text.ends_with(".0");
    if whole { format!("{value:.0}") } else { text }
}

/// The most samples of a run.
pub(super) fn samples(survey: &Survey<'_>) -> f64 {
    let measure = &survey.scenario.measure;
    let Some(sample) = measure.sample else { return 0.0 };
    let ports = match measure.ports.len() {
        0 => survey.lanes.iter().filter(|link| !survey.is_host(link.from)).count().min(256),
        _ => measure
            .ports
            .iter()
            .flat_map(|name| slotline_scenario::port_names::switch_ports_named(&survey.graph, name))
            .count(),
    };
    survey.lasts().as_secs_f64() / sample.as_secs_f64() * ports as f64
}

/// Whether runs with the first seed are repeated, because their first pass can neither record all flows nor search for the
/// slowest ones.
fn repeated(survey: &Survey<'_>) -> bool {
    let measure = &survey.scenario.measure;
    let searches = || survey.traffic.conns.iter().all(|conn| conn.count <= 1);
    !measure.capture.is_empty() || (measure.why && !all_recorded(survey) && !searches())
}

/// Whether the first pass records all flows that can be followed.
pub(super) fn all_recorded(survey: &Survey<'_>) -> bool {
    let Ok(transport) = survey.scenario.scheme[0].transport.build() else { return false };
    let tcp = survey.traffic.conns.iter().filter(|conn| conn.carrier == Carrier::Tcp);
    let of_one = |conn| survey.load(conn, &transport).packets * HOPS_PER_SEGMENT as f64;
    // The hops of one connection, and of all that it stands for.
    let hops: Vec<(f64, f64)> =
        tcp.map(|conn| (of_one(conn), of_one(conn) * survey.scale_of(conn))).collect();
    let all = hops.iter().map(|(_, all)| all).sum::<f64>() as u64;
    let possible = hops.iter().filter(|(one, _)| *one as u64 <= most_hops(all));
    possible.map(|(_, all)| all).sum::<f64>() as u64 <= room(all, survey.flows())
}

/// Whether packets of runs with the first seed are recorded.
pub(super) fn followed(scenario: &Scenario) -> bool {
    let measure = &scenario.measure;
    measure.why || !measure.follow.is_empty() || !measure.capture.is_empty()
}

/// A scenario with a quarter of a million packet-hops, to measure the speed of the machine.
const SMALL: &str = "name = \"calibration\"\nend = { at = \"1s\" }\nmeasure = { ideal = false, why = false }\n\
                     fabric = { kind = \"star\", hosts = 16 }\n\
                     [[workload]]\nkind = \"stride\"\nsize = \"5MB\"\n\
                     [[scheme]]\nname = \"tcp\"\n";
/// Nanoseconds per hop of [`SMALL`] on the machine of docs/performance.md.
const SMALL_NS: f64 = 50.0;

/// The factor by which this machine is slower than the machine of docs/performance.md. A run of some hundredths of a
/// second measures it.
pub fn calibrate() -> f64 {
    let Ok(loaded) = Scenario::parse(Path::new("calibration"), SMALL.into()) else { return 1.0 };
    let before = usage::process_cpu_s();
    let Ok(runs) = Jobs::of(&loaded).run(&loaded, 1) else { return 1.0 };
    let ns = (usage::process_cpu_s() - before) * 1e9;
    let hops: u64 = runs.iter().map(|run| run.engine.packet_hops).sum();
    (ns / hops.max(1) as f64 / SMALL_NS).clamp(0.1, 100.0)
}
