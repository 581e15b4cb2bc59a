//! The settings of single disciplines, with the defaults of those who published them.

use super::spec::ensure;
use crate::error::SpecError;
use crate::time::Time;
use crate::units::{Bytes, Rate};
use serde::{Deserialize, Serialize};

/// CoDel's settings (RFC 8289, 4.2 and 4.3). The defaults are for the Internet; within a datacenter
/// choose about the base round-trip time for `interval` and a tenth of it for `target`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CodelSpec {
    /// Waiting time that is acceptable for ever; 5 ms.
    pub target: Time,
    /// How long it may be exceeded before anything is dropped; 100 ms.
    pub interval: Time,
    /// Whether chosen packets are marked, where they can be, instead of dropped.
    pub ecn: bool,
}

/// PIE's settings (RFC 8033, 4 and 5).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PieSpec {
    /// The wanted queueing delay, QDELAY_REF; 15 ms.
    pub target: Time,
    /// Interval between updates of the chance, T_UPDATE; 15 ms.
    pub update: Time,
    /// How long a burst after silence is let through, MAX_BURST; 150 ms.
    pub burst: Time,
    /// Weight of how far the delay is off, per second; 0.125.
    pub alpha: f64,
    /// Weight of how the delay changes, per second; 1.25.
    pub beta: f64,
    /// Whether chosen packets are marked, where they can be, instead of dropped.
    pub ecn: bool,
}

/// The settings of the adaptive virtual queue, named as in the article's section II.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AvqSpec {
    /// The wanted use of the link, gamma; 0.98.
    pub utilisation: f64,
    /// How fast the virtual capacity follows, alpha, per second; 0.15.
    pub gain: f64,
    /// Room of the virtual queue; 150 KB.
    pub size: Bytes,
    /// Whether chosen packets are marked, where they can be, instead of dropped.
    pub ecn: bool,
}

/// The settings of a QCN congestion point (IEEE 802.1Q, 32.8).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct QcnSpec {
    /// The wanted queue, Q_eq; 26 KB.
    pub equilibrium: Bytes,
    /// Weight of the queue's growth, w; 2.
    pub growth_weight: f64,
    /// Bytes from one sample to the next without congestion; 150 KB.
    pub sample: Bytes,
    /// Bytes from one sample to the next at the worst; 15 KB.
    pub least_sample: Bytes,
    /// Quantised feedback from which samples are no more frequent; 63.
    pub full_at: u8,
    /// The worst quantised feedback, F_bmax; 63, which is the standard's.
    pub most_feedback: u8,
}

/// The reaction point of hosts (IEEE 802.1Q, 32.10): what they do when a congestion point notifies
/// them. There is a rate limiter for each connection that was notified.
///
/// Source: IEEE 802.1Q-2018, clause 32 (802.1Qau).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReactionSpec {
    /// Bytes of a cycle of fast recovery.
    pub cycle: Bytes,
    /// Bytes of a later cycle.
    pub later_cycle: Bytes,
    /// Length of a cycle of the timer in fast recovery; later ones are half as long. Without it bytes
    /// alone count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer: Option<Time>,
    /// What active increase adds to the target each cycle.
    pub increase: Rate,
    /// What hyper-active increase adds, once for each cycle past fast recovery.
    pub hyper_increase: Rate,
    /// The lowest rate.
    pub least: Rate,
}

impl Default for CodelSpec {
    fn default() -> CodelSpec {
        CodelSpec { target: Time::ms(5), interval: Time::ms(100), ecn: false }
    }
}

impl Default for PieSpec {
    fn default() -> PieSpec {
        let (target, update, burst) = (Time::ms(15), Time::ms(15), Time::ms(150));
        PieSpec { target, update, burst, alpha: 0.125, beta: 1.25, ecn: false }
    }
}

impl Default for AvqSpec {
    fn default() -> AvqSpec {
        AvqSpec { utilisation: 0.98, gain: 0.15, size: Bytes(150_000), ecn: false }
    }
}

impl Default for QcnSpec {
    fn default() -> QcnSpec {
        QcnSpec {
            equilibrium: Bytes(26_000),
            growth_weight: 2.0,
            sample: Bytes(150_000),
            least_sample: Bytes(15_000),
            full_at: 63,
            most_feedback: super::qcn::WORST,
        }
    }
}

impl Default for ReactionSpec {
    fn default() -> ReactionSpec {
        ReactionSpec {
            cycle: Bytes(150_000),
            later_cycle: Bytes(75_000),
            timer: None,
            increase: Rate(5_000_000),
            hyper_increase: Rate(50_000_000),
            least: Rate(10_000_000),
        }
    }
}

fn positive(key: &str, value: f64) -> Result<(), SpecError> {
    ensure(value > 0.0 && value.is_finite(), key, || {
        format!("`{key}` = {value} must be a number above 0")
    })
}

fn lasting(key: &str, value: Time) -> Result<(), SpecError> {
    ensure(value > Time::ZERO, key, || format!("`{key}` is 0: for example \"100us\""))
}

impl CodelSpec {
    pub(super) fn validate(&self) -> Result<(), SpecError> {
        lasting("target", self.target)?;
        ensure(self.target < self.interval, "target", || {
            format!("`target` = {} must be below `interval` = {}", self.target, self.interval)
        })
    }
}

impl PieSpec {
    pub(super) fn validate(&self) -> Result<(), SpecError> {
        lasting("target", self.target)?;
        lasting("update", self.update)?;
        positive("alpha", self.alpha)?;
        positive("beta", self.beta)
    }
}

impl AvqSpec {
    pub(super) fn validate(&self) -> Result<(), SpecError> {
        positive("gain", self.gain)?;
        ensure(self.size.0 > 0, "size", || "`size` is 0B: every packet would be chosen".into())?;
        ensure(self.utilisation > 0.0 && self.utilisation <= 1.0, "utilisation", || {
            format!("`utilisation` = {} must be above 0 and at most 1", self.utilisation)
        })
    }
}

impl QcnSpec {
    pub(super) fn validate(&self, limit: Bytes) -> Result<(), SpecError> {
        ensure(self.equilibrium.0 > 0 && self.equilibrium <= limit, "equilibrium", || {
            format!(
                "`equilibrium` = {} must be above 0 and at most `limit` = {limit}",
                self.equilibrium
            )
        })?;
        ensure(
            self.growth_weight >= 0.0 && self.growth_weight.is_finite(),
            "growth-weight",
            || format!("`growth-weight` = {} must not be negative", self.growth_weight),
        )?;
        ensure(
            self.least_sample.0 > 0 && self.least_sample <= self.sample,
            "least-sample",
            || {
                format!(
                    "`least-sample` = {} must be above 0 and at most `sample` = {}",
                    self.least_sample, self.sample
                )
            },
        )?;
        for (key, value) in [("full-at", self.full_at), ("most-feedback", self.most_feedback)] {
            ensure((1..=super::qcn::WORST).contains(&value), key, || {
                format!("`{key}` is {value}: quantised feedback is 1 to 63")
            })?;
        }
        Ok(())
    }
}

impl ReactionSpec {
    /// Whether the settings make sense together.
    pub fn validate(&self) -> Result<(), SpecError> {
        for (key, bytes) in [("cycle", self.cycle), ("later-cycle", self.later_cycle)] {
            ensure(bytes.0 > 0, key, || format!("`{key}` is 0B: for example \"150KB\""))?;
        }
        let rates = [("increase", self.increase), ("least", self.least)];
        for (key, rate) in rates {
            ensure(rate.0 > 0, key, || format!("`{key}` is 0: for example \"5Mbps\""))?;
        }
        self.timer.map_or(Ok(()), |timer| lasting("timer", timer))
    }
}
