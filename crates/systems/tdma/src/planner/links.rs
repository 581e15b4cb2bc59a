//! The load of links in one slot.

use crate::options::rounds::Rounds;
use crate::paths::Path;
use slotline_net::scheme::network::Network;

/// Stands for an assignment or a destination where there is none.
pub(crate) const NOBODY: u32 = u32::MAX;

/// A directed link in one slot. Its fields are stored together, because they are read together.
#[derive(Clone, Copy)]
struct Link {
    /// The rate that is not assigned.
    left: u64,
    /// The rate that may be scheduled, as an index into the rates of links.
    rate: u32,
    /// The latest assignment that uses it.
    user: u32,
}

/// The directed links in one slot. The last one is never full.
pub(crate) struct Links {
    /// The rates of links, ascending. The first is zero, the rate of a failed link.
    rates: Vec<u64>,
    links: Vec<Link>,
    /// The links at the beginning of a slot.
    empty: Vec<Link>,
    /// The failed links, ascending.
    down: Vec<u32>,
    /// By link, the rate that may be scheduled while it works.
    working: Vec<u64>,
}

impl Links {
    /// The links of a network. In a slot the `buffered` ones take as much as this rate.
    pub fn new(rounds: &Rounds, network: &Network, buffered: &[(u32, u64)]) -> Links {
        let scheduled = network.capacity().iter().map(|&rate| rounds.scheduled(rate).0);
        let mut working: Vec<u64> = scheduled.collect();
        buffered.iter().for_each(|&(link, rate)| working[link as usize] = rate);
        let full: Vec<u64> = working.iter().copied().chain([u64::MAX]).collect();
        let mut rates: Vec<u64> = full.iter().copied().chain([0]).collect();
        rates.sort_unstable();
        rates.dedup();
        let of = |rate: &u64| Link { left: *rate, rate: index_of(&rates, *rate), user: NOBODY };
        let empty: Vec<Link> = full.iter().map(of).collect();
        Links { links: empty.clone(), empty, rates, down: Vec::new(), working }
    }
    /// Sets whether a link works, between slots. An unknown link is ignored.
    pub fn set(&mut self, link: u32, up: bool) {
        let Some(&rate) = self.working.get(link as usize) else { return };
        let left = if up { rate } else { 0 };
        let new = Link { left, rate: index_of(&self.rates, left), user: NOBODY };
        (self.empty[link as usize], self.links[link as usize]) = (new, new);
        match (self.down.binary_search(&link), up) {
            (Ok(at), true) => drop(self.down.remove(at)),
            (Err(at), false) => self.down.insert(at, link),
            _ => {}
        }
    }
    /// The failed links, ascending.
    pub fn down(&self) -> &[u32] {
        &self.down
    }
    /// Whether all links work.
    pub fn all_work(&self) -> bool {
        self.empty.iter().all(|link| link.rate > 0)
    }
    /// Removes all assignments.
    pub fn clear(&mut self) {
        self.links.copy_from_slice(&self.empty);
    }
    /// The state of a link. A link that is never full has the state of the last link.
    #[inline]
    fn of(&self, link: u32) -> &Link {
        &self.links[(link as usize).min(self.links.len() - 1)]
    }
    #[inline]
    pub fn is_full(&self, link: u32) -> bool {
        self.of(link).left == 0
    }
    /// The rate of a path, which is that of its narrowest link; zero if a link has failed.
    #[inline]
    pub fn rate(&self, path: Path<'_>) -> u64 {
        self.rates[path.links().map(|link| self.of(link).rate).min().unwrap_or(0) as usize]
    }
    /// The rate of a path, and whether all its links have that rate left.
    #[inline]
    pub fn rate_and_fit(&self, path: Path<'_>) -> (u64, bool) {
        let least =
            |(rate, left): (u32, u64), link: &Link| (rate.min(link.rate), left.min(link.left));
        let links = path.links().map(|link| self.of(link));
        let (rate, left) = links.fold((u32::MAX, u64::MAX), least);
        let rate = self.rates[rate as usize];
        (rate, left >= rate)
    }
    /// Adds an assignment to a link. Returns whether the link is full then.
    #[inline]
    pub fn put(&mut self, link: u32, rate: u64, user: u32) -> bool {
        let last = self.links.len() - 1;
        let link = &mut self.links[(link as usize).min(last)];
        (link.left, link.user) = (link.left - rate, user);
        link.left == 0
    }
    pub fn take(&mut self, path: Path<'_>, rate: u64, user: u32) {
        path.links().for_each(|link| {
            self.put(link, rate, user);
        });
    }
    /// Takes all that is left of a link.
    pub fn fill(&mut self, link: u32, user: u32) {
        self.put(link, self.of(link).left, user);
    }
    /// Undoes [`Links::take`], but does not restore the previous users of the links.
    pub fn give_back(&mut self, path: Path<'_>, rate: u64, user: u32) {
        let last = self.links.len() - 1;
        path.links().for_each(|link| {
            let link = &mut self.links[(link as usize).min(last)];
            link.left += rate;
            if link.user == user {
                link.user = NOBODY;
            }
        });
    }
    /// The assignment that blocks a path, if it is the only one and its index is at least `start`.
    pub fn sole_obstacle(&self, path: Path<'_>, rate: u64, start: usize) -> Option<usize> {
        let mut full = path.links().map(|link| self.of(link)).filter(|link| link.left < rate);
        let first = full.next()?.user;
        (first != NOBODY && first as usize >= start && full.all(|link| link.user == first))
            .then_some(first as usize)
    }
}

#[cfg(test)]
impl Links {
    /// Makes a link full or empty.
    pub fn make(&mut self, link: u32, full: bool) {
        self.links[link as usize].left = if full { 0 } else { self.empty[link as usize].left };
    }
}

fn index_of(rates: &[u64], rate: u64) -> u32 {
    rates.partition_point(|&known| known < rate) as u32
}
