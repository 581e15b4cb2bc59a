//! A program of the operator that drives circuit switches. It reads a line for each change of circuits.

use std::io::{self, ErrorKind, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

/// A running program. Dropping it ends the program.
#[derive(Debug)]
pub struct Hook {
    input: ChildStdin,
    child: Child,
    name: String,
}

impl Hook {
    /// Starts a program: its name and its arguments.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &[String]) -> io::Result<Hook> {
        let Some((name, arguments)) = command.split_first() else {
            return Err(io::Error::new(ErrorKind::InvalidInput, "no program is given"));
        };
        let started = Command::new(name).args(arguments).stdin(Stdio::piped()).spawn();
        let mut child = started.map_err(|error| {
            io::Error::new(error.kind(), format!("cannot start the program `{name}`: {error}"))
        })?;
        let input = child.stdin.take().ok_or_else(|| io::Error::other("it has no input"))?;
        // The pipe has room for many lines.
        rustix::io::ioctl_fionbio(&input, true)?;
        Ok(Hook { input, child, name: name.clone() })
    }

    /// Passes a line to the program, without waiting for it. In a term, the line begins with its number.
    ///
    /// # Errors
    /// The program has ended, or it does not read.
    pub fn tell(&mut self, line: &[u8], term: Option<u64>) -> io::Result<()> {
        self.check()?;
        let line = in_term(line, term);
        let name = &self.name;
        self.input.write_all(&[&line[..], b"\n"].concat()).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => {
                io::Error::other(format!("the program `{name}` does not read its input"))
            }
            _ => io::Error::other(format!("the program `{name}` has closed its input: {error}")),
        })
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

    fn hook(command: &[&str]) -> io::Result<Hook> {
        Hook::start(&command.iter().map(|word| word.to_string()).collect::<Vec<_>>())
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
