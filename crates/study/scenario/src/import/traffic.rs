//! Imports of traffic.

use super::captures::{each_in_csv, extract};
use super::lines::{Whole, each};
use super::{Imported, Options, hpcc};
use slotline_net::time::Time;
use slotline_net::units::Bytes;
use slotline_net::workload::Cdf;
use slotline_net::workload::cm::{self, Begin, Matrix, TimeUnit};
use slotline_net::workload::csv::{HEADER, write};
use slotline_net::workload::goal;
use slotline_net::workload::rows::{Entry, RowFormat, Rows};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A kind of file with traffic in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrafficKind {
    /// A connection matrix of htsim.
    HtsimCm,
    /// A flow file of the HPCC simulator.
    HpccFlows,
    /// Completion times that the HPCC simulator wrote.
    HpccFct,
    /// A distribution of flow sizes.
    Sizes,
    /// A schedule in the GOAL language.
    Goal,
    /// A capture of packets.
    Pcap,
    /// Slotline's own trace.
    Csv,
}

impl TrafficKind {
    /// All kinds, with their names and what they are.
    pub const ALL: [(TrafficKind, &str, &str); 7] = [
        (TrafficKind::HtsimCm, "htsim-cm", "connection matrix of htsim"),
        (TrafficKind::HpccFlows, "hpcc-flows", "flow file of the HPCC simulator"),
        (TrafficKind::HpccFct, "hpcc-fct", "completion times of the HPCC simulator, as a trace"),
        (TrafficKind::Sizes, "sizes", "distribution of flow sizes: lines `size cumulative`"),
        (TrafficKind::Goal, "goal", "schedule in the GOAL language, as text"),
        (TrafficKind::Pcap, "pcap", "capture of packets, pcap or pcapng"),
        (TrafficKind::Csv, "csv", "trace: src,dst,bytes,start_s[,class]"),
    ];

    fn name(self) -> &'static str {
        TrafficKind::ALL.iter().find(|(kind, ..)| *kind == self).map_or("", |(_, name, _)| name)
    }

    /// Refuses options that say nothing about this kind.
    fn check(self, options: &Options) -> Result<(), String> {
        use TrafficKind::{Goal, HpccFct, HpccFlows, HtsimCm, Pcap};
        let given: [(&str, bool, &[TrafficKind]); 7] = [
            ("--time-unit", options.time_unit.is_some(), &[HtsimCm]),
            ("--priorities", options.priorities, &[HtsimCm, HpccFlows]),
            ("--fat-tree", options.fat_tree.is_some(), &[HtsimCm]),
            ("--topology", options.topology.is_some(), &[HpccFlows, HpccFct]),
            ("--eager", options.eager.is_some(), &[Goal]),
            ("--idle-gap", options.idle_gap.is_some(), &[Pcap]),
            ("--addresses", options.addresses.is_some(), &[Pcap]),
        ];
        let idle = given.iter().find(|(_, given, kinds)| *given && !kinds.contains(&self));
        idle.map_or(Ok(()), |(option, _, kinds)| {
            let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
            Err(format!(
                "{option} is for {}: it does not apply to {}",
                names.join(" and "),
                self.name()
            ))
        })
    }
}

/// Reads `file` and makes a workload of it. With [`Options::out`] the traffic is written beside that.
pub fn import(kind: TrafficKind, file: &Path, options: &Options) -> Result<Imported, String> {
    kind.check(options)?;
    let job = Job { kind, file, options };
    match kind {
        TrafficKind::HtsimCm => job.matrix(),
        TrafficKind::HpccFlows => job.rows(RowFormat::HpccFlows),
        TrafficKind::HpccFct => job.rows(RowFormat::HpccFct),
        TrafficKind::Csv => job.rows(RowFormat::Csv),
        TrafficKind::Sizes => job.sizes(),
        TrafficKind::Goal => job.goal(),
        TrafficKind::Pcap => job.pcap(),
    }
}

struct Job<'a> {
    kind: TrafficKind,
    file: &'a Path,
    options: &'a Options,
}

/// What was seen of the flows of a file.
#[derive(Clone, Copy, Debug, Default)]
struct Summary {
    flows: u64,
    hosts: u32,
    bytes: u128,
    last: Time,
}

impl Summary {
    fn add(&mut self, entry: &Entry) {
        self.flows += 1;
        self.hosts = self.hosts.max(entry.src.saturating_add(1)).max(entry.dst.saturating_add(1));
        self.bytes += u128::from(entry.bytes);
        self.last = self.last.max(entry.start);
    }

    fn in_words(&self) -> String {
        let Summary { flows, hosts, bytes, last } = self;
        format!("{flows} flows, {bytes} bytes, the last starts at {last}; needs {hosts} hosts")
    }
}

impl Job<'_> {
    fn wrong(&self, why: impl std::fmt::Display) -> String {
        format!("{}: {why}", self.file.display())
    }

    fn text(&self) -> Result<String, String> {
        crate::read_text(self.file).map_err(|e| self.wrong(e))
    }

    /// The file beside [`Options::out`] that has the same name but for `ending`.
    fn beside(&self, ending: &str) -> Result<Option<Whole>, String> {
        let Some(out) = &self.options.out else { return Ok(None) };
        let path = out.with_extension(ending);
        if path == *out {
            return Err(format!(
                "{}: the traffic would be written to the same file; give the fragment a name with .toml",
                out.display()
            ));
        }
        Whole::create(&path, self.options.force).map(Some)
    }

    /// The name by which the fragment names `written`, or else the file that was read.
    fn named(&self, written: Option<&PathBuf>) -> String {
        let name = written.and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
        name.unwrap_or(self.file.to_string_lossy()).into_owned()
    }

    /// A trace of `file`, with more keys where it is the file that was read.
    fn fragment(&self, about: &str, written: Option<&PathBuf>, keys: &[(&str, String)]) -> String {
        let name = self.file.file_name().unwrap_or(self.file.as_os_str()).to_string_lossy();
        let mut out = format!(
            "# {name}, read as {}: {about}\n[[workload]]\nkind = \"trace\"\nfile = {}\n",
            self.kind.name(),
            quoted(&self.named(written))
        );
        for (key, value) in keys {
            let _ = writeln!(out, "{key} = {value}");
        }
        out
    }

    /// One flow per line: read and written line by line.
    fn rows(&self, format: RowFormat) -> Result<Imported, String> {
        let nodes = self.options.topology.as_deref().map(hpcc::hosts).transpose()?;
        if nodes.is_some() && self.options.out.is_none() {
            return Err("--topology numbers hosts anew: say with -o where the trace goes".into());
        }
        let mut out = self.beside("csv")?;
        let (mut rows, mut seen) = (Rows::new(format, self.options.priorities), Summary::default());
        let mut buffer = Vec::new();
        let lines = each(self.file, |_, line| {
            let Some(mut entry) = rows.line(line)? else { return Ok(()) };
            if let Some(nodes) = &nodes {
                entry.src = nodes.host(entry.src)?;
                entry.dst = nodes.host(entry.dst)?;
            }
            seen.add(&entry);
            let Some(out) = &mut out else { return Ok(()) };
            buffer.clear();
            if seen.flows == 1 {
                buffer.extend(header(rows.classed()).bytes());
            }
            write(&entry, rows.classed(), &mut buffer);
            out.write(&buffer)
        })?;
        rows.end().map_err(|why| self.wrong(format!("line {}: {why}", lines.max(1))))?;
        let written = self.written(out, seen.flows)?;
        let format = match (format, written.is_some()) {
            (RowFormat::HpccFlows, false) => Some("\"hpcc-flows\""),
            (RowFormat::HpccFct, false) => Some("\"hpcc-fct\""),
            (RowFormat::Csv, false) if self.file.extension().is_none_or(|e| e != "csv") => {
                Some("\"csv\"")
            }
            _ => None,
        };
        let mut keys: Vec<(&str, String)> =
            format.iter().map(|format| ("format", format.to_string())).collect();
        if self.options.priorities && written.is_none() {
            keys.push(("priorities", "true".into()));
        }
        let fragment = self.fragment(&seen.in_words(), written.as_ref(), &keys);
        let notes = rows.notes().iter().map(|note| self.wrong(note)).collect();
        Ok(Imported { fragment, notes, written: written.into_iter().collect() })
    }

    /// Completes what was written, unless there is nothing in it.
    fn written(&self, out: Option<Whole>, flows: u64) -> Result<Option<PathBuf>, String> {
        if flows == 0 {
            return Err(self.wrong("it has no flows"));
        }
        out.map(Whole::done).transpose()
    }

    fn sizes(&self) -> Result<Imported, String> {
        let text = self.text()?;
        let sizes = Cdf::parse(&text).map_err(|e| self.wrong(e))?;
        let out = self.beside("txt")?;
        let written = out.map(|out| filled(out, text.as_bytes())).transpose()?;
        let name = self.file.file_name().unwrap_or(self.file.as_os_str()).to_string_lossy();
        let fragment = format!(
            "# {name}, read as {}: mean {:.0} bytes\n[[workload]]\nkind = \"poisson\"\n\
             sizes = {}\nload = 0.3\n",
            self.kind.name(),
            sizes.mean(),
            quoted(&self.named(written.as_ref()))
        );
        let notes = vec![self.wrong(format!("read as {}", sizes.scale().in_words()))];
        Ok(Imported { fragment, notes, written: written.into_iter().collect() })
    }

    fn goal(&self) -> Result<Imported, String> {
        let text = self.text()?;
        let program = goal::parse(&text).map_err(|e| self.wrong(e))?;
        if program.messages.is_empty() {
            return Err(self.wrong("the program sends no messages"));
        }
        let out = self.beside("goal")?;
        let written = out.map(|out| filled(out, text.as_bytes())).transpose()?;
        let about = format!(
            "{} operations, {} messages; needs {} hosts",
            program.ops.len(),
            program.messages.len(),
            program.ranks
        );
        let mut keys = self.format_unless(&written, "goal");
        keys.extend(self.options.eager.map(|Bytes(size)| ("eager", format!("\"{size}B\""))));
        let fragment = self.fragment(&about, written.as_ref(), &keys);
        Ok(Imported { fragment, notes: vec![], written: written.into_iter().collect() })
    }

    /// The key `format`, where the name of the file that was read does not say it.
    fn format_unless(
        &self,
        written: &Option<PathBuf>,
        format: &'static str,
    ) -> Vec<(&'static str, String)> {
        let named = slotline_net::workload::trace::TraceFormat::of(&self.file.to_string_lossy());
        let is_known = named.is_some_and(|named| named.name() == format);
        if is_known || written.is_some() { vec![] } else { vec![("format", quoted(format))] }
    }

    fn pcap(&self) -> Result<Imported, String> {
        let Options { idle_gap, addresses, .. } = self.options;
        let extract = extract(self.file, *idle_gap, addresses.as_deref())?;
        let mut seen = Summary::default();
        for flow in &extract.flows {
            let start = Time::ps(flow.start_ps);
            seen.add(&Entry {
                src: flow.src,
                dst: flow.dst,
                bytes: flow.bytes,
                start,
                class: None,
            });
        }
        let out = self.beside("csv")?;
        let out = match out {
            Some(mut out) => each_in_csv(&extract, |line| out.write(line)).map(|()| Some(out))?,
            None => None,
        };
        let written = self.written(out, seen.flows)?;
        let mut keys = self.format_unless(&written, "pcap");
        if written.is_none() {
            keys.extend(idle_gap.map(|gap| ("idle-gap", format!("\"{gap}\""))));
            keys.extend(addresses.iter().map(|p| ("addresses", quoted(&p.to_string_lossy()))));
        }
        let fragment = self.fragment(&seen.in_words(), written.as_ref(), &keys);
        let notes = extract.notes().iter().map(|note| self.wrong(note)).collect();
        Ok(Imported { fragment, notes, written: written.into_iter().collect() })
    }

    fn matrix(&self) -> Result<Imported, String> {
        let unit = self.options.time_unit.unwrap_or_default();
        let matrix = cm::parse(&self.text()?, unit).map_err(|e| self.wrong(e))?;
        let events = failures(&matrix, self.options.fat_tree).map_err(|why| self.wrong(why))?;
        if !matrix.failures.is_empty() && self.options.out.is_none() {
            return Err(self.wrong(
                "it has failures, which become `event` tables: name a file for the rest with -o",
            ));
        }
        let written = self.matrix_written(&matrix)?;
        let mut keys = self.format_unless(&written, "cm");
        let as_matrix = !matrix.triggers.is_empty();
        if written.is_none() {
            keys.extend((unit == TimeUnit::Us).then(|| ("time-unit", "\"us\"".into())));
        } else if as_matrix {
            keys.push(("time-unit", "\"ps\"".into()));
        }
        if self.options.priorities && (written.is_none() || as_matrix) {
            keys.push(("priorities", "true".into()));
        }
        let about = format!(
            "{} flows, {} triggers, {} failures; needs {} hosts",
            matrix.flows.len(),
            matrix.triggers.len(),
            matrix.failures.len(),
            matrix.nodes
        );
        let fragment = self.fragment(&about, written.as_ref(), &keys) + &events;
        let mut notes = vec![];
        if self.options.time_unit.is_none() {
            notes.push(
                self.wrong("`start` is read as picoseconds; use --time-unit us for microseconds"),
            );
        }
        if !self.options.priorities && matrix.flows.iter().any(|flow| flow.prio.is_some()) {
            notes.push(self.wrong("`prio` is not used; --priorities converts it to classes"));
        }
        if !matrix.failures.is_empty() && self.options.fat_tree.is_none() {
            let k = tree_of(matrix.nodes).unwrap_or_default();
            notes
                .push(self.wrong(format!("failures are of a fat-tree with k = {k}, by its nodes")));
        }
        Ok(Imported { fragment, notes, written: written.into_iter().collect() })
    }

    /// Writes a matrix as a trace, or where it has triggers as a matrix without failures.
    fn matrix_written(&self, matrix: &Matrix) -> Result<Option<PathBuf>, String> {
        if !matrix.triggers.is_empty() {
            let out = self.beside("cm")?;
            return out.map(|out| filled(out, matrix.without_failures().as_bytes())).transpose();
        }
        let classes = matrix.classes().map_err(|e| self.wrong(e));
        let classes = if self.options.priorities { classes? } else { Default::default() };
        let classed = self.options.priorities;
        let mut buffer = header(classed).into_bytes();
        for flow in &matrix.flows {
            let start = match flow.begin {
                Begin::At(start) => start,
                Begin::On(_) => continue,
            };
            let class = flow.prio.and_then(|prio| classes.get(&prio).copied());
            let entry = Entry { src: flow.src, dst: flow.dst, bytes: flow.bytes, start, class };
            write(&entry, classed, &mut buffer);
        }
        let out = match self.beside("csv")? {
            Some(mut out) => out.write(&buffer).map(|()| Some(out))?,
            None => None,
        };
        self.written(out, matrix.flows.len() as u64)
    }
}

fn header(classed: bool) -> String {
    if classed { format!("{HEADER},class\n") } else { format!("{HEADER}\n") }
}

fn filled(mut out: Whole, content: &[u8]) -> Result<PathBuf, String> {
    out.write(content)?;
    out.done()
}

/// `text` as a string in TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.into()).to_string()
}

/// The `k` of the fat-tree with as many hosts, as htsim chooses it.
fn tree_of(nodes: u32) -> Option<u32> {
    (2..=64).step_by(2).find(|k: &u32| k.pow(3) / 4 == nodes)
}

/// Tables for the links that a matrix takes away. In htsim they are not there from the start.
fn failures(matrix: &Matrix, k: Option<u32>) -> Result<String, String> {
    if matrix.failures.is_empty() {
        return Ok(String::new());
    }
    let k = k.or(tree_of(matrix.nodes)).ok_or_else(|| {
        format!(
            "no fat-tree has {} hosts: name the fat-tree of the failures with --fat-tree K",
            matrix.nodes
        )
    })?;
    let half = k / 2;
    let mut out = String::new();
    for failure in &matrix.failures {
        let (switch, link) = (failure.switch, failure.link);
        if switch >= k * half || link >= half {
            return Err(format!(
                "line {}: switch_id {switch}, link_id {link}: a fat-tree with k = {k} has \
                 aggregation switches 0 to {} with uplinks 0 to {}",
                failure.line,
                (k * half).max(1) - 1,
                half.max(1) - 1
            ));
        }
        let (pod, place) = (switch / half, switch % half);
        let core = place * half + link;
        let _ = write!(
            out,
            "\n[[event]]\nat = \"0ps\"\nkind = \"link-down\"\nlink = \"agg{pod}.{place}-core{core}\"\n"
        );
    }
    Ok(out)
}
