//! What a central scheduler knows about the network it schedules.

use crate::id::HostId;
use crate::units::Rate;
use std::sync::Arc;

type Paths = Arc<dyn Fn(HostId, HostId, &mut Vec<u32>) + Send + Sync>;

/// Directed links with a capacity each, and the path between any two hosts.
#[derive(Clone)]
pub struct Network {
    hosts: usize,
    capacity: Vec<Rate>,
    /// What links send at, of which a scheduler may use `capacity`.
    lines: Arc<[Rate]>,
    paths: Paths,
}

impl Network {
    /// A network of `hosts` hosts whose directed links, numbered from zero, have these capacities.
    /// `paths(src, dst, out)` appends the links of the path from `src` to `dst`, the host's own link
    /// first, and nothing where there is none. It is asked whenever a pair of hosts becomes busy.
    pub fn new(
        hosts: usize,
        capacity: Vec<Rate>,
        paths: impl Fn(HostId, HostId, &mut Vec<u32>) + Send + Sync + 'static,
    ) -> Network {
        let lines = capacity.as_slice().into();
        Network { hosts, capacity, lines, paths: Arc::new(paths) }
    }
    /// Number of hosts.
    pub fn hosts(&self) -> usize {
        self.hosts
    }
    /// The same links with the first `hosts` hosts alone.
    pub fn first(mut self, hosts: usize) -> Network {
        self.hosts = self.hosts.min(hosts);
        self
    }
    /// The rate at which each directed link sends.
    pub fn lines(&self) -> &[Rate] {
        &self.lines
    }
    /// Capacity of each directed link: what a scheduler may use of it.
    pub fn capacity(&self) -> &[Rate] {
        &self.capacity
    }
    /// The same for a scheduler that may use this much of each link.
    pub fn with_capacity(&self, capacity: Vec<Rate>) -> Network {
        let (lines, paths) = (Arc::clone(&self.lines), Arc::clone(&self.paths));
        Network { hosts: self.hosts, capacity, lines, paths }
    }
    /// Replaces `out` with the links from `src` to `dst`.
    pub fn path(&self, src: HostId, dst: HostId, out: &mut Vec<u32>) {
        out.clear();
        (self.paths)(src, dst, out);
    }
}

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Network({} hosts, {} directed links)", self.hosts, self.capacity.len())
    }
}
