//! Totals and metrics of runs as OpenMetrics text (version 1.0), for monitoring tools. The samples of a family are
//! consecutive, as the format requires. Within a family, runs are in order, with labels `scheme` and `seed`.

use slotline_lab::metrics::measure;
use slotline_lab::record::{PortRow, RunRecord, RunSet};
use slotline_net::node::DropReason;
use slotline_scenario::metric::{Metric, Unit};
use std::fmt::Display;
use std::io::{self, Write};

/// Writes `runs`, which are runs of `set`.
pub fn write(set: &RunSet, runs: &[&RunRecord], out: &mut impl Write) -> io::Result<()> {
    let mut text = Exposition { out, runs };
    text.info(set)?;
    Metric::ALL.into_iter().try_for_each(|metric| text.metric(set, metric))?;
    RUN.iter().try_for_each(|family| text.of_runs(family))?;
    text.drops()?;
    PORT.iter().try_for_each(|family| text.of_ports(family))?;
    writeln!(text.out, "# EOF")
}

/// The type of a family.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Counter,
    Gauge,
}

impl Type {
    const fn name(self) -> &'static str {
        match self {
            Type::Counter => "counter",
            Type::Gauge => "gauge",
        }
    }
    /// The suffix of its samples' names.
    const fn suffix(self) -> &'static str {
        match self {
            Type::Counter => "_total",
            Type::Gauge => "",
        }
    }
}

/// A quantity of `R`, such as a run or a port.
struct Family<R: 'static> {
    name: &'static str,
    kind: Type,
    /// The last part of the name; empty for counts.
    unit: &'static str,
    help: &'static str,
    get: fn(&R) -> f64,
    /// Whether the family is about packets or queues. Runs without packets do not have it.
    of_packets: bool,
}

const fn of_packets<R>(family: Family<R>) -> Family<R> {
    Family { of_packets: true, ..family }
}

const fn family<R>(
    kind: Type,
    name: &'static str,
    unit: &'static str,
    help: &'static str,
    get: fn(&R) -> f64,
) -> Family<R> {
    Family { name, kind, unit, help, get, of_packets: false }
}

/// The families of a run.
static RUN: &[Family<RunRecord>] = &[
    of_packets(family(Type::Counter, "packets_sent", "", "Packets created.", |run| {
        run.census.sent as f64
    })),
    of_packets(family(Type::Counter, "packets_delivered", "", "Packets delivered.", |run| {
        run.census.delivered as f64
    })),
    of_packets(family(
        Type::Gauge,
        "packets_in_flight",
        "",
        "Packets in flight when the run ended.",
        |run| run.census.in_flight as f64,
    )),
    of_packets(family(
        Type::Counter,
        "packet_hops",
        "",
        "Links crossed by packets, summed over packets.",
        |run| run.engine.packet_hops as f64,
    )),
    family(Type::Counter, "events", "", "Events handled by the engine.", |run| {
        run.engine.events as f64
    }),
    family(
        Type::Gauge,
        "simulated_time_seconds",
        "seconds",
        "Simulated time at the end of the run.",
        |run| run.engine.sim_time_ps as f64 / 1e12,
    ),
    family(
        Type::Counter,
        "cpu_seconds",
        "seconds",
        "CPU time of the run, over all threads.",
        |run| run.engine.cpu_s,
    ),
    family(Type::Gauge, "elapsed_seconds", "seconds", "Elapsed time of the run.", |run| {
        run.engine.wall_s
    }),
];

/// The families of a port.
static PORT: &[Family<PortRow>] = &[
    of_packets(family(
        Type::Counter,
        "port_sent_packets",
        "",
        "Packets sent by the port.",
        |port| port.tx_packets as f64,
    )),
    family(
        Type::Counter,
        "port_sent_bytes",
        "bytes",
        "Bytes sent by the port, with framing.",
        |port| port.tx_bytes as f64,
    ),
    of_packets(family(
        Type::Counter,
        "port_dropped_packets",
        "",
        "Packets dropped on arrival at the port's queue.",
        |port| port.drops as f64,
    )),
    of_packets(family(
        Type::Counter,
        "port_marked_packets",
        "",
        "Packets marked with congestion experienced.",
        |port| port.marks as f64,
    )),
    of_packets(family(
        Type::Counter,
        "port_pauses",
        "",
        "Pause frames that the port obeyed.",
        |port| port.pauses as f64,
    )),
    of_packets(family(
        Type::Gauge,
        "port_longest_queue_bytes",
        "bytes",
        "Longest queue at the port; at a host, the bytes that waited to be sent.",
        |port| port.peak_bytes as f64,
    )),
];

struct Exposition<'a, W> {
    out: &'a mut W,
    runs: &'a [&'a RunRecord],
}

impl<'a, W: Write> Exposition<'a, W> {
    fn head(&mut self, name: &str, kind: &str, unit: &str, help: &str) -> io::Result<()> {
        writeln!(self.out, "# TYPE slotline_{name} {kind}")?;
        if !unit.is_empty() {
            writeln!(self.out, "# UNIT slotline_{name} {unit}")?;
        }
        writeln!(self.out, "# HELP slotline_{name} {}", escaped(help))
    }

    /// The runs with packets, if `of_packets` is set; otherwise all runs.
    fn runs(&self, of_packets: bool) -> Vec<&'a RunRecord> {
        let has = |run: &&&'a RunRecord| !(of_packets && run.engine.flow_level);
        self.runs.iter().filter(has).copied().collect()
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) -> io::Result<()> {
        let label = |(key, value): &(&str, &str)| format!("{key}=\"{}\"", escaped(value));
        let labels: Vec<String> = labels.iter().map(label).collect();
        writeln!(self.out, "slotline_{name}{{{}}} {value}", labels.join(","))
    }

    fn info(&mut self, set: &RunSet) -> io::Result<()> {
        self.head("run", "info", "", "The scenario of the run, and the digest of its events.")?;
        for run in self.runs {
            let digest = format!("{:016x}", run.engine.digest);
            let seed = run.seed.to_string();
            let labels = [
                ("scheme", &*run.scheme),
                ("seed", &seed),
                ("scenario", &set.name),
                ("version", env!("CARGO_PKG_VERSION")),
                ("digest", &digest),
            ];
            self.sample("run_info", &labels, 1.0)?;
        }
        Ok(())
    }

    /// Writes a metric, unless no run has it.
    fn metric(&mut self, set: &RunSet, metric: Metric) -> io::Result<()> {
        let measured = |run: &&'_ RunRecord| measure(metric, run, set.window);
        let values: Vec<_> = self.runs.iter().map(measured).collect();
        if values.iter().all(Option::is_none) {
            return Ok(());
        }
        let name = name(metric);
        self.head(&name, "gauge", unit(metric.unit()), metric.title())?;
        for (run, measured) in self.runs.iter().zip(values) {
            let Some(measured) = measured else { continue };
            let bound = measured.at_least.to_string();
            let seed = run.seed.to_string();
            let labels = [("scheme", &*run.scheme), ("seed", &seed), ("lower_bound", &bound)];
            self.sample(&name, &labels, measured.value)?;
        }
        Ok(())
    }

    fn of_runs(&mut self, family: &Family<RunRecord>) -> io::Result<()> {
        let runs = self.runs(family.of_packets);
        if runs.is_empty() {
            return Ok(());
        }
        self.head(family.name, family.kind.name(), family.unit, family.help)?;
        let name = format!("{}{}", family.name, family.kind.suffix());
        for run in runs {
            let seed = run.seed.to_string();
            let labels = [("scheme", &*run.scheme), ("seed", &seed)];
            self.sample(&name, &labels, (family.get)(run))?;
        }
        Ok(())
    }

    fn drops(&mut self) -> io::Result<()> {
        let runs = self.runs(true);
        if runs.is_empty() {
            return Ok(());
        }
        self.head("packets_dropped", "counter", "", "Packets dropped, by reason.")?;
        for run in runs {
            let seed = run.seed.to_string();
            for reason in DropReason::ALL {
                let labels = [("scheme", &*run.scheme), ("seed", &seed), ("reason", reason.name())];
                let dropped = run.census.dropped[reason as usize];
                self.sample("packets_dropped_total", &labels, dropped as f64)?;
            }
        }
        Ok(())
    }

    fn of_ports(&mut self, family: &Family<PortRow>) -> io::Result<()> {
        let runs = self.runs(family.of_packets);
        if runs.is_empty() {
            return Ok(());
        }
        self.head(family.name, family.kind.name(), family.unit, family.help)?;
        let name = format!("{}{}", family.name, family.kind.suffix());
        for run in runs {
            let seed = run.seed.to_string();
            let names = super::port_names(&run.ports);
            for (port, port_name) in run.ports.iter().zip(&names) {
                let labels = [
                    ("scheme", &*run.scheme),
                    ("seed", &seed),
                    ("node", &port.node),
                    ("port", port_name),
                ];
                self.sample(&name, &labels, (family.get)(port))?;
            }
        }
        Ok(())
    }
}

/// A metric's key followed by its unit.
fn name(metric: Metric) -> String {
    let key = metric.key().replace('-', "_");
    match unit(metric.unit()) {
        "" => key,
        unit => format!("{key}_{unit}"),
    }
}

const fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Seconds => "seconds",
        Unit::BitsPerSecond => "bits_per_second",
        Unit::Bytes => "bytes",
        Unit::Ratio | Unit::Share => "ratio",
        Unit::Count => "",
    }
}

fn escaped(text: &str) -> impl Display {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
