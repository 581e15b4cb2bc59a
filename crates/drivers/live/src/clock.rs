//! The network's time on a host: the offset between the host's clock and the arbiter's, measured by two-way time
//! transfer, with a bound on its error. If another program keeps the system's clock or a hardware clock right, the offset comes from
//! that clock as long as the measurements agree with it.

use crate::config::{ClockOptions, ClockSource, span};
use crate::reference;
use slotline_net::time::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// The number of measurements that are kept. The one with the smallest bound is used.
const KEPT: usize = 8;
/// The number of latest questions whose answers count.
const QUESTIONS: usize = 16;
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
    /// The measurement of an answer that arrived at `now`.
    fn new(reply: &TimeReply, now: Local) -> Sample {
        let there = Duration::from_nanos(reply.sent.saturating_sub(reply.received));
        let error = now.since(reply.asked).saturating_sub(there) / 2;
        let apart = |network: u64, local: Local| network as i64 - local.0 as i64;
        let offset = i64::midpoint(apart(reply.received, reply.asked), apart(reply.sent, now));
        Sample { offset, error, at: now }
    }
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
    /// The epoch of network time, which begins anew with each epoch: the time of the arbiter's system clock at which
    /// network time was zero, in nanoseconds since 1970.
    pub epoch: u64,
    /// Whether the arbiter has taken the host that asks out of the schedule.
    pub drained: bool,
}

/// The network's time as a host knows it.
#[derive(Clone, Debug)]
pub struct NetworkClock {
    options: ClockOptions,
    epoch: u64,
    samples: Vec<Sample>,
    next: usize,
    /// The questions of which answers count; `None` if those of all do.
    questions: Option<VecDeque<Local>>,
    /// The clock of the source minus the local one, in nanoseconds.
    reference: Option<i64>,
    /// The last time that was returned, so that time never goes back.
    last: Time,
    /// How often it has begun anew because the local clock had stepped.
    steps: u64,
}

impl NetworkClock {
    /// A clock that is measured every `interval`. It is accurate enough while its error is at most `guard`.
    pub fn new(options: &ClockOptions) -> NetworkClock {
        let (options, samples, last) = (options.clone(), Vec::new(), Time::ZERO);
        let (questions, reference) = (None, None);
        NetworkClock { options, epoch: 0, samples, next: 0, questions, reference, last, steps: 0 }
    }

    /// Uses other options from now on.
    pub fn configure(&mut self, options: &ClockOptions) {
        self.options = options.clone();
    }

    /// Notes how far the clock of the source is ahead of the local one, if it has one.
    pub fn compare(&mut self, clock: &impl Fn() -> Local) {
        if self.options.source != ClockSource::Transfer {
            self.reference = reference::ahead(&self.options.source, clock).or(self.reference);
        }
    }

    /// A question is asked. From now on only answers to questions count that were asked since the local clock was seen to step: an
    /// answer to an earlier one may come when the clock shows the time of the question again, and would seem to be very exact.
    pub fn ask(&mut self, at: Local) {
        let questions = self.questions.get_or_insert_default();
        if questions.len() == QUESTIONS {
            questions.pop_front();
        }
        questions.push_back(at);
    }

    /// Processes an answer that arrived at `now`. Returns whether network time begins anew: in another epoch, or because the
    /// answer contradicts earlier ones, so that the local clock has stepped since. Of answers that come more often than every
    /// interval, those that say nothing new do not displace older ones. An answer to a later question than the present time
    /// is from before a step.
    pub fn answered(&mut self, reply: &TimeReply, now: Local) -> bool {
        let asked = self.questions.as_ref().is_none_or(|all| all.contains(&reply.asked));
        if reply.asked > now || !asked {
            return false;
        }
        let sample = Sample::new(reply, now);
        let other = self.epoch != reply.epoch;
        let stepped = !other && self.contradicts(&sample, now);
        let fresh = other || stepped;
        if fresh {
            self.forget_questions();
            let (epoch, reference, questions) =
                (reply.epoch, self.reference, self.questions.take());
            let steps = self.steps + u64::from(stepped);
            let new = NetworkClock::new(&self.options);
            *self = NetworkClock { epoch, reference, steps, questions, ..new };
        }
        let error = sample.error;
        let lately = self.latest().is_some_and(|at| now.since(at) < span(self.options.interval));
        if lately && self.measured(now).is_some_and(|best| best.bound(now) <= error) {
            return fresh;
        }
        match self.samples.get_mut(self.next) {
            Some(place) => *place = sample,
            None => self.samples.push(sample),
        }
        self.next = (self.next + 1) % KEPT;
        fresh
    }

    /// Whether a measurement and the best earlier one cannot both be right. The time of an arbiter that follows another one may
    /// differ by up to the guard.
    fn contradicts(&self, sample: &Sample, now: Local) -> bool {
        let guard = span(self.options.guard);
        self.measured(now).is_some_and(|best| {
            let apart = Duration::from_nanos(best.offset.abs_diff(sample.offset));
            apart > best.bound(now) + sample.error + guard
        })
    }
    /// The local clock has been put back: what was measured before does not hold any more.
    pub fn put_back(&mut self) {
        self.samples.clear();
        self.forget_questions();
        (self.next, self.last, self.steps) = (0, Time::ZERO, self.steps + 1);
    }
    fn forget_questions(&mut self) {
        self.questions.iter_mut().for_each(VecDeque::clear);
    }
    /// How often it has begun anew because the local clock had stepped.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    fn latest(&self) -> Option<Local> {
        self.samples.iter().map(|sample| sample.at).max()
    }
    /// The best measurement.
    fn measured(&self, now: Local) -> Option<Sample> {
        self.samples.iter().min_by_key(|sample| sample.bound(now)).copied()
    }
    /// What is known best: by the clock of the source, if it agrees with the measurements, or by the best of these.
    fn best(&self, now: Local) -> Option<Sample> {
        let measured = self.measured(now)?;
        Some(self.of_system(&measured, now).unwrap_or(measured))
    }
    /// The offset by the clock of the source, if it agrees with a measurement.
    fn of_system(&self, measured: &Sample, now: Local) -> Option<Sample> {
        let error = span(self.options.bound);
        let offset = self.reference?.checked_sub_unsigned(self.epoch)?;
        let apart = Duration::from_nanos(offset.abs_diff(measured.offset));
        (apart <= measured.bound(now) + error).then_some(Sample { offset, error, at: now })
    }
    /// Whether the clock of the source counts.
    pub fn is_disciplined(&self, now: Local) -> bool {
        self.measured(now).is_some_and(|measured| self.of_system(&measured, now).is_some())
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
            (Some(bound), Some(at)) if bound <= span(self.options.guard) => {
                let lately = now.since(at) <= span(self.options.interval) * 3;
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

    fn options() -> ClockOptions {
        ClockOptions { guard: Time::us(300), ..ClockOptions::default() }
    }
    /// The difference of the other clock, in nanoseconds.
    const AHEAD: u64 = 7_000_000_000;

    fn reply(asked: u64, out: u64, back: u64) -> (TimeReply, Local) {
        let received = AHEAD + asked + out;
        let (asked_at, sent, drained) = (Local(asked), received + 500, false);
        let answer = TimeReply { asked: asked_at, received, sent, epoch: 1, drained };
        (answer, Local(asked + out + 500 + back))
    }

    #[test]
    fn it_is_free_then_locked_then_in_holdover_then_free() {
        let mut clock = NetworkClock::new(&options());
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
        let mut clock = NetworkClock::new(&options());
        let (answer, now) = reply(0, 20_000, 20_000);
        clock.answered(&answer, now);
        let (answer, now) = reply(250_000_000, 10_000, 9_000_000);
        clock.answered(&answer, now);
        assert_eq!(clock.offset(now), Some(AHEAD as i64));
        assert_eq!(clock.state(now), ClockState::Locked);
    }

    #[test]
    fn frequent_answers_do_not_displace_a_good_one() {
        let mut clock = NetworkClock::new(&options());
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

    /// Network time is zero at second 100 of the system's clock. The local clock begins at second 107, so network time
    /// is 7 s ahead of it.
    #[test]
    fn the_systems_clock_counts_while_measurements_agree() {
        const EPOCH: u64 = 100_000_000_000;
        let (source, bound) = (ClockSource::System, Time::us(20));
        let mut clock = NetworkClock::new(&ClockOptions { source, bound, ..options() });
        let (answer, now) = reply(1_000, 20_000, 100_000);
        clock.answered(&TimeReply { epoch: EPOCH, ..answer }, now);
        let measured = clock.offset(now).unwrap();
        assert_eq!(measured, AHEAD as i64 - 40_000, "as wrong as the ways differ");
        let right = (EPOCH + AHEAD) as i64;
        for (step, disciplined) in [
            (0, true),
            (1_000_000_000, false),
            (-1_000_000_000, false),
            (200_000, false),
            (0, true),
        ] {
            clock.reference = Some(right + step);
            assert_eq!(clock.is_disciplined(now), disciplined, "a step of {step} ns");
            let offset = if disciplined { AHEAD as i64 } else { measured };
            assert_eq!(clock.offset(now), Some(offset));
        }
        assert_eq!(clock.bound(now), Some(Duration::from_micros(20)));
        assert_eq!(clock.state(now), ClockState::Locked);
        // Without answers the bound does not grow, but the agent does not begin.
        let later = now.after(Duration::from_secs(100));
        assert_eq!(clock.bound(later), Some(Duration::from_micros(20)));
        assert_eq!(clock.state(later), ClockState::Holdover);
    }

    #[test]
    fn after_a_step_of_the_local_clock_time_begins_anew() {
        let (there, second) = (AHEAD + 5_000_000, 1_000_000_000);
        for step in [-second, second, -second / 500, second / 500] {
            let mut clock = NetworkClock::new(&options());
            // The local clock is `begins` later at the same network time.
            let answer = |begins: i64| {
                let asked = Local(5_000_000_000u64.saturating_add_signed(begins));
                let reply =
                    TimeReply { asked, received: there, sent: there, epoch: 1, drained: false };
                (reply, asked.after(Duration::from_micros(40)))
            };
            let (before, now) = answer(0);
            assert!(clock.answered(&before, now), "an epoch begins");
            clock.now(now);
            let (after, now) = answer(step);
            assert!(clock.answered(&after, now), "{step}");
            assert_eq!((clock.steps(), clock.state(now)), (1, ClockState::Locked), "{step}");
            let network = clock.now(now).unwrap().as_ns();
            assert!(network.abs_diff(there) <= 40_000, "{step}: {network}");
            assert!(!clock.answered(&after, now), "{step}: the same again is no step");
        }
    }

    /// The local clock is put back by 20 ms while an answer is under way, which arrives 20 ms late: by the local clock it seems to have
    /// taken no time.
    #[test]
    fn an_answer_from_before_a_step_does_not_count_after_it() {
        let answer = |clock: &mut NetworkClock, asked: u64, there: u64, arrives: u64| {
            let (received, asked, drained) = (AHEAD + there, Local(asked), false);
            let reply = TimeReply { asked, received, sent: received, epoch: 1, drained };
            clock.answered(&reply, Local(arrives));
            clock.offset(Local(arrives)).unwrap()
        };
        let (before, after) = (AHEAD as i64, AHEAD as i64 + 20_000_000);
        for (asks, last) in [(true, after), (false, before)] {
            let mut clock = NetworkClock::new(&options());
            let ask = |clock: &mut NetworkClock, at| {
                if asks {
                    clock.ask(Local(at))
                }
            };
            ask(&mut clock, 50_000_000);
            assert_eq!(answer(&mut clock, 50_000_000, 50_020_000, 50_040_000), before);
            ask(&mut clock, 300_000_000);
            clock.put_back();
            ask(&mut clock, 280_100_000);
            assert_eq!(answer(&mut clock, 280_100_000, 300_120_000, 280_140_000), after);
            assert_eq!(answer(&mut clock, 300_000_000, 300_020_000, 300_040_000), last, "{asks}");
        }
    }

    #[test]
    fn a_question_of_later_is_of_before_a_step() {
        let mut clock = NetworkClock::new(&options());
        let (answer, _) = reply(1_000_000, 20_000, 20_000);
        assert!(!clock.answered(&answer, Local(900_000)));
        assert_eq!((clock.epoch(), clock.state(Local(900_000))), (0, ClockState::Free));
        let (answer, now) = reply(1_000_000, 20_000, 20_000);
        clock.answered(&answer, now);
        clock.put_back();
        assert_eq!((clock.steps(), clock.now(Local(0))), (1, None));
    }

    proptest! {
        /// The error is never larger than the bound, and time never goes back.
        #[test]
        fn the_bound_holds(rounds in prop::collection::vec((1_000u64..2_000_000, 1_000u64..2_000_000), 1..40), drift in -100i64..100) {
            let mut clock = NetworkClock::new(&options());
            let true_time = |local: u64| (AHEAD + local).saturating_add_signed(local as i64 * drift / 1_000_000);
            let (mut at, mut before) = (0, Time::ZERO);
            for (out, back) in rounds {
                let there = true_time(at + out);
                let (asked, drained) = (Local(at), false);
                let answer = TimeReply { asked, received: there, sent: there, epoch: 3, drained };
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
            prop_assert_eq!(clock.steps(), 0);
        }
    }

    /// An agent that asks every interval, with a local clock that is slow by 100 ppm and steps. Each read of the clock is at another time, and
    /// the agent may be held back between any two of them, and answers may be late.
    struct Stepping {
        clock: NetworkClock,
        random: u64,
        /// The true time, by how much the local clock is ahead, and the next steps: when, and by how much.
        now: u64,
        ahead: i64,
        steps: Vec<(u64, i64)>,
        latest: Local,
        asks: Local,
        /// Answers under way: when they arrive, when they were asked in true time, and the answers.
        answers: Vec<(u64, u64, TimeReply)>,
        stepped_at: u64,
        /// The last step before the question of the latest good answer.
        knows: u64,
    }

    impl Stepping {
        fn below(&mut self, most: u64) -> u64 {
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.random >> 33) % most.max(1)
        }
        /// The agent goes on, and reads its clock. Now and then it is held back.
        fn read(&mut self) -> Local {
            let held_back = match self.below(200_000) {
                0 => self.below(2_000_000_000),
                1..60 => self.below(60_000_000),
                _ => 0,
            };
            self.now += 500 + self.below(40_000) + held_back;
            while self.steps.first().is_some_and(|(at, _)| *at <= self.now) {
                let (_, by) = self.steps.remove(0);
                (self.ahead, self.stepped_at) = (self.ahead + by, self.now);
            }
            Local((self.now - self.now / 10_000).saturating_add_signed(self.ahead))
        }
        /// One round of the agent, as [`crate::agent`] has it.
        fn round(&mut self) {
            let now = self.read();
            if now < self.latest {
                self.clock.put_back();
                self.asks = now;
            }
            self.latest = now;
            let mut at = 0;
            while at < self.answers.len() {
                if self.answers[at].0 > self.now {
                    at += 1;
                    continue;
                }
                let (_, asked, reply) = self.answers.remove(at);
                let now = self.read();
                self.clock.answered(&reply, now);
                if asked > self.stepped_at && self.now - asked < 400_000 {
                    self.knows = self.stepped_at;
                }
            }
            let asked = self.read();
            if asked >= self.asks {
                self.asks = asked.after(span(self.clock.options.interval));
                let there = self.now + 5_000 + self.below(100_000);
                let late = if self.below(5) == 0 { self.below(30_000_000) } else { 0 };
                let (received, arrives) =
                    (AHEAD + there, there + 5_000 + self.below(100_000) + late);
                self.clock.ask(asked);
                let reply = TimeReply { asked, received, sent: received, epoch: 1, drained: false };
                self.answers.push((arrives, self.now, reply));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]
        /// Whenever the local clock steps, and however far: once an answer to a later question has come, an agent whose clock is locked has
        /// network time within the errors of its measurements, until the next step.
        #[test]
        fn a_locked_clock_is_right_after_a_step(
            seed: u64, steps in prop::collection::vec((0u64..900_000_000, -1_000i64..1_000), 1..5), unit in 30_000i64..1_500_000
        ) {
            let options = ClockOptions { guard: Time::ms(1), ..ClockOptions::default() };
            let (clock, mut at) = (NetworkClock::new(&options), 500_000_000);
            let at = |(gap, by)| { at += 400_000_000 + gap; (at, by * unit) };
            let steps: Vec<_> = steps.into_iter().map(at).collect();
            let mut agent = Stepping {
                clock, random: seed, now: 0, ahead: 20_000_000_000, steps, latest: Local(0), asks: Local(0), answers: vec![],
                stepped_at: 0, knows: u64::MAX
            };
            let mut checked = 0;
            while (checked < 20_000 || !agent.steps.is_empty()) && agent.now < 60_000_000_000 {
                agent.round();
                let local = agent.read();
                if agent.knows == agent.stepped_at && agent.clock.state(local) == ClockState::Locked {
                    let network = agent.clock.now(local).unwrap().as_ns();
                    let error = network.abs_diff(AHEAD + agent.now);
                    prop_assert!(error <= 2_500_000, "wrong by {error} ns at {} ns", agent.now);
                    checked += 1;
                }
            }
            prop_assert!(checked >= 20_000 && agent.steps.is_empty(), "{checked}");
        }
    }
}
