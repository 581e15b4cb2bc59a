//! Archives in the format `newc` of cpio, which Linux unpacks as its first file system.
//!
//! Source: Linux, `Documentation/driver-api/early-userspace/buffer-format.rst`.

use std::io::{self, Read, Write};

/// The start of each entry.
const MAGIC: &[u8; 6] = b"070701";
/// The name of the entry after the last one.
const END: &str = "TRAILER!!!";
/// The number of fields of eight hexadecimal digits after the magic.
const FIELDS: usize = 13;
/// The places of fields: type and permissions, bytes of the content, and bytes of the name.
const MODE: usize = 1;
const SIZE: usize = 6;
const NAME_SIZE: usize = 11;
/// The longest name that is read.
const LONGEST_NAME: u32 = 4096;

/// The content of an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Content {
    /// A folder.
    Folder,
    /// A file. Everybody may execute it; Linux runs no other checks on scripts and programs.
    File(Vec<u8>),
    /// A symbolic link, and its target.
    Link(String),
}

impl Content {
    fn mode(&self) -> u32 {
        match self {
            Content::Folder => 0o040_755,
            Content::File(_) => 0o100_755,
            Content::Link(_) => 0o120_777,
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Content::Folder => &[],
            Content::File(bytes) => bytes,
            Content::Link(target) => target.as_bytes(),
        }
    }

    fn of(mode: u32, bytes: Vec<u8>) -> io::Result<Content> {
        match mode & 0o170_000 {
            0o040_000 => Ok(Content::Folder),
            0o100_000 => Ok(Content::File(bytes)),
            0o120_000 => String::from_utf8(bytes).map(Content::Link).map_err(io::Error::other),
            _ => Err(io::Error::other("an entry is neither a folder, a file nor a link")),
        }
    }
}

/// Writes an archive.
pub struct Writer<W> {
    to: W,
    entries: u32,
}

impl<W: Write> Writer<W> {
    /// An archive without entries.
    pub fn new(to: W) -> Writer<W> {
        Writer { to, entries: 0 }
    }

    /// Adds an entry. The folder of `name`, which has no slash at its start, must be there already.
    ///
    /// # Errors
    /// The content has 4 GiB or more, or it cannot be written.
    pub fn add(&mut self, name: &str, content: &Content) -> io::Result<()> {
        self.entries += 1;
        self.entry(name, content.mode(), content.bytes())
    }

    /// Ends the archive, and returns what it was written to.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.entries = 0;
        self.entry(END, 0, &[])?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn entry(&mut self, name: &str, mode: u32, bytes: &[u8]) -> io::Result<()> {
        let size = |length: usize| u32::try_from(length).map_err(io::Error::other);
        let mut fields = [0; FIELDS];
        // Entries with the same number would be links to one file.
        (fields[0], fields[MODE], fields[4]) = (self.entries, mode, 1);
        (fields[SIZE], fields[NAME_SIZE]) = (size(bytes.len())?, size(name.len() + 1)?);
        self.to.write_all(MAGIC)?;
        for field in fields {
            write!(self.to, "{field:08X}")?;
        }
        self.to.write_all(name.as_bytes())?;
        let header = MAGIC.len() + 8 * FIELDS;
        self.to.write_all(&[0; 4][..1 + gap(header + name.len() + 1)])?;
        self.to.write_all(bytes)?;
        self.to.write_all(&[0; 4][..gap(bytes.len())])
    }
}

/// The number of bytes from `length` to a multiple of four.
fn gap(length: usize) -> usize {
    length.wrapping_neg() % 4
}

/// Reads an archive up to its end, and returns names and contents.
///
/// # Errors
/// It is damaged or incomplete, or it cannot be read.
pub fn read(mut from: impl Read) -> io::Result<Vec<(String, Content)>> {
    let mut entries = Vec::new();
    loop {
        let mut header = [0; MAGIC.len() + 8 * FIELDS];
        from.read_exact(&mut header)?;
        let wrong = || io::Error::other("this is no cpio archive of the format `newc`");
        let text = header.strip_prefix(MAGIC).and_then(|rest| str::from_utf8(rest).ok());
        let text = text.filter(|text| text.is_ascii()).ok_or_else(wrong)?;
        let field =
            |n: usize| u32::from_str_radix(&text[8 * n..8 * n + 8], 16).map_err(|_| wrong());
        let length = field(NAME_SIZE)?;
        if !(1..=LONGEST_NAME).contains(&length) {
            return Err(wrong());
        }
        let mut name = take(&mut from, length, header.len())?;
        name.pop();
        let name = String::from_utf8(name).map_err(io::Error::other)?;
        if name == END {
            return Ok(entries);
        }
        let bytes = take(&mut from, field(SIZE)?, 0)?;
        entries.push((name, Content::of(field(MODE)?, bytes)?));
    }
}

/// Reads `length` bytes, and the gap after them; `before` bytes precede them.
fn take(from: &mut impl Read, length: u32, before: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(length.into()).read_to_end(&mut bytes)?;
    if bytes.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    from.read_exact(&mut [0; 4][..gap(before + bytes.len())])?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::{Command, Stdio};

    fn written(entries: &[(String, Content)]) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new());
        entries.iter().for_each(|(name, content)| writer.add(name, content).unwrap());
        writer.finish().unwrap()
    }

    fn entry() -> impl Strategy<Value = (String, Content)> {
        let content = prop_oneof![
            Just(Content::Folder),
            prop::collection::vec(any::<u8>(), 0..40).prop_map(Content::File),
            "[a-z/]{1,9}".prop_map(Content::Link),
        ];
        ("[a-zA-Z0-9./_-]{1,30}", content)
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(entries in prop::collection::vec(entry(), 0..10)) {
            let archive = written(&entries);
            prop_assert_eq!(archive.len() % 4, 0);
            prop_assert_eq!(&read(&archive[..]).unwrap(), &entries);
            let end = 124;
            for cut in [0, archive.len() / 2, archive.len() - end, archive.len() - 5] {
                prop_assert!(read(&archive[..cut]).is_err(), "incomplete");
            }
        }

        #[test]
        fn random_bytes_cause_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), at in 0usize..110) {
            let _ = read(&bytes[..]);
            let mut archive = written(&[("a".into(), Content::File(vec![1; 9]))]);
            archive[at] ^= bytes.first().copied().unwrap_or(1);
            let _ = read(&archive[..]);
        }
    }

    /// Another program reads the archive, if it is installed.
    #[test]
    fn cpio_reads_it() {
        let folder = std::env::temp_dir().join(format!("slotline-cpio-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let entries = [
            ("d".to_owned(), Content::Folder),
            ("d/file".into(), Content::File(b"hello".into())),
            ("link".into(), Content::Link("d/file".into())),
        ];
        let start = Command::new("cpio")
            .args(["-id", "--quiet"])
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .spawn();
        if let Ok(mut child) = start {
            child.stdin.take().unwrap().write_all(&written(&entries)).unwrap();
            assert!(child.wait().unwrap().success());
            assert_eq!(std::fs::read(folder.join("link")).unwrap(), b"hello");
        } else {
            println!("skipped: no cpio");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
