//! Two controllers of which one is in control: when it goes silent the other takes over (§7).
//!
//! The one in control says so at every beat. Terms count how often control was taken over; hosts obey the
//! latest term they have heard of, and the controller of an earlier one steps down when it hears of a
//! later. The silence before a take-over is longer than a timeslice: what the other permitted is over.

use slotline_net::id::HostId;
use slotline_net::time::Time;

/// One of two controllers.
#[derive(Clone, Copy, Debug)]
pub struct Standby {
    /// The other.
    pub peer: HostId,
    /// How often the one in control says so.
    pub beat: Time,
    /// After how much silence the other takes over.
    pub silence: Time,
    /// Whether this one is in control.
    pub active: bool,
    /// How often control was taken over, as far as it knows.
    pub term: u16,
    heard: Time,
}

/// What is to be done at a beat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beat {
    /// Say that this one is in control.
    Announce,
    /// Begin to control, and say so.
    TakeOver,
    /// Nothing.
    Wait,
}

impl Standby {
    /// A controller beside `peer`; `active`: the one that begins.
    pub fn new(peer: HostId, beat: Time, silence: Time, active: bool) -> Standby {
        Standby { peer, beat, silence, active, term: 0, heard: Time::ZERO }
    }
    /// It starts: silence counts from now on.
    pub fn start(&mut self, now: Time) {
        self.heard = now;
    }
    /// A beat is due.
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
    /// The peer says that it is in control; whether this one has to step down.
    pub fn on_peer_message(&mut self, term: u16, now: Time) -> bool {
        if term < self.term || (self.active && term == self.term) {
            return false;
        }
        self.heard = now;
        self.term = term;
        std::mem::take(&mut self.active)
    }
    /// A host obeys a later term; whether this one has to step down.
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
        /// A millisecond passes; whether what is said in it arrives.
        Beat(bool),
        /// One of the two starts anew.
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
        // The first starts again, believes that it is in control, and learns better.
        pair[0] = Standby::new(HostId(1), BEAT, SILENCE, true);
        beat(&mut pair, now + BEAT, true);
        assert_eq!(pair.map(|one| (one.active, one.term)), [(false, 1), (true, 1)]);
    }

    proptest! {
        /// Whatever happens: when messages arrive again, exactly one is in control soon.
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
