//! The exchange of messages with all endpoints of an arbiter at once. What the next messages need is read
//! together, so that the processor waits for several memory accesses at the same time, and several
//! authentication codes are computed in parallel. The result is that of the sessions one by one.

use super::{ArbiterEvent, ArbiterSession, Denied};
use crate::wire::fcp::{Grant, LANES, Message, Record, seal, siphash_lanes};
use slotline_net::time::Time;
use std::hint::black_box;
use std::ops::Range;

/// Several messages in one buffer, each from or for one session.
#[derive(Clone, Default, Debug)]
pub struct MessageBatch {
    bytes: Vec<u8>,
    /// The session of each message, and where the message ends.
    messages: Vec<(u32, u32)>,
}

impl MessageBatch {
    /// Removes all messages.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.messages.clear();
    }
    /// Adds a message.
    pub fn push(&mut self, session: u32, message: &[u8]) {
        self.bytes.extend_from_slice(message);
        self.messages.push((session, self.bytes.len() as u32));
    }
    /// The number of messages.
    pub const fn len(&self) -> usize {
        self.messages.len()
    }
    /// Whether there are no messages.
    pub const fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
    /// The messages, each with the number of its session.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        (0..self.len()).map(|at| (self.messages[at].0, &self.bytes[self.range(at)]))
    }
    fn range(&self, at: usize) -> Range<usize> {
        let start = at.checked_sub(1).map_or(0, |before| self.messages[before].1);
        start as usize..self.messages[at].1 as usize
    }
    /// Writes the codes of messages from index `from` on.
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

/// The grants of many endpoints at one time, in the order of their sessions.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct SessionGrants {
    grants: Vec<Grant>,
    /// Where the grants of each session begin, up to the last session that has any.
    starts: Vec<u32>,
}

impl SessionGrants {
    /// Removes all grants.
    pub fn clear(&mut self) {
        self.grants.clear();
        self.starts.clear();
    }
    /// Adds a grant for the last session or a later one.
    ///
    /// # Panics
    /// Panics if the grant is for an earlier session.
    pub fn push(&mut self, session: u32, grant: Grant) {
        let next = session as usize + 1;
        assert!(next >= self.starts.len(), "session {session} is earlier than the last one");
        self.starts.resize(next, self.grants.len() as u32);
        self.grants.push(grant);
    }
    /// All grants.
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }
    /// The grants of one session.
    pub fn of(&self, session: usize) -> &[Grant] {
        let start = |at| self.starts.get(at).map_or(self.grants.len(), |&start| start as usize);
        &self.grants[start(session)..start(session + 1)]
    }
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

/// Lets each session receive its messages, in their order. Appends their meaning to `events`, with the number
/// of the session. Sessions count refused messages.
///
/// # Panics
/// Panics if a message is for a session that is not among these.
pub fn receive_all(
    sessions: &mut [ArbiterSession],
    received: &MessageBatch,
    now: Time,
    events: &mut Vec<(u32, ArbiterEvent)>,
) {
    for first in (0..received.len()).step_by(LANES) {
        let group = || {
            (first..received.len().min(first + LANES))
                .map(|at| (received.messages[at].0, &received.bytes[received.range(at)]))
        };
        black_box(
            group().fold(0, |all, (at, bytes)| all ^ prefetch(&sessions[at as usize], bytes)),
        );
        let codes = codes(group(), sessions);
        for ((at, bytes), code) in group().zip(codes) {
            let session = &mut sessions[at as usize];
            // The session counts refused messages, and knows which answers are due.
            let _refused =
                session.receive_with_code(bytes, now, Some(code), |event| events.push((at, event)));
        }
    }
}

/// Reads the counts with which the demands of a message are compared.
fn prefetch(session: &ArbiterSession, bytes: &[u8]) -> u32 {
    Message::peek(bytes).fold(0, |all, record| match record {
        Record::Demand(totals) => {
            totals.iter().fold(all, |all, total| all ^ session.read_ahead(total.dst))
        }
        _ => all,
    })
}

/// Grants slots and lets every session write what may leave at `now`, in the order of the sessions. Bit 0 of
/// a grant's slots is `base`. Returns the reasons for denied grants, with the number of the session.
///
/// # Panics
/// Panics if grants are for a session that is not among these.
#[must_use]
pub fn send_grants(
    sessions: &mut [ArbiterSession],
    session_grants: &SessionGrants,
    base: u64,
    now: Time,
    messages_out: &mut MessageBatch,
) -> Vec<(u32, Denied)> {
    assert!(
        session_grants.starts.len() <= sessions.len(),
        "a grant is for a session that does not exist"
    );
    let mut all_denied = Vec::new();
    for first in (0..sessions.len()).step_by(LANES) {
        let from = messages_out.len();
        let group = first..sessions.len().min(first + LANES);
        let read = |at: usize| {
            session_grants
                .of(at)
                .iter()
                .fold(0, |all, grant| all ^ sessions[at].read_ahead(grant.dst))
        };
        black_box(group.clone().fold(0, |all, at| all ^ sessions[at].read_ahead(0)));
        black_box(group.clone().fold(0, |all, at| all ^ read(at)));
        for at in group {
            let grants = session_grants.of(at);
            let MessageBatch { bytes, messages } = messages_out;
            let written = |bytes: &mut Vec<u8>| messages.push((at as u32, bytes.len() as u32));
            let denied = |why| all_denied.push((at as u32, why));
            sessions[at].grant_all(base, grants, now, denied, written, bytes);
        }
        messages_out.seal(from, sessions);
    }
    all_denied
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fcp::{Config, EndpointSession};
    use crate::wire::fcp::Key;
    use proptest::prelude::*;

    const NODES: u32 = 20;

    fn config(me: u32, peer: u32) -> Config {
        let key = Key(std::array::from_fn(|i| (i as u32 * 7 + me.min(peer)) as u8));
        Config { longest: 200, ..Config::with_defaults(key, me, peer, NODES, u64::from(me)) }
    }

    /// A step: demand, grants (some beyond the demand), the time since the last step in µs, and the index of a
    /// damaged byte.
    type Step = (Vec<(u32, u32, u32)>, Vec<(u32, u32, u16, u64)>, u64, usize);

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let demand = prop::collection::vec((0..NODES, 0..NODES, 0u32..40), 0..60);
        let grants = prop::collection::vec((0..NODES, 0..NODES, 0u16..3, 0u64..16), 0..120);
        prop::collection::vec((demand, grants, 1u64..60, 0usize..20_000), 1..12)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

        /// A batch gives the same messages, events, refusals and counts as sessions one by one.
        #[test]
        fn a_batch_is_sessions_one_by_one(steps in steps()) {
            let mut ends: Vec<_> = (0..NODES).map(|me| EndpointSession::new(config(me, NODES))).collect();
            let mut one: Vec<_> = (0..NODES).map(|peer| ArbiterSession::new(config(NODES, peer))).collect();
            let mut all = one.clone();
            let (mut now, mut down, mut out) = (Time::ZERO, MessageBatch::default(), Vec::new());
            for (demand, mut grants, wait, damaged) in steps {
                now = now.after(Time::us(wait));
                for (src, dst, slots) in demand {
                    ends[src as usize].demand(dst, slots).unwrap();
                }
                let mut up = MessageBatch::default();
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
                receive_all(&mut all, &up, now, &mut events);
                for (at, bytes) in up.iter() {
                    let mut own = Vec::new();
                    one[at as usize].on_message(bytes, now, &mut own).ok();
                    expected.extend(own.into_iter().map(|event| (at, event)));
                }
                prop_assert_eq!(events, expected);
                grants.sort_unstable();
                let mut session_grants = SessionGrants::default();
                for &(session, dst, path, slots) in &grants {
                    session_grants.push(session, Grant { dst, path, slots });
                }
                down.clear();
                let denied = send_grants(&mut all, &session_grants, 1_000, now, &mut down);
                let (mut expected, mut messages_out) = (Vec::new(), MessageBatch::default());
                for (at, session) in (0..).zip(&mut one) {
                    for &(_, dst, path, slots) in grants.iter().filter(|grant| grant.0 == at) {
                        let granted = session.grant(dst, path, 1_000, slots);
                        expected.extend(granted.err().map(|why| (at, why)));
                    }
                    while session.poll_message(now, &mut out) {
                        messages_out.push(at, &out);
                    }
                }
                prop_assert_eq!(denied, expected);
                prop_assert_eq!(&down.messages, &messages_out.messages);
                prop_assert_eq!(&down.bytes, &messages_out.bytes);
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
