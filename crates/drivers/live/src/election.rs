//! The choice between two arbiters, one of which is active: it runs the node of the scheme.
//!
//! Each take-over has a term, higher than all before. Both arbiters never have the same term: those of the first are even,
//! those of the second odd. All messages of the scheme carry the term of their sender. Agents obey the highest term whose
//! arbiter says that it is active.
//!
//! An arbiter takes over when the active one has been silent, and a quorum of witnesses ([`crate::lease`]) says that no
//! other arbiter has a lease and then promises one. It runs the node only at times of its lease, which it renews all the
//! time. So an arbiter does not take over because the link between both has failed, one that has missed its end does not go
//! on, and one that reaches too few witnesses makes room for the other. An active one steps back if the other arbiter
//! itself has a higher term, or if so many witnesses know a higher one that it has no quorum: a single agent's claim is
//! not enough.

use crate::clock::Local;
use crate::lease::{Answer, Ask, Lease, MOST_TERMS, owner};
use std::time::Duration;

/// The time for which an arbiter listens after its start, for each arbiter up to it in rank.
const FIRST: Duration = Duration::from_millis(400);
/// How often an arbiter that has taken over says so to all agents, one beat after the other. Messages may be lost.
const ANNOUNCEMENTS: u8 = 3;

/// What an arbiter says about a term.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It knows the term.
    Knows,
    /// It is the active arbiter of the term.
    Active,
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

/// How the controllers of a scheme are shared out between two arbiters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Controllers {
    /// The scheme has one controller. It has the same number on either arbiter, and agents begin anew under another one.
    One,
    /// The scheme has a controller for each arbiter, and its agents change between them.
    Two,
}

/// The means of an election.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Standby {
    /// How controllers are shared out.
    pub controllers: Controllers,
    /// A silent arbiter is replaced after this time.
    pub timeout: Duration,
    /// The interval at which the active one says that it is active.
    pub beat: Duration,
    /// The numbers of the agents that are witnesses.
    pub witnesses: Vec<u32>,
}

impl Standby {
    /// How long a lease lasts: it is over when the other arbiter may take over.
    pub fn lease(timeout: Duration) -> Duration {
        timeout * 3 / 4
    }
    /// How long an arbiter tells agents that it has taken over.
    pub fn announcing(&self) -> Duration {
        self.beat * u32::from(ANNOUNCEMENTS)
    }
}

/// Network time: its epoch, and nanoseconds in it.
pub type Moment = (u64, u64);

/// What an arbiter has to say now.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Due {
    /// Questions to witnesses.
    pub asks: Vec<(u32, Ask)>,
    /// Whether to tell the other arbiter the own standing.
    pub beat: bool,
    /// Whether to tell it all agents.
    pub announce: bool,
}

/// What an arbiter does for its role.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// It waits until the other one has been silent.
    Listens,
    /// It asks whether witnesses are free, and then for a lease of a term, until some time.
    Asks { until: Local, term: Option<u64> },
    /// It is active.
    Active,
}

/// The role of one of two arbiters.
#[derive(Clone, Debug)]
pub struct Election {
    rank: u64,
    standby: Standby,
    lease: Lease,
    term: u64,
    phase: Phase,
    /// When an arbiter was last active: the other one, as far as it was heard, or this one.
    alive: Local,
    /// When this one may ask for a lease.
    opens: Local,
    beat: Local,
    announcements: u8,
    /// Since when an active one has no lease, and how often that happened.
    lapsed: Option<Local>,
    lapses: u64,
    take_overs: u64,
    silence: Duration,
}

impl Election {
    /// An arbiter that starts now. It listens first, because the other one may be active.
    pub fn new(rank: usize, standby: Standby, now: Local) -> Election {
        let opens = now.after(standby.timeout + FIRST * (rank as u32 + 1));
        Election {
            rank: rank as u64,
            lease: Lease::new(&standby.witnesses),
            standby,
            term: 0,
            phase: Phase::Listens,
            alive: now,
            opens,
            beat: now,
            announcements: 0,
            lapsed: None,
            lapses: 0,
            take_overs: 0,
            silence: Duration::ZERO,
        }
    }
    /// Its term, if it is active.
    pub fn active(&self) -> Option<u64> {
        (self.phase == Phase::Active).then_some(self.term)
    }
    /// Whether it may run the scheme's node at a moment.
    pub fn runs(&self, moment: Moment) -> bool {
        let (epoch, time) = moment;
        epoch == self.lease.epoch()
            && self.active().is_some_and(|term| self.lease.covers(term, time))
    }
    /// What it says about the highest term that it knows. One whose lease is over does not say that it is active.
    pub fn standing(&self) -> (u64, Standing) {
        let leads = self.phase == Phase::Active && self.lapsed.is_none();
        (self.term, if leads { Standing::Active } else { Standing::Knows })
    }
    /// How often it has taken over, and how long no arbiter had been active before the last time, as far as it knows.
    pub fn history(&self) -> (u64, Duration) {
        (self.take_overs, self.silence)
    }
    /// How often its lease has ended while it was active.
    pub fn lapses(&self) -> u64 {
        self.lapses
    }
    /// Other agents are the witnesses from now on.
    pub fn renew(&mut self, witnesses: Vec<u32>) {
        if witnesses != self.standby.witnesses {
            self.lease.replace(&witnesses);
            self.standby.witnesses = witnesses;
        }
    }
    /// The other arbiter has said something about a term.
    pub fn hear(&mut self, term: u64, standing: Standing, now: Local) -> Turn {
        let of_other = owner(term) != self.rank as usize;
        match standing {
            _ if term >= MOST_TERMS => Turn::Stay,
            Standing::Active if !of_other => Turn::Stay,
            Standing::Active if self.phase != Phase::Active => {
                self.term = self.term.max(term);
                self.alive = now;
                self.listen(now.after(self.standby.timeout));
                Turn::Stay
            }
            Standing::Active if term > self.term => self.step_back(term, now),
            Standing::Knows if self.phase != Phase::Active => {
                self.term = self.term.max(term);
                Turn::Stay
            }
            _ => Turn::Stay,
        }
    }
    /// A machine has answered a question. Only witnesses count.
    pub fn answered(&mut self, from: u32, answer: &Answer, now: Local) {
        self.lease.answered(from, answer, now);
    }

    /// Does what time and answers call for.
    pub fn check(&mut self, moment: Option<Moment>, now: Local) -> Turn {
        let Some(moment) = moment else { return Turn::Stay };
        if self.lease.enter(moment.0) && self.phase == Phase::Active {
            return self.step_back(self.term, now);
        }
        if self.phase == Phase::Listens && now >= self.opens {
            self.lease.forget();
            let until = now.after(Standby::lease(self.standby.timeout) * 2);
            (self.phase, self.beat) = (Phase::Asks { until, term: None }, now);
        }
        match self.phase {
            Phase::Listens => Turn::Stay,
            Phase::Active => self.keep(moment, now),
            Phase::Asks { until, .. } if now >= until => {
                // Promises must end before the next attempt, or both arbiters could have some for ever.
                let lease = Standby::lease(self.standby.timeout);
                self.listen(now.after(lease + lease / 2 * self.rank as u32));
                Turn::Stay
            }
            Phase::Asks { until, term: None } => {
                let since = Local(now.0.saturating_sub(self.standby.timeout.as_nanos() as u64 / 2));
                if self.lease.is_free(since) {
                    let known = self.term.max(self.lease.highest());
                    let term = Some(known + 1 + (known + 1 + self.rank) % 2);
                    (self.phase, self.beat) = (Phase::Asks { until, term }, now);
                }
                Turn::Stay
            }
            Phase::Asks { until, term: Some(term) } if self.lease.highest() > term => {
                (self.phase, self.beat) = (Phase::Asks { until, term: None }, now);
                Turn::Stay
            }
            Phase::Asks { term: Some(term), .. } if self.lease.covers(term, moment.1) => {
                (self.phase, self.term, self.beat) = (Phase::Active, term, now);
                (self.announcements, self.lapsed) = (ANNOUNCEMENTS, None);
                (self.take_overs, self.silence) = (self.take_overs + 1, now.since(self.alive));
                Turn::TakeOver
            }
            Phase::Asks { .. } => Turn::Stay,
        }
    }

    /// An active arbiter pauses while it has no lease, and steps back if that lasts, or if there is a higher term.
    fn keep(&mut self, moment: Moment, now: Local) -> Turn {
        if self.lease.covers(self.term, moment.1) {
            if self.lapsed.take().is_some() {
                // The other arbiter has been told otherwise.
                self.beat = now;
            }
            return Turn::Stay;
        }
        self.lapses += u64::from(self.lapsed.is_none());
        let since = *self.lapsed.get_or_insert(now);
        let highest = self.lease.highest();
        if highest > self.term || now.since(since) >= self.standby.timeout {
            return self.step_back(highest.max(self.term), now);
        }
        Turn::Stay
    }
    /// The moment of this arbiter was wrong, so what it has decided may belong to moments that are still to come. If it is active,
    /// it steps back: of another term, a later lease begins after all that was promised.
    pub fn resign(&mut self, now: Local) -> Turn {
        match self.phase {
            Phase::Active => self.step_back(self.term, now),
            Phase::Listens | Phase::Asks { .. } => Turn::Stay,
        }
    }
    fn step_back(&mut self, term: u64, now: Local) -> Turn {
        (self.term, self.alive, self.lapsed) = (term, now, None);
        self.listen(now.after(self.standby.timeout));
        Turn::StepBack
    }
    fn listen(&mut self, opens: Local) {
        self.lease.forget();
        (self.phase, self.opens) = (Phase::Listens, opens);
    }

    /// What it has to say now.
    pub fn due(&mut self, moment: Option<Moment>, now: Local) -> Due {
        let Some(moment) = moment.filter(|_| now >= self.beat) else { return Due::default() };
        if self.phase == Phase::Listens {
            return Due::default();
        }
        self.beat = now.after(self.standby.beat);
        let announce = self.announcements > 0 && self.standing().1 == Standing::Active;
        self.announcements -= u8::from(announce);
        Due { asks: self.asks(moment), beat: self.phase == Phase::Active, announce }
    }
    fn asks(&self, (epoch, from): Moment) -> Vec<(u32, Ask)> {
        let span = Standby::lease(self.standby.timeout).as_nanos() as u64;
        let ask = |term, until| Ask { term, epoch, from, until };
        match self.phase {
            Phase::Asks { term: None, .. } => {
                self.lease.witnesses().map(|to| (to, ask(self.term, from))).collect()
            }
            Phase::Active | Phase::Asks { .. } => {
                let term = match self.phase {
                    Phase::Asks { term: Some(term), .. } => term,
                    _ => self.term,
                };
                let short = self.lease.short(term, from + span * 2 / 3);
                short.map(|to| (to, ask(term, from + span))).collect()
            }
            Phase::Listens => Vec::new(),
        }
    }
    /// The time until [`Election::check`] or [`Election::due`] has something to do.
    pub fn next(&self, now: Local) -> Duration {
        let at = if self.phase == Phase::Listens { self.opens } else { self.beat };
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
        let begins = owner(term) == at
            && term < MOST_TERMS
            && (term > self.term || (term == self.term && self.by.is_none()));
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
#[path = "election_tests.rs"]
mod tests;
