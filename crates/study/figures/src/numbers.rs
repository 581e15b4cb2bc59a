//! Numbers for people, as the report page writes them: a suitable multiple of the unit, and only significant digits.

use slotline_report::plot::Measure;

type Multiple = (f64, &'static str);

/// The multiples of a unit, largest first.
fn multiples(unit: Measure) -> &'static [Multiple] {
    match unit {
        Measure::Seconds => &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"), (1e-12, "ps")],
        Measure::BitsPerSecond => {
            &[(1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "Kbit/s"), (1.0, "bit/s")]
        }
        Measure::Bytes => &[(1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B")],
        Measure::Times | Measure::Number => &[(1.0, "")],
        Measure::Share => &[(0.01, "%")],
    }
}

/// The largest multiple that is not above `magnitude`, with its symbol.
pub fn multiple(unit: Measure, magnitude: f64) -> Multiple {
    let all = multiples(unit);
    let size = magnitude.abs() * (1.0 + 1e-9);
    let fits = |(factor, _): &&Multiple| if size == 0.0 { *factor == 1.0 } else { *factor <= size };
    let smallest = if size == 0.0 { all[0] } else { all[all.len() - 1] };
    all.iter().find(fits).copied().unwrap_or(smallest)
}

/// At most `digits` significant digits, without trailing zeros and without an exponent.
pub fn significant(value: f64, digits: i32) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let decimals = (digits - 1 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => grouped(&text),
    }
}

/// Separates thousands if there are more than four digits before the point.
pub fn grouped(text: &str) -> String {
    let (whole, rest) = text.find('.').map_or((text, ""), |at| text.split_at(at));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    if digits.len() <= 4 {
        return text.to_string();
    }
    let first = (digits.len() - 1) % 3 + 1;
    let groups = digits.as_bytes()[first..].chunks(3).map(String::from_utf8_lossy);
    let groups = std::iter::once(digits[..first].into()).chain(groups).collect::<Vec<_>>();
    format!("{sign}{}{rest}", groups.join(","))
}

/// `value` with its unit, as `12.34 ms`.
pub fn quantity(unit: Measure, value: f64, digits: i32) -> String {
    let (factor, symbol) = multiple(unit, value);
    let text = significant(value / factor, digits);
    if symbol.is_empty() { text } else { format!("{text}\u{a0}{symbol}") }
}

/// `value` beside a bar.
pub fn shown(unit: Measure, value: f64) -> String {
    match unit {
        Measure::Share => {
            format!("{}\u{a0}%", significant(value * 100.0, if value > 0.99 { 6 } else { 4 }))
        }
        Measure::Times => format!("{}×", significant(value, 4)),
        _ => quantity(unit, value, 4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_on_the_page() {
        assert_eq!(quantity(Measure::Seconds, 0.0012344, 4), "1.234\u{a0}ms");
        assert_eq!(quantity(Measure::Bytes, 0.0, 4), "0\u{a0}B");
        assert_eq!(quantity(Measure::BitsPerSecond, 10e9, 4), "10\u{a0}Gbit/s");
        assert_eq!(significant(1234567.0, 3), "1,234,567");
        assert_eq!(grouped("-12345.6789"), "-12,345.6789");
        assert_eq!(grouped("0.0005"), "0.0005");
        assert_eq!(shown(Measure::Share, 0.5), "50\u{a0}%");
        assert_eq!(shown(Measure::Times, 1.5), "1.5×");
    }
}
