//! Flow traces as CSV: `src,dst,bytes,start_s` and optionally `class`.

use super::text::{LineError, whole};
use super::trace::Entry;
use crate::time::Time;

const HEADER: &str = "src,dst,bytes,start_s";

/// Reads a trace; the first line is the header, `start_s` is in seconds.
pub fn parse(text: &str) -> Result<Vec<Entry>, LineError> {
    let mut lines = text.lines().map(str::trim).enumerate().map(|(at, line)| (at + 1, line));
    let header: String = lines.next().unwrap_or_default().1.split_whitespace().collect();
    let classed = header == format!("{HEADER},class");
    if header != HEADER && !classed {
        let message = format!("header `{header}`: expected `{HEADER}` or `{HEADER},class`");
        return Err(LineError { line: 1, message });
    }
    let rows = lines.filter(|(_, line)| !line.is_empty());
    rows.map(|(line, text)| row(text, classed).map_err(|message| LineError { line, message }))
        .collect()
}

fn row(text: &str, classed: bool) -> Result<Entry, String> {
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    let (src, dst, bytes, start, class) = match fields[..] {
        [src, dst, bytes, start] if !classed => (src, dst, bytes, start, None),
        [src, dst, bytes, start, class] if classed => (src, dst, bytes, start, Some(class)),
        _ => {
            return Err(format!(
                "{} fields: expected {}",
                fields.len(),
                if classed { 5 } else { 4 }
            ));
        }
    };
    let class = class.map(|text| whole("class", text)).transpose()?;
    let (src, dst, bytes) = (whole("src", src)?, whole("dst", dst)?, whole("bytes", bytes)?);
    if src == dst || bytes == 0 {
        return Err(format!("{bytes} bytes from host {src} to host {dst}: nothing to send"));
    }
    Ok(Entry { src, dst, bytes, start: seconds(start)?, class })
}

/// Rounded to a picosecond.
fn seconds(text: &str) -> Result<Time, String> {
    match text.parse::<f64>() {
        Ok(s) if (0.0..1e7).contains(&s) => Ok(Time::ps((s * 1e12).round() as u64)),
        _ => Err(format!("start_s `{text}`: expected seconds, 0 to 10000000")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
