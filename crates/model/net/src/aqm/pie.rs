//! PIE (RFC 8033): packets are dropped with a probability. A proportional-integral controller sets it so that the
//! queueing delay approaches a target.

use super::discipline::{Arrival, Discipline, Verdict, mark_or_drop};
use super::settings::{QueueParams, Settings, lasting, marks_or_drops, positive};
use crate::error::SpecError;
use crate::prefetch::prefetch_value;
use crate::rng::Stream;
use crate::time::Time;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// PIE's settings (RFC 8033, 4 and 5).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = crate::schema::keep_comment)]
pub struct PieSpec {
    /// The target of the queueing delay.
    pub target: Time,
    /// Interval between updates of the probability.
    pub update: Time,
    /// The length of a burst after an idle time. Nothing is dropped during it.
    pub burst: Time,
    /// Weight of the difference between the delay and the target, per second.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub alpha: f64,
    /// Weight of the change of the delay, per second.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub beta: f64,
    /// Whether chosen packets are marked, if they can be, instead of dropped.
    pub ecn: bool,
}

impl Default for PieSpec {
    fn default() -> PieSpec {
        let (target, update, burst) = (Time::ms(15), Time::ms(15), Time::ms(150));
        PieSpec { target, update, burst, alpha: 0.125, beta: 1.25, ecn: false }
    }
}

impl Settings for PieSpec {
    type Discipline = Box<Pie>;

    fn discipline(&self, queue: QueueParams) -> Box<Pie> {
        Box::new(Pie::new(*self, queue.mtu, queue.rng))
    }
    fn validate(&self, _limit: Bytes) -> Result<(), SpecError> {
        lasting("target", self.target)?;
        lasting("update", self.update)?;
        positive("alpha", self.alpha)?;
        positive("beta", self.beta)
    }
    fn describe(&self, _size: &dyn Fn(Bytes) -> String) -> String {
        format!("{} at random, for a target delay of {}", marks_or_drops(self.ecn), self.target)
    }
    fn marks(&self) -> bool {
        self.ecn
    }
    fn is_plain(&self) -> bool {
        true
    }
}

/// Above this probability packets are dropped even if they could be marked (RFC 8033, 5.1).
const MARK_LIMIT: f64 = 0.1;

/// The state of one queue. The controller's missed ticks are computed when a packet arrives. Between arrivals the queue
/// only drains, so the delay at each missed tick is known.
#[derive(Clone, Debug)]
pub struct Pie {
    spec: PieSpec,
    mtu: u64,
    chance: f64,
    delay_before: Time,
    burst_left: Time,
    next_update: Time,
    /// The time at which the queue will be, or was, empty.
    empty_at: Time,
    rng: Stream,
}

/// The most missed ticks that are computed one by one. After so many ticks without a packet the probability is zero.
const MOST_TICKS: u64 = 4_096;

impl Pie {
    /// An empty queue; `mtu` is its largest packet in bytes on the wire.
    pub fn new(spec: PieSpec, mtu: u64, rng: Stream) -> Pie {
        Pie {
            spec,
            mtu,
            chance: 0.0,
            delay_before: Time::ZERO,
            burst_left: spec.burst,
            next_update: spec.update,
            empty_at: Time::ZERO,
            rng,
        }
    }

    /// Runs the controller's ticks up to `now`.
    fn catch_up(&mut self, now: Time) {
        if now < self.next_update {
            return;
        }
        let behind = now.since(self.next_update).as_ps() / self.spec.update.as_ps().max(1);
        if behind > MOST_TICKS {
            *self =
                Pie { rng: self.rng.clone(), ..Pie::new(self.spec, self.mtu, self.rng.clone()) };
            self.next_update = now + self.spec.update;
            return;
        }
        while self.next_update <= now {
            self.tick(self.empty_at.since(self.next_update));
            self.next_update += self.spec.update;
        }
    }

    /// RFC 8033, 4.2 and 5.2: the probability follows the deviation of the delay, and its change.
    fn tick(&mut self, delay: Time) {
        let PieSpec { target, alpha, beta, .. } = self.spec;
        let seconds = |time: Time| time.as_ps() as f64 / 1e12;
        let off = seconds(delay) - seconds(target);
        let change = seconds(delay) - seconds(self.delay_before);
        let mut step = (alpha * off + beta * change) * scale(self.chance);
        if self.chance >= 0.1 && step > 0.02 {
            step = 0.02;
        }
        self.chance += step;
        if delay == Time::ZERO && self.delay_before == Time::ZERO {
            self.chance *= 0.98;
        }
        self.chance = self.chance.clamp(0.0, 1.0);
        let calm = |d: Time| d.as_ps() < target.as_ps() / 2;
        if self.chance == 0.0 && calm(delay) && calm(self.delay_before) {
            self.burst_left = self.spec.burst;
        } else {
            self.burst_left = self.burst_left.since(self.spec.update);
        }
        self.delay_before = delay;
    }

    /// Whether this packet is not dropped (RFC 8033, 4.1 and 4.4).
    fn spares(&self, arrival: &Arrival) -> bool {
        let short = self.delay_before.as_ps() < self.spec.target.as_ps() / 2 && self.chance < 0.2;
        self.burst_left > Time::ZERO || short || arrival.bytes() <= 2 * self.mtu
    }
}

/// The scale of changes of a small probability (RFC 8033, 4.2).
fn scale(chance: f64) -> f64 {
    let steps = [0.000_001, 0.000_01, 0.000_1, 0.001, 0.01, 0.1];
    let parts = [2048.0, 512.0, 128.0, 32.0, 8.0, 2.0];
    let at = steps.iter().position(|limit| chance < *limit);
    at.map_or(1.0, |at| 1.0 / parts[at])
}

impl Discipline for Pie {
    fn arrive(&mut self, arrival: &Arrival) -> Verdict {
        self.catch_up(arrival.now);
        let wait = arrival.backlog.wait;
        self.empty_at = arrival.backlog.idle_since.unwrap_or(arrival.now + wait);
        let verdict = if self.spares(arrival) || self.rng.unit() >= self.chance {
            Verdict::Pass
        } else {
            mark_or_drop(self.spec.ecn && self.chance < MARK_LIMIT, arrival.ect)
        };
        if verdict != Verdict::Drop {
            let own = arrival.pace.time_for(u64::from(arrival.len));
            self.empty_at = arrival.now + wait + own;
        }
        verdict
    }

    #[inline]
    fn expect(&self) {
        prefetch_value(&self.next_update);
    }

    #[inline]
    fn decides_on_departure(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::virtual_queue::VirtualQueue;
    use super::*;
    use crate::units::{Bytes, Rate};

    fn pie(burst: Time) -> Pie {
        let spec =
            PieSpec { target: Time::ms(15), update: Time::ms(15), burst, ..PieSpec::default() };
        Pie::new(spec, 1500, Stream::named(1, "test", 0))
    }

    /// Computed by hand with alpha 0.125 and beta 1.25. The first tick, at 35 ms, is scaled by 1/2048, the second by
    /// 1/128.
    #[test]
    fn the_chance_follows_the_recursion() {
        let mut pie = pie(Time::ZERO);
        pie.tick(Time::ms(35));
        let first = (0.125 * 0.020 + 1.25 * 0.035) / 2048.0;
        assert!((pie.chance - first).abs() < 1e-15);
        pie.tick(Time::ms(55));
        assert!(first > 0.000_01 && first < 0.000_1);
        let second = first + (0.125 * 0.040 + 1.25 * 0.020) / 128.0;
        assert!((pie.chance - second).abs() < 1e-15);
    }

    /// At a steady overload of 1.2, the delay approaches the target, and the probability approaches 1/6.
    #[test]
    fn the_delay_settles_at_the_target() {
        let pace = Rate(100_000_000).inverse_rate();
        let mut queue = VirtualQueue::new(pace, Bytes(10_000_000));
        let mut pie = pie(Time::ms(150));
        let (mut dropped, mut waits) = (0, Vec::new());
        for n in 0..600_000u64 {
            let now = Time::us(100 * n);
            let arrival = queue.arrival(1500, false, now);
            match pie.arrive(&arrival) {
                Verdict::Drop => dropped += u32::from(n >= 300_000),
                _ => assert!(queue.add(1500, now)),
            }
            if n >= 300_000 {
                waits.push(arrival.backlog.wait.as_ps() as f64 / 1e9);
            }
        }
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        let share = f64::from(dropped) / 300_000.0;
        assert!((mean - 15.0).abs() < 1.5, "{mean} ms");
        assert!((share - 1.0 / 6.0).abs() < 0.005, "{share}");
    }

    #[test]
    fn a_burst_is_let_through_and_silence_forgets() {
        let pace = Rate(100_000_000).inverse_rate();
        let mut queue = VirtualQueue::new(pace, Bytes(10_000_000));
        let mut pie = pie(Time::ms(150));
        for n in 0..1_000u64 {
            let now = Time::us(100 * n);
            assert_eq!(pie.arrive(&queue.arrival(1500, false, now)), Verdict::Pass);
            queue.add(1500, now);
        }
        let later = Time::ms(3_600_000);
        assert_eq!(pie.arrive(&queue.arrival(1500, false, later)), Verdict::Pass);
        assert!(pie.chance == 0.0 && pie.next_update > later);
    }
}
