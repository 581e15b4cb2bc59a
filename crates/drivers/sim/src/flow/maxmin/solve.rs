//! The computation of levels.

use super::{MaxMin, NOBODY};
use crate::flow::levels::upwards;
use crate::flow::shares::Shares;

/// Once in this many checks of links, the sums of one link are computed anew from its flows, so that rounding
/// errors do not accumulate.
const RENEWED: u64 = 1021;
/// The rates of a link's flows if it limited all flows that get more elsewhere than it can give.
struct Fair {
    /// Its level, or infinity if it limits none.
    level: f64,
    /// The sum of the rates of flows that are limited elsewhere, and the greatest of them.
    taken: f64,
    most: f64,
    /// The weight of the flows that it limits already, and whether it limits others from now on.
    own: f64,
    more: bool,
}

impl<S: Shares> MaxMin<S> {
    /// Computes all rates.
    pub fn solve(&mut self) {
        let mut free = std::mem::take(&mut self.free);
        free.drain(..).for_each(|flow| self.place(flow));
        self.free = free;
        while let Some(link) = self.levels.next() {
            self.effort.turns += 1;
            self.look(link);
        }
        for link in self.moved.drain(..) {
            self.ends.update(&mut self.levels.links, link);
        }
    }

    /// Finds a first link to limit a free flow: the link that would give it least.
    fn place(&mut self, flow: u32) {
        let weight = self.paths.weight(flow);
        let share = |(hop, link): (usize, u32)| {
            let entry = &self.levels.links[link as usize];
            let taken = self.levels.sums[link as usize].taken;
            let load = weight * self.paths.share(flow, hop);
            ((entry.capacity - taken) / (entry.weight + load), link)
        };
        let less =
            |least: (f64, u32), next: (f64, u32)| if next.0 < least.0 { next } else { least };
        let shares = self.paths.of(flow).enumerate().map(share);
        let (share, link) = shares.fold((f64::INFINITY, NOBODY), less);
        self.join(flow, link);
        if self.levels.level(link) == f64::INFINITY {
            self.levels.limit(link, share.max(0.0));
        }
        self.effort.given += 1;
        let level = self.levels.level(link);
        self.levels.shift(link, (&self.members, &self.paths), &[flow], level, upwards(level));
        self.levels.doubt(link);
    }

    /// Checks the level of `link`.
    fn look(&mut self, link: u32) {
        let entry = &self.levels.links[link as usize];
        if entry.weight == 0.0 {
            if self.levels.is_crowded(link) {
                self.scan(link);
            }
            return;
        }
        let bound = self.levels.bound(link);
        let most = f64::from(self.levels.sums[link as usize].most);
        let exceeded = most > bound * (1.0 + self.tie);
        if exceeded || self.effort.turns.is_multiple_of(RENEWED) {
            self.scan(link);
        } else if (bound - entry.level).abs() > self.same * entry.level {
            self.set_level(link, bound);
        }
    }

    /// Changes the level of `link`, which limits flows. The links on their paths are queued for a check.
    fn set_level(&mut self, link: u32, level: f64) {
        let MaxMin { levels, members, paths, .. } = self;
        let entry = levels.of(link);
        entry.wind(self.now);
        let change = level - std::mem::replace(&mut entry.level, level);
        let most = if change > 0.0 { upwards(level) } else { 0.0 };
        let own = members.own(link);
        levels.shift(link, (members, paths), own, change, most);
        self.effort.given += own.len() as u64;
        self.moved.push(link);
    }

    /// Computes the level of `link` from its flows. It limits the flows that get more than this.
    fn scan(&mut self, link: u32) {
        self.effort.scans += 1;
        let fair = self.fair(link);
        let now = self.now;
        let sum = self.levels.sum(link);
        (sum.taken, sum.most) = (fair.taken, upwards(fair.most));
        if fair.level == f64::INFINITY {
            return;
        }
        let entry = self.levels.of(link);
        entry.weight = fair.own;
        let old = entry.level;
        if old == f64::INFINITY {
            entry.wind(now);
            self.levels.limit(link, fair.level);
        } else if (fair.level - old).abs() > self.same * old {
            self.set_level(link, fair.level);
        }
        if fair.more {
            self.capture(link, fair.level * (1.0 + self.tie));
        }
    }

    /// The level at which the flows of `link`, each limited by its rate elsewhere, fill it. The search starts from
    /// below, so that each step ends at or below this level.
    fn fair(&self, link: u32) -> Fair {
        let entry = &self.levels.links[link as usize];
        let weight_of =
            |flows: &[u32]| flows.iter().map(|&flow| self.load(flow, link)).sum::<f64>();
        let own = weight_of(self.members.own(link));
        let others = self.members.others(link);
        let share = entry.capacity / (own + weight_of(others));
        let mut level = if own > 0.0 { self.levels.bound(link).max(share) } else { share };
        loop {
            // The sum of the rates up to this level, the weight of the other flows, and the least of their rates.
            let (mut taken, mut most, mut weight, mut least) = (0.0, 0.0, own, f64::INFINITY);
            for &flow in others {
                let limit = self.levels.level(self.flows[flow as usize].at);
                let w = self.load(flow, link);
                // This has no branch, because a branch would be unpredictable.
                let low = limit <= level * (1.0 + self.tie);
                taken += if low { limit * w } else { 0.0 };
                most = if low && limit > most { limit } else { most };
                weight += if low { 0.0 } else { w };
                least = if !low && limit < least { limit } else { least };
            }
            let fair = Fair { level: f64::INFINITY, taken, most, own, more: least < f64::INFINITY };
            if weight == 0.0 {
                return fair;
            }
            let next = (entry.capacity - taken) / weight;
            level = if next > level { next } else { level };
            if level * (1.0 + self.tie) < least {
                return Fair { level, ..fair };
            }
        }
    }

    /// Makes `link` limit those of its flows that get more than `limit` elsewhere.
    fn capture(&mut self, link: u32, limit: f64) {
        let mut place = self.members.own_count(link);
        while let Some(&flow) = self.members.of(link).get(place) {
            if self.levels.level(self.flows[flow as usize].at) > limit {
                self.take(flow, link);
            }
            place += 1;
        }
    }

    /// Makes `link` limit a flow, whose rate falls.
    fn take(&mut self, flow: u32, link: u32) {
        let from = self.flows[flow as usize].at;
        let load = self.load(flow, from);
        let (old, level) = (self.levels.level(from), self.levels.level(link));
        self.quit(flow);
        self.join(flow, link);
        self.effort.given += 1;
        self.levels.give_up(from, load * old, upwards(level));
        self.levels.shift(link, (&self.members, &self.paths), &[flow], level - old, 0.0);
    }
}
