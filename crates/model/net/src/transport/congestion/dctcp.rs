//! DCTCP: the window falls in proportion to the fraction of marked segments (RFC 8257).

use super::reno::Growth;
use super::{Ack, Configure, Congestion, EcnResponse, Loss, Needs, Tuning};
use crate::time::Time;

/// Binary digits of alpha's fraction. With these, the smallest gain, 2⁻¹⁰, still changes alpha.
const FRACTION: u32 = 20;
const ONE: u32 = 1 << FRACTION;
/// Binary digits of alpha in Linux.
const COARSE: u32 = 10;

/// DCTCP. Growth and the reaction to loss are NewReno's.
#[derive(Clone, Debug)]
pub struct Dctcp {
    growth: Growth,
    /// Estimated fraction of marked segments, times [`ONE`].
    alpha: u32,
    /// Segments acknowledged in the present observation window.
    acked: u32,
    /// The segments among these that were acknowledged with ECN-Echo.
    marked: u32,
    /// The observation window ends when segments from here on are acknowledged.
    observed: u32,
    /// The next reaction to marks is possible when segments from here on are acknowledged.
    answered: u32,
    gain_shift: u8,
    /// Whether alpha is computed as in Linux, with ten digits.
    coarse: bool,
}

impl Dctcp {
    /// Slow start from `initial_window` segments. Alpha is 1 at first (§4.2). The estimation gain g is 2 to the power
    /// of minus `gain_shift`; 4 is recommended.
    pub fn new(initial_window: u32, gain_shift: u8) -> Dctcp {
        Dctcp {
            growth: Growth::new(initial_window),
            alpha: ONE,
            acked: 0,
            marked: 0,
            observed: 0,
            answered: 0,
            gain_shift: gain_shift.min(10),
            coarse: false,
        }
    }

    /// The same algorithm with Linux's arithmetic. Alpha has ten binary digits. An observation window ends with the
    /// acknowledgement of all that was sent when it began, not with the next one.
    pub fn coarse(self) -> Dctcp {
        Dctcp { coarse: true, ..self }
    }

    /// The estimated fraction of marked segments, in 1/1024.
    pub fn alpha(&self) -> u32 {
        self.alpha >> (FRACTION - COARSE)
    }

    /// §3.3: alpha ← (1 - g)·alpha + g·F, once per window of data.
    #[inline]
    fn observe(&mut self, ack: &Ack) {
        self.acked += ack.acked;
        self.marked += if ack.echo { ack.acked } else { 0 };
        let ends = self.observed + u32::from(!self.coarse);
        if ack.una < ends {
            return;
        }
        self.alpha = if self.coarse { self.next_coarse() } else { self.next_alpha() }.min(ONE);
        (self.acked, self.marked, self.observed) = (0, 0, ack.nxt);
    }

    fn next_alpha(&self) -> u32 {
        let fraction = (u64::from(self.marked) << FRACTION) / u64::from(self.acked.max(1));
        self.alpha - (self.alpha >> self.gain_shift) + (fraction as u32 >> self.gain_shift)
    }

    /// The same in ten digits. An alpha that is too small for a step of the gain becomes zero.
    fn next_coarse(&self) -> u32 {
        let (alpha, shift) = (self.alpha(), self.gain_shift);
        let remaining = match alpha >> shift {
            0 => 0,
            step => alpha - step,
        };
        let share =
            (u64::from(self.marked) << (COARSE - u32::from(shift))) / u64::from(self.acked.max(1));
        (remaining + share as u32) << (FRACTION - COARSE)
    }

    /// §3.3: window ← window·(1 - alpha / 2), rounded up to whole segments.
    fn answer(&mut self) {
        let window = self.growth.window;
        let cut = (u64::from(window) * u64::from(self.alpha)) >> (FRACTION + 1);
        self.growth.reduce(window - cut as u32);
    }
}

impl Configure for Dctcp {
    const NEEDS: Needs = Needs { marks: true, ..Needs::NOTHING };

    fn configure(initial_window: u32, tuning: &Tuning) -> Dctcp {
        let exact = Dctcp::new(initial_window, tuning.gain_shift);
        match tuning.ecn_response {
            EcnResponse::Gradual => exact.coarse(),
            EcnResponse::AtOnce => exact,
        }
    }
}

impl Congestion for Dctcp {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, _now: Time) {
        self.observe(ack);
        if ack.recovering {
            return;
        }
        if !ack.echo {
            if ack.limited {
                self.growth.grow(ack.acked);
            }
        } else if ack.una > self.answered {
            self.answered = ack.nxt;
            self.answer();
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
