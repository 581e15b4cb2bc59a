//! Simulated time: an unsigned count of picoseconds.

use crate::quantity::{UnitError, format_scaled, parse_scaled};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

/// A point in time or a span of it, in picoseconds. 64 bits reach 213 days.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Time(u64);

impl Time {
    /// The start of every run.
    pub const ZERO: Time = Time(0);
    /// Later than any event: "never".
    pub const MAX: Time = Time(u64::MAX);

    /// From picoseconds.
    #[inline]
    pub const fn ps(n: u64) -> Time {
        Time(n)
    }
    /// From nanoseconds.
    #[inline]
    pub const fn ns(n: u64) -> Time {
        Time(n * 1_000)
    }
    /// From microseconds.
    #[inline]
    pub const fn us(n: u64) -> Time {
        Time(n * 1_000_000)
    }
    /// From milliseconds.
    #[inline]
    pub const fn ms(n: u64) -> Time {
        Time(n * 1_000_000_000)
    }
    /// From whole seconds.
    #[inline]
    pub const fn s(n: u64) -> Time {
        Time(n * 1_000_000_000_000)
    }
    /// From seconds; negative and not-a-number become zero, too large becomes [`Time::MAX`].
    #[inline]
    pub fn from_secs_f64(s: f64) -> Time {
        Time((s * 1e12) as u64)
    }
    /// In picoseconds.
    #[inline]
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// In whole nanoseconds, rounded down.
    #[inline]
    pub const fn as_ns(self) -> u64 {
        self.0 / 1_000
    }
    /// In seconds.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-12
    }
    /// The span from `earlier` to `self`; zero where `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }
    /// `self` + `span`, at most [`Time::MAX`].
    #[inline]
    pub const fn after(self, span: Time) -> Time {
        Time(self.0.saturating_add(span.0))
    }
    /// `self` · `n`, at most [`Time::MAX`].
    #[inline]
    pub const fn times(self, n: u64) -> Time {
        Time(self.0.saturating_mul(n))
    }
}

impl Add for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Time) -> Time {
        Time(self.0 + span.0)
    }
}
impl AddAssign for Time {
    #[inline]
    fn add_assign(&mut self, span: Time) {
        self.0 += span.0;
    }
}
impl Sub for Time {
    type Output = Time;
    #[inline]
    fn sub(self, earlier: Time) -> Time {
        Time(self.0 - earlier.0)
    }
}

const UNITS: [(&str, u64); 5] =
    [("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)];

impl schemars::JsonSchema for Time {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "time".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let units = ["ps", "ns", "us", "µs", "ms", "s"];
        crate::schema::quantity("time", &units, "10us", "A time, to the picosecond.")
    }
}
impl FromStr for Time {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Time, UnitError> {
        let micro = text.replace('µ', "u");
        parse_scaled(&micro, "time", &UNITS, "10us").map(Time)
    }
}
impl TryFrom<String> for Time {
    type Error = UnitError;
    fn try_from(text: String) -> Result<Time, UnitError> {
        text.parse()
    }
}
impl From<Time> for String {
    fn from(time: Time) -> String {
        time.to_string()
    }
}
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format_scaled(self.0, &UNITS))
    }
}
impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
