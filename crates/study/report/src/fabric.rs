//! A drawing of the network: nodes are placed by their distance from hosts, and links are coloured by utilisation.

use super::links::Links;
use super::plot::{Fabric, FabricLink, FabricNode, Figure, Missing, Plot, Shape};
use super::view::View;
use slotline_lab::output::format;
use slotline_lab::record::PortRow;
use std::collections::{BTreeMap, VecDeque};

const TITLE: &str = "The fabric";
/// The largest number of hosts that are drawn one by one.
const HOSTS: usize = 128;
/// The prefix of hosts of central schedulers. Such a host may be at any switch, so it does not determine the place of
/// its switch.
const CONTROLLER: &str = "controller";
/// The text between the first and the last name of several hosts.
const RANGE: &str = " … ";
/// The number of the busiest links that are listed.
const LISTED: usize = 10;
/// The largest number of links whose two directions are drawn side by side.
const BOTH: usize = 240;

/// The figure of this subject.
pub fn figure(view: &View<'_>) -> Figure {
    let missing =
        Missing { title: TITLE, remedy: "No run is complete, so the ports are not known." };
    let known = Links::of(view).ok_or(missing)?;
    let ports = known.ports.as_slice();
    let used: Vec<Vec<i32>> = (0..ports.len()).map(|at| known.used(at)).collect();
    let graph = Graph::of(ports);
    let hosts = graph.tier.iter().filter(|tier| **tier == 0).count();
    let places = graph.places(hosts > HOSTS);
    let links = links(ports, &graph, &places, &used);
    let fabric = Fabric {
        both: links.len() <= BOTH,
        links,
        hottest: (0..view.runs.len()).map(|scheme| hottest(ports, &used, scheme)).collect(),
        nodes: places.nodes,
    };
    let grouped = match hosts > HOSTS {
        true => " The hosts of a switch are drawn as one, with the busiest of their links.",
        false => "",
    };
    let directions = match fabric.both {
        true => {
            "the line on the right is the direction up, the line on the left the direction down"
        }
        false => "that of the busier direction",
    };
    let caption = format!(
        "{} Colour and width of a link: its utilisation over whole runs and all seeds; {directions}.\
         {grouped}",
        capital(&view.set.fabric),
    );
    Ok(Plot { id: "fabric", title: TITLE.into(), caption, shape: Shape::Fabric(fabric) })
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str() + "."
}

/// Whether a host belongs to a scheme: `controller`, or one of several.
fn is_station(node: &str) -> bool {
    node.strip_prefix(CONTROLLER).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Nodes as the ports name them.
struct Graph<'a> {
    /// The names in the order of the ports.
    names: Vec<&'a str>,
    index: BTreeMap<&'a str, usize>,
    near: Vec<Vec<usize>>,
    /// The distance from the nearest host in links.
    tier: Vec<usize>,
}

impl<'a> Graph<'a> {
    fn of(ports: &[&'a PortRow]) -> Graph<'a> {
        let mut graph = Graph { names: vec![], index: BTreeMap::new(), near: vec![], tier: vec![] };
        for port in ports.iter().copied() {
            let (node, far) = (graph.node(&port.node), graph.node(&port.port));
            graph.near[node].push(far);
            graph.near[far].push(node);
        }
        let mut is_host = vec![false; graph.names.len()];
        for port in ports.iter().copied().filter(|port| port.host && !is_station(&port.node)) {
            is_host[graph.index[port.node.as_str()]] = true;
        }
        graph.tier = tiers(&graph.near, &is_host);
        graph
    }

    fn node(&mut self, name: &'a str) -> usize {
        if let Some(at) = self.index.get(name) {
            return *at;
        }
        let at = self.names.len();
        self.names.push(name);
        self.near.push(vec![]);
        self.index.insert(name, at);
        at
    }

    /// The place of each node. If `grouped` is set, the hosts of a switch share a place.
    fn places(&self, grouped: bool) -> Places {
        let mut places = Places { nodes: vec![], of: vec![0; self.names.len()] };
        let mut group_of: BTreeMap<usize, usize> = BTreeMap::new();
        for (node, name) in self.names.iter().enumerate() {
            let home = self.near[node].first().filter(|_| grouped && self.tier[node] == 0);
            let shared = home.and_then(|home| group_of.get(home).copied());
            places.of[node] = shared.unwrap_or(places.nodes.len());
            if let Some(at) = shared {
                let group = &mut places.nodes[at];
                let first = group.name.split(RANGE).next().unwrap_or_default();
                group.name = format!("{first}{RANGE}{name}");
                group.hosts += 1;
                continue;
            }
            group_of.extend(home.map(|home| (*home, places.nodes.len())));
            let hosts = usize::from(self.tier[node] == 0);
            places.nodes.push(FabricNode {
                name: name.to_string(),
                tier: self.tier[node],
                x: 0.0,
                hosts,
            });
        }
        self.align(&mut places);
        places
    }

    /// Spreads each tier evenly, in the order of the mean positions of the nodes below.
    fn align(&self, places: &mut Places) {
        let highest = places.nodes.iter().map(|node| node.tier).max().unwrap_or(0);
        for tier in 0..=highest {
            let mut order: Vec<usize> =
                (0..places.nodes.len()).filter(|at| places.nodes[*at].tier == tier).collect();
            let keys = self.means_below(places);
            order.sort_by(|a, b| keys[*a].total_cmp(&keys[*b]));
            let n = order.len() as f64;
            for (rank, at) in order.into_iter().enumerate() {
                places.nodes[at].x = (rank as f64 + 0.5) / n;
            }
        }
    }

    /// For each place, the mean position of its neighbours one tier below; 0 for hosts, which keep their order.
    fn means_below(&self, places: &Places) -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0); places.nodes.len()];
        for (node, near) in self.near.iter().enumerate() {
            for far in near.iter().filter(|far| self.tier[**far] + 1 == self.tier[node]) {
                let (sum, n) = &mut sums[places.of[node]];
                (*sum, *n) = (*sum + places.nodes[places.of[*far]].x, *n + 1.0);
            }
        }
        // Means are rounded, so that equal means do not differ by the order of addition.
        sums.into_iter()
            .map(|(sum, n)| if n > 0.0 { (sum / n * 1e6).round() } else { 0.0 })
            .collect()
    }
}

/// The places of nodes.
struct Places {
    nodes: Vec<FabricNode>,
    /// For each node, an index into `nodes`.
    of: Vec<usize>,
}

/// The distance of each node from the nearest host in links; 1 if there is no path.
fn tiers(near: &[Vec<usize>], is_host: &[bool]) -> Vec<usize> {
    let mut tier: Vec<Option<usize>> = is_host.iter().map(|host| host.then_some(0)).collect();
    let mut next: VecDeque<usize> = (0..near.len()).filter(|node| is_host[*node]).collect();
    while let Some(node) = next.pop_front() {
        for &far in &near[node] {
            if tier[far].is_none() {
                tier[far] = tier[node].map(|tier| tier + 1);
                next.push_back(far);
            }
        }
    }
    tier.into_iter().map(|tier| tier.unwrap_or(1)).collect()
}

/// The links between places, with the utilisation of the busiest link in each direction.
fn links(
    ports: &[&PortRow],
    graph: &Graph<'_>,
    places: &Places,
    used: &[Vec<i32>],
) -> Vec<FabricLink> {
    let mut all: BTreeMap<(usize, usize), FabricLink> = BTreeMap::new();
    for (port, used) in ports.iter().zip(used) {
        let place = |name: &String| places.of[graph.index[name.as_str()]];
        let (here, there) = (place(&port.node), place(&port.port));
        let upwards = (places.nodes[here].tier, here) < (places.nodes[there].tier, there);
        let (bottom, top) = if upwards { (here, there) } else { (there, here) };
        let link = all.entry((bottom, top)).or_insert_with(|| FabricLink {
            top,
            bottom,
            links: 0,
            up: vec![-1; used.len()],
            down: vec![-1; used.len()],
        });
        link.links += usize::from(upwards);
        let busiest = if upwards { &mut link.up } else { &mut link.down };
        busiest.iter_mut().zip(used).for_each(|(most, used)| *most = (*most).max(*used));
    }
    all.into_values().collect()
}

/// The busiest ports of a scheme, including those of hosts.
fn hottest(ports: &[&PortRow], used: &[Vec<i32>], scheme: usize) -> Vec<(String, i32)> {
    let mut all: Vec<(usize, i32)> =
        used.iter().map(|used| used[scheme]).enumerate().filter(|(_, used)| *used > 0).collect();
    all.sort_by_key(|(at, used)| (-used, *at));
    let name = |at: usize| format::direction(&ports[at].node, &ports[at].port);
    all.into_iter().take(LISTED).map(|(at, used)| (name(at), used)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_lab::record::RunSet;

    /// Two ports for each link, with the given number of bytes.
    fn ports(links: &[(&str, &str, u64)]) -> Vec<PortRow> {
        let both = |(a, b, bytes): &(&str, &str, u64)| {
            let one = |node: &str, port: &str, bytes| PortRow {
                node: node.into(),
                port: port.into(),
                host: node.starts_with('h'),
                rate_bps: 10_000_000_000,
                tx_bytes: bytes,
                ..PortRow::default()
            };
            [one(a, b, *bytes), one(b, a, bytes / 2)]
        };
        links.iter().flat_map(both).collect()
    }

    fn drawn(links: &[(&str, &str, u64)]) -> Fabric {
        let mut set = RunSet::example(1);
        set.runs.iter_mut().for_each(|run| run.ports = ports(links));
        match figure(&View::of(&set)).unwrap().shape {
            Shape::Fabric(fabric) => fabric,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_leaf_spine_has_three_tiers() {
        let fabric = drawn(&[
            ("h0", "leaf0", 1_000_000),
            ("h1", "leaf1", 2_000_000),
            ("leaf0", "spine", 3_000_000),
            ("leaf1", "spine", 100_000_000),
        ]);
        let tier = |name: &str| fabric.nodes.iter().find(|n| n.name == name).map(|n| n.tier);
        assert_eq!((tier("h0"), tier("leaf1"), tier("spine")), (Some(0), Some(1), Some(2)));
        assert_eq!(fabric.links.len(), 4);
        // 100 MB of the 312.5 MB that fit into 250 ms at 10 Gbit/s.
        assert_eq!(fabric.hottest[0][0], ("leaf1 → spine".to_string(), 320));
        let link = fabric.links.iter().find(|link| link.up[0] == 320).unwrap();
        assert_eq!((link.down[0], link.links), (160, 1));
        assert_eq!(fabric.nodes[link.top].name, "spine");
    }

    #[test]
    fn a_controller_makes_no_edge_switch() {
        let mut links = ports(&[("h0", "edge", 1), ("edge", "core", 1), ("h1", "core", 1)]);
        links.iter_mut().filter(|port| port.node == "h1").for_each(|p| p.node = CONTROLLER.into());
        links.iter_mut().filter(|port| port.port == "h1").for_each(|p| p.port = CONTROLLER.into());
        let links: Vec<&PortRow> = links.iter().collect();
        let graph = Graph::of(&links);
        let tier = |name: &str| graph.tier[graph.index[name]];
        assert_eq!([tier("h0"), tier("edge"), tier("core"), tier(CONTROLLER)], [0, 1, 2, 3]);
    }

    #[test]
    fn many_hosts_are_drawn_as_one() {
        let names: Vec<(String, String)> =
            (0..200).map(|i| (format!("h{i}"), format!("s{}", i / 50))).collect();
        let links: Vec<(&str, &str, u64)> =
            names.iter().map(|(h, s)| (h.as_str(), s.as_str(), 1_000)).collect();
        let fabric = drawn(&links);
        assert_eq!((fabric.nodes.len(), fabric.links.len()), (8, 4));
        let hosts: usize = fabric.nodes.iter().map(|node| node.hosts).sum();
        assert_eq!((hosts, fabric.links[0].links), (200, 50));
        assert_eq!(fabric.nodes[0].name, "h0 … h49");
    }
}
