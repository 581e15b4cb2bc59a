//! Builds graphs: it numbers nodes, links and ports in the order of use.

use super::{End, Graph, Link, LinkParams, NodeInfo, NodeKind};
use crate::error::SpecError;
use crate::id::{NodeId, PortId};
use crate::time::Time;
use crate::units::Rate;

/// The largest number of links and switches, so that routing tables have a reasonable size.
const MAX_LINKS: u64 = 1 << 18;
const MAX_SWITCHES: u64 = 1 << 13;

/// A graph under construction.
#[derive(Default)]
pub(super) struct Builder {
    graph: Graph,
    ports: Vec<u32>,
}

impl Builder {
    fn node(&mut self, name: String, kind: NodeKind, tier: u8, pod: u32) -> NodeId {
        self.graph.nodes.push(NodeInfo { name, kind, tier, pod });
        self.ports.push(0);
        NodeId(self.ports.len() as u32 - 1)
    }

    /// Adds `count` hosts, named `h0`, `h1`, … in order over the whole fabric.
    pub fn hosts(&mut self, count: u32, pod: u32) -> Vec<NodeId> {
        (0..count).map(|_| self.host(pod)).collect()
    }

    fn host(&mut self, pod: u32) -> NodeId {
        self.named_host(format!("h{}", self.graph.hosts.len()), pod)
    }

    /// Adds a host.
    pub fn named_host(&mut self, name: String, pod: u32) -> NodeId {
        let node = self.node(name, NodeKind::Host, 0, pod);
        self.graph.hosts.push(node);
        node
    }

    /// Adds a switch.
    pub fn switch(&mut self, name: String, tier: u8, pod: u32) -> NodeId {
        self.node(name, NodeKind::Switch, tier, pod)
    }

    fn next_port(&mut self, node: NodeId) -> End {
        let port = PortId(self.ports[node.at()] as u16);
        self.ports[node.at()] += 1;
        End { node, port }
    }

    /// Links `a`'s next port with `b`'s; both directions have the parameters `lane`.
    pub fn link(&mut self, a: NodeId, b: NodeId, lane: LinkParams) {
        self.cable(a, b, lane, lane);
    }

    /// Links `a`'s next port with `b`'s, with parameters for each direction.
    pub fn cable(&mut self, a: NodeId, b: NodeId, ab: LinkParams, ba: LinkParams) {
        let (a, b) = (self.next_port(a), self.next_port(b));
        self.graph.links.push(Link { a, b, ab, ba });
    }

    /// Spreads `hosts` evenly over `switches` in order. The first NIC of a host goes to its own switch, and each
    /// further one to the next switch of the list. The first switch follows the last.
    pub fn home(&mut self, hosts: &[NodeId], switches: &[NodeId], nics: u32, lane: LinkParams) {
        let share = hosts.len() / switches.len();
        for (at, &host) in hosts.iter().enumerate() {
            for nic in 0..nics as usize {
                self.link(host, switches[(at / share + nic) % switches.len()], lane);
            }
        }
    }

    /// The graph, unless a node has more ports than can be numbered.
    pub fn finish(self) -> Result<Graph, SpecError> {
        let limit = u32::from(u16::MAX);
        match self.ports.iter().position(|&ports| ports > limit) {
            None => Ok(self.graph),
            Some(at) => {
                let (name, ports) = (&self.graph.nodes[at].name, self.ports[at]);
                let message =
                    format!("`{name}` would have {ports} ports: at most {limit} are possible");
                Err(SpecError::new("kind", message))
            }
        }
    }
}

/// Refuses a count of zero, or one above `high`.
pub(super) fn count(key: &str, value: u32, high: u32) -> Result<(), SpecError> {
    if (1..=high).contains(&value) {
        return Ok(());
    }
    Err(SpecError::new(key, format!("`{key}` = {value} must be from 1 to {high}")))
}

/// The highest rate of a link. A higher rate is refused, because it must be a mistake.
pub const FASTEST: Rate = Rate(100_000_000_000_000);

/// The longest delay of a link. A longer one is refused, because it must be a mistake.
pub const LONGEST_DELAY: Time = Time::s(100);

/// Refuses a rate of zero, and a rate above [`FASTEST`].
pub(super) fn positive(key: &str, rate: Rate) -> Result<(), SpecError> {
    if rate > FASTEST {
        let message = format!("`{key}` = {rate}: no link has more than {FASTEST}");
        return Err(SpecError::new(key, message));
    }
    if rate.0 > 0 {
        return Ok(());
    }
    Err(SpecError::new(key, format!("`{key}` = {rate} must be above zero, for example \"10Gbps\"")))
}

/// Refuses fabrics that are too large for routing tables. `key` names the count in the error.
pub(super) fn size(key: &str, links: u64, switches: u64) -> Result<(), SpecError> {
    let too_many = [("links", links, MAX_LINKS), ("switches", switches, MAX_SWITCHES)]
        .into_iter()
        .find(|(_, value, limit)| value > limit);
    too_many.map_or(Ok(()), |(what, value, limit)| {
        let message =
            format!("this fabric would have {value} {what}: at most {limit}; reduce `{key}`");
        Err(SpecError::new(key, message))
    })
}
