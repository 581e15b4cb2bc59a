//! The classes of a host's link that stand for its destinations (§5.1).

use super::round::Round;
use crate::wire::Class;
use slotline_net::id::HostId;

/// A host has more destinations in one slot than there are classes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("host {} has more than {classes} destinations in slot {slot}", host.0)]
pub struct TooManyClasses {
    /// The host.
    pub host: HostId,
    /// The slot, from zero.
    pub slot: u16,
    /// The number of classes of its link.
    pub classes: u16,
}

/// The classes of all links. Each link has classes of its own. A destination keeps its class from round to round as
/// long as there are enough.
#[derive(Clone, Debug)]
pub struct ClassMap {
    classes: u16,
    links: Vec<Vec<HostId>>,
}

/// The classes of a round's assignments in pause frames.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Classes {
    of: Vec<u16>,
    hosts: Vec<Vec<Class>>,
}

impl Classes {
    /// The class of each of the round's assignments, in the order of [`Round::assignments`].
    pub fn of(&self) -> &[u16] {
        &self.of
    }
    /// The classes of `host` in the round, by slot. Each entry has the destination of a class from its slot on.
    pub fn of_host(&self, host: HostId) -> &[Class] {
        self.hosts.get(host.at()).map_or(&[], Vec::as_slice)
    }
}

/// One use of a class.
#[derive(Clone, Copy)]
struct Usage {
    slot: u16,
    /// The index of the assignment.
    at: u32,
}

impl ClassMap {
    /// The links of `hosts` hosts with `classes` classes each: 8 (PFC), or up to 2,048 (extended).
    pub fn new(hosts: usize, classes: u16) -> ClassMap {
        ClassMap { classes, links: vec![Vec::new(); hosts] }
    }
    /// Forgets the classes of `host`, which has restarted.
    pub fn forget(&mut self, host: HostId) {
        if let Some(link) = self.links.get_mut(host.at()) {
            link.clear();
        }
    }
    /// Gives each assignment of `round` a class of its sender's link. If no class is free, the class that is not needed
    /// for the longest time gets another destination.
    ///
    /// # Errors
    /// A host has more destinations in a slot than there are classes.
    pub fn assign(&mut self, round: &Round, out: &mut Classes) -> Result<(), TooManyClasses> {
        let mut uses = vec![Vec::new(); self.links.len()];
        let mut at = 0;
        for (slot, assignments) in round.slots().enumerate() {
            for assignment in assignments {
                uses[assignment.src.at()].push(Usage { slot: slot as u16, at });
                at += 1;
            }
        }
        out.of.clear();
        out.of.resize(at as usize, 0);
        out.hosts.resize(self.links.len(), Vec::new());
        for (host, uses) in uses.iter().enumerate() {
            out.hosts[host].clear();
            let classes = self.classes;
            let mut link = Link { classes, dst: &mut self.links[host], round, uses };
            link.assign(&mut out.of, &mut out.hosts[host]).map_err(|slot| {
                let host = HostId(host as u32);
                TooManyClasses { host, slot, classes }
            })?;
        }
        Ok(())
    }
}

/// The link of one host while its classes are assigned.
struct Link<'a> {
    classes: u16,
    /// The destination of each class that is in use.
    dst: &'a mut Vec<HostId>,
    round: &'a Round,
    uses: &'a [Usage],
}

impl Link<'_> {
    fn assign(&mut self, of: &mut [u16], entries: &mut Vec<Class>) -> Result<(), u16> {
        // By class, the index of its latest entry in `entries`.
        let mut current: Vec<Option<usize>> = vec![None; self.dst.len()];
        for (place, &Usage { slot, at }) in self.uses.iter().enumerate() {
            let assignment = self.round.assignments()[at as usize];
            let class = match self.dst.iter().position(|&dst| dst == assignment.dst) {
                Some(class) => class,
                None => {
                    let class = self.free(place).ok_or(slot)?;
                    self.dst.resize(self.dst.len().max(class + 1), assignment.dst);
                    self.dst[class] = assignment.dst;
                    current.resize(self.dst.len(), None);
                    current[class] = None;
                    class
                }
            };
            of[at as usize] = class as u16;
            let entry = *current[class].get_or_insert_with(|| {
                let (dst, rate) = (assignment.dst, Some(assignment.rate));
                entries.push(Class { class: class as u16, from: slot, dst, rate, bytes: 0 });
                entries.len() - 1
            });
            entries[entry].bytes += assignment.bytes;
        }
        Ok(())
    }
    /// A class that has no destination yet. If there is none, the class whose destination is needed latest after
    /// `place`, except for classes that are in use in the same slot.
    fn free(&self, place: usize) -> Option<usize> {
        if self.dst.len() < usize::from(self.classes) {
            return Some(self.dst.len());
        }
        let slot = self.uses[place].slot;
        let same = self.uses[..place].iter().rev().take_while(|u| u.slot == slot);
        let busy: Vec<HostId> = same.map(|u| self.to(u)).collect();
        let next = |dst: HostId| self.uses[place..].iter().position(|u| self.to(u) == dst);
        let idle = (0..self.dst.len()).filter(|&class| !busy.contains(&self.dst[class]));
        idle.max_by_key(|&class| {
            (next(self.dst[class]).unwrap_or(usize::MAX), std::cmp::Reverse(class))
        })
    }
    fn to(&self, of: &Usage) -> HostId {
        self.round.assignments()[of.at as usize].dst
    }
}
