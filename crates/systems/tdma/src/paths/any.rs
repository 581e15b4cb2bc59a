//! Paths of any network: between racks if its paths have that form, otherwise pair by pair.

use super::pair_table::PairTable;
use super::racks::RackPaths;
use super::{Candidate, Path, Paths, Search};
use crate::planner::links::Links;
use slotline_net::error::SpecError;
use slotline_net::scheme::network::Network;

pub(crate) enum AnyPaths {
    BetweenRacks(Box<RackPaths>),
    Pairs(Box<PairTable>),
}

use AnyPaths::{BetweenRacks, Pairs};

impl Paths for AnyPaths {
    const ARE_MANY: bool = true;
    fn new(network: Network) -> Result<AnyPaths, SpecError> {
        match RackPaths::of(&network) {
            Some(racks) => Ok(BetweenRacks(Box::new(racks))),
            None => Ok(Pairs(Box::new(PairTable::new(network)?))),
        }
    }
    fn network(&self) -> &Network {
        match self {
            BetweenRacks(racks) => racks.network(),
            Pairs(table) => table.network(),
        }
    }
    #[inline]
    fn path(&mut self, src: usize, dst: usize) -> Option<Path<'_>> {
        match self {
            BetweenRacks(racks) => racks.path(src, dst),
            Pairs(table) => table.path(src, dst),
        }
    }
    #[inline]
    fn has_one_link(&self, dst: usize) -> bool {
        match self {
            BetweenRacks(_) => true,
            Pairs(table) => table.has_one_link(dst),
        }
    }
    #[inline]
    fn own_link(&self, src: usize) -> Option<u32> {
        match self {
            BetweenRacks(racks) => Some(racks.own_link(src)),
            Pairs(table) => table.own_link(src),
        }
    }
    #[inline]
    fn prefetch(&self, src: usize, dst: usize) -> u32 {
        match self {
            BetweenRacks(racks) => racks.prefetch(src, dst),
            Pairs(table) => table.prefetch(src, dst),
        }
    }
    fn search(&mut self, search: Search<'_>, lookups: &mut usize) -> Option<Candidate> {
        match self {
            BetweenRacks(racks) => racks.search(search, lookups),
            Pairs(table) => table.search(search, lookups),
        }
    }
    #[inline]
    fn is_blocked(&self, src: usize, dst: usize, open: bool) -> bool {
        match self {
            BetweenRacks(racks) => racks.is_blocked(src, dst, open),
            Pairs(table) => table.is_blocked(src, dst, open),
        }
    }
    #[inline]
    fn occupy(&mut self, fit: Candidate, user: u32, links: &mut Links) -> bool {
        match self {
            BetweenRacks(racks) => racks.occupy(fit, user, links),
            Pairs(table) => table.occupy(fit, user, links),
        }
    }
    #[inline]
    fn close(&mut self, link: u32) {
        match self {
            BetweenRacks(racks) => racks.close(link),
            Pairs(table) => table.close(link),
        }
    }
    fn open(&mut self, link: u32) {
        match self {
            BetweenRacks(racks) => racks.open(link),
            Pairs(table) => table.open(link),
        }
    }
    fn open_all(&mut self, links: &Links) {
        match self {
            BetweenRacks(racks) => racks.open_all(links),
            Pairs(table) => table.open_all(links),
        }
    }
}
