//! The parts of a simulation.

use crate::journal::Follow;
use slotline_net::aqm::Marker;
use slotline_net::aqm::spec::SharedSpec;
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::host::Host;
use slotline_net::node::notify::Senders;
use slotline_net::node::{Change, Node};
use slotline_net::route::Routes;
use slotline_net::time::Time;
use slotline_net::topology::Graph;
use slotline_net::units::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The content of a node of the graph.
pub enum Place {
    /// A plain output-queued switch: look up, enqueue, serialise. Engine code over flat arrays.
    Switch,
    /// A host.
    Host(Box<Host>),
    /// Any other node, called through the trait.
    Node(Box<dyn Node>),
}

/// The queue of a node's port.
#[derive(Clone, Default)]
pub struct Queue {
    /// The node selects each packet ([`Node::transmit`]); the other fields are then unused.
    pub pulled: bool,
    /// FIFO: the limit of bytes not yet sent, or `None` for no limit.
    pub limit: Option<Bytes>,
    /// FIFO: ECN-capable packets that find more than this waiting are marked.
    pub mark: Option<Bytes>,
    /// FIFO: a discipline instead of the threshold. It must decide either when packets arrive or when they leave.
    pub marker: Option<Marker>,
    /// FIFO with a discipline that decides when packets leave: the bytes of the largest packet.
    pub largest: u64,
}

/// A network ready to run.
pub struct Network {
    /// Nodes and links.
    pub graph: Graph,
    /// Routes in force at the start.
    pub routes: Arc<Routes>,
    /// The contents of nodes, by node.
    pub places: Vec<Place>,
    /// The queues of ports, by node, then port.
    pub queues: Vec<Vec<Queue>>,
    /// The buffers that the ports of plain switches share, by node.
    pub buffers: BTreeMap<NodeId, SharedSpec>,
    /// The senders of packets, if plain switches notify them.
    pub senders: Senders,
    /// Changes with their time and place, in any order.
    pub timeline: Vec<(Time, NodeId, Change)>,
    /// Ports whose backlog and bytes are sampled.
    pub sampled: Vec<(NodeId, PortId)>,
    /// Interval between samples; zero for none.
    pub interval: Time,
    /// The packets that are recorded.
    pub follow: Follow,
}

/// Port numbering over all nodes: each node's ports in order, then one slot for its own events.
pub(crate) struct Layout {
    /// First port index of each node, and the total at the end.
    pub first: Vec<u32>,
    /// Node of each port index.
    pub node: Vec<u32>,
}

impl Layout {
    pub fn new(graph: &Graph) -> Layout {
        let mut first = vec![0];
        let mut node = Vec::new();
        for (index, ports) in graph.ports().into_iter().enumerate() {
            node.extend(std::iter::repeat_n(index as u32, usize::from(ports) + 1));
            first.push(node.len() as u32);
        }
        Layout { first, node }
    }
    pub fn port(&self, node: NodeId, port: PortId) -> u32 {
        self.first[node.at()] + u32::from(port.0)
    }
    /// The slot for a node's own events.
    pub fn own(&self, node: usize) -> u32 {
        self.first[node + 1] - 1
    }
}
