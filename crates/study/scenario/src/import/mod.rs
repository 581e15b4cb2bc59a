//! Imports: files of other programs are converted into parts of a scenario.
//!
//! Each kind of file has an [`Importer`], which the command line selects by its name. A new importer is a file of its
//! own and one line in `OWN`. A format of networks is an entry of [`FORMATS`].

pub mod captures;
pub mod fabric;
mod goal;
pub mod hpcc;
mod htsim_cm;
mod job;
pub mod lines;
mod lldp;
mod logs;
mod pcap;
mod rows;
mod schedule;
mod sizes;

pub use logs::log_columns;

use fabric::{FORMATS, FabricFormat};
use job::Job;
use slotline_formats::topology::spanning_tree::SpanningTree;
use slotline_net::time::Time;
use slotline_net::topology::GraphSpec;
use slotline_net::units::Bytes;
use slotline_net::workload::cm::TimeUnit;
use slotline_net::workload::log_columns::LogColumns;
use slotline_net::workload::moment::Moment;
use std::path::{Path, PathBuf};

/// A reader of one kind of file.
#[derive(Clone, Copy, Debug)]
pub struct Importer {
    /// Its name on the command line.
    pub name: &'static str,
    /// The description of the file.
    pub about: &'static str,
    /// The options that apply to it, besides those about the files that are written.
    options: &'static [&'static str],
    read: Reader,
}

#[derive(Clone, Copy, Debug)]
enum Reader {
    File(fn(&Job<'_>) -> Result<Imported, String>),
    Network(FabricFormat),
}

/// The importers of files that are not networks.
const OWN: [Importer; 12] = [
    htsim_cm::IMPORTER,
    rows::HPCC_FLOWS,
    rows::HPCC_FCT,
    sizes::IMPORTER,
    goal::IMPORTER,
    pcap::IMPORTER,
    logs::TABLE,
    logs::ZEEK,
    logs::NETFLOW,
    rows::CSV,
    schedule::IMPORTER,
    lldp::IMPORTER,
];

/// The options of networks. Readers refuse those that do not fit a format.
const OF_NETWORKS: &[&str] = &[
    "--rate",
    "--delay",
    "--host-rate",
    "--host-delay",
    "--attach-hosts",
    "--names",
    "--host",
    "--host-kind",
    "--spanning-tree",
];

impl Importer {
    /// All importers.
    pub fn all() -> impl Iterator<Item = Importer> {
        let networks = FORMATS.iter().map(|format| Importer {
            name: format.name,
            about: format.about,
            options: OF_NETWORKS,
            read: Reader::Network(format.format),
        });
        OWN.into_iter().chain(networks)
    }

    /// The importer called `name`; the error lists them all.
    pub fn named(name: &str) -> Result<Importer, String> {
        Importer::all().find(|importer| importer.name == name).ok_or_else(|| {
            let line = |importer: Importer| format!("  {:<15}{}", importer.name, importer.about);
            format!("there are:\n{}", Importer::all().map(line).collect::<Vec<_>>().join("\n"))
        })
    }

    /// Whether it reads networks.
    pub fn is_network(&self) -> bool {
        matches!(self.read, Reader::Network(_))
    }

    /// Refuses options that do not apply.
    fn check(&self, options: &Options) -> Result<(), String> {
        let mut given = options.given();
        let Some(option) = given.find(|option| !self.options.contains(option)) else {
            return Ok(());
        };
        let fitting = Importer::all().filter(|other| other.options.contains(&option));
        let names: Vec<&str> = fitting.map(|other| other.name).collect();
        Err(format!("{option} is for {}: it does not apply to {}", names.join(", "), self.name))
    }

    fn read(&self, file: &Path, options: &Options) -> Result<Imported, String> {
        self.check(options)?;
        let job = Job { name: self.name, file, options };
        match self.read {
            Reader::File(read) => read(&job),
            Reader::Network(format) => {
                let name = file.display().to_string();
                let tree = options.spanning_tree.as_deref().map(spanning_tree).transpose()?;
                let text = job.text()?;
                let fragment =
                    fabric::import_on(format, &text, &name, &options.fabric, tree.as_ref());
                let fragment = fragment.map_err(|error| error.to_string())?;
                Ok(Imported { fragment, ..Imported::default() })
            }
        }
    }
}

/// The spanning tree in the file at `path`.
fn spanning_tree(path: &Path) -> Result<SpanningTree, String> {
    let name = path.display();
    let text = crate::read_text(path).map_err(|error| format!("{name}: {error}"))?;
    SpanningTree::parse(&text).map_err(|error| format!("{name}:{}: {}", error.line, error.message))
}

/// The options of an import. Those that do not apply to the kind of file are refused.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The file for the fragment. The traffic is written to a file beside it. Without it nothing is written.
    pub out: Option<PathBuf>,
    /// Whether existing files are replaced.
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
    /// pcap: a longer pause ends a flow.
    pub idle_gap: Option<Time>,
    /// pcap and logs: the file with the addresses of hosts.
    pub addresses: Option<PathBuf>,
    /// Logs: the moment that is time zero.
    pub epoch: Option<Moment>,
    /// flow-log: names of columns.
    pub columns: Option<LogColumns>,
    /// flow-log, netflow: bytes of headers in each packet, which are not payload.
    pub packet_headers: Option<Bytes>,
    /// circuits: the factor by which times in the file are longer than in the network.
    pub dilation: Option<u64>,
    /// containerlab: the file with the states of the bridges' ports.
    pub spanning_tree: Option<PathBuf>,
    /// Fabrics: rates and delays of links that have none, and the kinds of nodes.
    pub fabric: GraphSpec,
}

impl Options {
    /// The options that are given, besides those about the files that are written.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        let network = &self.fabric;
        let all = [
            ("--time-unit", self.time_unit.is_some()),
            ("--priorities", self.priorities),
            ("--fat-tree", self.fat_tree.is_some()),
            ("--topology", self.topology.is_some()),
            ("--eager", self.eager.is_some()),
            ("--idle-gap", self.idle_gap.is_some()),
            ("--addresses", self.addresses.is_some()),
            ("--epoch", self.epoch.is_some()),
            ("--column", self.columns.is_some()),
            ("--packet-headers", self.packet_headers.is_some()),
            ("--dilation", self.dilation.is_some()),
            ("--rate", network.rate.is_some()),
            ("--delay", network.delay.is_some()),
            ("--host-rate", network.host_rate.is_some()),
            ("--host-delay", network.host_delay.is_some()),
            ("--attach-hosts", network.attach_hosts.is_some()),
            ("--names", network.names.is_some()),
            ("--host", !network.hosts.is_empty()),
            ("--host-kind", network.host_kinds.is_some()),
            ("--spanning-tree", self.spanning_tree.is_some()),
        ];
        all.into_iter().filter(|(_, given)| *given).map(|(option, _)| option)
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

/// Reads `file` with `importer` and converts it into a part of a scenario. With [`Options::out`], the part is written
/// to that file.
pub fn import(importer: Importer, file: &Path, options: &Options) -> Result<Imported, ImportError> {
    let mut imported = importer.read(file, options).map_err(ImportError)?;
    if let Some(out) = &options.out {
        let mut whole = lines::Whole::create(out, options.force).map_err(ImportError)?;
        whole.write(imported.fragment.as_bytes()).map_err(ImportError)?;
        imported.written.insert(0, whole.done().map_err(ImportError)?);
    }
    Ok(imported)
}
