//! The links of the max-min solver: their levels, and which of them may be wrong.

use super::queue::{OUT, Queue};
use super::ways::Ways;

/// A link without its flows. It fills a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Link {
    pub capacity: f64,
    /// What a flow of weight one gets that is limited here; infinite where none is.
    pub level: f64,
    /// What the flows take that are limited elsewhere.
    pub taken: f64,
    /// The weight of those that are limited here.
    pub weight: f64,
    /// What a flow of weight one had got by `since` if it had always been limited here.
    pub clock: f64,
    /// In picoseconds.
    pub since: u64,
    /// What the clock shows when the first of those that are limited here ends.
    pub first: f64,
    /// No flow that is limited elsewhere gets more, for a weight of one.
    pub most: f32,
    /// Its chain in the queue.
    next: u32,
}

impl Link {
    pub fn new(capacity: f64) -> Link {
        Link {
            capacity,
            level: f64::INFINITY,
            taken: 0.0,
            weight: 0.0,
            clock: 0.0,
            since: 0,
            first: f64::INFINITY,
            most: 0.0,
            next: OUT,
        }
    }

    /// The level at which all is used, if none that is limited elsewhere gets more than that.
    #[inline]
    pub fn bound(&self) -> f64 {
        (self.capacity - self.taken) / self.weight
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

    /// Nobody is limited here any more.
    pub fn open(&mut self) {
        (self.level, self.weight, self.clock) = (f64::INFINITY, 0.0, 0.0);
        self.first = f64::INFINITY;
    }
}

/// All links, and those among them whose levels may be wrong.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    pub links: Vec<Link>,
    queue: Queue,
    /// A link is more than full above this share of its capacity.
    full: f64,
}

impl Levels {
    pub fn new(capacities: &[f64], full: f64) -> Levels {
        let greatest = capacities.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        Levels {
            links: capacities.iter().map(|&capacity| Link::new(capacity)).collect(),
            queue: Queue::new(greatest),
            full,
        }
    }

    #[inline]
    pub fn of(&mut self, link: u32) -> &mut Link {
        &mut self.links[link as usize]
    }

    /// What a flow gets that is limited by `link`, for a weight of one.
    #[inline]
    pub fn level(&self, link: u32) -> f64 {
        self.links[link as usize].level
    }

    /// Whether more is taken of a link than it has.
    #[inline]
    pub fn is_crowded(&self, link: u32) -> bool {
        let entry = &self.links[link as usize];
        entry.taken > entry.capacity * self.full
    }

    /// A link is to be looked at.
    pub fn doubt(&mut self, link: u32) {
        let entry = &mut self.links[link as usize];
        if entry.next == OUT {
            let bound = if entry.weight > 0.0 { entry.bound() } else { f64::from(entry.most) };
            entry.next = self.queue.push(link, bound.min(entry.level).max(0.0));
        }
    }

    /// A link that is to be looked at, roughly the one of the lowest level.
    #[inline]
    pub fn next(&mut self) -> Option<u32> {
        let links = &mut self.links;
        self.queue.pop(|link| std::mem::replace(&mut links[link as usize].next, OUT))
    }

    /// A flow of another link than `at` gets more, for a weight of one, by `change`, and has not more than
    /// `most` then: all links of its way are told, but `at`, where it is known.
    #[inline]
    pub fn shift(&mut self, ways: &Ways, flow: u32, change: f64, most: f32) {
        let change = change * ways.weight(flow);
        ways.visit(flow, |link| {
            let entry = &mut self.links[link as usize];
            entry.taken += change;
            entry.most = if most > entry.most { most } else { entry.most };
            let doubtful = entry.level < f64::INFINITY || entry.taken > entry.capacity * self.full;
            if doubtful && entry.next == OUT {
                self.doubt(link);
            }
        });
    }

    /// Does `what`, of which `link` hears nothing.
    #[inline]
    pub fn apart(&mut self, link: u32, what: impl FnOnce(&mut Levels)) {
        let Link { taken, most, next, .. } = self.links[link as usize];
        self.links[link as usize].next = link;
        what(self);
        let entry = &mut self.links[link as usize];
        (entry.taken, entry.most, entry.next) = (taken, most, next);
    }
}

/// A number of less precision that is not below `level`.
pub(super) fn upwards(level: f64) -> f32 {
    let near = level as f32;
    if f64::from(near) < level { near.next_up() } else { near }
}
