//! Two controllers, one of which is in control. When it is silent the other takes over (§7).
//!
//! The controller in control sends a message at every beat. Terms count how often control was taken over.
//! Hosts follow the latest term that they know, and the controller of an earlier term steps down when it
//! hears of a later one. The silence before a take-over is longer than a timeslice, so that all permissions
//! of the other controller are over.

use slotline_net::id::HostId;
use slotline_net::time::Time;

/// One of two controllers.
#[derive(Clone, Copy, Debug)]
pub struct Standby {
    /// The host of the other controller.
    pub peer: HostId,
    /// The time between two messages of the controller in control.
    pub beat: Time,
    /// The other controller takes over after this much silence.
    pub silence: Time,
    /// Whether this one is in control.
    pub active: bool,
    /// How often control was taken over, as far as this controller knows.
    pub term: u16,
    heard: Time,
}

/// The action at a beat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beat {
    /// Announce that this controller is in control.
    Announce,
    /// Take control, and announce it.
    TakeOver,
    /// Nothing.
    Wait,
}

impl Standby {
    /// Makes a controller beside `peer`. The `active` one has control first.
    pub fn new(peer: HostId, beat: Time, silence: Time, active: bool) -> Standby {
        Standby { peer, beat, silence, active, term: 0, heard: Time::ZERO }
    }
    /// Starts. Silence counts from now on.
    pub fn start(&mut self, now: Time) {
        self.heard = now;
    }
    /// Handles a beat.
    pub fn beat(&mut self, now: Time) -> Beat {
        if self.active {
            return Beat::Announce;
        }
        if now.since(self.heard) < self.silence {
            return Beat::Wait;
        }
        self.active = true;
        self.term = self.term.saturating_add(1);
        Beat::TakeOver
    }
    /// Handles a message in which the peer says that it is in control. Returns whether this one has to step
    /// down.
    pub fn on_peer_message(&mut self, term: u16, now: Time) -> bool {
        if term < self.term || (self.active && term == self.term) {
            return false;
        }
        self.heard = now;
        self.term = term;
        std::mem::take(&mut self.active)
    }
    /// Handles the term in a host's message. Returns whether this one has to step down.
    pub fn on_host_message(&mut self, term: u16, now: Time) -> bool {
        if term <= self.term {
            return false;
        }
        self.term = term;
        let active = std::mem::take(&mut self.active);
        if active {
            self.heard = now;
        }
        active
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BEAT: Time = Time::ms(1);
    const SILENCE: Time = Time::ms(5);

    #[derive(Clone, Copy, Debug)]
    enum Step {
        /// A millisecond passes. The field is whether the messages in it arrive.
        Beat(bool),
        /// One of the two restarts.
        Restart(usize),
    }

    fn pair() -> [Standby; 2] {
        [true, false].map(|first| Standby::new(HostId(0), BEAT, SILENCE, first))
    }
    fn beat(pair: &mut [Standby; 2], now: Time, arrives: bool) {
        for at in 0..2 {
            if pair[at].beat(now) != Beat::Wait && arrives {
                let term = pair[at].term;
                pair[1 - at].on_peer_message(term, now);
            }
        }
    }

    #[test]
    fn the_standby_takes_over_and_the_other_stays_behind() {
        let mut pair = pair();
        (1..10).for_each(|ms| beat(&mut pair, Time::ms(ms), true));
        assert_eq!(pair.map(|one| one.active), [true, false]);
        let last = Time::ms(9);
        let mut now = last;
        while pair[1].beat(now) == Beat::Wait {
            now += BEAT;
        }
        assert_eq!(now.since(last), SILENCE);
        // The first restarts as if it were in control, and steps down after a message.
        pair[0] = Standby::new(HostId(1), BEAT, SILENCE, true);
        beat(&mut pair, now + BEAT, true);
        assert_eq!(pair.map(|one| (one.active, one.term)), [(false, 1), (true, 1)]);
    }

    proptest! {
        /// Whatever has happened, exactly one is in control soon after messages arrive again.
        #[test]
        fn one_is_in_control_in_the_end(
            steps in prop::collection::vec(prop_oneof![
                any::<bool>().prop_map(Step::Beat), (0usize..2).prop_map(Step::Restart)
            ], 0..60)
        ) {
            let mut pair = pair();
            let mut now = Time::ZERO;
            for step in steps {
                match step {
                    Step::Beat(arrives) => {
                        now += BEAT;
                        beat(&mut pair, now, arrives);
                    }
                    Step::Restart(at) => {
                        pair[at] = Standby::new(HostId(0), BEAT, SILENCE, at == 0);
                        pair[at].start(now);
                    }
                }
            }
            for _ in 0..12 {
                now += BEAT;
                beat(&mut pair, now, true);
                // Hosts obey the latest term.
                let latest = pair.map(|one| one.term).into_iter().max().unwrap_or(0);
                pair.iter_mut().for_each(|one| { one.on_host_message(latest, now); });
            }
            prop_assert_eq!(pair.iter().filter(|one| one.active).count(), 1, "{:?}", pair);
        }
    }
}
