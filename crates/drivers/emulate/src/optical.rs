//! An emulated optical switch: what comes in at a port leaves by another one, as the latest command says. It is dark while
//! it changes, and what is sent then is lost. It says when the circuits of a command are up.

use crate::isolation;
use crate::racks::Racks;
use serde::Deserialize;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The switch needs this time less than it has to bring circuits up.
const EARLY: Duration = Duration::from_micros(300);
/// A line that ends the thread.
const STOP: &[u8] = b"stop\n";

/// A change of circuits, as the arbiter's program reads it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Change {
    /// The term of the arbiter, if there are two.
    term: Option<u64>,
    switch: usize,
    change: u64,
    in_us: u64,
    circuits: Vec<(usize, usize)>,
}

/// The switch. Dropping it ends its thread.
pub struct OpticalSwitch {
    pipe: File,
    thread: Option<JoinHandle<io::Result<u64>>>,
}

impl OpticalSwitch {
    /// A switch between these racks that reads commands from a new named pipe at `path`, and writes a line to the new file `done` when
    /// it has carried out one. It is dark.
    ///
    /// # Errors
    /// The pipe or the file cannot be made, or `tc` cannot be started.
    pub fn new(path: &Path, done: &Path, racks: &Racks) -> io::Result<OpticalSwitch> {
        let made = Command::new("mkfifo").arg(path).status()?;
        if !made.success() {
            return Err(io::Error::other(format!("cannot make the pipe {}", path.display())));
        }
        // With this end open for writing too, the pipe has no end while nobody else writes.
        let pipe = File::options().read(true).write(true).open(path)?;
        let mut mirrors = Mirrors::start(racks.racks(), File::create(done)?)?;
        mirrors.darken()?;
        let commands = BufReader::new(pipe.try_clone()?);
        let thread = std::thread::spawn(move || {
            isolation::serve_first();
            mirrors.obey(commands)
        });
        Ok(OpticalSwitch { pipe, thread: Some(thread) })
    }

    /// Ends the switch. Returns how often its circuits changed.
    ///
    /// # Errors
    /// It has failed.
    pub fn end(mut self) -> io::Result<u64> {
        self.pipe.write_all(STOP)?;
        let ended = self.thread.take().map(JoinHandle::join);
        ended.map_or(Ok(0), |ended| {
            ended.unwrap_or_else(|_| Err(io::Error::other("its thread failed")))
        })
    }
}

impl Drop for OpticalSwitch {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = self.pipe.write_all(STOP);
            let _ = thread.join();
        }
    }
}

impl Change {
    /// The line that says that its circuits are up.
    fn confirmation(&self) -> String {
        let term = self.term.map_or(String::new(), |term| format!("\"term\":{term},"));
        format!("{{{term}\"switch\":{},\"change\":{}}}\n", self.switch, self.change)
    }
}

/// Refuses changes of earlier terms: an arbiter that another one has replaced no longer changes circuits.
#[derive(Default)]
struct Fence(u64);

impl Fence {
    fn admits(&mut self, change: &Change) -> bool {
        let term = change.term.unwrap_or(0);
        self.0 = self.0.max(term);
        term == self.0
    }
}

/// The way from each port, set by a program `tc` that reads commands.
struct Mirrors {
    racks: usize,
    tc: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// The file for what was carried out.
    done: File,
}

impl Mirrors {
    fn start(racks: usize, done: File) -> io::Result<Mirrors> {
        let mut words = isolation::first_served().chain(["tc", "-force", "-batch", "-"]);
        let mut command = Command::new(words.next().unwrap_or_default());
        let mut tc = command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let pipes = tc.stdin.take().zip(tc.stdout.take());
        let (input, output) = pipes.ok_or_else(|| io::Error::other("tc has no pipes"))?;
        Ok(Mirrors { racks, tc, input, output: BufReader::new(output), done })
    }

    /// Changes circuits as commands say.
    fn obey(&mut self, commands: impl BufRead) -> io::Result<u64> {
        let (mut changes, mut fence) = (0, Fence::default());
        for line in commands.lines() {
            let line = line?;
            if line.as_bytes() == STOP.trim_ascii() {
                break;
            }
            let due = Instant::now();
            let change: Change = serde_json::from_str(&line)?;
            if change.switch != 0 {
                return Err(io::Error::other(format!("there is no switch {}", change.switch)));
            }
            if !fence.admits(&change) {
                continue;
            }
            self.darken()?;
            let due = due + Duration::from_micros(change.in_us).saturating_sub(EARLY);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            self.connect(&change.circuits)?;
            self.wait()?;
            self.done.write_all(change.confirmation().as_bytes())?;
            changes += 1;
        }
        Ok(changes)
    }

    fn darken(&mut self) -> io::Result<()> {
        (0..self.racks).try_for_each(|rack| self.turn(rack, Racks::DARK))
    }
    fn connect(&mut self, circuits: &[(usize, usize)]) -> io::Result<()> {
        circuits.iter().try_for_each(|(from, to)| self.turn(*from, &format!("optical{to}")))
    }
    /// Waits until `tc` has carried out all commands.
    fn wait(&mut self) -> io::Result<()> {
        writeln!(self.input, "qdisc show dev {}", Racks::DARK)?;
        self.output.read_line(&mut String::new()).map(drop)
    }
    /// What comes from a rack leaves by another interface.
    fn turn(&mut self, rack: usize, to: &str) -> io::Result<()> {
        let line = format!(
            "filter replace dev optical{rack} parent ffff: pref 1 handle 800::1 protocol all u32 match u32 0 0 action mirred \
             egress redirect dev {to}\n"
        );
        self.input.write_all(line.as_bytes())
    }
}

impl Drop for Mirrors {
    fn drop(&mut self) {
        let _ = self.tc.kill();
        let _ = self.tc.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_replaced_arbiter_change_nothing() {
        let mut fence = Fence::default();
        let mut admits =
            |term| fence.admits(&Change { term, switch: 0, change: 1, in_us: 0, circuits: vec![] });
        assert_eq!(
            [None, Some(2), Some(2), Some(3), Some(2), None, Some(3)].map(&mut admits),
            [true, true, true, true, false, false, true]
        );
    }

    #[test]
    fn the_line_of_the_arbiter_is_read() {
        let line = r#"{"switch":0,"change":4,"in-us":5000,"circuits":[[0,1],[1,0]]}"#;
        let change: Change = serde_json::from_str(line).unwrap();
        assert_eq!((change.switch, change.in_us), (0, 5_000));
        assert_eq!(change.circuits, [(0, 1), (1, 0)]);
        let in_term = line.replace("{\"switch", "{\"term\":7,\"switch");
        assert_eq!(change.confirmation(), "{\"switch\":0,\"change\":4}\n");
        let change: Change = serde_json::from_str(&in_term).unwrap();
        assert_eq!(change.confirmation(), "{\"term\":7,\"switch\":0,\"change\":4}\n");
        assert!(serde_json::from_str::<Change>(&line.replace("[0,1]", "[0]")).is_err());
    }
}
