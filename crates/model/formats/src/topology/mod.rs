//! Networks: files that people bring, and a lab that they take away.
//!
//! Every reader gives a [`GraphSpec`] in which hosts, switches and links are written out.

mod attributes;
mod containerlab;
pub mod containerlab_writer;
mod draft;
mod graphml;
mod hpcc_topology;
mod htsim_sizes;
mod htsim_topo;
mod node_link;

pub use slotline_net::topology::FabricFormat;

use crate::error::FormatError;
use slotline_net::error::SpecError;
use slotline_net::topology::GraphSpec;

/// All formats: the name, what it is, and how names of such files end where that tells the format.
pub const FORMATS: [(FabricFormat, &str, &str, &[&str]); 5] = [
    (FabricFormat::NodeLink, "node-link", "networkx's node-link JSON", &[".json"]),
    (FabricFormat::Graphml, "graphml", "GraphML", &[".graphml"]),
    (FabricFormat::HtsimTopo, "htsim-topo", "htsim's generic fat-tree", &[".topo"]),
    (FabricFormat::HpccTopology, "hpcc-topology", "topology of HPCC's simulator", &[]),
    (
        FabricFormat::Containerlab,
        "containerlab",
        "a containerlab topology",
        &[".clab.yml", ".clab.yaml"],
    ),
];

/// What a file says, and what of it was not read.
#[derive(Clone, Debug, PartialEq)]
pub struct Fabric {
    /// The network: hosts, switches and links written out, `file` and how to read it left out.
    pub spec: GraphSpec,
    /// Other content of the file that is not used, such as the names of unknown attributes.
    pub unread: Vec<String>,
}

/// Why there is no [`Fabric`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The options contradict each other or the file.
    #[error("{0}")]
    Asked(SpecError),
    /// The file has an error.
    #[error("{0}")]
    File(#[from] FormatError),
}

/// The name of `format`.
pub fn name(format: FabricFormat) -> &'static str {
    FORMATS.iter().find(|entry| entry.0 == format).map_or("", |entry| entry.1)
}

/// The format called `name`.
pub fn named(name: &str) -> Option<FabricFormat> {
    FORMATS.iter().find(|entry| entry.1 == name).map(|entry| entry.0)
}

/// The format to which the ending of a file's name belongs.
pub fn by_ending(file: &str) -> Option<FabricFormat> {
    let ends = |endings: &[&str]| endings.iter().any(|ending| file.ends_with(ending));
    FORMATS.iter().find(|(.., endings)| ends(endings)).map(|entry| entry.0)
}

/// Reads `text` as a file of `format`. Of `asked`, its rates and delays hold for links that have none in
/// the file; `hosts`, `attach_hosts`, `names` and `host_kinds` say what the nodes are; its overrides stay as
/// they are.
pub fn read(format: FabricFormat, text: &str, asked: &GraphSpec) -> Result<Fabric, ReadError> {
    check(format, asked).map_err(ReadError::Asked)?;
    let fabric = match format {
        FabricFormat::NodeLink => node_link::read(text, asked),
        FabricFormat::Graphml => graphml::read(text, asked),
        FabricFormat::HtsimTopo => htsim_topo::read(text, asked),
        FabricFormat::HpccTopology => hpcc_topology::read(text, asked),
        FabricFormat::Containerlab => containerlab::read(text, asked),
    };
    fabric.map_err(|error| match error {
        // A parser may give up behind the last line.
        ReadError::File(FormatError { line, message }) => {
            let last = text.split('\n').count();
            ReadError::File(FormatError::new(line.min(last), message))
        }
        asked => asked,
    })
}

/// The refusal of what stands in `line`.
fn fail<T>(line: usize, why: impl Into<String>) -> Result<T, FormatError> {
    Err(FormatError::new(line, why))
}

/// Refuses what means nothing for a file of `format`.
fn check(format: FabricFormat, asked: &GraphSpec) -> Result<(), SpecError> {
    use FabricFormat::*;
    let graphs: &[FabricFormat] = &[NodeLink, Graphml];
    let open: &[FabricFormat] = &[NodeLink, Graphml, Containerlab];
    let given = [
        ("rate", asked.rate.is_some(), open),
        ("delay", asked.delay.is_some(), open),
        ("host-rate", asked.host_rate.is_some(), open),
        ("host-delay", asked.host_delay.is_some(), open),
        ("attach-hosts", asked.attach_hosts.is_some(), open),
        ("hosts", !asked.hosts.is_empty(), open),
        ("names", asked.names.is_some(), graphs),
        ("host-kinds", asked.host_kinds.is_some(), &[Containerlab]),
        ("switches", !asked.switches.is_empty(), &[]),
        ("link", !asked.link.is_empty(), &[]),
    ];
    let wrong = given.into_iter().find(|(_, given, fits)| *given && !fits.contains(&format));
    if let Some((key, ..)) = wrong {
        let message = format!("`{key}` does not go with a {} file: leave it out", name(format));
        return Err(SpecError::new(key, message));
    }
    if asked.attach_hosts.is_some() && !asked.hosts.is_empty() {
        let message = "`hosts` and `attach-hosts` are both given: leave one out";
        return Err(SpecError::new("attach-hosts", message));
    }
    Ok(())
}
