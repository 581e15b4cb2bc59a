//! Faults of the clock of an agent while traffic runs, and what followed from them.

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;
use slotline_emulate::faulty_clock::{Clock, FaultyClock};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// By how much the clock is slow, in parts per million.
const SLOW: u16 = 100;
/// The steps of clocks in milliseconds. The time of day is right again after the first two.
const STEPS: [(Clock, i32); 4] = [
    (Clock::Realtime, 1_000),
    (Clock::Realtime, -1_000),
    (Clock::Monotonic, 1_000),
    (Clock::Monotonic, -1_000),
];
/// The time until the first step, and from a step to the next one.
const FIRST: Duration = Duration::from_millis(600);
const BETWEEN: Duration = Duration::from_millis(1_400);
/// The seconds of traffic for all steps.
pub const SECONDS: u16 = 7;
/// An agent knows the right time again after this time: it measures it every 250 ms.
const SETTLED: Duration = Duration::from_millis(400);
/// The largest error of the network's time with which agents obey, and the length of a timeslot.
const GUARD_US: i64 = 1_000;
const SLOT_US: i64 = 500;

/// The clock of an agent, which is slow and steps.
pub struct Faulty {
    clock: FaultyClock,
    /// The time of day from which it is slow, in microseconds since 1970.
    begins: i64,
}

/// A step, and how agents were before and after it.
pub struct Observed {
    clock: Clock,
    ms: i32,
    /// When it happened, and when the next one followed, in microseconds since 1970.
    at: [i64; 2],
    before: (Value, Vec<Value>),
    after: (Value, Vec<Value>),
}

/// What followed from a step.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Consequence {
    /// The clock, and how far it was put forward or back.
    pub step: String,
    /// How often the agent noticed a step of its clock.
    pub noticed: u64,
    /// How often it began to obey the arbiter again.
    pub joined: u64,
    /// The state of its clock at the end.
    pub clock: String,
    /// Whether network time came from the system's clock at the end.
    pub disciplined: bool,
    /// How often other agents began to obey again, lost the time, or noticed a step or a silence.
    pub others: u64,
    /// Timeslots that the host used once the agent had time to measure network time again.
    pub used: u64,
    /// Those of them whose packets left further from the timeslot than the guard.
    pub misplaced: u64,
}

impl Faulty {
    /// A clock that is slow. Its files are in `folder`.
    pub fn new(folder: &Path) -> Result<Faulty> {
        let clock = FaultyClock::slow_by(SLOW, folder)?;
        Ok(Faulty { clock, begins: now_us() })
    }
    /// The environment of the agent.
    pub fn variables(&self) -> Vec<(String, OsString)> {
        self.clock.variables()
    }
    /// Makes all steps. `agents` returns the status of the agent and those of others.
    pub fn steps(
        &mut self,
        agents: impl Fn() -> Result<(Value, Vec<Value>)>,
    ) -> Result<Vec<Observed>> {
        std::thread::sleep(FIRST);
        let mut latest = agents()?;
        let observe = |(clock, ms): (Clock, i32)| {
            let from = now_us();
            self.clock.step(clock, ms)?;
            std::thread::sleep(BETWEEN);
            let (until, after) = (now_us(), agents()?);
            let before = std::mem::replace(&mut latest, after.clone());
            Ok(Observed { clock, ms, at: [from, until], before, after })
        };
        STEPS.into_iter().map(observe).collect()
    }
    /// Compares steps with the log of the host's timeslots.
    pub fn consequences(&self, steps: Vec<Observed>, log: &str) -> Result<Vec<Consequence>> {
        let mut ahead = 0;
        let of = |step: Observed| {
            ahead += if step.clock == Clock::Realtime { i64::from(step.ms) * 1_000 } else { 0 };
            // The log has the time of day that the agent saw.
            let right =
                |us: i64| us - ahead + (us - ahead - self.begins) * i64::from(SLOW) / 1_000_000;
            let [from, until] = step.at;
            let settled = from + SETTLED.as_micros() as i64;
            let distances = distances(log, right)?;
            let within = distances.into_iter().filter(|(us, _)| (settled..until).contains(us));
            Ok(step.consequence(&within.map(|(_, distance)| distance).collect::<Vec<_>>()))
        };
        steps.into_iter().map(of).collect()
    }
}

impl Observed {
    fn consequence(&self, distances: &[i64]) -> Consequence {
        let grown = |key: &str| count(&self.after.0, key) - count(&self.before.0, key);
        let disturbed = |(before, after): (&Value, &Value)| {
            let keys = ["joined", "silences", "clock-losses", "clock-steps"];
            keys.map(|key| count(after, key) - count(before, key)).iter().sum::<u64>()
        };
        let name = match self.clock {
            Clock::Realtime => "time of day",
            Clock::Monotonic => "monotonic clock",
        };
        let misplaced = distances.iter().filter(|distance| **distance > GUARD_US).count();
        Consequence {
            step: format!("{name} {:+} s", self.ms / 1_000),
            noticed: grown("clock-steps"),
            joined: grown("joined"),
            clock: self.after.0["clock"].as_str().unwrap_or_default().into(),
            disciplined: self.after.0["clock-disciplined"] == true,
            others: self.before.1.iter().zip(&self.after.1).map(disturbed).sum(),
            used: distances.len() as u64,
            misplaced: misplaced as u64,
        }
    }
}

fn count(status: &Value, key: &str) -> u64 {
    status[key].as_u64().unwrap_or_default()
}

fn now_us() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as i64
}

/// When each timeslot of a log was used, and how far that was from the nearest timeslot to the same host, in microseconds. `right`
/// translates times of the log. Network time is zero at the epoch.
fn distances(log: &str, right: impl Fn(i64) -> i64) -> Result<Vec<(i64, i64)>> {
    let (mut epoch, mut slots, mut used) = (0, BTreeMap::<&str, BTreeSet<i64>>::new(), Vec::new());
    let whole = log.rfind('\n').map_or("", |end| &log[..end]);
    for line in whole.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| -> Result<i64> {
            words.get(at).and_then(|word| word.parse().ok()).with_context(|| format!("`{line}`"))
        };
        match words[0] {
            "host" => epoch = number(3)? / 1_000,
            "g" => _ = slots.entry(words.get(2).unwrap_or(&"")).or_default().insert(number(1)?),
            "s" => used.push((right(number(1)?), *words.get(2).unwrap_or(&""), epoch)),
            _ => {}
        }
    }
    let distance = |(at, dst, epoch): (i64, &str, i64)| {
        let (own, time) = (slots.get(dst)?, at - epoch);
        let slot = time.div_euclid(SLOT_US);
        let late = own.range(..=slot).next_back().map(|before| time - (before + 1) * SLOT_US);
        let early = own.range(slot + 1..).next().map(|next| next * SLOT_US - time);
        Some((at, late.into_iter().chain(early).min()?.max(0)))
    };
    Ok(used.into_iter().filter_map(distance).collect())
}

/// A table of what followed from steps.
pub fn lines(faults: &[Consequence]) -> Vec<String> {
    let row = |fault: &Consequence| {
        format!(
            "{:22}{:>9}{:>9}{:>12}{:>12}{:>9}{:>11}",
            fault.step,
            fault.noticed,
            fault.joined,
            fault.clock,
            fault.others,
            fault.used,
            fault.misplaced
        )
    };
    let head = format!(
        "\nThe clock of the first sender's agent is slow by {SLOW} ppm, and steps. Timeslots are those from {} ms after a step on.\n\
         {:22}{:>9}{:>9}{:>12}{:>12}{:>9}{:>11}",
        SETTLED.as_millis(),
        "",
        "noticed",
        "joined",
        "clock",
        "in others",
        "used",
        "misplaced"
    );
    match faults {
        [] => Vec::new(),
        all => [head].into_iter().chain(all.iter().map(row)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_compared_with_the_nearest_timeslot_to_their_host() {
        let log = "host 1 epoch 7000000\ng 10 0\ng 11 0\ng 20 0\ng 30 5\ns 12100 0\ns 13100 0\ns 16800 0\ns 22400 5\ns 99";
        // Network time is zero at 7,000 us; timeslots 10 and 11 are from 5,000 to 6,000 us of it.
        let times = [(12_100, 0), (13_100, 100), (16_800, 200), (22_400, 0)];
        let found = distances(log, |us| us).unwrap();
        assert_eq!(found[..3], times[..3]);
        assert_eq!(found[3], (22_400, 0));
        assert!(distances("g 1\ng x 0\n\n", |us| us).is_err());
        assert_eq!(distances(log, |us| us + 1_000).unwrap()[0], (13_100, 100));
    }
}
