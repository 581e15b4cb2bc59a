//! One wake-up for whatever is due next.

use slotline_net::node::Cx;
use slotline_net::time::Time;

/// Asks to be woken, but not twice for the same.
pub(super) struct Timer {
    token: u32,
    at: Time,
}

/// What is due already waits for so long: nothing can make a node go round in circles at one time.
const LEAST: Time = Time::ns(100);

impl Timer {
    pub const fn new(token: u32) -> Timer {
        Timer { token, at: Time::MAX }
    }
    /// The wake-up has come; whether it is the one that was asked for last.
    pub fn ring(&mut self, now: Time) -> bool {
        let due = self.at <= now;
        if due {
            self.at = Time::MAX;
        }
        due
    }
    /// Asks for a wake-up at `at`, unless an earlier one is under way.
    pub fn set(&mut self, at: Time, cx: &mut Cx<'_>) {
        let at = if at <= cx.now { cx.now.after(LEAST) } else { at };
        if at < self.at {
            self.at = at;
            cx.wake(at, self.token);
        }
    }
    /// The same at an exact time, which may be now.
    pub fn set_exactly(&mut self, at: Time, cx: &mut Cx<'_>) {
        let at = at.max(cx.now);
        if at < self.at {
            self.at = at;
            cx.wake(at, self.token);
        }
    }
}
