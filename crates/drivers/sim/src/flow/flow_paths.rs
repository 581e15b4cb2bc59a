//! The paths of all flows: links, what share of the flow each of them carries, and the flow's place
//! among the flows of each.

use super::shares::Shares;

/// So many links of a path are kept with the flow's weight in half a cache line.
pub(super) const HEAD: usize = 6;

/// A flow's weight and the first links of its path; where that is shorter, [`FlowPaths::pad`] follows.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Row {
    hops: u32,
    weight: f32,
    links: [u32; HEAD],
}

/// By flow, its weight, the links of its path, with shares, and its place on each.
#[derive(Clone, Debug)]
pub(super) struct FlowPaths<S> {
    rows: Vec<Row>,
    places: Vec<[u32; HEAD]>,
    /// Links, with places, of paths that are longer than a row.
    tails: Vec<Vec<(u32, u32)>>,
    /// In place of a link: there is none.
    pad: u32,
    shares: S,
}

impl<S: Shares> FlowPaths<S> {
    /// No flows. In place of a link, `pad` means that there is none.
    pub fn new(pad: u32) -> FlowPaths<S> {
        let (rows, places, tails) = (Vec::new(), Vec::new(), Vec::new());
        FlowPaths { rows, places, tails, pad, shares: S::default() }
    }

    fn row(&self, weight: f32) -> Row {
        Row { hops: 0, weight, links: [self.pad; HEAD] }
    }

    /// Room for one more flow; its number.
    pub fn grow(&mut self) -> u32 {
        self.rows.push(self.row(1.0));
        self.places.push([0; HEAD]);
        self.tails.push(Vec::new());
        self.shares.grow();
        self.rows.len() as u32 - 1
    }

    /// Gives a flow a weight and a path, without places. Links beyond the `shares` carry all of it.
    pub fn set(&mut self, flow: u32, weight: f32, path: impl Iterator<Item = u32>, shares: &[f64]) {
        let at = flow as usize;
        self.shares.set(flow, shares);
        if self.hops(flow) > HEAD {
            self.tails[at].clear();
        }
        self.rows[at] = self.row(weight);
        for link in path {
            let hop = self.hops(flow);
            match self.rows[at].links.get_mut(hop) {
                Some(place) => *place = link,
                None => self.tails[at].push((link, 0)),
            }
            self.rows[at].hops += 1;
        }
    }

    #[inline]
    pub fn hops(&self, flow: u32) -> usize {
        self.rows[flow as usize].hops as usize
    }

    #[inline]
    pub fn weight(&self, flow: u32) -> f64 {
        f64::from(self.rows[flow as usize].weight)
    }

    /// The share of a flow that a link of its path carries.
    #[inline(always)]
    pub fn share(&self, flow: u32, hop: usize) -> f64 {
        self.shares.of(flow, hop)
    }

    /// What `link`, which is on a flow's path, carries of it at a level of one.
    #[inline]
    pub fn load(&self, flow: u32, link: u32) -> f64 {
        if S::WHOLE {
            return self.weight(flow);
        }
        let share = self.hop(flow, link).map_or(0.0, |hop| self.share(flow, hop));
        self.weight(flow) * share
    }

    /// The links of a path.
    #[inline]
    pub fn of(&self, flow: u32) -> impl Iterator<Item = u32> + '_ {
        let row = &self.rows[flow as usize];
        let hops = row.hops as usize;
        let tail = self.tail(flow).iter().map(|(link, _)| *link);
        row.links[..hops.min(HEAD)].iter().copied().chain(tail)
    }

    /// The first links of a path; where it is shorter, the pad.
    #[inline]
    pub fn head(&self, flow: u32) -> &[u32; HEAD] {
        &self.rows[flow as usize].links
    }

    /// The links of a path that follow the first, with places.
    #[inline]
    pub fn tail(&self, flow: u32) -> &[(u32, u32)] {
        if self.hops(flow) > HEAD { &self.tails[flow as usize] } else { &[] }
    }

    /// A link of a path, and the flow's place there.
    pub fn at(&self, flow: u32, hop: usize) -> (u32, u32) {
        match hop.checked_sub(HEAD) {
            None => (self.rows[flow as usize].links[hop], self.places[flow as usize][hop]),
            Some(hop) => self.tails[flow as usize][hop],
        }
    }

    /// A flow's place on a link of its path.
    pub fn place(&self, flow: u32, link: u32) -> u32 {
        self.hop(flow, link).map_or(0, |hop| self.at(flow, hop).1)
    }

    /// The flow is at `place` of `link`, which is on its path.
    pub fn set_place(&mut self, flow: u32, link: u32, place: u32) {
        if let Some(hop) = self.hop(flow, link) {
            self.put(flow, hop, place);
        }
    }

    /// The flow is at `place` of a link of its path.
    #[inline]
    pub fn put(&mut self, flow: u32, hop: usize, place: u32) {
        match hop.checked_sub(HEAD) {
            None => self.places[flow as usize][hop] = place,
            Some(hop) => self.tails[flow as usize][hop].1 = place,
        }
    }

    fn hop(&self, flow: u32, link: u32) -> Option<usize> {
        self.of(flow).position(|other| other == link)
    }
}
