//! No congestion control: a window that never changes.

use super::{Ack, Configure, Congestion, Loss, Needs, Tuning};
use crate::time::Time;

/// A constant window, for networks in which a schedule, not the sender, prevents losses.
#[derive(Clone, Copy, Debug)]
pub struct Fixed {
    window: u32,
}

impl Fixed {
    /// The window is always `window` segments, at least 1.
    pub fn new(window: u32) -> Fixed {
        Fixed { window: window.max(1) }
    }
}

impl Configure for Fixed {
    const NEEDS: Needs = Needs { constant_window: true, ..Needs::NOTHING };

    fn configure(initial_window: u32, _tuning: &Tuning) -> Fixed {
        Fixed::new(initial_window)
    }
}

impl Congestion for Fixed {
    #[inline]
    fn on_ack(&mut self, _ack: &Ack, _now: Time) {}
    fn on_loss(&mut self, _loss: Loss, _now: Time) {}
    fn restart(&mut self, _initial_window: u32) {}
    #[inline]
    fn window(&self) -> u32 {
        self.window
    }
}
