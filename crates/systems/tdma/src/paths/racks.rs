//! Paths between racks. They take one byte for each pair, so that the search for a free path stays in the cache.
//!
//! A *rack* is the hosts that share links between switches. These links fall into *classes*: the two
//! that a path has between two racks are of one class, and a rack has at most one link up and one down of each. So
//! a path is its class. In a leaf-spine fabric each spine has a class; below one core there is one.

use super::last_links::{join, root};
use super::{Candidate, FREE, Path, Search, fit, same};
use crate::planner::host_set::{find_in, set_bit};
use crate::planner::links::Links;
use slotline_net::id::HostId;
use slotline_net::scheme::network::Network;

/// Networks of more hosts are too large, as all paths are looked up at once.
const MOST_HOSTS: usize = 2_048;
/// A set of classes fits into a word.
const MOST_CLASSES: usize = 64;
/// Stands for a class: the pair is in one rack, or has no path.
const SAME_RACK: u8 = 64;
const NO_ROUTE: u8 = 65;
/// Stands for the links between switches: there are none, or there is no path.
const NO_LINKS: [u32; 2] = [FREE, 0];
const NO_PATH: [u32; 2] = [FREE, FREE];

/// The rack and the class of a link between switches.
#[derive(Clone, Copy)]
enum LinkRole {
    None,
    Up(u32, u8),
    Down(u32, u8),
}

/// All paths of a network whose hosts are in racks, and which of their links are free.
pub(crate) struct RackPaths {
    network: Network,
    /// The hosts' own links.
    up: Vec<u32>,
    down: Vec<u32>,
    /// The rack of each host.
    rack: Vec<u32>,
    /// By pair, the class of its path.
    class_of: Vec<u8>,
    classes: usize,
    /// By rack and class, the links up and down; [`FREE`] if there is none.
    ups: Vec<u32>,
    downs: Vec<u32>,
    /// By link, its role.
    roles: Vec<LinkRole>,
    /// By rack, its hosts, 64 to a word.
    hosts: Vec<u64>,
    /// By rack, the words of its set of hosts that are not empty.
    words: Vec<Vec<(u32, u64)>>,
    /// By rack, the classes whose link up may be free: now, and at the beginning of a slot.
    free: Vec<u64>,
    all_free: Vec<u64>,
    /// By word and class, the destinations whose link down may be free: now, and at the beginning of a slot.
    reached: Vec<[u64; MOST_CLASSES]>,
    all_reached: Vec<[u64; MOST_CLASSES]>,
}

/// The paths of a network: the hosts' own links, and the two links between switches of each pair.
struct TwoLinkPaths {
    up: Vec<u32>,
    down: Vec<u32>,
    inner: Vec<[u32; 2]>,
}

impl TwoLinkPaths {
    /// `None` if a path is longer or a host has several links.
    fn of(network: &Network) -> Option<TwoLinkPaths> {
        let (hosts, mut path) = (network.hosts(), Vec::new());
        let mut known =
            TwoLinkPaths { up: vec![FREE; hosts], down: vec![FREE; hosts], inner: Vec::new() };
        for (src, dst) in (0..hosts).flat_map(|src| (0..hosts).map(move |dst| (src, dst))) {
            path.clear();
            if src != dst {
                network.path(HostId(src as u32), HostId(dst as u32), &mut path);
            }
            let inner = known.learn(src, dst, &path)?;
            known.inner.push(inner);
        }
        Some(known)
    }
    fn learn(&mut self, src: usize, dst: usize, path: &[u32]) -> Option<[u32; 2]> {
        let (first, inner, last) = match *path {
            [] => return Some(NO_PATH),
            [first, last] => (first, NO_LINKS, last),
            [first, up, down, last] => (first, [up, down], last),
            _ => return None,
        };
        (same(&mut self.up[src], first) && same(&mut self.down[dst], last)).then_some(inner)
    }
    fn pairs(&self) -> impl Iterator<Item = ((usize, usize), [u32; 2])> {
        let hosts = self.up.len();
        self.inner
            .iter()
            .enumerate()
            .map(move |(pair, &inner)| ((pair / hosts, pair % hosts), inner))
    }
    /// The rack of each host and the class of each link.
    fn racks_and_classes(&self, links: usize) -> (Vec<u32>, Vec<u32>) {
        let mut racks: Vec<u32> = (0..self.up.len() as u32).collect();
        let mut classes: Vec<u32> = (0..links as u32).collect();
        // The first host seen below each link.
        let (mut above, mut below) = (vec![FREE; links], vec![FREE; links]);
        for ((src, dst), inner) in self.pairs() {
            match inner {
                NO_PATH => {}
                NO_LINKS => join(&mut racks, src as u32, dst as u32),
                [up, down] => {
                    join(&mut classes, up, down);
                    for (host, first) in
                        [(src, &mut above[up as usize]), (dst, &mut below[down as usize])]
                    {
                        if !same(first, host as u32) {
                            join(&mut racks, *first, host as u32);
                        }
                    }
                }
            }
        }
        let used = |link: usize| above[link] != FREE || below[link] != FREE;
        (numbers(&mut racks, |_| true), numbers(&mut classes, used))
    }
}

/// Replaces roots by numbers from zero. Those that are not `used` get [`FREE`].
fn numbers(above: &mut [u32], used: impl Fn(usize) -> bool) -> Vec<u32> {
    let (mut of, mut next) = (vec![FREE; above.len()], 0);
    for at in (0..above.len()).filter(|&at| used(at)) {
        // The root has the lowest number, so it comes first.
        let top = root(above, at as u32) as usize;
        if top == at {
            (of[at], next) = (next, next + 1);
        } else {
            of[at] = of[top];
        }
    }
    of
}

fn count(numbers: &[u32]) -> usize {
    numbers.iter().filter(|&&number| number != FREE).max().map_or(0, |&most| most as usize + 1)
}

impl RackPaths {
    /// The paths of a network; `None` if it is too large or its paths have another form.
    pub fn of(network: &Network) -> Option<RackPaths> {
        let hosts = network.hosts();
        if hosts > MOST_HOSTS {
            return None;
        }
        let known = TwoLinkPaths::of(network)?;
        let links = network.capacity().len();
        let (rack, link_class) = known.racks_and_classes(links);
        let (racks, classes) = (count(&rack), count(&link_class));
        if classes > MOST_CLASSES {
            return None;
        }
        let mut all = RackPaths {
            network: network.clone(),
            rack,
            class_of: Vec::with_capacity(known.inner.len()),
            classes,
            ups: vec![FREE; racks * classes],
            downs: vec![FREE; racks * classes],
            roles: vec![LinkRole::None; links],
            hosts: vec![0; racks * hosts.div_ceil(64)],
            words: vec![Vec::new(); racks],
            free: vec![0; racks],
            all_free: Vec::new(),
            reached: vec![[0; MOST_CLASSES]; hosts.div_ceil(64)],
            all_reached: Vec::new(),
            up: Vec::new(),
            down: Vec::new(),
        };
        for (pair, inner) in known.pairs() {
            let class = all.learn(pair, inner, &link_class)?;
            all.class_of.push(class);
        }
        (all.up, all.down) = (known.up, known.down);
        all.find_sets();
        Some(all)
    }
    /// The class of a path; `None` if its rack has another link of that class.
    fn learn(&mut self, (src, dst): (usize, usize), inner: [u32; 2], class: &[u32]) -> Option<u8> {
        let [up, down] = match inner {
            NO_PATH => return Some(NO_ROUTE),
            NO_LINKS => return Some(SAME_RACK),
            links => links,
        };
        let (from, to, class) = (self.rack[src], self.rack[dst], class[up as usize]);
        let place = |rack: u32| rack as usize * self.classes + class as usize;
        let class = class as u8;
        let alone = same(&mut self.ups[place(from)], up) && same(&mut self.downs[place(to)], down);
        let (up, down) = (up as usize, down as usize);
        if !alone
            || matches!(self.roles[up], LinkRole::Down(..))
            || matches!(self.roles[down], LinkRole::Up(..))
        {
            return None;
        }
        (self.roles[up], self.roles[down]) = (LinkRole::Up(from, class), LinkRole::Down(to, class));
        Some(class)
    }
    fn find_sets(&mut self) {
        let words = self.rack.len().div_ceil(64);
        for (host, &rack) in self.rack.iter().enumerate() {
            set_bit(&mut self.hosts[rack as usize * words..][..words], host, true);
        }
        for (own, all) in self.words.iter_mut().zip(self.hosts.chunks_exact(words.max(1))) {
            own.extend((0..).zip(all.iter().copied()).filter(|(_, word)| *word != 0));
        }
        for link in 0..self.roles.len() as u32 {
            self.open(link);
        }
        (self.all_free, self.all_reached) = (self.free.clone(), self.reached.clone());
    }
    /// In a word of a set, the hosts that a rack with these `hosts` may reach by its `free` links up.
    #[inline]
    fn near(&self, hosts: u64, free: u64, word: usize) -> u64 {
        let reached = &self.reached[word];
        let (mut near, mut left) = (hosts, free);
        while left != 0 {
            near |= reached[left.trailing_zeros() as usize];
            left &= left - 1;
        }
        near
    }
    /// Whether `dst` may be behind free links between switches of this class.
    #[inline]
    fn may_fit(&self, free: u64, class: u8, dst: usize) -> bool {
        let reached =
            || free >> class & self.reached[dst / 64][usize::from(class)] >> (dst % 64) & 1;
        class == SAME_RACK || class < SAME_RACK && reached() == 1
    }
    #[inline]
    fn classes_from(&self, src: usize) -> &[u8] {
        &self.class_of[src * self.rack.len()..][..self.rack.len()]
    }
    #[inline]
    fn class(&self, src: usize, dst: usize) -> u8 {
        self.class_of[src * self.rack.len() + dst]
    }
    #[inline]
    fn path_of_class(&self, class: u8, src: usize, dst: usize) -> Option<Path<'_>> {
        let place = |host: usize| self.rack[host] as usize * self.classes + usize::from(class);
        let two = match class {
            NO_ROUTE => return None,
            SAME_RACK => [FREE; 2],
            _ => [self.ups[place(src)], self.downs[place(dst)]],
        };
        Some(Path { own: [self.up[src], self.down[dst]], two, inner: &[] })
    }
    /// The link of a class down to a rack is full.
    #[inline]
    fn shut(&mut self, rack: usize, class: u8) {
        for &(word, bits) in &self.words[rack] {
            self.reached[word as usize][usize::from(class)] &= !bits;
        }
    }
}

/// The methods of [`Paths`](super::Paths).
impl RackPaths {
    pub fn network(&self) -> &Network {
        &self.network
    }
    #[inline]
    pub fn path(&self, src: usize, dst: usize) -> Option<Path<'_>> {
        self.path_of_class(self.class(src, dst), src, dst)
    }
    pub fn own_link(&self, src: usize) -> u32 {
        self.up[src]
    }
    #[inline]
    pub fn prefetch(&self, src: usize, dst: usize) -> u32 {
        self.class(src, dst).into()
    }
    #[inline]
    pub fn is_blocked(&self, src: usize, dst: usize, open: bool) -> bool {
        let (class, free) = (self.class(src, dst), self.free[self.rack[src] as usize]);
        class != NO_ROUTE && !(open && self.may_fit(free, class, dst))
    }
    #[inline]
    pub fn occupy(&mut self, fit: Candidate, user: u32, links: &mut Links) -> bool {
        let Candidate { src, dst, rate } = fit;
        let class = self.class(src, dst);
        let Some(path) = self.path_of_class(class, src, dst) else { return false };
        let [_, down] = path.own.map(|link| links.put(link, rate, user));
        let [first, last] = path.two.map(|link| links.put(link, rate, user));
        // If there is no class, these are links that are never full.
        if first {
            self.free[self.rack[src] as usize] &= !(1 << class);
        }
        if last {
            self.shut(self.rack[dst] as usize, class);
        }
        down
    }
    pub fn search(&self, search: Search<'_>, lookups: &mut usize) -> Option<Candidate> {
        let Search { src, from, waiting, open, links } = search;
        let (rack, words) = (self.rack[src] as usize, waiting.len());
        let free = self.free[rack];
        let (hosts, classes) = (&self.hosts[rack * words..][..words], self.classes_from(src));
        let mut found = None;
        let word = |at: usize| match waiting[at] & open[at] {
            0 => 0,
            some => some & self.near(hosts[at], free, at),
        };
        find_in(words, from, word, |dst| {
            if !self.may_fit(free, classes[dst], dst) {
                return false;
            }
            if *lookups > 0 {
                found = self.path(src, dst).and_then(|path| fit(path, src, dst, links));
            }
            let over = found.is_some() || *lookups == 0;
            *lookups -= usize::from(*lookups > 0);
            over
        });
        found
    }
    #[inline]
    pub fn close(&mut self, link: u32) {
        match self.roles.get(link as usize) {
            Some(&LinkRole::Up(rack, class)) => self.free[rack as usize] &= !(1 << class),
            Some(&LinkRole::Down(rack, class)) => self.shut(rack as usize, class),
            Some(LinkRole::None) | None => {}
        }
    }
    pub fn open(&mut self, link: u32) {
        match self.roles.get(link as usize) {
            Some(&LinkRole::Up(rack, class)) => self.free[rack as usize] |= 1 << class,
            Some(&LinkRole::Down(rack, class)) => {
                for &(word, bits) in &self.words[rack as usize] {
                    self.reached[word as usize][usize::from(class)] |= bits;
                }
            }
            Some(LinkRole::None) | None => {}
        }
    }
    pub fn open_all(&mut self, links: &Links) {
        self.free.copy_from_slice(&self.all_free);
        self.reached.copy_from_slice(&self.all_reached);
        links.down().iter().for_each(|&link| self.close(link));
    }
}

#[cfg(test)]
mod tests {
    use super::super::Paths;
    use super::super::pair_table::PairTable;
    use super::*;
    use crate::RoundSpec;
    use proptest::prelude::*;
    use slotline_net::rng::mix32;
    use slotline_net::units::Rate;

    /// Leaves of four hosts. Each leaf is connected to each spine, and every tenth pair has no path.
    fn fabric(leaves: u32, spines: u32) -> Network {
        let hosts = 4 * leaves;
        let (up, down) = (2 * hosts, 2 * hosts + leaves * spines);
        let rates = vec![Rate(8); (down + leaves * spines) as usize];
        Network::new(hosts as usize, rates, move |src, dst, out| {
            let (from, to, hash) = (src.0 / 4, dst.0 / 4, mix32(src.0 * hosts + dst.0 + 1));
            if hash.is_multiple_of(10) {
                return;
            }
            out.push(src.0);
            if from != to {
                let spine = hash / 16 % spines;
                out.extend([up + from * spines + spine, down + to * spines + spine]);
            }
            out.push(hosts + dst.0);
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

        /// Paths are those of the network. The search finds the first destination that fits, from any start
        /// and with any load on the links.
        #[test]
        fn the_first_that_fits_is_found(
            leaves in 1u32..24, spines in 1u32..12, full in prop::collection::btree_set(0u32..900, 0..300),
            freed in prop::collection::vec(0u32..900, 0..40), waits: [u64; 2], from in 0usize..96
        ) {
            let network = fabric(leaves, spines);
            let (hosts, rounds) = (network.hosts(), RoundSpec::default().build().unwrap());
            let mut links = Links::new(&rounds, &network, &[]);
            let count = network.capacity().len() as u32;
            let mut racks = RackPaths::of(&network).unwrap();
            let mut table = PairTable::new(network).unwrap();
            racks.open_all(&links);
            for link in full.into_iter().filter(|&link| link < count) {
                links.make(link, true);
                racks.close(link);
            }
            for link in freed.into_iter().filter(|&link| link < count) {
                links.make(link, false);
                racks.open(link);
            }
            let waiting: Vec<u64> = waits[..hosts.div_ceil(64)].to_vec();
            let is_in = |dst: usize| waiting[dst / 64] >> (dst % 64) & 1 == 1;
            let open = vec![u64::MAX; waiting.len()];
            for src in 0..hosts {
                let known = |path: Option<Path<'_>>| {
                    let mut links: Vec<u32> = path.into_iter().flat_map(Path::links).filter(|&link| link != FREE).collect();
                    links.sort_unstable();
                    links
                };
                for dst in (0..hosts).filter(|&dst| dst != src) {
                    prop_assert_eq!(known(racks.path(src, dst)), known(table.path(src, dst)));
                }
                let mut order = (from % hosts..hosts).chain(0..from % hosts).filter(|&dst| dst != src && is_in(dst));
                let expected = order.find(|&dst| table.fit(src, dst, &links).is_some());
                let search = Search { src, from: from % hosts, waiting: &waiting, open: &open, links: &links };
                let found = racks.search(search, &mut { usize::MAX });
                prop_assert_eq!(found.map(|fit| fit.dst), expected);
                for dst in (0..hosts).filter(|&dst| dst != src) {
                    let fits = table.fit(src, dst, &links).is_some();
                    let blocked = [true, false].map(|open| racks.is_blocked(src, dst, open));
                    prop_assert!(!(fits && blocked[0]) && blocked[1] == table.path(src, dst).is_some());
                }
            }
        }
    }

    /// Longer paths, and more classes than a word has bits, are left to the table of pairs.
    #[test]
    fn other_networks_are_left_alone() {
        assert!(RackPaths::of(&fabric(24, 32)).is_some());
        assert!(RackPaths::of(&fabric(64, 65)).is_none());
        let long = Network::new(2, vec![Rate(1); 5], |_, _, out| out.extend([0, 1, 2, 3, 4]));
        assert!(RackPaths::of(&long).is_none());
        // One link would be the first of a path and the last of another.
        let both = Network::new(4, vec![Rate(1); 11], |src, dst, out| {
            out.push(src.0);
            if src.0 / 2 != dst.0 / 2 {
                out.extend([8 + src.0 / 2, 8 + (1 + src.0 / 2)]);
            }
            out.push(4 + dst.0);
        });
        assert!(RackPaths::of(&both).is_none());
    }
}
