//! The options of the flow scheduler.

use crate::{Hedera, HederaSpec};
use serde::{Deserialize, Serialize};
use slotline_net::error::SpecError;
use slotline_net::scheme::Scale;
use slotline_net::time::Time;
use slotline_net::units::Rate;

/// Section numbers are those of Al-Fares' dissertation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = slotline_net::schema::keep_comment)]
pub struct FlowSchedulerSpec {
    /// How often edge switches report their large flows.
    pub poll: Time,
    /// The least share of its host's link for which a flow is large.
    #[schemars(range(min = 0, max = 1))]
    pub threshold: f64,
    /// How long the search for paths takes, in addition to the messages.
    pub computing: Time,
    /// How long it takes from the arrival of a path at an edge switch until packets follow it.
    pub install: Time,
    /// How long a flow that is not reported keeps its path and its links. Default: three times `poll`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forget: Option<Time>,
    /// The rate of the scheduler's link. Default: that of a host's link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler_rate: Option<Rate>,
    /// `"auto"`: periods that are not given get values that fit this network and traffic. The resolved scenario has
    /// these values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
}

impl Default for FlowSchedulerSpec {
    fn default() -> FlowSchedulerSpec {
        FlowSchedulerSpec {
            poll: Time::s(1),
            threshold: 0.1,
            computing: Time::ms(1),
            install: Time::ms(1),
            forget: None,
            scheduler_rate: None,
            scale: None,
        }
    }
}

/// Checked options.
#[derive(Clone, Debug)]
pub struct FlowScheduling {
    /// The flow tables and messages are those of Hedera, which was published later.
    pub(super) messages: Hedera,
    /// How long a flow that is not reported is kept.
    pub(super) forget: Time,
}

impl FlowSchedulerSpec {
    /// Checks the options.
    ///
    /// # Errors
    /// An option has an invalid value.
    pub fn build(&self) -> Result<FlowScheduling, SpecError> {
        let &FlowSchedulerSpec {
            poll,
            threshold,
            computing,
            install,
            forget,
            scheduler_rate,
            scale: _,
        } = self;
        if let Some(forget) = forget.filter(|forget| *forget <= poll) {
            let message = format!("`forget` is {forget}, but it has to be above `poll`, {poll}");
            return Err(SpecError::new("forget", message));
        }
        // The reports of all edge switches arrive at the same time, and each is handled by itself.
        let messages = HederaSpec {
            poll,
            threshold,
            computing,
            install,
            expire: forget,
            scheduler_rate,
            gather: Time::ZERO,
            ..HederaSpec::default()
        };
        let messages = messages.build()?;
        let forget = messages.expire();
        Ok(FlowScheduling { messages, forget })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_refused() {
        let base = FlowSchedulerSpec::default;
        assert_eq!(base().build().unwrap().forget, Time::s(3));
        for (key, spec) in [
            ("poll", FlowSchedulerSpec { poll: Time::ZERO, ..base() }),
            ("threshold", FlowSchedulerSpec { threshold: 1.5, ..base() }),
            ("forget", FlowSchedulerSpec { forget: Some(Time::s(1)), ..base() }),
            ("scheduler-rate", FlowSchedulerSpec { scheduler_rate: Some(Rate(0)), ..base() }),
        ] {
            assert_eq!(spec.build().unwrap_err().key, key);
        }
    }
}
