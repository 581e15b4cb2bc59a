//! The paths of any network, found pair by pair and stored.

use super::groups::{DestinationGroups, Scratch, search_groups};
use super::last_links::LastLinks;
use super::{Candidate, FREE, Path, Paths, Search, same};
use crate::planner::host_set::set_bit;
use crate::planner::links::Links;
use slotline_net::error::SpecError;
use slotline_net::id::HostId;
use slotline_net::scheme::network::Network;

/// All paths that were looked up, pair by pair. The data that is used most is stored close together.
pub(crate) struct PairTable {
    network: Network,
    /// By sender, `width` links for each destination. The rows of hosts that never sent are empty.
    of: Vec<Vec<u32>>,
    width: usize,
    /// By host, the groups of its destinations.
    groups: Vec<GroupedDestinations>,
    /// The pairs whose stored path includes the hosts' own links, because a host has several.
    whole: Vec<Vec<u64>>,
    any_whole: bool,
    up: Vec<u32>,
    down: Vec<u32>,
    /// The hosts from which paths begin with different links.
    several_up: Vec<bool>,
    /// The hosts to which paths end with different links.
    several_down: Vec<bool>,
    /// The destinations behind full links.
    last_links: LastLinks,
    /// Working memory for one path.
    path_links: Vec<u32>,
    scratch: Scratch,
}

/// The number of paths from and to each host that are looked up first, to know whether the host has several links.
/// If another link appears only later, the host may be left out of a slot although that link is free.
const PROBES: usize = 32;

/// With more different paths than this, the destinations of a host are grouped by the first link only.
const MOST_GROUPS: usize = 40;

/// These stand for the first link of a pair: the path was not looked up yet, or there is none.
const UNKNOWN: u32 = u32::MAX - 1;
const NONE: u32 = u32::MAX - 2;

/// The destinations of a host, grouped by path or by its first link.
#[derive(Clone)]
struct GroupedDestinations {
    /// By group, the links that have to be free: all links of its path, or only the first.
    keys: Vec<u32>,
    /// The number of these links for each group.
    width: usize,
    /// By group, all destinations, 64 to a word.
    sets: Vec<u64>,
    /// The destinations whose path was not looked up yet.
    unknown: Vec<u64>,
    first_only: bool,
}

impl GroupedDestinations {
    fn new(hosts: usize) -> GroupedDestinations {
        let unknown = vec![u64::MAX; hosts.div_ceil(64)];
        GroupedDestinations {
            keys: Vec::new(),
            width: 1,
            sets: Vec::new(),
            unknown,
            first_only: false,
        }
    }
    fn groups(&self) -> usize {
        self.keys.len() / self.width
    }
    fn needs(&self, group: usize) -> &[u32] {
        &self.keys[group * self.width..][..self.width]
    }
    /// Puts `dst`, whose path is in the row, into its group.
    fn add(&mut self, dst: usize, row: &[u32], width: usize) {
        let key = &row[dst * width..][..self.width];
        let known = match key {
            [first] => self.keys.iter().position(|known| known == first),
            _ => self.keys.chunks_exact(self.width).position(|known| known == key),
        };
        let words = self.unknown.len();
        let group = known.unwrap_or(self.groups());
        if known.is_none() {
            if group == MOST_GROUPS && !self.first_only {
                self.first_only = true;
                return self.add_all(row, width);
            }
            self.keys.extend_from_slice(key);
            self.sets.resize(self.sets.len() + words, 0);
        }
        set_bit(&mut self.sets[group * words..][..words], dst, true);
    }
    /// Groups all known destinations again, with paths of `width` links.
    fn add_all(&mut self, row: &[u32], width: usize) {
        self.width = if self.first_only { 1 } else { width };
        self.keys.clear();
        self.sets.clear();
        let known = |dst: &usize| row[dst * width] != UNKNOWN && row[dst * width] != NONE;
        for dst in (0..row.len() / width).filter(known) {
            self.add(dst, row, width);
        }
    }
}

impl Paths for PairTable {
    const ARE_MANY: bool = true;
    fn new(network: Network) -> Result<PairTable, SpecError> {
        let hosts = network.hosts();
        let mut table = PairTable {
            network,
            of: vec![Vec::new(); hosts],
            width: 1,
            groups: vec![GroupedDestinations::new(hosts); hosts],
            whole: vec![Vec::new(); hosts],
            any_whole: false,
            up: vec![FREE; hosts],
            down: vec![FREE; hosts],
            several_up: vec![false; hosts],
            several_down: vec![false; hosts],
            last_links: LastLinks::new(hosts, 0, [].into_iter()),
            path_links: Vec::new(),
            scratch: Scratch::default(),
        };
        for src in (0..hosts).step_by(hosts.div_ceil(PROBES).max(1)) {
            for other in (0..hosts).filter(|&other| other != src) {
                table.path(src, other);
                table.path(other, src);
            }
        }
        table.find_last_links();
        Ok(table)
    }
    #[inline]
    fn prefetch(&self, src: usize, dst: usize) -> u32 {
        self.of[src].get(dst * self.width).copied().unwrap_or(UNKNOWN)
    }
    fn search(&mut self, search: Search<'_>, lookups: &mut usize) -> Option<Candidate> {
        search_groups(self, search, lookups)
    }
    fn close(&mut self, link: u32) {
        self.last_links.close(link);
    }
    fn open(&mut self, link: u32) {
        self.last_links.open(link);
    }
    fn open_all(&mut self, _links: &Links) {
        self.last_links.open_all();
    }
    fn own_link(&self, src: usize) -> Option<u32> {
        Some(self.up[src]).filter(|_| !self.several_up[src])
    }
    fn has_one_link(&self, dst: usize) -> bool {
        !self.several_down[dst]
    }
    fn network(&self) -> &Network {
        &self.network
    }
    #[inline]
    fn path(&mut self, src: usize, dst: usize) -> Option<Path<'_>> {
        if self.of[src].get(dst * self.width).is_none_or(|&first| first == UNKNOWN) {
            self.look_up(src, dst);
        }
        let inner = &self.of[src][dst * self.width..][..self.width];
        if inner[0] == NONE {
            return None;
        }
        if self.any_whole && self.is_whole(src, dst) {
            return Some(Path { own: [FREE; 2], two: [FREE; 2], inner });
        }
        Some(Path { own: [self.up[src], self.down[dst]], two: [FREE; 2], inner })
    }
}

impl DestinationGroups for PairTable {
    fn groups(&self, src: usize) -> usize {
        1 + self.groups[src].groups()
    }
    #[inline]
    fn reaches(&self, src: usize, group: usize, links: &Links) -> bool {
        group == 0 || self.groups[src].needs(group - 1).iter().all(|&link| !links.is_full(link))
    }
    fn scratch(&mut self) -> &mut Scratch {
        &mut self.scratch
    }
    fn group(&self, src: usize, group: usize, _links: &Links, among: &[u64], out: &mut Vec<u64>) {
        let by = &self.groups[src];
        out.clear();
        let Some(group) = group.checked_sub(1) else {
            return out.extend(among.iter().zip(&by.unknown).map(|(among, set)| among & set));
        };
        let (closed, words) = (self.last_links.closed(by.needs(group)[0]), by.unknown.len());
        let sets = among.iter().zip(&by.sets[group * words..][..words]).zip(closed);
        out.extend(sets.map(|((among, set), closed)| among & set & !closed));
    }
}

impl PairTable {
    /// Looks up the path of a pair for the first time.
    fn look_up(&mut self, src: usize, dst: usize) {
        let mut path = std::mem::take(&mut self.path_links);
        self.network.path(HostId(src as u32), HostId(dst as u32), &mut path);
        let inner = self.without_own(src, dst, &path);
        if inner.len() > self.width {
            self.widen(inner.len());
        }
        let (hosts, width) = (self.of.len(), self.width);
        let row = &mut self.of[src];
        if row.is_empty() {
            row.resize(hosts * width, UNKNOWN);
            self.groups[src].width = width;
        }
        let place = &mut row[dst * width..][..width];
        place.fill(FREE);
        place[..inner.len()].copy_from_slice(inner);
        set_bit(&mut self.groups[src].unknown, dst, false);
        if path.is_empty() {
            row[dst * width] = NONE;
        } else {
            if let (Some(&first), Some(&last)) = (inner.first(), inner.last()) {
                self.last_links.learn(dst, first, last);
            }
            self.groups[src].add(dst, row, width);
        }
        self.path_links = path;
    }
    /// Finds the destinations behind each last link, from all known paths.
    fn find_last_links(&mut self) {
        let (width, links) = (self.width, self.network.capacity().len());
        let ends = |path: &[u32]| {
            let mut inner = path.iter().copied().filter(|&link| (link as usize) < links);
            let first = inner.next()?;
            Some((first, inner.next_back().unwrap_or(first)))
        };
        let rows = || self.of.iter().flat_map(|row| row.chunks_exact(width).map(ends).enumerate());
        let pairs = rows().filter_map(|(_, ends)| ends);
        let mut found = LastLinks::new(self.of.len(), links, pairs);
        rows().for_each(|(dst, ends)| {
            if let Some((first, last)) = ends {
                found.learn(dst, first, last);
            }
        });
        self.last_links = found;
    }
    /// A path without the hosts' own links, which the first path of each host shows. A path with other own links is
    /// stored whole.
    fn without_own<'a>(&mut self, src: usize, dst: usize, path: &'a [u32]) -> &'a [u32] {
        let (Some(&first), Some(&last)) = (path.first(), path.last()) else { return path };
        let one_up = same(&mut self.up[src], first);
        let one_down = same(&mut self.down[dst], last);
        self.several_up[src] |= !one_up;
        self.several_down[dst] |= !one_down;
        if path.len() > 1 && one_up && one_down {
            return &path[1..path.len() - 1];
        }
        let words = self.of.len().div_ceil(64);
        self.any_whole = true;
        self.whole[src].resize(words, 0);
        set_bit(&mut self.whole[src], dst, true);
        path
    }
    fn is_whole(&self, src: usize, dst: usize) -> bool {
        self.whole[src].get(dst / 64).is_some_and(|word| word >> (dst % 64) & 1 == 1)
    }
    /// Makes room for longer paths.
    fn widen(&mut self, width: usize) {
        for (row, by) in self.of.iter_mut().zip(&mut self.groups).filter(|(row, _)| !row.is_empty())
        {
            let mut wide = vec![FREE; row.len() / self.width * width];
            for (new, old) in wide.chunks_exact_mut(width).zip(row.chunks_exact(self.width)) {
                new[..old.len()].copy_from_slice(old);
            }
            *row = wide;
            by.add_all(row, width);
        }
        self.width = width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RoundSpec;
    use proptest::prelude::*;
    use slotline_net::rng::mix32;
    use slotline_net::units::Rate;

    /// 16 leaves of 4 hosts and 8 spines: more paths than groups; every tenth pair has none.
    fn network() -> Network {
        let rates = vec![Rate(1); 2 * 64 + 2 * 16 * 8];
        Network::new(64, rates, |src, dst, out| {
            let (from, to, hash) = (src.0 / 4, dst.0 / 4, mix32(src.0 * 64 + dst.0 + 1));
            if hash % 10 == 0 {
                return;
            }
            out.push(src.0);
            if from != to {
                out.extend([128 + from * 8 + hash % 8, 256 + to * 8 + hash % 8]);
            }
            out.push(64 + dst.0);
        })
    }

    proptest! {
        /// Each destination is in one group, or unknown, or has no path. Each reachable destination is in a group that is
        /// searched.
        #[test]
        fn groups_leave_nobody_out(asked in prop::collection::vec((0usize..64, 0usize..64), 0..600), used in prop::collection::btree_set(128usize..384, 0..200)) {
            let mut table = PairTable::new(network()).unwrap();
            asked.iter().for_each(|&(src, dst)| { table.path(src, dst); });
            let mut links = Links::new(&RoundSpec::default().build().unwrap(), table.network(), &[]);
            for &link in &used {
                links.make(link as u32, true);
                table.close(link as u32);
            }
            let mut path = Vec::new();
            for src in 0..64 {
                let mut found = [0; 64];
                for group in 0..table.groups(src) {
                    let mut set = Vec::new();
                    table.group(src, group, &links, &[u64::MAX], &mut set);
                    let set = if table.reaches(src, group, &links) { set[0] } else { 0 };
                    (0..64).filter(|dst| set >> dst & 1 == 1).for_each(|dst: usize| found[dst] += 1);
                }
                for (dst, found) in found.into_iter().enumerate() {
                    table.network().path(HostId(src as u32), HostId(dst as u32), &mut path);
                    let reached = !path.is_empty() && path.iter().all(|&link| !links.is_full(link));
                    prop_assert!(found <= 1 && (found == 1 || !reached), "{src} to {dst}: {found}");
                }
            }
            for (src, dst) in asked {
                table.network().path(HostId(src as u32), HostId(dst as u32), &mut path);
                let stored: Option<Vec<u32>> =
                    table.path(src, dst).map(|path| path.links().filter(|&link| link != FREE).collect());
                let mut expected = path.clone();
                expected.sort_unstable();
                let stored = stored.map(|mut stored| { stored.sort_unstable(); stored });
                prop_assert_eq!(stored.unwrap_or_default(), expected);
            }
        }
    }
}
