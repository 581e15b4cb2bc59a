//! Moments: dates and times since 1970, as logs have them.

use super::decimal;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A moment, in picoseconds since 1970-01-01 00:00 UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Moment(i128);

/// The unit of a time that is a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MomentUnit {
    /// Seconds.
    #[default]
    S,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// Nanoseconds.
    Ns,
}

impl MomentUnit {
    /// All units with their names.
    pub const ALL: [(MomentUnit, &str); 4] = [
        (MomentUnit::S, "s"),
        (MomentUnit::Ms, "ms"),
        (MomentUnit::Us, "us"),
        (MomentUnit::Ns, "ns"),
    ];

    /// The name in scenario files.
    pub fn name(self) -> &'static str {
        MomentUnit::ALL.iter().find(|(unit, _)| *unit == self).map_or("", |(_, name)| name)
    }

    /// The power of ten of nanoseconds.
    fn power(self) -> i32 {
        match self {
            MomentUnit::S => 9,
            MomentUnit::Ms => 6,
            MomentUnit::Us => 3,
            MomentUnit::Ns => 0,
        }
    }
}

const NANOSECOND: i128 = 1_000;
const SECOND: i128 = 1_000_000_000 * NANOSECOND;
const DAY: i128 = 86_400 * SECOND;

impl Moment {
    /// The moment `ps` picoseconds after 1970 began.
    pub fn since_1970(ps: i128) -> Moment {
        Moment(ps)
    }

    /// Picoseconds since 1970.
    pub fn as_ps(self) -> i128 {
        self.0
    }

    /// Reads a number of `unit` since 1970, or a date with time as in ISO 8601 or RFC 3339. Without a time zone it is UTC.
    ///
    /// # Errors
    /// `text` is neither, or later than the year 2500.
    pub fn read(text: &str, unit: MomentUnit) -> Result<Moment, String> {
        let is_date = text.len() >= 10 && matches!(text.as_bytes()[4], b'-' | b'/');
        if is_date {
            return date_and_time(text).ok_or_else(|| {
                format!("`{text}`: expected a date and a time, such as 2024-05-01 12:30:00.25")
            });
        }
        let ns = decimal::scaled(text.as_bytes(), unit.power());
        ns.map(|ns| Moment(i128::from(ns) * NANOSECOND)).ok_or_else(|| {
            let name = unit.name();
            format!(
                "`{text}`: expected a date or a number of {name} since 1970, before the year 2500"
            )
        })
    }
}

/// A date, and a time unless it is midnight, with or without a zone.
fn date_and_time(text: &str) -> Option<Moment> {
    let (date, rest) = text.split_at_checked(10)?;
    let days = days_since_1970(date)?;
    let rest = rest.strip_prefix(['T', 't', ' ', '_']).unwrap_or(rest).trim_end();
    let (time, zone) = match rest.find(['Z', 'z', 'U', '+', '-']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    Some(Moment(i128::from(days) * DAY + time_of_day(time.trim_end())? - offset(zone)?))
}

/// Two digits in the range up to `most`.
fn two(text: &str, most: u64) -> Option<i128> {
    let value = (text.len() == 2).then(|| decimal::whole(text.as_bytes())).flatten()?;
    (value <= most).then_some(value.into())
}

/// `hh:mm`, `hh:mm:ss` or `hh:mm:ss.fraction`, or nothing.
fn time_of_day(text: &str) -> Option<i128> {
    if text.is_empty() {
        return Some(0);
    }
    let (hours, rest) = text.split_once(':')?;
    let (minutes, seconds) = rest.split_once(':').unwrap_or((rest, "00"));
    let whole = seconds.split(['.', ',']).next()?;
    // A leap second is the first second of the next minute.
    two(whole, 60)?;
    let ns = decimal::scaled(seconds.replace(',', ".").as_bytes(), 9)?;
    let minutes = two(hours, 23)? * 60 + two(minutes, 59)?;
    Some(minutes * 60 * SECOND + i128::from(ns) * NANOSECOND)
}

/// The time zone's lead over UTC.
fn offset(zone: &str) -> Option<i128> {
    let digits = match zone {
        "" | "Z" | "z" | "UTC" => return Some(0),
        zone => zone.strip_prefix(['+', '-'])?.replace(':', ""),
    };
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes = if minutes.is_empty() { 0 } else { two(minutes, 59)? };
    let lead = (two(hours, 23)? * 60 + minutes) * 60 * SECOND;
    Some(if zone.starts_with('-') { -lead } else { lead })
}

/// Days from 1970-01-01 to a date of the years 1970 to 2500, `yyyy-mm-dd` or `yyyy/mm/dd`.
fn days_since_1970(date: &str) -> Option<i64> {
    let mut parts = date.split(['-', '/']);
    let mut part = |digits: usize| -> Option<i64> {
        let text = parts.next().filter(|text| text.len() == digits)?;
        i64::try_from(decimal::whole(text.as_bytes())?).ok()
    };
    let (year, month, day) = (part(4)?, part(2)?, part(2)?);
    let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let february = if leap(year) { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = months.get(usize::try_from(month.checked_sub(1)?).ok()?)?;
    if !(1970..=2500).contains(&year) || !(1..=*length).contains(&day) {
        return None;
    }
    let years: i64 = (1970..year).map(|year| if leap(year) { 366 } else { 365 }).sum();
    Some(years + months[..month as usize - 1].iter().sum::<i64>() + day - 1)
}

impl FromStr for Moment {
    type Err = String;
    fn from_str(text: &str) -> Result<Moment, String> {
        Moment::read(text.trim(), MomentUnit::S)
    }
}

impl TryFrom<String> for Moment {
    type Error = String;
    fn try_from(text: String) -> Result<Moment, String> {
        text.parse()
    }
}

/// Seconds since 1970, which can be read again.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, ps) = (self.0.div_euclid(SECOND), self.0.rem_euclid(SECOND));
        let fraction = format!("{:09}", ps / NANOSECOND);
        match fraction.trim_end_matches('0') {
            "" => write!(f, "{seconds}"),
            digits => write!(f, "{seconds}.{digits}"),
        }
    }
}

impl From<Moment> for String {
    fn from(moment: Moment) -> String {
        moment.to_string()
    }
}

impl JsonSchema for Moment {
    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates_and_numbers_are_read() {
        // Values from `date -u -d DATE +%s`.
        for (text, seconds) in [
            ("1970-01-01", 0),
            ("2000-02-29 00:00:00", 951_782_400),
            ("2011/08/10 09:46:53", 1_312_969_613),
            ("2024-05-01T12:30:00Z", 1_714_566_600),
            ("2024-05-01T12:30:00+02:00", 1_714_559_400),
            ("2024-05-01T12:30:00-0230", 1_714_575_600),
            ("2024-05-01 12:30 UTC", 1_714_566_600),
            ("2100-03-01", 4_107_542_400),
            ("1714566600", 1_714_566_600),
        ] {
            assert_eq!(text.parse(), Ok(Moment(seconds * SECOND)), "{text}");
        }
        let quarter = Moment(SECOND * 1_714_566_600 + SECOND / 4);
        assert_eq!("2024-05-01 12:30:00.25".parse(), Ok(quarter));
        assert_eq!(Moment::read("1714566600250", MomentUnit::Ms), Ok(quarter));
        assert_eq!(Moment::read("1714566600250000000", MomentUnit::Ns), Ok(quarter));
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "now",
            "-1",
            "1714566600250",
            "2023-02-29",
            "2024-13-01",
            "2024-00-01",
            "1969-12-31",
            "2024-05-01 24:00:00",
            "2024-05-01 12:60",
            "2024-05-01 12:30:00 CET",
            "2024-05-01x12:30",
            "2024-5-1 12:30",
            "2024-05-01T12:30:00+1:00",
        ] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(ns in 0..16_000_000_000_000_000_000i128) {
            let moment = Moment(ns * NANOSECOND);
            prop_assert_eq!(moment.to_string().parse(), Ok(moment));
        }

        #[test]
        fn any_text_is_read_or_refused(text in any::<String>(), date in "[0-9/:TZ+. -]{0,40}") {
            let _ = (text.parse::<Moment>(), date.parse::<Moment>());
            let _ = format!("2024-05-01{date}").parse::<Moment>();
        }
    }
}
