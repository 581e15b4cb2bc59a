//! The network as the arbiter sees it: racks, the paths between them, and the links and switches on a path.
//!
//! A path is identified by the entropy value that its packets carry, see
//! [`slotline_net::route::Routes::build`].

use super::{FatTree, PathSelector, RouteSelector, Selector, Tiers, Topology};
use crate::faults::Component;
use slotline_net::error::SpecError;
use slotline_net::id::{HostId, NodeId};
use slotline_net::node::Part;
use slotline_net::route::Routes;
use slotline_net::scheme::Surroundings;
use slotline_net::topology::{End, Wiring};
use slotline_net::units::Rate;
use std::sync::Arc;

/// The largest number of entropy values that are examined between two racks.
const MOST_PATHS: u16 = 256;
/// Longer paths are not counted.
const MOST_HOPS: u8 = 16;

/// The racks and how they are joined. Links and nodes are components: a link has its own number, and nodes
/// are numbered after all links.
#[derive(Clone, Debug)]
pub struct Fabric {
    routes: Arc<Routes>,
    wiring: Wiring,
    /// The node of each host, stations included.
    nodes: Arc<[NodeId]>,
    links: usize,
    /// The rate at which a packet takes a timeslot.
    slowest: Rate,
    /// The directed links of each component: two for a link, all that are attached for a node.
    directed: Vec<Vec<u32>>,
    /// Packets per timeslot, by directed link.
    rooms: Vec<u16>,
    /// The rack of each host, stations included.
    rack: Vec<u16>,
    racks: u16,
    hosts: usize,
    /// The number of entropy values that include the paths of all pairs of racks.
    paths: u16,
    layout: Layout,
}

/// How the racks are joined.
#[derive(Clone, Debug)]
enum Layout {
    /// There is one rack.
    One,
    /// Each path leads over one switch. The links are listed by rack and path.
    Spines { uplinks: Vec<Component>, room: u16 },
    /// A fat-tree. Lower links are listed by rack and aggregation switch, upper links by pod, aggregation
    /// switch and core.
    Pods { tiers: Tiers, edges: Vec<Component>, cores: Vec<Component> },
    /// Any other layout: for each pair of racks, the entropy values of the paths and their links.
    Any(Vec<Vec<(u16, Vec<u32>)>>),
}

impl Fabric {
    /// Finds the racks and paths of a network with pinned routes, in which a packet at rate `slowest` takes
    /// one timeslot.
    ///
    /// # Errors
    /// A link between switches is slower than the slowest host's.
    pub fn new(around: &Surroundings<'_>, slowest: Rate) -> Result<Fabric, SpecError> {
        let graph = around.graph;
        let mut switches: Vec<NodeId> = Vec::new();
        let mut rack = Vec::new();
        for host in &graph.hosts {
            let switch = around.wiring.of(*host)[0].far.node;
            let known = switches.iter().position(|&other| other == switch);
            rack.push(known.unwrap_or(switches.len()) as u16);
            if known.is_none() {
                switches.push(switch);
            }
        }
        let links = graph.links.len();
        let mut fabric = Fabric {
            routes: Arc::clone(around.routes),
            wiring: around.wiring.clone(),
            nodes: graph.hosts.as_slice().into(),
            links,
            slowest,
            directed: vec![Vec::new(); links + graph.nodes.len()],
            rooms: Vec::new(),
            rack,
            racks: switches.len() as u16,
            hosts: around.hosts(),
            paths: 1,
            layout: Layout::One,
        };
        fabric.measure_links(around);
        let rack_paths = fabric.all_rack_paths();
        fabric.refuse_slow(&rack_paths)?;
        fabric.set_layout(&rack_paths);
        Ok(fabric)
    }
    /// The same network after the switches have changed to `routes`. Links that have become too slow, and
    /// detours over such links, are not used.
    pub fn rerouted(&self, routes: &Arc<Routes>) -> Fabric {
        let mut fabric = Fabric { routes: Arc::clone(routes), ..self.clone() };
        fabric.recompute_paths();
        fabric
    }
    /// The same network after the link that leaves by `end` has changed to `rate`. The number of packets that
    /// hosts send in a timeslot does not change.
    pub fn with_rate(&self, end: End, rate: Rate) -> Fabric {
        let mut fabric = self.clone();
        let directed = fabric.directed(end);
        fabric.rooms[directed as usize] = fabric.room(rate);
        fabric.recompute_paths();
        fabric
    }
    fn recompute_paths(&mut self) {
        let mut rack_paths = self.all_rack_paths();
        let fits = |end: &End| self.rooms[self.directed(*end) as usize] > 0;
        rack_paths
            .iter_mut()
            .for_each(|rack_paths| rack_paths.retain(|(_, hops)| hops.iter().all(fits)));
        self.set_layout(&rack_paths);
    }
    fn room(&self, rate: Rate) -> u16 {
        (rate.0 / self.slowest.0.max(1)).min(u16::MAX.into()) as u16
    }
    fn measure_links(&mut self, around: &Surroundings<'_>) {
        self.rooms.resize(2 * self.links, 0);
        for (at, link) in around.graph.links.iter().enumerate() {
            for (end, lane) in [(link.a, link.ab), (link.b, link.ba)] {
                let directed = self.directed(end);
                self.rooms[directed as usize] = self.room(lane.rate);
                self.directed[at].push(directed);
                self.directed[self.links + link.a.node.at()].push(directed);
                self.directed[self.links + link.b.node.at()].push(directed);
            }
        }
    }
    /// The directed link by which packets leave a port.
    fn directed(&self, end: End) -> u32 {
        let wire = self.wiring.of(end.node)[end.port.at()];
        let first = (end.node, end.port) < (wire.far.node, wire.far.port);
        2 * wire.link as u32 + u32::from(!first)
    }
    fn hops(&self, src: HostId, dst: HostId, path: u16) -> Vec<End> {
        self.routes.path(&self.wiring, src, dst, path).unwrap_or_default()
    }
    /// All paths between two racks, each once: its lowest entropy value and its hops between switches.
    pub(crate) fn rack_paths(&self, src: HostId, dst: HostId) -> RackPaths {
        let mut found = RackPaths::new();
        let all = self.count_paths(self.nodes[src.at()], dst, MOST_HOPS);
        for path in 0..MOST_PATHS {
            let is_new_rare = usize::from(path) > 4 * found.len() + 16;
            if is_new_rare || all == Some(found.len()) {
                break;
            }
            let mut hops = self.hops(src, dst, path);
            hops.pop();
            let hops: Vec<End> = hops.into_iter().skip(1).collect();
            if found.iter().all(|(_, other)| *other != hops) {
                found.push((path, hops));
            }
        }
        found
    }
    /// The number of paths from `node` to `dst` by equal choices; `None` if some choices lead nowhere, or there are more
    /// paths than are examined.
    fn count_paths(&self, node: NodeId, dst: HostId, hops_left: u8) -> Option<usize> {
        if node == self.nodes[dst.at()] {
            return Some(1);
        }
        let hops_left = hops_left.checked_sub(1)?;
        let (mut sum, wires) = (0, self.wiring.of(node));
        for port in self.routes.choices(node, dst).iter() {
            sum += self.count_paths(wires[port.at()].far.node, dst, hops_left)?;
        }
        (1..=usize::from(MOST_PATHS)).contains(&sum).then_some(sum)
    }
    /// One host of each rack, which can be reached if any can.
    fn first_hosts(&self) -> Vec<HostId> {
        let of_rack = |rack: u16| {
            let hosts = (0..).map(HostId).zip(&self.rack).filter(move |(_, of)| **of == rack);
            hosts.map(|(host, _)| host)
        };
        let connected = |host: &HostId| {
            let mut others = (0..self.rack.len() as u32).map(HostId).filter(|other| other != host);
            others.any(|other| self.routes.path(&self.wiring, *host, other, 0).is_some())
        };
        let first = |rack| of_rack(rack).find(connected).or_else(|| of_rack(rack).next());
        (0..self.racks).filter_map(first).collect()
    }
    /// The paths between racks, by pair of racks.
    fn all_rack_paths(&self) -> Vec<RackPaths> {
        let first_hosts = self.first_hosts();
        let pairs = first_hosts.iter().flat_map(|&a| first_hosts.iter().map(move |&b| (a, b)));
        pairs.map(|(a, b)| if a == b { Vec::new() } else { self.rack_paths(a, b) }).collect()
    }
    fn refuse_slow(&self, rack_paths: &[RackPaths]) -> Result<(), SpecError> {
        let mut ends = rack_paths.iter().flatten().flat_map(|(_, hops)| hops);
        let Some(slow) = ends.find(|&&end| self.rooms[self.directed(end) as usize] == 0) else {
            return Ok(());
        };
        let rate = self.wiring.of(slow.node)[slow.port.at()].lane.rate;
        let message = format!(
            "fastpass needs links between switches that are at least as fast as the slowest host's, but one \
             has {rate}"
        );
        Err(SpecError::new("control", message))
    }
    /// Finds out how these paths join the racks.
    fn set_layout(&mut self, rack_paths: &[RackPaths]) {
        if self.racks <= 1 {
            return;
        }
        self.paths = rack_paths.iter().flatten().map(|(path, _)| path + 1).max().unwrap_or(1);
        self.layout = self
            .spine_layout(rack_paths)
            .or_else(|| self.pod_layout(rack_paths))
            .unwrap_or_else(|| {
                let links = |hops: &Vec<End>| hops.iter().map(|&end| self.directed(end)).collect();
                let of_pair = |rack_paths: &RackPaths| {
                    rack_paths.iter().map(|(path, hops)| (*path, links(hops))).collect()
                };
                Layout::Any(rack_paths.iter().map(of_pair).collect())
            });
    }
    /// The layout where each path leads over one switch to which all racks have a link.
    fn spine_layout(&self, rack_paths: &[RackPaths]) -> Option<Layout> {
        let (racks, paths) = (usize::from(self.racks), usize::from(self.paths));
        let mut uplinks = Links::new(racks * paths);
        let mut spines = Links::new(paths);
        for (pair, rack_paths) in rack_paths.iter().enumerate() {
            let (a, b) = (pair / racks, pair % racks);
            if a != b && rack_paths.len() != paths {
                return None;
            }
            for (path, hops) in rack_paths {
                let [up, down] = hops[..] else { return None };
                let path = usize::from(*path);
                uplinks.fix(a * paths + path, self, up)?;
                uplinks.fix(b * paths + path, self, down)?;
                spines.set(path, down.node.0)?;
            }
        }
        Some(Layout::Spines { uplinks: uplinks.links, room: uplinks.room })
    }
    /// The layout of a fat-tree. The lower digit of a path is the aggregation switch.
    fn pod_layout(&self, rack_paths: &[RackPaths]) -> Option<Layout> {
        let racks = usize::from(self.racks);
        let near = |paths: &&RackPaths| paths.first().is_none_or(|(_, hops)| hops.len() == 2);
        let size = rack_paths[..racks].iter().take_while(near).count();
        if size < 2 || size == racks || !racks.is_multiple_of(size) {
            return None;
        }
        let aggregations = rack_paths[1].len();
        let above = rack_paths[size].len().checked_div(aggregations)?;
        let mut edges = Links::new(racks * aggregations);
        let mut cores = Links::new(racks / size * aggregations * above);
        for (pair, rack_paths) in rack_paths.iter().enumerate() {
            let (a, b) = (pair / racks, pair % racks);
            let (from, to) = (a / size, b / size);
            let paths = if from == to { aggregations } else { aggregations * above };
            if a != b && rack_paths.len() != paths {
                return None;
            }
            for (path, hops) in rack_paths {
                let (index, core) = (*path as usize % aggregations, *path as usize / aggregations);
                let link = |pod: usize| (pod * aggregations + index) * above + core;
                let (up, down) = match (hops[..].as_ref(), from == to) {
                    ([up, down], true) => (*up, *down),
                    ([up, first, second, down], false) => {
                        cores.fix(link(from), self, *first)?;
                        cores.fix(link(to), self, *second)?;
                        (*up, *down)
                    }
                    _ => return None,
                };
                edges.fix(a * aggregations + index, self, up)?;
                edges.fix(b * aggregations + index, self, down)?;
            }
        }
        let tiers = Tiers {
            pods: (racks / size) as u16,
            edges: size as u16,
            aggregations: aggregations as u16,
            cores: above as u16,
            edge_room: edges.room,
            core_room: cores.room,
        };
        Some(Layout::Pods { tiers, edges: edges.links, cores: cores.links })
    }

    /// The number of hosts that are not stations.
    pub fn hosts(&self) -> usize {
        self.hosts
    }
    /// The number of paths. They are numbered from 0.
    pub fn paths(&self) -> u16 {
        self.paths
    }
    /// The number of components: links and nodes.
    pub fn components(&self) -> usize {
        self.directed.len()
    }
    /// The link at a port of a switch, which is the machine with this number: switches follow hosts and stations.
    pub fn link_of(&self, machine: u32, port: u16) -> Option<Component> {
        let node = (machine as usize).checked_sub(self.rack.len())?;
        let wires = (node < self.directed.len() - self.links)
            .then(|| self.wiring.of(NodeId(node as u32)))?;
        wires.get(usize::from(port)).map(|wire| wire.link as Component)
    }
    /// The link or switch that a component stands for.
    pub fn part(&self, component: Component) -> Part {
        let node = (component as usize).checked_sub(self.links);
        node.map_or(Part::Link(component), |node| Part::Switch(NodeId(node as u32)))
    }
    /// A selector for the paths of this fabric; `None` if there is nothing to select.
    ///
    /// # Errors
    /// There are more paths than a selector can have.
    pub fn selector(&self) -> Result<Option<Selector>, SpecError> {
        let wrong = |error: String| SpecError::new("control", error);
        let network = match &self.layout {
            Layout::One => return Ok(None),
            Layout::Spines { room, .. } => Topology::TwoTiers(
                PathSelector::new(self.racks, self.paths, *room)
                    .map_err(|error| wrong(error.to_string()))?,
            ),
            Layout::Pods { tiers, .. } => Topology::FatTree(
                FatTree::new(*tiers).map_err(|error| wrong(error.to_string()))?,
                tiers.cores,
            ),
            Layout::Any(candidates) => {
                // Links that no path uses may have any room.
                let rooms: Vec<u16> = self.rooms.iter().map(|&room| room.max(1)).collect();
                let links = RouteSelector::new(&rooms).map_err(|error| wrong(error.to_string()))?;
                let links_of = |rack_paths: &Vec<(u16, Vec<u32>)>| {
                    rack_paths.iter().map(|(_, links)| links.clone()).collect()
                };
                let candidates = candidates.iter().map(links_of).collect();
                Topology::Any { links, racks: self.racks, candidates }
            }
        };
        Ok(Some(Selector::new(network, self.rack[..self.hosts].to_vec())))
    }
    /// The entropy value of a path of this fabric's selector. Where all paths are alike, the numbers are
    /// rotated by `turn`, because selectors prefer the lowest path and packets should not always go there.
    pub fn entropy(&self, src: u16, dst: u16, path: Option<u32>, turn: u32) -> u16 {
        let Some(path) = path else { return 0 };
        let rack = |host: u16| self.rack[usize::from(host)];
        match &self.layout {
            Layout::One => 0,
            Layout::Spines { .. } => ((path + turn) % u32::from(self.paths)) as u16,
            Layout::Pods { tiers, .. } => {
                let [edges, aggregations, cores] =
                    [tiers.edges, tiers.aggregations, tiers.cores].map(u32::from);
                let inside = u32::from(rack(src)) / edges == u32::from(rack(dst)) / edges;
                let (index, core) = if inside { (path, 0) } else { (path / cores, path % cores) };
                let core = if inside { 0 } else { (core + turn) % cores };
                ((index + turn) % aggregations + aggregations * core) as u16
            }
            Layout::Any(candidates) => {
                let pair =
                    usize::from(rack(src)) * usize::from(self.racks) + usize::from(rack(dst));
                candidates[pair][path as usize].0
            }
        }
    }
    /// Makes a selector of this fabric avoid a component, or use it again.
    pub fn set_works(&self, selector: &mut Selector, component: Component, works: bool) {
        const KNOWN: &str = "the link belongs to this fabric";
        let directed = &self.directed[component as usize];
        let among = |links: &[Component]| {
            let is = |(_, link): &(usize, &Component)| directed.contains(&(2 * **link));
            links.iter().enumerate().filter(is).map(|(at, _)| at).collect::<Vec<usize>>()
        };
        match (selector.topology(), &self.layout) {
            (Topology::TwoTiers(selector), Layout::Spines { uplinks, .. }) => {
                let paths = usize::from(self.paths);
                for at in among(uplinks) {
                    let (rack, path) = ((at / paths) as u16, (at % paths) as u16);
                    selector.set_link(rack, path, works).expect(KNOWN);
                }
            }
            (Topology::FatTree(selector, _), Layout::Pods { tiers, edges, cores }) => {
                let (indices, above) = (usize::from(tiers.aggregations), usize::from(tiers.cores));
                for at in among(edges) {
                    let (rack, index) = ((at / indices) as u16, (at % indices) as u16);
                    selector.set_edge_link(rack, index, works).expect(KNOWN);
                }
                for at in among(cores) {
                    let (switch, core) = (at / above, (at % above) as u16);
                    let (pod, index) = ((switch / indices) as u16, (switch % indices) as u16);
                    selector.set_core_link(pod, index, core, works).expect(KNOWN);
                }
            }
            (Topology::Any { links, .. }, Layout::Any(_)) => {
                directed.iter().for_each(|&link| links.set_link(link, works).expect(KNOWN));
            }
            _ => {}
        }
    }
    /// Replaces `out` with the components on the path from one host to another.
    pub fn on_path(&self, src: u32, dst: u32, path: u16, out: &mut Vec<Component>) {
        out.clear();
        let reaches = self.routes.visit(&self.wiring, (HostId(src), HostId(dst)), path, |end| {
            let wire = self.wiring.of(end.node)[end.port.at()];
            out.push(wire.link as Component);
            out.push((self.links + wire.far.node.at()) as Component);
        });
        if !reaches {
            out.clear();
        }
        // The last component is the destination, which is not a switch.
        out.pop();
    }
    /// Finds a host and a path by which packets from `from` cross `component` and no other component for
    /// which `avoid` holds.
    pub fn path_over(
        &self,
        from: u32,
        component: Component,
        avoid: impl Fn(Component) -> bool,
    ) -> Option<(HostId, u16)> {
        self.path_from(from, 0, component, &avoid)
    }
    /// The same for any pair of hosts. The search begins with the pair number `first`, in a circle.
    pub fn pair_over(
        &self,
        first: u32,
        component: Component,
        avoid: impl Fn(Component) -> bool,
    ) -> Option<(HostId, HostId, u16)> {
        let hosts = self.hosts as u32;
        (0..hosts).find_map(|n| {
            let from = (first + n) % hosts;
            let to = self.path_from(from, first / hosts, component, &avoid);
            to.map(|(to, path)| (HostId(from), to, path))
        })
    }
    /// See [`Fabric::path_over`]; the search begins with the host number `first`.
    fn path_from(
        &self,
        from: u32,
        first: u32,
        component: Component,
        avoid: &impl Fn(Component) -> bool,
    ) -> Option<(HostId, u16)> {
        let (mut components, hosts) = (Vec::new(), self.hosts as u32);
        let others = (0..hosts).map(|n| HostId((first + n) % hosts));
        let mut all = others.flat_map(|host| (0..self.paths).map(move |path| (host, path)));
        all.find(|&(host, path)| {
            self.on_path(from, host.0, path, &mut components);
            components.contains(&component)
                && components.iter().all(|&at| at == component || !avoid(at))
        })
    }
}

/// The paths between two racks: their lowest entropy values and their hops between switches.
type RackPaths = Vec<(u16, Vec<End>)>;

/// The links at numbered places of a layout, and the room of the narrowest link.
struct Links {
    links: Vec<Component>,
    room: u16,
}

impl Links {
    fn new(places: usize) -> Links {
        Links { links: vec![Component::MAX; places], room: u16::MAX }
    }
    /// Notes the component at a place. Returns `None` if the place does not exist or has another component.
    fn set(&mut self, place: usize, component: Component) -> Option<()> {
        let known = self.links.get_mut(place)?;
        if *known != Component::MAX && *known != component {
            return None;
        }
        *known = component;
        Some(())
    }
    /// Notes the link by which packets leave a port.
    fn fix(&mut self, place: usize, fabric: &Fabric, end: End) -> Option<()> {
        self.room = self.room.min(fabric.rooms[fabric.directed(end) as usize]);
        self.set(place, fabric.wiring.of(end.node)[end.port.at()].link as Component)
    }
}
