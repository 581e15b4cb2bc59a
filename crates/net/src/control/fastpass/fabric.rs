//! The network as the arbiter sees it: racks, the paths between them, and what lies on a path.

use super::faults::Component;
use super::paths::PathSelector;
use crate::control::Surroundings;
use crate::error::SpecError;
use crate::id::{HostId, NodeId};
use crate::units::Rate;

/// Paths that are looked for between two racks.
const MOST_PATHS: u16 = 4_096;

/// Where a component is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The link between a rack and a path.
    Link(u16, u16),
    /// Everything on a path: its switch.
    Path(u16),
    /// Where every path of some hosts goes: nothing can be done about it.
    Elsewhere,
}

/// Racks joined by switches, each of which is a path. Links and nodes are components: links by their
/// number, nodes by theirs after all links.
#[derive(Clone, Debug)]
pub struct Fabric {
    /// By host, stations included.
    rack: Vec<u16>,
    link: Vec<Component>,
    /// The switch of each rack.
    leaf: Vec<Component>,
    /// By rack and path.
    uplink: Vec<Component>,
    /// By path.
    spine: Vec<Component>,
    paths: u16,
    room: u16,
    hosts: usize,
    components: usize,
}

impl Fabric {
    /// Racks and paths of a network with pinned routes.
    ///
    /// # Errors
    /// Not one switch, or racks joined by one further switch on each path; links between switches that
    /// are slower than those of hosts.
    pub fn new(around: &Surroundings<'_>, slowest: Rate) -> Result<Fabric, SpecError> {
        let node = |at: NodeId| (around.graph.links.len() + at.at()) as Component;
        let mut switches: Vec<NodeId> = Vec::new();
        let (mut rack, mut link) = (Vec::new(), Vec::new());
        for host in &around.graph.hosts {
            let wire = around.wiring.of(*host)[0];
            let known = switches.iter().position(|&switch| switch == wire.far.node);
            let at = known.unwrap_or_else(|| {
                switches.push(wire.far.node);
                switches.len() - 1
            });
            rack.push(at as u16);
            link.push(wire.link as Component);
        }
        let components = around.graph.links.len() + around.graph.nodes.len();
        let leaf = switches.into_iter().map(node).collect();
        let (uplink, spine) = (Vec::new(), Vec::new());
        let hosts = around.hosts();
        let mut fabric =
            Fabric { rack, link, leaf, uplink, spine, paths: 1, room: 1, hosts, components };
        if fabric.leaf.len() > 1 {
            fabric.find_paths(around, slowest)?;
        }
        Ok(fabric)
    }
    /// One host of each rack.
    fn firsts(&self) -> Vec<HostId> {
        let first = |rack| self.rack.iter().position(|&other| other == rack);
        let racks = (0..self.racks()).filter_map(first);
        racks.map(|host| HostId(host as u32)).collect()
    }
    fn find_paths(&mut self, around: &Surroundings<'_>, slowest: Rate) -> Result<(), SpecError> {
        let firsts = self.firsts();
        let way = |a: usize, b: usize, path| {
            around.routes.path(around.wiring, firsts[a], firsts[b], path).unwrap_or_default()
        };
        let first = way(0, 1, 0);
        self.paths = (1..MOST_PATHS).find(|&path| way(0, 1, path) == first).unwrap_or(MOST_PATHS);
        let (racks, paths) = (firsts.len(), usize::from(self.paths));
        self.uplink = vec![Component::MAX; racks * paths];
        self.spine = vec![Component::MAX; paths];
        let mut narrowest = Rate(u64::MAX);
        for (a, b) in (0..racks).flat_map(|a| (0..racks).map(move |b| (a, b))) {
            for path in (0..self.paths).filter(|_| a != b) {
                let hops = way(a, b, path);
                let [_, up, down, _] = hops[..] else { return Err(unfit()) };
                let [up, down] = [up, down].map(|end| around.wiring.of(end.node)[end.port.at()]);
                let spine = (around.graph.links.len() + up.far.node.at()) as Component;
                let path = usize::from(path);
                fix(&mut self.uplink[a * paths + path], up.link as Component)?;
                fix(&mut self.uplink[b * paths + path], down.link as Component)?;
                fix(&mut self.spine[path], spine)?;
                narrowest = narrowest.min(up.lane.rate).min(down.lane.rate);
            }
        }
        self.room = (narrowest.0 / slowest.0.max(1)).min(u16::MAX.into()) as u16;
        if self.room == 0 {
            return Err(SpecError::new(
                "control",
                format!(
                    "fastpass needs links between switches ({narrowest}) that are at least as fast \
                     as those of hosts ({slowest})"
                ),
            ));
        }
        Ok(())
    }

    /// Racks.
    pub fn racks(&self) -> u16 {
        self.leaf.len() as u16
    }
    /// The rack of a host or station.
    #[inline]
    pub fn rack(&self, host: u32) -> u16 {
        self.rack[host as usize]
    }
    /// Paths between any two racks.
    pub fn paths(&self) -> u16 {
        self.paths
    }
    /// Hosts that are not stations.
    pub fn hosts(&self) -> usize {
        self.hosts
    }
    /// Links and nodes.
    pub fn components(&self) -> usize {
        self.components
    }
    /// A selector for its paths; `None` where there is nothing to select.
    ///
    /// # Errors
    /// More paths than a selector can have.
    pub fn selector(&self) -> Result<Option<PathSelector>, SpecError> {
        let selector = || PathSelector::new(self.racks(), self.paths, self.room);
        let wrong = |error: super::PathError| SpecError::new("control", error.to_string());
        (self.racks() > 1).then(selector).transpose().map_err(wrong)
    }
    /// Replaces `out` with what lies on the path from one host to another: links and switches.
    pub fn on_path(&self, src: u32, dst: u32, path: u16, out: &mut Vec<Component>) {
        let (a, b) = (usize::from(self.rack(src)), usize::from(self.rack(dst)));
        out.clear();
        out.extend([self.link[src as usize], self.leaf[a]]);
        if a != b {
            let (paths, path) = (usize::from(self.paths), usize::from(path % self.paths));
            let (up, down) = (self.uplink[a * paths + path], self.uplink[b * paths + path]);
            out.extend([up, self.spine[path], down, self.leaf[b]]);
        }
        out.push(self.link[dst as usize]);
    }
    /// Where a component is.
    pub fn place(&self, component: Component) -> Place {
        let paths = usize::from(self.paths);
        if let Some(at) = self.uplink.iter().position(|&link| link == component) {
            return Place::Link((at / paths) as u16, (at % paths) as u16);
        }
        let path = self.spine.iter().position(|&spine| spine == component);
        path.map_or(Place::Elsewhere, |path| Place::Path(path as u16))
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

fn unfit() -> SpecError {
    SpecError::new(
        "control",
        "fastpass chooses paths in a star, and where racks are joined by one switch on each path: \
         leaf-spine, or a tree of racks under one switch",
    )
}

/// Notes what a place is; it must be the same from wherever it is seen.
fn fix(place: &mut Component, is: Component) -> Result<(), SpecError> {
    if *place != Component::MAX && *place != is {
        return Err(unfit());
    }
    *place = is;
    Ok(())
}
