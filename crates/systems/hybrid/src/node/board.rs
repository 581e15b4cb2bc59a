//! What is on for each other rack, as days come and go, and as ports at circuit switches fail.

/// Something that is on for as long as any day has it on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Thing {
    /// The packet switch may not take from the queue.
    Bar,
    /// The queue has its larger size.
    Grow,
    /// Packets are marked.
    Mark,
    /// There is a circuit from that rack.
    Hear,
    /// Hosts are told of a circuit to that rack.
    Tell,
}

/// What is on for one rack: by how many days.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct On([u16; 5]);

impl On {
    #[inline]
    pub fn is(&self, thing: Thing) -> bool {
        self.0[thing as usize] > 0
    }
    fn add(&mut self, other: &On) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, other)| *mine += other);
    }
    fn take(&mut self, other: &On) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, other)| *mine -= other);
    }
}

/// Days as planned, and which of them are left where ports have failed.
pub(super) struct Board {
    own: usize,
    uplinks: usize,
    /// By rack: of the circuits that work.
    on: Vec<On>,
    /// By rack and uplink.
    planned: Vec<On>,
    /// By rack and uplink: its port at the circuit switch has failed.
    dead: Vec<bool>,
}

impl Board {
    /// Of rack `own`; nothing is on.
    pub fn new(own: usize, racks: usize, uplinks: usize) -> Board {
        Board {
            own,
            uplinks,
            on: vec![On::default(); racks],
            planned: vec![On::default(); racks * uplinks],
            dead: vec![false; racks * uplinks],
        }
    }
    /// What is on for `rack`.
    #[inline]
    pub fn of(&self, rack: usize) -> &On {
        &self.on[rack]
    }
    /// A day of the circuit by `uplink` between this rack and `rack` has `thing` on from now on, or no more.
    pub fn set(&mut self, (rack, uplink): (u16, u8), thing: Thing, on: bool) {
        let (rack, uplink) = (usize::from(rack), usize::from(uplink));
        let change = |count: &mut u16| *count = if on { *count + 1 } else { *count - 1 };
        change(&mut self.planned[rack * self.uplinks + uplink].0[thing as usize]);
        if self.works(rack, uplink) {
            change(&mut self.on[rack].0[thing as usize]);
        }
    }
    /// Whether both ports of a circuit between this rack and `rack` work.
    pub fn works(&self, rack: usize, uplink: usize) -> bool {
        !self.dead[rack * self.uplinks + uplink] && !self.dead[self.own * self.uplinks + uplink]
    }
    /// The port of `rack` for `uplink` works from now on, or does not: the racks for which that makes a difference.
    pub fn port(&mut self, rack: usize, uplink: usize, works: bool) -> Vec<usize> {
        if self.dead.get(rack * self.uplinks + uplink).is_none_or(|dead| *dead != works) {
            return vec![];
        }
        let all = if rack == self.own { 0..self.on.len() } else { rack..rack + 1 };
        let worked: Vec<bool> = all.clone().map(|other| self.works(other, uplink)).collect();
        self.dead[rack * self.uplinks + uplink] = !works;
        let changed =
            all.zip(worked).filter(|(other, worked)| self.works(*other, uplink) != *worked);
        let changed: Vec<usize> = changed.map(|(other, _)| other).collect();
        for &other in &changed {
            let planned = self.planned[other * self.uplinks + uplink];
            if works { self.on[other].add(&planned) } else { self.on[other].take(&planned) }
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RACKS: usize = 4;
    const UPLINKS: usize = 2;

    proptest! {
        /// Against the definition: on is what any planned day has on whose two ports work.
        #[test]
        fn what_is_on_follows_days_and_ports(
            steps in prop::collection::vec((0..RACKS, 0..UPLINKS, 0usize..7), 0..120)
        ) {
            let things = [Thing::Bar, Thing::Grow, Thing::Mark, Thing::Hear, Thing::Tell];
            let mut board = Board::new(1, RACKS, UPLINKS);
            let mut days = [[[0u32; 5]; UPLINKS]; RACKS];
            let mut dead = [[false; UPLINKS]; RACKS];
            for (rack, uplink, action) in steps {
                let count = days[rack][uplink].get_mut(action);
                match count {
                    Some(count) => {
                        *count = (*count + 1) % 3;
                        let pair = (rack as u16, uplink as u8);
                        if *count > 0 {
                            board.set(pair, things[action], true);
                        } else {
                            board.set(pair, things[action], false);
                            board.set(pair, things[action], false);
                        }
                    }
                    None => {
                        board.port(rack, uplink, action == 6);
                        dead[rack][uplink] = action == 5;
                    }
                }
                for (rack, days) in days.iter().enumerate() {
                    let works = |uplink: usize| !dead[rack][uplink] && !dead[1][uplink];
                    for thing in things {
                        let want = (0..UPLINKS).any(|at| works(at) && days[at][thing as usize] > 0);
                        prop_assert_eq!(board.of(rack).is(thing), want, "{} {:?}", rack, thing);
                    }
                }
            }
        }
    }
}
