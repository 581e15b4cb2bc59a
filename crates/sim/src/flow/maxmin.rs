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

use super::levels::{Levels, Link};
use super::members::Members;
use super::queue::Turn;
use super::shares::{NOBODY, Share, Ways};

/// Names a flow until it is removed; then the key is used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FlowKey(pub u32);

impl FlowKey {
    /// As an array index.
    pub const fn at(self) -> usize {
        self.0 as usize
    }
}

/// Levels that differ by less than this share are the same in any case.
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
    levels: Levels,
    members: Members,
    shares: Vec<Share>,
    ways: Ways,
    /// Links of the network; those after them belong to one flow each and limit it.
    fabric: usize,
    unused_flows: Vec<u32>,
    unused_links: Vec<u32>,
    /// Flows that were given another rate.
    changed: Vec<u32>,
    /// By flow, the rate it had; [`UNCHANGED`] for those that are not in `changed`.
    before: Vec<f64>,
    effort: Effort,
    /// Levels that differ by less than this share are the same.
    same: f64,
}

impl MaxMin {
    /// Links with these capacities, and no flows.
    pub fn new(capacities: &[f64]) -> MaxMin {
        MaxMin::rough(capacities, 0.0)
    }

    /// The same where a link passes on only what changes its level by more than a share `tolerance`; zero:
    /// rates are exact. Errors do not add up: a link's level is found from what its flows get now.
    pub fn rough(capacities: &[f64], tolerance: f64) -> MaxMin {
        MaxMin {
            same: tolerance.max(ROUNDING),
            levels: Levels::new(capacities, tolerance),
            members: Members::new(capacities.len()),
            shares: Vec::new(),
            ways: Ways::default(),
            fabric: capacities.len(),
            unused_flows: Vec::new(),
            unused_links: Vec::new(),
            changed: Vec::new(),
            before: Vec::new(),
            effort: Effort::default(),
        }
    }

    /// A flow over `links`, each once, with a `weight` above zero, that never gets more than `cap`. Its
    /// rate is known after [`MaxMin::solve`].
    pub fn insert(&mut self, links: &[u32], weight: f64, cap: f64) -> FlowKey {
        let key = self.unused_flows.pop().unwrap_or_else(|| self.grow());
        self.shares[key as usize] = Share { rate: 0.0, weight: weight as f32, at: NOBODY };
        self.mark(key, NEW);
        self.before[key as usize] = NEW;
        let own = (cap < f64::INFINITY).then(|| self.own_link(cap));
        self.ways.set(key, links.iter().copied().chain(own));
        self.enter(key);
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
        let own = self.own_link_of(key);
        let share = self.shares[key.at()];
        self.leave(key.0);
        self.mark(key.0, share.rate);
        self.shares[key.at()] = Share { rate: 0.0, at: NOBODY, ..share };
        self.ways.set(key.0, links.iter().copied().chain(own));
        self.enter(key.0);
    }

    /// Gives a link another capacity; zero: it carries nothing.
    pub fn set_capacity(&mut self, link: u32, capacity: f64) {
        self.watch(link);
        self.levels.set_capacity(link, capacity);
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
        self.members.of(link).iter().map(|&flow| FlowKey(flow))
    }

    /// Something of what is kept of the links of a flow.
    pub(super) fn glance_at_flow(&self, key: FlowKey) -> u32 {
        self.ways.of(key.0).iter().fold(0, |read, &link| read ^ self.glance(link))
    }

    /// Something of what is kept of a link and its flows.
    pub(super) fn glance(&self, link: u32) -> u32 {
        let flow = self.members.of(link).last().copied().unwrap_or(0);
        let share = self.shares.get(flow as usize).map_or(0, |share| share.at);
        self.levels.links[link as usize].count ^ share
    }

    /// What solving has cost so far.
    pub fn effort(&self) -> Effort {
        self.effort
    }

    /// Calls `each` for every flow whose rate has changed since the last call, new ones included.
    pub fn drain_changed(&mut self, mut each: impl FnMut(FlowKey, f64)) {
        for key in self.changed.drain(..) {
            let share = &self.shares[key as usize];
            let before = std::mem::replace(&mut self.before[key as usize], UNCHANGED);
            if share.rate != before && share.rate != GONE {
                each(FlowKey(key), share.rate * f64::from(share.weight));
            }
        }
    }

    /// Brings all rates up to date.
    pub fn solve(&mut self) {
        self.sweep();
        while self.fills_up() {
            self.sweep();
        }
        self.levels.ease();
    }

    /// Works off all changes, from the lowest level upwards.
    fn sweep(&mut self) {
        self.levels.now = 0.0;
        while let Some(Turn { key, link }) = self.levels.queue.pop() {
            let entry = &self.levels.links[link as usize];
            if entry.waits && entry.key == key {
                self.levels.now = key.max(self.levels.now);
                self.effort.turns += 1;
                self.turn(link);
            }
        }
        self.levels.now = -1.0;
    }

    /// Whether links that were not watched, because they had much room, are more than full now: these are
    /// watched in another sweep.
    fn fills_up(&mut self) -> bool {
        let mut filled = false;
        while let Some(link) = self.levels.crowded.pop() {
            self.watch(link);
            if self.levels.of(link).bound() < f64::INFINITY {
                filled = true;
                self.levels.more(link);
            }
        }
        filled
    }

    /// From now on `link` is watched. Outside of a sweep no flow of a link that is not is free: those that
    /// have come since the last one have all links of their ways watched.
    fn watch(&mut self, link: u32) {
        self.levels.of(link).easy = false;
    }

    fn grow(&mut self) -> u32 {
        self.shares.push(Share { rate: 0.0, weight: 1.0, at: NOBODY });
        self.before.push(UNCHANGED);
        self.ways.grow()
    }

    /// A link for one flow alone.
    fn own_link(&mut self, cap: f64) -> u32 {
        let link = self.unused_links.pop().unwrap_or_else(|| {
            let fresh = self.levels.fresh(cap);
            self.levels.links.push(fresh);
            self.members.add_link()
        });
        let waits = self.levels.of(link).waits;
        *self.levels.of(link) = Link { waits, key: f64::INFINITY, ..self.levels.fresh(cap) };
        link
    }

    fn own_link_of(&self, key: FlowKey) -> Option<u32> {
        let last = self.ways.of(key.0).last().copied();
        last.filter(|&link| link as usize >= self.fabric)
    }

    #[inline]
    fn mark(&mut self, flow: u32, old: f64) {
        let before = &mut self.before[flow as usize];
        if *before == UNCHANGED {
            *before = old;
            self.changed.push(flow);
        }
    }

    /// A free flow joins the links of its way.
    fn enter(&mut self, flow: u32) {
        let weight = f64::from(self.shares[flow as usize].weight);
        for hop in 0..self.ways.of(flow).len() {
            let (link, _) = self.ways.at(flow, hop);
            self.watch(link);
            let place = self.members.push(link, flow);
            self.ways.set_place(flow, hop, place);
            self.levels.of(link).join(weight);
            self.levels.more(link);
        }
    }

    /// A flow leaves the links of its way.
    fn leave(&mut self, flow: u32) {
        let share = self.shares[flow as usize];
        let weight = f64::from(share.weight);
        for hop in 0..self.ways.of(flow).len() {
            let (link, place) = self.ways.at(flow, hop);
            if let Some(moved) = self.members.remove(link, place) {
                self.ways.replace(moved, link, place);
            }
            let empty = self.members.of(link).is_empty();
            let entry = self.levels.of(link);
            if share.at == link || (share.at == NOBODY && !entry.easy) {
                entry.part(weight);
            } else {
                entry.taken -= weight * share.rate;
            }
            if empty {
                (entry.taken, entry.weight) = (0.0, 0.0);
            }
            self.levels.less(link);
        }
    }

    /// The water has reached the least level that `link` may have.
    fn turn(&mut self, link: u32) {
        let entry = &mut self.levels.links[link as usize];
        let old = entry.level;
        if entry.fresh && entry.key < old {
            let level = entry.key;
            return self.settle(link, level);
        }
        let bound = entry.bound();
        if bound == f64::INFINITY && old == f64::INFINITY {
            entry.waits = false;
            return self.levels.roomy.push(link);
        }
        if bound > old * (1.0 + DRIFT + self.same) {
            if !self.levels.waits_until(link, old) {
                self.leave_level(link);
            }
            return;
        }
        if bound < old * (1.0 - DRIFT - self.same) && self.levels.waits_until(link, bound) {
            return;
        }
        let fair = self.fair_level(link, bound);
        let same = old < f64::INFINITY && (fair - old).abs() <= self.same * old;
        let fair = if same { old } else { fair };
        if self.levels.waits_until(link, fair.min(old)) {
            return;
        }
        if fair <= old { self.settle(link, fair) } else { self.leave_level(link) }
    }

    /// The level at which the flows of `link`, each limited by what it gets elsewhere, fill it; infinite
    /// where they do not. From below, so that each step ends at or before the level sought.
    fn fair_level(&mut self, link: u32, bound: f64) -> f64 {
        self.effort.scans += 1;
        let now = self.levels.now;
        let low = if bound < f64::INFINITY { bound * (1.0 - DRIFT) } else { now };
        let mut level = if low > now { low } else { now };
        let capacity = self.levels.of(link).capacity;
        loop {
            // Limits up to `level`, the weight of the others, and the least of their limits.
            let (mut taken, mut weight, mut least) = (0.0, 0.0, f64::INFINITY);
            for &flow in self.members.of(link) {
                let (limit, w) = self.shares[flow as usize].limit(link);
                // Without a branch, for nobody can tell which way it goes.
                let low = limit <= level;
                taken += if low { limit * w } else { 0.0 };
                weight += if low { 0.0 } else { w };
                least = if !low && limit < least { limit } else { least };
            }
            let entry = self.levels.of(link);
            entry.fresh = true;
            if weight == 0.0 {
                entry.taken = taken;
                return f64::INFINITY;
            }
            let next = (capacity - taken) / weight;
            if next <= least {
                return if next > level { next } else { level };
            }
            level = next;
        }
    }

    /// `link` has room at the level it had. If it is the next to settle, and no other link stops its flows
    /// on their way up, it settles at once.
    fn leave_level(&mut self, link: u32) {
        let bound = self.levels.of(link).bound();
        let fair = self.fair_level(link, bound);
        if fair < f64::INFINITY && fair <= self.levels.queue.first() && self.may_rise(link, fair) {
            self.levels.now = fair;
            self.settle(link, fair);
        } else {
            self.depart(link);
        }
    }

    /// Whether all flows that `link` limits can have `level`, which is more than they have, without
    /// another link coming down so far.
    fn may_rise(&self, link: u32, level: f64) -> bool {
        let links = &self.levels.links;
        let entry = &links[link as usize];
        let more = entry.weight * (level - entry.level);
        let stops = |other: &u32| {
            let entry = &links[*other as usize];
            let room = entry.capacity - entry.taken - more;
            !entry.easy && *other != link && (entry.level <= level || room < level * entry.weight)
        };
        let limited = |flow: &&u32| self.shares[**flow as usize].at == link;
        let mut flows = self.members.of(link).iter().filter(limited);
        !flows.any(|&flow| self.ways.of(flow).iter().any(stops))
    }

    /// `link` has `level` from now on, and no flow of it gets more.
    fn settle(&mut self, link: u32, level: f64) {
        let entry = self.levels.of(link);
        (entry.level, entry.waits) = (level, false);
        if level == f64::INFINITY {
            return self.levels.roomy.push(link);
        }
        let members = self.members.lend(link);
        let mut sums = self.levels.fresh(0.0);
        for &flow in members.flows() {
            let share = &self.shares[flow as usize];
            let (limit, weight) = share.limit(link);
            if limit <= level {
                sums.taken += weight * limit;
                continue;
            }
            sums.join(weight);
            if share.rate != level || share.at != link {
                self.give(flow, link, level);
            }
        }
        self.members.bring_back(members);
        let entry = self.levels.of(link);
        (entry.taken, entry.weight, entry.count) = (sums.taken, sums.weight, sums.count);
    }

    /// `flow` gets `level` at `link`; the other links of its way hear of it.
    #[inline]
    fn give(&mut self, flow: u32, link: u32, level: f64) {
        let share = &mut self.shares[flow as usize];
        let old = *share;
        (share.rate, share.at) = (level, link);
        self.effort.given += 1;
        self.mark(flow, old.rate);
        for &other in self.ways.of(flow) {
            if other != link {
                self.levels.shift(other, &old, level);
            }
        }
    }

    /// `link` has room at the level it had: the flows that had it are free, unless another link holds
    /// them there.
    fn depart(&mut self, link: u32) {
        let now = self.levels.now;
        self.levels.of(link).level = f64::INFINITY;
        let members = self.members.lend(link);
        for &flow in members.flows() {
            if self.shares[flow as usize].at != link {
                continue;
            }
            let level = |other: u32| self.levels.links[other as usize].level;
            let holds = |other: &&u32| **other != link && level(**other) <= now * (1.0 + ROUNDING);
            match self.ways.of(flow).iter().find(holds).copied() {
                Some(other) => self.hand_over(flow, link, other),
                None => self.set_free(flow, link),
            }
        }
        self.members.bring_back(members);
        let entry = self.levels.of(link);
        let bound = entry.bound();
        (entry.fresh, entry.waits) = (false, false);
        if bound < f64::INFINITY {
            self.levels.wait(link, if bound > now { bound } else { now });
        } else {
            self.levels.roomy.push(link);
        }
    }

    /// A flow keeps its rate, for `to` has the same level as `from` had.
    fn hand_over(&mut self, flow: u32, from: u32, to: u32) {
        let share = &mut self.shares[flow as usize];
        share.at = to;
        let (rate, weight) = (share.rate, f64::from(share.weight));
        let entry = self.levels.of(to);
        entry.join(weight);
        entry.taken -= weight * rate;
        let entry = self.levels.of(from);
        entry.part(weight);
        entry.taken += weight * rate;
    }

    fn set_free(&mut self, flow: u32, from: u32) {
        let share = self.shares[flow as usize];
        let weight = f64::from(share.weight);
        self.mark(flow, share.rate);
        self.shares[flow as usize].at = NOBODY;
        for &other in self.ways.of(flow) {
            let entry = &mut self.levels.links[other as usize];
            if other != from && !entry.easy {
                entry.taken -= weight * share.rate;
                entry.join(weight);
                self.levels.more(other);
            }
        }
    }
}

#[cfg(test)]
mod tests;
