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

/// A link that is never full. It stands for a host's own link if the host has several.
pub(crate) const FREE: u32 = u32::MAX;

/// The links of a path. Some of them may be [`FREE`].
#[derive(Clone, Copy)]
pub(crate) struct Path<'a> {
    /// The sender's own link and the receiver's; each is [`FREE`] if it is among `inner`.
    pub own: [u32; 2],
    /// The links between switches if there is one upwards and one downwards, else [`FREE`].
    pub two: [u32; 2],
    /// All other links.
    pub inner: &'a [u32],
}

impl Path<'_> {
    pub fn links(self) -> impl Iterator<Item = u32> {
        self.own.into_iter().chain(self.two).chain(self.inner.iter().copied())
    }
    /// The first and the last link between switches; [`FREE`] if there is none.
    pub fn ends(self) -> [u32; 2] {
        let last = || self.inner.iter().copied().rev().find(|&link| link != FREE);
        match self.inner {
            [] => self.two,
            [first, ..] => [*first, last().unwrap_or(FREE)],
        }
    }
}

/// Whether `link` is the `known` link. The first link becomes the known one.
pub(crate) fn same(known: &mut u32, link: u32) -> bool {
    if *known == FREE {
        *known = link;
    }
    *known == link
}

/// A pair whose path is free in a slot, and its rate.
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
pub(crate) fn fit(path: Path<'_>, src: usize, dst: usize, links: &Links) -> Option<Candidate> {
    let (rate, fits) = links.rate_and_fit(path);
    (rate > 0 && fits).then_some(Candidate { src, dst, rate })
}

/// A search for a destination of `src` that is in both sets, 64 to a word.
#[derive(Clone, Copy)]
pub(crate) struct Search<'a> {
    pub src: usize,
    /// The destination at which the search begins.
    pub from: usize,
    pub waiting: &'a [u64],
    pub open: &'a [u64],
    pub links: &'a Links,
}

/// What a planner needs to know of the paths of a network.
pub(crate) trait Paths: Send + Sized {
    /// Whether each pair has a path of its own, so that prefetching saves time.
    const ARE_MANY: bool;
    fn new(network: Network) -> Result<Self, SpecError>;
    fn network(&self) -> &Network;
    /// The path from `src` to `dst`, if there is one.
    fn path(&mut self, src: usize, dst: usize) -> Option<Path<'_>>;
    /// Whether all paths to `dst` end with the same link.
    fn has_one_link(&self, _dst: usize) -> bool {
        true
    }
    /// The link with which all paths from `src` begin; `None` if there may be several.
    fn own_link(&self, src: usize) -> Option<u32>;
    /// Reads a value near the path of a pair, so that the path is in the cache. The value has no meaning.
    fn prefetch(&self, _src: usize, _dst: usize) -> u32 {
        0
    }
    /// The pair of `src` and `dst`, if its path is free.
    #[inline]
    fn fit(&mut self, src: usize, dst: usize, links: &Links) -> Option<Candidate> {
        fit(self.path(src, dst)?, src, dst, links)
    }
    /// A destination whose path is free, if it is found with at most `lookups` lookups of paths. Within a group of
    /// destinations it is the first one from where the search begins.
    fn search(&mut self, search: Search<'_>, lookups: &mut usize) -> Option<Candidate>;
    /// Whether it is known, without a look at its links, that the path of a pair is not free. `open` says whether the
    /// receiver's own link is free.
    fn is_blocked(&self, _src: usize, _dst: usize, _open: bool) -> bool {
        false
    }
    /// Adds a pair to the links of its path. Returns whether the receiver's own link is full then.
    fn occupy(&mut self, fit: Candidate, user: u32, links: &mut Links) -> bool {
        let Some(path) = self.path(fit.src, fit.dst) else { return false };
        links.take(path, fit.rate, user);
        let (ends, [_, down]) = (path.ends(), path.own);
        ends.into_iter().filter(|&end| links.is_full(end)).for_each(|end| self.close(end));
        links.is_full(down)
    }
    /// The first or last link of a path is full.
    fn close(&mut self, _link: u32) {}
    /// The first or last link of a path is no longer full.
    fn open(&mut self, _link: u32) {}
    /// No link has assignments.
    fn open_all(&mut self, _links: &Links) {}
    /// The hosts in an order for turns, in which those at different switches alternate.
    fn order(&self) -> Vec<u32> {
        (0..self.network().hosts() as u32).collect()
    }
}
