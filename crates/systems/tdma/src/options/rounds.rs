//! The options of rounds, and the list of planners.

use crate::RoundScheduler;
use crate::paths::{AnyPaths, TreePaths};
use crate::planner::Planner;
use serde::{Deserialize, Serialize};
use slotline_net::error::SpecError;
use slotline_net::scheme::network::Network;
use slotline_net::time::Time;
use slotline_net::units::{Bytes, Rate};

/// How a round is planned.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulerKind {
    /// Hosts take turns in a fixed order, and each gets as many slots as its weight before the next one. A host that
    /// cannot have its turn sends to another destination if this disturbs no other host.
    ///
    /// Source: Vattikonda, Porter, Vahdat and Snoeren, "Practical TDMA for Datacenter Ethernet",
    /// EuroSys 2012, section 4.3.
    WeightedRoundRobin,
    /// The same for trees of switches in which all hosts have the same depth. Hosts below one switch send to each other
    /// while its uplink is in use, and senders exchange destinations if one more host can then send.
    ///
    /// Source: the same, sections 5.2.2 and 6.1.2.
    Tree,
    /// The same for any topology and any mix of rates.
    #[default]
    Any,
}

/// Section numbers are those of the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = slotline_net::schema::keep_comment)]
pub struct RoundSpec {
    /// How rounds are planned.
    pub scheduler: SchedulerKind,
    /// How long hosts may send in a slot; the longest slot if `min-slot` is given (§6.1: 300 µs).
    pub slot: Time,
    /// If given, the slot length follows the demand of the round, from this up to `slot`: it is the length with which
    /// the demand takes the least time, guard times included (§4.1). Default: slots are `slot` long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_slot: Option<Time>,
    /// The unused time after each slot (§5.4: 15 µs).
    pub guard: Time,
    /// A round has as many slots as fit into this, at least one (§4.1: for example 10 ms).
    pub round: Time,
    /// The share of every link that is left to traffic outside the schedule, from 0 to below 1 (§4.1).
    #[schemars(range(min = 0, max = 1))]
    pub reserve: f64,
    /// If given, a host sends to a slower one as fast as the rest of the path carries, in one slot up to this many bytes. The
    /// last switch holds them and forwards them in the following slots, in which nothing else is sent to that host (§4.3).
    /// Default: hosts send at the rate of the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch_buffer: Option<Bytes>,
    /// The most destinations of a host in one slot. A pause frame has 8 classes (802.1Qbb) or 2,048 (extended, §5.1).
    #[schemars(range(min = 1, max = 2048))]
    pub classes: u16,
}

impl Default for RoundSpec {
    fn default() -> RoundSpec {
        RoundSpec {
            scheduler: SchedulerKind::default(),
            slot: Time::us(300),
            min_slot: None,
            guard: Time::us(15),
            round: Time::ms(10),
            reserve: 0.0,
            switch_buffer: None,
            classes: 2_048,
        }
    }
}

/// Checked options, from which schedulers are made.
#[derive(Clone, Debug)]
pub struct Rounds(RoundSpec);

impl RoundSpec {
    /// Checks the options.
    ///
    /// # Errors
    /// An option has an invalid value.
    pub fn build(&self) -> Result<Rounds, SpecError> {
        let shortest = self.min_slot.unwrap_or(self.slot);
        let longest = Time::s(1);
        SpecError::unless(
            self.slot >= Time::us(1) && self.slot <= longest,
            "slot",
            self.slot,
            || "1us to 1s".into(),
        )?;
        SpecError::unless(
            shortest >= Time::us(1) && shortest <= self.slot,
            "min-slot",
            shortest,
            || format!("1us to the slot, {}", self.slot),
        )?;
        SpecError::unless(self.guard <= longest, "guard", self.guard, || "at most 1s".into())?;
        SpecError::unless(
            self.round >= self.slot && self.round <= Time::s(60),
            "round",
            self.round,
            || format!("from the slot, {}, to 60s", self.slot),
        )?;
        SpecError::unless((0.0..1.0).contains(&self.reserve), "reserve", self.reserve, || {
            "from 0 to below 1".into()
        })?;
        let buffer = self.switch_buffer.unwrap_or(Bytes(1));
        SpecError::unless(buffer.0 > 0, "switch-buffer", buffer, || "at least 1B".into())?;
        SpecError::unless((1..=2_048).contains(&self.classes), "classes", self.classes, || {
            "from 1 to 2048".into()
        })?;
        Ok(Rounds(self.clone()))
    }
}

impl Rounds {
    /// The options.
    pub fn spec(&self) -> &RoundSpec {
        &self.0
    }
    /// A scheduler for a network.
    ///
    /// # Errors
    /// The scheduler is `tree`, and the network is not a tree.
    pub fn scheduler(&self, network: Network) -> Result<Box<dyn RoundScheduler>, SpecError> {
        let rounds = self.clone();
        Ok(match self.0.scheduler {
            SchedulerKind::WeightedRoundRobin | SchedulerKind::Any => {
                Box::new(Planner::<AnyPaths>::new(rounds, network)?)
            }
            SchedulerKind::Tree => Box::new(Planner::<TreePaths>::new(rounds, network)?),
        })
    }
    /// The rate of a link that the schedule may use.
    pub fn scheduled(&self, capacity: Rate) -> Rate {
        Rate(capacity.0 - self.reserved(capacity).0)
    }
    /// The rate of a link for traffic outside the schedule, rounded up.
    pub fn reserved(&self, capacity: Rate) -> Rate {
        let millionths = (self.0.reserve * 1e6).ceil() as u128;
        Rate((u128::from(capacity.0) * millionths).div_ceil(1_000_000) as u64)
    }
    /// The share for traffic outside the schedule as time at the end of a slot, for hosts that cannot send slower than
    /// their links. The rest of the slot carries as much as a whole slot at the reduced rate, except for rounding.
    pub fn unscheduled(&self, slot: Time) -> Time {
        Time::ps(self.reserved(Rate(slot.as_ps())).0)
    }
    /// The shortest and the longest slot.
    pub(crate) fn slot_range(&self) -> (Time, Time) {
        (self.0.min_slot.unwrap_or(self.0.slot), self.0.slot)
    }
    /// Whether senders exchange destinations.
    pub(crate) fn exchanges(&self) -> bool {
        self.0.scheduler != SchedulerKind::WeightedRoundRobin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_values_are_named() {
        let base = RoundSpec::default();
        let wrong = [
            ("slot", RoundSpec { slot: Time::ZERO, ..base.clone() }),
            ("min-slot", RoundSpec { min_slot: Some(Time::ms(1)), ..base.clone() }),
            ("guard", RoundSpec { guard: Time::s(2), ..base.clone() }),
            ("round", RoundSpec { round: Time::us(299), ..base.clone() }),
            ("reserve", RoundSpec { reserve: 1.0, ..base.clone() }),
            ("reserve", RoundSpec { reserve: f64::NAN, ..base.clone() }),
            ("classes", RoundSpec { classes: 0, ..base }),
        ];
        for (key, spec) in wrong {
            let error = spec.build().unwrap_err();
            assert_eq!(error.key, key);
            assert!(error.message.contains("has to be"), "{error}");
        }
    }

    #[test]
    fn a_share_stays_free() {
        let rounds = RoundSpec { reserve: 0.05, ..RoundSpec::default() }.build().unwrap();
        assert_eq!(rounds.scheduled(Rate(10_000_000_000)), Rate(9_500_000_000));
        assert_eq!(rounds.reserved(Rate(1)), Rate(1));
        assert_eq!(rounds.unscheduled(Time::us(300)), Time::us(15));
        let none = RoundSpec::default().build().unwrap();
        assert_eq!(none.reserved(Rate(u64::MAX)), Rate(0));
    }
}
