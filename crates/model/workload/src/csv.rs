//! Flow traces as CSV: `src,dst,bytes,start_s` and optionally `class`.

use super::rows::{Entry, entry, field};
use super::{decimal, rows};
use slotline_base::time::Time;

/// The header of a trace without classes.
pub const HEADER: &str = "src,dst,bytes,start_s";

/// Whether the trace whose first line is `header` has classes.
pub(super) fn classed(header: &[u8]) -> Result<bool, String> {
    let header: String = String::from_utf8_lossy(header).split_whitespace().collect();
    match header.strip_prefix(HEADER) {
        Some("") => Ok(false),
        Some(",class") => Ok(true),
        _ => Err(format!(
            "header `{}`: expected `{HEADER}` or `{HEADER},class`; logs with addresses are read as \"flow-log\"",
            rows::shown(header.as_bytes())
        )),
    }
}

/// A line below the header.
pub(super) fn row(line: &[u8], classed: bool) -> Result<Entry, String> {
    let mut fields = [&b""[..]; 5];
    let expected = if classed { 5 } else { 4 };
    let (mut count, mut begin) = (0, 0);
    for end in 0..=line.len() {
        if line.get(end).is_some_and(|byte| *byte != b',') {
            continue;
        }
        if let Some(place) = fields.get_mut(count) {
            *place = line[begin..end].trim_ascii();
        }
        (count, begin) = (count + 1, end + 1);
    }
    if count != expected {
        return Err(format!("{count} fields: expected {expected}"));
    }
    let [src, dst, bytes, start, class] = fields;
    let class = if classed { Some(field("class", class)?) } else { None };
    let (src, dst) = (field("src", src)?, field("dst", dst)?);
    Ok(Entry { class, ..entry(src, dst, field("bytes", bytes)?, seconds("start_s", start)?)? })
}

/// A time in seconds, rounded to a picosecond.
pub(super) fn seconds(what: &str, text: &[u8]) -> Result<Time, String> {
    match decimal::scaled(text, 12) {
        Some(ps) if ps < Time::s(10_000_000).as_ps() => Ok(Time::ps(ps)),
        _ => Err(format!("{what} `{}`: expected seconds, 0 to 10000000", rows::shown(text))),
    }
}

/// Writes `entry` as a line of a trace, with its class if `classed`.
pub fn write(entry: &Entry, classed: bool, out: &mut Vec<u8>) {
    let mut put = |value: u64, end: u8| {
        push(value, out);
        out.push(end);
    };
    put(entry.src.into(), b',');
    put(entry.dst.into(), b',');
    put(entry.bytes, b',');
    const SECOND: u64 = Time::s(1).as_ps();
    put(entry.start.as_ps() / SECOND, b'.');
    let fraction = out.len();
    push(SECOND + entry.start.as_ps() % SECOND, out);
    // The second was added only to write the leading zeros of the fraction.
    out.remove(fraction);
    if classed {
        out.push(b',');
        push(entry.class.unwrap_or(0).into(), out);
    }
    out.push(b'\n');
}

/// Appends `value` in decimal digits.
fn push(mut value: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::super::rows::{RowFormat, read};
    use super::*;
    use crate::text::LineError;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Vec<Entry>, LineError> {
        read(RowFormat::Csv, false, text.as_bytes()).map(|(entries, _)| entries)
    }

    #[test]
    fn rows_are_read_as_written() {
        let entries =
            parse("src, dst, bytes, start_s, class\n0,1,1500,1e-6,3\n\n2, 0, 7, 0.25, 0\r\n")
                .unwrap();
        let entry =
            |src, dst, bytes, start, class| Entry { src, dst, bytes, start, class: Some(class) };
        assert_eq!(entries, [entry(0, 1, 1500, Time::us(1), 3), entry(2, 0, 7, Time::ms(250), 0)]);
        assert_eq!(parse("src,dst,bytes,start_s\n0,1,9,0\n").unwrap()[0].class, None);
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line, why) in [
            ("", 1, "expected `src,dst,bytes,start_s`"),
            ("a,b\n", 1, "header `a,b`"),
            ("src,dst,bytes,start_s\n0,1,9\n", 2, "3 fields: expected 4"),
            ("src,dst,bytes,start_s\n\n0,1,9,0,1\n", 3, "5 fields: expected 4"),
            ("src,dst,bytes,start_s\n0,x,9,0\n", 2, "dst `x`"),
            ("src,dst,bytes,start_s\n0,1,-9,0\n", 2, "bytes `-9`"),
            ("src,dst,bytes,start_s\n0,1,0,0\n", 2, "nothing to send"),
            ("src,dst,bytes,start_s\n1,1,5,0\n", 2, "nothing to send"),
            ("src,dst,bytes,start_s\n0,1,9,-1\n", 2, "start_s `-1`"),
            ("src,dst,bytes,start_s\n0,1,9,inf\n", 2, "start_s `inf`"),
            ("src,dst,bytes,start_s,class\n0,1,9,0,300\n", 2, "class `300`"),
        ] {
            let error = parse(text).expect_err(text);
            assert_eq!(error.line, line, "{text:?}: {error}");
            assert!(error.message.contains(why), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            src in any::<u32>(), hop in 1u32.., bytes in 1u64.., ps in 0u64..10_000_000_000_000_000_000,
            class in prop::option::of(0u8..8),
        ) {
            let entry = Entry { src, dst: src.wrapping_add(hop), bytes, start: Time::ps(ps), class };
            let header = if class.is_some() { format!("{HEADER},class\n") } else { format!("{HEADER}\n") };
            let mut text = header.into_bytes();
            write(&entry, class.is_some(), &mut text);
            prop_assert_eq!(parse(std::str::from_utf8(&text).unwrap()), Ok(vec![entry]));
        }

        #[test]
        fn any_text_is_read_or_refused(bytes in any::<Vec<u8>>(), head in any::<bool>()) {
            let text = String::from_utf8_lossy(&bytes);
            let _ = parse(&if head { format!("{HEADER}\n{text}") } else { text.into_owned() });
        }

        #[test]
        fn a_damaged_file_is_refused_or_sound(at in 0usize..60, byte in any::<u8>()) {
            let mut bytes = b"src,dst,bytes,start_s\n0,1,1500,0.001\n3,2,99,1e-3\n5,6,1,0\n".to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            if let Ok(entries) = parse(&String::from_utf8_lossy(&bytes)) {
                prop_assert!(entries.iter().all(|e| e.src != e.dst && e.bytes > 0));
            }
        }
    }
}
