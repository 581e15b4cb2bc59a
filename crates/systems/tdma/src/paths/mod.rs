//! The links that a pair of hosts needs, for any topology.

mod any;
mod groups;
mod last_links;
mod pair_table;
mod racks;
mod tree;

pub(crate) use any::AnyPaths;
pub(crate) use tree::TreePaths;

use crate::planner::links::Links;
use crate::round::Assignment;
use slotline_net::error::SpecError;
use slotline_net::id::HostId;
use slotline_net::scheme::network::Network;
use slotline_net::units::Rate;

/// A link that is never full: in the place of a host's own where it has several.
pub(crate) const FREE: u32 = u32::MAX;

/// The links of a path. There may be [`FREE`] ones among them.
#[derive(Clone, Copy)]
pub(crate) struct Path<'a> {
    /// The sender's own link and the receiver's, each [`FREE`] where it is among the others.
    pub own: [u32; 2],
    /// The links between switches where there is one up and one down; or [`FREE`].
    pub two: [u32; 2],
    /// Where there are others, all of them.
    pub inner: &'a [u32],
}

impl Path<'_> {
    pub fn links(self) -> impl Iterator<Item = u32> {
        self.own.into_iter().chain(self.two).chain(self.inner.iter().copied())
    }
    /// The first and the last link between switches; [`FREE`] where there is none.
    pub fn ends(self) -> [u32; 2] {
        let last = || self.inner.iter().copied().rev().find(|&link| link != FREE);
        match self.inner {
            [] => self.two,
            [first, ..] => [*first, last().unwrap_or(FREE)],
        }
    }
}

/// Whether a link is the one that is known; the first one becomes known.
pub(crate) fn same(known: &mut u32, link: u32) -> bool {
    if *known == FREE {
        *known = link;
    }
    *known == link
}

/// A pair that a slot can carry, and how fast.
#[derive(Clone, Copy)]
pub(crate) struct Candidate {
    pub src: usize,
    pub dst: usize,
    pub rate: u64,
}

impl Candidate {
    pub fn of(Assignment { src, dst, rate, .. }: Assignment) -> Candidate {
        Candidate { src: src.at(), dst: dst.at(), rate: rate.0 }
    }
    pub fn carrying(self, bytes: u64) -> Assignment {
        let (src, dst) = (HostId(self.src as u32), HostId(self.dst as u32));
        Assignment { src, dst, rate: Rate(self.rate), bytes }
    }
}

/// A pair, if its path is free.
#[inline]
pub(crate) fn fit(path: Path<'_>, (src, dst): (usize, usize), links: &Links) -> Option<Candidate> {
    let (rate, fits) = links.look(path);
    (rate > 0 && fits).then_some(Candidate { src, dst, rate })
}

/// What a search looks for: a destination of `src` that is in both sets, 64 to a word.
#[derive(Clone, Copy)]
pub(crate) struct Search<'a> {
    pub src: usize,
    /// Where it begins.
    pub from: usize,
    pub waiting: &'a [u64],
    pub open: &'a [u64],
    pub links: &'a Links,
}

/// What a planner has to know of a network's paths.
pub(crate) trait Paths: Send + Sized {
    /// Whether each pair has a path of its own, which takes time to be read.
    const ARE_MANY: bool;
    fn new(network: Network) -> Result<Self, SpecError>;
    fn network(&self) -> &Network;
    /// The path from `src` to `dst`; `None` where there is none.
    fn path(&mut self, src: usize, dst: usize) -> Option<Path<'_>>;
    /// Whether all paths to `dst` end with the same link.
    fn has_one_link(&self, _dst: usize) -> bool {
        true
    }
    /// The link by which all paths from `src` begin; `None` where there may be several.
    fn own_link(&self, src: usize) -> Option<u32>;
    /// Something of where the path of a pair is kept, if it is.
    fn prefetch(&self, _src: usize, _dst: usize) -> u32 {
        0
    }
    /// The pair of `src` and `dst`, if its path is free.
    #[inline]
    fn fit(&mut self, (src, dst): (usize, usize), links: &Links) -> Option<Candidate> {
        fit(self.path(src, dst)?, (src, dst), links)
    }
    /// A destination whose path is free, if so many looks at paths will do. The first one, from a place on,
    /// of those that are looked at together.
    fn search(&mut self, search: Search<'_>, looks: &mut usize) -> Option<Candidate>;
    /// Whether a pair has a path and it is known, without asking its links, that it is not free. `open`
    /// says whether the receiver's own link is.
    fn is_blocked(&self, _src: usize, _dst: usize, _open: bool) -> bool {
        false
    }
    /// Puts a pair on the links of its path. Says whether the receiver's own link is full then.
    fn occupy(&mut self, fit: Candidate, user: u32, links: &mut Links) -> bool {
        let Some(path) = self.path(fit.src, fit.dst) else { return false };
        links.take(path, fit.rate, user);
        let (ends, [_, down]) = (path.ends(), path.own);
        ends.into_iter().filter(|&end| links.is_full(end)).for_each(|end| self.close(end));
        links.is_full(down)
    }
    /// The first or last link of a path is full.
    fn close(&mut self, _link: u32) {}
    /// It is not full any more.
    fn open(&mut self, _link: u32) {}
    /// Nothing is on any link.
    fn open_all(&mut self, _links: &Links) {}
    /// For the order of turns: hosts in an order in which those at different switches alternate.
    fn order(&self) -> Vec<u32> {
        (0..self.network().hosts() as u32).collect()
    }
}
