//! Quantized congestion notification (IEEE 802.1Q-2018, clauses 30 to 32, formerly 802.1Qau): the congestion point
//! at a queue, and the rate computation of the reaction point at a sender.

use super::discipline::{Arrival, Discipline, Feedback, Verdict};
use super::settings::{QueueParams, Settings, ensure, lasting};
use crate::error::SpecError;
use crate::prefetch::prefetch_value;
use crate::rng::Stream;
use crate::time::Time;
use crate::units::{Bytes, Rate};
use serde::{Deserialize, Serialize};

/// The highest quantised feedback: six bits.
pub const WORST: u8 = 63;

/// The settings of a QCN congestion point (IEEE 802.1Q, 32.8).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = crate::schema::keep_comment)]
pub struct QcnSpec {
    /// The queue length that the congestion point aims at.
    pub equilibrium: Bytes,
    /// Weight of the growth of the queue in the feedback.
    #[schemars(range(min = 0.0))]
    pub growth_weight: f64,
    /// Bytes between two samples without congestion.
    pub sample: Bytes,
    /// Bytes between two samples at the highest congestion.
    pub least_sample: Bytes,
    /// The quantised feedback above which samples become no more frequent.
    #[schemars(range(min = 1, max = 63))]
    pub full_at: u8,
    /// The highest quantised feedback. Each step of feedback lowers the rate of the sender by 1/128.
    #[schemars(range(min = 1, max = 63))]
    pub most_feedback: u8,
}

impl Default for QcnSpec {
    fn default() -> QcnSpec {
        QcnSpec {
            equilibrium: Bytes(26_000),
            growth_weight: 2.0,
            sample: Bytes(150_000),
            least_sample: Bytes(15_000),
            full_at: 63,
            most_feedback: WORST,
        }
    }
}

impl Settings for QcnSpec {
    type Discipline = Box<CongestionPoint>;

    fn discipline(&self, queue: QueueParams) -> Box<CongestionPoint> {
        Box::new(CongestionPoint::new(*self, queue.rng))
    }
    fn validate(&self, limit: Bytes) -> Result<(), SpecError> {
        ensure(self.equilibrium.0 > 0 && self.equilibrium <= limit, "equilibrium", || {
            format!(
                "`equilibrium` = {} must be above 0 and at most `limit` = {limit}",
                self.equilibrium
            )
        })?;
        ensure(
            self.growth_weight >= 0.0 && self.growth_weight.is_finite(),
            "growth-weight",
            || format!("`growth-weight` = {} must not be negative", self.growth_weight),
        )?;
        ensure(
            self.least_sample.0 > 0 && self.least_sample <= self.sample,
            "least-sample",
            || {
                format!(
                    "`least-sample` = {} must be above 0 and at most `sample` = {}",
                    self.least_sample, self.sample
                )
            },
        )?;
        for (key, value) in [("full-at", self.full_at), ("most-feedback", self.most_feedback)] {
            ensure((1..=WORST).contains(&value), key, || {
                format!("`{key}` is {value}: quantised feedback is 1 to 63")
            })?;
        }
        Ok(())
    }
    fn describe(&self, size: &dyn Fn(Bytes) -> String) -> String {
        format!("senders are notified when the queue is longer than {}", size(self.equilibrium))
    }
    fn notifies(&self) -> bool {
        true
    }
}

/// The congestion point of one queue. It samples the queue after a number of bytes, as the standard does (30.2.1).
/// Higher congestion means fewer bytes between two samples. The congestion is that of the present queue (NetBump,
/// 5.3.3), not that of the last sample.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct CongestionPoint {
    // What every packet needs is in one cache line.
    /// The queue length that it aims at, in bytes.
    equilibrium: i64,
    growth_weight: f64,
    /// Feedback for each byte of congestion.
    feedback_per_byte: f64,
    /// Samples for each byte without congestion.
    samples_per_byte: f64,
    /// How much this number of samples rises with each step of feedback, as a fraction of it.
    rise: f64,
    /// Bytes in the queue at the last sample, Q_old.
    before: i64,
    /// The fraction of an interval until the next sample, from 1 down to 0.
    until_sample: f64,
    most_feedback: u8,
    /// The feedback above which samples become no more frequent.
    full_at: u8,
    rng: Stream,
}

impl CongestionPoint {
    /// The congestion point of an empty queue.
    pub fn new(spec: QcnSpec, rng: Stream) -> CongestionPoint {
        let worst = (1.0 + 2.0 * spec.growth_weight) * spec.equilibrium.0 as f64;
        let more_samples = spec.sample.0 as f64 / spec.least_sample.0 as f64 - 1.0;
        CongestionPoint {
            equilibrium: spec.equilibrium.0 as i64,
            growth_weight: spec.growth_weight,
            feedback_per_byte: f64::from(spec.most_feedback) / worst,
            samples_per_byte: 1.0 / spec.sample.0 as f64,
            rise: more_samples / f64::from(spec.full_at),
            most_feedback: spec.most_feedback,
            full_at: spec.full_at,
            before: 0,
            until_sample: 1.0,
            rng,
        }
    }

    /// How much longer than aimed at a queue of `bytes` is, and how much it has grown.
    #[inline]
    fn excess(&self, bytes: u64) -> (i64, i64) {
        let bytes = bytes as i64;
        (bytes - self.equilibrium, bytes - self.before)
    }

    /// The quantised feedback `F_b = -(Q_off + w Q_delta)` of a queue of `bytes`: a whole number. It is zero without congestion.
    /// Whether there is congestion cannot be predicted, so nothing branches on it.
    #[inline]
    fn steps(&self, bytes: u64) -> f64 {
        let (offset, delta) = self.excess(bytes);
        let congestion = offset as f64 + self.growth_weight * delta as f64;
        // Zero means no congestion, so any congestion counts as at least 1.
        (congestion * self.feedback_per_byte).clamp(0.0, self.most_feedback.into()).ceil()
    }

    /// The feedback of a queue of `bytes`.
    fn feedback(&self, bytes: u64) -> Feedback {
        let (offset, delta) = self.excess(bytes);
        Feedback { quantised: self.steps(bytes) as u8, offset, delta }
    }

    /// Samples for each byte if the feedback is `steps`, without the random deviation of up to 15 %. They rise linearly up to
    /// `full_at`, and are constant from there on.
    #[inline]
    fn samples_per_byte(&self, steps: f64) -> f64 {
        self.samples_per_byte * (1.0 + self.rise * steps.clamp(0.0, self.full_at.into()))
    }
}

impl Discipline for CongestionPoint {
    fn arrive(&mut self, arrival: &Arrival) -> Verdict {
        let bytes = arrival.bytes() + u64::from(arrival.len);
        let steps = self.steps(bytes);
        self.until_sample -= f64::from(arrival.len) * self.samples_per_byte(steps);
        if self.until_sample > 0.0 {
            return Verdict::Pass;
        }
        let feedback = self.feedback(bytes);
        self.before = bytes as i64;
        self.until_sample += 0.85 + 0.3 * self.rng.unit();
        if feedback.quantised > 0 { Verdict::Notify(feedback) } else { Verdict::Pass }
    }

    #[inline]
    fn decides_on_departure(&self) -> bool {
        false
    }

    #[inline]
    fn expect(&self) {
        prefetch_value(self);
    }
}

/// The reaction point of hosts (IEEE 802.1Q, 32.10): how they react when a congestion point notifies them. Each
/// connection that was notified has a rate limiter.
///
/// Source: IEEE 802.1Q-2018, clause 32 (802.1Qau).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReactionSpec {
    /// Bytes of a cycle of fast recovery.
    pub cycle: Bytes,
    /// Bytes of a later cycle.
    pub later_cycle: Bytes,
    /// Length of a cycle of the timer in fast recovery. Later cycles are half as long. Without a timer only the byte
    /// counter ends cycles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer: Option<Time>,
    /// Active increase adds this to the target rate in each cycle.
    pub increase: Rate,
    /// Hyper-active increase adds this to the target rate, times the number of cycles after fast recovery.
    pub hyper_increase: Rate,
    /// The lowest rate.
    pub least: Rate,
}

impl Default for ReactionSpec {
    fn default() -> ReactionSpec {
        ReactionSpec {
            cycle: Bytes(150_000),
            later_cycle: Bytes(75_000),
            timer: None,
            increase: Rate(5_000_000),
            hyper_increase: Rate(50_000_000),
            least: Rate(10_000_000),
        }
    }
}

impl ReactionSpec {
    /// Checks that the settings are consistent.
    pub fn validate(&self) -> Result<(), SpecError> {
        for (key, bytes) in [("cycle", self.cycle), ("later-cycle", self.later_cycle)] {
            ensure(bytes.0 > 0, key, || format!("`{key}` is 0B: for example \"150KB\""))?;
        }
        let rates = [("increase", self.increase), ("least", self.least)];
        for (key, rate) in rates {
            ensure(rate.0 > 0, key, || format!("`{key}` is 0: for example \"5Mbps\""))?;
        }
        self.timer.map_or(Ok(()), |timer| lasting("timer", timer))
    }
}

/// The rates of one reaction point (the rate limiter of one flow), in bits per second. It has neither packets nor a
/// clock. Its owner reports feedback, sent bytes and the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReactionPoint {
    spec: ReactionSpec,
    line: u64,
    current: u64,
    target: u64,
    /// Cycles of the byte counter and of the timer since the last feedback.
    byte_stage: u32,
    time_stage: u32,
    bytes_left: i64,
    timer: Option<Time>,
}

/// Cycles of fast recovery.
const FAST: u32 = 5;
/// The divisor of G_d. The highest feedback lowers the rate by 63/128.
const DECREASE: u64 = 128;

impl ReactionPoint {
    /// A flow that is not limited yet, on a link of rate `line`.
    pub fn new(spec: ReactionSpec, line: Rate) -> ReactionPoint {
        ReactionPoint {
            spec,
            line: line.0,
            current: line.0,
            target: line.0,
            byte_stage: 0,
            time_stage: 0,
            bytes_left: spec.cycle.0 as i64,
            timer: None,
        }
    }

    /// The rate at which it may send now, R_C.
    pub fn rate(&self) -> Rate {
        Rate(self.current)
    }

    /// The target rate, R_T.
    pub fn target(&self) -> Rate {
        Rate(self.target)
    }

    /// Whether its rate is below that of the link.
    pub fn limits(&self) -> bool {
        self.current < self.line
    }

    /// The time at which its timer expires, if it runs.
    pub fn due(&self) -> Option<Time> {
        self.timer
    }

    /// Handles feedback. Fast recovery begins, or begins again.
    pub fn notified(&mut self, quantised: u8, now: Time) {
        let feedback = u64::from(quantised.clamp(1, WORST));
        // Several notices within one cycle are about the same congestion, so the target rate stays.
        if self.byte_stage + self.time_stage > 0 || !self.limits() {
            self.target = self.current;
        }
        let left = u128::from(self.current) * u128::from(DECREASE - feedback);
        self.current = ((left / u128::from(DECREASE)) as u64).max(self.spec.least.0.min(self.line));
        (self.byte_stage, self.time_stage) = (0, 0);
        self.bytes_left = self.spec.cycle.0 as i64;
        self.timer = self.spec.timer.map(|span| now + span);
    }

    /// Handles the bytes that were sent.
    pub fn sent(&mut self, bytes: u32) {
        if !self.limits() {
            return;
        }
        self.bytes_left -= i64::from(bytes);
        if self.bytes_left <= 0 {
            self.byte_stage += 1;
            let fast = self.byte_stage < FAST;
            let cycle = if fast { self.spec.cycle } else { self.spec.later_cycle };
            self.bytes_left += cycle.0 as i64;
            self.increase();
        }
    }

    /// Handles the timer, if it has expired by `now`.
    pub fn passed(&mut self, now: Time) {
        let (Some(due), Some(span)) = (self.timer, self.spec.timer) else { return };
        if !self.limits() {
            self.timer = None;
        } else if now >= due {
            self.time_stage += 1;
            let fast = self.time_stage < FAST;
            let span = if fast { span } else { Time::ps(span.as_ps() / 2) };
            self.timer = Some(now + span);
            self.increase();
        }
    }

    /// The end of a cycle: fast recovery, active increase, or hyper-active increase (clause 32.8).
    fn increase(&mut self) {
        let (low, high) =
            (self.byte_stage.min(self.time_stage), self.byte_stage.max(self.time_stage));
        if low > FAST {
            self.target += self.spec.hyper_increase.0 * u64::from(low - FAST);
        } else if high > FAST {
            self.target += self.spec.increase.0;
        }
        self.target = self.target.min(self.line);
        self.current = (self.current + self.target) / 2;
        // Halving the difference alone would never reach the rate of the link.
        if self.target == self.line && self.line - self.current <= self.line / 1_000 {
            (self.current, self.timer) = (self.line, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::virtual_queue::VirtualQueue;
    use super::*;
    use crate::units::Bytes;

    fn point(spec: QcnSpec) -> CongestionPoint {
        CongestionPoint::new(spec, Stream::named(1, "test", 0))
    }

    fn spec() -> QcnSpec {
        QcnSpec { equilibrium: Bytes(20_000), ..QcnSpec::default() }
    }

    /// (queue, queue before, quantised), computed by hand for Q_eq = 20 KB and w = 2. 63 stands for 100 KB, so the
    /// feedback is 63/100000 per byte, rounded up.
    #[test]
    fn feedback_is_what_the_formula_says() {
        let table = [
            (20_000, 20_000, 0),  // in equilibrium
            (15_000, 10_000, 4),  // -5000 + 2 · 5000 = 5000: 3.15
            (30_000, 50_000, 0),  // 10000 - 40000: it shrinks fast
            (30_000, 30_000, 7),  // 10000: 6.3
            (40_000, 20_000, 38), // 20000 + 40000: 37.8
            (60_000, 20_000, 63), // 40000 + 80000: beyond
            (0, 0, 0),
        ];
        for (bytes, before, expected) in table {
            let mut point = point(spec());
            point.before = before;
            let got = point.feedback(bytes);
            assert_eq!(got.quantised, expected, "{bytes} after {before}");
            assert_eq!((got.offset, got.delta), (bytes as i64 - 20_000, bytes as i64 - before));
        }
    }

    /// Half of the steps, each of half the effect: the thesis's F_bmax of 32.
    #[test]
    fn feedback_of_fewer_steps_has_less_effect() {
        let point = point(QcnSpec { most_feedback: 32, ..spec() });
        assert_eq!(point.feedback(60_000).quantised, 32);
        // 10000 - 0 of 100000 is 3.2 of 32.
        let mut level = point;
        level.before = 30_000;
        assert_eq!(level.feedback(30_000).quantised, 4);
    }

    /// From one sample in 150 KB (1 % of 1500-byte frames) to one in 15 KB (10 %). The paper's profile has 20 % from 32
    /// on.
    #[test]
    fn samples_follow_the_probability_profile() {
        let standard = point(spec());
        let paper = point(QcnSpec { least_sample: Bytes(7_500), full_at: 32, ..spec() });
        for (point, quantised, expected) in [
            (&standard, 0, 0.01),
            (&standard, 21, 0.01 + 0.09 / 3.0),
            (&standard, WORST, 0.1),
            (&paper, 32, 0.2),
            (&paper, WORST, 0.2),
        ] {
            let probability = 1500.0 * point.samples_per_byte(quantised.into());
            assert!((probability - expected).abs() < 1e-12, "{quantised}: {probability}");
        }
    }

    #[test]
    fn a_full_queue_notifies_and_an_empty_one_does_not() {
        let pace = Rate(1_000_000_000).inverse_rate();
        for (gap_us, some) in [(12, false), (6, true)] {
            let (mut point, mut queue) = (point(spec()), VirtualQueue::new(pace, Bytes(100_000)));
            let mut notices = 0;
            for n in 0..20_000u64 {
                let now = Time::us(gap_us * n);
                let verdict = point.arrive(&queue.arrival(1500, false, now));
                notices += u32::from(matches!(verdict, Verdict::Notify(_)));
                queue.add(1500, now);
            }
            // A full queue of 100 KB has 80 of at most 100 KB: feedback 51, and one sample in 17.9 KB.
            let expected = if some {
                20_000.0 * 1_500.0 / (150_000.0 / (1.0 + 9.0 * 51.0 / 63.0))
            } else {
                0.0
            };
            assert!(
                (f64::from(notices) - expected).abs() <= 0.03 * expected,
                "{notices} for {expected}"
            );
        }
    }

    const G: u64 = 1_000_000_000;

    fn reaction(timer: Option<Time>) -> ReactionPoint {
        let spec = ReactionSpec { timer, ..ReactionSpec::default() };
        ReactionPoint::new(spec, Rate(G))
    }

    /// Computed by hand. Feedback 32 lowers the rate by a quarter. The distance halves five times. Then each cycle adds
    /// 5 Mbit/s.
    #[test]
    fn rates_follow_the_recursions_of_the_byte_counter() {
        let mut point = reaction(None);
        point.notified(32, Time::ZERO);
        assert_eq!((point.rate(), point.target()), (Rate(750_000_000), Rate(G)));
        point.notified(64, Time::ZERO);
        // At most 63. A second notice in a row does not change the target.
        let current = 750_000_000 * 65 / 128;
        assert_eq!((point.rate(), point.target()), (Rate(current), Rate(G)));
        let mut point = reaction(None);
        point.notified(32, Time::ZERO);
        point.sent(150_000);
        assert_eq!(point.rate(), Rate(875_000_000));
        point.notified(32, Time::ZERO);
        assert_eq!((point.rate(), point.target()), (Rate(656_250_000), Rate(875_000_000)));
        let expected = [765_625_000, 820_312_500, 847_656_250, 861_328_125, 868_164_062];
        for rate in expected {
            point.sent(150_000);
            assert_eq!((point.rate(), point.target()), (Rate(rate), Rate(875_000_000)));
        }
        point.sent(50_000);
        assert_eq!(point.rate(), Rate(868_164_062));
        point.sent(25_000);
        assert_eq!((point.rate(), point.target()), (Rate(874_082_031), Rate(880_000_000)));
    }

    #[test]
    fn the_timer_recovers_a_silent_flow_and_both_together_are_hyper_active() {
        let mut point = reaction(Some(Time::ms(10)));
        point.notified(63, Time::ZERO);
        assert_eq!(point.due(), Some(Time::ms(10)));
        let low = point.rate();
        point.passed(Time::ms(9));
        assert_eq!(point.rate(), low);
        for n in 1..=4 {
            point.passed(Time::ms(10 * n));
        }
        assert_eq!(point.due(), Some(Time::ms(50)));
        point.passed(Time::ms(50));
        assert_eq!((point.time_stage, point.due()), (5, Some(Time::ms(55))));
        let mut point = reaction(Some(Time::ms(10)));
        point.notified(63, Time::ZERO);
        point.sent(150_000);
        point.notified(63, Time::ZERO);
        let target = point.target();
        (0..4).for_each(|_| point.sent(150_000));
        (1..=5).for_each(|n| point.passed(Time::ms(10 * n)));
        assert_eq!(point.target(), target);
        point.sent(150_000);
        point.sent(75_000);
        assert_eq!(point.target(), Rate(target.0 + 5_000_000));
        point.passed(Time::ms(55));
        assert_eq!(point.target(), Rate(target.0 + 5_000_000 + 50_000_000));
    }

    #[test]
    fn never_below_the_least_nor_above_the_line_and_free_in_the_end() {
        let mut point = reaction(None);
        (0..100).for_each(|_| point.notified(63, Time::ZERO));
        assert_eq!(point.rate(), ReactionSpec::default().least);
        (0..1_000).for_each(|_| point.sent(150_000));
        assert!(!point.limits());
        assert_eq!(point.rate(), Rate(G));
        point.passed(Time::s(1));
        assert_eq!(point.due(), None);
    }
}
