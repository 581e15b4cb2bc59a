//! The standard output and the standard error output.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

/// The first error of the standard output. After it, nothing more is printed there.
static FAULT: OnceLock<io::Error> = OnceLock::new();

/// Prints `text` on the standard output. [`fault`] reports an error at the end of the program, because results must be
/// stored even if they cannot be printed.
pub fn say(text: &str) {
    print(&format!("{}\n", text.trim_end()));
}

/// Prints `text` without a line break at its end.
pub fn print(text: &str) {
    print_bytes(tame(text).as_bytes());
}

/// Prints bytes that are the content of a file.
pub fn print_bytes(bytes: &[u8]) {
    if FAULT.get().is_some() {
        return;
    }
    let mut out = io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    if let Err(error) = written {
        // `FAULT` was empty before, and this thread holds the lock of the output.
        drop(FAULT.set(error));
    }
}

/// The standard output as a writer. After an error, which [`fault`] reports, it accepts no more data.
pub struct Stream;

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        print_bytes(bytes);
        if FAULT.get().is_some() { Err(ErrorKind::BrokenPipe.into()) } else { Ok(bytes.len()) }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Prints a message on the standard error output.
pub fn warn(message: impl Display) {
    // If messages cannot be written, that error cannot be reported either.
    drop(writeln!(io::stderr(), "{}", tame(&message.to_string())));
}

/// Whether the reader has closed the standard output.
pub fn is_closed() -> bool {
    FAULT.get().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// The error of the standard output. A reader that has closed it is not an error.
pub fn fault() -> Option<&'static io::Error> {
    FAULT.get().filter(|_| !is_closed())
}

/// `text` without control characters except line breaks and tabs, because a terminal would interpret them.
fn tame(text: &str) -> String {
    let obeyed = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(obeyed) {
        return text.into();
    }
    text.chars()
        .map(|c| if obeyed(c) { c.escape_default().to_string() } else { c.into() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_nothing_that_it_would_obey() {
        assert_eq!(tame("ok\n\t1 µs"), "ok\n\t1 µs");
        assert_eq!(tame("\u{1b}[2Jgone\r\u{7}"), "\\u{1b}[2Jgone\\r\\u{7}");
        assert_eq!(tame("\u{9b}31m"), "\\u{9b}31m");
    }
}
