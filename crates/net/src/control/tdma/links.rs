//! What is on the links in one slot.

use super::paths::Path;
use super::spec::Rounds;
use crate::control::network::Network;

/// Nobody has a link.
pub(super) const NOBODY: u32 = u32::MAX;

/// Directed links in one slot; the last one is never full.
pub(super) struct Links {
    /// What may be scheduled; zero: down.
    pub full: Vec<u64>,
    pub left: Vec<u64>,
    /// The latest assignment that uses it.
    user: Vec<u32>,
    pub down: Vec<bool>,
}

impl Links {
    pub fn new(rounds: &Rounds, network: &Network) -> Links {
        let capacity = network.capacity();
        let full = capacity.iter().map(|&rate| rounds.scheduled(rate).0).chain([u64::MAX]);
        let full: Vec<u64> = full.collect();
        let (user, down) = (vec![NOBODY; full.len()], vec![false; full.len()]);
        Links { left: full.clone(), user, down, full }
    }
    /// The place of a link; the last one for what is never full.
    #[inline]
    pub fn at(&self, link: u32) -> usize {
        (link as usize).min(self.full.len() - 1)
    }
    pub fn set(&mut self, rounds: &Rounds, network: &Network, link: u32, up: bool) {
        if let Some(&rate) = network.capacity().get(link as usize) {
            self.down[link as usize] = !up;
            self.full[link as usize] = if up { rounds.scheduled(rate).0 } else { 0 };
        }
    }
    /// Nothing is on any link.
    pub fn clear(&mut self) {
        self.left.copy_from_slice(&self.full);
    }
    /// The rate of a path: that of its narrowest link; zero where one is down.
    #[inline]
    pub fn rate(&self, path: Path<'_>) -> u64 {
        let full = |link: u32| self.full[self.at(link)];
        let ends = full(path.up).min(full(path.down)).min(full(path.end));
        path.inner.iter().fold(ends, |rate, &link| rate.min(full(link)))
    }
    #[inline]
    pub fn fits(&self, path: Path<'_>, rate: u64) -> bool {
        let free = |link: u32| self.left[self.at(link)] >= rate;
        free(path.down)
            && free(path.up)
            && free(path.end)
            && path.inner.iter().all(|&link| free(link))
    }
    #[inline]
    pub fn take(&mut self, path: Path<'_>, rate: u64, user: u32) {
        for link in path.links() {
            let at = self.at(link);
            self.left[at] -= rate;
            self.user[at] = user;
        }
    }
    /// Undoes [`Links::take`]. Who used the links before is forgotten.
    pub fn give_back(&mut self, path: Path<'_>, rate: u64, user: u32) {
        for link in path.links() {
            let at = self.at(link);
            self.left[at] += rate;
            if self.user[at] == user {
                self.user[at] = NOBODY;
            }
        }
    }
    /// The assignment, from `start` on, that alone stands in the way of a path.
    pub fn sole_obstacle(&self, path: Path<'_>, rate: u64, start: usize) -> Option<usize> {
        let full = path.links().map(|link| self.at(link)).filter(|&at| self.left[at] < rate);
        let mut users = full.map(|at| self.user[at]);
        let first = users.next().filter(|&user| user != NOBODY && user as usize >= start)?;
        users.all(|user| user == first).then_some(first as usize)
    }
}
