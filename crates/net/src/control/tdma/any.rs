//! Paths of any network: between racks where they are that, else pair by pair.

use super::links::Links;
use super::parts::Scratch;
use super::paths::{Fit, Path, PathTable, Paths};
use super::racks::Racks;
use crate::control::network::Network;
use crate::error::SpecError;

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
    fn search(
        &mut self,
        from: (usize, usize),
        sets: (&[u64], &[u64]),
        links: &Links,
        scratch: &mut Scratch,
        looks: &mut usize,
    ) -> Option<Fit> {
        match self {
            OfRacks(racks) => racks.search(from, sets, links, looks),
            Pairs(table) => table.search(from, sets, links, scratch, looks),
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
