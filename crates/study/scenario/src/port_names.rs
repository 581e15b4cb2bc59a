//! Finds ports by the names of the nodes that they connect, and the ports at which a scheme has bumps.

use slotline_net::node::bump::BumpSpec;
use slotline_net::topology::{End, Graph, NodeKind};

/// The ports called `name`, of hosts or switches, such as `"h0-s0"`: from `h0` towards `s0`.
pub fn ports_named<'a>(graph: &'a Graph, name: &str) -> impl Iterator<Item = End> + 'a {
    let near = |(link, backwards): (usize, bool)| {
        let link = &graph.links[link];
        if backwards { link.b } else { link.a }
    };
    graph.links_named(name).into_iter().map(near)
}

/// The switch ports called `name`, such as `"leaf0-spine1"`: from `leaf0` towards `spine1`.
pub fn switch_ports_named<'a>(graph: &'a Graph, name: &str) -> impl Iterator<Item = End> + 'a {
    ports_named(graph, name).filter(|end| graph.nodes[end.node.at()].kind == NodeKind::Switch)
}

/// The ports that have bumps; by default all ports of switches that lead to other switches.
pub fn bump_ports(bump: &BumpSpec, graph: &Graph) -> Vec<End> {
    let is_switch = |end: End| graph.nodes[end.node.at()].kind == NodeKind::Switch;
    let mut ends: Vec<End> = if bump.at.is_empty() {
        let ends = graph.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]);
        ends.filter(|(near, far)| is_switch(*near) && is_switch(*far))
            .map(|(near, _)| near)
            .collect()
    } else {
        bump.at.iter().flat_map(|name| switch_ports_named(graph, name)).collect()
    };
    in_order(&mut ends);
    ends
}

/// The ports at which bumps limit flows; by default all ports of switches that lead to hosts.
pub fn limiter_ports(bump: &BumpSpec, graph: &Graph) -> Vec<End> {
    let Some(spec) = &bump.reaction else { return vec![] };
    let kind = |end: End| graph.nodes[end.node.at()].kind;
    let mut ends: Vec<End> = if spec.at.is_empty() {
        let ends = graph.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]);
        ends.filter(|(near, far)| kind(*near) == NodeKind::Switch && kind(*far) == NodeKind::Host)
            .map(|(near, _)| near)
            .collect()
    } else {
        spec.at.iter().flat_map(|name| switch_ports_named(graph, name)).collect()
    };
    in_order(&mut ends);
    ends
}

fn in_order(ends: &mut Vec<End>) {
    ends.sort_unstable_by_key(|end| (end.node, end.port));
    ends.dedup();
}
