//! What hosts wait for at a controller.

use slotline_fastpass::node::Arbiter;
use slotline_net::node::Node;
use slotline_net::node::station::StoppableNode;

/// By host, the timeslots that it has demanded and not been granted; `None` if the node is no active arbiter of Fastpass. The
/// controllers of other schemes have no queue of demand.
pub fn timeslots(node: &dyn Node) -> Option<Vec<u64>> {
    // Stations can be stopped.
    let station = node.downcast_ref::<StoppableNode>();
    let node = station.map_or(Some(node), StoppableNode::node)?;
    node.downcast_ref::<Arbiter>().and_then(Arbiter::waiting)
}
