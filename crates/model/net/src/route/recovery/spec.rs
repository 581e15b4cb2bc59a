//! The settings of distributed failure recovery.

use crate::error::SpecError;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// Switches have sessions with their neighbours, notify each other of lost paths, and route around
/// failures by themselves.
///
/// Source: Al-Fares, Loukissas and Vahdat, "A Scalable, Commodity Data Center Network Architecture",
/// SIGCOMM 2008, section 3.8; RFC 5880.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RecoverySpec {
    /// The time from one hello packet to the next while a session is up.
    pub interval: Time,
    /// The number of missing hello packets after which a session goes down.
    #[schemars(range(min = 1, max = 255))]
    pub multiplier: u32,
    /// The time from one hello packet to the next while a session is not up.
    pub down_interval: Time,
    /// The time from a session's change, or a tag's arrival, until the switch's table has changed and its own
    /// tags leave.
    pub processing: Time,
}

impl Default for RecoverySpec {
    fn default() -> RecoverySpec {
        RecoverySpec {
            interval: Time::ms(10),
            multiplier: 3,
            down_interval: Time::ms(1_000),
            processing: Time::us(100),
        }
    }
}

impl RecoverySpec {
    /// Checks the values.
    ///
    /// # Errors
    /// An interval is zero, or no packet may be missing.
    pub fn check(&self) -> Result<(), SpecError> {
        let wrong = |key, message: String| Err(SpecError::new(key, message));
        let RecoverySpec { interval, multiplier, down_interval, .. } = *self;
        if interval == Time::ZERO {
            return wrong("interval", "`interval` is 0: for example \"10ms\"".into());
        }
        if down_interval < interval {
            let message = format!(
                "`down-interval` is {down_interval}: it cannot be shorter than `interval`, {interval}"
            );
            return wrong("down-interval", message);
        }
        if !(1..=255).contains(&multiplier) {
            let message = format!("`multiplier` is {multiplier}: it has to be 1 to 255");
            return wrong("multiplier", message);
        }
        Ok(())
    }
}
