//! The links of the max-min solver: their levels, and which of them may be wrong.

use super::queue::{Queue, Turn};
use super::shares::{NOBODY, Share};

/// A link of which no more than this share is taken need not be watched while levels change.
const EASY: f64 = 0.8;
/// A link is not full if no more than this share of its capacity is taken.
const FULL: f64 = 1.0 + 1e-12;

/// A link without its flows. It fills a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Link {
    pub capacity: f64,
    /// Above this it is more than full.
    pub most: f64,
    /// What a flow of weight one gets at most; infinite where the link is not full.
    pub level: f64,
    /// Where it waits, the level of its turn.
    pub key: f64,
    /// What those take that are limited elsewhere; while it is easy, all, the free ones what they had.
    pub taken: f64,
    /// The weight of all others.
    pub weight: f64,
    /// Their number.
    pub count: u32,
    /// Whether its level may be wrong.
    pub waits: bool,
    /// Whether nothing has changed since `key` was found flow by flow.
    pub fresh: bool,
    /// Whether it has so much room that it is not watched. A free flow has at least one link that is.
    pub easy: bool,
}

impl Link {
    /// A link that is more than full above its capacity and the share `tolerance` of it.
    pub fn new(capacity: f64, tolerance: f64) -> Link {
        Link {
            capacity,
            most: capacity * (FULL + tolerance),
            level: f64::INFINITY,
            key: 0.0,
            taken: 0.0,
            weight: 0.0,
            count: 0,
            waits: false,
            fresh: false,
            easy: false,
        }
    }

    /// The least level it may have, from its sums alone: exact where no flow that is limited elsewhere
    /// has more than this.
    #[inline]
    pub fn bound(&self) -> f64 {
        if self.count > 0 {
            (self.capacity - self.taken) / self.weight
        } else if self.taken <= self.most {
            f64::INFINITY
        } else {
            0.0
        }
    }

    /// One more flow that is not limited elsewhere.
    #[inline]
    pub fn join(&mut self, weight: f64) {
        self.count += 1;
        self.weight += weight;
    }

    /// One less.
    #[inline]
    pub fn part(&mut self, weight: f64) {
        self.count -= 1;
        self.weight = if self.count == 0 { 0.0 } else { self.weight - weight };
    }
}

/// All links, and how far the water has risen.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    pub links: Vec<Link>,
    pub queue: Queue,
    /// How far the water is; below zero while it does not rise.
    pub now: f64,
    /// Links that are easy and have less room than they had.
    pub crowded: Vec<u32>,
    /// Links that are not easy, and not full.
    pub roomy: Vec<u32>,
    tolerance: f64,
}

impl Levels {
    pub fn new(capacities: &[f64], tolerance: f64) -> Levels {
        Levels {
            links: capacities.iter().map(|&capacity| Link::new(capacity, tolerance)).collect(),
            tolerance,
            queue: Queue::default(),
            now: -1.0,
            crowded: Vec::new(),
            roomy: Vec::new(),
        }
    }

    /// A link that is not there yet.
    pub fn fresh(&self, capacity: f64) -> Link {
        Link::new(capacity, self.tolerance)
    }

    /// Gives a link another capacity.
    pub fn set_capacity(&mut self, link: u32, capacity: f64) {
        let Link { most, .. } = self.fresh(capacity);
        let entry = &mut self.links[link as usize];
        (entry.capacity, entry.most) = (capacity, most);
        self.more(link);
    }

    pub fn of(&mut self, link: u32) -> &mut Link {
        &mut self.links[link as usize]
    }

    /// `link` waits for its turn at `key`.
    #[inline]
    pub fn wait(&mut self, link: u32, key: f64) {
        let entry = &mut self.links[link as usize];
        (entry.waits, entry.key) = (true, key);
        self.queue.push(Turn { key, link });
    }

    /// More may be wanted of `link`, at levels above `now`.
    #[inline]
    pub fn more(&mut self, link: u32) {
        let entry = &mut self.links[link as usize];
        entry.fresh = false;
        let (least, now) = (entry.bound().min(entry.level), self.now.max(0.0));
        let key = if least > now { least } else { now };
        if !entry.waits || entry.key > key {
            self.wait(link, key);
        }
    }

    /// Less is wanted of `link`: it may have to leave its level, unless it has just got it.
    #[inline]
    pub fn less(&mut self, link: u32) {
        let entry = &mut self.links[link as usize];
        entry.fresh = false;
        if !entry.waits && entry.level < f64::INFINITY && entry.level > self.now {
            let level = entry.level;
            self.wait(link, level);
        }
    }

    /// A flow on `link` that had `old` gets `level`, elsewhere.
    #[inline]
    pub fn shift(&mut self, link: u32, old: &Share, level: f64) {
        let weight = f64::from(old.weight);
        let entry = &mut self.links[link as usize];
        if entry.easy {
            entry.taken += weight * (level - old.rate);
            if entry.taken > EASY * entry.capacity {
                self.crowded.push(link);
            }
        } else if old.at == NOBODY || old.at == link {
            entry.part(weight);
            entry.taken += weight * level;
            self.less(link);
        } else {
            entry.taken += weight * (level - old.rate);
            if level < old.rate {
                self.less(link);
            } else if entry.level < f64::INFINITY || entry.count > 0 {
                self.more(link);
            }
        }
    }

    /// Puts the turn of `link` off to `key` if others come before that; whether they do.
    #[inline]
    pub fn waits_until(&mut self, link: u32, key: f64) -> bool {
        let key = if key > self.now { key } else { self.now };
        let waits = self.queue.first() < key;
        if waits {
            self.wait(link, key);
        } else {
            self.links[link as usize].key = key;
            self.now = key;
        }
        waits
    }

    /// Links with much room are not watched from now on.
    pub fn ease(&mut self) {
        for link in self.roomy.drain(..) {
            let entry = &mut self.links[link as usize];
            let open = entry.level == f64::INFINITY && entry.count == 0 && !entry.waits;
            entry.easy = open && entry.taken < EASY * entry.capacity;
        }
    }
}
