//! The text form of all quantities: a number and a unit.

/// Why a text is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// It is not a number and one of the units.
    #[error(
        "`{text}` is not a {what}: expected a number and one of {units}, for example \"{example}\""
    )]
    Malformed {
        /// The offending text.
        text: String,
        /// The name of the quantity.
        what: &'static str,
        /// The units, separated by commas.
        units: String,
        /// A text that is right.
        example: &'static str,
    },
    /// It does not fit into 64 bits.
    #[error("`{text}` is too large for a {what}: expected at most {most}")]
    TooLarge {
        /// The offending text.
        text: String,
        /// The name of the quantity.
        what: &'static str,
        /// The largest whole number of the unit in the text, with that unit.
        most: String,
    },
}

/// Parses `<number><unit>`. The result is rounded to a whole number of the base unit.
pub(crate) fn parse_scaled(
    text: &str,
    what: &'static str,
    units: &[(&str, u64)],
    example: &'static str,
) -> Result<u64, UnitError> {
    let malformed = || UnitError::Malformed {
        text: text.to_string(),
        what,
        units: units.iter().map(|(u, _)| *u).collect::<Vec<_>>().join(", "),
        example,
    };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(malformed)?;
    let (number, unit) = (&trimmed[..split], trimmed[split..].trim());
    let scale = units.iter().find(|(u, _)| *u == unit).ok_or_else(malformed)?.1;
    let scaled = match number.parse::<u64>() {
        Ok(whole) => whole.checked_mul(scale),
        Err(_) => {
            let value = number.parse::<f64>().map_err(|_| malformed())? * scale as f64;
            (value < u64::MAX as f64).then(|| value.round() as u64)
        }
    };
    let most = || format!("{}{unit}", u64::MAX / scale);
    scaled.ok_or_else(|| UnitError::TooLarge { text: text.to_string(), what, most: most() })
}

/// The shortest exact text. It uses the largest unit that divides the value.
pub(crate) fn format_scaled(value: u64, units: &[(&str, u64)]) -> String {
    let exact = units.iter().find(|(_, s)| value.is_multiple_of(*s) && (value > 0 || *s == 1));
    let (unit, scale) = exact.or(units.last()).copied().unwrap_or(("", 1));
    format!("{}{unit}", value / scale)
}
