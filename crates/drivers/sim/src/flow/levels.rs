//! The links of the max-min solver: their levels, and which of them may be wrong.

use super::flow_paths::{FlowPaths, HEAD};
use super::queue::{OUT, Queue};
use super::shares::Shares;

/// What other links tell a link, all the time: many of them fit into a cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub(super) struct Sum {
    /// What the flows take that are limited elsewhere.
    pub taken: f64,
    /// No flow that is limited elsewhere gets more, for a weight of one.
    pub most: f32,
    /// Where more than this is taken the link is to be looked at: infinite where it is already.
    trip: f32,
}

impl Sum {
    const NONE: Sum = Sum { taken: 0.0, most: 0.0, trip: f32::INFINITY };

    /// A flow takes more by `change`, and not more than `most`; one if the link is to be looked at, else
    /// zero, found without a branch, for nobody can tell which path it would go.
    #[inline(always)]
    fn raise(&mut self, change: f64, most: f32) -> u32 {
        self.taken += change;
        self.most = if most > self.most { most } else { self.most };
        ((f64::from(self.trip) - self.taken).to_bits() >> 63) as u32
    }

    /// The same where a flow takes less: that makes no link more than full.
    #[inline(always)]
    fn lower(&mut self, change: f64) -> u32 {
        self.taken += change;
        self.trip.to_bits() >> 31
    }
}

/// The rest of a link, without its flows. It fills a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Link {
    pub capacity: f64,
    /// What a flow of weight one gets that is limited here; infinite where none is.
    pub level: f64,
    /// The weight of those that are limited here.
    pub weight: f64,
    /// What a flow of weight one had got by `since` if it had always been limited here.
    pub clock: f64,
    /// In picoseconds.
    pub since: u64,
    /// What the clock shows when the first of those that are limited here ends.
    pub first: f64,
    /// Its chain in the queue.
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
            next: OUT,
        }
    }

    /// Brings the clock up to `now`.
    #[inline]
    pub fn wind(&mut self, now: u64) {
        if self.level < f64::INFINITY {
            self.clock += self.level * 1e-12 * (now - self.since) as f64;
        }
        self.since = now;
    }

    /// When the first of the flows that are limited here ends; [`u64::MAX`] if never.
    pub fn due(&self) -> u64 {
        let span = ((self.first - self.clock) / (self.level * 1e-12)).max(0.0).ceil();
        let known = self.level > 0.0 && self.level < f64::INFINITY && span < 9e18;
        if known { self.since.saturating_add(span as u64) } else { u64::MAX }
    }
}

/// All links, and those among them whose levels may be wrong.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    pub links: Vec<Link>,
    pub sums: Vec<Sum>,
    queue: Queue,
    /// A link is more than full above this share of its capacity.
    full: f64,
}

impl Levels {
    /// The links of a network. What is told to the one after them, which exists for that, does not matter.
    pub fn new(capacities: &[f64], full: f64) -> Levels {
        let greatest = capacities.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let (links, sums) = (Vec::new(), Vec::new());
        let mut levels = Levels { links, sums, queue: Queue::new(greatest), full };
        capacities.iter().for_each(|&capacity| levels.add(capacity));
        levels.add(f64::INFINITY);
        levels
    }

    /// One more link.
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

    /// What a flow gets that is limited by `link`, for a weight of one.
    #[inline]
    pub fn level(&self, link: u32) -> f64 {
        self.links[link as usize].level
    }

    /// The level at which all is used, if none that is limited elsewhere gets more than that.
    #[inline]
    pub fn bound(&self, link: u32) -> f64 {
        let entry = &self.links[link as usize];
        (entry.capacity - self.sums[link as usize].taken) / entry.weight
    }

    /// Whether more is taken of a link than it has.
    #[inline]
    pub fn is_crowded(&self, link: u32) -> bool {
        self.sums[link as usize].taken > self.links[link as usize].capacity * self.full
    }

    /// Some are limited by `link` from now on, which limited none.
    pub fn limit(&mut self, link: u32, level: f64) {
        self.of(link).level = level;
        self.set_trip(link);
    }

    /// Nobody is limited by `link` any more.
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

    /// A link that limits flows is looked at whatever is told to it, others when they are more than
    /// full, and a link that is to be looked at in any case is not told again.
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

    /// A link is to be looked at.
    pub fn doubt(&mut self, link: u32) {
        let bound = self.bound(link);
        let (entry, sum) = (&mut self.links[link as usize], &mut self.sums[link as usize]);
        if entry.next == OUT {
            let bound = if entry.weight > 0.0 { bound } else { f64::from(sum.most) };
            entry.next = self.queue.push(link, bound.min(entry.level).max(0.0));
            sum.trip = f32::INFINITY;
        }
    }

    /// A link that is to be looked at, roughly the one of the lowest level.
    #[inline]
    pub fn next(&mut self) -> Option<u32> {
        let links = &mut self.links;
        let link = self.queue.pop(|link| std::mem::replace(&mut links[link as usize].next, OUT))?;
        self.set_trip(link);
        Some(link)
    }

    /// A flow that was limited by `link` gets `taken` from now on, and not more than `most` for a weight of
    /// one, as it is limited elsewhere.
    pub fn give_up(&mut self, link: u32, taken: f64, most: f32) {
        self.sum(link).raise(taken, most);
        self.doubt(link);
    }

    /// Each of some flows of `link` gets more, for a weight of one, by `change`, and has not more than
    /// `most` then, which is zero if that is less than before: all other links of their paths are told.
    pub fn shift<S: Shares>(
        &mut self,
        link: u32,
        paths: &FlowPaths<S>,
        flows: &[u32],
        change: f64,
        most: f32,
    ) {
        let sum = std::mem::replace(self.sum(link), Sum::NONE);
        for &flow in flows {
            let change = change * paths.weight(flow);
            let head = paths.head(flow);
            let part = |hop: usize| change * paths.share(flow, hop);
            let mut doubtful = self.tell(head, change > 0.0, part, most);
            while doubtful != 0 {
                self.doubt(head[doubtful.trailing_zeros() as usize % HEAD]);
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

    /// Tells the first links of a path, each its part of a change; a bit for each that is to be looked at.
    #[inline(always)]
    fn tell(
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

/// A number of less precision that is not below `level`, which is not negative: the next one where the
/// nearest is too low.
pub(super) fn upwards(level: f64) -> f32 {
    let near = level.max(0.0) as f32;
    f32::from_bits(near.to_bits() + u32::from(f64::from(near) < level))
}

/// A number of less precision that is not above `level`.
fn downwards(level: f64) -> f32 {
    let near = level as f32;
    if f64::from(near) > level { near.next_down() } else { near }
}
