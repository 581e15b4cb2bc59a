//! The text form of all quantities: a number and a unit.

/// Why a text is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a {what}: expected a number and one of {units}, for example \"{example}\""
)]
pub struct UnitError {
    /// The offending text.
    pub text: String,
    what: &'static str,
    units: String,
    example: &'static str,
}

/// Parses `<number><unit>`. The result is rounded to a whole number of the base unit.
pub(crate) fn parse_scaled(
    text: &str,
    what: &'static str,
    units: &[(&str, u64)],
    example: &'static str,
) -> Result<u64, UnitError> {
    let fail = || UnitError {
        text: text.to_string(),
        what,
        units: units.iter().map(|(u, _)| *u).collect::<Vec<_>>().join(", "),
        example,
    };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(fail)?;
    let (number, unit) = (&trimmed[..split], trimmed[split..].trim());
    let scale = units.iter().find(|(u, _)| *u == unit).ok_or_else(fail)?.1;
    match number.parse::<u64>() {
        Ok(whole) => whole.checked_mul(scale).ok_or_else(fail),
        Err(_) => {
            let value = number.parse::<f64>().map_err(|_| fail())? * scale as f64;
            if value < u64::MAX as f64 { Ok(value.round() as u64) } else { Err(fail()) }
        }
    }
}

/// The shortest exact text. It uses the largest unit that divides the value.
pub(crate) fn format_scaled(value: u64, units: &[(&str, u64)]) -> String {
    let exact = units.iter().find(|(_, s)| value.is_multiple_of(*s) && (value > 0 || *s == 1));
    let (unit, scale) = exact.or(units.last()).copied().unwrap_or(("", 1));
    format!("{}{unit}", value / scale)
}
