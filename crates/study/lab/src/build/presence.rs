//! Hosts that leave the network and join it.

use slotline_net::error::SpecError;
use slotline_net::id::NodeId;
use slotline_net::node::Change;
use slotline_net::time::Time;
use slotline_net::topology::{End, Graph, LinkParams, NodeKind};
use slotline_scenario::EventKind;

/// Changes of nodes, with their time and place.
pub(super) type Changes = Vec<(Time, NodeId, Change)>;

/// The changes of nodes when a host leaves or joins at `at`; `None` for other events. A host that leaves announces it,
/// for which it has the time of two packets of `largest` bytes.
pub(super) fn presence(
    graph: &Graph,
    at: Time,
    kind: &EventKind,
    largest: u64,
) -> Option<Result<Changes, SpecError>> {
    let (host, leaves) = match kind {
        EventKind::Leave { host } => (host, true),
        EventKind::Join { host } => (host, false),
        _ => return None,
    };
    Some(node(graph, host).map(|node| {
        let own = |(near, _, _): &(End, End, LinkParams)| near.node == node;
        let lanes = graph.links.iter().flat_map(|l| [(l.a, l.b, l.ab), (l.b, l.a, l.ba)]);
        let lanes: Vec<_> = lanes.filter(own).collect();
        let says = lanes
            .iter()
            .map(|(_, _, lane)| lane.rate.inverse_rate().time_for(2 * largest) + lane.delay);
        let gone = at + says.max().unwrap_or_default();
        let ends = lanes.iter().flat_map(|&(near, far, _)| [near, far]);
        match leaves {
            true => std::iter::once((at, node, Change::Leave))
                .chain(ends.map(|end| (gone, end.node, Change::Down(end.port))))
                .collect(),
            false => ends
                .map(|end| (at, end.node, Change::Up(end.port)))
                .chain([(at, node, Change::Join)])
                .collect(),
        }
    }))
}

fn node(graph: &Graph, host: &str) -> Result<NodeId, SpecError> {
    let is_host = |node: &NodeId| graph.nodes[node.at()].kind == NodeKind::Host;
    let unknown = || SpecError::new("event.host", format!("no host `{host}` in this fabric"));
    graph.node_named(host).filter(is_host).ok_or_else(unknown)
}
