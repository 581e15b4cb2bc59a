//! The choice between two arbiters of a scheme that has one controller.
//!
//! The node of the scheme runs on one of them, the *active* one. Each take-over has a term, higher than all before. Both
//! arbiters never have the same term: those of the first are even, those of the second odd. All messages of the scheme carry
//! the term of their sender. Agents obey the highest term that they have heard of, and arbiters do not listen to others.
//!
//! An arbiter takes over when the active one has been silent. Agents are witnesses: they tell both arbiters the highest
//! term, and whether its arbiter lives. So an arbiter whose link to the other one alone has failed does not take over, and
//! an active one that has missed its end steps back when it hears of a higher term.

use crate::clock::Local;
use std::time::Duration;

/// The time for which an arbiter listens after its start, for each arbiter up to it in rank.
const FIRST: Duration = Duration::from_millis(400);
/// The number of beats within the time after which a silent arbiter is replaced.
const BEATS: u32 = 5;
/// No network has so many elections. An agent that claims a higher term is not believed, so terms never overflow.
const MOST: u64 = 1 << 62;

/// What a daemon says about a term.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It knows the term.
    Knows,
    /// It is the arbiter of the term.
    Active,
    /// It is an agent that heard the arbiter of the term a moment ago.
    Witness,
}

/// A change of an arbiter's role.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// It does not change.
    Stay,
    /// It begins to run the scheme's node.
    TakeOver,
    /// It ends its node.
    StepBack,
}

/// The role of one of two arbiters.
#[derive(Clone, Debug)]
pub struct Election {
    rank: u64,
    timeout: Duration,
    term: u64,
    active: bool,
    /// When the arbiter of the term was last known to live.
    alive: Local,
    /// How long it may be silent.
    patience: Duration,
    beat: Local,
    take_overs: u64,
    silence: Duration,
}

impl Election {
    /// An arbiter that starts now. It listens first, because the other one may be active. A silent one is replaced after
    /// `timeout`.
    pub fn new(rank: usize, timeout: Duration, now: Local) -> Election {
        let patience = timeout + FIRST * (rank as u32 + 1);
        Election {
            rank: rank as u64,
            timeout,
            term: 0,
            active: false,
            alive: now,
            patience,
            beat: now,
            take_overs: 0,
            silence: Duration::ZERO,
        }
    }
    /// Its term, if it is active.
    pub fn active(&self) -> Option<u64> {
        self.active.then_some(self.term)
    }
    /// What it says about the highest term that it knows.
    pub fn standing(&self) -> (u64, Standing) {
        (self.term, if self.active { Standing::Active } else { Standing::Knows })
    }
    /// How often it has taken over, and how long the other one had been silent before the last time.
    pub fn history(&self) -> (u64, Duration) {
        (self.take_overs, self.silence)
    }
    /// Another daemon has said something about a term.
    pub fn hear(&mut self, term: u64, standing: Standing, now: Local) -> Turn {
        let newer = term > self.term && term < MOST;
        if newer {
            self.term = term;
        }
        if term == self.term && (newer || standing != Standing::Knows) {
            (self.alive, self.patience) = (now, self.timeout);
        }
        match newer && std::mem::take(&mut self.active) {
            true => Turn::StepBack,
            false => Turn::Stay,
        }
    }
    /// Whether it takes over now.
    pub fn check(&mut self, now: Local) -> Turn {
        let silence = now.since(self.alive);
        if self.active || silence < self.patience {
            return Turn::Stay;
        }
        self.term += 1 + (self.term + 1 + self.rank) % 2;
        (self.active, self.beat, self.patience) = (true, now, self.timeout);
        (self.take_overs, self.silence) = (self.take_overs + 1, silence);
        Turn::TakeOver
    }
    /// Whether the other arbiter has to be told now that this one is active.
    pub fn beats(&mut self, now: Local) -> bool {
        let due = self.active && now >= self.beat;
        if due {
            self.beat = now.after(self.timeout / BEATS);
        }
        due
    }
    /// The time until [`Election::check`] or [`Election::beats`] has something to do.
    pub fn next(&self, now: Local) -> Duration {
        let at = if self.active { self.beat } else { self.alive.after(self.patience) };
        at.since(now)
    }
}

/// What an agent knows of two arbiters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Leadership {
    /// The highest term that it has heard of.
    pub term: u64,
    /// The arbiter of the term, if the agent has heard it.
    pub by: Option<usize>,
    /// How often that has been another one than before.
    pub changes: u64,
}

impl Leadership {
    /// Arbiter `at` says that it is active. Returns whether it begins to lead.
    pub fn leads(&mut self, at: usize, term: u64) -> bool {
        let begins = term > self.term || (term == self.term && self.by.is_none());
        if begins {
            self.changes += u64::from(self.by.is_some_and(|by| by != at));
            (self.term, self.by) = (term, Some(at));
        }
        begins
    }
    /// Whether arbiter `at` is that of the highest term.
    pub fn is_led_by(&self, at: usize, term: u64) -> bool {
        self.by == Some(at) && self.term == term
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TIMEOUT: Duration = Duration::from_millis(50);

    fn at(ms: u64) -> Local {
        Local(1 + ms * 1_000_000)
    }

    #[test]
    fn the_second_takes_over_after_silence_and_the_first_steps_back() {
        let mut first = Election::new(0, TIMEOUT, at(0));
        let mut second = Election::new(1, TIMEOUT, at(0));
        assert_eq!((first.check(at(449)), first.check(at(450))), (Turn::Stay, Turn::TakeOver));
        assert_eq!(first.standing(), (2, Standing::Active));
        assert_eq!(second.hear(2, Standing::Active, at(460)), Turn::Stay);
        assert_eq!((second.check(at(509)), second.check(at(510))), (Turn::Stay, Turn::TakeOver));
        assert_eq!((second.active(), second.history().1), (Some(3), TIMEOUT));
        assert!(second.beats(at(510)) && !second.beats(at(519)) && second.beats(at(520)));
        assert_eq!(first.hear(3, Standing::Knows, at(530)), Turn::StepBack, "an agent says so");
        assert_eq!((first.active(), first.check(at(579))), (None, Turn::Stay));
        assert_eq!(second.hear(u64::MAX, Standing::Knows, at(530)), Turn::Stay, "nonsense");
    }

    #[test]
    fn a_witness_keeps_an_arbiter_from_taking_over() {
        let mut second = Election::new(1, TIMEOUT, at(0));
        second.hear(2, Standing::Active, at(10));
        for ms in (20..500).step_by(20) {
            assert_eq!(second.hear(2, Standing::Witness, at(ms)), Turn::Stay);
            assert_eq!(second.check(at(ms + 19)), Turn::Stay);
        }
        assert_eq!(second.hear(2, Standing::Knows, at(520)), Turn::Stay);
        assert_eq!(second.check(at(540)), Turn::TakeOver, "agents do not hear it either");
    }

    #[test]
    fn an_agent_obeys_the_highest_term() {
        let mut known = Leadership::default();
        assert!(known.leads(0, 2) && !known.leads(0, 2) && known.leads(1, 3) && !known.leads(0, 2));
        assert!(known.is_led_by(1, 3) && !known.is_led_by(0, 3) && !known.is_led_by(1, 2));
        assert_eq!(known.changes, 1);
    }

    proptest! {
        /// Whatever arbiters hear, their terms differ, and an active one that hears of a higher term steps back.
        #[test]
        fn terms_are_never_shared(steps in prop::collection::vec((0u64..60, 0usize..2, any::<bool>()), 0..200)) {
            let mut both = [Election::new(0, TIMEOUT, at(0)), Election::new(1, TIMEOUT, at(0))];
            let mut now = 0;
            for (ms, who, hears) in steps {
                now += ms;
                both[who].check(at(now));
                let (term, standing) = both[who].standing();
                if hears {
                    both[1 - who].hear(term, standing, at(now));
                    prop_assert!(both[1 - who].active().is_none_or(|own| own >= term));
                }
                let terms = [both[0].active(), both[1].active()];
                prop_assert!(terms[0].is_none() || terms[0] != terms[1]);
                prop_assert!(terms[0].is_none_or(|term| term % 2 == 0));
            }
        }
    }
}
