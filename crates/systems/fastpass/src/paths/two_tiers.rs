//! Path selection between racks that are joined by spines. Each spine is one path.

use super::colouring::Colouring;
use super::{Choice, PathError};

const MOST_COLOURS: u32 = 4_096;

/// Chooses paths, one timeslot at a time. Slots do not depend on one another.
#[derive(Clone, Debug)]
pub struct PathSelector {
    racks: u16,
    paths: u16,
    room: u16,
    colouring: Colouring,
}

impl PathSelector {
    /// Makes a selector for racks that are joined by `paths` paths. `room` is the number of packets per slot
    /// from each rack to a path and back: the rate of a rack's link to a spine divided by that of a host.
    ///
    /// # Errors
    /// There is no path, no room, or more than 4,096 packets per rack and slot.
    pub fn new(racks: u16, paths: u16, room: u16) -> Result<PathSelector, PathError> {
        let colours = u32::from(paths) * u32::from(room);
        if !(1..=MOST_COLOURS).contains(&colours) {
            return Err(PathError::Paths { paths, room });
        }
        let meaning = (0..colours).map(|colour| Choice::Over((colour % u32::from(paths)) as u16));
        let colouring = Colouring::new(racks.into(), meaning.collect());
        Ok(PathSelector { racks, paths, room, colouring })
    }
    /// Sets whether the links between a rack and a path work, from the next slot on.
    ///
    /// # Errors
    /// The rack or path does not exist.
    pub fn set_link(&mut self, rack: u16, path: u16, works: bool) -> Result<(), PathError> {
        self.check(rack)?;
        if path >= self.paths {
            return Err(PathError::Path { path, paths: self.paths });
        }
        for part in 0..self.room {
            let colour = usize::from(part * self.paths + path);
            self.colouring.set_works(rack.into(), colour, works);
        }
        Ok(())
    }
    /// Sets whether a path works as a whole, from the next slot on.
    ///
    /// # Errors
    /// The path does not exist.
    pub fn set_path(&mut self, path: u16, works: bool) -> Result<(), PathError> {
        (0..self.racks).try_for_each(|rack| self.set_link(rack, path, works))
    }
    /// Chooses paths for the packets of one slot, given as racks of source and destination. Replaces `out`,
    /// which has the order of the packets.
    ///
    /// # Errors
    /// A rack does not exist; `out` is not valid then.
    pub fn select(
        &mut self,
        packets: &[(u16, u16)],
        out: &mut Vec<Choice>,
    ) -> Result<(), PathError> {
        let racks = self.racks;
        self.colouring.choose(packets, out).map_err(|rack| PathError::Rack { rack, racks })
    }
    fn check(&self, rack: u16) -> Result<(), PathError> {
        let racks = self.racks;
        (rack < racks).then_some(()).ok_or(PathError::Rack { rack, racks })
    }
}

#[cfg(test)]
#[path = "two_tiers_tests.rs"]
mod tests;
