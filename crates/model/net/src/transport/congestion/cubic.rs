//! CUBIC (RFC 9438): the window is a cubic function of the time since the last reduction, and never
//! below the window that NewReno would reach.

use super::{Ack, Configure, Congestion, Loss, MAX_WINDOW, MIN_THRESHOLD, Tuning};
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// Windows are in segments with this number of binary fraction digits.
const FRACTION: u32 = 20;
const SEGMENT: u64 = 1 << FRACTION;
/// β = 0.7, the factor of a reduction (§4.6); and 3·(1 - β)/(1 + β) = 9/17, NewReno's increase per window that is fair
/// with this β (§4.3).
const BETA: (u64, u64) = (7, 10);
const ALPHA: (u64, u64) = (9, 17);
/// With C = 0.4 segments/s³ (§5.1): K³ in µs³ per unit of window, and 2²⁰ µs³ per unit of window.
const CUBED_PER_UNIT: u128 = 2_500_000_000_000_000_000 >> FRACTION;
const SCALED_CUBE_PER_UNIT: u64 = 2_273_737;
/// A window that is never reached.
const NEVER: u32 = u32::MAX;
/// Longest time on the curve, in µs. After this time the curve is above [`MAX_WINDOW`].
const LONGEST: u64 = 1 << 27;

/// The version of CUBIC.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Standard {
    /// A loss lowers the window to 7/10 of the segments in flight. Once the window that NewReno would have reaches the
    /// window before the last loss, the window grows as with NewReno.
    ///
    /// Source: RFC 9438.
    #[default]
    Rfc9438,
    /// A loss lowers the window to 7/10. The window that NewReno would have always grows with 9/17 of NewReno's slope,
    /// as in Linux.
    ///
    /// Source: RFC 8312.
    Rfc8312,
}

/// CUBIC, with fast convergence and the Reno-friendly region.
#[derive(Clone, Debug)]
pub struct Cubic {
    window: u64,
    /// W_max: the plateau of the curve.
    plateau: u64,
    /// W_est: the window that NewReno would have.
    friendly: u64,
    /// Start of this stage of congestion avoidance; [`Time::MAX`] before it starts.
    epoch: Time,
    /// K in µs: the time from the epoch to the plateau.
    climb: u32,
    /// The window before the last reduction, in whole segments; [`NEVER`] with RFC 8312.
    prior: u32,
    /// Slow start below this many segments.
    threshold: u32,
    /// The next reaction to marks is possible when segments from here on are acknowledged.
    answered: u32,
    /// The computed growth, if it is not computed for each acknowledgement.
    pace: Option<Box<Pace>>,
}

/// Growth that is computed when the window has changed by a segment, or this long after the last computation. Linux's
/// `bictcp_update` does this, with 1/32 s.
#[derive(Clone, Debug)]
struct Pace {
    interval: Time,
    /// The time of the next computation, if the window does not change before.
    due: Time,
    seen: u32,
    /// Growth per segment acknowledged.
    step: u64,
}

impl Cubic {
    /// Slow start from `initial_window` segments. `interval` is the time for which computed growth is used while the
    /// window does not change. If it is zero, growth is computed for each acknowledgement.
    pub fn new(initial_window: u32, standard: Standard, interval: Time) -> Cubic {
        Cubic {
            window: u64::from(initial_window.clamp(1, MAX_WINDOW)) << FRACTION,
            plateau: 0,
            friendly: 0,
            epoch: Time::MAX,
            climb: 0,
            prior: if standard == Standard::Rfc8312 { NEVER } else { 0 },
            threshold: u32::MAX,
            answered: 0,
            pace: (interval > Time::ZERO)
                .then(|| Box::new(Pace { interval, due: Time::ZERO, seen: NEVER, step: 0 })),
        }
    }

    /// Slow start up to the threshold. The rest of the acknowledgement follows the curve.
    #[inline]
    fn grow(&mut self, ack: &Ack, now: Time) {
        let acked = u64::from(ack.acked.min(MAX_WINDOW));
        let quick = acked.min(u64::from(self.threshold).saturating_sub(self.window >> FRACTION));
        self.window += quick << FRACTION;
        let rest = acked - quick;
        if rest > 0 {
            self.avoid(rest, now, ack.srtt);
        }
        self.window = self.window.min(u64::from(MAX_WINDOW) << FRACTION);
    }

    fn avoid(&mut self, acked: u64, now: Time, srtt: Time) {
        if self.epoch == Time::MAX {
            self.begin(now);
        }
        let elapsed = now.since(self.epoch);
        let parity = self.friendly >= u64::from(self.prior) << FRACTION;
        let (up, down) = if parity { (1, 1) } else { ALPHA };
        self.friendly += ((up * acked) << (2 * FRACTION)) / (down * self.window);
        if self.pace.is_some() {
            let goal = self.curve(elapsed.after(srtt)).max(self.friendly & !(SEGMENT - 1));
            return self.keep_pace(goal, acked, now);
        }
        if self.curve(elapsed) < self.friendly {
            self.window = self.window.max(self.friendly);
        } else {
            let target =
                self.curve(elapsed.after(srtt)).clamp(self.window, self.window + self.window / 2);
            self.window += ((target - self.window) << FRACTION) / self.window * acked;
        }
    }

    /// Grows by the computed amount per acknowledgement. If it is time, growth towards `goal` is computed first.
    fn keep_pace(&mut self, goal: u64, acked: u64, now: Time) {
        let whole = self.window();
        let Some(pace) = &mut self.pace else { return };
        if pace.seen != whole || pace.due <= now {
            (pace.seen, pace.due) = (whole, now.after(pace.interval));
            let from = u64::from(whole) << FRACTION;
            pace.step = ((goal.clamp(from, from + from / 2) - from) << FRACTION) / from;
        }
        self.window += pace.step * acked;
    }

    /// A stage of congestion avoidance starts at `now` from the present window (§4.2).
    fn begin(&mut self, now: Time) {
        self.epoch = now;
        self.friendly = self.window;
        self.plateau = self.plateau.max(self.window);
        self.climb = cube_root(u128::from(self.plateau - self.window) * CUBED_PER_UNIT);
    }

    /// W_cubic (§4.2, figure 1): the window `elapsed` after the epoch.
    fn curve(&self, elapsed: Time) -> u64 {
        let (t, k) = (elapsed.as_ps() / 1_000_000, u64::from(self.climb));
        let distance = t.abs_diff(k).min(LONGEST);
        let cube = ((distance * distance) >> 20) * distance / SCALED_CUBE_PER_UNIT;
        if t < k { self.plateau.saturating_sub(cube) } else { self.plateau + cube }
    }

    /// §4.6, §4.7: the plateau is the window at the reduction. If that is below the last plateau, the new plateau is
    /// lower still, so that new flows find room.
    fn reduce(&mut self, flight: u64) {
        let flight = match self.prior {
            NEVER => u64::from(self.window()),
            _ => {
                self.prior = self.window();
                flight
            }
        };
        self.plateau = if self.window < self.plateau { self.window * 17 / 20 } else { self.window };
        self.threshold = ((flight * BETA.0 / BETA.1) as u32).max(MIN_THRESHOLD);
        self.window = self.window.min(u64::from(self.threshold) << FRACTION);
        self.epoch = Time::MAX;
    }
}

impl Configure for Cubic {
    fn configure(initial_window: u32, tuning: &Tuning) -> Cubic {
        Cubic::new(initial_window, tuning.standard, tuning.update_interval)
    }
}

impl Congestion for Cubic {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, now: Time) {
        if ack.recovering {
            return;
        }
        if ack.echo {
            if ack.una > self.answered {
                self.answered = ack.nxt;
                self.reduce(u64::from(self.window()));
            }
        } else if ack.limited {
            self.grow(ack, now);
        } else {
            // Time in which the window is not needed must not count (§5.8). A new start from the present window
            // continues the curve at the same place.
            self.epoch = Time::MAX;
        }
    }

    fn on_loss(&mut self, loss: Loss, _now: Time) {
        match loss {
            Loss::Fast { flight } => self.reduce(u64::from(flight)),
            // A window of one has had its time-out already, so the threshold stays (RFC 5681 §3.1).
            Loss::Timeout { .. } if self.window() == 1 => {}
            Loss::Timeout { flight } => {
                self.reduce(u64::from(flight));
                // §4.8: the next stage starts on its plateau.
                self.plateau = 0;
                self.window = SEGMENT;
            }
        }
    }

    fn restart(&mut self, initial_window: u32) {
        self.window = self.window.min(u64::from(initial_window.max(1)) << FRACTION);
        self.epoch = Time::MAX;
    }

    #[inline]
    fn window(&self) -> u32 {
        (self.window >> FRACTION) as u32
    }
}

/// The integer part of the cube root of `x` below 2⁸⁴.
fn cube_root(x: u128) -> u32 {
    (0..28).rev().map(|bit| 1u128 << bit).fold(0, |root, bit| {
        let next = root | bit;
        if next * next * next <= x { next } else { root }
    }) as u32
}
