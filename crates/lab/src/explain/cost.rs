//! What a scenario costs to run: packet-hops, processor time, memory, size of the results.

use super::survey::{Load, Survey, Way};
use super::{several, span};
use crate::build;
use crate::metrics::Unit;
use crate::output::words::quantity;
use crate::run::Jobs;
use crate::scenario::{Scenario, SchemeSpec};
use crate::usage;
use slotline_net::control::spec::ControlSpec;
use slotline_net::time::Time;
use slotline_net::transport::Transport;
use slotline_net::workload::{Carrier, Conn};
use std::path::Path;

/// What one run of a scheme is expected to cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The scheme.
    pub scheme: String,
    /// Packets, data and acknowledgements, over links.
    pub hops: f64,
    /// Processor time of one run in seconds.
    pub cpu_s: f64,
}

pub(super) fn estimates(survey: &Survey<'_>, slower: f64) -> Vec<Estimate> {
    let of = |scheme: &SchemeSpec| {
        let hops = hops(survey, scheme);
        Estimate {
            scheme: scheme.name.clone(),
            hops,
            cpu_s: hops * ns_per_hop(survey, scheme) * slower * 1e-9,
        }
    };
    survey.scenario.scheme.iter().map(of).collect()
}

/// All packets over all links. What a link cannot carry before the run ends is not sent over it; a
/// sender of datagrams sends all the same, unless it is held back.
fn hops(survey: &Survey<'_>, scheme: &SchemeSpec) -> f64 {
    let Ok(transport) = scheme.transport.build() else { return 0.0 };
    let scheduled = !matches!(scheme.control, ControlSpec::None {});
    let conns = survey.traffic.conns.iter().enumerate();
    conns.map(|(at, conn)| hops_of(survey, at, conn, &transport, scheduled)).sum()
}

fn hops_of(
    survey: &Survey<'_>,
    at: usize,
    conn: &Conn,
    transport: &Transport,
    scheduled: bool,
) -> f64 {
    let load: Load = survey.load(conn, transport);
    let held = scheduled || conn.carrier == Carrier::Tcp;
    let end = survey.scenario.end.at.unwrap_or(Time::MAX).as_secs_f64();
    let share = |way: &Way| (end / way.busy().as_secs_f64().max(1e-12)).min(1.0);
    let least = survey.path(at).map(share).fold(1.0, f64::min);
    let mut left = 1.0;
    let mut data = 0.0;
    for way in survey.path(at) {
        data += load.packets * if held { least } else { left };
        left = share(way).min(left);
    }
    data + load.acks * least * survey.path(at).count() as f64
}

/// Hosts, and nanoseconds per hop in a fabric of so many: docs/performance.md, DCTCP.
const MEASURED: [(f64, f64); 3] = [(128.0, 41.3), (1024.0, 51.7), (8192.0, 84.0)];
/// What a hop costs where switches and hosts decide packet by packet, over a hop of a plain FIFO.
const PULLED: f64 = 2.0;

/// On the machine of docs/performance.md; in between by the logarithm of the number of hosts.
fn ns_per_hop(survey: &Survey<'_>, scheme: &SchemeSpec) -> f64 {
    let hosts = survey.graph.hosts.len() as f64;
    let between = MEASURED.windows(2).find(|pair| hosts <= pair[1].0).unwrap_or(&MEASURED[1..]);
    let (low, high) = (between[0], between[1]);
    let along = ((hosts / low.0).log2() / (high.0 / low.0).log2()).max(0.0);
    let plain = low.1 + along * (high.1 - low.1);
    let scheduled = !matches!(scheme.control, ControlSpec::None {});
    if scheduled || !scheme.queue.is_plain() { plain * PULLED } else { plain }
}

pub(super) fn sentences(survey: &Survey<'_>, estimates: &[Estimate]) -> Vec<String> {
    let scenario = survey.scenario;
    let (schemes, repeat) = (scenario.scheme.len() as u64, u64::from(scenario.repeat));
    let seeds = scenario.seeds();
    let seeds = match &seeds[..] {
        [one] => format!("seed {one}"),
        [first, .., last] => format!("seeds {first} to {last}"),
        [] => String::new(),
    };
    let hops: f64 = estimates.iter().map(|e| e.hops).sum::<f64>() * repeat as f64;
    let cpu: f64 = estimates.iter().map(|e| e.cpu_s).sum::<f64>() * repeat as f64;
    let each: Vec<String> = estimates
        .iter()
        .map(|e| format!("{} {}", e.scheme, rough(Unit::Seconds, e.cpu_s)))
        .collect();
    vec![
        format!(
            "{}: {}, {seeds}; each simulates at least {}.",
            several(schemes * repeat, "run"),
            several(schemes, "scheme"),
            span(survey.lasts())
        ),
        format!(
            "About {} packet-hops, {} of processor time (a run: {}), and {} of memory.",
            rough(Unit::Count, hops),
            rough(Unit::Seconds, cpu),
            each.join(", "),
            rough(Unit::Bytes, memory(survey))
        ),
        format!("Results of about {}.", rough(Unit::Bytes, results(survey))),
    ]
}

/// `value` with two digits that count: more would pretend to know.
fn rough(unit: Unit, value: f64) -> String {
    if value <= 0.0 {
        return quantity(unit, 0.0);
    }
    let step = 10f64.powf(value.log10().floor() - 1.0);
    let rounded = (value / step).round() * step;
    match unit {
        Unit::Count if value >= 1e9 => format!("{:.1} billion", rounded / 1e9),
        Unit::Count if value >= 1e6 => format!("{:.1} million", rounded / 1e6),
        Unit::Count => crate::output::words::grouped(rounded as u64),
        unit => quantity(unit, rounded),
    }
}

/// Samples of a run, at most.
fn samples(survey: &Survey<'_>) -> f64 {
    let measure = &survey.scenario.measure;
    let Some(sample) = measure.sample else { return 0.0 };
    let ports = match measure.ports.len() {
        0 => survey.lanes.iter().filter(|way| !survey.is_host(way.from)).count().min(256),
        _ => measure
            .ports
            .iter()
            .flat_map(|name| build::switch_ports_named(&survey.graph, name))
            .count(),
    };
    survey.lasts().as_secs_f64() / sample.as_secs_f64() * ports as f64
}

/// The program, the network, the traffic, and the records of all runs.
fn memory(survey: &Survey<'_>) -> f64 {
    let runs = (survey.scenario.scheme.len() as u32 * survey.scenario.repeat) as f64;
    let flows = survey.traffic.flows.len() as f64;
    let network = 5_000.0 * survey.graph.hosts.len() as f64;
    4e6 + network + 300.0 * flows + runs * (150.0 * flows + 40.0 * samples(survey))
}

/// Tables of flows, samples and ports, as text and as Parquet.
fn results(survey: &Survey<'_>) -> f64 {
    let runs = (survey.scenario.scheme.len() as u32 * survey.scenario.repeat) as f64;
    let (flows, ports) = (survey.traffic.flows.len() as f64, survey.lanes.len() as f64);
    100_000.0 + runs * (120.0 * flows + 60.0 * samples(survey) + 60.0 * ports)
}

/// Sixteen hosts in a ring around a switch: a quarter of a million hops.
const SMALL: &str = "name = \"calibration\"\nend = { at = \"1s\" }\nmeasure = { ideal = false }\n\
                     fabric = { kind = \"star\", hosts = 16 }\n\
                     [[workload]]\nkind = \"stride\"\nsize = \"5MB\"\n\
                     [[scheme]]\nname = \"tcp\"\n";
/// Nanoseconds per hop of [`SMALL`] on the machine of docs/performance.md.
const SMALL_NS: f64 = 40.0;

/// How many times slower this program is here than on the machine of docs/performance.md: measured
/// on a small run, which takes some hundredths of a second.
pub fn calibrate() -> f64 {
    let Ok(loaded) = Scenario::parse(Path::new("calibration"), SMALL.into()) else { return 1.0 };
    let before = usage::process_cpu_s();
    let Ok(runs) = Jobs::of(&loaded).run(&loaded, 1) else { return 1.0 };
    let ns = (usage::process_cpu_s() - before) * 1e9;
    let hops: u64 = runs.iter().map(|run| run.engine.packet_hops).sum();
    (ns / hops.max(1) as f64 / SMALL_NS).clamp(0.1, 100.0)
}
