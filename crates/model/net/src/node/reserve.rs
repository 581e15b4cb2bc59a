//! A share of a port that one class gets before all others. It is like the credit-based shaper of IEEE 802.1Qav
//! (802.1Q, clause 8.6.8.2), but the class saves up no credit while it sends nothing.

use crate::time::Time;

/// A class that goes first as long as it takes no more than a share of a port's time. Its packets beyond that share
/// wait for other classes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reserve {
    /// The class.
    pub class: u8,
    /// The time after a packet for which the class does not go first, in thousandths of the packet's own time.
    times: u64,
    next: Time,
    /// `next` before the last packet of the class.
    before: Time,
}

impl Reserve {
    /// A share of a port for `class`: above 0 and at most 1, or 0 for none.
    pub fn new(class: u8, share: f64) -> Reserve {
        let times = if share > 0.0 { (1_000.0 / share).ceil() as u64 } else { u64::MAX };
        let next = if share > 0.0 { Time::ZERO } else { Time::MAX };
        Reserve { class, times, next, before: next }
    }
    /// Whether the class goes first.
    pub fn goes_first(&self, now: Time) -> bool {
        now >= self.next
    }
    /// A packet of the class begins to leave. Sending it takes `takes`.
    pub fn leaves(&mut self, now: Time, takes: Time) {
        self.before = self.next;
        if self.next < Time::MAX {
            let pause = u128::from(takes.as_ps()) * u128::from(self.times) / 1_000;
            self.next = now.after(Time::ps(pause.min(u64::MAX.into()) as u64));
        }
    }
    /// The packet that was said to leave last does not.
    pub fn stays(&mut self) {
        self.next = self.before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_packet_and_then_a_pause() {
        let mut tenth = Reserve::new(6, 0.1);
        assert!(tenth.goes_first(Time::ZERO));
        tenth.leaves(Time::us(5), Time::us(1));
        assert!(
            !tenth.goes_first(Time::ps(Time::us(15).as_ps() - 1)) && tenth.goes_first(Time::us(15))
        );
        // A packet that leaves only because no other class waits counts too, but its pause is not added to an earlier
        // one.
        tenth.leaves(Time::us(7), Time::us(1));
        tenth.leaves(Time::us(8), Time::us(1));
        assert!(tenth.goes_first(Time::us(18)));
        tenth.leaves(Time::us(18), Time::us(1));
        tenth.stays();
        assert!(tenth.goes_first(Time::us(18)));
        let mut none = Reserve::new(6, 0.0);
        none.leaves(Time::us(1), Time::us(1));
        assert!(!none.goes_first(Time::s(1_000)));
    }
}
