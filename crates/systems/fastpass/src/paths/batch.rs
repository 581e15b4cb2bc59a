//! Path selection for the grants of a batch, in two tiers, in a fat-tree or in any topology.

use super::{Choice, FatTree, PathError, PathSelector, RouteError, RouteSelector, TierChoice};
use crate::allocation::{BATCH, Grant};

/// The topology, with its selector.
#[derive(Clone, Debug)]
pub enum Topology {
    /// Racks are joined by spines. A path is the number of a spine.
    TwoTiers(PathSelector),
    /// Pods of edge switches with their selector, and the number of cores above an aggregation switch. Within
    /// a pod, a path is the index of the aggregation switch. Between pods it is that index times the number
    /// of cores, plus the number of the core.
    FatTree(FatTree, u16),
    /// Any topology. A path is the number of a candidate: `candidates[src * racks + dst]` has routes from
    /// rack to rack, each a list of links.
    Any {
        /// The links.
        links: RouteSelector,
        /// The number of racks.
        racks: u16,
        /// The routes to choose from.
        candidates: Vec<Vec<Vec<u32>>>,
    },
}

/// Slots of a pair that go over one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathGrant {
    /// The pair and the slots.
    pub grant: Grant,
    /// The path; `None` where both ends are in one rack.
    pub path: Option<u32>,
}

/// The reason why no paths can be chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SelectError {
    /// A rack or path is wrong.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A link or route is wrong.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// An endpoint is in no rack.
    #[error("endpoint {endpoint} is in no rack; racks of {endpoints} endpoints are known")]
    Endpoint {
        /// Its number.
        endpoint: u16,
        /// Endpoints whose racks are known.
        endpoints: usize,
    },
    /// Two racks have no list of routes.
    #[error("there is no list of routes from rack {0} to rack {1}")]
    NoCandidates(u16, u16),
}

/// A placed packet: its path (`None` where it is local, which comes first), and its slot.
type Placed = (Option<u32>, u32);

/// The packets of a batch that have a path or need none, by grant.
#[derive(Clone, Debug, Default)]
struct PlacedPackets {
    packets: Vec<Placed>,
    /// By grant: where its packets begin, with room for all of its slots, and where they end so far.
    ranges: Vec<(usize, usize)>,
}

impl PlacedPackets {
    fn begin(&mut self, grants: &[Grant]) {
        let mut first = 0;
        let range = |grant: &Grant| {
            let start = first;
            first += grant.slots.count_ones() as usize;
            (start, start)
        };
        self.ranges.clear();
        self.ranges.extend(grants.iter().map(range));
        self.packets.resize(first, (None, 0));
    }
    fn add(&mut self, number: u32, path: Option<u32>, slot: u32) {
        let (_, end) = &mut self.ranges[number as usize];
        self.packets[*end] = (path, slot);
        *end += 1;
    }
    /// The packets of a grant, by path.
    fn of(&mut self, number: usize) -> &[Placed] {
        let (start, end) = self.ranges[number];
        let packets = &mut self.packets[start..end];
        packets.sort_unstable();
        packets
    }
}

/// The packets of a slot: the racks of source and destination, and the number of the grant.
type Packets = (Vec<(u16, u16)>, Vec<u32>);

/// Chooses paths for whole batches.
#[derive(Clone, Debug)]
pub struct Selector {
    topology: Topology,
    rack_of: Vec<u16>,
    /// The packets to place, by slot.
    slots: Vec<Packets>,
    placed: PlacedPackets,
    choices: Vec<Choice>,
    tier_choices: Vec<TierChoice>,
    routed: Vec<(u32, u64)>,
}

impl Selector {
    /// Makes a selector for a topology and endpoints in these racks (edge switches).
    pub fn new(topology: Topology, rack_of: Vec<u16>) -> Selector {
        Selector {
            topology,
            rack_of,
            slots: vec![Default::default(); BATCH as usize],
            placed: PlacedPackets::default(),
            choices: Vec::new(),
            tier_choices: Vec::new(),
            routed: Vec::new(),
        }
    }
    /// The topology. The caller can report failures and repairs to its selector.
    pub fn topology(&mut self) -> &mut Topology {
        &mut self.topology
    }
    /// Chooses paths for the grants of a batch. Appends the placed slots to `parts`, the parts of a grant one
    /// after another. Appends the slots that no path has room for to `rest`. They have to be demanded again.
    ///
    /// # Errors
    /// Endpoints, racks or links do not exist. In this case nothing is appended.
    pub fn select(
        &mut self,
        grants: &[Grant],
        parts: &mut Vec<PathGrant>,
        rest: &mut Vec<Grant>,
    ) -> Result<(), SelectError> {
        let (places, left) = (parts.len(), rest.len());
        let chosen = match self.topology {
            Topology::Any { .. } => self.by_grant(grants, parts, rest),
            _ => self.by_slot(grants, parts, rest),
        };
        if chosen.is_err() {
            parts.truncate(places);
            rest.truncate(left);
        }
        chosen
    }
    fn racks(&self, grant: &Grant) -> Result<(u16, u16), SelectError> {
        let endpoints = self.rack_of.len();
        let rack = |endpoint: u16| {
            let known = self.rack_of.get(usize::from(endpoint)).copied();
            known.ok_or(SelectError::Endpoint { endpoint, endpoints })
        };
        Ok((rack(grant.src)?, rack(grant.dst)?))
    }
    fn by_grant(
        &mut self,
        grants: &[Grant],
        parts: &mut Vec<PathGrant>,
        rest: &mut Vec<Grant>,
    ) -> Result<(), SelectError> {
        if let Topology::Any { links, .. } = &mut self.topology {
            links.begin_batch();
        }
        for &grant in grants {
            let (src, dst) = self.racks(&grant)?;
            if src == dst {
                parts.push(PathGrant { grant, path: None });
                continue;
            }
            let Topology::Any { links, racks, candidates } = &mut self.topology else { break };
            let at = usize::from(src) * usize::from(*racks) + usize::from(dst);
            let routes = candidates.get(at).filter(|_| dst < *racks);
            let routes = routes.ok_or(SelectError::NoCandidates(src, dst))?;
            self.routed.clear();
            let unplaced = links.place(routes, grant.slots, &mut self.routed)?;
            parts.extend(self.routed.iter().map(|&(path, slots)| PathGrant {
                grant: Grant { slots, ..grant },
                path: Some(path),
            }));
            if unplaced != 0 {
                rest.push(Grant { slots: unplaced, ..grant });
            }
        }
        Ok(())
    }
    fn by_slot(
        &mut self,
        grants: &[Grant],
        parts: &mut Vec<PathGrant>,
        rest: &mut Vec<Grant>,
    ) -> Result<(), SelectError> {
        for (packets, numbers) in &mut self.slots {
            packets.clear();
            numbers.clear();
        }
        for (number, grant) in (0..).zip(grants) {
            let racks = self.racks(grant)?;
            let mut slots = grant.slots;
            while slots != 0 {
                let (packets, numbers) = &mut self.slots[slots.trailing_zeros() as usize];
                packets.push(racks);
                numbers.push(number);
                slots &= slots - 1;
            }
        }
        self.placed.begin(grants);
        (0..BATCH).try_for_each(|slot| self.select_slot(slot))?;
        self.gather(grants, parts, rest);
        Ok(())
    }
    /// Chooses paths for the packets of one slot and notes them by grant.
    fn select_slot(&mut self, slot: u32) -> Result<(), SelectError> {
        let (packets, numbers) = &self.slots[slot as usize];
        if packets.is_empty() {
            return Ok(());
        }
        match &mut self.topology {
            Topology::TwoTiers(selector) => {
                selector.select(packets, &mut self.choices)?;
                let paths = self.choices.iter().map(|choice| match *choice {
                    Choice::Local => Some(None),
                    Choice::Over(path) => Some(Some(u32::from(path))),
                    Choice::Unplaced => None,
                });
                note(&mut self.placed, slot, numbers, paths);
            }
            Topology::FatTree(selector, cores) => {
                selector.select(packets, &mut self.tier_choices)?;
                let paths = self.tier_choices.iter().map(|choice| match *choice {
                    TierChoice::Local => Some(None),
                    TierChoice::Pod(index) => Some(Some(u32::from(index))),
                    TierChoice::Core { aggregation, core } => {
                        Some(Some(u32::from(aggregation) * u32::from(*cores) + u32::from(core)))
                    }
                    TierChoice::Unplaced => None,
                });
                note(&mut self.placed, slot, numbers, paths);
            }
            Topology::Any { .. } => {}
        }
        Ok(())
    }
    /// Joins the packets that were placed slot by slot: one part per grant and path.
    fn gather(&mut self, grants: &[Grant], parts: &mut Vec<PathGrant>, rest: &mut Vec<Grant>) {
        for (number, grant) in grants.iter().enumerate() {
            let mut left = grant.slots;
            for group in self.placed.of(number).chunk_by(|a, b| a.0 == b.0) {
                let slots = group.iter().fold(0, |slots, &(_, slot)| slots | 1u64 << slot);
                parts.push(PathGrant { grant: Grant { slots, ..*grant }, path: group[0].0 });
                left ^= slots;
            }
            if left != 0 {
                rest.push(Grant { slots: left, ..*grant });
            }
        }
    }
}

/// Notes the packets of a slot that have a path or need none.
fn note(
    placed: &mut PlacedPackets,
    slot: u32,
    numbers: &[u32],
    paths: impl Iterator<Item = Option<Option<u32>>>,
) {
    for (&number, path) in numbers.iter().zip(paths) {
        if let Some(path) = path {
            placed.add(number, path, slot);
        }
    }
}

#[cfg(test)]
#[path = "batch_tests.rs"]
mod tests;
