//! Leases: an arbiter runs the scheme's node only at times that a quorum of witnesses has promised to it.
//!
//! Witnesses are agents. A witness promises intervals of network time, and never the same time to two arbiters. Any two
//! quorums have a witness in common, so at no moment of network time two arbiters may run the node, whatever happens to
//! messages, and however wrong clocks are: intervals are compared by their values. A schedule that follows from network time
//! alone, such as the batches of Fastpass, is then never planned twice.
//!
//! A witness that has restarted does not know what it has promised, so it promises nothing for as long as a lease can last.

use crate::clock::Local;
use std::time::Duration;

/// No network has so many elections. Higher terms are not believed, so terms never overflow.
pub const MOST_TERMS: u64 = 1 << 62;

/// What an arbiter asks of a witness. Times are nanoseconds of network time in the epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ask {
    /// The term for which it asks.
    pub term: u64,
    /// The epoch of network time.
    pub epoch: u64,
    /// The present time.
    pub from: u64,
    /// The end of the lease; [`Ask::from`] if it only wants to know whether the witness is free.
    pub until: u64,
}

/// The answer of a witness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The term of the question.
    pub term: u64,
    /// The highest term for which the witness has promised anything.
    pub highest: u64,
    /// The epoch of the question.
    pub epoch: u64,
    /// What it has promised; nothing if both are equal.
    pub from: u64,
    /// See [`Answer::from`].
    pub until: u64,
    /// Whether no promise to another arbiter is in force.
    pub free: bool,
}

/// The arbiter to which a term belongs: those of the first arbiter are even, those of the second odd.
pub(crate) fn owner(term: u64) -> usize {
    (term % 2) as usize
}

/// How many of `count` witnesses an arbiter needs: so many that two quorums have a witness in common, and from four
/// witnesses on, one that is honest although one of all is not.
pub(crate) fn quorum(count: usize) -> usize {
    let dishonest = usize::from(count >= 4);
    (count + dishonest) / 2 + 1
}

/// A promise that a witness has given.
#[derive(Clone, Copy, Debug)]
struct Given {
    term: u64,
    epoch: u64,
    from: u64,
    until: u64,
    /// When it ends by the clock of the witness.
    ends: Local,
}

/// A witness.
#[derive(Clone, Copy, Debug)]
pub struct Witness {
    /// From when on it promises anything.
    from: Local,
    /// The longest lease.
    longest: Duration,
    highest: u64,
    last: Option<Given>,
}

impl Witness {
    /// A witness that starts now, of arbiters whose leases last for at most `longest`.
    pub fn new(longest: Duration, now: Local) -> Witness {
        Witness { from: now.after(longest), longest, highest: 0, last: None }
    }

    /// Answers arbiter `at`.
    pub fn answer(&mut self, at: usize, ask: &Ask, now: Local) -> Answer {
        let free = now >= self.from
            && self.last.is_none_or(|last| owner(last.term) == at || now >= last.ends);
        let promised = self.promise(at, ask, now);
        let (from, until) = promised.map_or((0, 0), |given| (given.from, given.until));
        let Ask { term, epoch, .. } = *ask;
        Answer { term, highest: self.highest, epoch, from, until, free }
    }

    fn promise(&mut self, at: usize, ask: &Ask, now: Local) -> Option<Given> {
        let span = Duration::from_nanos(ask.until.saturating_sub(ask.from));
        let valid = owner(ask.term) == at
            && (self.highest..MOST_TERMS).contains(&ask.term)
            && !span.is_zero()
            && span <= self.longest
            && now >= self.from;
        if !valid {
            return None;
        }
        let from = match self.last.filter(|last| last.epoch == ask.epoch) {
            // Nobody else was promised anything since the first promise of this term.
            Some(last) if last.term == ask.term => last.from,
            _ if self.last.is_some_and(|last| now < last.ends) => return None,
            Some(last) => ask.from.max(last.until),
            None => ask.from,
        };
        let before = self.last.filter(|last| (last.epoch, last.term) == (ask.epoch, ask.term));
        let until = before.map_or(ask.until, |last| last.until.max(ask.until));
        let ends = now.after(span).max(self.last.map_or(now, |last| last.ends));
        let given = Given { term: ask.term, epoch: ask.epoch, from, until, ends };
        if from >= until {
            return None;
        }
        (self.highest, self.last) = (ask.term, Some(given));
        self.last
    }
}

/// What an arbiter knows of a witness.
#[derive(Clone, Copy, Debug)]
struct Record {
    witness: u32,
    /// Term, begin and end of what it has promised to this arbiter.
    promised: Option<(u64, u64, u64)>,
    highest: u64,
    /// When it said that it is free.
    free: Option<Local>,
}

/// What the witnesses have promised to one arbiter.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    records: Vec<Record>,
    epoch: u64,
}

impl Lease {
    pub fn new(witnesses: &[u32]) -> Lease {
        let record = |&witness: &u32| Record { witness, promised: None, highest: 0, free: None };
        Lease { records: witnesses.iter().map(record).collect(), epoch: 0 }
    }
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
    fn quorum(&self) -> usize {
        quorum(self.records.len())
    }
    /// Forgets what was promised, and who was free.
    pub fn forget(&mut self) {
        self.records.iter_mut().for_each(|of| (of.promised, of.free) = (None, None));
    }
    /// From now on promises are of this epoch. Returns whether there was another one before.
    pub fn enter(&mut self, epoch: u64) -> bool {
        let before = std::mem::replace(&mut self.epoch, epoch);
        if before != epoch {
            self.forget();
        }
        before != epoch && before != 0
    }
    /// Other agents are witnesses. What those that stay have said still holds.
    pub fn replace(&mut self, witnesses: &[u32]) {
        let Lease { mut records, .. } = Lease::new(witnesses);
        for record in &mut records {
            let known = self.records.iter().find(|of| of.witness == record.witness);
            *record = known.copied().unwrap_or(*record);
        }
        self.records = records;
    }
    /// Takes an answer. Others than witnesses have no say.
    pub fn answered(&mut self, from: u32, answer: &Answer, now: Local) {
        let Some(record) = self.records.iter_mut().find(|of| of.witness == from) else { return };
        if answer.highest < MOST_TERMS {
            record.highest = answer.highest;
        }
        record.free = answer.free.then_some(now);
        if answer.epoch == self.epoch && answer.from < answer.until {
            record.promised = Some((answer.term, answer.from, answer.until));
        }
    }
    /// Whether a quorum has promised a moment in `term`.
    pub fn covers(&self, term: u64, time: u64) -> bool {
        let covered = |of: &&Record| {
            of.promised.is_some_and(|(t, from, until)| t == term && (from..until).contains(&time))
        };
        self.records.iter().filter(covered).count() >= self.quorum()
    }
    /// Whether a quorum was free since `since`.
    pub fn is_free(&self, since: Local) -> bool {
        let free = |of: &&Record| of.free.is_some_and(|at| at >= since);
        self.records.iter().filter(free).count() >= self.quorum()
    }
    /// The highest term for which so many witnesses have promised something that without them there is no quorum. One
    /// witness of three or more cannot claim a higher one.
    pub fn highest(&self) -> u64 {
        let mut terms: Vec<u64> = self.records.iter().map(|of| of.highest).collect();
        terms.sort_unstable_by(|a, b| b.cmp(a));
        terms.get(self.records.len().saturating_sub(self.quorum())).copied().unwrap_or(0)
    }
    /// The witnesses whose promise for `term` ends before `time`.
    pub fn short(&self, term: u64, time: u64) -> impl Iterator<Item = u32> {
        let short =
            move |of: &&Record| of.promised.is_none_or(|(t, _, until)| t != term || until < time);
        self.records.iter().filter(short).map(|of| of.witness)
    }
    pub fn witnesses(&self) -> impl Iterator<Item = u32> {
        self.records.iter().map(|of| of.witness)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LONGEST: Duration = Duration::from_millis(15);

    fn at(ms: u64) -> Local {
        Local(1 + ms * 1_000_000)
    }
    fn ask(term: u64, from: u64, until: u64) -> Ask {
        Ask { term, epoch: 1, from: from * 1_000_000, until: until * 1_000_000 }
    }
    fn promised(answer: Answer) -> (u64, u64) {
        (answer.from / 1_000_000, answer.until / 1_000_000)
    }

    #[test]
    fn a_witness_promises_a_time_once() {
        let mut witness = Witness::new(LONGEST, at(0));
        assert_eq!(promised(witness.answer(0, &ask(2, 14, 29), at(14))), (0, 0), "it has started");
        assert_eq!(promised(witness.answer(0, &ask(2, 15, 30), at(15))), (15, 30));
        assert_eq!(promised(witness.answer(0, &ask(2, 20, 35), at(20))), (15, 35));
        let refused = witness.answer(1, &ask(3, 34, 49), at(34));
        assert_eq!((promised(refused), refused.free, refused.highest), ((0, 0), false, 2));
        assert!(witness.answer(1, &ask(3, 36, 36), at(36)).free);
        // The clock of the other arbiter is behind.
        assert_eq!(promised(witness.answer(1, &ask(3, 30, 45), at(36))), (35, 45));
        assert_eq!(promised(witness.answer(0, &ask(2, 60, 70), at(60))), (0, 0), "an old term");
        assert_eq!(promised(witness.answer(0, &ask(5, 60, 70), at(60))), (0, 0), "not its term");
        assert_eq!(promised(witness.answer(0, &ask(4, 60, 76), at(60))), (0, 0), "too long");
        assert_eq!(promised(witness.answer(0, &ask(MOST_TERMS, 60, 70), at(60))), (0, 0));
        assert_eq!(promised(witness.answer(0, &ask(4, 60, 70), at(60))), (60, 70));
        let other = Ask { epoch: 2, ..ask(5, 1, 2) };
        assert_eq!(promised(witness.answer(1, &other, at(69))), (0, 0), "another epoch");
        assert_eq!(promised(witness.answer(1, &other, at(71))), (1, 2));
    }

    #[test]
    fn two_quorums_have_an_honest_witness_in_common() {
        for count in 1..40 {
            let common = 2 * quorum(count) - count.min(2 * quorum(count));
            assert!(common > usize::from(count >= 4), "{count}");
            assert!(quorum(count) <= count);
        }
        assert_eq!([1, 2, 3, 4, 5, 9].map(quorum), [1, 2, 2, 3, 4, 6]);
    }

    #[test]
    fn one_witness_cannot_claim_a_term() {
        let mut lease = Lease::new(&[0, 1, 2, 3]);
        lease.enter(1);
        let answer = Answer { term: 2, highest: 2, epoch: 1, from: 5, until: 9, free: true };
        (0..3).for_each(|of| lease.answered(of, &answer, at(1)));
        lease.answered(3, &Answer { highest: 99, ..answer }, at(1));
        lease.answered(77, &Answer { highest: 99, ..answer }, at(1));
        assert_eq!(lease.highest(), 2);
        assert!(lease.covers(2, 5) && !lease.covers(2, 9) && !lease.covers(4, 5));
        lease.answered(2, &Answer { highest: 7, ..answer }, at(1));
        assert_eq!(lease.highest(), 7, "two of four are enough to deny a quorum");
        lease.enter(2);
        assert!(!lease.covers(2, 5));
    }

    proptest! {
        /// Whatever arbiters ask, and whenever: what one witness promises to them in one epoch does not overlap.
        #[test]
        fn promises_never_overlap(asks in prop::collection::vec((0u64..8, 0u64..60, 1u64..20, 0u64..25), 1..80)) {
            let mut witness = Witness::new(LONGEST, at(0));
            let (mut now, mut given): (u64, Vec<(usize, u64, u64)>) = (15, Vec::new());
            for (term, from, span, gap) in asks {
                now += gap;
                let by = owner(term);
                let answer = witness.answer(by, &ask(term, from, from + span), at(now));
                let (from, until) = promised(answer);
                for (other, begin, end) in &given {
                    prop_assert!(*other == by || until <= *begin || *end <= from);
                }
                if from < until {
                    given.push((by, from, until));
                }
            }
        }
    }
}
