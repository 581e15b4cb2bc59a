//! Ports by the names of the nodes that they join.

use slotline_net::topology::{End, Graph, NodeKind};

/// The ports called `name`, of hosts or switches, as `"h0-s0"`: from `h0` towards `s0`.
pub fn ports_named<'a>(graph: &'a Graph, name: &str) -> impl Iterator<Item = End> + 'a {
    let near = |(link, backwards): (usize, bool)| {
        let link = &graph.links[link];
        if backwards { link.b } else { link.a }
    };
    graph.links_named(name).into_iter().map(near)
}

/// The switch ports called `name`, as `"leaf0-spine1"`: from `leaf0` towards `spine1`.
pub fn switch_ports_named<'a>(graph: &'a Graph, name: &str) -> impl Iterator<Item = End> + 'a {
    ports_named(graph, name).filter(|end| graph.nodes[end.node.at()].kind == NodeKind::Switch)
}
