//! `runs.json`: the data of a result that is not in its tables, and the checksums of its files.

use super::written::checksum;
use crate::record::{
    Conservation, Emulation, EngineStats, FailedRun, NEVER, RunRecord, RunSet, Window,
};
use serde::{Deserialize, Serialize};
use slotline_net::node::DropReason;
use slotline_scenario::metric::Metric;
use std::collections::BTreeMap;

/// The number of the result format that this program writes and reads. It changes when a table, column or key changes.
pub const SCHEMA: u32 = 3;

/// The name of the file.
pub const FILE: &str = "runs.json";

/// The fields that all versions of this file have.
#[derive(Deserialize)]
pub(super) struct Head {
    pub schema: u32,
    pub version: String,
}

/// The whole file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Index {
    pub schema: u32,
    /// Version of the program that made the runs.
    pub version: String,
    /// The short name of the result.
    pub id: String,
    pub name: String,
    pub description: String,
    pub fabric: String,
    pub schemes: Vec<String>,
    pub workloads: Vec<String>,
    pub seeds: Vec<u64>,
    pub metrics: Vec<Metric>,
    pub window: Span,
    pub runs: Vec<Run>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedRun>,
    /// The files that are read back, by name.
    pub files: BTreeMap<String, Note>,
    /// The checksum of this file with [`NO_CHECKSUM`] in this place. It is the last field.
    checksum: String,
}

/// The placeholder for the checksum while it is computed.
const NO_CHECKSUM: &str = "0000000000000000";

/// The position of the checksum in the text of a file.
fn checksum_at(text: &str) -> Option<std::ops::Range<usize>> {
    const KEY: &str = "\"checksum\": \"";
    let from = text.rfind(KEY)? + KEY.len();
    text.is_char_boundary(from + NO_CHECKSUM.len()).then_some(from..from + NO_CHECKSUM.len())
}

/// `text` with its checksum in place.
pub(super) fn seal(text: &str) -> String {
    let mut sealed = text.to_string();
    if let Some(at) = checksum_at(text) {
        sealed.replace_range(at.clone(), NO_CHECKSUM);
        let sum = checksum(sealed.as_bytes());
        sealed.replace_range(at, &sum);
    }
    sealed
}

/// Whether `text` is as [`Index::text`] made it.
pub(super) fn is_unchanged(text: &str) -> bool {
    checksum_at(text).is_some() && seal(text) == text
}

/// The length and the checksum of a file.
#[derive(Serialize, Deserialize, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Note {
    pub bytes: u64,
    /// Its XXH64 checksum with seed 0, as 16 hexadecimal digits.
    pub xxh64: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Span {
    from_ps: u64,
    /// Null for the end of the run.
    until_ps: Option<u64>,
}

/// One run, without its tables.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    scheme: String,
    seed: u64,
    cpu_s: f64,
    wall_s: f64,
    events: u64,
    packet_hops: u64,
    peak_rss_bytes: u64,
    digest: String,
    threads: u32,
    sim_time_ps: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    flow_level: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    emulation: Option<Emulation>,
    sent: u64,
    delivered: u64,
    dropped: BTreeMap<String, u64>,
    in_flight: u64,
    /// Number of rows by table; tables without rows are left out.
    rows: BTreeMap<String, usize>,
    /// Ports captured.
    pub captures: Vec<CaptureNote>,
}

/// A capture, without its packets.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CaptureNote {
    /// Number of the port in the run.
    pub port: u32,
    /// Number of recorded packets.
    pub packets: usize,
    /// The number of later packets that were not recorded.
    pub omitted: u64,
}

impl Index {
    pub fn of(id: &str, set: &RunSet, files: BTreeMap<String, Note>) -> Index {
        Index {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            id: id.into(),
            name: set.name.clone(),
            description: set.description.clone(),
            fabric: set.fabric.clone(),
            schemes: set.schemes.clone(),
            workloads: set.workloads.clone(),
            seeds: set.seeds.clone(),
            metrics: set.metrics.clone(),
            window: Span::of(set.window),
            runs: set.in_order().into_iter().map(Run::of).collect(),
            failed: set.failed.clone(),
            files,
            checksum: NO_CHECKSUM.into(),
        }
    }
    /// The text of the file, with its checksum.
    pub fn text(&self) -> String {
        // Plain data with text keys always has a JSON form.
        seal(&(serde_json::to_string_pretty(self).expect("plain data") + "\n"))
    }
    /// The set of runs. Their tables are empty.
    pub fn set(&self, scenario: String) -> Result<RunSet, String> {
        let runs: Result<Vec<RunRecord>, String> = self.runs.iter().map(Run::record).collect();
        Ok(RunSet {
            name: self.name.clone(),
            description: self.description.clone(),
            scenario,
            fabric: self.fabric.clone(),
            schemes: self.schemes.clone(),
            workloads: self.workloads.clone(),
            seeds: self.seeds.clone(),
            metrics: self.metrics.clone(),
            window: self.window.window(),
            runs: runs?,
            failed: self.failed.clone(),
        })
    }
}

impl Span {
    fn of(window: Window) -> Span {
        let until_ps = (window.until_ps != NEVER).then_some(window.until_ps);
        Span { from_ps: window.from_ps, until_ps }
    }
    fn window(&self) -> Window {
        Window { from_ps: self.from_ps, until_ps: self.until_ps.unwrap_or(NEVER) }
    }
}

impl Run {
    fn of(run: &RunRecord) -> Run {
        let (engine, census) = (&run.engine, &run.census);
        let dropped = |reason: DropReason| (reason.name().into(), census.dropped[reason as usize]);
        let rows = |table: &&dyn slotline_tables::tables::AnyTable| {
            let rows = table.len(run);
            (rows > 0).then(|| (table.name().to_string(), rows))
        };
        let capture = |capture: &crate::record::Capture| CaptureNote {
            port: capture.port,
            packets: capture.packets.len(),
            omitted: capture.omitted,
        };
        Run {
            scheme: run.scheme.clone(),
            seed: run.seed,
            cpu_s: engine.cpu_s,
            wall_s: engine.wall_s,
            events: engine.events,
            packet_hops: engine.packet_hops,
            peak_rss_bytes: engine.peak_rss_bytes,
            digest: format!("{:016x}", engine.digest),
            threads: engine.threads,
            sim_time_ps: engine.sim_time_ps,
            flow_level: engine.flow_level,
            emulation: engine.emulation,
            sent: census.sent,
            delivered: census.delivered,
            dropped: DropReason::ALL.into_iter().map(dropped).collect(),
            in_flight: census.in_flight,
            rows: slotline_tables::tables::ALL.iter().filter_map(rows).collect(),
            captures: run.captures.iter().map(capture).collect(),
        }
    }
    /// Rows of a table.
    pub fn rows(&self, table: &str) -> usize {
        self.rows.get(table).copied().unwrap_or(0)
    }
    fn record(&self) -> Result<RunRecord, String> {
        let digest = u64::from_str_radix(&self.digest, 16);
        let wrong = || {
            format!(
                "the digest of {}, seed {}, is not a hexadecimal number",
                self.scheme, self.seed
            )
        };
        Ok(RunRecord {
            scheme: self.scheme.clone(),
            seed: self.seed,
            engine: EngineStats {
                cpu_s: self.cpu_s,
                wall_s: self.wall_s,
                events: self.events,
                packet_hops: self.packet_hops,
                peak_rss_bytes: self.peak_rss_bytes,
                digest: digest.map_err(|_| wrong())?,
                threads: self.threads,
                sim_time_ps: self.sim_time_ps,
                flow_level: self.flow_level,
                emulation: self.emulation,
            },
            census: Conservation {
                sent: self.sent,
                delivered: self.delivered,
                dropped: self.dropped()?,
                in_flight: self.in_flight,
            },
            ..RunRecord::default()
        })
    }
    fn dropped(&self) -> Result<[u64; DropReason::ALL.len()], String> {
        let mut dropped = [0; DropReason::ALL.len()];
        for (name, packets) in &self.dropped {
            let known = DropReason::ALL.into_iter().find(|reason| reason.name() == name);
            let reason = known
                .ok_or_else(|| format!("`{name}` is not a known reason for dropping a packet"))?;
            dropped[reason as usize] = *packets;
        }
        Ok(dropped)
    }
}
