//! Flows read from a file.

use super::cm::TimeUnit;
use super::job::Job;
use super::log_columns::LogColumns;
use super::moment::Moment;
use super::options::options;
use super::rows::{Entry, RowFormat, Rows};
use super::spec::Generate;
use super::text::LineError;
use super::{Start, goal, goal_traffic};
use serde::{Deserialize, Serialize};
use slotline_base::error::SpecError;
use slotline_base::id::HostId;
use slotline_base::time::Time;
use slotline_base::units::Bytes;

/// The format of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TraceFormat {
    /// Slotline's own: `src,dst,bytes,start_s[,class]`.
    Csv,
    /// A connection matrix of htsim.
    Cm,
    /// The flow file of the HPCC simulator.
    HpccFlows,
    /// The completion times that the HPCC simulator writes. Only sizes and starts are used.
    HpccFct,
    /// A schedule in the GOAL language.
    Goal,
    /// A capture of packets, pcap or pcapng.
    Pcap,
    /// A log of flows: a table with a header, with addresses and times since 1970.
    FlowLog,
    /// `conn.log` of Zeek, as lines with fields or in JSON.
    Zeek,
    /// Messages of NetFlow 5, NetFlow 9 or IPFIX, one after the other or in a capture of packets.
    #[serde(rename = "netflow")]
    NetFlow,
}

impl TraceFormat {
    /// All formats, with their names in scenario files and the extensions of their files.
    pub const ALL: [(TraceFormat, &str, &[&str]); 9] = [
        (TraceFormat::Csv, "csv", &["csv"]),
        (TraceFormat::Cm, "cm", &["cm"]),
        (TraceFormat::HpccFlows, "hpcc-flows", &[]),
        (TraceFormat::HpccFct, "hpcc-fct", &["fct"]),
        (TraceFormat::Goal, "goal", &["goal"]),
        (TraceFormat::Pcap, "pcap", &["pcap", "pcapng", "cap"]),
        (TraceFormat::FlowLog, "flow-log", &[]),
        (TraceFormat::Zeek, "zeek", &["log"]),
        (TraceFormat::NetFlow, "netflow", &["netflow", "ipfix"]),
    ];

    /// Whether it has records of flows with addresses and times since 1970.
    pub fn is_log(self) -> bool {
        matches!(self, TraceFormat::FlowLog | TraceFormat::Zeek | TraceFormat::NetFlow)
    }

    /// The name in scenario files.
    pub fn name(self) -> &'static str {
        TraceFormat::ALL.iter().find(|(format, ..)| *format == self).map_or("", |(_, name, _)| name)
    }

    /// The format of a file by the extension of its name.
    pub fn of(file: &str) -> Option<TraceFormat> {
        let (_, ending) = file.rsplit_once('.')?;
        let found = TraceFormat::ALL.iter().find(|(.., endings)| endings.contains(&ending));
        found.map(|(format, ..)| *format)
    }
}

options! {
    /// Flows as listed in a file, each on a connection of its own.
    Trace {
        /// The path of the file, relative to the scenario file.
        #[schemars(extend("x-required" = true, "x-type" = "file"))]
        file: String = String::new(),
        /// The format of the file. Default: the one that the extension of its name says.
        #[serde(skip_serializing_if = "Option::is_none")]
        format: Option<TraceFormat> = None,
        /// `cm`: unit of `start`. Default: picoseconds.
        #[serde(skip_serializing_if = "Option::is_none")]
        time_unit: Option<TimeUnit> = None,
        /// `cm` and `hpcc-flows`: whether the file's priorities become classes.
        priorities: bool = false,
        /// `goal`: the sender does not wait for messages up to this size. Default: 65535 B.
        #[serde(skip_serializing_if = "Option::is_none")]
        eager: Option<Bytes> = None,
        /// `pcap`: a longer silence ends a flow. Later packets belong to another flow.
        #[serde(skip_serializing_if = "Option::is_none")]
        idle_gap: Option<Time> = None,
        /// `pcap` and logs: a file of lines `address host` or `prefix host`. Default: hosts are numbered in the order of
        /// their appearance.
        #[serde(skip_serializing_if = "Option::is_none")]
        addresses: Option<String> = None,
        /// Logs: the moment that is time zero, as a date with time or in seconds since 1970. Earlier records are left
        /// out. Default: the start of the first flow.
        #[serde(skip_serializing_if = "Option::is_none")]
        epoch: Option<Moment> = None,
        /// `flow-log`: names of columns. Default: the usual names.
        #[serde(skip_serializing_if = "Option::is_none")]
        columns: Option<Box<LogColumns>> = None,
        /// `flow-log` and `netflow`: bytes of headers that are subtracted from the size for each packet. Default: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        packet_headers: Option<Bytes> = None,
        /// When the trace starts.
        start: Time = Time::ZERO,
        /// Priority class, 0 to 7, of flows for which the trace gives none.
        #[schemars(range(max = 7))]
        class: u8 = 0,
    }
}

/// The default of LogGOPSim's parameter S.
const EAGER: Bytes = Bytes(65_535);

impl Trace {
    pub(super) fn wrong(&self, why: impl std::fmt::Display) -> SpecError {
        SpecError::new("file", format!("{}: {why}", self.file))
    }

    /// The format of the file.
    pub fn written_in(&self) -> Result<TraceFormat, SpecError> {
        self.format.or(TraceFormat::of(&self.file)).ok_or_else(|| {
            let names: Vec<String> =
                TraceFormat::ALL.iter().map(|(_, name, _)| format!("\"{name}\"")).collect();
            SpecError::new(
                "file",
                format!(
                    "`{}`: its name does not say its format; add format = {}",
                    self.file,
                    names.join(", ")
                ),
            )
        })
    }

    /// The name under which the text of the file is requested. For a capture and for a log it differs from the name of
    /// the file: the text is a trace in CSV, made from the file with the options.
    pub fn source(&self) -> String {
        if self.written_in().is_ok_and(TraceFormat::is_log) {
            return format!("{} (flows{})", self.file, self.options_of_log());
        }
        let addresses = self.addresses.as_deref().map(|file| format!(", addresses {file}"));
        match (self.written_in(), self.idle_gap) {
            (Ok(TraceFormat::Pcap), None) => {
                format!("{} (flows{})", self.file, addresses.unwrap_or_default())
            }
            (Ok(TraceFormat::Pcap), Some(gap)) => {
                format!("{} (flows, idle gap {gap}{})", self.file, addresses.unwrap_or_default())
            }
            _ => self.file.clone(),
        }
    }

    /// The options with which a log is read, in words.
    fn options_of_log(&self) -> String {
        let addresses = self.addresses.as_deref().map(|file| format!(", addresses {file}"));
        let epoch = self.epoch.map(|epoch| format!(", epoch {epoch}"));
        let headers = self.packet_headers.map(|bytes| format!(", packet-headers {bytes}"));
        let columns = self.columns.as_ref().map(|columns| format!(", {columns}"));
        [addresses, epoch, headers, columns].into_iter().flatten().collect()
    }

    /// Refuses options that have no meaning for this format.
    fn check_options(&self, format: TraceFormat) -> Result<(), SpecError> {
        use TraceFormat::{Cm, FlowLog, Goal, HpccFlows, NetFlow, Pcap, Zeek};
        let given: [(&str, bool, &[TraceFormat]); 8] = [
            ("time-unit", self.time_unit.is_some(), &[Cm]),
            ("priorities", self.priorities, &[Cm, HpccFlows]),
            ("eager", self.eager.is_some(), &[Goal]),
            ("idle-gap", self.idle_gap.is_some(), &[Pcap]),
            ("addresses", self.addresses.is_some(), &[Pcap, FlowLog, Zeek, NetFlow]),
            ("epoch", self.epoch.is_some(), &[FlowLog, Zeek, NetFlow]),
            ("columns", self.columns.is_some(), &[FlowLog]),
            ("packet-headers", self.packet_headers.is_some(), &[FlowLog, NetFlow]),
        ];
        for (key, given, of) in given {
            if given && !of.contains(&format) {
                let names: Vec<&str> = of.iter().map(|format| format.name()).collect();
                return Err(SpecError::new(
                    key,
                    format!(
                        "`{key}` is for traces in {}: `{}` is read as {}",
                        names.join(" and "),
                        self.file,
                        format.name()
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Calls `each` for every line of the file. Returns false if it stopped because a sample is complete.
    pub(super) fn each_line(
        &self,
        job: &mut Job,
        mut each: impl FnMut(usize, &[u8], &mut Job) -> Result<(), String>,
    ) -> Result<bool, SpecError> {
        let files = job.setting.files;
        let read = files.lines(&self.source(), &mut |number, line| {
            if job.out.is_complete() { Err("not needed".into()) } else { each(number, line, job) }
        });
        if job.out.is_complete() {
            return Ok(false);
        }
        read.map(|()| true).map_err(|why| self.wrong(why))
    }

    /// Adds one flow per line. A long file is read line by line.
    fn rows(&self, format: RowFormat, job: &mut Job) -> Result<(), SpecError> {
        let mut rows = Rows::new(format, self.priorities);
        let mut last = 1;
        let whole = self.each_line(job, |number, line, job| {
            let Some(entry) = rows.line(line)? else { return Ok(()) };
            last = number;
            self.row(&entry, job).map_err(|error| error.message)
        })?;
        if !whole {
            return Ok(());
        }
        rows.end().map_err(|message| self.wrong(LineError { line: last, message }))?;
        rows.notes().iter().for_each(|note| job.out.note(format!("{}: {note}", self.file)));
        match rows.found() {
            0 => Err(self.wrong("the trace has no flows")),
            _ => Ok(()),
        }
    }

    /// Adds a flow. If the sample is full, the flow is only checked and counted.
    pub(super) fn row(&self, entry: &Entry, job: &mut Job) -> Result<(), SpecError> {
        let Entry { src, dst, bytes, start, class } = *entry;
        let hosts = job.setting.fabric.hosts.len() as u32;
        if job.out.is_full() && src < hosts && dst < hosts {
            return job.out.count_one("file");
        }
        let conn = job.tcp(HostId(src), HostId(dst), class.unwrap_or(self.class))?;
        let sent = job.send(conn, Bytes(bytes), Start::At(self.start.after(start)), None);
        if job.out.is_full() { job.out.count_one("file") } else { sent }
    }

    fn program(&self, text: &str, job: &mut Job) -> Result<(), SpecError> {
        let program = goal::parse(text).map_err(|e| self.wrong(e))?;
        let hosts = job.setting.fabric.hosts.len();
        if program.ranks as usize > hosts {
            return Err(
                self.wrong(format!("{} ranks: the fabric has {hosts} hosts", program.ranks))
            );
        }
        if program.messages.is_empty() {
            return Err(self.wrong("the program sends no messages"));
        }
        job.out.check_room("file", program.messages.len() as u64)?;
        let eager = self.eager.unwrap_or(EAGER).0;
        let options = goal_traffic::Options { from: self.start, eager, class: self.class };
        goal_traffic::generate(&program, options, job)
    }
}

impl Generate for Trace {
    fn generate(&self, job: &mut Job) -> Result<(), SpecError> {
        let format = self.written_in()?;
        self.check_options(format)?;
        if self.format.is_none() {
            job.out.note(format!("{}: read as {}, by its name", self.file, format.name()));
        }
        match format {
            TraceFormat::Csv
            | TraceFormat::Pcap
            | TraceFormat::FlowLog
            | TraceFormat::Zeek
            | TraceFormat::NetFlow => self.rows(RowFormat::Csv, job),
            TraceFormat::HpccFlows => self.rows(RowFormat::HpccFlows, job),
            TraceFormat::HpccFct => self.rows(RowFormat::HpccFct, job),
            TraceFormat::Cm => self.matrix(job),
            TraceFormat::Goal => self.program(&job.file("file", &self.source())?, job),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{fabric, made_with, refusal_with};
    use super::super::{Count, Setting, Traffic, TrafficBuilder, WorkloadSpec};
    use super::*;

    fn spec(file: &str) -> WorkloadSpec {
        let time_unit = file.ends_with(".cm").then_some(TimeUnit::Us);
        let file = file.into();
        WorkloadSpec::Trace(Trace {
            file,
            time_unit,
            start: Time::us(3),
            class: 2,
            ..Trace::default()
        })
    }
    fn listed(traffic: &Traffic) -> Vec<(u32, u32, u64, Start, u8)> {
        let row = |(c, f): (&super::super::Conn, &super::super::Flow)| {
            (c.src.0, c.dst.0, f.bytes, f.start, c.class)
        };
        traffic.conns.iter().zip(&traffic.flows).map(row).collect()
    }

    #[test]
    fn both_formats_give_the_same_traffic() {
        let cm = "Nodes 64\nConnections 2\n0->5 start 0 size 10\n63->0 start 4 size 20\n";
        let csv = "src,dst,bytes,start_s\n0,5,10,0\n63,0,20,4e-6\n";
        let expected =
            [(0, 5, 10, Start::At(Time::us(3)), 2), (63, 0, 20, Start::At(Time::us(7)), 2)];
        assert_eq!(listed(&made_with(&spec("a.cm"), &fabric(), cm)), expected);
        assert_eq!(listed(&made_with(&spec("a.csv"), &fabric(), csv)), expected);
        let classed = "src,dst,bytes,start_s,class\n0,5,10,0,7\n";
        assert_eq!(listed(&made_with(&spec("a.csv"), &fabric(), classed))[0].4, 7);
    }

    /// Only a matrix with triggers is in memory as a whole. An unused trigger changes no flow.
    #[test]
    fn a_matrix_gives_the_same_traffic_with_and_without_triggers() {
        let flows =
            "0->5 start 1 size 10 prio 3\n63->0 start 4 size 20\n5->6 size 9 prio 1 start 2\n";
        let plain = format!("Nodes 64\nConnections 3\n{flows}");
        let triggered =
            format!("Nodes 64\nConnections 3\nTriggers 1\n{flows}trigger id 4 oneshot\n");
        for priorities in [false, true] {
            let WorkloadSpec::Trace(trace) = spec("a.cm") else { unreachable!() };
            let spec = WorkloadSpec::Trace(Trace { priorities, ..trace });
            let made = listed(&made_with(&spec, &fabric(), &plain));
            assert_eq!(made, listed(&made_with(&spec, &fabric(), &triggered)));
            let classes: Vec<u8> = made.iter().map(|row| row.4).collect();
            assert_eq!(classes, if priorities { [6, 7, 2] } else { [2, 2, 2] });
        }
    }

    #[test]
    fn a_counted_sample_is_the_sample_and_reads_no_further() {
        let csv = "src,dst,bytes,start_s\n0,5,10,0\n63,0,20,4e-6\n5,6,9,0\n6,7,9,0\n";
        let cm = "Nodes 64\nConnections 4\n0->5 start 0 size 1\n63->0 start 4 size 20\n5->6 size 9 start 0\n6->7 size 9 start 0\n";
        for (file, text) in [("a.csv", csv), ("a.cm", cm)] {
            let sample = |mut out: TrafficBuilder, text: String| {
                let (fabric, files) = (fabric(), |_: &str| Ok(text.clone()));
                let setting =
                    Setting { fabric: &fabric, horizon: Time::s(1), seed: 1, files: &files };
                spec(file).generate(0, &setting, &mut out).unwrap();
                let counts = out.counts().to_vec();
                (listed(&out.finish_sample().unwrap()), counts)
            };
            let first = sample(TrafficBuilder::sample(64, 2), text.into());
            assert_eq!(first.1, [Count { made: 2, all: 4 }]);
            let damaged = text.replace("7", "damaged");
            let again = TrafficBuilder::counted_sample(64, 2, &first.1);
            assert_eq!(sample(again, damaged), first);
        }
    }

    #[test]
    fn unusable_traces_say_why() {
        let head = "src,dst,bytes,start_s";
        for (file, text, why) in [
            ("", "", "its name does not say"),
            ("flows.txt", "", "add format = \"csv\", \"cm\", \"hpcc-flows\""),
            ("a.cm", "Nodes 65\nConnections 0\n", "65 nodes: the fabric has 64 hosts"),
            ("a.cm", "Nodes 64\nConnections 0\n", "a.cm: the trace has no flows"),
            (
                "a.cm",
                "Nodes 64\nConnections 1\n0->1 start 0 size 5 send_done_trigger 2\n",
                "a.cm: line 3: trigger 2 is not in the file",
            ),
            ("a.csv", head, "a.csv: the trace has no flows"),
            ("a.cm", "Nodes 64\nConnections 9\n", "a.cm: line 2: 9 connections announced, 0 found"),
            ("a.csv", &format!("{head}\n0,64,1,0\n"), "hosts 0 to 63"),
            ("a.csv", &format!("{head},class\n0,1,1,0,8\n"), "classes 0 to 7"),
        ] {
            let error = refusal_with(&spec(file), &fabric(), text);
            assert!(error.contains(why), "{file} {text:?}: {error}");
        }
    }
}
