//! What the max-min solver knows of a link, a flow and its way.

use std::cmp::Ordering;

/// The rate of a flow that has found no limit yet.
pub(super) const FREE: f64 = f64::INFINITY;
/// In place of a link: none.
pub(super) const NOBODY: u32 = u32::MAX;

/// What a flow gets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// Its rate for a weight of one.
    pub rate: f64,
    pub weight: f32,
    /// The link that limits it.
    pub at: u32,
}

/// A link without its flows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub capacity: f64,
    /// What a flow of weight one gets at most; infinite where the link is not full.
    pub level: f64,
    /// Where it waits, the level of its turn.
    pub key: f64,
    /// What those take that are limited elsewhere.
    pub taken: f64,
    /// The weight of all others.
    pub weight: f64,
    /// Their number.
    pub count: u32,
    /// Whether its level may be wrong.
    pub waits: bool,
    /// Whether nothing has changed since `key` was found flow by flow.
    pub fresh: bool,
}

impl Link {
    pub fn new(capacity: f64) -> Link {
        let (level, zero) = (f64::INFINITY, 0.0);
        let (key, taken, weight) = (zero, zero, zero);
        Link { capacity, level, key, taken, weight, count: 0, waits: false, fresh: false }
    }

    /// The least level it may have, from its sums alone: exact where no flow that is limited elsewhere
    /// has more than this.
    #[inline]
    pub fn bound(&self) -> f64 {
        if self.count > 0 {
            (self.capacity - self.taken) / self.weight
        } else if self.taken <= self.capacity * (1.0 + 1e-12) {
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

/// A link's turn; the lowest comes first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Turn {
    /// Not negative.
    pub key: f64,
    pub link: u32,
}

impl Eq for Turn {}

impl PartialOrd for Turn {
    #[inline]
    fn partial_cmp(&self, other: &Turn) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Turn {
    /// The bits of numbers that are not negative are in order of the numbers.
    #[inline]
    fn cmp(&self, other: &Turn) -> Ordering {
        let (mine, theirs) = (self.key.to_bits(), other.key.to_bits());
        theirs.cmp(&mine).then(other.link.cmp(&self.link))
    }
}

/// The ways of all flows: links, and the flow's place among the flows of each.
#[derive(Clone, Debug)]
pub(super) struct Ways {
    /// Room for so many links on a way.
    room: usize,
    links: Vec<u32>,
    places: Vec<u32>,
    hops: Vec<u16>,
}

impl Default for Ways {
    fn default() -> Ways {
        Ways { room: 8, links: Vec::new(), places: Vec::new(), hops: Vec::new() }
    }
}

impl Ways {
    /// Room for one more flow; its number.
    pub fn grow(&mut self) -> u32 {
        self.hops.push(0);
        self.links.resize(self.hops.len() * self.room, NOBODY);
        self.places.resize(self.hops.len() * self.room, 0);
        self.hops.len() as u32 - 1
    }

    #[inline]
    pub fn of(&self, flow: u32) -> &[u32] {
        &self.links[flow as usize * self.room..][..usize::from(self.hops[flow as usize])]
    }

    /// A link of a way, and the flow's place there.
    #[inline]
    pub fn at(&self, flow: u32, hop: usize) -> (u32, u32) {
        let at = flow as usize * self.room + hop;
        (self.links[at], self.places[at])
    }

    pub fn set(&mut self, flow: u32, way: &[u32]) {
        if way.len() > self.room {
            self.widen(way.len().next_power_of_two());
        }
        self.links[flow as usize * self.room..][..way.len()].copy_from_slice(way);
        self.hops[flow as usize] = way.len() as u16;
    }

    pub fn set_place(&mut self, flow: u32, hop: usize, place: u32) {
        self.places[flow as usize * self.room + hop] = place;
    }

    /// The flow is now at `place` of `link`, which is on its way.
    pub fn replace(&mut self, flow: u32, link: u32, place: u32) {
        if let Some(hop) = self.of(flow).iter().position(|&other| other == link) {
            self.set_place(flow, hop, place);
        }
    }

    fn widen(&mut self, room: usize) {
        let widened = |old: &[u32]| {
            let rows = old.chunks(self.room);
            let fill = room - self.room;
            rows.flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(NOBODY, fill)))
                .collect::<Vec<u32>>()
        };
        (self.links, self.places) = (widened(&self.links), widened(&self.places));
        self.room = room;
    }
}
