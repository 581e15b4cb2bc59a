//! Destinations behind full links, where the last link between switches decides which destinations can be reached.
//!
//! The first and last links of paths fall into *classes*: the first and the last link of a path are in the same
//! class. In a leaf-spine fabric each spine has a class, in a fat-tree the aggregation switches of the same number
//! in all pods have one. If all paths of a class to a destination end with the same link, that destination need not
//! be looked up once this link is full.

use crate::planner::host_set::set_bit;

/// These stand for a last link: no link is known, or there are several.
const UNKNOWN: u32 = u32::MAX;
const SEVERAL: u32 = u32::MAX - 1;
/// With more entries than this, no classes are stored.
const MOST_ENTRIES: usize = 1 << 24;

/// By class, the destinations whose last link is full.
pub(super) struct LastLinks {
    hosts: usize,
    /// By link, its class. The last class is that of unknown links.
    class: Vec<u32>,
    /// By class and destination, the last link.
    last: Vec<u32>,
    /// By class, the destinations behind full links, 64 to a word.
    closed: Vec<u64>,
    /// By link, the destinations that have it as their last link, as words of a set.
    behind: Vec<Vec<(u32, u64)>>,
}

impl LastLinks {
    /// The classes that follow from the first and last links of paths.
    pub fn new(hosts: usize, links: usize, pairs: impl Iterator<Item = (u32, u32)>) -> LastLinks {
        let mut above: Vec<u32> = (0..links as u32).collect();
        let mut known = vec![false; links];
        for (first, last) in pairs {
            join(&mut above, first, last);
            (known[first as usize], known[last as usize]) = (true, true);
        }
        let mut class = vec![0; links];
        let mut classes = 0;
        for link in (0..links).filter(|&link| known[link]) {
            let top = root(&mut above, link as u32) as usize;
            // The root of a class has the lowest number, so it comes first.
            class[link] = if top == link { classes } else { class[top] };
            classes += u32::from(top == link);
        }
        if classes as usize * hosts > MOST_ENTRIES {
            (known, classes) = (vec![false; links], 0);
        }
        class
            .iter_mut()
            .zip(known)
            .filter(|(_, known)| !known)
            .for_each(|(class, _)| *class = classes);
        LastLinks {
            hosts,
            class,
            last: vec![UNKNOWN; classes as usize * hosts],
            closed: vec![0; (classes as usize + 1) * hosts.div_ceil(64)],
            behind: vec![Vec::new(); links],
        }
    }
    /// A path to `dst` begins with one link and ends with the other.
    pub fn learn(&mut self, dst: usize, first: u32, last: u32) {
        let class = self.class_of(first);
        let Some(entry) = self.last.get_mut(class * self.hosts + dst) else { return };
        if *entry == last || *entry == SEVERAL {
            return;
        }
        let before = std::mem::replace(entry, SEVERAL);
        if before == UNKNOWN && self.class[last as usize] as usize == class {
            self.last[class * self.hosts + dst] = last;
            let (word, bit) = (dst as u32 / 64, 1 << (dst % 64));
            match self.behind[last as usize].iter_mut().find(|part| part.0 == word) {
                Some(part) => part.1 |= bit,
                None => self.behind[last as usize].push((word, bit)),
            }
        } else if before != UNKNOWN {
            let parts = self.behind[before as usize].iter_mut();
            parts
                .for_each(|part| part.1 &= !(u64::from(part.0 as usize == dst / 64) << (dst % 64)));
            let words = self.words();
            set_bit(&mut self.closed[class * words..][..words], dst, false);
        }
    }
    /// Destinations that no path beginning with `first` reaches; there may be others.
    #[inline]
    pub fn closed(&self, first: u32) -> &[u64] {
        let words = self.words();
        &self.closed[self.class_of(first) * words..][..words]
    }
    /// A link is full.
    #[inline]
    pub fn close(&mut self, link: u32) {
        let base = self.class_of(link) * self.words();
        for &(word, bits) in self.behind.get(link as usize).into_iter().flatten() {
            self.closed[base + word as usize] |= bits;
        }
    }
    /// A link is no longer full.
    pub fn open(&mut self, link: u32) {
        let base = self.class_of(link) * self.words();
        for &(word, bits) in self.behind.get(link as usize).into_iter().flatten() {
            self.closed[base + word as usize] &= !bits;
        }
    }
    /// No link is full.
    pub fn open_all(&mut self) {
        self.closed.fill(0);
    }
    fn words(&self) -> usize {
        self.hosts.div_ceil(64)
    }
    fn class_of(&self, link: u32) -> usize {
        let none = self.last.len() / self.hosts.max(1);
        self.class.get(link as usize).map_or(none, |&class| class as usize)
    }
}

/// Joins the classes of two links.
pub(super) fn join(above: &mut [u32], one: u32, other: u32) {
    let (a, b) = (root(above, one), root(above, other));
    above[a.max(b) as usize] = a.min(b);
}

/// The lowest link that is in one class with `link` so far.
pub(super) fn root(above: &mut [u32], mut link: u32) -> u32 {
    while above[link as usize] != link {
        above[link as usize] = above[above[link as usize] as usize];
        link = above[link as usize];
    }
    link
}
