//! The options of Hedera.

use crate::placement::default_c;
use serde::{Deserialize, Serialize};
use slotline_net::error::SpecError;
use slotline_net::scheme::Scale;
use slotline_net::time::Time;
use slotline_net::units::Rate;

/// How paths for large flows are found.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PlacementKind {
    /// Global First Fit: each new flow gets the first path with room for its demand, and keeps it.
    ///
    /// Source: Al-Fares' dissertation, section 4.2.3.
    FirstFit,
    /// Simulated annealing over maps from destination hosts to core switches.
    ///
    /// Source: Al-Fares' dissertation, section 4.2.4.
    #[default]
    Annealing,
    /// Simulated annealing with a path for each flow.
    ///
    /// Source: Al-Fares' dissertation, section 4.2.4 (the baseline there).
    AnnealingPerFlow,
    /// The placement is exact, by Euler splits of the graph of flows, if each host sends and receives one flow.
    /// Otherwise it is the best of the present paths, first fit, annealing and weighted Euler splits, each after local
    /// search.
    Best,
}

/// Section numbers are those of Al-Fares' dissertation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = slotline_net::schema::keep_comment)]
pub struct HederaSpec {
    /// How paths for large flows are found.
    pub placement: PlacementKind,
    /// How often edge switches report their counts (§4.3.4: 5 s).
    pub poll: Time,
    /// The least share of its host's link for which a flow is large (§4.1.1: 0.1).
    #[schemars(range(min = 0, max = 1))]
    pub threshold: f64,
    /// How long the scheduler waits for further reports after the first of a poll.
    pub gather: Time,
    /// How long estimation and placement take, in addition to the messages (§4.4.4: 100 ms).
    pub computing: Time,
    /// How long it takes from the arrival of a path at an edge switch until packets follow it.
    pub install: Time,
    /// How long a path is used after the scheduler last sent it. Then the hash of the connection decides again.
    /// Default: three times `poll`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expire: Option<Time>,
    /// With annealing: the number of steps in each poll (§4.4.4: 1,000 to 2,000,000).
    #[schemars(range(min = 0, max = 10_000_000))]
    pub iterations: u32,
    /// With annealing: the factor c of the acceptance probability, as a multiple of the number of
    /// steps (§4.2.4). Default: 0.5 for up to 16 hosts, 1,000 for more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub c: Option<f64>,
    /// The rate of the scheduler's link (§4.4.4: 10 Gbit/s for large networks). Default: that of a host's link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler_rate: Option<Rate>,
    /// `"auto"`: periods that are not given get values that fit this network and traffic. The resolved scenario has
    /// these values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
}

impl Default for HederaSpec {
    fn default() -> HederaSpec {
        HederaSpec {
            placement: PlacementKind::default(),
            poll: Time::s(5),
            threshold: 0.1,
            gather: Time::ms(1),
            computing: Time::ms(100),
            install: Time::ms(1),
            expire: None,
            iterations: 10_000,
            c: None,
            scheduler_rate: None,
            scale: None,
        }
    }
}

/// Checked options.
#[derive(Clone, Debug)]
pub struct Hedera(HederaSpec);

impl HederaSpec {
    /// Checks the options.
    ///
    /// # Errors
    /// An option has an invalid value.
    pub fn build(&self) -> Result<Hedera, SpecError> {
        let wrong = |key: &str, value: &dyn std::fmt::Display, valid: &str| {
            Err(SpecError::new(key, format!("`{key}` is {value}, but it has to be {valid}")))
        };
        if !(Time::us(10)..=Time::s(3_600)).contains(&self.poll) {
            return wrong("poll", &self.poll, "from 10us to 3600s");
        }
        if !(self.threshold > 0.0 && self.threshold <= 1.0) {
            return wrong("threshold", &self.threshold, "above 0 and at most 1");
        }
        let longest = Time::s(3_600);
        for (key, value) in
            [("gather", self.gather), ("computing", self.computing), ("install", self.install)]
        {
            if value > longest {
                return wrong(key, &value, "at most 3600s");
            }
        }
        if self.gather >= self.poll {
            return wrong("gather", &self.gather, &format!("below `poll`, {}", self.poll));
        }
        if let Some(expire) = self.expire.filter(|expire| *expire <= self.poll) {
            return wrong("expire", &expire, &format!("above `poll`, {}", self.poll));
        }
        if self.iterations > 10_000_000 {
            return wrong("iterations", &self.iterations, "at most 10000000");
        }
        if let Some(c) = self.c.filter(|c| !c.is_finite() || *c < 0.0) {
            return wrong("c", &c, "a number of at least 0");
        }
        if self.scheduler_rate == Some(Rate(0)) {
            return wrong("scheduler-rate", &Rate(0), "above zero");
        }
        self.check_annealing()?;
        Ok(Hedera(self.clone()))
    }
    /// Refuses `c` if the placement does not use it.
    fn check_annealing(&self) -> Result<(), SpecError> {
        use PlacementKind::{Annealing, AnnealingPerFlow};
        if self.c.is_none() || matches!(self.placement, Annealing | AnnealingPerFlow) {
            return Ok(());
        }
        Err(SpecError::new("c", "`c` is for `placement` = \"annealing\" or \"annealing-per-flow\""))
    }
}

impl Hedera {
    /// The options.
    pub fn spec(&self) -> &HederaSpec {
        &self.0
    }
    /// How long a path is used after the scheduler last sent it.
    pub fn expire(&self) -> Time {
        self.0.expire.unwrap_or(self.0.poll.times(3))
    }
    /// The factor c for a network of `hosts` hosts.
    pub fn c(&self, hosts: usize) -> f64 {
        self.0.c.unwrap_or_else(|| default_c(hosts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_refused() {
        let base = HederaSpec::default;
        base().build().unwrap();
        for (key, spec) in [
            ("poll", HederaSpec { poll: Time::ZERO, ..base() }),
            ("threshold", HederaSpec { threshold: 0.0, ..base() }),
            ("threshold", HederaSpec { threshold: f64::NAN, ..base() }),
            ("gather", HederaSpec { gather: Time::s(5), ..base() }),
            ("expire", HederaSpec { expire: Some(Time::s(5)), ..base() }),
            ("c", HederaSpec { c: Some(-1.0), ..base() }),
            ("c", HederaSpec { c: Some(1.0), placement: PlacementKind::FirstFit, ..base() }),
            ("iterations", HederaSpec { iterations: 20_000_000, ..base() }),
            ("scheduler-rate", HederaSpec { scheduler_rate: Some(Rate(0)), ..base() }),
        ] {
            assert_eq!(spec.build().unwrap_err().key, key);
        }
    }
}
