//! Networks: readers of topology files, and a writer of labs.
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
mod show_spanning_tree;
pub mod spanning_tree;

pub use slotline_net::topology::FabricFormat;

use crate::error::FormatError;
use slotline_net::error::SpecError;
use slotline_net::topology::GraphSpec;
use spanning_tree::SpanningTree;

/// A format of files that describe a network.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The format, as scenarios have it.
    pub format: FabricFormat,
    /// Its name.
    pub name: &'static str,
    /// A short description.
    pub about: &'static str,
    /// The endings of file names that imply the format.
    endings: &'static [&'static str],
    /// The keys of a scenario's fabric that may be given with such a file.
    keys: &'static [&'static str],
    read: fn(&str, &GraphSpec) -> Result<Fabric, ReadError>,
}

const GRAPH_KEYS: &[&str] =
    &["rate", "delay", "host-rate", "host-delay", "attach-hosts", "hosts", "names"];
const LAB_KEYS: &[&str] = &[
    "rate",
    "delay",
    "host-rate",
    "host-delay",
    "attach-hosts",
    "hosts",
    "host-kinds",
    "spanning-tree",
];

/// All formats.
pub const FORMATS: [Format; 5] = [
    Format {
        format: FabricFormat::NodeLink,
        name: "node-link",
        about: "networkx's node-link JSON",
        endings: &[".json"],
        keys: GRAPH_KEYS,
        read: node_link::read,
    },
    Format {
        format: FabricFormat::Graphml,
        name: "graphml",
        about: "GraphML",
        endings: &[".graphml"],
        keys: GRAPH_KEYS,
        read: graphml::read,
    },
    Format {
        format: FabricFormat::HtsimTopo,
        name: "htsim-topo",
        about: "htsim's generic fat-tree",
        endings: &[".topo"],
        keys: &[],
        read: htsim_topo::read,
    },
    Format {
        format: FabricFormat::HpccTopology,
        name: "hpcc-topology",
        about: "topology of HPCC's simulator",
        endings: &[],
        keys: &[],
        read: hpcc_topology::read,
    },
    Format {
        format: FabricFormat::Containerlab,
        name: "containerlab",
        about: "a containerlab topology",
        endings: &[".clab.yml", ".clab.yaml"],
        keys: LAB_KEYS,
        read: containerlab::read,
    },
];

/// The network in a file, and the content that was not read.
#[derive(Clone, Debug, PartialEq)]
pub struct Fabric {
    /// The network: hosts, switches and links written out, `file` and how to read it left out.
    pub spec: GraphSpec,
    /// Other content of the file that is not used, such as the names of unknown attributes.
    pub unread: Vec<String>,
    /// What was assumed about nodes that the file does not describe as hosts or switches.
    pub assumed: Vec<String>,
}

/// The reason why there is no [`Fabric`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The options contradict each other or the file.
    #[error("{0}")]
    Asked(SpecError),
    /// The file has an error.
    #[error("{0}")]
    File(#[from] FormatError),
}

/// The row of `format`.
fn row(format: FabricFormat) -> &'static Format {
    FORMATS.iter().find(|row| row.format == format).expect("each format has a row")
}

/// The name of `format`.
pub fn name(format: FabricFormat) -> &'static str {
    row(format).name
}

/// The format called `name`.
pub fn named(name: &str) -> Option<FabricFormat> {
    FORMATS.iter().find(|row| row.name == name).map(|row| row.format)
}

/// The format to which the ending of a file's name belongs.
pub fn by_ending(file: &str) -> Option<FabricFormat> {
    let fits = |row: &&Format| row.endings.iter().any(|ending| file.ends_with(ending));
    FORMATS.iter().find(fits).map(|row| row.format)
}

/// Reads `text` as a file of `format`. The rates and delays of `asked` apply to links that have none in the file.
/// Its `hosts`, `attach_hosts`, `names` and `host_kinds` say what the nodes are. Its overrides stay as they are.
pub fn read(format: FabricFormat, text: &str, asked: &GraphSpec) -> Result<Fabric, ReadError> {
    let row = row(format);
    row.check(asked).map_err(ReadError::Asked)?;
    let fabric = (row.read)(text, asked);
    fabric.map_err(|error| match error {
        // A parser may fail after the last line.
        ReadError::File(FormatError { line, message }) => {
            let last = text.split('\n').count();
            ReadError::File(FormatError::new(line.min(last), message))
        }
        asked => asked,
    })
}

/// Reads `text` as a containerlab topology whose switches are bridges, without the links that their spanning tree
/// blocks.
pub fn read_on_tree(
    text: &str,
    asked: &GraphSpec,
    tree: &SpanningTree,
) -> Result<Fabric, ReadError> {
    row(FabricFormat::Containerlab).check(asked).map_err(ReadError::Asked)?;
    containerlab::read_on(text, asked, Some(tree))
}

/// An error in `line`.
fn fail<T>(line: usize, why: impl Into<String>) -> Result<T, FormatError> {
    Err(FormatError::new(line, why))
}

impl Format {
    /// Refuses keys that have no meaning with such a file.
    fn check(&self, asked: &GraphSpec) -> Result<(), SpecError> {
        let given = [
            ("rate", asked.rate.is_some()),
            ("delay", asked.delay.is_some()),
            ("host-rate", asked.host_rate.is_some()),
            ("host-delay", asked.host_delay.is_some()),
            ("attach-hosts", asked.attach_hosts.is_some()),
            ("hosts", !asked.hosts.is_empty()),
            ("spanning-tree", asked.spanning_tree.is_some()),
            ("names", asked.names.is_some()),
            ("host-kinds", asked.host_kinds.is_some()),
            ("switches", !asked.switches.is_empty()),
            ("link", !asked.link.is_empty()),
        ];
        let wrong = given.into_iter().find(|(key, given)| *given && !self.keys.contains(key));
        if let Some((key, _)) = wrong {
            let message = format!("`{key}` does not go with a {} file: leave it out", self.name);
            return Err(SpecError::new(key, message));
        }
        if asked.attach_hosts.is_some() && !asked.hosts.is_empty() {
            let message = "`hosts` and `attach-hosts` are both given: leave one out";
            return Err(SpecError::new("attach-hosts", message));
        }
        Ok(())
    }
}
