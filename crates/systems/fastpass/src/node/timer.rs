//! A timer with one wake-up for the next event.

use slotline_net::node::Cx;
use slotline_net::time::Time;

/// Requests wake-ups, but no wake-up twice.
pub(super) struct Timer {
    token: u32,
    at: Time,
}

/// The least delay of an event that is already due. It keeps a node from waking itself endlessly at one time.
const LEAST: Time = Time::ns(100);

impl Timer {
    pub const fn new(token: u32) -> Timer {
        Timer { token, at: Time::MAX }
    }
    /// Handles a wake-up. Returns whether it is the one requested last.
    pub fn ring(&mut self, now: Time) -> bool {
        let due = self.at <= now;
        if due {
            self.at = Time::MAX;
        }
        due
    }
    /// Requests a wake-up at `at`, unless an earlier one is pending.
    pub fn set(&mut self, at: Time, cx: &mut Cx<'_>) {
        let at = if at <= cx.now { cx.now.after(LEAST) } else { at };
        if at < self.at {
            self.at = at;
            cx.wake(at, self.token);
        }
    }
    /// Requests a wake-up at an exact time, which may be now.
    pub fn set_exactly(&mut self, at: Time, cx: &mut Cx<'_>) {
        let at = at.max(cx.now);
        if at < self.at {
            self.at = at;
            cx.wake(at, self.token);
        }
    }
}
