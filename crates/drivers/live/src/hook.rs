//! A program of the operator that drives circuit switches. It reads a line for each change of circuits, and may write one when
//! the circuits are up.

use crate::config::CircuitOptions;
use serde::Deserialize;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// How often the output of a program is read while it has to confirm a change.
const READS: Duration = Duration::from_millis(1);
/// The longest line that a program writes.
const LONGEST: usize = 4_096;

/// A running program. Dropping it ends the program.
#[derive(Debug)]
pub struct Hook {
    input: ChildStdin,
    /// Its output, if it confirms changes, and what has been read of the next line.
    output: Option<ChildStdout>,
    rest: Vec<u8>,
    confirmed: VecDeque<Confirmation>,
    /// The latest change that it has to confirm.
    waits: Option<u64>,
    child: Child,
    name: String,
}

/// The circuits of a change are up. A line for a change has the same members, and others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
pub struct Confirmation {
    /// The term of the arbiter that has told the change, if arbiters are elected.
    pub term: Option<u64>,
    /// The circuit switch.
    pub switch: u32,
    /// The number of the change.
    pub change: u64,
}

impl Hook {
    /// Starts a program.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(options: &CircuitOptions) -> io::Result<Hook> {
        let Some((name, arguments)) = options.command.split_first() else {
            return Err(io::Error::new(ErrorKind::InvalidInput, "no program is given"));
        };
        let output = if options.confirms { Stdio::piped() } else { Stdio::inherit() };
        let started =
            Command::new(name).args(arguments).stdin(Stdio::piped()).stdout(output).spawn();
        let mut child = started.map_err(|error| {
            io::Error::new(error.kind(), format!("cannot start the program `{name}`: {error}"))
        })?;
        let input = child.stdin.take().ok_or_else(|| io::Error::other("it has no input"))?;
        // The pipe has room for many lines.
        rustix::io::ioctl_fionbio(&input, true)?;
        let output = child.stdout.take();
        output.iter().try_for_each(|output| rustix::io::ioctl_fionbio(output, true))?;
        let (rest, confirmed, name) = (Vec::new(), VecDeque::new(), name.clone());
        Ok(Hook { input, output, rest, confirmed, waits: None, child, name })
    }

    /// Passes a line to the program, without waiting for it. In a term, the line begins with its number.
    ///
    /// # Errors
    /// The program has ended, or it does not read.
    pub fn tell(&mut self, line: &[u8], term: Option<u64>) -> io::Result<()> {
        self.check()?;
        let line = in_term(line, term);
        if let Ok(change) = serde_json::from_slice::<Confirmation>(&line) {
            match self.output {
                Some(_) => self.waits = Some(change.change),
                None => self.confirmed.push_back(change),
            }
        }
        let name = &self.name;
        self.input.write_all(&[&line[..], b"\n"].concat()).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => {
                io::Error::other(format!("the program `{name}` does not read its input"))
            }
            _ => io::Error::other(format!("the program `{name}` has closed its input: {error}")),
        })
    }

    /// The next change that is done. A program that does not confirm changes is taken to have done them at once.
    ///
    /// # Errors
    /// The program has written something else.
    pub fn confirmation(&mut self) -> io::Result<Option<Confirmation>> {
        self.read()?;
        let next = self.confirmed.pop_front();
        self.waits.take_if(|waits| next.is_some_and(|next| next.change == *waits));
        Ok(next)
    }

    /// The time until [`Hook::confirmation`] may have something new.
    pub fn pause(&self) -> Duration {
        let idle = self.confirmed.is_empty() && self.waits.is_none();
        if idle { Duration::MAX } else { READS }
    }

    fn read(&mut self) -> io::Result<()> {
        let Some(output) = &mut self.output else { return Ok(()) };
        let mut bytes = [0; 512];
        loop {
            match output.read(&mut bytes) {
                Ok(0) => break,
                Ok(count) => self.rest.extend(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let read =
                serde_json::from_slice(&line).map_err(|error| self.refusal(&line, &error))?;
            self.confirmed.push_back(read);
        }
        match self.rest.len() {
            0..LONGEST => Ok(()),
            _ => Err(self.refusal(&self.rest[..80], &"the line has no end")),
        }
    }

    fn refusal(&self, line: &[u8], why: &dyn std::fmt::Display) -> io::Error {
        io::Error::other(format!(
            "the program `{}` has written `{}` ({why}): with circuits.confirms it writes a line such as \
             {{\"switch\":0,\"change\":7}} when the circuits of a change are up, with the \"term\" of the change if that has one, \
             and nothing else",
            self.name,
            String::from_utf8_lossy(line).trim_end()
        ))
    }

    /// Checks that the program runs.
    ///
    /// # Errors
    /// It has ended.
    pub fn check(&mut self) -> io::Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => {
                Err(io::Error::other(format!("the program `{}` has ended: {status}", self.name)))
            }
        }
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A JSON object with a term as its first member.
fn in_term(line: &[u8], term: Option<u64>) -> Vec<u8> {
    match (term, line.strip_prefix(b"{")) {
        (Some(term), Some(rest)) => [format!("{{\"term\":{term},").as_bytes(), rest].concat(),
        _ => line.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn options(command: &[&str], confirms: bool) -> CircuitOptions {
        let command = command.iter().map(|word| word.to_string()).collect();
        CircuitOptions { command, confirms, ..CircuitOptions::default() }
    }
    fn hook(command: &[&str]) -> io::Result<Hook> {
        Hook::start(&options(command, false))
    }
    /// What a program confirms, or its error, within five seconds.
    fn confirmed(hook: &mut Hook) -> Option<Result<Confirmation, String>> {
        (0..5_000).find_map(|_| {
            std::thread::sleep(Duration::from_millis(1));
            hook.confirmation().map_err(|error| error.to_string()).transpose()
        })
    }
    /// The first error within five seconds in which the program is told lines.
    fn error(hook: &mut Hook) -> Option<String> {
        (0..5_000).find_map(|_| {
            std::thread::sleep(Duration::from_millis(1));
            hook.tell(&[b'x'; 4_000], None).err().map(|error| error.to_string())
        })
    }

    #[test]
    fn lines_carry_the_term() {
        assert_eq!(in_term(b"{\"switch\":0}", Some(7)), b"{\"term\":7,\"switch\":0}");
        assert_eq!(in_term(b"{\"switch\":0}", None), b"{\"switch\":0}");
    }

    #[test]
    fn changes_are_confirmed() {
        const LINE: &[u8] = b"{\"switch\":1,\"change\":3,\"in-us\":5000,\"circuits\":[[0,1]]}";
        let done = |term| Some(Confirmation { term, switch: 1, change: 3 });
        let mut silent = hook(&["sleep", "60"]).unwrap();
        assert_eq!((silent.confirmation().unwrap(), silent.pause()), (None, Duration::MAX));
        silent.tell(LINE, Some(5)).unwrap();
        assert_eq!(silent.pause(), READS);
        assert_eq!(silent.confirmation().unwrap(), done(Some(5)));
        // It answers each line with the same line.
        let mut honest = Hook::start(&options(&["cat"], true)).unwrap();
        honest.tell(LINE, None).unwrap();
        assert_eq!(honest.pause(), READS);
        assert_eq!(confirmed(&mut honest).unwrap().ok(), done(None));
        assert_eq!(honest.pause(), Duration::MAX);
        let mut wrong = Hook::start(&options(&["sh", "-c", "echo ready; read end"], true)).unwrap();
        let error = confirmed(&mut wrong).unwrap().unwrap_err();
        assert!(error.contains("`sh` has written `ready`"), "{error}");
    }

    #[test]
    fn the_program_reads_lines() {
        let file = std::env::temp_dir().join(format!("slotline-hook-{}", std::process::id()));
        let path = file.display().to_string();
        let mut hook =
            hook(&["sh", "-c", "read one; read two; echo $two $one > $0; read end", &path])
                .unwrap();
        hook.tell(b"1", None).unwrap();
        hook.tell(b"2", None).unwrap();
        let read = || std::fs::read_to_string(&file).unwrap_or_default();
        let found = (0..5_000).any(|_| {
            std::thread::sleep(Duration::from_millis(1));
            read() == "2 1\n"
        });
        assert!(found, "{}", read());
        drop(hook);
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn a_program_that_ends_or_does_not_read_is_an_error() {
        let ended = error(&mut hook(&["false"]).unwrap()).unwrap();
        assert!(ended.contains("`false` has ended"), "{ended}");
        let silent = error(&mut hook(&["sleep", "60"]).unwrap()).unwrap();
        assert!(silent.contains("does not read"), "{silent}");
        let missing = hook(&["/no/such/program"]).unwrap_err().to_string();
        assert!(missing.contains("/no/such/program"), "{missing}");
        assert!(hook(&[]).is_err());
    }
}
