//! What would have changed if an arbiter had had another scenario: its decisions, how long demand waits, and its counts.

use slotline_lab::live::waiting;
use slotline_live::replay::{Replayed, ReplayedStep};
use slotline_net::node::{Counter, Counters};
use slotline_net::time::Time;

/// What a replay showed.
#[derive(Default)]
pub struct Seen {
    pub done: Replayed,
    pub counters: Counters,
    /// Steps with messages here or in the log, and those of them whose messages differ, with the time of the first.
    steps: u64,
    different: u64,
    first: Option<Time>,
    waits: Option<Waits>,
}

/// How long demand waits at an arbiter that has a queue of it.
#[derive(Default)]
struct Waits {
    /// The time of the latest step, and how much waited then.
    latest: Time,
    waiting: Vec<u64>,
    /// By host, since when some of its demand waits.
    since: Vec<Option<Time>>,
    /// Timeslots that waited, times nanoseconds.
    area: u128,
    /// How long it took until all demand of a host was granted, each time.
    complete: Vec<Time>,
}

impl Seen {
    /// Adds a step.
    pub fn step(&mut self, step: &ReplayedStep<'_>) {
        self.steps += u64::from(step.sent.messages > 0 || !step.same);
        self.different += u64::from(!step.same);
        if !step.same {
            self.first.get_or_insert(step.at);
        }
        if let Some(waiting) = waiting::timeslots(step.node) {
            self.waits.get_or_insert_default().add(waiting, step.at);
        }
    }
}

impl Waits {
    fn add(&mut self, waiting: Vec<u64>, now: Time) {
        let sum = self.waiting.iter().sum::<u64>();
        self.area += u128::from(sum) * u128::from(now.since(self.latest).as_ns());
        self.since.resize(waiting.len(), None);
        for (since, count) in self.since.iter_mut().zip(&waiting) {
            match (*since, *count) {
                (None, 1..) => *since = Some(now),
                (Some(began), 0) => {
                    self.complete.push(now.since(began));
                    *since = None;
                }
                _ => {}
            }
        }
        (self.latest, self.waiting) = (now, waiting);
    }
    /// The mean number of timeslots that waited.
    fn mean(&self) -> f64 {
        self.area as f64 / self.latest.as_ns().max(1) as f64
    }
    /// How long a timeslot waited in the mean, in ms, where so many were granted (Little's law).
    fn wait_ms(&self, granted: u64) -> f64 {
        self.area as f64 / granted.max(1) as f64 / 1e6
    }
    /// The mean and the longest time until all demand of a host was granted, in ms. What still waits counts as granted now.
    fn complete_ms(&self) -> [f64; 2] {
        let open = self.since.iter().flatten().map(|since| self.latest.since(*since));
        let all = self.complete.iter().copied().chain(open);
        let ms: Vec<f64> = all.map(|time| time.as_ns() as f64 / 1e6).collect();
        let most = ms.iter().copied().fold(0.0, f64::max);
        [ms.iter().sum::<f64>() / ms.len().max(1) as f64, most]
    }
}

/// What is different with other values than those of the log.
pub fn comparison(with: &str, then: &Seen, now: &Seen) -> String {
    let mut lines = vec![format!("With {with}, and the same messages of hosts:"), decisions(now)];
    lines.push(format!("\n{:44}{:>12}{:>12}", "", "recorded", "replayed"));
    let mut number = |what: &str, values: [f64; 2], digits: usize| {
        lines.push(format!("{what:44}{:>12.digits$}{:>12.digits$}", values[0], values[1]));
    };
    number("messages sent", [now.done.recorded as f64, now.done.sent as f64], 0);
    if let (Some(a), Some(b)) = (&then.waits, &now.waits) {
        let granted = [then, now].map(|seen| granted(&seen.counters));
        let ([mean_a, most_a], [mean_b, most_b]) = (a.complete_ms(), b.complete_ms());
        number("timeslots that wait for a grant, mean", [a.mean(), b.mean()], 1);
        number(
            "a timeslot waits for its grant, mean, ms",
            [a.wait_ms(granted[0]), b.wait_ms(granted[1])],
            2,
        );
        number("all demand of a host is granted, mean, ms", [mean_a, mean_b], 2);
        number("the same, longest, ms", [most_a, most_b], 1);
    }
    let row = |(counter, then): (Counter, u64)| {
        let now = now.counters.get(counter).unwrap_or_default();
        let meaning = counter.meaning;
        (then != now).then(|| format!("{:44}{then:>12}{now:>12}  {meaning}", counter.name))
    };
    lines.extend(then.counters.all().filter_map(row));
    lines.join("\n")
}

/// How the decisions differ, in words.
fn decisions(now: &Seen) -> String {
    match now.first {
        None => "Decisions: all messages are the same.".into(),
        Some(at) => format!(
            "Decisions: {} of {} times the arbiter sends other messages, for the first time after {:.3} s.",
            now.different,
            now.steps,
            at.as_secs_f64()
        ),
    }
}

/// The timeslots that were granted.
fn granted(counters: &Counters) -> u64 {
    counters.all().find(|(counter, _)| counter.name == "slots_granted").map_or(0, |of| of.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_those_of_hosts() {
        let mut waits = Waits::default();
        for (ms, waiting) in [(0, [2, 0]), (1, [1, 3]), (3, [0, 3]), (4, [0, 0]), (10, [0, 0])] {
            waits.add(waiting.into(), Time::ms(ms));
        }
        // Two timeslots for 1 ms, four for 2 ms, three for 1 ms.
        assert_eq!(waits.area, 13_000_000);
        assert_eq!((waits.mean(), waits.wait_ms(5)), (1.3, 2.6));
        assert_eq!(waits.complete, [Time::ms(3), Time::ms(3)]);
        assert_eq!(waits.complete_ms(), [3.0, 3.0]);
    }
}
