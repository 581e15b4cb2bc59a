//! The network as the arbiter sees it: racks, the paths between them, and what lies on a path.
//!
//! A path is named by the entropy that packets carry on it, see [`crate::route::Routes::build`].

use super::faults::Component;
use super::paths::PathSelector;
use super::routes::RouteSelector;
use super::select::{Network, Selector};
use crate::control::Surroundings;
use crate::error::SpecError;
use crate::id::{HostId, NodeId};
use crate::route::Routes;
use crate::topology::{End, Wiring};
use crate::units::Rate;
use std::sync::Arc;

/// Entropies that are looked at between two racks.
const MOST_PATHS: u16 = 256;

/// Racks and how they are joined. Links and nodes are components: links by their number, nodes by theirs
/// after all links.
#[derive(Clone, Debug)]
pub struct Fabric {
    routes: Arc<Routes>,
    wiring: Wiring,
    links: usize,
    /// By component, the directed links that go with it: a link's two, a node's all.
    directed: Vec<Vec<u32>>,
    /// By directed link, packets per timeslot.
    rooms: Vec<u16>,
    /// By host, stations included.
    rack: Vec<u16>,
    racks: u16,
    hosts: usize,
    /// Entropies between those racks that have the most paths.
    paths: u16,
    joined: Joined,
}

/// How racks are joined.
#[derive(Clone, Debug)]
enum Joined {
    /// Not at all: there is one.
    One,
    /// By one switch on each path: links and switches by rack and path.
    Spines { uplink: Vec<Component>, spine: Vec<Component>, room: u16 },
    /// In any other way: by pair of racks, the entropies of its paths and their links.
    Any(Vec<Vec<(u16, Vec<u32>)>>),
}

impl Fabric {
    /// Racks and paths of a network with pinned routes, in which a timeslot is one packet at `slowest`.
    ///
    /// # Errors
    /// Links between switches that are slower than the slowest host's.
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
            links,
            directed: vec![Vec::new(); links + graph.nodes.len()],
            rooms: Vec::new(),
            rack,
            racks: switches.len() as u16,
            hosts: around.hosts(),
            paths: 1,
            joined: Joined::One,
        };
        fabric.measure(around, slowest);
        if fabric.racks > 1 {
            fabric.find_paths()?;
        }
        Ok(fabric)
    }
    fn measure(&mut self, around: &Surroundings<'_>, slowest: Rate) {
        let room = |rate: Rate| (rate.0 / slowest.0.max(1)).min(u16::MAX.into()) as u16;
        self.rooms.resize(2 * self.links, 0);
        for (at, link) in around.graph.links.iter().enumerate() {
            for (end, lane) in [(link.a, link.ab), (link.b, link.ba)] {
                let directed = self.directed(end);
                self.rooms[directed as usize] = room(lane.rate);
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
    fn way(&self, src: HostId, dst: HostId, path: u16) -> Vec<End> {
        self.routes.path(&self.wiring, src, dst, path).unwrap_or_default()
    }
    /// Between two racks, each path once: its lowest entropy, and its hops between switches.
    fn ways(&self, src: HostId, dst: HostId) -> Vec<(u16, Vec<End>)> {
        let mut found: Vec<(u16, Vec<End>)> = Vec::new();
        for path in 0..MOST_PATHS {
            if usize::from(path) > 4 * found.len() + 16 {
                break; // nothing new for a long time: numbers of paths repeat
            }
            let mut hops = self.way(src, dst, path);
            hops.pop();
            let hops: Vec<End> = hops.into_iter().skip(1).collect();
            if found.iter().all(|(_, other)| *other != hops) {
                found.push((path, hops));
            }
        }
        found
    }
    /// One host of each rack.
    fn firsts(&self) -> Vec<HostId> {
        let first = |rack| self.rack.iter().position(|&other| other == rack);
        (0..self.racks).filter_map(first).map(|host| HostId(host as u32)).collect()
    }
    fn find_paths(&mut self) -> Result<(), SpecError> {
        let firsts = self.firsts();
        let pairs = firsts.iter().flat_map(|&a| firsts.iter().map(move |&b| (a, b)));
        let ways: Vec<_> =
            pairs.map(|(a, b)| if a == b { Vec::new() } else { self.ways(a, b) }).collect();
        let ends = ways.iter().flatten().flat_map(|(_, hops)| hops);
        if let Some(slow) = ends.clone().find(|&&end| self.rooms[self.directed(end) as usize] == 0)
        {
            let rate = self.wiring.of(slow.node)[slow.port.at()].lane.rate;
            return Err(SpecError::new(
                "control",
                format!(
                    "fastpass needs links between switches that are at least as fast as the slowest \
                     host's, but one has {rate}"
                ),
            ));
        }
        self.paths = ways.iter().flatten().map(|(path, _)| path + 1).max().unwrap_or(1);
        self.joined = self.by_spines(&ways).unwrap_or_else(|| {
            let links = |hops: &Vec<End>| hops.iter().map(|&end| self.directed(end)).collect();
            let of_pair = |ways: &Vec<(u16, Vec<End>)>| {
                ways.iter().map(|(path, hops)| (*path, links(hops))).collect()
            };
            Joined::Any(ways.iter().map(of_pair).collect())
        });
        Ok(())
    }
    /// The same where each path is a switch that all racks have a link to.
    fn by_spines(&self, ways: &[Vec<(u16, Vec<End>)>]) -> Option<Joined> {
        let (racks, paths) = (usize::from(self.racks), usize::from(self.paths));
        let mut uplink = vec![Component::MAX; racks * paths];
        let mut spine = vec![Component::MAX; paths];
        let mut room = u16::MAX;
        for (pair, ways) in ways.iter().enumerate() {
            let (a, b) = (pair / racks, pair % racks);
            if a != b && ways.len() != paths {
                return None;
            }
            for (path, hops) in ways {
                let [up, down] = hops[..] else { return None };
                let path = usize::from(*path);
                let link = |end: End| self.wiring.of(end.node)[end.port.at()].link as Component;
                fix(&mut uplink[a * paths + path], link(up))?;
                fix(&mut uplink[b * paths + path], link(down))?;
                fix(&mut spine[path], (self.links + down.node.at()) as Component)?;
                let rooms = [up, down].map(|end| self.rooms[self.directed(end) as usize]);
                room = room.min(rooms[0]).min(rooms[1]);
            }
        }
        Some(Joined::Spines { uplink, spine, room })
    }

    /// Hosts that are not stations.
    pub fn hosts(&self) -> usize {
        self.hosts
    }
    /// Paths have the numbers below this.
    pub fn paths(&self) -> u16 {
        self.paths
    }
    /// Links and nodes.
    pub fn components(&self) -> usize {
        self.directed.len()
    }
    /// A selector for its paths; `None` where there is nothing to select.
    ///
    /// # Errors
    /// More paths than a selector can have.
    pub fn selector(&self) -> Result<Option<Selector>, SpecError> {
        let wrong = |error: String| SpecError::new("control", error);
        let network = match &self.joined {
            Joined::One => return Ok(None),
            Joined::Spines { room, .. } => Network::TwoTiers(
                PathSelector::new(self.racks, self.paths, *room)
                    .map_err(|error| wrong(error.to_string()))?,
            ),
            Joined::Any(candidates) => {
                // Links that no path uses may have any room.
                let rooms: Vec<u16> = self.rooms.iter().map(|&room| room.max(1)).collect();
                let links = RouteSelector::new(&rooms).map_err(|error| wrong(error.to_string()))?;
                let links_of = |ways: &Vec<(u16, Vec<u32>)>| {
                    ways.iter().map(|(_, links)| links.clone()).collect()
                };
                let candidates = candidates.iter().map(links_of).collect();
                Network::Any { links, racks: self.racks, candidates }
            }
        };
        Ok(Some(Selector::new(network, self.rack[..self.hosts].to_vec())))
    }
    /// The entropy of what a selector of this fabric calls a path.
    pub fn entropy(&self, src: u16, dst: u16, path: Option<u32>) -> u16 {
        let Some(path) = path else { return 0 };
        let Joined::Any(candidates) = &self.joined else { return path as u16 };
        let [a, b] = [src, dst].map(|host| usize::from(self.rack[usize::from(host)]));
        candidates[a * usize::from(self.racks) + b][path as usize].0
    }
    /// Has a selector of this fabric avoid a link or switch, or use it again.
    pub fn set_works(&self, selector: &mut Selector, component: Component, works: bool) {
        match (selector.network(), &self.joined) {
            (Network::TwoTiers(selector), Joined::Spines { uplink, spine, .. }) => {
                let paths = usize::from(self.paths);
                let links = uplink
                    .iter()
                    .enumerate()
                    .filter(|&(at, &link)| link == component || spine[at % paths] == component);
                for (at, _) in links {
                    let (rack, path) = ((at / paths) as u16, (at % paths) as u16);
                    selector.set_link(rack, path, works).expect("a link of this fabric");
                }
            }
            (Network::Any { links, .. }, Joined::Any(_)) => {
                for &link in &self.directed[component as usize] {
                    links.set_link(link, works).expect("a link of this fabric");
                }
            }
            _ => {}
        }
    }
    /// Replaces `out` with what lies on the path from one host to another: links and switches.
    pub fn on_path(&self, src: u32, dst: u32, path: u16, out: &mut Vec<Component>) {
        out.clear();
        for end in self.way(HostId(src), HostId(dst), path) {
            let wire = self.wiring.of(end.node)[end.port.at()];
            out.push(wire.link as Component);
            out.push((self.links + wire.far.node.at()) as Component);
        }
        // Neither of the two ends is a switch.
        out.pop();
    }
    /// A host and a path by which packets from `from` go over `component` and over nothing else that
    /// `avoid` says.
    pub fn over(
        &self,
        from: u32,
        component: Component,
        avoid: impl Fn(Component) -> bool,
    ) -> Option<(HostId, u16)> {
        let mut way = Vec::new();
        let hosts = (0..self.hosts as u32).map(HostId);
        let mut all = hosts.flat_map(|host| (0..self.paths).map(move |path| (host, path)));
        all.find(|&(host, path)| {
            self.on_path(from, host.0, path, &mut way);
            way.contains(&component) && way.iter().all(|&at| at == component || !avoid(at))
        })
    }
}

/// Notes what a place is; `None`: it is something else already.
fn fix(place: &mut Component, is: Component) -> Option<()> {
    if *place != Component::MAX && *place != is {
        return None;
    }
    *place = is;
    Some(())
}
