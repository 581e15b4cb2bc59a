//! The network's time on a host: the offset between the host's clock and the arbiter's, measured by two-way time
//! transfer, with a bound on its error.

use slotline_net::time::Time;
use std::time::Duration;

/// The number of measurements that are kept. The one with the smallest bound is used.
const KEPT: usize = 8;
/// The maximum drift between two clocks (each within 100 parts per million).
const DRIFT: f64 = 200e-6;

/// A time of the host's own clock: nanoseconds since the daemon started.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Local(pub u64);

impl Local {
    /// The time since `earlier`; zero if `earlier` is later.
    pub fn since(self, earlier: Local) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
    /// The local time `span` later.
    pub fn after(self, span: Duration) -> Local {
        Local(self.0.saturating_add(span.as_nanos() as u64))
    }
}

/// How well a host knows the network's time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockState {
    /// It is unknown, or not known within the guard.
    Free,
    /// It was measured within the last three intervals.
    Locked,
    /// It was not measured recently, but its error is still within the guard.
    Holdover,
}

impl ClockState {
    /// The name of the state.
    pub const fn name(self) -> &'static str {
        match self {
            ClockState::Free => "free",
            ClockState::Locked => "locked",
            ClockState::Holdover => "holdover",
        }
    }
}

/// One measurement.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Network time minus local time, in nanoseconds.
    offset: i64,
    /// Half of the round-trip time, which is the largest possible error.
    error: Duration,
    at: Local,
}

impl Sample {
    fn bound(&self, now: Local) -> Duration {
        self.error + now.since(self.at).mul_f64(DRIFT)
    }
}

/// The answer of a daemon that knows network time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeReply {
    /// The time at which the request was sent, by the clock of the sender.
    pub asked: Local,
    /// Network time in nanoseconds at which the request was received and the answer was sent.
    pub received: u64,
    /// See [`TimeReply::received`].
    pub sent: u64,
    /// The epoch of network time, which begins anew with each epoch.
    pub epoch: u64,
}

/// The network's time as a host knows it.
#[derive(Clone, Debug)]
pub struct NetworkClock {
    interval: Duration,
    guard: Duration,
    epoch: u64,
    samples: Vec<Sample>,
    next: usize,
    /// The last time that was returned, so that time never goes back.
    last: Time,
}

impl NetworkClock {
    /// A clock that is measured every `interval`. It is accurate enough while its error is at most `guard`.
    pub fn new(interval: Duration, guard: Duration) -> NetworkClock {
        NetworkClock { interval, guard, epoch: 0, samples: Vec::new(), next: 0, last: Time::ZERO }
    }

    /// Processes an answer that arrived at `now`. Returns whether another epoch has begun. Of answers that come more often
    /// than every interval, those that say nothing new do not displace older ones.
    pub fn answered(&mut self, reply: &TimeReply, now: Local) -> bool {
        let fresh = self.epoch != reply.epoch;
        if fresh {
            *self = NetworkClock::new(self.interval, self.guard);
            self.epoch = reply.epoch;
        }
        let there = Duration::from_nanos(reply.sent.saturating_sub(reply.received));
        let error = now.since(reply.asked).saturating_sub(there) / 2;
        let apart = |network: u64, local: Local| network as i64 - local.0 as i64;
        let offset = i64::midpoint(apart(reply.received, reply.asked), apart(reply.sent, now));
        let sample = Sample { offset, error, at: now };
        let lately = self.latest().is_some_and(|at| now.since(at) < self.interval);
        if lately && self.bound(now).is_some_and(|bound| bound <= error) {
            return fresh;
        }
        match self.samples.get_mut(self.next) {
            Some(place) => *place = sample,
            None => self.samples.push(sample),
        }
        self.next = (self.next + 1) % KEPT;
        fresh
    }

    fn latest(&self) -> Option<Local> {
        self.samples.iter().map(|sample| sample.at).max()
    }
    fn best(&self, now: Local) -> Option<&Sample> {
        self.samples.iter().min_by_key(|sample| sample.bound(now))
    }

    /// The epoch of the network's time; 0 before it is known.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
    /// Network time minus local time in nanoseconds.
    pub fn offset(&self, now: Local) -> Option<i64> {
        self.best(now).map(|sample| sample.offset)
    }
    /// The largest possible error of the offset.
    pub fn bound(&self, now: Local) -> Option<Duration> {
        self.best(now).map(|sample| sample.bound(now))
    }
    /// How well network time is known.
    pub fn state(&self, now: Local) -> ClockState {
        match (self.bound(now), self.latest()) {
            (Some(bound), Some(at)) if bound <= self.guard => {
                let lately = now.since(at) <= self.interval * 3;
                if lately { ClockState::Locked } else { ClockState::Holdover }
            }
            _ => ClockState::Free,
        }
    }
    /// Network time; `None` if it is not known.
    pub fn now(&mut self, now: Local) -> Option<Time> {
        let offset = self.offset(now)?;
        let network = now.0.saturating_add_signed(offset);
        self.last = self.last.max(Time::ns(network));
        Some(self.last)
    }
    /// The real time until a moment of network time.
    pub fn until(&mut self, at: Time, now: Local) -> Duration {
        self.now(now)
            .map_or(Duration::MAX, |network| Duration::from_nanos(at.since(network).as_ns()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const INTERVAL: Duration = Duration::from_millis(250);
    const GUARD: Duration = Duration::from_micros(300);
    /// The difference of the other clock, in nanoseconds.
    const AHEAD: u64 = 7_000_000_000;

    fn reply(asked: u64, out: u64, back: u64) -> (TimeReply, Local) {
        let received = AHEAD + asked + out;
        let answer = TimeReply { asked: Local(asked), received, sent: received + 500, epoch: 1 };
        (answer, Local(asked + out + 500 + back))
    }

    #[test]
    fn it_is_free_then_locked_then_in_holdover_then_free() {
        let mut clock = NetworkClock::new(INTERVAL, GUARD);
        assert_eq!((clock.state(Local(0)), clock.now(Local(0))), (ClockState::Free, None));
        let (answer, now) = reply(1_000, 20_000, 20_000);
        assert!(clock.answered(&answer, now), "an epoch begins");
        assert!(!clock.answered(&answer, now));
        assert_eq!(clock.state(now), ClockState::Locked);
        assert_eq!(clock.now(Local(100_000)), Some(Time::ns(AHEAD + 100_000)));
        assert_eq!(clock.state(Local(1_000_000_000)), ClockState::Holdover);
        assert_eq!(clock.state(Local(2_000_000_000)), ClockState::Free);
    }

    #[test]
    fn a_slow_answer_does_not_spoil_a_good_one() {
        let mut clock = NetworkClock::new(INTERVAL, GUARD);
        let (answer, now) = reply(0, 20_000, 20_000);
        clock.answered(&answer, now);
        let (answer, now) = reply(250_000_000, 10_000, 9_000_000);
        clock.answered(&answer, now);
        assert_eq!(clock.offset(now), Some(AHEAD as i64));
        assert_eq!(clock.state(now), ClockState::Locked);
    }

    #[test]
    fn frequent_answers_do_not_displace_a_good_one() {
        let mut clock = NetworkClock::new(INTERVAL, GUARD);
        let (answer, now) = reply(0, 20_000, 20_000);
        clock.answered(&answer, now);
        for n in 1..100 {
            let (answer, now) = reply(n * 10_000_000, 10_000, 9_000_000);
            clock.answered(&answer, now);
            let bound = clock.bound(now).unwrap();
            assert!(bound < Duration::from_micros(230), "{n}: {bound:?}");
            assert_eq!(clock.state(now), ClockState::Locked, "{n}");
        }
    }

    proptest! {
        /// The error is never larger than the bound, and time never goes back.
        #[test]
        fn the_bound_holds(rounds in prop::collection::vec((1_000u64..2_000_000, 1_000u64..2_000_000), 1..40), drift in -100i64..100) {
            let mut clock = NetworkClock::new(INTERVAL, GUARD);
            let true_time = |local: u64| (AHEAD + local).saturating_add_signed(local as i64 * drift / 1_000_000);
            let (mut at, mut before) = (0, Time::ZERO);
            for (out, back) in rounds {
                let there = true_time(at + out);
                let answer = TimeReply { asked: Local(at), received: there, sent: there, epoch: 3 };
                let now = at + out + back;
                clock.answered(&answer, Local(now));
                let offset = clock.offset(Local(now)).unwrap();
                let off = (now.saturating_add_signed(offset)).abs_diff(true_time(now));
                prop_assert!(off <= clock.bound(Local(now)).unwrap().as_nanos() as u64 + 2, "{off}");
                let network = clock.now(Local(now)).unwrap();
                prop_assert!(network >= before);
                before = network;
                at += 250_000_000;
            }
        }
    }
}
