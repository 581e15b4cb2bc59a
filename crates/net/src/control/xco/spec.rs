//! XCo's options.

use super::Xco;
use crate::error::SpecError;
use crate::time::Time;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// What a directive says.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Which destination a host may send to, and for how long (§3.2).
    #[default]
    Timeslice,
    /// How fast a host may send to each destination (§3.3).
    RateLimit,
}

/// How turns, or rates, are shared.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Fairness {
    /// As in the paper: pairs of hosts take turns; a rate is the bottleneck's over the flows through it.
    #[default]
    RoundRobin,
    /// Max-min fair among V2V flows, in any network: what some cannot use is left to the others.
    MaxMin,
}

/// Section numbers are those of the paper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = crate::schema::keep_comment)]
pub struct XcoSpec {
    /// Timeslices or rates.
    pub mode: Mode,
    /// Who gets how much.
    pub fairness: Fairness,
    /// Length of a timeslice; the paper uses 2 ms and 10 ms (§4).
    pub slice: Time,
    /// Whether a host gives the rest of a timeslice back when it has nothing left to send (§3.1).
    pub work_conserving: bool,
    /// How long it waits for more before it does; "a few tens of microseconds" (§3.1).
    pub hysteresis: Time,
    /// Small flows need no permission (§4.4): what a host may send to each destination per `slice`
    /// without asking, two full packets by default. Zero: nothing.
    pub small_flow: Bytes,
    /// Whether pure acknowledgements are small flows whatever their number; otherwise the
    /// receiver of a controlled flow needs timeslices, too.
    pub exempt_acks: bool,
    /// How long a host keeps a destination at least before another of its own destinations may take
    /// over (pre-emption, §3.2.1). Default: half a slice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protect: Option<Time>,
    /// Silence at the end of each slice, to absorb different delays to the hosts.
    pub guard: Time,
    /// From an event at the controller to the directives that answer it.
    pub decision_time: Time,
    /// A host that hears nothing for this long while it waits sends uncontrolled; a controller
    /// that hears nothing from a busy host for this long forgets it (§7). Default: five slices, at
    /// least two report intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Time>,
    /// How often a busy host repeats its report (and is answered), so that lost control messages do
    /// not matter for longer. Default: a slice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report_interval: Option<Time>,
}

impl Default for XcoSpec {
    fn default() -> XcoSpec {
        XcoSpec {
            mode: Mode::Timeslice,
            fairness: Fairness::RoundRobin,
            slice: Time::ms(10),
            work_conserving: true,
            hysteresis: Time::us(50),
            small_flow: Bytes(3_000),
            exempt_acks: true,
            protect: None,
            guard: Time::ZERO,
            decision_time: Time::us(10),
            timeout: None,
            report_interval: None,
        }
    }
}

impl XcoSpec {
    /// [`XcoSpec::protect`] or its default.
    pub fn protect(&self) -> Time {
        self.protect.unwrap_or(Time::ps(self.slice.as_ps() / 2))
    }
    /// [`XcoSpec::timeout`] or its default.
    pub fn timeout(&self) -> Time {
        let default = self.slice.times(5).max(self.report_interval().times(2));
        self.timeout.unwrap_or(default)
    }
    /// [`XcoSpec::report_interval`] or its default.
    pub fn report_interval(&self) -> Time {
        self.report_interval.unwrap_or(self.slice)
    }
    /// Checks the options and fills the defaults in.
    pub fn build(&self) -> Result<Xco, SpecError> {
        let (slice, interval) = (self.slice, self.report_interval());
        check("slice", slice, slice >= Time::us(1), || "at least 1us".into())?;
        check("guard", self.guard, self.guard < slice, || format!("below the slice, {slice}"))?;
        check("hysteresis", self.hysteresis, self.hysteresis < slice, || {
            format!("below the slice, {slice}")
        })?;
        check("report-interval", interval, interval >= Time::us(1), || "at least 1us".into())?;
        check("timeout", self.timeout(), self.timeout() > interval, || {
            format!("above the report interval, {interval}")
        })?;
        Ok(Xco(XcoSpec {
            protect: Some(self.protect()),
            timeout: Some(self.timeout()),
            report_interval: Some(interval),
            ..self.clone()
        }))
    }
}

fn check(
    key: &str,
    value: Time,
    right: bool,
    expected: impl Fn() -> String,
) -> Result<(), SpecError> {
    if right {
        return Ok(());
    }
    Err(SpecError::new(key, format!("`{key}` is {value}, but it has to be {}", expected())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_follow_the_slice() {
        let spec = XcoSpec { slice: Time::ms(2), ..XcoSpec::default() };
        let built = spec.build().unwrap();
        assert_eq!(built.spec().protect, Some(Time::ms(1)));
        assert_eq!(built.spec().timeout, Some(Time::ms(10)));
        assert_eq!(built.spec().report_interval, Some(Time::ms(2)));
    }

    #[test]
    fn wrong_values_are_named() {
        let base = XcoSpec::default();
        let wrong = [
            ("slice", XcoSpec { slice: Time::ZERO, ..base.clone() }),
            ("guard", XcoSpec { guard: Time::ms(10), ..base.clone() }),
            ("hysteresis", XcoSpec { hysteresis: Time::s(1), ..base.clone() }),
            ("report-interval", XcoSpec { report_interval: Some(Time::ZERO), ..base.clone() }),
            ("timeout", XcoSpec { timeout: Some(Time::ms(3)), ..base }),
        ];
        for (key, spec) in wrong {
            let error = spec.build().unwrap_err();
            assert_eq!(error.key, key);
            assert!(error.message.contains("has to be"), "{error}");
        }
    }
}
