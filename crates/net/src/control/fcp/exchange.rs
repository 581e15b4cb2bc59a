//! All endpoints of an arbiter at once: what the next messages need is read together, so that the
//! processor waits for the memory of all of them at the same time, and several codes are computed in
//! step. What comes out is what the sessions say one by one.

use super::{ArbiterEvent, ArbiterSession, Denied};
use crate::time::Time;
use crate::wire::fcp::{Grant, LANES, Message, Record, seal, siphash_lanes};
use std::hint::black_box;
use std::ops::Range;

/// Messages, one behind the other, each of or for one session.
#[derive(Clone, Default, Debug)]
pub struct Mail {
    bytes: Vec<u8>,
    /// Which session's, and where it ends.
    messages: Vec<(u32, u32)>,
}

impl Mail {
    /// Throws all messages away.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.messages.clear();
    }
    /// One more message.
    pub fn push(&mut self, session: u32, message: &[u8]) {
        self.bytes.extend_from_slice(message);
        self.messages.push((session, self.bytes.len() as u32));
    }
    /// How many messages there are.
    pub const fn len(&self) -> usize {
        self.messages.len()
    }
    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
    /// The messages, each with its session's number.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        (0..self.len()).map(|at| (self.messages[at].0, &self.bytes[self.range(at)]))
    }
    fn range(&self, at: usize) -> Range<usize> {
        let start = at.checked_sub(1).map_or(0, |before| self.messages[before].1);
        start as usize..self.messages[at].1 as usize
    }
    /// Puts in the codes of messages from this one on.
    fn seal(&mut self, from: usize, sessions: &[ArbiterSession]) {
        for first in (from..self.len()).step_by(LANES) {
            let group = first..self.len().min(first + LANES);
            let message = |at: usize| (self.messages[at].0, &self.bytes[self.range(at)]);
            let codes = codes(group.clone().map(message), sessions);
            for (at, code) in group.zip(codes) {
                let range = self.range(at);
                seal(&mut self.bytes[range], code);
            }
        }
    }
}

/// Slots for an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Award {
    /// Which session's endpoint.
    pub session: u32,
    /// Where to.
    pub dst: u32,
    /// Which of the paths there.
    pub path: u16,
    /// The timeslots, counted from a base.
    pub slots: u64,
}

/// The codes that these messages should have.
fn codes<'a>(
    messages: impl Iterator<Item = (u32, &'a [u8])>,
    sessions: &[ArbiterSession],
) -> [u64; LANES] {
    let none: (_, &[u8]) = (sessions[0].session().key(), &[]);
    let mut lanes = [none; LANES];
    for (lane, (session, bytes)) in lanes.iter_mut().zip(messages) {
        let signed = Message::signed(bytes).map_or(&[][..], |(signed, _)| signed);
        *lane = (sessions[session as usize].session().key(), signed);
    }
    siphash_lanes(lanes.map(|lane| lane.0), lanes.map(|lane| lane.1))
}

/// Has each message taken in by its session, in their order; appends what that means, with the session's
/// number. What is refused is counted by the session.
///
/// # Panics
/// If a message is for a session that is not among these.
pub fn take_in(
    sessions: &mut [ArbiterSession],
    mail: &Mail,
    now: Time,
    events: &mut Vec<(u32, ArbiterEvent)>,
) {
    for first in (0..mail.len()).step_by(LANES) {
        let group = || {
            (first..mail.len().min(first + LANES))
                .map(|at| (mail.messages[at].0, &mail.bytes[mail.range(at)]))
        };
        black_box(
            group().fold(0, |all, (at, bytes)| all ^ look_into(&sessions[at as usize], bytes)),
        );
        let codes = codes(group(), sessions);
        for ((at, bytes), code) in group().zip(codes) {
            let session = &mut sessions[at as usize];
            // Counted by the session, which also says what has to be answered.
            let _refused =
                session.take_in(bytes, now, Some(code), |event| events.push((at, event)));
        }
    }
}

/// Reads what the demands of a message are compared with.
fn look_into(session: &ArbiterSession, bytes: &[u8]) -> u32 {
    Message::peek(bytes).fold(0, |all, record| match record {
        Record::Demand(totals) => {
            totals.iter().fold(all, |all, total| all ^ session.read_ahead(total.dst))
        }
        _ => all,
    })
}

/// Grants slots, sorted by session, and has every session write what may leave at `now`, in the order of
/// the sessions. Returns those that were denied, with the session's number.
#[must_use]
pub fn hand_out(
    sessions: &mut [ArbiterSession],
    awards: &[Award],
    base: u64,
    now: Time,
    mail: &mut Mail,
) -> Vec<(u32, Denied)> {
    let (mut left, mut all_denied) = (awards, Vec::new());
    for first in (0..sessions.len()).step_by(LANES) {
        let from = mail.len();
        let group = first..sessions.len().min(first + LANES);
        let count = left.iter().take_while(|award| (award.session as usize) < group.end).count();
        let (awarded, others) = left.split_at(count);
        black_box(group.clone().fold(0, |all, at| all ^ sessions[at].read_ahead(0)));
        let read = |award: &Award| sessions[award.session as usize].read_ahead(award.dst);
        black_box(awarded.iter().fold(0, |all, award| all ^ read(award)));
        let mut own = awarded;
        for at in group {
            let count = own.iter().take_while(|award| award.session as usize == at).count();
            let (mine, rest) = own.split_at(count);
            let grants =
                mine.iter().map(|&Award { dst, path, slots, .. }| Grant { dst, path, slots });
            let Mail { bytes, messages } = mail;
            let written = |bytes: &mut Vec<u8>| messages.push((at as u32, bytes.len() as u32));
            let denied = |why| all_denied.push((at as u32, why));
            sessions[at].grant_all((base, grants), now, denied, written, bytes);
            own = rest;
        }
        mail.seal(from, sessions);
        left = others;
    }
    all_denied
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::fcp::{Config, EndpointSession};
    use crate::wire::fcp::Key;
    use proptest::prelude::*;

    const NODES: u32 = 20;

    fn config(me: u32, peer: u32) -> Config {
        let key = Key(std::array::from_fn(|i| (i as u32 * 7 + me.min(peer)) as u8));
        Config { longest: 200, ..Config::usual(key, me, peer, NODES, u64::from(me)) }
    }

    /// What happens in a step: demand, grants (some of them more than is wanted), how long until the
    /// next; and a byte that is damaged.
    type Step = (Vec<(u32, u32, u32)>, Vec<(u32, u32, u16, u64)>, u64, usize);

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let demand = prop::collection::vec((0..NODES, 0..NODES, 0u32..40), 0..60);
        let grants = prop::collection::vec((0..NODES, 0..NODES, 0u16..3, 0u64..16), 0..120);
        prop::collection::vec((demand, grants, 1u64..60, 0usize..20_000), 1..12)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

        /// All at once or one by one: the same messages, events, refusals and counts.
        #[test]
        fn together_is_one_by_one(steps in steps()) {
            let mut ends: Vec<_> = (0..NODES).map(|me| EndpointSession::new(config(me, NODES))).collect();
            let mut one: Vec<_> = (0..NODES).map(|peer| ArbiterSession::new(config(NODES, peer))).collect();
            let mut all = one.clone();
            let (mut now, mut down, mut out) = (Time::ZERO, Mail::default(), Vec::new());
            for (demand, mut grants, wait, damaged) in steps {
                now = now.after(Time::us(wait));
                for (src, dst, slots) in demand {
                    ends[src as usize].demand(dst, slots).unwrap();
                }
                let mut up = Mail::default();
                for (to, bytes) in down.iter() {
                    ends[to as usize].on_message(bytes, now, &mut Vec::new()).ok();
                }
                for (at, end) in (0..).zip(&mut ends) {
                    while end.poll_message(now, &mut out) {
                        up.push(at, &out);
                    }
                }
                if let Some(byte) = up.bytes.get_mut(damaged) {
                    *byte ^= 4;
                }
                let (mut events, mut expected) = (Vec::new(), Vec::new());
                take_in(&mut all, &up, now, &mut events);
                for (at, bytes) in up.iter() {
                    let mut own = Vec::new();
                    one[at as usize].on_message(bytes, now, &mut own).ok();
                    expected.extend(own.into_iter().map(|event| (at, event)));
                }
                prop_assert_eq!(events, expected);
                grants.sort_unstable();
                let award = |&(session, dst, path, slots)| Award { session, dst, path, slots };
                let awards: Vec<Award> = grants.iter().map(award).collect();
                down.clear();
                let denied = hand_out(&mut all, &awards, 1_000, now, &mut down);
                let (mut expected, mut mail) = (Vec::new(), Mail::default());
                for (at, session) in (0..).zip(&mut one) {
                    for award in awards.iter().filter(|award| award.session == at) {
                        let granted = session.grant(award.dst, award.path, 1_000, award.slots);
                        expected.extend(granted.err().map(|why| (at, why)));
                    }
                    while session.poll_message(now, &mut out) {
                        mail.push(at, &out);
                    }
                }
                prop_assert_eq!(denied, expected);
                prop_assert_eq!(&down.messages, &mail.messages);
                prop_assert_eq!(&down.bytes, &mail.bytes);
                for (one, all) in one.iter().zip(&all) {
                    prop_assert_eq!(one.session().counters(), all.session().counters());
                    prop_assert_eq!(one.deadline(), all.deadline());
                    let counts = |end: &ArbiterSession, dst| (end.demanded(dst), end.granted(dst));
                    prop_assert!((0..NODES).all(|dst| counts(one, dst) == counts(all, dst)));
                }
            }
        }
    }
}
