//! Exact weighted max-min fair rates, solved again only where a change is felt.
//!
//! A flow is limited by one link of its path. All flows that a link limits get the same there, for a
//! weight of one: the link's *level*. Levels are right when the flows of each such link add up to its
//! capacity, those that are limited elsewhere counted with what they get there, no flow of it gets more
//! than its level, and no other link is more than full: then every flow has a full link on which nobody
//! gets more, which is what max-min fair means (Bertsekas and Gallager, "Data Networks", section 6.5.2).
//!
//! So what is kept is a level for each link and not a rate for each flow. A link whose level may be wrong
//! is looked at: its level follows from two sums, or, if a flow of it gets more than that elsewhere, from
//! a look at its flows, and then it limits those. Where the level is another one, the difference is added
//! to the sums of all other links on the paths of its own flows, which are to be looked at in turn. Links
//! are taken in order of their levels, for a level depends on lower ones alone; the order saves work, and
//! the result does not depend on it: when nothing is in doubt any more, the conditions above hold.
//!
//! Each link has a clock that shows what a flow of weight one has got there. A flow that is limited by it
//! ends when the clock shows a certain number, however the level changes meanwhile. So a change costs
//! nothing for the flows themselves; of each link, the first one that ends is known.
//!
//! A flow may be spread over several paths, so that a link carries a share of it ([`Parts`]). Then all of
//! the above holds with what each link carries of it: a link's flows count there with their shares, and the
//! level of the link that limits a flow is what the flow gets on all its paths together.

use super::ends::Ends;
use super::flow_paths::{FlowPath, FlowPaths};
use super::levels::Levels;
use super::members::Members;
use super::shares::{Parts, Shares, Whole};

mod solve;

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
/// A link does not limit a flow that gets more than its level by less than this share; nor is a link that
/// is more than full by this share.
const TIE: f64 = 1e-12;
/// So many flows of a link are looked at ahead of time.
const GLANCED: usize = 3;
/// In place of a link: none, the flow is free.
const NOBODY: u32 = u32::MAX;

/// The work of solving so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Effort {
    /// Times a link was looked at.
    pub turns: u64,
    /// Links looked at flow by flow.
    pub scans: u64,
    /// Rates that changed.
    pub given: u64,
}

/// Where a flow is.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// What the clock of its link shows when it ends; while it is free, what it has left for a weight of
    /// one.
    finish: f64,
    /// The link that limits it.
    at: u32,
}

/// Flows on links, the rate of each, and when it ends. Times are in picoseconds, capacities and rates in
/// bytes per second.
#[derive(Clone, Debug)]
pub struct MaxMin<S = Whole> {
    levels: Levels,
    members: Members,
    paths: FlowPaths<S>,
    flows: Vec<Place>,
    now: u64,
    /// Links of the network. One follows that is on no path; those after it belong to one flow each and limit
    /// it.
    fabric: usize,
    unused_flows: Vec<u32>,
    unused_links: Vec<u32>,
    /// Flows that no link limits yet.
    free: Vec<u32>,
    /// When the first of the flows ends that a link limits.
    ends: Ends,
    /// Links of which this has changed.
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

    /// The same where a link passes on only what changes its level by more than a share `tolerance`; zero:
    /// rates are exact. Errors do not add up: a link's level is found from what its flows get now.
    pub fn rough(capacities: &[f64], tolerance: f64) -> MaxMin {
        MaxMin::empty(capacities, tolerance)
    }

    /// A flow of so many `bytes` over `links`, each once, with a `weight` above zero, that never gets more
    /// than `cap`. It gets something from the next [`MaxMin::solve`] on.
    pub fn insert(&mut self, links: &[u32], weight: f64, cap: f64, bytes: f64) -> FlowKey {
        self.insert_over(FlowPath::whole(links), weight, cap, bytes)
    }

    /// Moves a flow to another path.
    pub fn reroute(&mut self, key: FlowKey, links: &[u32]) {
        self.reroute_over(key, FlowPath::whole(links));
    }
}

impl MaxMin<Parts> {
    /// Links with these capacities and no flows. A link passes on what changes its level by more than a
    /// share `tolerance`, as in [`MaxMin::rough`].
    pub fn spread(capacities: &[f64], tolerance: f64) -> MaxMin<Parts> {
        MaxMin::empty(capacities, tolerance)
    }

    /// A flow over links, each once, that carry a share of it: above zero and up to one. The rest is as in
    /// [`MaxMin::insert`].
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
        let hops = self.path(key).count();
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
            self.flows.push(Place { finish: 0.0, at: NOBODY });
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

    /// A flow has `bytes` more to send.
    pub fn extend(&mut self, key: FlowKey, bytes: f64) {
        let Place { finish, at } = &mut self.flows[key.at()];
        *finish += bytes / self.paths.weight(key.0);
        if *at != NOBODY {
            let link = *at;
            self.find_first(link);
            self.ends.set(link, self.levels.of(link).due());
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
        let limit = self.levels.links.get(self.flows[key.at()].at as usize);
        limit.map_or(0.0, |link| link.level * self.paths.weight(key.0))
    }

    /// The bytes that a flow has not sent by now; a few too little, by rounding, where it has sent all.
    pub fn left(&self, key: FlowKey) -> f64 {
        let Place { finish, at } = self.flows[key.at()];
        let clock = self.levels.links.get(at as usize).map_or(0.0, |link| {
            let mut link = *link;
            link.wind(self.now);
            link.clock
        });
        (finish - clock) * self.paths.weight(key.0)
    }

    /// The time at which the next flow ends.
    pub fn next_end(&mut self) -> Option<u64> {
        self.ends.first().map(|(due, _)| due)
    }

    /// Adds flows of one link to `out` that have ended by now. The caller must remove or extend them.
    pub fn ended(&mut self, out: &mut Vec<FlowKey>) {
        let Some((_, link)) = self.ends.first().filter(|(due, _)| *due <= self.now) else { return };
        let entry = self.levels.of(link);
        entry.wind(self.now);
        let reached = entry.clock.max(entry.first);
        let ended = |flow: &&u32| self.flows[**flow as usize].finish <= reached;
        out.extend(self.members.own(link).iter().filter(ended).map(|&flow| FlowKey(flow)));
    }

    /// The links of a flow's path.
    pub fn path(&self, key: FlowKey) -> impl Iterator<Item = u32> {
        let fabric = self.fabric as u32;
        self.paths.of(key.0).take_while(move |&link| link < fabric)
    }

    /// The flows on a link. Their order has no meaning, but is deterministic.
    pub fn flows(&self, link: u32) -> impl Iterator<Item = FlowKey> {
        self.members.of(link).iter().map(|&flow| FlowKey(flow))
    }

    /// The flows of which one is likely to end soon.
    pub(super) fn soon(&self) -> impl Iterator<Item = FlowKey> {
        self.ends
            .soon()
            .flat_map(|link| self.members.own(link).iter().take(2).copied().map(FlowKey))
    }

    /// Prefetches the state of the links of a flow. The value has no meaning.
    pub(super) fn glance_at_flow(&self, key: FlowKey) -> u32 {
        self.paths.of(key.0).fold(0, |read, link| read ^ self.glance(link))
    }

    /// Prefetches the state of a link, of its first flows, and of the links that limit them.
    pub(super) fn glance(&self, link: u32) -> u32 {
        let Levels { links, sums, .. } = &self.levels;
        let read = |read: u32, &flow: &u32| {
            let limit = links.get(self.flows[flow as usize].at as usize);
            read ^ limit.map_or(0, |link| link.since as u32) ^ self.paths.hops(flow) as u32
        };
        let flows = self.members.of(link).iter().take(GLANCED);
        flows.fold(links[link as usize].since as u32 ^ sums[link as usize].most.to_bits(), read)
    }

    /// The work of solving so far.
    pub fn effort(&self) -> Effort {
        self.effort
    }

    /// A link for one flow alone.
    fn own_link(&mut self, cap: f64) -> u32 {
        let link = self.unused_links.pop().unwrap_or_else(|| {
            self.levels.add(cap);
            self.members.add_link()
        });
        self.levels.set_capacity(link, cap);
        link
    }

    fn own_link_of(&self, key: FlowKey) -> Option<u32> {
        self.paths.of(key.0).last().filter(|&link| link as usize >= self.fabric)
    }

    /// A flow with so much left, for a weight of one, is one of those of the links of its path, and free.
    fn enter(&mut self, flow: u32, left: f64) {
        self.flows[flow as usize] = Place { finish: left, at: NOBODY };
        for hop in 0..self.paths.hops(flow) {
            let (link, _) = self.paths.at(flow, hop);
            let place = self.members.push(link, flow);
            self.paths.put(flow, hop, place);
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
            self.levels.shift(at, &self.paths, &[flow], -level, 0.0);
            self.levels.doubt(at);
            self.ends.set(at, self.levels.of(at).due());
        }
        for hop in 0..self.paths.hops(flow) {
            let (link, place) = self.paths.at(flow, hop);
            if let Some(moved) = self.members.remove(link, place) {
                self.paths.set_place(moved, link, place);
            }
            if self.members.of(link).is_empty() {
                let sum = self.levels.sum(link);
                (sum.taken, sum.most) = (0.0, 0.0);
            }
        }
    }

    /// `link` limits a flow that is free; its level stays what it is.
    fn join(&mut self, flow: u32, link: u32) {
        let (place, other) = self.members.adopt(link, self.paths.place(flow, link));
        self.move_to(link, flow, place, other);
        let entry = self.levels.of(link);
        entry.wind(self.now);
        entry.weight += self.paths.load(flow, link);
        let state = &mut self.flows[flow as usize];
        (state.finish, state.at) = (state.finish + entry.clock, link);
        entry.first = entry.first.min(state.finish);
        self.moved.push(link);
    }

    /// A flow is free; the level of its link stays what it is, if any other flow is limited there.
    fn quit(&mut self, flow: u32) {
        let Place { finish, at: link } = self.flows[flow as usize];
        let (place, other) = self.members.release(link, self.paths.place(flow, link));
        self.move_to(link, flow, place, other);
        let entry = self.levels.of(link);
        entry.wind(self.now);
        entry.weight -= self.paths.load(flow, link);
        let (left, first) = (finish - entry.clock, entry.first);
        self.flows[flow as usize] = Place { finish: left, at: NOBODY };
        if place == 0 {
            self.levels.open(link);
        } else if finish == first {
            self.find_first(link);
        }
        self.moved.push(link);
    }

    /// Two flows of a link have swapped indices.
    fn move_to(&mut self, link: u32, flow: u32, place: u32, other: u32) {
        let old = self.paths.place(flow, link);
        self.paths.set_place(other, link, old);
        self.paths.set_place(flow, link, place);
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
