//! What is on the links in one slot.

use crate::options::rounds::Rounds;
use crate::paths::Path;
use slotline_net::scheme::network::Network;

/// Nobody has a link.
pub(crate) const NOBODY: u32 = u32::MAX;

/// A directed link in one slot; all of it is read at once.
#[derive(Clone, Copy)]
struct Link {
    left: u64,
    /// What may be scheduled, by its place among the rates that links have.
    rate: u32,
    /// The latest assignment that uses it.
    user: u32,
}

/// Directed links in one slot; the last one is never full.
pub(crate) struct Links {
    /// The rates that links have, ascending. The first is zero, that of a link that is down.
    rates: Vec<u64>,
    links: Vec<Link>,
    /// The same when nothing is on any.
    empty: Vec<Link>,
    /// Links that are down, ascending.
    down: Vec<u32>,
}

impl Links {
    pub fn new(rounds: &Rounds, network: &Network) -> Links {
        let scheduled = network.capacity().iter().map(|&rate| rounds.scheduled(rate).0);
        let full: Vec<u64> = scheduled.chain([u64::MAX]).collect();
        let mut rates: Vec<u64> = full.iter().copied().chain([0]).collect();
        rates.sort_unstable();
        rates.dedup();
        let of = |rate: &u64| Link { left: *rate, rate: place(&rates, *rate), user: NOBODY };
        let empty: Vec<Link> = full.iter().map(of).collect();
        Links { links: empty.clone(), empty, rates, down: Vec::new() }
    }
    /// Says, between slots, whether a link works, if there is such a link.
    pub fn set(&mut self, rounds: &Rounds, network: &Network, link: u32, up: bool) {
        let Some(&rate) = network.capacity().get(link as usize) else { return };
        let left = if up { rounds.scheduled(rate).0 } else { 0 };
        let new = Link { left, rate: place(&self.rates, left), user: NOBODY };
        (self.empty[link as usize], self.links[link as usize]) = (new, new);
        match (self.down.binary_search(&link), up) {
            (Ok(at), true) => drop(self.down.remove(at)),
            (Err(at), false) => self.down.insert(at, link),
            _ => {}
        }
    }
    /// The links that are down, ascending.
    pub fn down(&self) -> &[u32] {
        &self.down
    }
    /// Whether something may be scheduled on each link.
    pub fn all_work(&self) -> bool {
        self.empty.iter().all(|link| link.rate > 0)
    }
    /// Nothing is on any link.
    pub fn clear(&mut self) {
        self.links.copy_from_slice(&self.empty);
    }
    /// A link; the last one for what is never full.
    #[inline]
    fn of(&self, link: u32) -> &Link {
        &self.links[(link as usize).min(self.links.len() - 1)]
    }
    #[inline]
    pub fn is_full(&self, link: u32) -> bool {
        self.of(link).left == 0
    }
    /// The rate of a path: that of its narrowest link; zero where one is down.
    #[inline]
    pub fn rate(&self, path: Path<'_>) -> u64 {
        self.rates[path.links().map(|link| self.of(link).rate).min().unwrap_or(0) as usize]
    }
    /// The rate of a path, and whether as much is left of all its links.
    #[inline]
    pub fn look(&self, path: Path<'_>) -> (u64, bool) {
        let least =
            |(rate, left): (u32, u64), link: &Link| (rate.min(link.rate), left.min(link.left));
        let links = path.links().map(|link| self.of(link));
        let (rate, left) = links.fold((u32::MAX, u64::MAX), least);
        let rate = self.rates[rate as usize];
        (rate, left >= rate)
    }
    /// Puts an assignment on a link. Says whether it is full then.
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
    /// Undoes [`Links::take`]. Who used the links before is forgotten.
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
    /// The assignment, from `start` on, that alone stands in the way of a path.
    pub fn sole_obstacle(&self, path: Path<'_>, rate: u64, start: usize) -> Option<usize> {
        let mut full = path.links().map(|link| self.of(link)).filter(|link| link.left < rate);
        let first = full.next()?.user;
        (first != NOBODY && first as usize >= start && full.all(|link| link.user == first))
            .then_some(first as usize)
    }
}

#[cfg(test)]
impl Links {
    /// Makes a link full, or empty.
    pub fn make(&mut self, link: u32, full: bool) {
        self.links[link as usize].left = if full { 0 } else { self.empty[link as usize].left };
    }
}

fn place(rates: &[u64], rate: u64) -> u32 {
    rates.partition_point(|&known| known < rate) as u32
}
