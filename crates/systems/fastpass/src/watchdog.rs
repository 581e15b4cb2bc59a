//! The choice between two arbiters (§5.1). They share no state: the passive one only knows when the last message of the
//! active one arrived.
//!
//! Each take-over has a term, higher than all before. The active arbiter sends its term regularly. An active
//! arbiter that gets a message with a higher term becomes passive. So two arbiters are active at once for no longer than
//! such a message takes to arrive. On a real network that can be for ever, so the driver of daemons elects the arbiter
//! instead (`slotline_live::election`), and this watchdog is not used.

use slotline_net::time::Time;

/// A change of an arbiter's role.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transition {
    /// The role does not change.
    Stay,
    /// The other arbiter is silent: this one begins to serve.
    TakeOver {
        /// How long it has been silent.
        silence: Time,
    },
    /// The other arbiter has taken over: this one stops serving.
    StepBack,
}

/// The watchdog state of one arbiter.
#[derive(Clone, Debug)]
pub struct Watchdog {
    rank: u8,
    interval: Time,
    timeout: Time,
    active: bool,
    term: u64,
    /// When the other arbiter was last active, by its own clock.
    alive: Time,
    /// When this arbiter has to send its term next.
    beat: Time,
}

impl Watchdog {
    /// The state of an arbiter that starts at `now`. Rank 0, the primary, is active at once; a secondary that
    /// has taken over makes it passive again.
    pub fn new(rank: u8, interval: Time, timeout: Time, now: Time) -> Watchdog {
        Watchdog { rank, interval, timeout, active: rank == 0, term: 0, alive: now, beat: now }
    }
    /// Whether this arbiter is active.
    pub const fn is_active(&self) -> bool {
        self.active
    }
    /// The term to send now, if this arbiter is active and a message is due.
    pub fn beat(&mut self, now: Time) -> Option<u64> {
        if !self.active || now < self.beat {
            return None;
        }
        self.beat = now.after(self.interval);
        Some(self.term)
    }
    /// Notes that the other arbiter was active at `sent`.
    pub fn hear(&mut self, term: u64, sent: Time) -> Transition {
        self.alive = self.alive.max(sent);
        let yields = term > self.term || (term == self.term && self.rank > 0);
        self.term = self.term.max(term);
        if self.active && yields {
            self.active = false;
            return Transition::StepBack;
        }
        Transition::Stay
    }
    /// Checks whether the last message of the other arbiter is too old.
    pub fn check(&mut self, now: Time) -> Transition {
        let silence = now.since(self.alive);
        if self.active || silence < self.timeout {
            return Transition::Stay;
        }
        self.active = true;
        self.term += 1;
        self.beat = now;
        Transition::TakeOver { silence }
    }
    /// When to call [`Watchdog::beat`] or [`Watchdog::check`] again.
    pub fn deadline(&self) -> Time {
        if self.active { self.beat } else { self.alive.after(self.timeout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const INTERVAL: Time = Time::us(100);
    const TIMEOUT: Time = Time::ms(1);

    /// Two arbiters, in steps of 10 us.
    struct Pair {
        dogs: [Option<Watchdog>; 2],
        now: Time,
        /// Steps in which both were active.
        both: u32,
        none: u32,
    }

    impl Pair {
        fn new() -> Pair {
            let dog = |rank| Some(Watchdog::new(rank, INTERVAL, TIMEOUT, Time::ZERO));
            Pair { dogs: [dog(0), dog(1)], now: Time::ZERO, both: 0, none: 0 }
        }
        fn step(&mut self, hears: [bool; 2]) {
            for (at, &hears) in hears.iter().enumerate() {
                let Some(dog) = &mut self.dogs[at] else { continue };
                let due = dog.deadline() <= self.now;
                let turn = dog.check(self.now);
                assert!(due || turn == Transition::Stay);
                let said = dog.beat(self.now);
                if let (Some(term), true, Some(other)) = (said, hears, &mut self.dogs[1 - at]) {
                    other.hear(term, self.now);
                }
            }
            let active = self.dogs.iter().flatten().filter(|dog| dog.is_active()).count();
            self.both += u32::from(active == 2);
            self.none += u32::from(active == 0);
            self.now = self.now.after(Time::us(10));
        }
    }

    #[test]
    fn the_secondary_takes_over_within_the_timeout_and_keeps_its_turn() {
        let mut pair = Pair::new();
        (0..537).for_each(|_| pair.step([true; 2]));
        assert_eq!((pair.both, pair.none), (0, 0));
        pair.dogs[0] = None;
        (0..300).for_each(|_| pair.step([true; 2]));
        assert!((90..=100).contains(&pair.none), "{} steps of 10 us", pair.none);
        pair.dogs[0] = Some(Watchdog::new(0, INTERVAL, TIMEOUT, pair.now));
        (0..300).for_each(|_| pair.step([true; 2]));
        assert!(pair.both <= 10, "{} steps of 10 us", pair.both);
        let active = pair.dogs.iter().map(|dog| dog.as_ref().is_some_and(Watchdog::is_active));
        assert_eq!(active.collect::<Vec<_>>(), [false, true]);
    }

    proptest! {
        #[test]
        fn soon_after_a_quiet_time_exactly_one_is_active(
            steps in prop::collection::vec((any::<bool>(), any::<bool>(), 0u8..40), 0..400)
        ) {
            let mut pair = Pair::new();
            for (a, b, what) in steps {
                match what {
                    0 | 1 => pair.dogs[usize::from(what)] = None,
                    2 | 3 => {
                        let rank = what - 2;
                        pair.dogs[usize::from(rank)] = Some(Watchdog::new(rank, INTERVAL, TIMEOUT, pair.now));
                    }
                    _ => {}
                }
                pair.step([a, b]);
            }
            for (rank, dog) in (0..).zip(&mut pair.dogs) {
                dog.get_or_insert_with(|| Watchdog::new(rank, INTERVAL, TIMEOUT, pair.now));
            }
            (0..115).for_each(|_| pair.step([true; 2]));
            (pair.both, pair.none) = (0, 0);
            (0..100).for_each(|_| pair.step([true; 2]));
            prop_assert_eq!((pair.both, pair.none), (0, 0));
        }
    }
}
