//! The counts by destination, and the queue of destinations that have to be reported to the other end.

use std::collections::VecDeque;

/// The owner of a place without a destination. No node has this number.
const NONE: u32 = u32::MAX;

/// The counts of a destination, modulo 2³².
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Flow {
    /// Slots demanded in this epoch.
    pub(super) demanded: u32,
    /// Slots granted in this epoch. At the endpoint, these are the slots that arrived or were given up.
    pub(super) granted: u32,
}

impl Flow {
    /// Slots demanded and not granted.
    pub(super) const fn pending(&self) -> u32 {
        self.demanded.wrapping_sub(self.granted)
    }
}

/// The counts, and the queue of destinations that are due. The counts are in a table with open addressing and
/// linear probing, at most half full. As soon as the table would have as many places as the network has
/// nodes, each node has a place of its own, eight to a cache line. So memory grows with the destinations that
/// occurred in an epoch.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    nodes: usize,
    /// The destination of each place; empty where each node has its own place.
    owners: Vec<u32>,
    flows: Vec<Flow>,
    /// Whether the destination of each place is in the queue.
    marked: Vec<bool>,
    used: usize,
    shift: u32,
    due: VecDeque<u32>,
}

impl Flows {
    /// Makes the counts for a network of this number of nodes.
    pub(super) fn new(nodes: u32) -> Flows {
        let mut flows = Flows {
            nodes: nodes as usize,
            owners: Vec::new(),
            flows: Vec::new(),
            marked: Vec::new(),
            used: 0,
            shift: 64,
            due: VecDeque::new(),
        };
        flows.resize(4);
        flows
    }
    fn resize(&mut self, places: usize) {
        let dense = places >= self.nodes;
        let places = places.min(self.nodes);
        self.owners = if dense { Vec::new() } else { vec![NONE; places] };
        self.flows = vec![Flow::default(); places];
        self.marked = vec![false; places];
        self.shift = 64 - places.trailing_zeros();
    }
    /// The place where the destination is or would be.
    #[inline]
    fn find(&self, dst: u32) -> usize {
        if self.owners.is_empty() {
            return dst as usize;
        }
        let mask = self.owners.len() - 1;
        let mut at = (u64::from(dst).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        while self.owners[at & mask] != dst && self.owners[at & mask] != NONE {
            at += 1;
        }
        at & mask
    }
    /// The counts of `dst`; zero if it never occurred.
    pub(super) fn get(&self, dst: u32) -> Flow {
        self.flows.get(self.find(dst)).copied().unwrap_or_default()
    }
    /// The counts of `dst`, a node of the network, to be changed.
    #[inline]
    pub(super) fn entry(&mut self, dst: u32) -> &mut Flow {
        let at = self.place(dst);
        &mut self.flows[at]
    }
    #[inline]
    fn place(&mut self, dst: u32) -> usize {
        let at = self.find(dst);
        if self.owners.get(at) == Some(&NONE) { self.add(dst, at) } else { at }
    }
    fn add(&mut self, dst: u32, at: usize) -> usize {
        self.used += 1;
        if self.used * 2 <= self.owners.len() {
            self.owners[at] = dst;
            return at;
        }
        let (owners, flows) = (std::mem::take(&mut self.owners), std::mem::take(&mut self.flows));
        let marked = std::mem::take(&mut self.marked);
        self.resize(owners.len() * 2);
        for ((owner, flow), mark) in owners.into_iter().zip(flows).zip(marked) {
            if owner != NONE {
                let at = self.own(owner);
                (self.flows[at], self.marked[at]) = (flow, mark);
            }
        }
        self.own(dst)
    }
    fn own(&mut self, dst: u32) -> usize {
        let at = self.find(dst);
        if let Some(owner) = self.owners.get_mut(at) {
            *owner = dst;
        }
        at
    }
    /// Marks a destination as due, once.
    #[inline]
    pub(super) fn report(&mut self, dst: u32) {
        let at = self.place(dst);
        if !std::mem::replace(&mut self.marked[at], true) {
            self.due.push_back(dst);
        }
    }
    /// Whether anything is due.
    pub(super) fn is_due(&self) -> bool {
        !self.due.is_empty()
    }
    /// Takes the destination that has been due for longest.
    #[inline]
    pub(super) fn take(&mut self) -> Option<(u32, Flow)> {
        let dst = self.due.pop_front()?;
        let at = self.find(dst);
        self.marked[at] = false;
        Some((dst, self.flows[at]))
    }
    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.owners.fill(NONE);
        self.flows.fill(Flow::default());
        self.marked.fill(false);
        self.used = 0;
        self.due.clear();
    }
    /// Begins an epoch: all pending slots become the demand, and all of it is due.
    pub(super) fn restart(&mut self) {
        let owner = |at| self.owners.get(at).copied().unwrap_or(at as u32);
        let flows = self.flows.iter().enumerate().filter(|(_, flow)| flow.pending() > 0);
        let mut pending: Vec<_> = flows.map(|(at, flow)| (owner(at), flow.pending())).collect();
        // The order of the table must not matter.
        pending.sort_unstable();
        self.clear();
        for (dst, slots) in pending {
            self.entry(dst).demanded = slots;
            self.report(dst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Sparse or dense, the table behaves like a map, and the queue has each destination once.
        #[test]
        fn the_table_is_a_map(
            nodes in 1u32..2_000, stride in 1u32..64, names in prop::collection::vec((0u32..500, any::<bool>()), 0..400)
        ) {
            let (mut flows, mut map, mut due) = (Flows::new(nodes), BTreeMap::new(), Vec::new());
            for (name, report) in names {
                let dst = name * stride % nodes;
                flows.entry(dst).demanded += 1;
                *map.entry(dst).or_insert(0) += 1;
                if report {
                    flows.report(dst);
                    due.extend((!due.contains(&dst)).then_some(dst));
                }
            }
            for dst in 0..nodes {
                prop_assert_eq!(flows.get(dst).demanded, map.get(&dst).copied().unwrap_or(0));
            }
            let mut other = flows.clone();
            other.restart();
            let all: Vec<_> = std::iter::from_fn(|| other.take()).map(|(dst, f)| (dst, f.pending())).collect();
            prop_assert_eq!(all, map.into_iter().collect::<Vec<_>>());
            let queue: Vec<_> = std::iter::from_fn(|| flows.take()).map(|(dst, _)| dst).collect();
            prop_assert_eq!(queue, due);
        }
    }
}
