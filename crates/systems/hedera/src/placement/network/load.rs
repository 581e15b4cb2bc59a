//! The load of each wire, and the excess over its capacity.

use slotline_net::id::HostId;

/// A flow, or its part upwards or downwards: where its wires begin, and how much it needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlowPart {
    /// The first wire of its edge switch. Where paths are listed, the first path of the pair.
    pub(in crate::placement) edge: u32,
    /// The first wire of its pod. Where paths are listed, the number of paths of the pair.
    pub(in crate::placement) pod: u32,
    /// The demand in units of 1 / [`UNIT`](crate::placement::UNIT).
    pub(in crate::placement) amount: i32,
}

/// Maps the number of a path to wires.
pub(in crate::placement) trait PathModel {
    /// By wire, its capacity.
    fn capacities(&self) -> &[i32];
    /// Appends the parts of flows to one host, given by their sources and amounts. Parts that these flows have in
    /// common are joined.
    fn parts_to_host(&self, dst: HostId, flows: &[(HostId, i32)], out: &mut Vec<FlowPart>);
    /// The wires of a part on a path.
    fn wires(&self, part: &FlowPart, path: u32) -> impl Iterator<Item = u32>;
    /// The wires that a part leaves when it changes its path, each with the wire that replaces it.
    fn changed(&self, part: &FlowPart, from: u32, to: u32) -> impl Iterator<Item = (u32, u32)>;
}

/// The load of all wires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// By wire, its load minus its capacity.
    over: Vec<i32>,
    /// The sum of all loads above capacity.
    excess: i64,
}

/// Changes of a load that can be taken back.
#[derive(Debug, Default)]
pub(in crate::placement) struct Changes {
    /// The excess before the first of them.
    excess: i64,
    /// Each wire that was changed, and what it had before.
    wires: Vec<(u32, i32)>,
}

impl Load {
    /// Wires of these capacities without load.
    pub(in crate::placement) fn new(capacities: &[i32]) -> Load {
        Load { over: capacities.iter().map(|capacity| -capacity).collect(), excess: 0 }
    }
    /// A load, given as the load of each wire minus its capacity.
    pub(in crate::placement) fn of(over: Vec<i32>) -> Load {
        let excess = over.iter().map(|&over| i64::from(over.max(0))).sum();
        Load { over, excess }
    }
    /// The energy of the thesis (§4.2.4): the sum over all wires of the load above capacity.
    pub fn excess(&self) -> i64 {
        self.excess
    }
    /// The load of a wire minus its capacity.
    #[inline]
    pub(in crate::placement) fn over(&self, wire: u32) -> i32 {
        self.over[wire as usize]
    }
    /// Adds `amount`, which may be negative, to a wire.
    #[inline]
    pub(in crate::placement) fn add(&mut self, wire: u32, amount: i32) {
        let over = &mut self.over[wire as usize];
        let before = (*over).max(0);
        *over += amount;
        self.excess += i64::from((*over).max(0) - before);
    }
    /// Adds a part to the wires of a path.
    #[inline]
    pub(in crate::placement) fn put<T: PathModel>(
        &mut self,
        model: &T,
        part: &FlowPart,
        path: u32,
    ) {
        model.wires(part, path).for_each(|wire| self.add(wire, part.amount));
    }
    /// Removes a part from the wires of a path.
    #[inline]
    pub(in crate::placement) fn take<T: PathModel>(
        &mut self,
        model: &T,
        part: &FlowPart,
        path: u32,
    ) {
        model.wires(part, path).for_each(|wire| self.add(wire, -part.amount));
    }
    /// Moves a part to another path.
    #[inline]
    pub(in crate::placement) fn shift<T: PathModel>(
        &mut self,
        model: &T,
        part: &FlowPart,
        from: u32,
        to: u32,
    ) {
        for (old, new) in model.changed(part, from, to) {
            self.add(old, -part.amount);
            self.add(new, part.amount);
        }
    }
    /// Moves parts to another path, and appends the changes to `changes`.
    #[inline]
    pub(in crate::placement) fn shift_all<T: PathModel>(
        &mut self,
        model: &T,
        parts: &[FlowPart],
        (from, to): (u32, u32),
        changes: &mut Changes,
    ) {
        // The sum is in a register, because it would wait for memory after each wire.
        let (over, mut excess) = (&mut *self.over, self.excess);
        let mut add = |wire: u32, amount: i32| {
            let over = &mut over[wire as usize];
            changes.wires.push((wire, *over));
            excess -= i64::from((*over).max(0));
            *over += amount;
            excess += i64::from((*over).max(0));
        };
        for part in parts {
            for (old, new) in model.changed(part, from, to) {
                add(old, -part.amount);
                add(new, part.amount);
            }
        }
        self.excess = excess;
    }
    /// Begins changes that may be taken back.
    #[inline]
    pub(in crate::placement) fn begin(&self, changes: &mut Changes) {
        changes.excess = self.excess;
        changes.wires.clear();
    }
    /// Takes changes back. There were no others since they began.
    #[inline]
    pub(in crate::placement) fn take_back(&mut self, changes: &Changes) {
        // Where a wire was changed twice, the first value is written last.
        changes.wires.iter().rev().for_each(|&(wire, over)| self.over[wire as usize] = over);
        self.excess = changes.excess;
    }
    /// Whether a part fits on a path.
    #[inline]
    pub(in crate::placement) fn fits<T: PathModel>(
        &self,
        model: &T,
        part: &FlowPart,
        path: u32,
    ) -> bool {
        model.wires(part, path).all(|wire| self.over(wire) <= -part.amount)
    }
    /// How much the excess would grow if a part were added to a path.
    #[inline]
    pub(in crate::placement) fn cost<T: PathModel>(
        &self,
        model: &T,
        part: &FlowPart,
        path: u32,
    ) -> i64 {
        let more = |wire| {
            let over = self.over(wire);
            i64::from((over + part.amount).max(0) - over.max(0))
        };
        model.wires(part, path).map(more).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::network::Tiers;
    use proptest::prelude::*;

    proptest! {
        /// Parts that are moved together have the load of parts that are moved one by one, and the load before
        /// can be restored. Few hosts share wires often.
        #[test]
        fn changes_are_those_of_single_parts_and_can_be_taken_back(
            ends in prop::collection::vec((0u32..16, 0u32..16, 1i32..90_000), 1..40),
            from in 0u32..4, to in 0u32..4, more in 0u32..4,
        ) {
            let tiers = Tiers::fat_tree(4);
            let part = |&(src, dst, amount): &_| tiers.part_up(HostId(src), HostId(dst), amount);
            let parts: Vec<FlowPart> = ends.iter().filter_map(part).collect();
            let mut load = Load::new(&tiers.capacities);
            parts.iter().for_each(|part| load.put(&tiers, part, from));
            let (before, mut single, mut changes) = (load.clone(), load.clone(), Changes::default());
            load.begin(&mut changes);
            for (old, new) in [(from, to), (to, more)] {
                load.shift_all(&tiers, &parts, (old, new), &mut changes);
                parts.iter().for_each(|part| single.shift(&tiers, part, old, new));
            }
            prop_assert_eq!(&load, &single);
            load.take_back(&changes);
            prop_assert_eq!(load, before);
        }
    }
}
