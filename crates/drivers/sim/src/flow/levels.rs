//! The links of the max-min solver: their levels, and the queue of links whose level may be wrong.
//!
//! The level of a link is the rate of a flow of weight one that the link limits. A flow is limited by one link of its
//! path, the one with the lowest level.

use super::ends::Timed;
use super::flow_paths::{FlowPaths, HEAD};
use super::members::Members;
use super::queue::{OUT, Queue};
use super::shares::Shares;

/// The values of a link that change whenever a level of another link changes. They are small, so that those of many
/// links fit into a cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub(super) struct Sum {
    /// The sum of the rates of flows that other links limit.
    pub taken: f64,
    /// An upper bound of the rates of these flows, for a weight of one.
    pub most: f32,
    /// If `taken` is above this, the level has to be checked. Infinite if the link is in the queue already.
    trip: f32,
}

impl Sum {
    const NONE: Sum = Sum { taken: 0.0, most: 0.0, trip: f32::INFINITY };

    /// Adds `change` to the rate of a flow that another link limits. The rate is at most `most`, for a weight of one.
    /// Returns one if the level of this link has to be checked, else zero. There is no branch, because it could not be
    /// predicted.
    #[inline(always)]
    fn raise(&mut self, change: f64, most: f32) -> u32 {
        self.taken += change;
        self.most = if most > self.most { most } else { self.most };
        ((f64::from(self.trip) - self.taken).to_bits() >> 63) as u32
    }

    /// The same for a rate that decreases, which overloads no link.
    #[inline(always)]
    fn lower(&mut self, change: f64) -> u32 {
        self.taken += change;
        self.trip.to_bits() >> 31
    }
}

/// The other values of a link, without its flows. They fill a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Link {
    pub capacity: f64,
    /// The rate of a flow of weight one that this link limits. Infinite if the link limits none.
    pub level: f64,
    /// The sum of the weights of the flows that this link limits.
    pub weight: f64,
    /// The bytes that a flow of weight one would have sent by `since`, if this link had always limited it.
    pub clock: f64,
    /// The time of `clock`, in picoseconds.
    pub since: u64,
    /// The value of `clock` at which the first of the flows that this link limits ends.
    pub first: f64,
    /// See [`Timed::queued`].
    queued: u64,
    /// The next link in its chain of the queue.
    next: u32,
}

impl Link {
    fn new(capacity: f64) -> Link {
        Link {
            capacity,
            level: f64::INFINITY,
            weight: 0.0,
            clock: 0.0,
            since: 0,
            first: f64::INFINITY,
            queued: u64::MAX,
            next: OUT,
        }
    }

    /// Advances the clock to `now`.
    #[inline]
    pub fn wind(&mut self, now: u64) {
        if self.level < f64::INFINITY {
            self.clock += self.level * 1e-12 * (now - self.since) as f64;
        }
        self.since = now;
    }
}

impl Timed for Link {
    /// The time at which the first of the flows that this link limits ends; [`u64::MAX`] if never.
    fn due(&self) -> u64 {
        let span = ((self.first - self.clock) / (self.level * 1e-12)).max(0.0).ceil();
        let known = self.level > 0.0 && self.level < f64::INFINITY && span < 9e18;
        if known { self.since.saturating_add(span as u64) } else { u64::MAX }
    }

    fn queued(&mut self) -> &mut u64 {
        &mut self.queued
    }
}

/// All links, and the queue of those whose level may be wrong.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    pub links: Vec<Link>,
    pub sums: Vec<Sum>,
    queue: Queue,
    /// A link is overloaded above this share of its capacity.
    full: f64,
}

impl Levels {
    /// The links of a network, and one more that takes the changes of unused places of paths.
    pub fn new(capacities: &[f64], full: f64) -> Levels {
        let greatest = capacities.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let count = capacities.len() + 1;
        let (links, sums) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut levels = Levels { links, sums, queue: Queue::new(greatest), full };
        capacities.iter().for_each(|&capacity| levels.add(capacity));
        levels.add(f64::INFINITY);
        levels
    }

    /// Adds a link.
    pub fn add(&mut self, capacity: f64) {
        self.links.push(Link::new(capacity));
        self.sums.push(Sum::NONE);
        self.set_trip(self.links.len() as u32 - 1);
    }

    #[inline]
    pub fn of(&mut self, link: u32) -> &mut Link {
        &mut self.links[link as usize]
    }

    #[inline]
    pub fn sum(&mut self, link: u32) -> &mut Sum {
        &mut self.sums[link as usize]
    }

    /// The rate of a flow of weight one that `link` limits.
    #[inline]
    pub fn level(&self, link: u32) -> f64 {
        self.links[link as usize].level
    }

    /// The level at which the whole capacity is used, if no flow that another link limits gets more than that.
    #[inline]
    pub fn bound(&self, link: u32) -> f64 {
        let entry = &self.links[link as usize];
        (entry.capacity - self.sums[link as usize].taken) / entry.weight
    }

    /// Whether other flows alone overload the link.
    #[inline]
    pub fn is_crowded(&self, link: u32) -> bool {
        self.sums[link as usize].taken > self.links[link as usize].capacity * self.full
    }

    /// Makes `link`, which limited no flow, limit some flows.
    pub fn limit(&mut self, link: u32, level: f64) {
        self.of(link).level = level;
        self.set_trip(link);
    }

    /// Makes `link` limit no flow.
    pub fn open(&mut self, link: u32) {
        let entry = self.of(link);
        (entry.level, entry.weight, entry.clock) = (f64::INFINITY, 0.0, 0.0);
        entry.first = f64::INFINITY;
        self.set_trip(link);
    }

    pub fn set_capacity(&mut self, link: u32, capacity: f64) {
        self.of(link).capacity = capacity;
        self.set_trip(link);
    }

    /// A link that limits flows is checked after every change. Any other link is checked when it is overloaded. A link
    /// in the queue is checked in any case.
    #[inline]
    fn set_trip(&mut self, link: u32) {
        let entry = &self.links[link as usize];
        self.sums[link as usize].trip = if entry.next != OUT {
            f32::INFINITY
        } else if entry.level < f64::INFINITY {
            f32::NEG_INFINITY
        } else {
            downwards(entry.capacity * self.full)
        };
    }

    /// Puts a link into the queue of those whose level has to be checked.
    pub fn doubt(&mut self, link: u32) {
        let bound = self.bound(link);
        let (entry, sum) = (&mut self.links[link as usize], &mut self.sums[link as usize]);
        if entry.next == OUT {
            let bound = if entry.weight > 0.0 { bound } else { f64::from(sum.most) };
            entry.next = self.queue.push(link, bound.min(entry.level).max(0.0));
            sum.trip = f32::INFINITY;
        }
    }

    /// Takes a link out of the queue, roughly the one with the lowest level.
    #[inline]
    pub fn next(&mut self) -> Option<u32> {
        let links = &mut self.links;
        let link = self.queue.pop(|link| std::mem::replace(&mut links[link as usize].next, OUT))?;
        self.set_trip(link);
        Some(link)
    }

    /// Makes another link limit a flow that `link` limited. The flow gets `taken`, and at most `most` for a weight of
    /// one.
    pub fn give_up(&mut self, link: u32, taken: f64, most: f32) {
        self.sum(link).raise(taken, most);
        self.doubt(link);
    }

    /// The rates of some flows of `link` change by `change`, for a weight of one. Updates all other links of their
    /// paths. The rates are at most `most` afterwards, for a weight of one; `most` is zero if they decrease.
    pub fn shift<S: Shares>(
        &mut self,
        link: u32,
        (members, paths): (&Members, &FlowPaths<S>),
        flows: &[u32],
        change: f64,
        most: f32,
    ) {
        let sum = std::mem::replace(self.sum(link), Sum::NONE);
        for &flow in flows {
            let change = change * paths.weight(flow);
            let head = paths.head(flow);
            let part = |hop: usize| change * paths.share(flow, hop);
            let mut doubtful = self.update(head, change > 0.0, part, most);
            while doubtful != 0 {
                let link = head[doubtful.trailing_zeros() as usize % HEAD];
                members.prefetch(link);
                self.doubt(link);
                doubtful &= doubtful - 1;
            }
            for (hop, &(link, _)) in (HEAD..).zip(paths.tail(flow)) {
                if self.sum(link).raise(part(hop), most) != 0 {
                    self.doubt(link);
                }
            }
        }
        *self.sum(link) = sum;
    }

    /// Updates the first links of a path, each by its part of a change. Returns a bit for each that has to be checked.
    #[inline(always)]
    fn update(
        &mut self,
        head: &[u32; HEAD],
        more: bool,
        part: impl Fn(usize) -> f64,
        most: f32,
    ) -> u32 {
        let links = (0..).zip(head);
        if more {
            links.fold(0, |bits, (hop, &link)| bits | self.sum(link).raise(part(hop), most) << hop)
        } else {
            links.fold(0, |bits, (hop, &link)| bits | self.sum(link).lower(part(hop)) << hop)
        }
    }
}

/// The lowest number of single precision that is at least `level`, which is not negative.
pub(super) fn upwards(level: f64) -> f32 {
    let near = level.max(0.0) as f32;
    f32::from_bits(near.to_bits() + u32::from(f64::from(near) < level))
}

/// The highest number of single precision that is at most `level`.
fn downwards(level: f64) -> f32 {
    let near = level as f32;
    if f64::from(near) > level { near.next_down() } else { near }
}
