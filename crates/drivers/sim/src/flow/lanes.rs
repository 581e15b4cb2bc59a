//! The rate, the delay and the state of each directed link.

use slotline_net::prefetch::prefetch;
use slotline_net::time::Time;
use slotline_net::units::Rate;
use std::collections::BTreeMap;

/// The properties of a directed link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Lane {
    pub rate: Rate,
    pub delay: Time,
    pub down: bool,
}

/// The properties of all links. Many links of a network have the same ones, so each link has only their number: those of
/// many links then fit into a cache.
#[derive(Clone, Debug, Default)]
pub(super) struct Lanes {
    /// By link, a number.
    of: Vec<u32>,
    /// By number, properties.
    kinds: Vec<Lane>,
    numbers: BTreeMap<Lane, u32>,
}

impl Lanes {
    /// The number of links.
    pub fn len(&self) -> usize {
        self.of.len()
    }

    /// Adds a link.
    pub fn push(&mut self, lane: Lane) {
        let number = self.number(lane);
        self.of.push(number);
    }

    /// The properties of a link.
    #[inline]
    pub fn of(&self, link: u32) -> &Lane {
        match &*self.kinds {
            [only] => only,
            kinds => &kinds[self.of[link as usize] as usize],
        }
    }

    /// Changes the properties of a link.
    pub fn set(&mut self, link: u32, lane: Lane) {
        self.of[link as usize] = self.number(lane);
    }

    /// Requests the properties of a link.
    pub fn prefetch(&self, link: u32) {
        if self.kinds.len() > 1 {
            prefetch(&self.of, link);
        }
    }

    fn number(&mut self, lane: Lane) -> u32 {
        let new = self.kinds.len() as u32;
        let number = *self.numbers.entry(lane).or_insert(new);
        if number == new {
            self.kinds.push(lane);
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn are_a_list(
            rates in prop::collection::vec(1u64..4, 1..9),
            steps in prop::collection::vec((0usize..9, 1u64..9, any::<bool>()), 0..20),
        ) {
            let lane = |rate, down| Lane { rate: Rate(rate), delay: Time::ns(rate % 2), down };
            let mut plain: Vec<Lane> = rates.into_iter().map(|rate| lane(rate, false)).collect();
            let mut lanes = Lanes::default();
            plain.iter().for_each(|lane| lanes.push(*lane));
            for (link, rate, down) in steps {
                let link = link % plain.len();
                plain[link] = lane(rate, down);
                lanes.set(link as u32, plain[link]);
                let same = (0..).zip(&plain).all(|(link, lane)| lanes.of(link) == lane);
                prop_assert!(same && lanes.len() == plain.len());
            }
        }
    }
}
