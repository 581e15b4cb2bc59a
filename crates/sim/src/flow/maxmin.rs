//! Exact weighted max-min fair rates, solved again only where a change is felt.
//!
//! Every link has a *level*: the largest rate, for a weight of one, that it gives to any flow; infinite
//! where it is not full. A flow gets the least level on its way. Levels are right when the flows of each
//! full link add up to its capacity, those that get less elsewhere counted with what they get there:
//! then every flow has a full link on which nobody gets more, which is what max-min fair means
//! (Bertsekas and Gallager, "Data Networks", section 6.5.2).
//!
//! A level depends on lower levels alone. So changes are worked off from the lowest level upwards, as
//! water is filled into a basin: at any moment all levels below `now` are right. A link is looked at
//! when the water reaches the least level it may have. If that is less than the level it had, it has
//! come down: it settles, and those of its flows that had more get this. If the water reaches the level
//! it had and there is room left, the link departs from that level: its flows are *free* until they find
//! their limits higher up. Links and flows that no change reaches are not touched, and no link settles
//! twice.

use super::shares::{FREE, Link, NOBODY, Share, Turn, Ways};
use std::collections::BinaryHeap;

/// Names a flow until it is removed; then the key is used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FlowKey(pub u32);

impl FlowKey {
    /// As an array index.
    pub const fn at(self) -> usize {
        self.0 as usize
    }
}

/// Levels that differ by less than this share are the same.
const ROUNDING: f64 = 1e-13;
/// Levels that differ by more than this share do so even if they are known from sums that were added to
/// and taken from many times.
const DRIFT: f64 = 1e-9;

/// In place of the rate a flow had: there was no such flow.
const NEW: f64 = -1.0;
/// It has not changed.
const UNCHANGED: f64 = -2.0;
/// In place of a rate: the flow is no longer there.
const GONE: f64 = -3.0;

/// What solving has cost so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Effort {
    /// Times a link's turn came.
    pub turns: u64,
    /// Links looked at flow by flow.
    pub scans: u64,
    /// Rates that were given to a flow.
    pub given: u64,
}

/// Flows on links, and the rate of each. Rates and capacities are in any one unit.
#[derive(Clone, Debug)]
pub struct MaxMin {
    links: Vec<Link>,
    /// By link, its flows.
    members: Vec<Vec<u32>>,
    shares: Vec<Share>,
    ways: Ways,
    /// Links of the network; those after them belong to one flow each and limit it.
    fabric: usize,
    unused_flows: Vec<u32>,
    unused_links: Vec<u32>,
    queue: BinaryHeap<Turn>,
    /// How far the water is; below zero while nothing is solved.
    now: f64,
    /// Flows that were given another rate.
    changed: Vec<u32>,
    /// By flow, the rate it had; [`UNCHANGED`] for those that are not in `changed`.
    before: Vec<f64>,
    limits: Vec<(f64, f64)>,
    effort: Effort,
}

impl MaxMin {
    /// Links with these capacities, and no flows.
    pub fn new(capacities: &[f64]) -> MaxMin {
        MaxMin {
            links: capacities.iter().map(|&capacity| Link::new(capacity)).collect(),
            members: vec![Vec::new(); capacities.len()],
            shares: Vec::new(),
            ways: Ways::default(),
            fabric: capacities.len(),
            unused_flows: Vec::new(),
            unused_links: Vec::new(),
            queue: BinaryHeap::new(),
            now: -1.0,
            changed: Vec::new(),
            before: Vec::new(),
            limits: Vec::new(),
            effort: Effort::default(),
        }
    }

    /// A flow over `links`, each once, with a `weight` above zero, that never gets more than `cap`. Its
    /// rate is known after [`MaxMin::solve`].
    pub fn insert(&mut self, links: &[u32], weight: f64, cap: f64) -> FlowKey {
        let key = self.unused_flows.pop().unwrap_or_else(|| self.grow());
        self.shares[key as usize] = Share { rate: FREE, weight: weight as f32, at: NOBODY };
        self.mark(key, NEW);
        self.before[key as usize] = NEW;
        let own = (cap < f64::INFINITY).then(|| self.own_link(cap));
        let way: Vec<u32> = links.iter().copied().chain(own).collect();
        self.enter(key, &way);
        FlowKey(key)
    }

    /// Removes a flow.
    pub fn remove(&mut self, key: FlowKey) {
        let own = self.own_link_of(key);
        self.leave(key.0);
        self.shares[key.at()].rate = GONE;
        self.unused_flows.push(key.0);
        self.unused_links.extend(own);
    }

    /// Puts a flow on another way.
    pub fn reroute(&mut self, key: FlowKey, links: &[u32]) {
        let way: Vec<u32> = links.iter().copied().chain(self.own_link_of(key)).collect();
        let rate = self.shares[key.at()].rate;
        self.leave(key.0);
        self.mark(key.0, rate);
        self.shares[key.at()] = Share { rate: FREE, at: NOBODY, ..self.shares[key.at()] };
        self.enter(key.0, &way);
    }

    /// Gives a link another capacity; zero: it carries nothing.
    pub fn set_capacity(&mut self, link: u32, capacity: f64) {
        self.links[link as usize].capacity = capacity;
        self.more(link, 0.0);
    }

    /// Gives a flow that was inserted with a cap another one.
    pub fn set_cap(&mut self, key: FlowKey, cap: f64) {
        if let Some(own) = self.own_link_of(key) {
            self.set_capacity(own, cap);
        }
    }

    /// A flow's rate, as of the last [`MaxMin::solve`].
    pub fn rate(&self, key: FlowKey) -> f64 {
        let share = &self.shares[key.at()];
        share.rate * f64::from(share.weight)
    }

    /// The links of a flow's way.
    pub fn way(&self, key: FlowKey) -> impl Iterator<Item = u32> {
        let fabric = self.fabric as u32;
        self.ways.of(key.0).iter().copied().take_while(move |&link| link < fabric)
    }

    /// The flows on a link, in no order that means anything, but always the same.
    pub fn flows(&self, link: u32) -> impl Iterator<Item = FlowKey> {
        self.members[link as usize].iter().map(|&flow| FlowKey(flow))
    }

    /// What solving has cost so far.
    pub fn effort(&self) -> Effort {
        self.effort
    }

    /// Calls `each` for every flow whose rate has changed since the last call, new ones included.
    pub fn drain_changed(&mut self, mut each: impl FnMut(FlowKey, f64)) {
        let mut changed = std::mem::take(&mut self.changed);
        for key in changed.drain(..) {
            let share = &self.shares[key as usize];
            let before = std::mem::replace(&mut self.before[key as usize], UNCHANGED);
            if share.rate != before && share.rate != GONE {
                each(FlowKey(key), share.rate * f64::from(share.weight));
            }
        }
        self.changed = changed;
    }

    /// Brings all rates up to date.
    pub fn solve(&mut self) {
        self.now = 0.0;
        while let Some(Turn { key, link }) = self.queue.pop() {
            let entry = &self.links[link as usize];
            if entry.waits && entry.key == key {
                self.now = key.max(self.now);
                self.effort.turns += 1;
                self.turn(link);
            }
        }
        self.now = -1.0;
    }

    fn grow(&mut self) -> u32 {
        self.shares.push(Share { rate: FREE, weight: 1.0, at: NOBODY });
        self.before.push(UNCHANGED);
        self.ways.grow()
    }

    /// A link for one flow alone.
    fn own_link(&mut self, cap: f64) -> u32 {
        let link = self.unused_links.pop().unwrap_or_else(|| {
            self.links.push(Link::new(cap));
            self.members.push(Vec::new());
            self.links.len() as u32 - 1
        });
        self.links[link as usize] = Link::new(cap);
        link
    }

    fn own_link_of(&self, key: FlowKey) -> Option<u32> {
        let last = self.ways.of(key.0).last().copied();
        last.filter(|&link| link as usize >= self.fabric)
    }

    fn mark(&mut self, flow: u32, old: f64) {
        if self.before[flow as usize] == UNCHANGED {
            self.before[flow as usize] = old;
            self.changed.push(flow);
        }
    }

    /// A free flow joins the links of its way.
    fn enter(&mut self, flow: u32, way: &[u32]) {
        let weight = f64::from(self.shares[flow as usize].weight);
        self.ways.set(flow, way);
        for (hop, &link) in way.iter().enumerate() {
            self.ways.set_place(flow, hop, self.members[link as usize].len() as u32);
            self.members[link as usize].push(flow);
            self.links[link as usize].join(weight);
            self.more(link, 0.0);
        }
    }

    /// A flow leaves the links of its way.
    fn leave(&mut self, flow: u32) {
        let share = self.shares[flow as usize];
        let weight = f64::from(share.weight);
        for hop in 0..self.ways.of(flow).len() {
            let (link, place) = self.ways.at(flow, hop);
            let members = &mut self.members[link as usize];
            members.swap_remove(place as usize);
            if let Some(&moved) = members.get(place as usize) {
                self.ways.replace(moved, link, place);
            }
            let empty = members.is_empty();
            let entry = &mut self.links[link as usize];
            if share.rate == FREE || share.at == link {
                entry.part(weight);
            } else {
                entry.taken -= weight * share.rate;
            }
            if empty {
                (entry.taken, entry.weight) = (0.0, 0.0);
            }
            self.less(link);
        }
    }

    /// More may be wanted of `link`, at levels above `now`.
    #[inline]
    fn more(&mut self, link: u32, now: f64) {
        let entry = &mut self.links[link as usize];
        entry.fresh = false;
        let least = entry.bound().min(entry.level);
        let key = if least > now { least } else { now };
        if !entry.waits || entry.key > key {
            (entry.waits, entry.key) = (true, key);
            self.queue.push(Turn { key, link });
        }
    }

    /// Less is wanted of `link`: it may have to depart from its level, unless it has just got it.
    #[inline]
    fn less(&mut self, link: u32) {
        let entry = &mut self.links[link as usize];
        entry.fresh = false;
        if !entry.waits && entry.level < f64::INFINITY && entry.level > self.now {
            (entry.waits, entry.key) = (true, entry.level);
            self.queue.push(Turn { key: entry.level, link });
        }
    }

    /// The water has reached the least level that `link` may have.
    fn turn(&mut self, link: u32) {
        let entry = &mut self.links[link as usize];
        let (old, bound) = (entry.level, entry.bound());
        if entry.fresh && entry.key < old {
            let level = entry.key;
            return self.settle(link, level);
        }
        if bound == f64::INFINITY && old == f64::INFINITY {
            entry.waits = false;
            return;
        }
        if bound > old * (1.0 + DRIFT) {
            if !self.waits_until(link, old) {
                self.depart(link);
            }
            return;
        }
        if bound < old * (1.0 - DRIFT) && self.waits_until(link, bound) {
            return;
        }
        let fair = self.fair_level(link);
        let same = old < f64::INFINITY && (fair - old).abs() <= ROUNDING * old;
        let fair = if same { old } else { fair };
        if self.waits_until(link, fair.min(old)) {
            return;
        }
        if fair <= old { self.settle(link, fair) } else { self.depart(link) }
    }

    /// Whether other links have lower levels than `key`, so that `link` has to wait.
    fn waits_until(&mut self, link: u32, key: f64) -> bool {
        let key = if key > self.now { key } else { self.now };
        self.links[link as usize].key = key;
        let waits = self.queue.peek().is_some_and(|first| first.key < key);
        if waits {
            self.queue.push(Turn { key, link });
        } else {
            self.now = key;
        }
        waits
    }

    /// The level at which the flows of `link`, each limited by what it gets elsewhere, fill it; infinite
    /// where they do not. From below, so that each step ends at or before the level sought.
    fn fair_level(&mut self, link: u32) -> f64 {
        self.effort.scans += 1;
        let (shares, limits) = (&self.shares, &mut self.limits);
        let limit = |&flow: &u32| {
            let share = &shares[flow as usize];
            (if share.at == link { FREE } else { share.rate }, f64::from(share.weight))
        };
        limits.clear();
        limits.extend(self.members[link as usize].iter().map(limit));
        let entry = &mut self.links[link as usize];
        entry.fresh = true;
        let mut level = self.now;
        loop {
            let (mut taken, mut weight) = (0.0, 0.0);
            for &(limit, w) in limits.iter() {
                if limit <= level { taken += limit * w } else { weight += w }
            }
            if weight == 0.0 {
                entry.taken = taken;
                return f64::INFINITY;
            }
            let next = (entry.capacity - taken) / weight;
            if next <= level {
                return level;
            }
            level = next;
        }
    }

    /// `link` has `level` from now on, and no flow of it gets more.
    fn settle(&mut self, link: u32, level: f64) {
        let entry = &mut self.links[link as usize];
        (entry.level, entry.waits) = (level, false);
        if level == f64::INFINITY {
            return;
        }
        let flows = std::mem::take(&mut self.members[link as usize]);
        let mut sums = Link::new(0.0);
        for &flow in &flows {
            let share = self.shares[flow as usize];
            let weight = f64::from(share.weight);
            if share.at != link && share.rate <= level {
                sums.taken += weight * share.rate;
                continue;
            }
            sums.join(weight);
            if share.rate != level {
                self.give(flow, link, level);
            }
        }
        let entry = &mut self.links[link as usize];
        (entry.taken, entry.weight, entry.count) = (sums.taken, sums.weight, sums.count);
        self.members[link as usize] = flows;
    }

    /// `flow` gets `level` at `link`; the other links of its way hear of it.
    fn give(&mut self, flow: u32, link: u32, level: f64) {
        let share = self.shares[flow as usize];
        let weight = f64::from(share.weight);
        self.effort.given += 1;
        self.mark(flow, share.rate);
        self.shares[flow as usize] = Share { rate: level, at: link, ..share };
        for hop in 0..self.ways.of(flow).len() {
            let (other, _) = self.ways.at(flow, hop);
            if other == link {
                continue;
            }
            let entry = &mut self.links[other as usize];
            if share.rate == FREE || share.at == other {
                entry.part(weight);
                entry.taken += weight * level;
            } else {
                entry.taken += weight * (level - share.rate);
            }
            self.less(other);
        }
    }

    /// `link` has room at the level it had: the flows that had it are free, unless another link holds
    /// them there.
    fn depart(&mut self, link: u32) {
        let now = self.now;
        self.links[link as usize].level = f64::INFINITY;
        let flows = std::mem::take(&mut self.members[link as usize]);
        for &flow in &flows {
            let share = self.shares[flow as usize];
            if share.at != link {
                continue;
            }
            let holds = |other: &&u32| {
                **other != link && self.links[**other as usize].level <= now * (1.0 + ROUNDING)
            };
            match self.ways.of(flow).iter().find(holds).copied() {
                Some(other) => self.hand_over(flow, link, other),
                None => self.set_free(flow, link),
            }
        }
        self.members[link as usize] = flows;
        let entry = &mut self.links[link as usize];
        let bound = entry.bound();
        (entry.fresh, entry.waits) = (false, bound < f64::INFINITY);
        if entry.waits {
            let key = if bound > now { bound } else { now };
            entry.key = key;
            self.queue.push(Turn { key, link });
        }
    }

    /// A flow keeps its rate, for `to` has the same level as `from` had.
    fn hand_over(&mut self, flow: u32, from: u32, to: u32) {
        let share = self.shares[flow as usize];
        let weight = f64::from(share.weight);
        self.shares[flow as usize].at = to;
        self.links[to as usize].join(weight);
        self.links[to as usize].taken -= weight * share.rate;
        self.links[from as usize].part(weight);
        self.links[from as usize].taken += weight * share.rate;
    }

    fn set_free(&mut self, flow: u32, from: u32) {
        let (share, now) = (self.shares[flow as usize], self.now);
        let weight = f64::from(share.weight);
        self.mark(flow, share.rate);
        self.shares[flow as usize] = Share { rate: FREE, at: NOBODY, ..share };
        for hop in 0..self.ways.of(flow).len() {
            let (other, _) = self.ways.at(flow, hop);
            if other != from {
                let entry = &mut self.links[other as usize];
                entry.taken -= weight * share.rate;
                entry.join(weight);
                self.more(other, now);
            }
        }
    }
}

#[cfg(test)]
#[path = "maxmin_tests.rs"]
mod tests;
