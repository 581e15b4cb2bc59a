//! Random early detection (Floyd and Jacobson, IEEE/ACM Transactions on Networking 1(4), 1993), with
//! Floyd's gentle variant and RFC 3168's use of ECN.

use super::discipline::{Arrival, Discipline, Verdict};
use super::settings::{QueueParams, Settings, at_most, ensure, marks_or_drops};
use crate::error::SpecError;
use crate::prefetch::prefetch_value;
use crate::rng::Stream;
use crate::time::Time;
use crate::units::{Bytes, InverseRate};
use serde::{Deserialize, Serialize};

/// The settings of random early detection, named as by Floyd and Jacobson. The defaults are the values that they
/// recommend.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = crate::schema::keep_comment)]
pub struct RedSpec {
    /// The average backlog above which packets are chosen.
    pub min: Bytes,
    /// The average backlog at which the probability reaches `max-p`.
    pub max: Bytes,
    /// The probability at `max`.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub max_p: f64,
    /// The weight of a new value in the average.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub weight: f64,
    /// Whether the probability rises linearly to 1 between `max` and twice `max`, instead of jumping to 1 at `max`.
    pub gentle: bool,
    /// Whether chosen packets are marked, if they can be, instead of dropped.
    pub ecn: bool,
}

impl Default for RedSpec {
    fn default() -> RedSpec {
        let (min, max) = (Bytes(7_500), Bytes(22_500));
        RedSpec { min, max, max_p: 0.1, weight: 0.002, gentle: true, ecn: false }
    }
}

impl Settings for RedSpec {
    type Discipline = Box<Red>;

    fn discipline(&self, queue: QueueParams) -> Box<Red> {
        Box::new(Red::new(*self, queue.pace, queue.mtu, queue.rng))
    }
    fn validate(&self, limit: Bytes) -> Result<(), SpecError> {
        let RedSpec { min, max, .. } = *self;
        ensure(min < max, "min", || format!("`min` = {min} must be below `max` = {max}"))?;
        at_most(("max", max), ("limit", limit))?;
        for (key, value) in [("max-p", self.max_p), ("weight", self.weight)] {
            ensure(value > 0.0 && value <= 1.0, key, || {
                format!("`{key}` = {value} must be above 0 and at most 1")
            })?;
        }
        Ok(())
    }
    fn describe(&self, size: &dyn Fn(Bytes) -> String) -> String {
        let RedSpec { min, max, max_p, ecn, .. } = *self;
        let (verb, min, max) = (marks_or_drops(ecn), size(min), size(max));
        format!(
            "random early {verb} from an average of {min} on, with a chance of {max_p} at {max}"
        )
    }
    fn marks(&self) -> bool {
        self.ecn
    }
    fn is_plain(&self) -> bool {
        true
    }
}

/// The state of one RED queue. Thresholds are in bytes, so the probability of a packet is proportional to
/// its length (the article's section 4, for queues measured in bytes).
#[derive(Clone, Debug)]
pub struct Red {
    spec: RedSpec,
    mtu: u64,
    /// The time of a full-sized packet in ps, the article's `s`. With it, the average decays while the queue is idle.
    slot: f64,
    /// The thresholds in bytes.
    min: f64,
    max: f64,
    /// The average before the decay for `missed`.
    average: f64,
    /// The packets that could have been sent in idle times for which the average has not yet decayed.
    missed: f64,
    /// The logarithm of the average's decay for one packet.
    decay: f64,
    /// The number of packets since the last one that was marked.
    passed: f64,
    rng: Stream,
}

impl Red {
    /// An empty queue drained at `pace`; `mtu` is its largest packet in bytes on the wire.
    pub fn new(spec: RedSpec, pace: InverseRate, mtu: u64, rng: Stream) -> Red {
        let (slot, decay) = (in_ps(pace.time_for(mtu)), libm::log1p(-spec.weight));
        let (min, max) = (float(spec.min.0), float(spec.max.0));
        Red { spec, mtu, slot, min, max, average: 0.0, missed: 0.0, decay, passed: 0.0, rng }
    }

    /// Handles the arrival of a packet of `len` bytes at a backlog of `backlog` bytes. `idle_since` is given if the
    /// queue is empty. Between the thresholds, a packet that can be marked is marked if the queue uses ECN. If the
    /// average is so high that every packet is chosen, packets are dropped (RFC 3168, 7).
    #[inline(always)]
    pub fn arrive(
        &mut self,
        backlog: u64,
        idle_since: Option<Time>,
        len: u64,
        ect: bool,
        now: Time,
    ) -> Verdict {
        self.update(backlog, idle_since, now);
        let chance = self.chance();
        if chance <= 0.0 {
            self.passed = 0.0;
            return Verdict::Pass;
        }
        if chance < 1.0 && !self.selects(chance * float(len) / float(self.mtu)) {
            self.passed += 1.0;
            return Verdict::Pass;
        }
        self.passed = 0.0;
        if chance < 1.0 && self.spec.ecn && ect { Verdict::Mark } else { Verdict::Drop }
    }

    /// Updates the moving average of the backlog, in bytes. After an idle time, it decays once for each packet that
    /// could have been sent in that time. The decay is computed when the average is needed.
    fn update(&mut self, backlog: u64, idle_since: Option<Time>, now: Time) {
        match idle_since {
            None => {
                self.catch_up();
                self.average += self.spec.weight * (float(backlog) - self.average);
            }
            // A zero average stays zero.
            Some(_) if self.average == 0.0 => {}
            Some(since) => {
                self.missed += in_ps(now.since(since)) / self.slot;
                if self.average >= self.min {
                    self.catch_up();
                }
            }
        }
    }

    /// Lets the average decay for the idle times since it was last needed.
    fn catch_up(&mut self) {
        if self.missed > 0.0 {
            self.average *= libm::exp(self.decay * self.missed);
            self.missed = 0.0;
        }
    }

    /// The article's `p_b` for a full-sized packet: 0 below `min`, 1 if every packet is chosen.
    fn chance(&self) -> f64 {
        let RedSpec { max_p, gentle, .. } = self.spec;
        let Red { min, max, .. } = *self;
        if self.average < min {
            0.0
        } else if self.average < max {
            max_p * (self.average - min) / (max - min)
        } else if gentle && self.average < 2.0 * max {
            max_p + (1.0 - max_p) * (self.average - max) / max
        } else {
            1.0
        }
    }

    /// Spreads the chosen packets evenly. The gap is uniform from 1 to 1/`p_b` packets (`p_a`).
    fn selects(&mut self, p_b: f64) -> bool {
        let left = 1.0 - self.passed * p_b;
        left <= 0.0 || self.rng.unit() * left < p_b
    }
}

/// A number far below 2⁶³. Signed numbers are converted by one instruction.
fn float(number: u64) -> f64 {
    number as i64 as f64
}

fn in_ps(time: Time) -> f64 {
    float(time.as_ps())
}

impl Discipline for Red {
    #[inline(always)]
    fn arrive(&mut self, arrival: &Arrival) -> Verdict {
        let Arrival { now, backlog, len, ect, .. } = *arrival;
        let bytes = if backlog.idle_since.is_some() { 0 } else { arrival.bytes() };
        Red::arrive(self, bytes, backlog.idle_since, u64::from(len), ect, now)
    }

    #[inline]
    fn expect(&self) {
        prefetch_value(&self.average);
    }

    fn set_pace(&mut self, pace: InverseRate) {
        self.slot = in_ps(pace.time_for(self.mtu));
    }

    #[inline]
    fn decides_on_departure(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Bytes, Rate};

    /// The average equals the backlog (weight 1), so the probability is known.
    fn red(gentle: bool, ecn: bool) -> Red {
        let (min, max) = (Bytes(10_000), Bytes(30_000));
        let spec = RedSpec { min, max, max_p: 0.1, weight: 1.0, gentle, ecn };
        Red::new(spec, Rate(12_000_000_000).inverse_rate(), 1500, Stream::named(3, "test", 0))
    }

    fn share(red: &mut Red, backlog: u64, len: u64, ect: bool, what: Verdict) -> f64 {
        let n = 200_000;
        let hits = (0..n).filter(|_| red.arrive(backlog, None, len, ect, Time::ZERO) == what);
        hits.count() as f64 / f64::from(n)
    }

    /// Gaps uniform on 1..=1/p have mean (1/p + 1) / 2.
    fn closed_form(p: f64) -> f64 {
        2.0 * p / (1.0 + p)
    }

    #[test]
    fn drop_probability_follows_the_closed_form() {
        // (backlog, length, p_b), with 1/p_b whole; the last two rows are the gentle slope.
        let table = [
            (20_000, 1500, 0.05),
            (14_000, 1500, 0.02),
            (20_000, 750, 0.025),
            (40_000, 1500, 0.4),
            (30_000, 1500, 0.1),
        ];
        for (backlog, len, p) in table {
            let got = share(&mut red(true, false), backlog, len, true, Verdict::Drop);
            // At p = 0.4 the gap is 1, 2 or 3 with chances 0.4, 0.4, 0.2: mean 1.8.
            let want = if p == 0.4 { 1.0 / 1.8 } else { closed_form(p) };
            assert!((got / want - 1.0).abs() < 0.03, "{backlog} {len}: {got} for {want}");
        }
    }

    #[test]
    fn gaps_are_uniform() {
        let mut red = red(false, false);
        let mut gaps = [0u32; 21];
        let mut gap = 0;
        for _ in 0..210_000 {
            gap += 1;
            if red.arrive(20_000, None, 1500, false, Time::ZERO) == Verdict::Drop {
                gaps[gap] += 1;
                gap = 0;
            }
        }
        assert!(gaps[1..].iter().all(|n| (850..1150).contains(n)), "{gaps:?}");
    }

    #[test]
    fn nothing_below_min_everything_above_max() {
        assert_eq!(share(&mut red(false, false), 9_999, 1500, true, Verdict::Pass), 1.0);
        assert_eq!(share(&mut red(false, true), 30_000, 1500, true, Verdict::Drop), 1.0);
        assert_eq!(share(&mut red(true, true), 60_000, 1500, true, Verdict::Drop), 1.0);
    }

    #[test]
    fn capable_packets_are_marked_others_dropped() {
        let marked = share(&mut red(false, true), 20_000, 1500, true, Verdict::Mark);
        let dropped = share(&mut red(false, true), 20_000, 1500, false, Verdict::Drop);
        assert!((marked - dropped).abs() < 0.002 && marked > 0.09, "{marked} {dropped}");
    }

    #[test]
    fn the_average_moves_by_weight_and_decays_when_idle() {
        let mut red = red(false, false);
        (red.spec.weight, red.decay) = (0.25, 0.75f64.ln());
        red.arrive(8_000, None, 1500, false, Time::ZERO);
        assert_eq!(red.average, 2_000.0);
        red.arrive(8_000, None, 1500, false, Time::ZERO);
        assert_eq!(red.average, 3_500.0);
        // 12 Gbit/s sends 1500 bytes in 1 us, so three arrivals are missed.
        red.arrive(0, Some(Time::us(4)), 1500, false, Time::us(7));
        red.arrive(0, Some(Time::us(8)), 1500, false, Time::us(10));
        red.arrive(8_000, None, 1500, false, Time::us(10));
        let decayed = 3_500.0 * 0.75f64.powi(5);
        assert!((red.average - (0.75 * decayed + 2_000.0)).abs() < 1e-6);
    }
}
