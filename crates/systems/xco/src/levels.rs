//! The levels of controllers where there is one at every switch of a tree (§7), such as rack, row and core.
//! They say which controller decides about which pair of hosts.

use slotline_net::error::SpecError;
use slotline_net::id::{HostId, NodeId};
use slotline_net::topology::{End, Graph, NodeKind};

/// The switches of a tree in which all hosts have one depth.
#[derive(Clone, Debug, PartialEq)]
pub struct Levels {
    /// By level, the lowest first, and by host: the switch of that level above the host.
    above: Vec<Vec<NodeId>>,
    /// The nodes of the hosts, and the number of switches.
    hosts: Vec<NodeId>,
    switches: usize,
}

impl Levels {
    /// Finds the levels of `graph`, whose first `hosts` hosts are not stations.
    ///
    /// # Errors
    /// The graph is not a tree in which all hosts have the same depth.
    pub fn new(graph: &Graph, hosts: usize) -> Result<Levels, SpecError> {
        let mut above: Vec<Vec<NodeId>> = Vec::new();
        let own = graph.hosts[..hosts].to_vec();
        let mut nodes = own.clone();
        let uplinks = uplinks(graph);
        while nodes.iter().any(|node| !uplinks[node.at()].is_empty()) {
            let up = |node: &NodeId| match uplinks[node.at()][..] {
                [(_, far)] => Ok(far.node),
                _ => Err(no_tree(graph, *node)),
            };
            nodes = nodes.iter().map(up).collect::<Result<_, _>>()?;
            above.push(nodes.clone());
        }
        match nodes.iter().find(|node| **node != nodes[0]) {
            None => Ok(Levels { above, hosts: own, switches: switches(graph) }),
            Some(other) => Err(no_tree(graph, *other)),
        }
    }
    /// Whether these are the levels of `graph`, as far as its hosts and switches show.
    pub fn are_of(&self, graph: &Graph, hosts: usize) -> bool {
        self.hosts == graph.hosts[..hosts] && self.switches == switches(graph)
    }
    /// The level of the controller that decides about what `src` sends to `dst`: that of the lowest switch
    /// above both.
    pub fn of(&self, src: HostId, dst: HostId) -> u8 {
        let common = self.above.iter().position(|above| above.get(src.at()) == above.get(dst.at()));
        common.unwrap_or(self.above.len().saturating_sub(1)) as u8
    }
    /// The switches of all levels with their level, each once, the lowest first.
    pub fn switches(&self) -> Vec<(u8, NodeId)> {
        let level = |(level, above): (u8, &Vec<NodeId>)| {
            let mut switches = above.clone();
            switches.sort_unstable();
            switches.dedup();
            switches.into_iter().map(move |switch| (level, switch)).collect::<Vec<_>>()
        };
        (0..).zip(&self.above).flat_map(level).collect()
    }
    /// The switches above a host, the lowest first.
    pub fn above(&self, host: HostId) -> impl Iterator<Item = NodeId> + '_ {
        self.above.iter().map(move |above| above[host.at()])
    }
    /// The switches above a switch of `level`, the lowest first, and the switches below it.
    pub fn around(&self, level: u8, switch: NodeId) -> (Vec<NodeId>, Vec<NodeId>) {
        let own = usize::from(level);
        let hosts = (0..self.above[own].len()).filter(|&host| self.above[own][host] == switch);
        let hosts: Vec<usize> = hosts.collect();
        let up = self.above[own + 1..].iter().filter_map(|above| Some(above[*hosts.first()?]));
        let mut down: Vec<NodeId> = self.above[..own]
            .iter()
            .flat_map(|above| hosts.iter().map(|&host| above[host]))
            .collect();
        let up = up.collect();
        down.sort_unstable();
        down.dedup();
        (up, down)
    }
}

fn switches(graph: &Graph) -> usize {
    graph.nodes.iter().filter(|node| node.kind == NodeKind::Switch).count()
}

/// By node, the links to switches of a higher tier, with the own end first.
fn uplinks(graph: &Graph) -> Vec<Vec<(End, End)>> {
    let mut out = vec![Vec::new(); graph.nodes.len()];
    for (near, far) in graph.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]) {
        let (low, high) = (&graph.nodes[near.node.at()], &graph.nodes[far.node.at()]);
        if high.kind == NodeKind::Switch && high.tier > low.tier {
            out[near.node.at()].push((near, far));
        }
    }
    out
}

/// The directed links between a switch and the nodes next below it, as sending ends.
pub fn links_below(graph: &Graph, switch: NodeId) -> Vec<End> {
    let tier = graph.nodes[switch.at()].tier;
    let below = |near: End, far: End| near.node == switch && graph.nodes[far.node.at()].tier < tier;
    let ends = graph.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]);
    ends.filter(|&(near, far)| below(near, far)).flat_map(|(near, far)| [near, far]).collect()
}

fn no_tree(graph: &Graph, node: NodeId) -> SpecError {
    let name = &graph.nodes[node.at()].name;
    let message = format!(
        "`controllers` = \"hierarchical\" needs a tree in which each switch has one link upwards and all \
         hosts have the same depth; `{name}` does not fit: use kind = \"tree\", or one controller"
    );
    SpecError::new("control.controllers", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::topology::{FatTreeSpec, TopologySpec, TreeSpec};

    #[test]
    fn pairs_belong_to_the_lowest_switch_above_both() {
        let tree = TreeSpec { rows: Some(2), ..TreeSpec::new(2, 3) };
        let graph = TopologySpec::Tree(tree).build().unwrap();
        let levels = Levels::new(&graph, 12).unwrap();
        let of = |src, dst| levels.of(HostId(src), HostId(dst));
        assert_eq!([of(0, 2), of(0, 3), of(3, 5), of(5, 6), of(11, 0)], [0, 1, 0, 2, 2]);
        let name = |node: NodeId| graph.nodes[node.at()].name.as_str();
        let names: Vec<_> = levels.switches().iter().map(|&(l, s)| (l, name(s))).collect();
        let racks = [(0, "tor0.0"), (0, "tor0.1"), (0, "tor1.0"), (0, "tor1.1")];
        assert_eq!(names[..4], racks);
        assert_eq!(names[4..], [(1, "row0"), (1, "row1"), (2, "core")]);
        let row = graph.node_named("row1").unwrap();
        let (up, down) = levels.around(1, row);
        assert_eq!(up.iter().map(|&s| name(s)).collect::<Vec<_>>(), ["core"]);
        assert_eq!(down.iter().map(|&s| name(s)).collect::<Vec<_>>(), ["tor1.0", "tor1.1"]);
        assert_eq!(links_below(&graph, row).len(), 4);
    }

    #[test]
    fn other_networks_are_refused() {
        let graph = TopologySpec::FatTree(FatTreeSpec::new(4)).build().unwrap();
        let error = Levels::new(&graph, graph.hosts.len()).unwrap_err();
        assert!(error.message.contains("tree"), "{error}");
    }
}
