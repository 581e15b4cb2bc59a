//! Paths in a tree of switches. Hosts below one switch have the same paths, so paths are stored by switch.

use super::groups::{DestinationGroups, Scratch, search_groups};
use super::{Candidate, FREE, Path, Paths, Search, same};
use crate::planner::links::Links;
use slotline_net::error::SpecError;
use slotline_net::id::HostId;
use slotline_net::scheme::network::Network;
use std::collections::BTreeMap;

/// A tree: from each switch with hosts there is one sequence of links up, from which each path turns down once.
pub(crate) struct TreePaths {
    network: Network,
    /// By host, its switch. Only switches with hosts are counted.
    switch: Vec<u32>,
    up: Vec<u32>,
    down: Vec<u32>,
    switches: usize,
    /// By pair of switches, the links between them; `None` if there is no path.
    inner: Vec<Option<Vec<u32>>>,
    /// By switch, the links upwards from it, its own first.
    ups: Vec<Vec<u32>>,
    /// By switch and number of links upwards, the set of hosts that these reach.
    within: Vec<Vec<Vec<u64>>>,
    below: Vec<Below>,
    scratch: Scratch,
}

/// The hosts and switches below a link downwards.
struct Below {
    link: u32,
    hosts: Vec<u64>,
    switches: Vec<bool>,
}

impl Paths for TreePaths {
    const ARE_MANY: bool = false;
    fn new(network: Network) -> Result<TreePaths, SpecError> {
        let mut tree = TreePaths {
            switch: Vec::new(),
            up: vec![FREE; network.hosts()],
            down: vec![FREE; network.hosts()],
            switches: 0,
            inner: Vec::new(),
            ups: Vec::new(),
            within: Vec::new(),
            below: Vec::new(),
            scratch: Scratch::default(),
            network,
        };
        let first = tree.find_switches();
        tree.find_paths(&first)?;
        let downs = tree.find_up_and_down()?;
        tree.find_sets(&downs)?;
        Ok(tree)
    }
    fn network(&self) -> &Network {
        &self.network
    }
    fn path(&mut self, src: usize, dst: usize) -> Option<Path<'_>> {
        let pair = self.pair(self.switch[src], self.switch[dst]);
        let inner = self.inner[pair].as_deref()?;
        Some(Path { own: [self.up[src], self.down[dst]], two: [FREE; 2], inner })
    }
    fn own_link(&self, src: usize) -> Option<u32> {
        Some(self.up[src])
    }
    fn search(&mut self, search: Search<'_>, lookups: &mut usize) -> Option<Candidate> {
        search_groups(self, search, lookups)
    }
    /// The first host of each switch, then the second of each, and so on. So equal switches get equal turns.
    fn order(&self) -> Vec<u32> {
        let mut seen = vec![0u32; self.switches];
        let place = |switch: &u32| {
            let seen = &mut seen[*switch as usize];
            *seen += 1;
            (*seen, *switch)
        };
        let places: Vec<_> = self.switch.iter().map(place).collect();
        let mut order: Vec<u32> = (0..places.len() as u32).collect();
        order.sort_by_key(|&host| places[host as usize]);
        order
    }
}

impl DestinationGroups for TreePaths {
    fn groups(&self, _src: usize) -> usize {
        2
    }
    fn reaches(&self, _src: usize, group: usize, _links: &Links) -> bool {
        group > 0
    }
    fn group(&self, src: usize, _group: usize, links: &Links, among: &[u64], out: &mut Vec<u64>) {
        let switch = self.switch[src] as usize;
        let open = |&&link: &&u32| !links.is_full(link);
        let reach = self.ups[switch].iter().take_while(open).count();
        out.clear();
        match self.within[switch].get(reach) {
            Some(hosts) => out.extend(among.iter().zip(hosts).map(|(among, hosts)| among & hosts)),
            None => out.extend_from_slice(among),
        }
        if reach > 0 {
            let closed = |below: &&Below| links.is_full(below.link) && !below.switches[switch];
            for below in self.below.iter().filter(closed) {
                out.iter_mut().zip(&below.hosts).for_each(|(set, hosts)| *set &= !hosts);
            }
        }
    }
    fn scratch(&mut self) -> &mut Scratch {
        &mut self.scratch
    }
}

fn refused(network: &Network, why: &str) -> SpecError {
    let message = format!(
        "`scheduler` is tree, but the network of these {} hosts is not a tree in which all have the same depth: {why}; \
         `any` takes every network",
        network.hosts()
    );
    SpecError::new("scheduler", message)
}

impl TreePaths {
    fn pair(&self, from: u32, to: u32) -> usize {
        from as usize * self.switches + to as usize
    }
    /// Finds the switches: hosts between which there are only two links are at one switch. Returns the first host of
    /// each switch.
    fn find_switches(&mut self) -> Vec<usize> {
        let (mut first, mut path) = (Vec::new(), Vec::new());
        for host in 0..self.network.hosts() {
            let mut at_one = |&other: &usize| {
                self.network.path(HostId(other as u32), HostId(host as u32), &mut path);
                path.len() == 2
            };
            let switch = first.iter().position(&mut at_one).unwrap_or_else(|| {
                first.push(host);
                first.len() - 1
            });
            self.switch.push(switch as u32);
        }
        self.switches = first.len();
        first
    }
    /// Learns the links between switches and those of hosts, from and to the first host of each switch.
    fn find_paths(&mut self, first: &[usize]) -> Result<(), SpecError> {
        self.inner = vec![None; first.len() * first.len()];
        let mut path = Vec::new();
        for host in 0..self.network.hosts() {
            for &other in first.iter().filter(|&&other| other != host) {
                for (src, dst) in [(host, other), (other, host)] {
                    self.network.path(HostId(src as u32), HostId(dst as u32), &mut path);
                    self.learn(src, dst, &path)?;
                }
            }
        }
        for switch in 0..first.len() as u32 {
            let own = self.pair(switch, switch);
            self.inner[own].get_or_insert_default();
        }
        Ok(())
    }
    fn learn(&mut self, src: usize, dst: usize, path: &[u32]) -> Result<(), SpecError> {
        let [first, inner @ .., last] = path else { return Ok(()) };
        let pair = self.pair(self.switch[src], self.switch[dst]);
        let known = self.inner[pair].get_or_insert_with(|| inner.to_vec());
        let same_inner = known == inner;
        if same_inner && same(&mut self.up[src], *first) && same(&mut self.down[dst], *last) {
            return Ok(());
        }
        let why = format!("host {src} has several paths to host {dst} or a host beside it");
        Err(refused(&self.network, &why))
    }
    /// Finds the links upwards of each switch, and returns the links downwards to each. Each path begins with links
    /// upwards and ends with links downwards.
    fn find_up_and_down(&mut self) -> Result<Vec<Vec<u32>>, SpecError> {
        let mut downs = vec![Vec::new(); self.switches];
        self.ups = vec![Vec::new(); self.switches];
        let pairs =
            self.inner.iter().enumerate().filter_map(|(at, inner)| Some((at, inner.as_ref()?)));
        for (at, inner) in pairs {
            let (from, to) = (at / self.switches, at % self.switches);
            let (up, down) = inner.split_at(inner.len() / 2);
            let down: Vec<u32> = down.iter().rev().copied().collect();
            let agree = extend(&mut self.ups[from], up) && extend(&mut downs[to], &down);
            if !agree || up.len() != down.len() {
                let why = "a path does not go up and down by the fixed links of its two switches";
                return Err(refused(&self.network, why));
            }
        }
        Ok(downs)
    }
    fn find_sets(&mut self, downs: &[Vec<u32>]) -> Result<(), SpecError> {
        let words = self.switch.len().div_ceil(64);
        let mut members = vec![vec![0u64; words]; self.switches];
        for (host, &switch) in self.switch.iter().enumerate() {
            members[switch as usize][host / 64] |= 1 << (host % 64);
        }
        let unite = |of: &mut dyn Iterator<Item = usize>| {
            let mut set = vec![0u64; words];
            of.for_each(|at| set.iter_mut().zip(&members[at]).for_each(|(set, more)| *set |= more));
            set
        };
        let level = |from: usize, to: usize| {
            self.inner[from * self.switches + to].as_ref().map(|inner| inner.len() / 2)
        };
        let all = 0..self.switches;
        self.within = all
            .clone()
            .map(|from| {
                let near = |up| {
                    unite(&mut all.clone().filter(|&to| level(from, to).is_some_and(|l| l <= up)))
                };
                (0..self.ups[from].len()).map(near).collect()
            })
            .collect();
        let mut links: BTreeMap<u32, Vec<bool>> = BTreeMap::new();
        for (switch, down) in downs.iter().enumerate() {
            for &link in down {
                links.entry(link).or_insert_with(|| vec![false; self.switches])[switch] = true;
            }
        }
        let below = |(link, switches): (u32, Vec<bool>)| Below {
            link,
            hosts: unite(&mut (0..switches.len()).filter(|&at| switches[at])),
            switches,
        };
        self.below = links.into_iter().map(below).collect();
        let crossed = |below: &Below, from: usize, to: usize| {
            let inner = &self.inner[from * self.switches + to];
            below.switches[from] == below.switches[to]
                || !below.switches[to]
                || inner.as_ref().is_none_or(|inner| inner.contains(&below.link))
        };
        let tree = self
            .below
            .iter()
            .all(|below| all.clone().all(|from| all.clone().all(|to| crossed(below, from, to))));
        if tree {
            Ok(())
        } else {
            Err(refused(&self.network, "a switch can be reached by another link than its own"))
        }
    }
}

/// Makes `links` at least as long as `more` if one begins with the other. Returns whether this holds.
fn extend(links: &mut Vec<u32>, more: &[u32]) -> bool {
    let common = links.len().min(more.len());
    if links[..common] != more[..common] {
        return false;
    }
    links.extend_from_slice(&more[common..]);
    true
}
