//! The view that a central scheduler has of its network.

use crate::id::HostId;
use crate::units::Rate;
use std::sync::Arc;

type Paths = Arc<dyn Fn(HostId, HostId, &mut Vec<u32>) + Send + Sync>;
type Count = Arc<dyn Fn(HostId, HostId) -> u32 + Send + Sync>;
type Numbered = Arc<dyn Fn(HostId, HostId, u16, &mut Vec<u32>) + Send + Sync>;

/// Directed links, each with a capacity, and the path between any two hosts.
#[derive(Clone)]
pub struct Network {
    hosts: usize,
    capacity: Vec<Rate>,
    /// The rates of links. A scheduler may use `capacity` of them.
    lines: Arc<[Rate]>,
    paths: Paths,
    /// The number of numbered paths, and their links, if routes are pinned.
    numbered: Option<(Count, Numbered)>,
}

impl Network {
    /// A network of `hosts` hosts whose directed links, numbered from zero, have these capacities.
    /// `paths(src, dst, out)` appends the links of the path from `src` to `dst`, the host's own link first, or nothing
    /// if there is no path. It is called whenever a pair of hosts becomes busy.
    pub fn new(
        hosts: usize,
        capacity: Vec<Rate>,
        paths: impl Fn(HostId, HostId, &mut Vec<u32>) + Send + Sync + 'static,
    ) -> Network {
        let lines = capacity.as_slice().into();
        Network { hosts, capacity, lines, paths: Arc::new(paths), numbered: None }
    }
    /// The same network, in which packets choose their path by its number ([`crate::route::RoutingSpec::Pinned`]).
    /// `count` returns [`Network::path_count`]. `path` appends the links of [`Network::numbered_path`].
    pub fn with_numbered_paths(
        self,
        count: impl Fn(HostId, HostId) -> u32 + Send + Sync + 'static,
        path: impl Fn(HostId, HostId, u16, &mut Vec<u32>) + Send + Sync + 'static,
    ) -> Network {
        Network { numbered: Some((Arc::new(count), Arc::new(path))), ..self }
    }
    /// Number of hosts.
    pub fn hosts(&self) -> usize {
        self.hosts
    }
    /// The same network with only the first `hosts` hosts.
    pub fn first(mut self, hosts: usize) -> Network {
        self.hosts = self.hosts.min(hosts);
        self
    }
    /// The rate at which each directed link sends.
    pub fn lines(&self) -> &[Rate] {
        &self.lines
    }
    /// The capacity of each directed link that a scheduler may use.
    pub fn capacity(&self) -> &[Rate] {
        &self.capacity
    }
    /// The same network for a scheduler that may use `capacity` of each link.
    pub fn with_capacity(&self, capacity: Vec<Rate>) -> Network {
        Network { capacity, ..self.clone() }
    }
    /// Replaces `out` with the links from `src` to `dst`.
    pub fn path(&self, src: HostId, dst: HostId, out: &mut Vec<u32>) {
        out.clear();
        (self.paths)(src, dst, out);
    }
    /// The number of path numbers from `src` to `dst`. The numbers below it name all equal paths of a tree. Each path
    /// has one number if all its links work; otherwise some paths have several. The result is one if paths are not
    /// chosen by number, and zero if there is no path or `src` is `dst`.
    pub fn path_count(&self, src: HostId, dst: HostId) -> u32 {
        match &self.numbered {
            Some((count, _)) => count(src, dst),
            None => {
                let mut out = Vec::new();
                self.path(src, dst, &mut out);
                u32::from(!out.is_empty())
            }
        }
    }
    /// Replaces `out` with the links of path number `path` from `src` to `dst`, the host's own link first. `out` is
    /// empty if there is no path. Numbers from [`Network::path_count`] on repeat paths.
    pub fn numbered_path(&self, src: HostId, dst: HostId, path: u16, out: &mut Vec<u32>) {
        out.clear();
        match &self.numbered {
            Some((_, paths)) => paths(src, dst, path, out),
            None => (self.paths)(src, dst, out),
        }
    }
}

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Network({} hosts, {} directed links)", self.hosts, self.capacity.len())
    }
}
