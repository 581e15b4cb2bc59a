//! Imports: files of other programs are converted into parts of a scenario.
//!
//! Each kind of file is a variant of [`Kind`], which the command line selects by its name.

pub mod captures;
pub mod fabric;
pub mod hpcc;
pub mod lines;
mod schedule;
pub mod traffic;

use fabric::{FORMATS, FabricFormat};
use slotline_net::time::Time;
use slotline_net::topology::GraphSpec;
use slotline_net::units::Bytes;
use slotline_net::workload::cm::TimeUnit;
use std::path::{Path, PathBuf};
use traffic::TrafficKind;

/// What can be imported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Flows, or what they are made of.
    Traffic(TrafficKind),
    /// A network.
    Fabric(FabricFormat),
    /// Which circuits exist, and when.
    CircuitSchedule,
}

impl Kind {
    /// All kinds, with their names and what they are.
    pub fn all() -> Vec<(Kind, &'static str, &'static str)> {
        let traffic =
            TrafficKind::ALL.map(|(kind, name, about)| (Kind::Traffic(kind), name, about));
        let fabrics = FORMATS.map(|(format, name, about, _)| (Kind::Fabric(format), name, about));
        let schedule =
            (Kind::CircuitSchedule, "circuits", "Etalon's schedules of circuits, in microseconds");
        traffic.into_iter().chain(fabrics).chain([schedule]).collect()
    }

    /// The kind called `name`; the error lists them all.
    pub fn named(name: &str) -> Result<Kind, String> {
        let found = Kind::all().into_iter().find(|(_, known, _)| *known == name);
        found.map(|(kind, ..)| kind).ok_or_else(|| {
            let lines =
                Kind::all().into_iter().map(|(_, name, about)| format!("  {name:<15}{about}"));
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
    /// hpcc-flows, hpcc-fct: the topology file that defines which nodes are hosts.
    pub topology: Option<PathBuf>,
    /// goal: messages up to this size do not keep their sender waiting.
    pub eager: Option<Bytes>,
    /// pcap: a longer silence ends a flow.
    pub idle_gap: Option<Time>,
    /// pcap: which host has which address.
    pub addresses: Option<PathBuf>,
    /// circuits: how many times as long as in the network lengths in the file are.
    pub dilation: Option<u64>,
    /// Fabrics: rates and delays of links without, and what nodes are.
    pub fabric: GraphSpec,
}

impl Options {
    /// The first option that is given and says nothing about networks.
    fn of_traffic(&self) -> Option<&'static str> {
        let given = [
            ("--time-unit", self.time_unit.is_some()),
            ("--priorities", self.priorities),
            ("--fat-tree", self.fat_tree.is_some()),
            ("--topology", self.topology.is_some()),
            ("--eager", self.eager.is_some()),
            ("--idle-gap", self.idle_gap.is_some()),
            ("--addresses", self.addresses.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }
}

/// The result of an import.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// Tables for a scenario file, in TOML.
    pub fragment: String,
    /// Assumptions and omissions, which the user should know.
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
    if options.dilation.is_some() && kind != Kind::CircuitSchedule {
        return Err(ImportError("--dilation is for schedules of circuits".into()));
    }
    let mut imported = match kind {
        Kind::CircuitSchedule => circuits(file, options).map_err(ImportError)?,
        Kind::Traffic(_) if options.fabric != GraphSpec::default() => {
            let message = "--rate, --delay, --host-rate, --host-delay, --attach-hosts, --names and \
                           --host-kind are for networks: they say nothing about traffic";
            return Err(ImportError(message.into()));
        }
        Kind::Traffic(kind) => traffic::import(kind, file, options).map_err(ImportError)?,
        Kind::Fabric(format) => network(format, file, options).map_err(ImportError)?,
    };
    if let Some(out) = &options.out {
        let mut whole = lines::Whole::create(out, options.force).map_err(ImportError)?;
        whole.write(imported.fragment.as_bytes()).map_err(ImportError)?;
        imported.written.insert(0, whole.done().map_err(ImportError)?);
    }
    Ok(imported)
}

fn network(format: FabricFormat, file: &Path, options: &Options) -> Result<Imported, String> {
    if let Some(option) = options.of_traffic() {
        return Err(format!("{option} is for traffic: it does not apply to a network"));
    }
    let name = file.display().to_string();
    let text = crate::read_text(file).map_err(|error| format!("{name}: {error}"))?;
    let fragment = fabric::import(format, &text, &name, &options.fabric);
    Ok(Imported { fragment: fragment.map_err(|error| error.to_string())?, ..Imported::default() })
}

fn circuits(file: &Path, options: &Options) -> Result<Imported, String> {
    if let Some(option) = options.of_traffic() {
        return Err(format!("{option} is for traffic: it does not apply to circuits"));
    }
    if options.fabric != GraphSpec::default() {
        return Err("options of networks do not apply to circuits".into());
    }
    let name = file.display().to_string();
    let text = crate::read_text(file).map_err(|error| format!("{name}: {error}"))?;
    let fragment = schedule::import(&text, &name, options.dilation.unwrap_or(1))?;
    Ok(Imported { fragment, ..Imported::default() })
}
