//! A random destination for each host, such that no two hosts have the same one.

use slotline_base::id::HostId;
use slotline_base::rng::Stream;
use std::collections::BTreeMap;

/// How many hosts may lose their destination to another in a row, before one of them takes any destination.
const CHAIN: u32 = 1_000;

/// A draw in progress. Hosts and destinations are positions in `hosts`.
pub(super) struct OneToOne<'a> {
    hosts: &'a [HostId],
    places: BTreeMap<HostId, usize>,
    to: Vec<usize>,
    from: Vec<Option<usize>>,
}

impl<'a> OneToOne<'a> {
    /// The destination of each of `hosts`. That of the host at a position is one of `wanted(position)`, if all these
    /// wishes can be met. `wanted` is never empty and never contains the host itself.
    pub fn draw<'w>(
        rng: &mut Stream,
        hosts: &'a [HostId],
        wanted: impl Fn(usize) -> &'w [HostId],
    ) -> Vec<HostId> {
        let places = hosts.iter().enumerate().map(|(at, host)| (*host, at)).collect();
        let (to, from) = (vec![0; hosts.len()], vec![None; hosts.len()]);
        let mut draw = OneToOne { hosts, places, to, from };
        let mut order: Vec<usize> = (0..hosts.len()).collect();
        rng.shuffle(&mut order);
        order.into_iter().for_each(|src| draw.place(rng, src, &wanted));
        draw.to.iter().map(|&dst| hosts[dst]).collect()
    }

    /// Gives the host `src` a destination. If all that it may have are taken, it takes one of another host, which then
    /// needs another.
    fn place<'w>(&mut self, rng: &mut Stream, src: usize, wanted: &impl Fn(usize) -> &'w [HostId]) {
        let mut src = src;
        for _ in 0..CHAIN {
            let among = wanted(src);
            let dst = match self.free(rng, among) {
                Some(dst) => dst,
                None => self.places[&among[rng.below(among.len() as u64) as usize]],
            };
            match self.give(src, dst) {
                None => return,
                Some(other) => src = other,
            }
        }
        self.place_anywhere(rng, src);
    }

    /// Gives `src` a destination that no host has. If only `src` itself is left, it swaps with another host.
    fn place_anywhere(&mut self, rng: &mut Stream, src: usize) {
        let others: Vec<HostId> =
            self.hosts.iter().copied().filter(|h| *h != self.hosts[src]).collect();
        if let Some(dst) = self.free(rng, &others) {
            self.give(src, dst);
            return;
        }
        let dst = self.places[&others[rng.below(others.len() as u64) as usize]];
        if let Some(other) = self.give(src, dst) {
            self.give(other, src);
        }
    }

    /// A random one of `among` that no host has.
    fn free(&self, rng: &mut Stream, among: &[HostId]) -> Option<usize> {
        let is_free = |dst: &usize| self.from[*dst].is_none();
        // Usually one of the first tries succeeds. A list of all is only made if not.
        for _ in 0..4 {
            let dst = self.places[&among[rng.below(among.len() as u64) as usize]];
            if is_free(&dst) {
                return Some(dst);
            }
        }
        let free: Vec<usize> = among.iter().map(|host| self.places[host]).filter(is_free).collect();
        let at = rng.below(free.len().max(1) as u64) as usize;
        free.get(at).copied()
    }

    /// Gives the destination `dst` to `src`. Returns the host that had it.
    fn give(&mut self, src: usize, dst: usize) -> Option<usize> {
        self.to[src] = dst;
        self.from[dst].replace(src)
    }
}
