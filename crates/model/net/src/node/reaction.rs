//! A host's reaction point (IEEE 802.1Q, clause 32). If a congestion point has notified a connection, the connection is
//! limited at the network card, separately from others.

use super::agent::{AGENT_TOKENS, Agent};
use super::{Counters, Cx, PacketAccount, counters};
use crate::aqm::ReactionPoint;
use crate::aqm::spec::ReactionSpec;
use crate::frame::Packet;
use crate::id::{HostId, PortId};
use crate::prefetch::prefetch_value;
use crate::time::Time;
use crate::units::{Bytes, Rate};
use crate::wire::cnm::Cnm;
use std::collections::VecDeque;

/// A connection that is limited, or was.
struct Limited {
    flow: u32,
    point: ReactionPoint,
    waiting: VecDeque<Packet>,
    /// When its next packet may leave.
    next: Time,
}

/// The rate limiters of one host. Packets of connections without a limiter leave at once.
pub struct Reaction {
    spec: ReactionSpec,
    line: Rate,
    free: VecDeque<Packet>,
    /// The bytes of these packets.
    free_bytes: u64,
    /// By connection. They are served in turn, beginning with `turn`.
    limited: Vec<Limited>,
    turn: usize,
    /// The number of their packets.
    waiting: usize,
    /// Whether the next packet to leave is one of an unlimited connection.
    free_next: bool,
    /// The wake-up that was requested, so that none is requested twice.
    awake_at: Time,
    notices: u64,
    unread: u64,
}

impl Reaction {
    /// The reaction point of a host with a card of rate `line`.
    pub fn new(spec: ReactionSpec, line: Rate) -> Reaction {
        Reaction {
            spec,
            line,
            free: VecDeque::new(),
            free_bytes: 0,
            limited: Vec::new(),
            turn: 0,
            waiting: 0,
            free_next: false,
            awake_at: Time::MAX,
            notices: 0,
            unread: 0,
        }
    }

    /// Packets of a connection that is limited from now on wait separately, including those that were handed over
    /// before. Later packets would otherwise overtake them.
    fn hold_back(&mut self, at: usize) {
        let limited = &mut self.limited[at];
        if limited.point.limits() && limited.waiting.is_empty() {
            let of_flow = |packet: &Packet| packet.flow == limited.flow;
            limited.waiting = self.free.iter().copied().filter(of_flow).collect();
            self.free.retain(|packet| !of_flow(packet));
            self.waiting += limited.waiting.len();
            let held_back: u64 = limited.waiting.iter().map(|packet| u64::from(packet.len)).sum();
            self.free_bytes -= held_back;
        }
    }

    /// Takes the first packet of connections without a limiter.
    fn take_free(&mut self) -> Option<Packet> {
        let packet = self.free.pop_front()?;
        self.free_bytes -= u64::from(packet.len);
        Some(packet)
    }

    fn position(&self, flow: u32) -> Result<usize, usize> {
        self.limited.binary_search_by_key(&flow, |limited| limited.flow)
    }

    /// The connection that a notice names by its low 16 bits: of the latest packets of this host.
    fn named(&mut self, flow: u16) -> Option<usize> {
        self.limited.iter().position(|limited| limited.flow as u16 == flow)
    }

    /// The first connection in turn whose packet may leave now.
    fn ready(&self, now: Time) -> Option<usize> {
        if self.waiting == 0 {
            return None;
        }
        let may = |at: &usize| {
            let limited = &self.limited[*at];
            limited.next <= now && !limited.waiting.is_empty()
        };
        (self.turn..self.limited.len()).chain(0..self.turn).find(may)
    }

    fn take(&mut self, at: usize, now: Time) -> Option<Packet> {
        let limited = &mut self.limited[at];
        let packet = limited.waiting.pop_front()?;
        self.waiting -= 1;
        limited.point.passed(now);
        limited.point.sent(u32::from(packet.len));
        let span = limited.point.rate().inverse_rate().time_for(u64::from(packet.len));
        // If a packet had to wait for the card, this does not delay the next one.
        limited.next = limited.next.max(now.since(span)) + span;
        self.turn = if at + 1 < self.limited.len() { at + 1 } else { 0 };
        Some(packet)
    }

    /// Requests a wake-up for when the next packet may leave or a timer is due. Packets that may leave already wait
    /// only for the card.
    fn arrange(&mut self, cx: &mut Cx<'_>) {
        if self.waiting == 0 && self.spec.timer.is_none() {
            return;
        }
        let later = |at: Time| if at > cx.now { at } else { Time::MAX };
        let of = |limited: &Limited| {
            let packet = if limited.waiting.is_empty() { Time::MAX } else { limited.next };
            let timer = limited.point.due().filter(|_| limited.point.limits());
            later(packet).min(timer.map_or(Time::MAX, later))
        };
        let at = self.limited.iter().map(of).min().unwrap_or(Time::MAX);
        if at < Time::MAX && (at < self.awake_at || self.awake_at <= cx.now) {
            self.awake_at = at;
            cx.wake(at, AGENT_TOKENS);
        }
    }
}

impl Agent for Reaction {
    fn start(&mut self, _cx: &mut Cx<'_>) {}

    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let at = match self.position(packet.flow) {
            Ok(at) => at,
            Err(at) => {
                let point = ReactionPoint::new(self.spec, self.line);
                let waiting = VecDeque::new();
                let fresh = Limited { flow: packet.flow, point, waiting, next: Time::ZERO };
                self.limited.insert(at, fresh);
                at
            }
        };
        let limited = &mut self.limited[at];
        if limited.point.limits() || !limited.waiting.is_empty() {
            limited.waiting.push_back(packet);
            self.waiting += 1;
        } else {
            self.free_bytes += u64::from(packet.len);
            self.free.push_back(packet);
        }
        cx.kick(PortId(0));
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        // If both limited and free connections can send, they take turns.
        self.free_next = !self.free_next;
        if self.free_next
            && let Some(packet) = self.take_free()
        {
            return Some(packet);
        }
        let limited = self.ready(cx.now).and_then(|at| self.take(at, cx.now));
        let packet = limited.or_else(|| self.take_free());
        if packet.is_none() {
            self.arrange(cx);
        }
        packet
    }

    fn dequeue_again(&mut self, _cx: &mut Cx<'_>) -> Option<Packet> {
        self.free_next = !self.free_next;
        None
    }

    fn has_more(&self) -> bool {
        // If nothing waits, only a timer may have to be requested.
        let has_timer = || self.limited.iter().any(|limited| limited.point.limits());
        !self.free.is_empty() || self.waiting > 0 || (self.spec.timer.is_some() && has_timer())
    }

    fn expect(&self, step: usize) {
        let next = self.limited.get(self.turn);
        match step {
            0 => {
                prefetch_value(&self.free);
                prefetch_value(&self.limited);
                prefetch_value(&self.awake_at);
            }
            1 => {
                self.free.front().into_iter().for_each(prefetch_value);
                if let Some(limited) = next {
                    prefetch_value(&limited.waiting);
                    prefetch_value(&limited.point);
                    prefetch_value(&limited.next);
                }
            }
            _ => next.and_then(|next| next.waiting.front()).into_iter().for_each(prefetch_value),
        }
    }

    fn control(&mut self, message: &[u8], cx: &mut Cx<'_>) {
        let Ok(cnm) = Cnm::parse(message) else {
            self.unread += 1;
            return;
        };
        self.notices += 1;
        if let Some(at) = self.named(cnm.flow) {
            self.limited[at].point.notified(cnm.quantised, cx.now);
            self.hold_back(at);
            self.arrange(cx);
        }
    }

    fn expire(&mut self, _token: u32, cx: &mut Cx<'_>) {
        self.limited.iter_mut().for_each(|limited| limited.point.passed(cx.now));
        if self.awake_at <= cx.now {
            self.awake_at = Time::MAX;
        }
        cx.kick(PortId(0));
        self.arrange(cx);
    }

    fn queued(&self, dst: HostId) -> u64 {
        let free = self.free.iter();
        let limited = self.limited.iter().flat_map(|limited| &limited.waiting);
        free.chain(limited).filter(|p| p.dst == dst).map(|p| u64::from(p.len)).sum()
    }

    fn queued_with(&self, _dst: HostId, conn: u32) -> u64 {
        let Ok(at) = self.position(conn) else { return 0 };
        self.limited[at].waiting.iter().map(|packet| u64::from(packet.len)).sum()
    }

    fn has_room(&self, limit: Bytes) -> bool {
        self.free_bytes < limit.0
    }

    fn account(&self) -> PacketAccount {
        let held = (self.free.len() + self.waiting) as u64;
        PacketAccount { held, ..PacketAccount::default() }
    }

    fn add_counters(&self, counters: &mut Counters) {
        counters.add(counters::NOTICES, self.notices);
        counters.add(counters::UNREAD_NOTICES, self.unread);
        let slow = self.limited.iter().filter(|limited| limited.point.limits()).count();
        counters.add(counters::LIMITED_CONNECTIONS, slow as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Effects;
    use proptest::prelude::*;

    fn packet(flow: u32) -> Packet {
        Packet { flow, len: 1250, ..Packet::default() }
    }

    fn notice(flow: u16, quantised: u8) -> Vec<u8> {
        let nobody = crate::wire::mac_control::Mac([0; 6]);
        let cnm = Cnm {
            destination: nobody,
            source: nobody,
            flow,
            quantised,
            point: 0,
            offset: 0,
            delta: 0,
            priority: 0,
            sampled_to: nobody,
            sample: Vec::new(),
        };
        cnm.emit()
    }

    /// The packets that leave in a second if the card asks every 10 us (1 Gbit/s, 1250 bytes).
    fn sent(reaction: &mut Reaction, flows: &[u32]) -> Vec<usize> {
        let mut effects = Effects::default();
        let mut count = vec![0; flows.len()];
        for n in 0..100_000u64 {
            let mut cx = Cx::new(Time::us(10 * n), &mut effects);
            for &flow in flows {
                if reaction.queued_with(HostId(0), flow) < 10_000 && reaction.has_room(Bytes(3_000))
                {
                    reaction.enqueue(packet(flow), &mut cx);
                }
            }
            if let Some(sent) = reaction.dequeue(&mut cx) {
                count[flows.iter().position(|&flow| flow == sent.flow).unwrap()] += 1;
            }
            effects = Effects::default();
        }
        count
    }

    #[test]
    fn packets_of_a_connection_keep_their_order_when_it_is_limited() {
        let mut reaction = Reaction::new(ReactionSpec::default(), Rate(1_000_000_000));
        let mut effects = Effects::default();
        let mut cx = Cx::new(Time::ZERO, &mut effects);
        for seq in 0..4 {
            reaction.enqueue(Packet { seq, ..packet(1) }, &mut cx);
            reaction.enqueue(Packet { seq, ..packet(2) }, &mut cx);
        }
        reaction.control(&notice(1, 63), &mut cx);
        reaction.enqueue(Packet { seq: 4, ..packet(1) }, &mut cx);
        let mut left = Vec::new();
        for n in 0..1_000 {
            left.extend(reaction.dequeue(&mut Cx::new(Time::us(10 * n), &mut effects)));
        }
        let of = |flow| left.iter().filter(|p| p.flow == flow).map(|p| p.seq).collect::<Vec<_>>();
        assert_eq!((of(1), of(2)), (vec![0, 1, 2, 3, 4], vec![0, 1, 2, 3]));
    }

    #[test]
    fn a_notified_connection_sends_at_its_rate_and_others_at_once() {
        let spec = ReactionSpec { cycle: Bytes(u64::MAX / 4), ..ReactionSpec::default() };
        let mut reaction = Reaction::new(spec, Rate(1_000_000_000));
        let mut effects = Effects::default();
        reaction.enqueue(packet(70_000), &mut Cx::new(Time::ZERO, &mut effects));
        for _ in 0..2 {
            let mut cx = Cx::new(Time::ZERO, &mut effects);
            reaction.control(&notice(70_000u32 as u16, 63), &mut cx);
        }
        reaction.control(&[1, 2, 3], &mut Cx::new(Time::ZERO, &mut effects));
        // (65/128)² of a hundred thousand packets.
        let counts = sent(&mut reaction, &[70_000, 70_001]);
        assert!((25_700..25_900).contains(&counts[0]), "{counts:?}");
        assert!((74_000..74_400).contains(&counts[1]), "{counts:?}");
        assert_eq!((reaction.notices, reaction.unread), (2, 1));
        let held = reaction.account().held;
        assert_eq!(held, (reaction.queued(HostId(0)) / 1250), "{held}");
    }

    proptest! {
        /// Compared with a card that always asks, and asks in the same way when it asks again.
        #[test]
        fn a_card_need_not_ask_for_nothing(steps in prop::collection::vec((0u8..8, 0u32..3), 0..200)) {
            let new = || Reaction::new(ReactionSpec::default(), Rate(1_000_000_000));
            let (mut asked, mut ours, mut effects) = (new(), new(), Effects::default());
            for (n, (what, flow)) in (0..).zip(steps) {
                let mut cx = Cx::new(Time::us(5 * n), &mut effects);
                match what {
                    0..=2 => [&mut asked, &mut ours].map(|it| it.enqueue(packet(flow), &mut cx)),
                    3 => [&mut asked, &mut ours].map(|it| it.control(&notice(flow as u16, 9), &mut cx)),
                    4 => [&mut asked, &mut ours].map(|it| it.expire(AGENT_TOKENS, &mut cx)),
                    _ => {
                        let all = asked.dequeue(&mut cx).or_else(|| asked.dequeue(&mut cx));
                        let needed = ours.has_more().then(|| ours.dequeue(&mut cx).or_else(|| ours.dequeue_again(&mut cx)));
                        prop_assert_eq!(all.map(|packet| packet.flow), needed.flatten().map(|packet| packet.flow));
                        [(); 2]
                    }
                };
                prop_assert_eq!((asked.free_next, asked.awake_at), (ours.free_next, ours.awake_at));
                prop_assert_eq!(ours.free_bytes, ours.free.iter().map(|packet| u64::from(packet.len)).sum::<u64>());
            }
        }
    }
}
