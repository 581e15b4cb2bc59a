//! Checks whether the periods of a central scheme fit a network and its traffic, and lists the counters of its actions.

use crate::node::Counter;
use crate::time::Time;
use crate::units::Rate;
use std::ops::RangeInclusive;

/// A network and its traffic, as far as the periods of a scheme have to fit them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conditions {
    /// Number of hosts.
    pub hosts: u32,
    /// The rate of the slowest host's link.
    pub rate: Rate,
    /// Bytes of a full packet on the wire.
    pub packet: u64,
    /// The time for a full packet to the farthest host and for its acknowledgement, in an empty network.
    pub round_trip: Time,
    /// The time that the median flow takes alone.
    pub flow: Time,
    /// The time that a flow with the median byte takes alone. Half of all bytes are in flows that take no longer.
    pub large_flow: Time,
    /// The time for which there is traffic.
    pub run: Time,
}

impl Conditions {
    /// The time of `bytes` on the slowest host's link.
    pub fn time_for(&self, bytes: u64) -> Time {
        self.rate.inverse_rate().time_for(bytes)
    }
}

/// A value for a period of a scheme, computed from [`Conditions`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proposal {
    /// The key of the option in a scenario.
    pub key: &'static str,
    /// Its value.
    pub given: Time,
    /// The value that fits, with two significant digits.
    pub proposed: Time,
    /// All values that fit.
    pub fits: RangeInclusive<Time>,
    /// The quantity that the period is compared with, as the rest of a sentence: "flows take 80 ms alone".
    pub because: String,
}

impl Proposal {
    /// A proposal. The range `fits` is extended to the proposed value.
    pub fn new(
        key: &'static str,
        given: Time,
        proposed: Time,
        fits: RangeInclusive<Time>,
        because: String,
    ) -> Proposal {
        let proposed = rounded(proposed);
        let fits = (*fits.start()).min(proposed)..=(*fits.end()).max(proposed);
        Proposal { key, given, proposed, fits, because }
    }
    /// Whether the present value fits.
    pub fn is_fit(&self) -> bool {
        self.fits.contains(&self.given)
    }
}

/// `time` with two significant digits, at least one nanosecond.
pub fn rounded(time: Time) -> Time {
    let ps = time.as_ps().max(1_000);
    let step = 10u64.pow(ps.ilog10().saturating_sub(1)).max(1_000);
    Time::ps((ps.saturating_add(step / 2) / step).max(1) * step)
}

/// The source of the periods of a scheme that a scenario does not give.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// They are computed from the network and its traffic.
    Auto,
}

/// The counters that show what a scheme did in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Activity {
    /// Counters of what the scheme heard or planned.
    pub heard: &'static [Counter],
    /// Counters of its effects on traffic. If all of them are zero, the scheme never acted. If the list is empty, this
    /// is unknown.
    pub acted: &'static [Counter],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposals_have_two_digits() {
        let shown = [0, 999, 1_234, 12_345_678, 996_000, 1_760_000_000].map(Time::ps).map(rounded);
        let expected =
            [Time::ns(1), Time::ns(1), Time::ns(1), Time::us(12), Time::us(1), Time::us(1_800)];
        assert_eq!(shown.map(Time::as_ps), expected.map(Time::as_ps));
    }

    #[test]
    fn what_is_proposed_fits() {
        let of = |given| {
            let because = "flows are short".to_string();
            Proposal::new("poll", given, Time::ms(8), Time::ZERO..=Time::ms(2), because)
        };
        assert!(of(Time::ms(8)).is_fit() && of(Time::us(1)).is_fit());
        assert!(!of(Time::s(5)).is_fit());
    }
}
