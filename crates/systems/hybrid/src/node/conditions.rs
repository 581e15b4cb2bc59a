//! The conditions that hold for each other rack, as days begin and end and ports at circuit switches fail.

use crate::schedule::Condition;

/// For one rack, the number of days that require each condition.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Conditions([u16; 5]);

impl Conditions {
    #[inline]
    pub fn hold(&self, condition: Condition) -> bool {
        self.0[condition as usize] > 0
    }
    fn add(&mut self, other: &Conditions) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, other)| *mine += other);
    }
    fn subtract(&mut self, other: &Conditions) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, other)| *mine -= other);
    }
}

/// The conditions of planned days, and those that remain where ports have failed.
pub(super) struct ConditionTable {
    own: usize,
    uplinks: usize,
    /// By rack, the conditions of the circuits that work.
    effective: Vec<Conditions>,
    /// By rack and uplink, the conditions of all planned days.
    planned: Vec<Conditions>,
    /// By rack and uplink, whether the port at the circuit switch has failed.
    failed: Vec<bool>,
}

impl ConditionTable {
    /// The table of rack `own`, in which no condition holds.
    pub fn new(own: usize, racks: usize, uplinks: usize) -> ConditionTable {
        ConditionTable {
            own,
            uplinks,
            effective: vec![Conditions::default(); racks],
            planned: vec![Conditions::default(); racks * uplinks],
            failed: vec![false; racks * uplinks],
        }
    }
    /// The conditions that hold for `rack`.
    #[inline]
    pub fn of(&self, rack: usize) -> &Conditions {
        &self.effective[rack]
    }
    /// A day of the circuit by `uplink` between this rack and `rack` requires a condition from now on, or no longer.
    pub fn set(&mut self, condition: Condition, rack: u16, uplink: u8, on: bool) {
        let (rack, uplink) = (usize::from(rack), usize::from(uplink));
        let change = |count: &mut u16| *count = if on { *count + 1 } else { *count - 1 };
        change(&mut self.planned[rack * self.uplinks + uplink].0[condition as usize]);
        if self.works(rack, uplink) {
            change(&mut self.effective[rack].0[condition as usize]);
        }
    }
    /// Whether both ports of a circuit between this rack and `rack` work.
    pub fn works(&self, rack: usize, uplink: usize) -> bool {
        !self.failed[rack * self.uplinks + uplink] && !self.failed[self.own * self.uplinks + uplink]
    }
    /// The port of `rack` for `uplink` has failed or works again. Returns the racks whose circuits this changes.
    pub fn set_port(&mut self, rack: usize, uplink: usize, works: bool) -> Vec<usize> {
        if self.failed.get(rack * self.uplinks + uplink).is_none_or(|failed| *failed != works) {
            return vec![];
        }
        let all = if rack == self.own { 0..self.effective.len() } else { rack..rack + 1 };
        let worked: Vec<bool> = all.clone().map(|other| self.works(other, uplink)).collect();
        self.failed[rack * self.uplinks + uplink] = !works;
        let changed =
            all.zip(worked).filter(|(other, worked)| self.works(*other, uplink) != *worked);
        let changed: Vec<usize> = changed.map(|(other, _)| other).collect();
        for &other in &changed {
            let planned = self.planned[other * self.uplinks + uplink];
            let effective = &mut self.effective[other];
            if works { effective.add(&planned) } else { effective.subtract(&planned) }
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
        /// A condition holds if a planned day requires it and both ports of that day work.
        #[test]
        fn conditions_follow_days_and_ports(
            steps in prop::collection::vec((0..RACKS, 0..UPLINKS, 0usize..7), 0..120)
        ) {
            let all = [Condition::PacketSwitchBlocked, Condition::LargerQueue, Condition::Marking, Condition::Receiving, Condition::Announced];
            let mut table = ConditionTable::new(1, RACKS, UPLINKS);
            let mut days = [[[0u32; 5]; UPLINKS]; RACKS];
            let mut dead = [[false; UPLINKS]; RACKS];
            for (rack, uplink, action) in steps {
                let count = days[rack][uplink].get_mut(action);
                match count {
                    Some(count) => {
                        *count = (*count + 1) % 3;
                        let (condition, peer, port) = (all[action], rack as u16, uplink as u8);
                        if *count > 0 {
                            table.set(condition, peer, port, true);
                        } else {
                            table.set(condition, peer, port, false);
                            table.set(condition, peer, port, false);
                        }
                    }
                    None => {
                        table.set_port(rack, uplink, action == 6);
                        dead[rack][uplink] = action == 5;
                    }
                }
                for (rack, days) in days.iter().enumerate() {
                    let works = |uplink: usize| !dead[rack][uplink] && !dead[1][uplink];
                    for condition in all {
                        let want = (0..UPLINKS).any(|at| works(at) && days[at][condition as usize] > 0);
                        prop_assert_eq!(table.of(rack).hold(condition), want, "{} {:?}", rack, condition);
                    }
                }
            }
        }
    }
}
