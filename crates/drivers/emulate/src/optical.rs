//! An emulated optical switch: what comes in at a port leaves by another one, as the latest command says. It is dark while
//! it changes, and what is sent then is lost.

use crate::isolation;
use crate::racks::Racks;
use serde::Deserialize;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
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
    #[serde(default)]
    term: u64,
    switch: usize,
    in_us: u64,
    circuits: Vec<(usize, usize)>,
}

/// The switch. Dropping it ends its thread.
pub struct OpticalSwitch {
    pipe: File,
    thread: Option<JoinHandle<io::Result<u64>>>,
}

impl OpticalSwitch {
    /// A switch between these racks that reads commands from a new named pipe at `path`. It is dark.
    ///
    /// # Errors
    /// The pipe cannot be made, or `tc` cannot be started.
    pub fn new(path: &Path, racks: &Racks) -> io::Result<OpticalSwitch> {
        let made = Command::new("mkfifo").arg(path).status()?;
        if !made.success() {
            return Err(io::Error::other(format!("cannot make the pipe {}", path.display())));
        }
        // With this end open for writing too, the pipe has no end while nobody else writes.
        let pipe = File::options().read(true).write(true).open(path)?;
        let mut mirrors = Mirrors::start(racks.racks())?;
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

/// Refuses changes of earlier terms: an arbiter that another one has replaced no longer changes circuits.
#[derive(Default)]
struct Fence(u64);

impl Fence {
    fn admits(&mut self, change: &Change) -> bool {
        self.0 = self.0.max(change.term);
        change.term == self.0
    }
}

/// The way from each port, set by a program `tc` that reads commands.
struct Mirrors {
    racks: usize,
    tc: Child,
    input: ChildStdin,
}

impl Mirrors {
    fn start(racks: usize) -> io::Result<Mirrors> {
        let mut words = isolation::first_served().chain(["tc", "-force", "-batch", "-"]);
        let mut command = Command::new(words.next().unwrap_or_default());
        let mut tc = command.args(words).stdin(Stdio::piped()).spawn()?;
        let input = tc.stdin.take().ok_or_else(|| io::Error::other("tc has no input"))?;
        Ok(Mirrors { racks, tc, input })
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
            |term| fence.admits(&Change { term, switch: 0, in_us: 0, circuits: vec![] });
        assert_eq!(
            [0, 2, 2, 3, 2, 0, 3].map(&mut admits),
            [true, true, true, true, false, false, true]
        );
    }

    #[test]
    fn the_line_of_the_arbiter_is_read() {
        let line = r#"{"switch":0,"in-us":5000,"circuits":[[0,1],[1,0]]}"#;
        let change: Change = serde_json::from_str(line).unwrap();
        assert_eq!((change.switch, change.in_us), (0, 5_000));
        assert_eq!(change.circuits, [(0, 1), (1, 0)]);
        let in_term = line.replace("{\"switch", "{\"term\":7,\"switch");
        assert_eq!((change.term, serde_json::from_str::<Change>(&in_term).unwrap().term), (0, 7));
        assert!(serde_json::from_str::<Change>(&line.replace("[0,1]", "[0]")).is_err());
    }
}
