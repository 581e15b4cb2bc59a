//! Loss detection at a sender (§5.2): when its transport retransmits a packet, the sender still knows the
//! path of the first transmission.

use crate::wire::fastpass::{Losses, MOST_LOSSES};
use slotline_net::frame::{Kind, Packet, RETRANSMITTED, TIMED_OUT};
use slotline_net::rng::mix64;
use slotline_net::time::Time;
use std::collections::{BTreeMap, VecDeque};

/// A packet that was sent.
struct Sent {
    conn: u32,
    seq: u32,
    at: Time,
    path: u16,
    place: u16,
}

/// The packets that were sent lately, in order, so that noting one is cheap. Each has a place, which depends on its
/// connection and number. It hides earlier ones at the same place, as in a table, so some losses are missed.
pub(super) struct LossTrace {
    sent: VecDeque<Sent>,
    /// A retransmission later than this shows no loss: the packet or its acknowledgement may have waited.
    within: Time,
    /// Whether packets do not say if they are retransmitted after a time-out, as those of real machines.
    unmarked: bool,
    /// Connections whose retransmissions follow a time-out, if packets do not say so, and until when.
    timed_out: BTreeMap<u32, Time>,
    losses: Vec<Losses>,
}

const PLACES: usize = 4_096;
/// The connection of a packet whose loss has been counted.
const UNKNOWN: u32 = u32::MAX;

impl LossTrace {
    /// `unmarked`: packets do not say if they are retransmitted after a time-out.
    pub fn new(within: Time, unmarked: bool) -> LossTrace {
        let timed_out = BTreeMap::new();
        LossTrace { sent: VecDeque::new(), within, unmarked, timed_out, losses: Vec::new() }
    }
    fn place(packet: &Packet) -> u16 {
        (mix64(u64::from(packet.flow) << 32 | u64::from(packet.seq)) as usize % PLACES) as u16
    }
    /// Whether a packet is of no use any more at `now`.
    fn is_old(&self, sent: &Sent, now: Time) -> bool {
        match self.unmarked {
            true => self.sent.len() >= PLACES,
            false => now.since(sent.at) > self.within,
        }
    }
    /// Notes that a packet leaves over a path.
    #[inline]
    pub fn on_send(&mut self, packet: &Packet, path: u16, at: Time) {
        if packet.kind != Kind::Data {
            return;
        }
        if self.sent.len() == self.sent.capacity() || self.unmarked {
            self.forget_old(at);
        }
        let (conn, seq, place) = (packet.flow, packet.seq, LossTrace::place(packet));
        self.sent.push_back(Sent { conn, seq, at, path, place });
    }
    /// Makes room. To look at the oldest packet each time would wait for memory.
    #[cold]
    fn forget_old(&mut self, now: Time) {
        while self.sent.front().is_some_and(|first| self.is_old(first, now)) {
            self.sent.pop_front();
        }
    }
    /// Finds a packet that was sent, and forgets it.
    fn forget(&mut self, packet: &Packet) -> Option<(u16, Time)> {
        let place = LossTrace::place(packet);
        let at = self.sent.iter().rposition(|sent| sent.place == place)?;
        let Sent { conn, seq, at: time, path, .. } = self.sent[at];
        if (conn, seq) != (packet.flow, packet.seq) {
            return None;
        }
        self.sent[at].conn = UNKNOWN;
        Some((path, time))
    }
    /// Handles a packet from the transport. A retransmission after acknowledgements of later packets shows a
    /// loss. One after a time-out does not, because the acknowledgement may have been lost.
    pub fn on_enqueue(&mut self, packet: &Packet, now: Time) {
        let again = packet.kind == Kind::Data && packet.has(RETRANSMITTED);
        if !again || packet.has(TIMED_OUT) {
            return;
        }
        let Some((path, at)) = self.forget(packet) else { return };
        match now.since(at) <= self.within {
            true if self.unmarked && self.has_timed_out(packet.flow, now) => {}
            true => self.count(packet.dst.0, path),
            // Transports wait longer for a time-out, and then send again what was not lost, too.
            false if self.unmarked => {
                self.timed_out.insert(packet.flow, now.after(self.within));
            }
            false => {}
        }
    }
    fn has_timed_out(&self, conn: u32, now: Time) -> bool {
        self.timed_out.get(&conn).is_some_and(|until| now < *until)
    }
    fn count(&mut self, dst: u32, path: u16) {
        let known = self.losses.iter().position(|loss| (loss.dst, loss.path) == (dst, path));
        if let Some(at) = known {
            self.losses[at].packets = self.losses[at].packets.saturating_add(1);
        } else if self.losses.len() < MOST_LOSSES {
            self.losses.push(Losses { dst, path, packets: 1 });
        }
    }
    /// Whether there are losses to report.
    pub fn has_losses(&self) -> bool {
        !self.losses.is_empty()
    }
    /// Losses since the last call.
    pub fn take(&mut self) -> Vec<Losses> {
        std::mem::take(&mut self.losses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use slotline_net::id::HostId;

    proptest! {
        /// A table without chains, in which a packet replaces another one at its place.
        #[test]
        fn losses_are_those_of_a_table(
            steps in prop::collection::vec((0u32..3, 0u32..150, any::<bool>(), 0u64..20), 0..600),
        ) {
            let mut trace = LossTrace::new(Time::us(900), false);
            let (mut table, mut losses) = (BTreeMap::new(), BTreeMap::<u16, u32>::new());
            let mut now = 0;
            for (at, (flow, seq, again, span)) in (0u16..).zip(steps) {
                now += span;
                let flags = if again { RETRANSMITTED } else { 0 };
                // Numbers of 97 connections share their places.
                let packet = Packet { flow: flow + seq % 97, seq: seq * 41, flags, ..Packet::default() };
                let (place, key) = (LossTrace::place(&packet), (packet.flow, packet.seq));
                if again {
                    trace.on_enqueue(&packet, Time::us(now));
                    if table.get(&place).is_some_and(|&(sent, _, _)| sent == key)
                        && let Some((_, path, sent)) = table.remove(&place)
                        && now - sent <= 900
                    {
                        *losses.entry(path).or_default() += 1;
                    }
                }
                trace.on_send(&packet, at % 4, Time::us(now));
                table.insert(place, (key, at % 4, now));
            }
            let found = trace.take().into_iter().map(|it| (it.path, it.packets.into()));
            prop_assert_eq!(found.collect::<BTreeMap<u16, u32>>(), losses);
        }
    }

    #[test]
    fn a_retransmission_names_the_path_of_the_first_one() {
        let packet =
            |seq, flags| Packet { dst: HostId(4), flow: 9, seq, flags, ..Packet::default() };
        let mut trace = LossTrace::new(Time::ms(1), false);
        trace.on_enqueue(&packet(1, RETRANSMITTED), Time::ZERO);
        (1..5).for_each(|seq| trace.on_send(&packet(seq, 0), seq as u16, Time::ZERO));
        for _ in 0..2 {
            trace.on_enqueue(&packet(2, RETRANSMITTED), Time::us(900));
            trace.on_enqueue(&packet(3, RETRANSMITTED | TIMED_OUT), Time::us(900));
            trace.on_enqueue(&packet(4, RETRANSMITTED), Time::us(1_100));
        }
        assert_eq!(trace.take(), [Losses { dst: 4, path: 2, packets: 1 }], "once, for number 2");
        assert!(!trace.has_losses());
    }

    #[test]
    fn after_a_time_out_nothing_shows_a_loss_for_a_while() {
        let packet = |flow, seq| Packet { flow, seq, flags: RETRANSMITTED, ..Packet::default() };
        let mut trace = LossTrace::new(Time::ms(1), true);
        let send = |trace: &mut LossTrace, at| {
            (1..5).for_each(|seq| trace.on_send(&packet(9, seq), 0, Time::us(at)));
            trace.on_send(&packet(8, 2), 1, Time::us(at));
        };
        send(&mut trace, 0);
        trace.on_enqueue(&packet(9, 1), Time::us(1_100));
        send(&mut trace, 1_200);
        trace.on_enqueue(&packet(9, 2), Time::us(2_000));
        trace.on_enqueue(&packet(8, 2), Time::us(2_000));
        trace.on_enqueue(&packet(9, 3), Time::us(2_200));
        let lost = |path| Losses { dst: 0, path, packets: 1 };
        assert_eq!(trace.take(), [lost(1), lost(0)], "of the other connection, and later");
    }
}
