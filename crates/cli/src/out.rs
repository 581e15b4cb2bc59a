//! The standard output and the standard error output.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

/// The first error of the standard output. Nothing is printed there from then on.
static FAULT: OnceLock<io::Error> = OnceLock::new();

/// Prints `text` on the standard output. An error is reported by [`fault`] at the end of the program, because work
/// must be stored whether or not it can be shown.
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
        // It was empty a moment ago, and this thread has the lock of the output.
        drop(FAULT.set(error));
    }
}

/// The standard output, for what is written piece by piece. After an error, which [`fault`] reports, it takes no more.
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
    // If messages cannot be written, the error cannot be reported either.
    drop(writeln!(io::stderr(), "{}", tame(&message.to_string())));
}

/// Whether nobody reads the standard output any more.
pub fn is_closed() -> bool {
    FAULT.get().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// The error of the standard output. A reader that went away is none.
pub fn fault() -> Option<&'static io::Error> {
    FAULT.get().filter(|_| !is_closed())
}

/// `text` without control characters, but for line breaks and tabulators: a terminal would obey them.
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
