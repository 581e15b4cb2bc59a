//! A round as a host knows it: the times of its slots, and what classes stand for.

use crate::wire::{Class, Fragment, Timing};
use slotline_net::id::HostId;
use slotline_net::time::Time;
use slotline_net::units::InverseRate;

/// The clock of a host, which is fast or slow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Clock(f64);

impl Clock {
    /// A clock that gains this many seconds per second, or loses them if negative.
    pub fn gaining(share: f64) -> Clock {
        Clock(share)
    }
    /// How long it takes until this clock has advanced by `span`.
    pub fn wait(self, span: Time) -> Time {
        let error = span.as_ps() as f64 * self.0;
        Time::ps((span.as_ps() as i64 - error as i64).max(0) as u64)
    }
}

/// The destination of a class from a slot on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub class: u16,
    pub from: u16,
    pub dst: HostId,
    pub pace: Option<InverseRate>,
    pub rate: Option<slotline_net::units::Rate>,
    /// Bytes that may still leave.
    pub budget: u64,
}

/// A round that was announced to this host.
#[derive(Clone, Debug)]
pub(super) struct KnownRound {
    pub round: u32,
    /// When slot 0 begins, as far as known. Messages arrive late, never early.
    start: Time,
    /// The time from slot to slot.
    period: Time,
    /// How long a slot is.
    pub slot: Time,
    /// The unused time after a slot.
    pub guard: Time,
    slots: u16,
    /// The entries by class, then by slot.
    entries: Vec<Entry>,
    missing: Vec<bool>,
}

impl KnownRound {
    /// A round whose first part has arrived; [`KnownRound::add`] adds the classes.
    pub fn new(round: u32, part: Fragment, timing: Timing, now: Time, clock: Clock) -> KnownRound {
        let period = clock.wait(timing.slot + timing.guard);
        KnownRound {
            round,
            start: (now + clock.wait(timing.begins)).since(period.times(timing.next.into())),
            period,
            slot: clock.wait(timing.slot),
            guard: timing.guard,
            slots: timing.slots,
            entries: Vec::new(),
            missing: vec![true; part.parts.into()],
        }
    }
    /// Adds a part. Returns whether the round is known completely.
    pub fn add(&mut self, part: Fragment, classes: &[Class]) -> bool {
        let missing = self.missing.get_mut(usize::from(part.part));
        if missing.is_some_and(std::mem::take) {
            self.entries.extend(classes.iter().map(|class| Entry {
                class: class.class,
                from: class.from,
                dst: class.dst,
                pace: class.rate.map(|rate| rate.inverse_rate()),
                rate: class.rate,
                budget: class.bytes,
            }));
            self.entries.sort_by_key(|entry| (entry.class, entry.from));
        }
        self.is_whole()
    }
    /// Whether all parts have arrived.
    pub fn is_whole(&self) -> bool {
        !self.missing.contains(&true)
    }
    /// Whether a frame that arrives now can be about this round, or a later one.
    pub fn has_begun(&self, now: Time) -> bool {
        now + self.tolerance() >= self.start
    }
    /// The slot that a frame opens if it arrives now; `None` outside of the round. Frames and messages arrive late, so
    /// the earliest one determines when slots begin.
    pub fn slot_at(&mut self, now: Time) -> Option<u16> {
        let since = (now + self.tolerance()).since(self.start);
        let slot = since.as_ps() / self.period.as_ps().max(1);
        let slot =
            u16::try_from(slot).ok().filter(|&slot| slot < self.slots && self.has_begun(now))?;
        self.start = self.start.min(now.since(self.period.times(slot.into())));
        Some(slot)
    }
    /// The slot that a frame closes if it arrives now.
    pub fn slot_over(&self, now: Time) -> Option<u16> {
        let slot = now.since(self.start).as_ps() / self.period.as_ps().max(1);
        (now >= self.start).then(|| slot.min(u64::from(self.slots.saturating_sub(1))) as u16)
    }
    /// When slot `slot` ends at the fabric manager, by this host's clock.
    pub fn end(&self, slot: u16) -> Time {
        self.start + self.period.times(slot.into()) + self.slot
    }
    /// The index of the entry with the destination of `class` in `slot`.
    pub fn entry(&self, class: u16, slot: u16) -> Option<usize> {
        let behind = self.entries.partition_point(|e| (e.class, e.from) <= (class, slot));
        let at = behind.checked_sub(1)?;
        (self.entries[at].class == class).then_some(at)
    }
    /// The entry with this index.
    pub fn at(&self, place: usize) -> &Entry {
        &self.entries[place]
    }
    /// Notes that `bytes` of an entry have left.
    pub fn spend(&mut self, place: usize, bytes: u64) {
        let budget = &mut self.entries[place].budget;
        *budget = budget.saturating_sub(bytes);
    }
    /// All classes of the round.
    pub fn classes(&self) -> Vec<u16> {
        let mut classes: Vec<u16> = self.entries.iter().map(|entry| entry.class).collect();
        classes.dedup();
        classes
    }
    /// The start is known except for the delay of a message, which is less than this.
    fn tolerance(&self) -> Time {
        Time::ps(self.period.as_ps() / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing = Timing {
        next: 0,
        slots: 3,
        begins: Time::us(100),
        slot: Time::us(300),
        guard: Time::us(15),
    };

    fn known_round() -> KnownRound {
        KnownRound::new(7, Fragment::ALONE, TIMING, Time::us(20), Clock::default())
    }

    #[test]
    fn slots_follow_from_the_time() {
        let mut known = known_round();
        assert_eq!(known.slot_at(Time::us(10)), None);
        // The message took 20 us longer than frames do.
        assert_eq!(known.slot_at(Time::us(100)), Some(0));
        assert_eq!(known.end(0), Time::us(400));
        assert_eq!(known.slot_at(Time::us(420)), Some(1), "late");
        assert_eq!(known.end(1), Time::us(715), "and yet it ends in time");
        assert_eq!(known.slot_at(Time::us(730)), Some(2));
        assert_eq!(known.slot_at(Time::us(1_045)), None, "there is no fourth one");
    }

    #[test]
    fn classes_change_their_meaning_from_slot_to_slot() {
        let mut known = known_round();
        let class =
            |class, from, dst| Class { class, from, dst: HostId(dst), rate: None, bytes: 9 };
        assert!(known.add(Fragment::ALONE, &[class(0, 0, 4), class(1, 1, 5), class(0, 2, 6)]));
        let dst = |c, slot| known.entry(c, slot).map(|at| known.at(at).dst.0);
        assert_eq!([dst(0, 0), dst(0, 1), dst(0, 2)], [Some(4), Some(4), Some(6)]);
        assert_eq!([dst(1, 0), dst(1, 2), dst(2, 2)], [None, Some(5), None]);
        assert_eq!(known.classes(), [0, 1]);
    }

    #[test]
    fn clocks_are_fast_or_slow() {
        assert_eq!(Clock::gaining(50e-6).wait(Time::s(1)), Time::us(999_950));
        assert_eq!(Clock::gaining(-50e-6).wait(Time::s(1)), Time::us(1_000_050));
        assert_eq!(Clock::default().wait(Time::us(3)), Time::us(3));
    }
}
