//! The load of each wire, and the excess over its capacity.

use crate::placement::Flow;

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
    /// The load of wires if all flows to a host take the path with the number of that host.
    fn load(&self, flows: &[Flow], numbers: &[u16]) -> Load;
    /// Appends the parts of flows to one host. Parts that these flows have in common are joined.
    fn parts_to_host<'a>(&self, flows: impl Iterator<Item = &'a Flow>, out: &mut Vec<FlowPart>);
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
