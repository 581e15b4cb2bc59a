//! How much is on each wire, and by how much that is too much.

use super::Flow;

/// A flow, or a part of one, as a terrain knows it: where its wires begin, and how much it needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Item {
    /// Among wires of edge switches; where paths are listed, the first of the list.
    pub(super) edge: u32,
    /// Among wires of pods; where paths are listed, their number.
    pub(super) pod: u32,
    /// Its demand.
    pub(super) amount: i32,
}

/// From the number of a path to wires.
pub(super) trait Terrain {
    /// What is on wires when all flows to a host take the path of its number.
    fn load(&self, flows: &[Flow], numbers: &[u16]) -> Load;
    /// Appends the parts of flows to one host; what they have in common is one part.
    fn gather<'a>(&self, flows: impl Iterator<Item = &'a Flow>, out: &mut Vec<Item>);
    /// The wires of an item on a path.
    fn wires(&self, item: &Item, path: u32) -> impl Iterator<Item = u32>;
    /// Wires it leaves and wires it takes in their place when it changes its path.
    fn changed(&self, item: &Item, from: u32, to: u32) -> impl Iterator<Item = (u32, u32)>;
}

/// The load of all wires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// By wire, its load less its capacity.
    over: Vec<i32>,
    /// The sum of what is too much.
    excess: i64,
}

impl Load {
    /// Nothing on wires of these capacities.
    pub(super) fn new(rooms: &[i32]) -> Load {
        Load { over: rooms.iter().map(|room| -room).collect(), excess: 0 }
    }
    /// What there is, each wire's load less its capacity.
    pub(super) fn of(over: Vec<i32>) -> Load {
        let excess = over.iter().map(|&over| i64::from(over.max(0))).sum();
        Load { over, excess }
    }
    /// The energy of the thesis (§4.2.4): by how much wires have more than they can carry, over all.
    pub fn excess(&self) -> i64 {
        self.excess
    }
    /// Its load less its capacity.
    #[inline]
    pub(super) fn over(&self, wire: u32) -> i32 {
        self.over[wire as usize]
    }
    /// Puts `amount`, which may be negative, on a wire.
    #[inline]
    pub(super) fn add(&mut self, wire: u32, amount: i32) {
        let over = &mut self.over[wire as usize];
        let before = (*over).max(0);
        *over += amount;
        self.excess += i64::from((*over).max(0) - before);
    }
    /// Puts an item on its path.
    #[inline]
    pub(super) fn put<T: Terrain>(&mut self, terrain: &T, item: &Item, path: u32) {
        terrain.wires(item, path).for_each(|wire| self.add(wire, item.amount));
    }
    /// Takes it away.
    #[inline]
    pub(super) fn take<T: Terrain>(&mut self, terrain: &T, item: &Item, path: u32) {
        terrain.wires(item, path).for_each(|wire| self.add(wire, -item.amount));
    }
    /// Moves it to another path.
    #[inline]
    pub(super) fn shift<T: Terrain>(&mut self, terrain: &T, item: &Item, from: u32, to: u32) {
        for (old, new) in terrain.changed(item, from, to) {
            self.add(old, -item.amount);
            self.add(new, item.amount);
        }
    }
    /// Whether an item fits on a path.
    #[inline]
    pub(super) fn fits<T: Terrain>(&self, terrain: &T, item: &Item, path: u32) -> bool {
        terrain.wires(item, path).all(|wire| self.over(wire) <= -item.amount)
    }
    /// How much more would be too much were an item put on a path.
    #[inline]
    pub(super) fn cost<T: Terrain>(&self, terrain: &T, item: &Item, path: u32) -> i64 {
        let more = |wire| {
            let over = self.over(wire);
            i64::from((over + item.amount).max(0) - over.max(0))
        };
        terrain.wires(item, path).map(more).sum()
    }
}
