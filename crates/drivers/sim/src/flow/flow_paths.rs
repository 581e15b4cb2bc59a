//! The paths of all flows: their links, the share of the flow that each link carries, and the flow's index in
//! the list of each link with many flows.

use super::shares::Shares;
use slotline_net::prefetch::prefetch;

/// The number of links of a path that fit with the flow's weight into half a cache line.
pub(super) const HEAD: usize = 6;

/// A flow's weight and the first links of its path; a shorter path is filled with [`FlowPaths::pad`].
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Row {
    hops: u32,
    weight: f32,
    links: [u32; HEAD],
}

/// The links of a flow's path, and the share of the flow that each of them carries.
#[derive(Clone, Copy, Debug)]
pub struct FlowPath<'a> {
    /// The links, each once.
    pub links: &'a [u32],
    /// By link, above zero and up to one. Empty: every link carries the whole flow.
    pub shares: &'a [f64],
}

impl FlowPath<'_> {
    /// A path whose links all carry the whole flow.
    pub fn whole(links: &[u32]) -> FlowPath<'_> {
        FlowPath { links, shares: &[] }
    }
}

/// By flow: its weight, the links of its path with their shares, and its index on each link that has many flows.
#[derive(Clone, Debug)]
pub(super) struct FlowPaths<S> {
    rows: Vec<Row>,
    places: Vec<[u32; HEAD]>,
    /// The other links, with indices, of paths that are longer than a row.
    tails: Vec<Vec<(u32, u32)>>,
    /// Marks an unused entry in a row.
    pad: u32,
    shares: S,
}

impl<S: Shares> FlowPaths<S> {
    /// A table without flows. `pad` marks unused entries.
    pub fn new(pad: u32) -> FlowPaths<S> {
        let (rows, places, tails) = (Vec::new(), Vec::new(), Vec::new());
        FlowPaths { rows, places, tails, pad, shares: S::default() }
    }

    fn row(&self, weight: f32) -> Row {
        Row { hops: 0, weight, links: [self.pad; HEAD] }
    }

    /// Makes room for one more flow. Returns its number.
    pub fn grow(&mut self) -> u32 {
        self.rows.push(self.row(1.0));
        self.places.push([0; HEAD]);
        self.tails.push(Vec::new());
        self.shares.grow();
        self.rows.len() as u32 - 1
    }

    /// Sets the weight and the path of a flow, without indices. Links beyond the `shares` carry all of the flow.
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

    /// Requests the weight of a flow and the first links of its path.
    #[inline]
    pub fn prefetch(&self, flow: u32) {
        prefetch(&self.rows, flow);
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

    /// The share of a flow that `link`, which is on its path, carries.
    #[inline]
    pub fn share_on(&self, flow: u32, link: u32) -> f64 {
        if S::WHOLE { 1.0 } else { self.hop(flow, link).map_or(0.0, |hop| self.share(flow, hop)) }
    }

    /// The links of a path.
    #[inline]
    pub fn of(&self, flow: u32) -> impl Iterator<Item = u32> + '_ {
        let row = &self.rows[flow as usize];
        let hops = row.hops as usize;
        let tail = self.tail(flow).iter().map(|(link, _)| *link);
        row.links[..hops.min(HEAD)].iter().copied().chain(tail)
    }

    /// Adds the links of a path to `out`.
    #[inline]
    pub fn copy(&self, flow: u32, out: &mut Vec<u32>) {
        let row = &self.rows[flow as usize];
        out.extend_from_slice(&row.links[..(row.hops as usize).min(HEAD)]);
        out.extend(self.tail(flow).iter().map(|(link, _)| *link));
    }

    /// The first links of a path. A shorter path is filled with the pad.
    #[inline]
    pub fn head(&self, flow: u32) -> &[u32; HEAD] {
        &self.rows[flow as usize].links
    }

    /// The links of a path after the first ones, with indices.
    #[inline]
    pub fn tail(&self, flow: u32) -> &[(u32, u32)] {
        if self.hops(flow) > HEAD { &self.tails[flow as usize] } else { &[] }
    }

    /// A link of a path.
    #[inline]
    pub fn at(&self, flow: u32, hop: usize) -> u32 {
        match hop.checked_sub(HEAD) {
            None => self.rows[flow as usize].links[hop],
            Some(hop) => self.tails[flow as usize][hop].0,
        }
    }

    /// A flow's index on a link of its path that has many flows.
    pub fn place(&self, flow: u32, link: u32) -> u32 {
        let at = flow as usize;
        self.hop(flow, link).map_or(0, |hop| match hop.checked_sub(HEAD) {
            None => self.places[at][hop],
            Some(hop) => self.tails[at][hop].1,
        })
    }

    /// Sets the flow's index on such a link.
    pub fn set_place(&mut self, flow: u32, link: u32, place: u32) {
        let Some(hop) = self.hop(flow, link) else { return };
        match hop.checked_sub(HEAD) {
            None => self.places[flow as usize][hop] = place,
            Some(hop) => self.tails[flow as usize][hop].1 = place,
        }
    }

    fn hop(&self, flow: u32, link: u32) -> Option<usize> {
        self.of(flow).position(|other| other == link)
    }
}
