//! NewReno: slow start, additive increase, halving (RFC 5681, 6582, 3168).

use super::{Ack, Configure, Congestion, Loss, MAX_WINDOW, MIN_THRESHOLD, Tuning};
use crate::time::Time;

/// Slow start and congestion avoidance, in whole segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    pub(super) window: u32,
    /// Slow start below this window.
    pub(super) threshold: u32,
    /// Segments acknowledged towards the next increase of one.
    credit: u32,
}

impl Growth {
    pub(super) fn new(initial_window: u32) -> Growth {
        Growth { window: initial_window.clamp(1, MAX_WINDOW), threshold: u32::MAX, credit: 0 }
    }

    /// Slow start adds the acknowledged segments, up to the threshold. Beyond it, one segment is added per window.
    #[inline]
    pub(super) fn grow(&mut self, acked: u32) {
        let acked = acked.min(MAX_WINDOW);
        let quick = acked.min(self.threshold.saturating_sub(self.window));
        self.window = (self.window + quick).min(MAX_WINDOW);
        self.credit += acked - quick;
        while self.credit >= self.window {
            self.credit -= self.window;
            self.window = (self.window + 1).min(MAX_WINDOW);
        }
    }

    /// The window falls to `threshold`, and grows linearly from there.
    pub(super) fn reduce(&mut self, threshold: u32) {
        self.threshold = threshold.max(MIN_THRESHOLD);
        self.window = self.window.min(self.threshold);
        self.credit = 0;
    }

    /// The new threshold is half of the segments in flight. After a time-out, slow start begins from one segment. A
    /// window of one has had its time-out already, so the threshold stays (RFC 5681 §3.1).
    pub(super) fn lose(&mut self, loss: Loss) {
        match loss {
            Loss::Fast { flight } => self.reduce(flight / 2),
            Loss::Timeout { flight } if self.window > 1 => {
                self.reduce(flight / 2);
                self.window = 1;
            }
            Loss::Timeout { .. } => {}
        }
    }

    pub(super) fn restart(&mut self, initial_window: u32) {
        self.window = self.window.min(initial_window.max(1));
        self.credit = 0;
    }
}

/// NewReno.
#[derive(Clone, Debug)]
pub struct Reno {
    growth: Growth,
    /// The next reaction to marks is possible when segments from here on are acknowledged.
    answered: u32,
}

impl Reno {
    /// Slow start from `initial_window` segments.
    pub fn new(initial_window: u32) -> Reno {
        Reno { growth: Growth::new(initial_window), answered: 0 }
    }

    /// Multiplies the window by `by`/`of`. It grows from there; the threshold stays.
    pub(super) fn scale(&mut self, by: u32, of: u32) {
        let scaled = u64::from(self.growth.window) * u64::from(by) / u64::from(of);
        self.growth.window = scaled.clamp(1, u64::from(MAX_WINDOW)) as u32;
        self.growth.credit = 0;
    }
}

impl Configure for Reno {
    fn configure(initial_window: u32, _tuning: &Tuning) -> Reno {
        Reno::new(initial_window)
    }
}

impl Congestion for Reno {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, _now: Time) {
        if ack.recovering {
            return;
        }
        if !ack.echo {
            if ack.limited {
                self.growth.grow(ack.acked);
            }
        } else if ack.una > self.answered {
            self.answered = ack.nxt;
            self.growth.reduce(self.growth.window / 2);
        }
    }
    fn on_loss(&mut self, loss: Loss, _now: Time) {
        self.growth.lose(loss);
    }
    fn restart(&mut self, initial_window: u32) {
        self.growth.restart(initial_window);
    }
    #[inline]
    fn window(&self) -> u32 {
        self.growth.window
    }
}
