//! Hosts joined by real switches: Open vSwitch in user space, with this program as their controller by OpenFlow 1.3.
//!
//! Each switch of a graph is a bridge of an Open vSwitch that belongs to this emulation alone ([`vswitch`]), and each link
//! a pair of interfaces whose queues send at its rate (`cables`). The controller knows routes and connections from the
//! plan of the run, and installs them as entries (`entries`). It reads the counts of entries at each poll of a scheme that
//! chooses paths, and changes entries as the scheme decides ([`controller`]): the scheme is the one of the simulator.
//!
//! How long a switch takes to answer an echo request shows how late it forwards packets, because one thread of Open vSwitch
//! does both.

mod cables;
mod channel;
pub mod controller;
mod entries;
pub mod observer;
pub mod ports;
pub mod vswitch;

use crate::clock::Dilation;
use crate::namespace::{self, HostError, KernelTcp};
use cables::{Cables, Kept};
use channel::Channel;
pub use entries::Entries;
use slotline_net::id::NodeId;
use slotline_net::topology::{Graph, NodeKind, Wiring};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use vswitch::OpenVswitch;

/// What a network of real switches is made of.
#[derive(Clone, Debug)]
pub struct SwitchOptions {
    /// The settings of hosts' TCP. Their interfaces have its largest packet.
    pub tcp: KernelTcp,
    /// Bytes on the wire of a packet besides its IP packet.
    pub framing: u32,
    /// Room for waiting packets at each port of a switch, in bytes on the wire.
    pub buffer: u64,
    /// How many times slower than in the scenario links are.
    pub dilation: Dilation,
}

/// The network. Dropping it removes it; it also ends with this process and its namespaces.
pub struct RealNetwork {
    vswitch: OpenVswitch,
    hosts: Vec<OwnedFd>,
    options: SwitchOptions,
    _cables: Kept,
    channels: Vec<(NodeId, Channel)>,
}

/// The reason why a network of real switches cannot be made or used.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// A host cannot be made.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A program, a link or a connection to a switch fails.
    #[error("cannot {what}: {why}")]
    Failed {
        /// The operation that failed.
        what: &'static str,
        /// The reason.
        why: String,
    },
}

/// An error of an operation, as words.
fn failed<E: std::fmt::Display>(what: &'static str) -> impl FnOnce(E) -> SwitchError {
    move |error| SwitchError::Failed { what, why: error.to_string() }
}

impl RealNetwork {
    /// Makes the switches and links of `graph` in the present network namespace, which should belong to this process
    /// alone, and a host for each host of the graph. `folder` gets the files of Open vSwitch.
    ///
    /// # Errors
    /// A program is missing, the kernel lacks a feature, or this user lacks the permission.
    pub fn new(
        graph: &Graph,
        wiring: &Wiring,
        options: &SwitchOptions,
        folder: &Path,
    ) -> Result<RealNetwork, SwitchError> {
        let name = |node: &NodeId| graph.nodes[node.at()].name.as_str();
        let hosts = graph.hosts.iter().map(|node| namespace::empty(name(node)));
        let hosts = hosts.collect::<Result<Vec<OwnedFd>, _>>()?;
        let cables = Cables { graph, wiring, hosts: &hosts, options };
        let vswitch = OpenVswitch::start(folder).map_err(failed("start Open vSwitch"))?;
        let switches: Vec<NodeId> = switches(graph).collect();
        let bridges = switches.iter().map(|node| (bridge(*node), cables.ports(*node)));
        vswitch.add_bridges(&bridges.collect::<Vec<_>>()).map_err(failed("make switches"))?;
        let kept = cables.open().map_err(failed("make links"))?;
        vswitch.settle().map_err(failed("make switches"))?;
        cables.join().map_err(failed("join hosts and switches by links"))?;
        let open = |node: &NodeId| {
            let (socket, name) = (vswitch.socket(&bridge(*node)), name(node).to_owned());
            Ok((*node, Channel::open(&socket, name)?))
        };
        let channels = switches.iter().map(open).collect::<io::Result<Vec<_>>>();
        let channels = channels.map_err(failed("connect to a switch"))?;
        let options = options.clone();
        Ok(RealNetwork { vswitch, hosts, options, _cables: kept, channels })
    }

    /// The links of the network.
    fn cables<'a>(&'a self, graph: &'a Graph, wiring: &'a Wiring) -> Cables<'a> {
        Cables { graph, wiring, hosts: &self.hosts, options: &self.options }
    }

    /// The network namespaces of the hosts, in their order.
    ///
    /// # Errors
    /// There is no room for another file descriptor.
    pub fn namespaces(&self) -> io::Result<Vec<OwnedFd>> {
        self.hosts.iter().map(OwnedFd::try_clone).collect()
    }
}

/// The switches of a graph.
fn switches(graph: &Graph) -> impl Iterator<Item = NodeId> + '_ {
    let nodes = (0..).map(NodeId).zip(&graph.nodes);
    nodes.filter(|(_, info)| info.kind == NodeKind::Switch).map(|(node, _)| node)
}

/// The name of the bridge of a switch.
fn bridge(node: NodeId) -> String {
    format!("b{}", node.0)
}
