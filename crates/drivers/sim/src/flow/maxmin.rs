//! Exact weighted max-min fair rates. After a change, only the affected links are solved again.
//!
//! A flow is limited by one link of its path. All flows that a link limits have the same rate, for a weight of one: the
//! *level* of the link. The levels are right if three conditions hold. The rates of all flows of a link that limits
//! some, those that other links limit included, add up to its capacity. No flow of such a link has a rate above its
//! level. No other link is overloaded. Then every flow has a full link on which no flow has a higher rate, which is the
//! definition of max-min fairness (Bertsekas and Gallager, "Data Networks", section 6.5.2).
//!
//! So a level is stored for each link, and no rate for each flow. A link whose level may be wrong is *checked*. Its
//! level follows from two sums. If one of its flows has a higher rate elsewhere, the level follows from a scan of its
//! flows, and the link limits these flows from then on. If the level changes, the difference is added to the sums of
//! all other links on the paths of its flows, and these links are checked in turn. Links are checked in the order of
//! their levels, because a level depends only on lower ones. The order saves work, and the result does not depend on
//! it: when no link is left to check, the conditions hold.
//!
//! Each link has a clock, which counts the bytes of a flow of weight one that the link limits. A flow ends when the
//! clock of its link reaches a value that does not change with the level. So a change of a level needs no work for the
//! flows themselves. For each link, the first flow that ends is known.
//!
//! A flow may be spread over several paths, so that a link carries a share of it ([`Parts`]). Then flows count at a
//! link with their shares, and the level of the link that limits a flow is the rate of the flow on all its paths.

use super::ends::Ends;
use super::flow_paths::{FlowPath, FlowPaths};
use super::levels::Levels;
use super::members::Members;
use super::shares::{Parts, Shares, Whole};

mod solve;
mod soon;

/// The key of a flow. It is used again after the flow is removed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FlowKey(pub u32);

impl FlowKey {
    /// The key as an array index.
    pub const fn at(self) -> usize {
        self.0 as usize
    }
}

/// Levels that differ by less than this share are the same in any case.
const ROUNDING: f64 = 1e-13;
/// Rates above a level by less than this share, and loads above a capacity by less than this share, are tolerated.
const TIE: f64 = 1e-12;
/// In place of a link: the flow is free, because no link limits it.
const NOBODY: u32 = u32::MAX;

/// The work of solving so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Effort {
    /// The number of checks of links.
    pub turns: u64,
    /// The number of checks that scanned all flows of the link.
    pub scans: u64,
    /// The number of rates that changed.
    pub given: u64,
}

/// The state of a flow.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The value of the clock of its link at which it ends. While it is free: the bytes that are left, for a weight of
    /// one.
    finish: f64,
    /// The link that limits it.
    at: u32,
    /// Its weight. Its path has it, too, so that it is found with either of them.
    weight: f32,
}

/// Flows on links, with their rates and ends. Times are in picoseconds, capacities and rates in
/// bytes per second.
#[derive(Clone, Debug)]
pub struct MaxMin<S = Whole> {
    levels: Levels,
    members: Members,
    paths: FlowPaths<S>,
    flows: Vec<Place>,
    now: u64,
    /// The number of links of the network. One link follows that is on no path. Each link after that belongs to one flow
    /// and limits it.
    fabric: usize,
    unused_flows: Vec<u32>,
    unused_links: Vec<u32>,
    /// Flows that no link limits yet.
    free: Vec<u32>,
    /// The order of the links by the end of the first flow that each limits.
    ends: Ends,
    /// The links whose first end has changed, of which `ends` does not know yet.
    moved: Vec<u32>,
    effort: Effort,
    /// Levels that differ by less than this share are the same.
    same: f64,
    tie: f64,
}

impl MaxMin<Whole> {
    /// Links with these capacities, and no flows.
    pub fn new(capacities: &[f64]) -> MaxMin {
        MaxMin::rough(capacities, 0.0)
    }

    /// Like [`MaxMin::new`], but ignores changes of a level by less than a share `tolerance`. With zero, rates are
    /// exact. Errors do not accumulate, because a level is computed from the current rates of the flows.
    pub fn rough(capacities: &[f64], tolerance: f64) -> MaxMin {
        MaxMin::empty(capacities, tolerance)
    }

    /// Adds a flow of `bytes` over `links`, each once, with a `weight` above zero and a rate of at most `cap`. It has a
    /// rate from the next [`MaxMin::solve`] on.
    pub fn insert(&mut self, links: &[u32], weight: f64, cap: f64, bytes: f64) -> FlowKey {
        self.insert_over(FlowPath::whole(links), weight, cap, bytes)
    }

    /// Moves a flow to another path.
    pub fn reroute(&mut self, key: FlowKey, links: &[u32]) {
        self.reroute_over(key, FlowPath::whole(links));
    }
}

impl MaxMin<Parts> {
    /// Links with these capacities and no flows. `tolerance` is as in [`MaxMin::rough`].
    pub fn spread(capacities: &[f64], tolerance: f64) -> MaxMin<Parts> {
        MaxMin::empty(capacities, tolerance)
    }

    /// Adds a flow over links that carry shares of it. The rest is as in [`MaxMin::insert`].
    pub fn insert_spread(
        &mut self,
        path: FlowPath<'_>,
        weight: f64,
        cap: f64,
        bytes: f64,
    ) -> FlowKey {
        self.insert_over(path, weight, cap, bytes)
    }

    /// Moves a flow to other links, with shares.
    pub fn reroute_spread(&mut self, key: FlowKey, path: FlowPath<'_>) {
        self.reroute_over(key, path);
    }

    /// The shares of a flow that the links of its path carry.
    pub fn shares(&self, key: FlowKey) -> impl Iterator<Item = f64> {
        let hops = self.paths.hops(key.0) - usize::from(self.own_link_of(key).is_some());
        (0..hops).map(move |hop| self.paths.share(key.0, hop))
    }
}

impl<S: Shares> MaxMin<S> {
    fn empty(capacities: &[f64], tolerance: f64) -> MaxMin<S> {
        MaxMin {
            levels: Levels::new(capacities, 1.0 + tolerance + TIE),
            members: Members::new(capacities.len() + 1),
            paths: FlowPaths::new(capacities.len() as u32),
            flows: Vec::new(),
            now: 0,
            fabric: capacities.len(),
            unused_flows: Vec::new(),
            unused_links: Vec::new(),
            free: Vec::new(),
            ends: Ends::default(),
            moved: Vec::new(),
            effort: Effort::default(),
            same: tolerance.max(ROUNDING),
            tie: tolerance.max(TIE),
        }
    }

    /// Advances the time to `now`.
    pub fn advance(&mut self, now: u64) {
        self.now = now;
    }

    fn insert_over(
        &mut self,
        FlowPath { links, shares }: FlowPath<'_>,
        weight: f64,
        cap: f64,
        bytes: f64,
    ) -> FlowKey {
        let key = self.unused_flows.pop().unwrap_or_else(|| {
            self.flows.push(Place { finish: 0.0, at: NOBODY, weight: 1.0 });
            self.paths.grow()
        });
        let own = (cap < f64::INFINITY).then(|| self.own_link(cap));
        self.paths.set(key, weight as f32, links.iter().copied().chain(own), shares);
        self.enter(key, bytes / self.paths.weight(key));
        FlowKey(key)
    }

    /// Removes a flow.
    pub fn remove(&mut self, key: FlowKey) {
        let own = self.own_link_of(key);
        self.leave(key.0);
        self.unused_flows.push(key.0);
        self.unused_links.extend(own);
    }

    fn reroute_over(&mut self, key: FlowKey, FlowPath { links, shares }: FlowPath<'_>) {
        let (own, weight) = (self.own_link_of(key), self.paths.weight(key.0));
        let left = self.left(key) / weight;
        self.leave(key.0);
        self.paths.set(key.0, weight as f32, links.iter().copied().chain(own), shares);
        self.enter(key.0, left);
    }

    /// Adds `bytes` to what a flow has to send.
    pub fn extend(&mut self, key: FlowKey, bytes: f64) {
        let Place { finish, at: link, weight } = &mut self.flows[key.at()];
        *finish += bytes / f64::from(*weight);
        if *link != NOBODY {
            let link = *link;
            self.find_first(link);
            self.ends.update(&mut self.levels.links, link);
        }
    }

    /// Sets the capacity of a link. With zero it carries nothing.
    pub fn set_capacity(&mut self, link: u32, capacity: f64) {
        self.levels.set_capacity(link, capacity);
        self.levels.doubt(link);
    }

    /// Changes the cap of a flow that was inserted with a cap.
    pub fn set_cap(&mut self, key: FlowKey, cap: f64) {
        if let Some(own) = self.own_link_of(key) {
            self.set_capacity(own, cap);
        }
    }

    /// A flow's rate, as of the last [`MaxMin::solve`].
    pub fn rate(&self, key: FlowKey) -> f64 {
        let Place { at, weight, .. } = self.flows[key.at()];
        let limit = self.levels.links.get(at as usize);
        limit.map_or(0.0, |link| link.level * f64::from(weight))
    }

    /// The bytes that a flow has not sent by now. By rounding it may be slightly below zero at the end.
    pub fn left(&self, key: FlowKey) -> f64 {
        let Place { finish, at, weight } = self.flows[key.at()];
        let clock = self.levels.links.get(at as usize).map_or(0.0, |link| {
            let mut link = *link;
            link.wind(self.now);
            link.clock
        });
        (finish - clock) * f64::from(weight)
    }

    /// The time at which the next flow ends.
    pub fn next_end(&mut self) -> Option<u64> {
        self.ends.first(&mut self.levels.links).map(|(due, _)| due)
    }

    /// Adds flows of one link to `out` that have ended by now. The caller must remove or extend them.
    pub fn ended(&mut self, out: &mut Vec<FlowKey>) {
        let first = self.ends.first(&mut self.levels.links);
        let Some((_, link)) = first.filter(|(due, _)| *due <= self.now) else { return };
        let mut entry = *self.levels.of(link);
        entry.wind(self.now);
        let reached = entry.clock.max(entry.first);
        let ended = |flow: &&u32| self.flows[**flow as usize].finish <= reached;
        out.extend(self.members.own(link).iter().filter(ended).map(|&flow| FlowKey(flow)));
    }

    /// Adds the links of a flow's path to `out`.
    pub fn copy_path(&self, key: FlowKey, out: &mut Vec<u32>) {
        self.paths.copy(key.0, out);
        out.pop_if(|link| *link as usize >= self.fabric);
    }

    /// The flows on a link. Their order has no meaning, but is deterministic.
    pub fn flows(&self, link: u32) -> impl Iterator<Item = FlowKey> {
        self.members.of(link).iter().map(|&flow| FlowKey(flow))
    }

    /// The work of solving so far.
    pub fn effort(&self) -> Effort {
        self.effort
    }

    /// A link for a single flow, which limits it to `cap`.
    fn own_link(&mut self, cap: f64) -> u32 {
        let link = self.unused_links.pop().unwrap_or_else(|| {
            self.levels.add(cap);
            self.members.add_link()
        });
        self.levels.set_capacity(link, cap);
        link
    }

    fn own_link_of(&self, key: FlowKey) -> Option<u32> {
        let last = self.paths.hops(key.0).checked_sub(1)?;
        Some(self.paths.at(key.0, last)).filter(|&link| link as usize >= self.fabric)
    }

    /// Adds a free flow to the links of its path. It has `left` bytes to send, for a weight of one.
    fn enter(&mut self, flow: u32, left: f64) {
        let weight = self.paths.weight(flow) as f32;
        self.flows[flow as usize] = Place { finish: left, at: NOBODY, weight };
        for hop in 0..self.paths.hops(flow) {
            let link = self.paths.at(flow, hop);
            let were_few = !self.members.are_many(link);
            let place = self.members.push(link, flow);
            if were_few {
                self.put_all(link);
            } else {
                self.put(link, flow, place);
            }
        }
        self.free.push(flow);
    }

    /// Removes a flow from the links of its path.
    fn leave(&mut self, flow: u32) {
        let at = self.flows[flow as usize].at;
        if at == NOBODY {
            self.free.retain(|other| *other != flow);
        } else {
            let level = self.levels.level(at);
            self.quit(flow);
            self.levels.shift(at, (&self.members, &self.paths), &[flow], -level, 0.0);
            self.levels.doubt(at);
            self.ends.update(&mut self.levels.links, at);
        }
        for hop in 0..self.paths.hops(flow) {
            let link = self.paths.at(flow, hop);
            let place = self.place_on(link, flow);
            if let Some(moved) = self.members.remove(link, place) {
                self.put(link, moved, place);
            }
            if self.members.of(link).is_empty() {
                let sum = self.levels.sum(link);
                (sum.taken, sum.most) = (0.0, 0.0);
            }
        }
    }

    /// Makes `link` limit a free flow. The level of the link does not change here.
    fn join(&mut self, flow: u32, link: u32) {
        let old = self.place_on(link, flow);
        let (place, other) = self.members.adopt(link, old);
        self.put(link, other, old);
        self.put(link, flow, place);
        let load = self.load(flow, link);
        let entry = self.levels.of(link);
        entry.wind(self.now);
        entry.weight += load;
        let state = &mut self.flows[flow as usize];
        (state.finish, state.at) = (state.finish + entry.clock, link);
        entry.first = entry.first.min(state.finish);
        self.moved.push(link);
    }

    /// Makes a flow free. The level of its link does not change here, if the link limits other flows.
    fn quit(&mut self, flow: u32) {
        let Place { finish, at: link, .. } = self.flows[flow as usize];
        let old = self.place_on(link, flow);
        let (place, other) = self.members.release(link, old);
        self.put(link, other, old);
        self.put(link, flow, place);
        let load = self.load(flow, link);
        let entry = self.levels.of(link);
        entry.wind(self.now);
        entry.weight -= load;
        let (left, first) = (finish - entry.clock, entry.first);
        let state = &mut self.flows[flow as usize];
        (state.finish, state.at) = (left, NOBODY);
        if place == 0 {
            self.levels.open(link);
        } else if finish == first {
            self.find_first(link);
        }
        self.moved.push(link);
    }

    /// The index of a flow on a link of its path.
    fn place_on(&self, link: u32, flow: u32) -> u32 {
        self.members.find(link, flow).unwrap_or_else(|| self.paths.place(flow, link))
    }

    /// Stores the index of a flow on a link of its path, unless it is found among few.
    fn put(&mut self, link: u32, flow: u32, place: u32) {
        if self.members.are_many(link) {
            self.paths.set_place(flow, link, place);
        }
    }

    /// Stores the indices of all flows of a link, unless they are few.
    fn put_all(&mut self, link: u32) {
        if self.members.are_many(link) {
            let all = (0..).zip(self.members.of(link));
            all.for_each(|(place, &flow)| self.paths.set_place(flow, link, place));
        }
    }

    /// The part of a flow that `link`, which is on its path, carries at a level of one.
    #[inline]
    fn load(&self, flow: u32, link: u32) -> f64 {
        f64::from(self.flows[flow as usize].weight) * self.paths.share_on(flow, link)
    }

    /// Finds the first end among the flows that `link` limits.
    fn find_first(&mut self, link: u32) {
        let finish = |flow: &u32| self.flows[*flow as usize].finish;
        let first = self.members.own(link).iter().map(finish).fold(f64::INFINITY, f64::min);
        self.levels.of(link).first = first;
    }
}

#[cfg(test)]
mod tests;
