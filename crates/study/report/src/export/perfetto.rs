//! A run as a time line in Chrome's trace event format, which ui.perfetto.dev opens. Hosts are processes with their
//! flows and the permissions of a scheduler, and switches are processes with their queues.

use super::{host_names, port_names};
use slotline_lab::record::{FlowRow, Part, RunRecord, RunSet, ScheduleRow, WhyRow};
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::io::{self, Write};

/// Writes `run`, event by event.
pub fn write(set: &RunSet, run: &RunRecord, out: &mut impl Write) -> io::Result<()> {
    let title = Text(&format!("{}: {} with seed {}", set.name, run.scheme, run.seed)).to_string();
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"title\":{title}}},")?;
    write!(out, "\"traceEvents\":[")?;
    let mut trace = Trace { out, empty: true, nodes: Nodes::of(run) };
    trace.processes()?;
    trace.schedule(&run.schedule)?;
    trace.flows(set, run)?;
    trace.queues(run)?;
    writeln!(trace.out, "\n]}}")
}

/// Process numbers: nodes in the order of their ports, from 1.
struct Nodes {
    names: Vec<String>,
    /// The process of each host.
    hosts: Vec<usize>,
    /// The process of each port.
    of_port: Vec<usize>,
}

impl Nodes {
    fn of(run: &RunRecord) -> Nodes {
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let mut names = Vec::new();
        for port in &run.ports {
            numbers.entry(&port.node).or_insert_with(|| {
                names.push(port.node.clone());
                names.len()
            });
        }
        let of_port = run.ports.iter().map(|port| numbers[port.node.as_str()]).collect();
        let hosts = host_names(&run.ports).into_iter().map(|name| numbers[name]).collect();
        Nodes { hosts, of_port, names }
    }
    /// The name of a host; its number where no port names it.
    fn host(&self, host: u32) -> (usize, String) {
        let known = self.hosts.get(host as usize).copied();
        let process = known.unwrap_or(self.names.len() + 1 + host as usize);
        let name = known.and_then(|at| self.names.get(at - 1)).cloned();
        (process, name.unwrap_or_else(|| format!("h{host}")))
    }
}

struct Trace<'a, W> {
    out: &'a mut W,
    empty: bool,
    nodes: Nodes,
}

impl<W: Write> Trace<'_, W> {
    fn event(&mut self, fields: fmt::Arguments<'_>) -> io::Result<()> {
        let separator = if self.empty { "\n" } else { ",\n" };
        self.empty = false;
        write!(self.out, "{separator}{{{fields}}}")
    }

    fn processes(&mut self) -> io::Result<()> {
        for at in 0..self.nodes.names.len() {
            let name = Text(&self.nodes.names[at]).to_string();
            self.about(at + 1, 0, "process_name", format_args!("\"name\":{name}"))?;
            self.about(at + 1, 0, "process_sort_index", format_args!("\"sort_index\":{at}"))?;
        }
        Ok(())
    }

    fn about(
        &mut self,
        process: usize,
        thread: usize,
        what: &str,
        args: fmt::Arguments<'_>,
    ) -> io::Result<()> {
        self.event(format_args!(
            "\"ph\":\"M\",\"pid\":{process},\"tid\":{thread},\"name\":\"{what}\",\"args\":{{{args}}}"
        ))
    }

    /// Writes the schedule. Overlapping windows of a host get a track each.
    fn schedule(&mut self, rows: &[ScheduleRow]) -> io::Result<()> {
        let mut busy: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        for row in rows {
            let tracks = busy.entry(row.src).or_default();
            let free = tracks.iter().position(|until| *until <= row.from_ps);
            let track = free.unwrap_or(tracks.len());
            tracks.resize(tracks.len().max(track + 1), 0);
            tracks[track] = row.until_ps;
            let (process, _) = self.nodes.host(row.src);
            if free.is_none() {
                let name = format_args!("\"name\":\"schedule\"");
                self.about(process, track + 1, "thread_name", name)?;
            }
            self.permit(process, track + 1, row)?;
        }
        Ok(())
    }

    fn permit(&mut self, process: usize, thread: usize, row: &ScheduleRow) -> io::Result<()> {
        let (start, length) = (Micros(row.from_ps), Micros(row.until_ps - row.from_ps));
        let name = Text(&format!("to {}", self.nodes.host(row.dst).1)).to_string();
        let rate = row.rate_bps;
        self.event(format_args!(
            "\"ph\":\"X\",\"cat\":\"schedule\",\"pid\":{process},\"tid\":{thread},\"ts\":{start},\
             \"dur\":{length},\"name\":{name},\"args\":{{\"rate_bps\":{rate}}}"
        ))
    }

    /// Writes each flow from its start to its end, or to the end of the run.
    fn flows(&mut self, set: &RunSet, run: &RunRecord) -> io::Result<()> {
        for flow in run.flows.iter().filter(|flow| flow.started()) {
            let why = run.why.binary_search_by_key(&flow.flow, |why| why.flow);
            let about = About { set, run, flow, why: why.ok().map(|at| &run.why[at]) };
            let (process, _) = self.nodes.host(flow.src);
            let name = Text(&format!("flow to {}", self.nodes.host(flow.dst).1)).to_string();
            let end = if flow.finished() { flow.finish_ps } else { run.engine.sim_time_ps };
            for (phase, t_ps) in [("b", flow.start_ps), ("e", end.max(flow.start_ps))] {
                let args = if phase == "b" { about.to_string() } else { String::new() };
                self.event(format_args!(
                    "\"ph\":\"{phase}\",\"cat\":\"flow\",\"id2\":{{\"local\":\"{:#x}\"}},\
                     \"pid\":{process},\"tid\":0,\"ts\":{},\"name\":{name},\"args\":{{{args}}}",
                    flow.flow,
                    Micros(t_ps)
                ))?;
            }
        }
        Ok(())
    }

    /// Omits samples that repeat the one before.
    fn queues(&mut self, run: &RunRecord) -> io::Result<()> {
        let names = port_names(&run.ports);
        for series in run.samples.series() {
            let Some(name) = names.get(series.port as usize) else { continue };
            let process = self.nodes.of_port[series.port as usize];
            let name = Text(&format!("queue {name}")).to_string();
            let mut last = None;
            for turn in series.repeated(0..run.samples.times().len()) {
                let bytes = turn.queue_bytes;
                if last.replace(bytes) == Some(bytes) {
                    continue;
                }
                let time = Micros(run.samples.times()[turn.turns.start]);
                self.event(format_args!(
                    "\"ph\":\"C\",\"pid\":{process},\"ts\":{time},\"name\":{name},\
                     \"args\":{{\"bytes\":{bytes}}}"
                ))?;
            }
        }
        Ok(())
    }
}

/// The properties of a flow, as the members of a JSON object.
struct About<'a> {
    set: &'a RunSet,
    run: &'a RunRecord,
    flow: &'a FlowRow,
    why: Option<&'a WhyRow>,
}

impl Display for About<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flow = self.flow;
        let workload = self.set.workloads.get(usize::from(flow.group)).map_or("", String::as_str);
        write!(f, "\"flow\":{},\"workload\":{}", flow.flow, Text(workload))?;
        write!(f, ",\"bytes\":{},\"delivered_bytes\":{}", flow.bytes, flow.delivered_bytes)?;
        write!(f, ",\"finished\":{}", flow.finished())?;
        write!(f, ",\"retransmits\":{},\"timeouts\":{}", flow.retransmits, flow.timeouts)?;
        if flow.finished() && flow.ideal_ps > 0 {
            let took = (flow.finish_ps - flow.start_ps) as f64;
            write!(f, ",\"slowdown\":{:.3}", took / flow.ideal_ps as f64)?;
        }
        self.why.map_or(Ok(()), |why| self.why(why, f))
    }
}

impl About<'_> {
    /// Writes the parts that are not zero, in microseconds, and the port where the flow waited longest.
    fn why(&self, why: &WhyRow, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in Part::ALL.into_iter().filter(|part| why.of(*part) > 0) {
            write!(f, ",\"{}_us\":{}", part.key(), Micros(why.of(part)))?;
        }
        write!(f, ",\"round_trips\":{}", why.round_trips)?;
        let (port, waited) = why.worst[0];
        match self.run.ports.get(port as usize).filter(|_| waited > 0) {
            Some(port) => {
                let name = format!("{}-{}", port.node, port.port);
                write!(f, ",\"waited_longest_at\":{}", Text(&name))
            }
            None => Ok(()),
        }
    }
}

/// Picoseconds as microseconds, exactly.
struct Micros(u64);

impl Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

/// Text as a JSON string.
struct Text<'a>(&'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Text can always be written as JSON.
        f.write_str(&serde_json::to_string(self.0).map_err(|_| fmt::Error)?)
    }
}
