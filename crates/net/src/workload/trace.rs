//! Flows read from a file.

use super::Start;
use super::cm::{self, TimeUnit};
use super::csv;
use super::job::Job;
use super::options::options;
use super::spec::Generate;
use super::text::LineError;
use crate::error::SpecError;
use crate::id::HostId;
use crate::time::Time;
use crate::units::Bytes;

/// One flow of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Index of the sending host.
    pub src: u32,
    /// Index of the receiving host.
    pub dst: u32,
    /// Size, at least 1.
    pub bytes: u64,
    /// When it starts, from the start of the trace.
    pub start: Time,
    /// Its priority class, where the trace gives one.
    pub class: Option<u8>,
}

options! {
    /// Flows as listed in a file, each on a connection of its own.
    Trace {
        /// The file: an htsim connection matrix (`.cm`) or CSV with header
        /// `src,dst,bytes,start_s[,class]` (`.csv`).
        #[schemars(extend("x-required" = true, "x-type" = "file"))]
        file: String = String::new(),
        /// Unit of `start` in a connection matrix.
        time_unit: TimeUnit = TimeUnit::Ps,
        /// When the trace starts.
        start: Time = Time::ZERO,
        /// Priority class, 0 to 7, of flows whose trace gives none.
        #[schemars(range(max = 7))]
        class: u8 = 0,
    }
}

impl Trace {
    fn wrong(&self, why: impl std::fmt::Display) -> SpecError {
        SpecError::new("file", format!("{}: {why}", self.file))
    }

    fn entries(&self, job: &Job) -> Result<Vec<Entry>, SpecError> {
        let wrong = |e: LineError| self.wrong(e);
        match self.file.rsplit_once('.').map(|(_, extension)| extension) {
            Some("csv") => csv::parse(&job.file("file", &self.file)?).map_err(wrong),
            Some("cm") => {
                let matrix =
                    cm::parse(&job.file("file", &self.file)?, self.time_unit).map_err(wrong)?;
                let hosts = job.setting.fabric.hosts.len();
                if matrix.nodes as usize > hosts {
                    return Err(
                        self.wrong(format!("{} nodes: the fabric has {hosts} hosts", matrix.nodes))
                    );
                }
                Ok(matrix.entries)
            }
            _ => Err(SpecError::new(
                "file",
                format!("`{}`: expected a file ending in .cm or .csv", self.file),
            )),
        }
    }
}

impl Generate for Trace {
    fn generate(&self, job: &mut Job) -> Result<(), SpecError> {
        let entries = self.entries(job)?;
        if entries.is_empty() {
            return Err(self.wrong("the trace has no flows"));
        }
        job.out.check_room("file", entries.len() as u64)?;
        for entry in entries {
            let class = entry.class.unwrap_or(self.class);
            let conn =
                job.tcp(HostId(entry.src), HostId(entry.dst), class).map_err(|e| self.wrong(e))?;
            job.send(conn, Bytes(entry.bytes), Start::At(self.start.after(entry.start)), None)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{fabric, made_with, refusal_with};
    use super::super::{Traffic, WorkloadSpec};
    use super::*;

    fn spec(file: &str) -> WorkloadSpec {
        let time_unit = TimeUnit::Us;
        WorkloadSpec::Trace(Trace { file: file.into(), time_unit, start: Time::us(3), class: 2 })
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

    #[test]
    fn unusable_traces_say_why() {
        let head = "src,dst,bytes,start_s";
        for (file, text, why) in [
            ("", "", "ending in .cm or .csv"),
            ("flows.txt", "", "ending in .cm or .csv"),
            ("a.cm", "Nodes 65\nConnections 0\n", "65 nodes: the fabric has 64 hosts"),
            ("a.cm", "Nodes 64\nConnections 0\n", "a.cm: the trace has no flows"),
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
