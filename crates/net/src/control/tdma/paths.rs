//! Which links a pair of hosts needs: any topology, found out pair by pair and kept.

use super::lists::Lists;
use crate::control::network::Network;
use crate::error::SpecError;
use crate::id::HostId;

/// A link that is never full: in the place of a host's own where it has several.
pub(super) const FREE: u32 = u32::MAX;

/// The links of a path, but the hosts' own.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    /// The sender's own link, or [`FREE`].
    pub up: u32,
    /// The links between switches; all of them where a host has several links.
    pub inner: &'a [u32],
    /// The receiver's own link, or [`FREE`].
    pub down: u32,
}

impl Path<'_> {
    pub fn links(self) -> impl Iterator<Item = u32> {
        [self.up, self.down].into_iter().chain(self.inner.iter().copied())
    }
}

/// What a planner has to know of a network's paths.
pub(super) trait Paths: Send + Sized {
    fn new(network: Network) -> Result<Self, SpecError>;
    fn network(&self) -> &Network;
    /// The path from `src` to `dst`; `None` where there is none.
    fn path(&mut self, src: usize, dst: usize) -> Option<Path<'_>>;
    /// Whether all paths to `dst` end with the same link.
    fn has_one_link(&self, _dst: usize) -> bool {
        true
    }
    /// The link by which all paths from `src` begin; `None` where there may be several.
    fn own_link(&self, src: usize) -> Option<u32>;
    /// Takes out of a set of destinations, 64 to a word, some of those that `src` cannot reach at all
    /// while the links have `left`: no path to them has anything left.
    fn prune(&mut self, _src: usize, _left: &[u64], _set: &mut [u64]) {}
    /// For the order of turns: hosts in an order in which those at different switches alternate.
    fn order(&self) -> Vec<u32> {
        (0..self.network().hosts() as u32).collect()
    }
}

/// All paths that were asked for. Equal ones are kept once, so a pair takes 4 bytes.
pub(super) struct PathTable {
    network: Network,
    /// Number of the path of each pair; rows of hosts that never sent are empty.
    of: Vec<Vec<u32>>,
    /// By which link each host reaches whom.
    by: Vec<By>,
    /// All paths; those with the hosts' own links, because these have several, are marked.
    lists: Lists,
    up: Vec<u32>,
    down: Vec<u32>,
    /// Hosts from which paths begin with different links.
    starts: Vec<bool>,
    /// Hosts to which paths end with different links.
    several: Vec<bool>,
    scratch: Vec<u32>,
    reach: Vec<u64>,
}

/// So many paths from and to each host are looked at to know whether it has several links. A host that shows
/// another one only later may go unused in a slot although that link is free.
const PROBES: usize = 32;

/// The destinations of a host by the first link of the path after its own.
#[derive(Clone, Default)]
struct By {
    /// [`FREE`] for destinations at the same switch.
    links: Vec<u32>,
    /// A set of destinations, 64 to a word, for each.
    sets: Vec<u64>,
    /// Destinations whose path was not asked for yet.
    unknown: Vec<u64>,
}

impl By {
    fn add(&mut self, dst: usize, link: u32, hosts: usize) {
        let words = hosts.div_ceil(64);
        if self.unknown.is_empty() {
            self.unknown = vec![u64::MAX; words];
        }
        let place = self.links.iter().position(|&known| known == link).unwrap_or_else(|| {
            self.links.push(link);
            self.sets.resize(self.sets.len() + words, 0);
            self.links.len() - 1
        });
        self.sets[place * words + dst / 64] |= 1 << (dst % 64);
        self.unknown[dst / 64] &= !(1 << (dst % 64));
    }
}

const UNKNOWN: u32 = u32::MAX;
const NONE: u32 = u32::MAX - 1;

impl Paths for PathTable {
    fn new(network: Network) -> Result<PathTable, SpecError> {
        let hosts = network.hosts();
        let mut table = PathTable {
            network,
            of: vec![Vec::new(); hosts],
            by: vec![By::default(); hosts],
            reach: Vec::new(),
            lists: Lists::new(),
            up: vec![FREE; hosts],
            down: vec![FREE; hosts],
            starts: vec![false; hosts],
            several: vec![false; hosts],
            scratch: Vec::new(),
        };
        for src in (0..hosts).step_by(hosts.div_ceil(PROBES).max(1)) {
            for other in (0..hosts).filter(|&other| other != src) {
                table.path(src, other);
                table.path(other, src);
            }
        }
        Ok(table)
    }
    fn prune(&mut self, src: usize, left: &[u64], set: &mut [u64]) {
        let By { links, sets, unknown } = &self.by[src];
        if links.is_empty() {
            return;
        }
        // Each known destination is in one set, so whichever are fewer will do.
        let open = |link: u32| left.get(link as usize).is_none_or(|&left| left > 0);
        let keep = 2 * links.iter().filter(|&&link| open(link)).count() < links.len();
        self.reach.clear();
        self.reach.resize(set.len(), 0);
        for (&link, hosts) in links.iter().zip(sets.chunks_exact(set.len())) {
            if open(link) == keep {
                self.reach.iter_mut().zip(hosts).for_each(|(reach, hosts)| *reach |= hosts);
            }
        }
        for ((set, reach), unknown) in set.iter_mut().zip(&self.reach).zip(unknown) {
            *set &= if keep { reach | unknown } else { !reach };
        }
    }
    fn own_link(&self, src: usize) -> Option<u32> {
        Some(self.up[src]).filter(|_| !self.starts[src])
    }
    fn has_one_link(&self, dst: usize) -> bool {
        !self.several[dst]
    }
    fn network(&self) -> &Network {
        &self.network
    }
    #[inline]
    fn path(&mut self, src: usize, dst: usize) -> Option<Path<'_>> {
        let number = match self.of[src].get(dst) {
            Some(&number) if number != UNKNOWN => number,
            _ => self.ask(src, dst),
        };
        if number == NONE {
            return None;
        }
        let (inner, whole) = self.lists.get(number);
        let (up, down) = if whole { (FREE, FREE) } else { (self.up[src], self.down[dst]) };
        Some(Path { up, inner, down })
    }
}

impl PathTable {
    /// A pair is looked at for the first time.
    fn ask(&mut self, src: usize, dst: usize) -> u32 {
        let hosts = self.of.len();
        let number = self.find(src, dst);
        let row = &mut self.of[src];
        if row.is_empty() {
            row.resize(hosts, UNKNOWN);
        }
        row[dst] = number;
        if number != NONE {
            let first = self.lists.get(number).0.first().copied().unwrap_or(FREE);
            self.by[src].add(dst, first, hosts);
        }
        number
    }
    fn find(&mut self, src: usize, dst: usize) -> u32 {
        let mut path = std::mem::take(&mut self.scratch);
        self.network.path(HostId(src as u32), HostId(dst as u32), &mut path);
        let id = self.number(src, dst, &path);
        self.scratch = path;
        id
    }
    /// The first path of a host shows its own link; where another path has another one, that path is
    /// kept whole.
    fn number(&mut self, src: usize, dst: usize, path: &[u32]) -> u32 {
        let (Some(&first), Some(&last)) = (path.first(), path.last()) else {
            return NONE;
        };
        let own = |known: &mut u32, link| {
            if *known == FREE {
                *known = link;
            }
            *known == link
        };
        let one_up = own(&mut self.up[src], first);
        let one_down = own(&mut self.down[dst], last);
        self.starts[src] |= !one_up;
        self.several[dst] |= !one_down;
        let single = path.len() > 1 && one_up && one_down;
        let kept = if single { &path[1..path.len() - 1] } else { path };
        self.lists.number(kept, !single)
    }
}
