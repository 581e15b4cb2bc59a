//! Quantities of parts tables and plans: money, power, lengths, ratios. Each is written with its unit.

use serde::Deserialize;
use std::fmt;
use std::str::FromStr;

/// Hundredths of the table's currency.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Money(pub u128);

/// A price in a parts table, such as "7000 USD".
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Price {
    /// The amount.
    pub money: Money,
    /// Three capital letters.
    pub currency: String,
}

/// Power, or heat per time, in milliwatts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Deserialize)]
#[serde(try_from = "String")]
pub struct Power(pub u128);

/// A length in millimetres.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Deserialize)]
#[serde(try_from = "String")]
pub struct Length(pub u64);

/// The capacity of all hosts over the capacity of the network, in thousandths: 1,000 is 1:1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ratio(pub u64);

/// Milliwatts of a British thermal unit per hour.
const BTU_PER_HOUR: f64 = 293.071_07;
/// The largest value of a quantity in its base unit. Sums of quantities cannot overflow.
const LARGEST: f64 = 1e15;

/// `text` as a number of base units.
fn scaled(text: &str, units: &[(&str, f64)], example: &str) -> Result<u64, String> {
    let names = || units.iter().map(|unit| unit.0).collect::<Vec<_>>().join(", ");
    let fail =
        || format!("`{text}`: expected a number and one of {}, for example \"{example}\"", names());
    let (number, unit) = split(text);
    let scale = units.iter().find(|known| known.0 == unit).ok_or_else(fail)?.1;
    let value = number.parse::<f64>().map_err(|_| fail())? * scale;
    if value <= LARGEST { Ok(value.round() as u64) } else { Err(fail()) }
}

/// The digits that `text` begins with, and the rest without blanks.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

impl TryFrom<String> for Price {
    type Error = String;
    fn try_from(text: String) -> Result<Price, String> {
        let currency = split(&text).1;
        if currency.len() != 3 || !currency.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Err(format!(
                "`{text}`: expected a number and a currency, such as \"7000 USD\""
            ));
        }
        let cents = scaled(&text, &[(currency, 100.0)], "7000 USD")?;
        Ok(Price { money: Money(u128::from(cents)), currency: currency.into() })
    }
}

impl TryFrom<String> for Power {
    type Error = String;
    fn try_from(text: String) -> Result<Power, String> {
        let units = [("W", 1e3), ("kW", 1e6), ("BTU/h", BTU_PER_HOUR)];
        scaled(&text, &units, "150W").map(|value| Power(u128::from(value)))
    }
}

impl TryFrom<String> for Length {
    type Error = String;
    fn try_from(text: String) -> Result<Length, String> {
        scaled(&text, &[("m", 1e3), ("cm", 10.0), ("mm", 1.0)], "3m").map(Length)
    }
}

impl FromStr for Ratio {
    type Err = String;
    fn from_str(text: &str) -> Result<Ratio, String> {
        let number = text.trim().strip_suffix(":1").unwrap_or(text.trim());
        let value = scaled(number, &[("", 1e3)], "3").ok();
        let known = value.filter(|value| (1_000..=1_000_000).contains(value));
        known.map(Ratio).ok_or_else(|| {
            format!("`{text}` is not an oversubscription: expected a ratio from 1:1 to 1000:1, such as 3:1")
        })
    }
}

impl Money {
    /// The amount in units of the currency.
    pub fn value(self) -> f64 {
        self.0 as f64 / 100.0
    }
}

impl Power {
    /// The power in watts.
    pub fn watts(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl Length {
    /// The length in metres.
    pub fn metres(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl Ratio {
    /// 1:1, which is no oversubscription.
    pub const FULL: Ratio = Ratio(1_000);
    /// As a number: 3 for 3:1.
    pub fn value(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} m", self.metres())
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:1", self.value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_units() {
        let price = |text: &str| Price::try_from(text.to_string());
        assert_eq!(price("7000 USD").map(|p| p.money), Ok(Money(700_000)));
        assert_eq!(price("0.5EUR").map(|p| (p.money, p.currency)), Ok((Money(50), "EUR".into())));
        assert!(
            ["7000", "USD", "", "-3 USD", "7.0.0 USD", "7 usd", "1e9 USD"]
                .iter()
                .all(|text| price(text).is_err())
        );
        assert!(price("99999999999999999999 USD").is_err());
        let power = |text: &str| Power::try_from(text.to_string()).map(|power| power.0);
        assert_eq!((power("1.5kW"), power("133 W")), (Ok(1_500_000), Ok(133_000)));
        assert_eq!(power("1000BTU/h"), Ok(293_071));
        assert!(power("3 hp").unwrap_err().contains("BTU/h"));
        let length = |text: &str| Length::try_from(text.to_string()).map(|length| length.0);
        assert_eq!(
            (length("60cm"), length("2.4m"), length("5").is_err()),
            (Ok(600), Ok(2_400), true)
        );
    }

    #[test]
    fn ratios_are_from_one_to_a_thousand() {
        let read = |text: &str| text.parse::<Ratio>().map(|ratio| ratio.0);
        assert_eq!([read("3"), read("1.2:1"), read("7:1")], [Ok(3_000), Ok(1_200), Ok(7_000)]);
        assert!(["0", "0.5", "3:2", "x", "", "2000"].iter().all(|text| read(text).is_err()));
    }
}
