//! What people bring: files of other programs, turned into parts of a scenario.
//!
//! A kind of file is a variant of [`Kind`], told apart by the name that the command line has for it.

pub mod captures;
pub mod hpcc;
pub mod lines;
pub mod traffic;

use slotline_net::time::Time;
use slotline_net::units::Bytes;
use slotline_net::workload::cm::TimeUnit;
use std::path::{Path, PathBuf};
use traffic::TrafficKind;

/// What can be imported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Flows, or what they are made of.
    Traffic(TrafficKind),
}

impl Kind {
    /// All kinds, with their names and what they are.
    pub fn all() -> Vec<(Kind, &'static str, &'static str)> {
        let traffic = TrafficKind::ALL.iter();
        traffic.map(|(kind, name, about)| (Kind::Traffic(*kind), *name, *about)).collect()
    }

    /// The kind called `name`; the error lists them all.
    pub fn named(name: &str) -> Result<Kind, String> {
        let found = Kind::all().into_iter().find(|(_, known, _)| *known == name);
        found.map(|(kind, ..)| kind).ok_or_else(|| {
            let lines =
                Kind::all().into_iter().map(|(_, name, about)| format!("  {name:<12}{about}"));
            format!("there are:\n{}", lines.collect::<Vec<_>>().join("\n"))
        })
    }
}

/// What the command line says about an import. What does not apply to a kind is refused.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where the fragment goes; the traffic is written beside it. Without it nothing is written.
    pub out: Option<PathBuf>,
    /// Whether files that are there are replaced.
    pub force: bool,
    /// htsim-cm: unit of `start`.
    pub time_unit: Option<TimeUnit>,
    /// htsim-cm, hpcc-flows: whether priorities become classes.
    pub priorities: bool,
    /// htsim-cm: the fabric is a fat-tree with this `k`, for failures.
    pub fat_tree: Option<u32>,
    /// hpcc-flows, hpcc-fct: the topology file that says which nodes are hosts.
    pub topology: Option<PathBuf>,
    /// goal: messages up to this size do not keep their sender waiting.
    pub eager: Option<Bytes>,
    /// pcap: a longer silence ends a flow.
    pub idle_gap: Option<Time>,
    /// pcap: which host has which address.
    pub addresses: Option<PathBuf>,
}

/// What came of an import.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// Tables for a scenario file, in TOML.
    pub fragment: String,
    /// What people should know: what was assumed and left out.
    pub notes: Vec<String>,
    /// Files that were written.
    pub written: Vec<PathBuf>,
}

/// Why an import cannot be done.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ImportError(pub String);

/// Reads `file` as `kind` and makes a part of a scenario of it. Where [`Options::out`] is given, that
/// part is written there.
pub fn import(kind: Kind, file: &Path, options: &Options) -> Result<Imported, ImportError> {
    let mut imported = match kind {
        Kind::Traffic(kind) => traffic::import(kind, file, options).map_err(ImportError)?,
    };
    if let Some(out) = &options.out {
        let mut whole = lines::Whole::create(out, options.force).map_err(ImportError)?;
        whole.write(imported.fragment.as_bytes()).map_err(ImportError)?;
        imported.written.insert(0, whole.done().map_err(ImportError)?);
    }
    Ok(imported)
}
