//! What the max-min solver knows of a flow and its way.

/// In place of a link: none, the flow is free.
pub(super) const NOBODY: u32 = u32::MAX;

/// What a flow gets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// Its rate for a weight of one; while it is free, what it had.
    pub rate: f64,
    pub weight: f32,
    /// The link that limits it.
    pub at: u32,
}

impl Share {
    /// What `link` has to count with: nothing less than all where it is the limit, or nobody is.
    #[inline]
    pub fn limit(&self, link: u32) -> (f64, f64) {
        let open = self.at == link || self.at == NOBODY;
        (if open { f64::INFINITY } else { self.rate }, f64::from(self.weight))
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
    pub fn at(&self, flow: u32, hop: usize) -> (u32, u32) {
        let at = flow as usize * self.room + hop;
        (self.links[at], self.places[at])
    }

    /// Gives a flow a way, without places.
    pub fn set(&mut self, flow: u32, way: impl Iterator<Item = u32>) {
        self.hops[flow as usize] = 0;
        for link in way {
            let hop = usize::from(self.hops[flow as usize]);
            if hop == self.room {
                self.widen();
            }
            self.links[flow as usize * self.room + hop] = link;
            self.hops[flow as usize] += 1;
        }
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

    fn widen(&mut self) {
        let room = self.room;
        let widened = |old: &[u32]| {
            let fill = std::iter::repeat_n(NOBODY, room);
            let rows = old.chunks(room).flat_map(|row| row.iter().copied().chain(fill.clone()));
            rows.collect::<Vec<u32>>()
        };
        (self.links, self.places) = (widened(&self.links), widened(&self.places));
        self.room *= 2;
    }
}
