//! A log of a host's timeslots: those that it accepted, and when its packets left. The logs of all hosts show whether a
//! timeslot was granted twice, and how long hosts waited.
//!
//! ```text
//! host N epoch E   the agent obeys an arbiter: its number, and the epoch of network time
//! g SLOT DST       it accepted a timeslot to host DST
//! w US             the first packet begins to wait, at this time of day in microseconds since 1970
//! s US DST         the first packet of a timeslot to host DST left
//! ```

use crate::running::unique;
use slotline_net::node::Note;
use std::collections::HashMap;
use std::fmt::Arguments;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// The interval at which the log is passed to the operating system.
const WRITES: Duration = Duration::from_millis(200);

/// Writes the log of one host. If the disk is full, the log ends, and the daemon continues.
#[derive(Debug)]
pub struct TimeslotLog {
    out: Option<BufWriter<File>>,
    waits: bool,
    written: Instant,
}

impl TimeslotLog {
    /// Continues a log, or begins one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn open(path: &Path) -> io::Result<TimeslotLog> {
        let file = File::options().append(true).create(true).open(path)?;
        Ok(TimeslotLog { out: Some(BufWriter::new(file)), waits: false, written: Instant::now() })
    }
    /// Notes that the host obeys an arbiter from now on.
    pub fn join(&mut self, host: u32, epoch: u64) {
        self.write(format_args!("host {host} epoch {epoch}\n"));
    }
    /// Adds a note of the host's node.
    pub fn note(&mut self, note: Note) {
        match note {
            Note::Timeslot { dst, slot, .. } => self.write(format_args!("g {slot} {}\n", dst.0)),
            Note::Permitted { dst, .. } => self.write(format_args!("s {} {}\n", now_us(), dst.0)),
            _ => {}
        }
    }
    /// Notes whether packets wait, after each step of the node.
    pub fn set_waiting(&mut self, waits: bool) {
        if waits && !self.waits {
            self.write(format_args!("w {}\n", now_us()));
        }
        self.waits = waits;
        if self.written.elapsed() > WRITES {
            self.flush();
        }
    }
    /// Passes all lines to the operating system.
    pub fn flush(&mut self) {
        self.written = Instant::now();
        if self.out.as_mut().is_some_and(|out| out.flush().is_err()) {
            self.out = None;
        }
    }
    fn write(&mut self, line: Arguments<'_>) {
        if self.out.as_mut().is_some_and(|out| out.write_fmt(line).is_err()) {
            self.out = None;
        }
    }
}

fn now_us() -> u64 {
    unique() / 1_000
}

/// An event of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Event {
    Grant { slot: u64, dst: u32 },
    Waits { us: u64 },
    Sent { us: u64, dst: u32 },
}

/// The events between two lines `host`.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Turn {
    host: u32,
    epoch: u64,
    events: Vec<Event>,
}

/// The logs of several hosts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timeslots(Vec<Turn>);

/// The timeslots that hosts accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Accepted {
    /// Their number.
    pub timeslots: u64,
    /// Those among them whose source, or whose destination, had the same timeslot already. In a network whose hosts have
    /// one rate there are none.
    pub twice: u64,
}

/// An interval of time, in microseconds since 1970.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// Its begin.
    pub from: u64,
    /// Its end.
    pub until: u64,
}

impl Timeslots {
    /// Adds the log of a host. A last line that is incomplete does not count, because the agent may have been killed.
    ///
    /// # Errors
    /// The first line that is not of a log.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for (at, line) in whole.lines().enumerate() {
            self.line(line)
                .ok_or_else(|| format!("line {}: `{line}` is not of a log of timeslots", at + 1))?;
        }
        Ok(())
    }
    fn line(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split(' ').collect();
        let event = match words[..] {
            ["host", host, "epoch", epoch] => {
                let (host, epoch) = (host.parse().ok()?, epoch.parse().ok()?);
                self.0.push(Turn { host, epoch, events: Vec::new() });
                return Some(());
            }
            ["g", slot, dst] => Event::Grant { slot: slot.parse().ok()?, dst: dst.parse().ok()? },
            ["w", us] => Event::Waits { us: us.parse().ok()? },
            ["s", us, dst] => Event::Sent { us: us.parse().ok()?, dst: dst.parse().ok()? },
            _ => return None,
        };
        self.0.last_mut().map(|turn| turn.events.push(event))
    }

    /// Counts the accepted timeslots, and those that were granted twice.
    pub fn accepted(&self) -> Accepted {
        let (mut accepted, mut seen) = (Accepted::default(), HashMap::new());
        for Turn { host, epoch, events } in &self.0 {
            for event in events {
                let Event::Grant { slot, dst } = *event else { continue };
                accepted.timeslots += 1;
                // Bit 0: the host sends in this timeslot. Bit 1: it receives.
                let mut take = |host: u32, bit: u8| {
                    let bits: &mut u8 = seen.entry((*epoch, slot, host)).or_default();
                    let taken = *bits & bit != 0;
                    *bits |= bit;
                    taken
                };
                let twice = [take(*host, 1), take(dst, 2)];
                accepted.twice += u64::from(twice.contains(&true));
            }
        }
        accepted
    }

    /// The times for which each host with waiting packets sent none.
    pub fn waits(&self) -> impl Iterator<Item = Wait> {
        let of = |turn: &Turn| {
            let mut since = None;
            let waits = turn.events.iter().filter_map(|event| match *event {
                Event::Waits { us } => {
                    since = Some(us);
                    None
                }
                Event::Sent { us, .. } => since.replace(us).map(|from| Wait { from, until: us }),
                Event::Grant { .. } => None,
            });
            waits.collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of)
    }

    /// The times between two successive packets to `dst`, of any hosts, that were the first of their timeslots.
    pub fn gaps(&self, dst: u32) -> Vec<Wait> {
        let sent = |event: &Event| match *event {
            Event::Sent { us, dst: to } if to == dst => Some(us),
            _ => None,
        };
        let mut times: Vec<u64> =
            self.0.iter().flat_map(|turn| turn.events.iter().filter_map(sent)).collect();
        times.sort_unstable();
        times.windows(2).map(|pair| Wait { from: pair[0], until: pair[1] }).collect()
    }
}

impl Wait {
    /// Its length in milliseconds.
    pub fn ms(self) -> f64 {
        self.until.saturating_sub(self.from) as f64 / 1e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logs(texts: &[&str]) -> Timeslots {
        let mut logs = Timeslots::default();
        texts.iter().for_each(|text| logs.add(text).unwrap());
        logs
    }

    #[test]
    fn a_timeslot_that_was_granted_twice_is_found() {
        let accepted = |texts: &[&str]| {
            let Accepted { timeslots, twice } = logs(texts).accepted();
            (timeslots, twice)
        };
        let first = "host 1 epoch 7\ng 10 0\ng 11 0\n";
        assert_eq!(accepted(&[first, "host 2 epoch 7\ng 12 0\ng 10 1\n"]), (4, 0));
        assert_eq!(accepted(&[first, "host 2 epoch 7\ng 11 0\n"]), (3, 1), "one destination");
        assert_eq!(accepted(&[first, "host 1 epoch 7\ng 11 3\n"]), (3, 1), "one source");
        assert_eq!(accepted(&[first, "host 2 epoch 8\ng 11 0\n"]), (3, 0), "another epoch");
    }

    #[test]
    fn waits_begin_when_the_first_packet_waits() {
        let log = logs(&["host 1 epoch 7\nw 100\ns 300 0\ns 350 2\nw 900\ns 1000 0\nw 1"]);
        let waits: Vec<_> = log.waits().map(|wait| (wait.from, wait.until)).collect();
        assert_eq!(waits, [(100, 300), (300, 350), (900, 1000)]);
        assert_eq!(log.gaps(0), [Wait { from: 300, until: 1000 }]);
        assert_eq!(log.gaps(0)[0].ms(), 0.7);
    }

    #[test]
    fn other_files_are_refused() {
        let error = Timeslots::default().add("g 1 2\n").unwrap_err();
        assert_eq!(error, "line 1: `g 1 2` is not of a log of timeslots");
        assert!(Timeslots::default().add("host 1 epoch 2\nx\n").is_err());
    }
}
