//! Isolation of failures: a discipline that panics affects its own queue only.

use slotline_net::aqm::{Arrival, Departure, Discipline, Failure, Verdict};
use slotline_net::time::Time;
use slotline_net::units::InverseRate;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A discipline whose panics are caught. After a panic it is not called again, and the packets of its queue
/// pass.
#[derive(Clone, Debug)]
pub struct Guarded<D> {
    inner: D,
    /// The time of the last call.
    called: Time,
    /// The time of the panic, and the number of packets since.
    broken: Option<(Time, u64)>,
}

impl<D> Guarded<D> {
    /// Guards `inner`.
    pub fn new(inner: D) -> Guarded<D> {
        Guarded { inner, called: Time::ZERO, broken: None }
    }

    /// Whether the discipline has panicked.
    pub fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// The discipline.
    pub fn inner(&self) -> &D {
        &self.inner
    }

    fn guard(&mut self, call: impl FnOnce(&mut D) -> Verdict) -> Verdict {
        if self.is_broken() {
            return Verdict::Pass;
        }
        let inner = &mut self.inner;
        // The state that a panic leaves is not used again.
        catch_unwind(AssertUnwindSafe(|| call(inner))).unwrap_or_else(|_| {
            self.broken = Some((self.called, 0));
            Verdict::Pass
        })
    }
}

impl<D: Discipline> Discipline for Guarded<D> {
    #[inline]
    fn arrive(&mut self, arrival: &Arrival) -> Verdict {
        self.arrive_with(arrival, &[])
    }

    #[inline]
    fn arrive_with(&mut self, arrival: &Arrival, frame: &[u8]) -> Verdict {
        self.called = arrival.now;
        let verdict = self.guard(|inner| inner.arrive_with(arrival, frame));
        self.broken.iter_mut().for_each(|(_, unjudged)| *unjudged += 1);
        verdict
    }

    #[inline]
    fn leave(&mut self, departure: &Departure) -> Verdict {
        self.guard(|inner| inner.leave(departure))
    }

    fn set_pace(&mut self, pace: InverseRate) {
        self.guard(|inner| {
            inner.set_pace(pace);
            Verdict::Pass
        });
    }

    fn failure(&self) -> Option<Failure> {
        let panicked = |(at, unjudged)| Failure { at, why: "it panicked".into(), unjudged };
        self.broken.map(panicked).or_else(|| self.inner.failure())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::aqm::VirtualQueue;
    use slotline_net::aqm::bank::{Bank, Entry, Fate};
    use slotline_net::time::Time;
    use slotline_net::units::{Bytes, Rate};

    /// Drops every packet and panics at the third if `fails`.
    struct Fragile {
        fails: bool,
        seen: u32,
    }

    impl Discipline for Fragile {
        fn arrive(&mut self, _arrival: &Arrival) -> Verdict {
            self.seen += 1;
            assert!(!self.fails || self.seen < 3, "unexpected packet");
            Verdict::Drop
        }
    }

    #[test]
    fn a_panic_ends_one_discipline_and_spares_the_others() {
        let queue = VirtualQueue::new(Rate(1_000_000_000).inverse_rate(), Bytes(100_000));
        let entry = |fails| Entry::new(queue, Guarded::new(Fragile { fails, seen: 0 }));
        let mut bank = Bank::new(vec![entry(true), entry(false)]);
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let mut dropped = [0, 0];
        for n in 0..20u64 {
            for (at, count) in dropped.iter_mut().enumerate() {
                let fate = bank.pass(at, 1500, true, Time::us(n)).unwrap();
                *count += u32::from(fate == Fate::Judged(Verdict::Drop));
            }
        }
        std::panic::set_hook(hook);
        assert_eq!(dropped, [2, 20]);
        let broken: Vec<bool> = bank.entries().iter().map(|e| e.discipline.is_broken()).collect();
        assert_eq!(broken, [true, false]);
        let failure = bank.entries()[0].discipline.failure();
        let why = "it panicked".into();
        assert_eq!(failure, Some(Failure { at: Time::us(2), why, unjudged: 18 }));
    }
}
