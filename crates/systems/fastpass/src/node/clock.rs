//! A host's clock, which says when a timeslot begins (§6.3).

use super::Common;
use slotline_net::id::HostId;
use slotline_net::rng::{Stream, mix64};
use slotline_net::time::Time;

/// A clock with a fixed error and a drift since it was last corrected. Transmissions begin late by a
/// different amount each time.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    slot: Time,
    /// How late the clock is, in picoseconds. A negative value is early.
    offset: i64,
    /// How much later the clock gets, in picoseconds per second.
    drift: i64,
    /// The interval of corrections.
    resync: Time,
    /// The time of the first correction.
    first: Time,
    jitter: Time,
    salt: u64,
}

const SECOND: i64 = Time::s(1).as_ps() as i64;

impl Clock {
    pub fn new(common: &Common, host: HostId) -> Clock {
        let spec = common.options.spec();
        let mut stream = Stream::named(common.seed, "fastpass.clock", common.host_keys[host.at()]);
        let offset = around_zero(spec.clock_offset.as_ps(), &mut stream);
        let salt = stream.bits();
        Clock {
            slot: common.timing.slot,
            offset,
            drift: around_zero(spec.clock_drift.as_ps() / 2, &mut stream),
            resync: spec.clock_resync,
            first: Time::ps(stream.below(spec.clock_resync.as_ps())),
            jitter: spec.jitter,
            salt,
        }
    }
    /// When a timeslot begins.
    pub fn start(&self, slot: u64) -> Time {
        let exact = self.slot.times(slot);
        // The clock was also corrected one period before the first time.
        let since = exact.after(self.resync).since(self.first).as_ps() % self.resync.as_ps();
        // Long divisions are slow, and a clock rarely needs one.
        let drifted = match self.drift.checked_mul(since as i64) {
            Some(product) => product / SECOND,
            None => (i128::from(self.drift) * i128::from(since) / i128::from(SECOND)) as i64,
        };
        let late = self.offset + drifted;
        let off = Time::ps(late.unsigned_abs());
        if late < 0 { exact.since(off) } else { exact.after(off) }
    }
    /// When a timeslot begins, and when its transmission does.
    pub fn times(&self, slot: u64) -> (Time, Time) {
        let part = mix64(self.salt ^ slot) >> 32;
        let late = (u128::from(self.jitter.as_ps()) * u128::from(part)) >> 32;
        let start = self.start(slot);
        (start, start.after(Time::ps(late as u64)))
    }
}

/// A random number from `-most` to `most`.
fn around_zero(most: u64, stream: &mut Stream) -> i64 {
    let most = most.min(i64::MAX as u64 / 2);
    stream.below(2 * most + 1) as i64 - most as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn clock(offset: i64, drift: i64, first: Time) -> Clock {
        let (slot, resync) = (Time::us(1), Time::ms(2));
        Clock { slot, offset, drift, resync, first, jitter: Time::ZERO, salt: 7 }
    }

    #[test]
    fn a_clock_drifts_until_it_is_set_right() {
        let us = |us: i64| us * 1_000_000;
        // The clock loses 1 ms per second: 1 ns per timeslot. It is corrected at 500 us, 2,500 us and so on.
        let slow = clock(0, us(1_000), Time::us(500));
        let late = |slot: u64| slow.start(slot).since(Time::us(slot));
        assert_eq!([499, 500, 600, 2_499].map(late), [1_999, 0, 100, 1_999].map(Time::ns));
        let fast = clock(us(1), us(-1_000), Time::ZERO);
        assert_eq!(fast.start(1_500), Time::ns(1_500_000 + 1_000 - 1_500));
        assert_eq!(clock(0, 0, Time::us(3)).start(5), Time::us(5));
    }

    proptest! {
        /// A clock is never off by more than its offset and its drift within a period.
        #[test]
        fn what_a_clock_is_off_has_a_bound(offset in 0i64..5_000_000, drift in 0i64..9_000_000_000, sign: bool, first in 0u64..2_000, slot in 0u64..10_000_000) {
            let (offset, drift) = if sign { (offset, drift) } else { (-offset, -drift) };
            let start = clock(offset, drift, Time::us(first)).start(slot).as_ps() as i64;
            let off = (start - Time::us(slot).as_ps() as i64).abs();
            let most = offset.abs() + drift.abs() / 500;
            prop_assert!(off <= most || start == 0, "{off} {most}");
        }
    }
}
