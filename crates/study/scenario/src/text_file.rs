//! Text files of users.

use slotline_net::workload::BYTE_ORDER_MARK;
use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::path::Path;

/// Longer texts are refused, because formats that are not read line by line are held in memory with their parsed
/// content.
const LONGEST: u64 = 256 << 20;
/// Bytes read at a time.
const PIECE: u64 = 1 << 20;

/// The text of the file at `path`, without a byte order mark. A file that is not text is refused at its first piece, so
/// that a device without an end is refused as well.
///
/// # Errors
/// The file cannot be read, is not text, or is too long.
pub fn read_text(path: &Path) -> Result<String, Error> {
    let wrong = |why: String| Error::new(ErrorKind::InvalidData, why);
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    loop {
        let before = bytes.len();
        if file.by_ref().take(PIECE).read_to_end(&mut bytes)? == 0 {
            break;
        }
        if bytes[before..].contains(&0) {
            return Err(wrong("it is not text: it has a byte that is zero".into()));
        }
        if bytes.len() as u64 > LONGEST {
            return Err(wrong(format!(
                "it is longer than {LONGEST} bytes, the most of a file that is read as a whole: traces in csv, \
                 hpcc-flows and hpcc-fct are read line by line, whatever their size"
            )));
        }
    }
    let text = String::from_utf8(bytes);
    let text = text.map_err(|error| wrong(format!("it is not text in UTF-8: {error}")))?;
    Ok(text.strip_prefix(BYTE_ORDER_MARK).map(String::from).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_end_is_no_text() {
        let error = read_text(Path::new("/dev/zero")).expect_err("no text").to_string();
        assert!(error.contains("not text"), "{error}");
    }

    #[test]
    fn a_mark_of_byte_order_is_no_part_of_a_text() {
        let path = std::env::temp_dir().join(format!("slotline-bom-{}", std::process::id()));
        std::fs::write(&path, "\u{feff}name = \"x\"").expect("a file");
        assert_eq!(read_text(&path).expect("a text"), "name = \"x\"");
        std::fs::write(&path, [0xff, 0xfe, b'a']).expect("a file");
        assert!(read_text(&path).is_err_and(|error| error.to_string().contains("UTF-8")));
        std::fs::remove_file(path).expect("it is there");
    }
}
