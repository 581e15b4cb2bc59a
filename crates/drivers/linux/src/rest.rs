//! Short pauses of a thread that the kernel runs before others.
//!
//! A thread with the policy `SCHED_FIFO` that hardly sleeps starves the other threads of its processor. Linux then runs these
//! for up to 50 ms of a second at once (`sched_rt_runtime_us`, and since 6.12 the fair server), and the thread is late by as
//! much. A thread that leaves them the same share in small pieces is not stopped.

use std::time::{Duration, Instant};

/// The time after which the share of others is checked.
const WINDOW: Duration = Duration::from_millis(1);
/// Others have one part of this many.
const SHARE: u32 = 14;
/// The longest pause.
const LONGEST: Duration = Duration::from_micros(100);

/// The pauses of one thread.
#[derive(Debug)]
pub struct Rests {
    window: Instant,
    slept: Duration,
}

impl Default for Rests {
    fn default() -> Rests {
        Rests { window: Instant::now(), slept: Duration::ZERO }
    }
}

impl Rests {
    /// Notes that the thread has slept since `start`.
    pub fn slept_since(&mut self, start: Instant) {
        self.slept += start.elapsed();
    }
    /// Sleeps if others did not get their share of the last millisecond.
    pub fn rest(&mut self) {
        let due = owed(self.window.elapsed(), self.slept);
        let Some(due) = due else { return };
        if !due.is_zero() {
            std::thread::sleep(due);
        }
        *self = Rests::default();
    }
}

/// The pause that is due after `elapsed`, of which the thread slept for `slept`; `None` before the end of the window.
fn owed(elapsed: Duration, slept: Duration) -> Option<Duration> {
    (elapsed >= WINDOW).then(|| (elapsed / SHARE).saturating_sub(slept).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_get_their_share() {
        let us = Duration::from_micros;
        assert_eq!(owed(us(999), us(0)), None);
        assert_eq!(owed(us(1_400), us(0)), Some(us(100)));
        assert_eq!(owed(us(1_400), us(60)), Some(us(40)));
        assert_eq!(owed(us(1_400), us(500)), Some(us(0)));
        assert_eq!(owed(us(90_000), us(0)), Some(LONGEST));
    }
}
