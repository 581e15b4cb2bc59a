//! Quantities with a unit: [`Bytes`] and [`Rate`]. A scenario value always carries its unit.

use crate::quantity::{UnitError, format_scaled, parse_scaled};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

macro_rules! quantity {
    ($name:ident, $what:literal, $example:literal, $units:expr, $doc:literal) => {
        #[doc = $doc]
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
        )]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(pub u64);

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $what.into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let units = $units.map(|(unit, _): (&str, u64)| unit);
                crate::schema::quantity($what, &units, $example, $doc)
            }
        }
        impl FromStr for $name {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<$name, UnitError> {
                parse_scaled(text, $what, &$units, $example).map($name)
            }
        }
        impl TryFrom<String> for $name {
            type Error = UnitError;
            fn try_from(text: String) -> Result<$name, UnitError> {
                text.parse()
            }
        }
        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.to_string()
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&format_scaled(self.0, &$units))
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

quantity!(
    Bytes,
    "size",
    "64KB",
    [
        ("GB", 1_000_000_000),
        ("GiB", 1 << 30),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("KB", 1_000),
        ("KiB", 1 << 10),
        ("B", 1)
    ],
    "A number of bytes. `KB`, `MB`, `GB` are powers of 1000; `KiB`, `MiB`, `GiB` of 1024."
);
quantity!(
    Rate,
    "rate",
    "10Gbps",
    [
        ("Tbps", 1_000_000_000_000),
        ("Gbps", 1_000_000_000),
        ("Mbps", 1_000_000),
        ("Kbps", 1_000),
        ("bps", 1)
    ],
    "A data rate in bits per second; prefixes are powers of 1000."
);

impl Rate {
    /// Time to send `bytes` at this rate, rounded to the nearest picosecond.
    pub fn time_for(self, bytes: Bytes) -> Time {
        self.inverse_rate().time_for(bytes.0)
    }
    /// The same rate as a fixed-point time per byte, for per-packet arithmetic.
    pub fn inverse_rate(self) -> InverseRate {
        InverseRate(
            (((8_000_000_000_000u128) << InverseRate::FRACTION) / u128::from(self.0.max(1))) as u64,
        )
    }
}

/// Time per byte: picoseconds with a 20-bit binary fraction. The error is below one part in 10⁸ at 800 Gbit/s.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InverseRate(u64);

impl InverseRate {
    const FRACTION: u32 = 20;
    /// With 2 to the power of this more bytes, dividends are above 32 bits at all rates up to 8 Tbit/s.
    const ADDED: u32 = 12;
    /// Time to serialise `bytes`.
    #[inline]
    pub fn time_for(self, bytes: u64) -> Time {
        match bytes.checked_mul(self.0) {
            Some(product) => Time::ps((product + (1 << (Self::FRACTION - 1))) >> Self::FRACTION),
            None => Time::ps(((u128::from(bytes) * u128::from(self.0)) >> Self::FRACTION) as u64),
        }
    }
    /// The rate, to about one part in 10⁸.
    pub fn rate(self) -> Rate {
        let product = 8_000_000_000_000u128 << Self::FRACTION;
        Rate((product / u128::from(self.0.max(1))) as u64)
    }
    /// Bytes that fit into `span`, rounded down.
    #[inline]
    pub fn bytes_in(self, span: Time) -> u64 {
        let (ps, pace) = (span.as_ps(), self.0.max(1));
        // Spans of up to 8 s need no more than 64 bits, whose division is much faster. If 32 bits are enough, what compilers
        // make branches to a shorter division. Whether a span is 0 cannot be predicted, so some bytes are added first.
        if ps.leading_zeros() > Self::FRACTION && pace.leading_zeros() > Self::ADDED {
            return ((ps << Self::FRACTION) + (pace << Self::ADDED)) / pace - (1 << Self::ADDED);
        }
        ((u128::from(ps) << Self::FRACTION) / u128::from(pace)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_and_write_their_units() {
        assert_eq!("10Gbps".parse(), Ok(Rate(10_000_000_000)));
        assert_eq!("2.5 Gbps".parse(), Ok(Rate(2_500_000_000)));
        assert_eq!("64KB".parse(), Ok(Bytes(64_000)));
        assert_eq!("1.2us".parse(), Ok(Time::ns(1_200)));
        assert_eq!("1.2µs".parse(), Ok(Time::ns(1_200)));
        for text in ["10Gbps", "1500B", "64KiB", "3MB", "0B"] {
            let shown = text.parse::<Bytes>().map(|v| v.to_string());
            let rate = text.parse::<Rate>().map(|v| v.to_string());
            assert_eq!(shown.or(rate).as_deref(), Ok(text));
        }
    }

    #[test]
    fn a_wrong_unit_names_the_right_ones() {
        let error = "10Gb".parse::<Rate>().unwrap_err().to_string();
        assert!(error.contains("Gbps") && error.contains("10Gb"), "{error}");
        assert!("".parse::<Bytes>().is_err() && "5".parse::<Bytes>().is_err());
    }

    #[test]
    fn a_quantity_that_is_too_large_names_the_largest() {
        let large = |text: &str| text.parse::<Time>().unwrap_err().to_string();
        let expected = "`99999999s` is too large for a time: expected at most 18446744s";
        assert_eq!(large("99999999s"), expected);
        assert_eq!(large("99999999.5s"), expected.replace("99s", "99.5s"));
        assert_eq!("18446744s".parse(), Ok(Time::ms(18_446_744_000)));
        assert!("99999999999999999999GB".parse::<Bytes>().is_err());
    }

    #[test]
    fn bytes_in_a_span_are_the_same_in_64_and_128_bits() {
        for rate in [1, 7_000, 999_999_937, 10_000_000_000, 800_000_000_000] {
            let pace = Rate(rate).inverse_rate();
            for ps in [0, 1, 12_345_678_901, (1 << 43) - 1, 1 << 43, 1 << 44, u64::MAX / 3] {
                let wide = (u128::from(ps) << 20) / u128::from(pace.0.max(1));
                assert_eq!(pace.bytes_in(Time::ps(ps)), wide as u64, "{rate} {ps}");
            }
        }
    }

    #[test]
    fn serialisation_is_exact() {
        assert_eq!(Rate(10_000_000_000).time_for(Bytes(1500)), Time::ns(1200));
        assert_eq!(Rate(800_000_000_000).time_for(Bytes(1500)), Time::ps(15_000));
        assert_eq!(Rate(3_000_000_000).time_for(Bytes(3)), Time::ns(8));
    }
}
