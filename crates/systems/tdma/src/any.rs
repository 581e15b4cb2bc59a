//! Paths of any network: between racks where they are that, else pair by pair.

use super::links::Links;
use super::paths::{Fit, Path, PathTable, Paths, Sought};
use super::racks::Racks;
use slotline_net::error::SpecError;
use slotline_net::scheme::network::Network;

pub(super) enum AnyPaths {
    Racks(Box<Racks>),
    Pairs(Box<PathTable>),
}

use AnyPaths::{Pairs, Racks as OfRacks};

impl Paths for AnyPaths {
    const ARE_MANY: bool = true;
    fn new(network: Network) -> Result<AnyPaths, SpecError> {
        match Racks::of(&network) {
            Some(racks) => Ok(OfRacks(Box::new(racks))),
            None => Ok(Pairs(Box::new(PathTable::new(network)?))),
        }
    }
    fn network(&self) -> &Network {
        match self {
            OfRacks(racks) => racks.network(),
            Pairs(table) => table.network(),
        }
    }
    #[inline]
    fn path(&mut self, src: usize, dst: usize) -> Option<Path<'_>> {
        match self {
            OfRacks(racks) => racks.path(src, dst),
            Pairs(table) => table.path(src, dst),
        }
    }
    #[inline]
    fn has_one_link(&self, dst: usize) -> bool {
        match self {
            OfRacks(_) => true,
            Pairs(table) => table.has_one_link(dst),
        }
    }
    #[inline]
    fn own_link(&self, src: usize) -> Option<u32> {
        match self {
            OfRacks(racks) => Some(racks.own_link(src)),
            Pairs(table) => table.own_link(src),
        }
    }
    #[inline]
    fn glance(&self, src: usize, dst: usize) -> u32 {
        match self {
            OfRacks(racks) => racks.glance(src, dst),
            Pairs(table) => table.glance(src, dst),
        }
    }
    fn search(&mut self, sought: Sought<'_>, looks: &mut usize) -> Option<Fit> {
        match self {
            OfRacks(racks) => racks.search(sought, looks),
            Pairs(table) => table.search(sought, looks),
        }
    }
    #[inline]
    fn is_blocked(&self, src: usize, dst: usize, open: bool) -> bool {
        match self {
            OfRacks(racks) => racks.is_blocked(src, dst, open),
            Pairs(table) => table.is_blocked(src, dst, open),
        }
    }
    #[inline]
    fn occupy(&mut self, fit: Fit, user: u32, links: &mut Links) -> bool {
        match self {
            OfRacks(racks) => racks.occupy(fit, user, links),
            Pairs(table) => table.occupy(fit, user, links),
        }
    }
    #[inline]
    fn close(&mut self, link: u32) {
        match self {
            OfRacks(racks) => racks.close(link),
            Pairs(table) => table.close(link),
        }
    }
    fn open(&mut self, link: u32) {
        match self {
            OfRacks(racks) => racks.open(link),
            Pairs(table) => table.open(link),
        }
    }
    fn open_all(&mut self, links: &Links) {
        match self {
            OfRacks(racks) => racks.open_all(links),
            Pairs(table) => table.open_all(links),
        }
    }
}
