//! Which links a pair of hosts needs: any topology, found out pair by pair and kept.

use super::ends::Ends;
use super::links::Links;
use super::parts::{Parts, Scratch, by_parts};
use super::round::Assignment;
use super::set::set_bit;
use slotline_net::error::SpecError;
use slotline_net::id::HostId;
use slotline_net::scheme::network::Network;
use slotline_net::units::Rate;

/// A link that is never full: in the place of a host's own where it has several.
pub(super) const FREE: u32 = u32::MAX;

/// The links of a path. There may be [`FREE`] ones among them.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    /// The sender's own link and the receiver's, each [`FREE`] where it is among the others.
    pub own: [u32; 2],
    /// The links between switches where there is one up and one down; or [`FREE`].
    pub two: [u32; 2],
    /// Where there are others, all of them.
    pub inner: &'a [u32],
}

impl Path<'_> {
    pub fn links(self) -> impl Iterator<Item = u32> {
        self.own.into_iter().chain(self.two).chain(self.inner.iter().copied())
    }
    /// The first and the last link between switches; [`FREE`] where there is none.
    pub fn ends(self) -> [u32; 2] {
        let last = || self.inner.iter().copied().rev().find(|&link| link != FREE);
        match self.inner {
            [] => self.two,
            [first, ..] => [*first, last().unwrap_or(FREE)],
        }
    }
}

/// Whether a link is the one that is known; the first one becomes known.
pub(super) fn same(known: &mut u32, link: u32) -> bool {
    if *known == FREE {
        *known = link;
    }
    *known == link
}

/// A pair that a slot can carry, and how fast.
#[derive(Clone, Copy)]
pub(super) struct Fit {
    pub src: usize,
    pub dst: usize,
    pub rate: u64,
}

impl Fit {
    pub fn of(Assignment { src, dst, rate, .. }: Assignment) -> Fit {
        Fit { src: src.at(), dst: dst.at(), rate: rate.0 }
    }
    pub fn carrying(self, bytes: u64) -> Assignment {
        let (src, dst) = (HostId(self.src as u32), HostId(self.dst as u32));
        Assignment { src, dst, rate: Rate(self.rate), bytes }
    }
}

/// A pair, if its path is free.
#[inline]
pub(super) fn fit(path: Path<'_>, (src, dst): (usize, usize), links: &Links) -> Option<Fit> {
    let (rate, fits) = links.look(path);
    (rate > 0 && fits).then_some(Fit { src, dst, rate })
}

/// What a search looks for: a destination of `src` that is in both sets, 64 to a word.
#[derive(Clone, Copy)]
pub(super) struct Sought<'a> {
    pub src: usize,
    /// Where it begins.
    pub from: usize,
    pub waiting: &'a [u64],
    pub open: &'a [u64],
    pub links: &'a Links,
}

/// What a planner has to know of a network's paths.
pub(super) trait Paths: Send + Sized {
    /// Whether each pair has a path of its own, which takes time to be read.
    const ARE_MANY: bool;
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
    /// Something of where the path of a pair is kept, if it is.
    fn glance(&self, _src: usize, _dst: usize) -> u32 {
        0
    }
    /// The pair of `src` and `dst`, if its path is free.
    #[inline]
    fn fit(&mut self, (src, dst): (usize, usize), links: &Links) -> Option<Fit> {
        fit(self.path(src, dst)?, (src, dst), links)
    }
    /// A destination whose path is free, if so many looks at paths will do. The first one, from a place on,
    /// of those that are looked at together.
    fn search(&mut self, sought: Sought<'_>, looks: &mut usize) -> Option<Fit>;
    /// Whether a pair has a path and it is known, without asking its links, that it is not free. `open`
    /// says whether the receiver's own link is.
    fn is_blocked(&self, _src: usize, _dst: usize, _open: bool) -> bool {
        false
    }
    /// Puts a pair on the links of its path. Says whether the receiver's own link is full then.
    fn occupy(&mut self, fit: Fit, user: u32, links: &mut Links) -> bool {
        let Some(path) = self.path(fit.src, fit.dst) else { return false };
        links.take(path, fit.rate, user);
        let (ends, [_, down]) = (path.ends(), path.own);
        ends.into_iter().filter(|&end| links.is_full(end)).for_each(|end| self.close(end));
        links.is_full(down)
    }
    /// The first or last link of a path is full.
    fn close(&mut self, _link: u32) {}
    /// It is not full any more.
    fn open(&mut self, _link: u32) {}
    /// Nothing is on any link.
    fn open_all(&mut self, _links: &Links) {}
    /// For the order of turns: hosts in an order in which those at different switches alternate.
    fn order(&self) -> Vec<u32> {
        (0..self.network().hosts() as u32).collect()
    }
}

/// All paths that were asked for, pair by pair: what is looked at most has to be near.
pub(super) struct PathTable {
    network: Network,
    /// Links of each pair, so many for each destination; rows of hosts that never sent are empty.
    of: Vec<Vec<u32>>,
    width: usize,
    /// The parts of each host's destinations.
    by: Vec<By>,
    /// Pairs whose path has the hosts' own links, because these have several.
    whole: Vec<Vec<u64>>,
    any_whole: bool,
    up: Vec<u32>,
    down: Vec<u32>,
    /// Hosts from which paths begin with different links.
    starts: Vec<bool>,
    /// Hosts to which paths end with different links.
    several: Vec<bool>,
    /// Who is behind full links.
    ends: Ends,
    asked: Vec<u32>,
    scratch: Scratch,
}

/// So many paths from and to each host are looked at to know whether it has several links. A host that shows
/// another one only later may go unused in a slot although that link is free.
const PROBES: usize = 32;

/// With more different paths than this, destinations of a host are told apart by the first link only.
const MOST_PARTS: usize = 40;

/// In the place of the first link of a pair.
const UNKNOWN: u32 = u32::MAX - 1;
const NONE: u32 = u32::MAX - 2;

/// The destinations of a host, put together by path or by its first link.
#[derive(Clone)]
struct By {
    /// Of each part, the links that have to be free: all, or the first, of one of its paths.
    keys: Vec<u32>,
    /// How many these are for each part.
    width: usize,
    /// Of each part, all destinations, 64 to a word.
    sets: Vec<u64>,
    /// Destinations whose path was not asked for yet.
    unknown: Vec<u64>,
    first_only: bool,
}

impl By {
    fn new(hosts: usize) -> By {
        let unknown = vec![u64::MAX; hosts.div_ceil(64)];
        By { keys: Vec::new(), width: 1, sets: Vec::new(), unknown, first_only: false }
    }
    fn parts(&self) -> usize {
        self.keys.len() / self.width
    }
    fn needs(&self, part: usize) -> &[u32] {
        &self.keys[part * self.width..][..self.width]
    }
    /// Puts `dst`, whose path is in the row, into its part.
    fn add(&mut self, dst: usize, row: &[u32], width: usize) {
        let key = &row[dst * width..][..self.width];
        let known = match key {
            [first] => self.keys.iter().position(|known| known == first),
            _ => self.keys.chunks_exact(self.width).position(|known| known == key),
        };
        let words = self.unknown.len();
        let part = known.unwrap_or(self.parts());
        if known.is_none() {
            if part == MOST_PARTS && !self.first_only {
                self.first_only = true;
                return self.add_all(row, width);
            }
            self.keys.extend_from_slice(key);
            self.sets.resize(self.sets.len() + words, 0);
        }
        set_bit(&mut self.sets[part * words..][..words], dst, true);
    }
    /// Puts all known destinations into parts anew, with paths of so many links.
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

impl Paths for PathTable {
    const ARE_MANY: bool = true;
    fn new(network: Network) -> Result<PathTable, SpecError> {
        let hosts = network.hosts();
        let mut table = PathTable {
            network,
            of: vec![Vec::new(); hosts],
            width: 1,
            by: vec![By::new(hosts); hosts],
            whole: vec![Vec::new(); hosts],
            any_whole: false,
            up: vec![FREE; hosts],
            down: vec![FREE; hosts],
            starts: vec![false; hosts],
            several: vec![false; hosts],
            ends: Ends::new(hosts, 0, [].into_iter()),
            asked: Vec::new(),
            scratch: Scratch::default(),
        };
        for src in (0..hosts).step_by(hosts.div_ceil(PROBES).max(1)) {
            for other in (0..hosts).filter(|&other| other != src) {
                table.path(src, other);
                table.path(other, src);
            }
        }
        table.find_ends();
        Ok(table)
    }
    #[inline]
    fn glance(&self, src: usize, dst: usize) -> u32 {
        self.of[src].get(dst * self.width).copied().unwrap_or(UNKNOWN)
    }
    fn search(&mut self, sought: Sought<'_>, looks: &mut usize) -> Option<Fit> {
        by_parts(self, sought, looks)
    }
    fn close(&mut self, link: u32) {
        self.ends.close(link);
    }
    fn open(&mut self, link: u32) {
        self.ends.open(link);
    }
    fn open_all(&mut self, _links: &Links) {
        self.ends.open_all();
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
        if self.of[src].get(dst * self.width).is_none_or(|&first| first == UNKNOWN) {
            self.ask(src, dst);
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

impl Parts for PathTable {
    fn parts(&self, src: usize) -> usize {
        1 + self.by[src].parts()
    }
    #[inline]
    fn reaches(&self, src: usize, part: usize, links: &Links) -> bool {
        part == 0 || self.by[src].needs(part - 1).iter().all(|&link| !links.is_full(link))
    }
    fn scratch(&mut self) -> &mut Scratch {
        &mut self.scratch
    }
    fn part(&self, src: usize, part: usize, _links: &Links, among: &[u64], out: &mut Vec<u64>) {
        let by = &self.by[src];
        out.clear();
        let Some(part) = part.checked_sub(1) else {
            return out.extend(among.iter().zip(&by.unknown).map(|(among, set)| among & set));
        };
        let (closed, words) = (self.ends.closed(by.needs(part)[0]), by.unknown.len());
        let sets = among.iter().zip(&by.sets[part * words..][..words]).zip(closed);
        out.extend(sets.map(|((among, set), closed)| among & set & !closed));
    }
}

impl PathTable {
    /// Looks at a pair for the first time.
    fn ask(&mut self, src: usize, dst: usize) {
        let mut path = std::mem::take(&mut self.asked);
        self.network.path(HostId(src as u32), HostId(dst as u32), &mut path);
        let kept = self.without_own(src, dst, &path);
        if kept.len() > self.width {
            self.widen(kept.len());
        }
        let (hosts, width) = (self.of.len(), self.width);
        let row = &mut self.of[src];
        if row.is_empty() {
            row.resize(hosts * width, UNKNOWN);
            self.by[src].width = width;
        }
        let place = &mut row[dst * width..][..width];
        place.fill(FREE);
        place[..kept.len()].copy_from_slice(kept);
        set_bit(&mut self.by[src].unknown, dst, false);
        if path.is_empty() {
            row[dst * width] = NONE;
        } else {
            if let (Some(&first), Some(&last)) = (kept.first(), kept.last()) {
                self.ends.learn(dst, first, last);
            }
            self.by[src].add(dst, row, width);
        }
        self.asked = path;
    }
    /// From all paths that are known, who is behind which link.
    fn find_ends(&mut self) {
        let (width, links) = (self.width, self.network.capacity().len());
        let ends = |path: &[u32]| {
            let mut inner = path.iter().copied().filter(|&link| (link as usize) < links);
            let first = inner.next()?;
            Some((first, inner.next_back().unwrap_or(first)))
        };
        let rows = || self.of.iter().flat_map(|row| row.chunks_exact(width).map(ends).enumerate());
        let pairs = rows().filter_map(|(_, ends)| ends);
        let mut found = Ends::new(self.of.len(), links, pairs);
        rows().for_each(|(dst, ends)| {
            if let Some((first, last)) = ends {
                found.learn(dst, first, last);
            }
        });
        self.ends = found;
    }
    /// The first path of a host shows its own link; where another path has another one, that path is
    /// kept whole.
    fn without_own<'a>(&mut self, src: usize, dst: usize, path: &'a [u32]) -> &'a [u32] {
        let (Some(&first), Some(&last)) = (path.first(), path.last()) else { return path };
        let one_up = same(&mut self.up[src], first);
        let one_down = same(&mut self.down[dst], last);
        self.starts[src] |= !one_up;
        self.several[dst] |= !one_down;
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
        for (row, by) in self.of.iter_mut().zip(&mut self.by).filter(|(row, _)| !row.is_empty()) {
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
    use super::super::RoundSpec;
    use super::*;
    use proptest::prelude::*;
    use slotline_net::rng::mix32;

    /// 16 leaves of 4 hosts and 8 spines: more paths than parts; every tenth pair has none.
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
        /// Each destination is in one part, or unknown, or has no path; and whoever can be reached is in
        /// a part that is not left out.
        #[test]
        fn parts_leave_nobody_out(asked in prop::collection::vec((0usize..64, 0usize..64), 0..600), used in prop::collection::btree_set(128usize..384, 0..200)) {
            let mut table = PathTable::new(network()).unwrap();
            asked.iter().for_each(|&(src, dst)| { table.path(src, dst); });
            let mut links = Links::new(&RoundSpec::default().build().unwrap(), table.network());
            for &link in &used {
                links.make(link as u32, true);
                table.close(link as u32);
            }
            let mut path = Vec::new();
            for src in 0..64 {
                let mut found = [0; 64];
                for part in 0..table.parts(src) {
                    let mut set = Vec::new();
                    table.part(src, part, &links, &[u64::MAX], &mut set);
                    let set = if table.reaches(src, part, &links) { set[0] } else { 0 };
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
                let kept: Option<Vec<u32>> =
                    table.path(src, dst).map(|path| path.links().filter(|&link| link != FREE).collect());
                let mut expected = path.clone();
                expected.sort_unstable();
                let kept = kept.map(|mut kept| { kept.sort_unstable(); kept });
                prop_assert_eq!(kept.unwrap_or_default(), expected);
            }
        }
    }
}
