//! FIFO ports whose discipline decides when packets leave (CoDel).
//!
//! Packets leave in the order in which they arrive, so the waiting time of each is known when it arrives. As long as the
//! discipline certainly passes it, it is sent at once, as at any FIFO port. The discipline hears of its departure later: what
//! was behind it is known only then. Any other packet is held until it leaves, and all packets behind it with it.

use crate::ahead_queue::{Ahead, AheadQueue};
use crate::links::{Links, own};
use slotline_net::aqm::{Departure, Discipline as _, Left, Marker, Verdict};
use slotline_net::frame::{CE, ECT, Packet};
use slotline_net::node::egress::Leaving;
use slotline_net::node::{DropReason, Payloads};
use slotline_net::time::Time;
use std::collections::VecDeque;

/// A packet that may be dropped or marked when it leaves.
#[derive(Clone, Copy, Debug)]
struct Held {
    packet: Packet,
    /// When it arrived, ps.
    since: u64,
    /// The time to send it, ps.
    takes: u64,
}

/// What happens to the first packet that is held.
enum Turn {
    /// It starts at `start`.
    Leaves {
        held: Held,
        start: u64,
        is_marked: bool,
    },
    Dropped(Held),
    /// It is decided at this time.
    Later(u64),
    /// There is none.
    Nothing,
}

/// The packets of one port.
#[derive(Clone, Default, Debug)]
pub(crate) struct SojournQueue {
    /// The port.
    pub port: u32,
    /// Packets that were sent, and of whose departures the discipline has not heard.
    sent: AheadQueue,
    held: VecDeque<Held>,
    /// The time to send all packets that are held, ps.
    held_for: u64,
    /// The time of the event at which the first packet that is held is decided; zero if there is none.
    asks_at: u64,
    /// The bytes of the largest packet.
    mtu: u64,
}

impl SojournQueue {
    pub fn new(port: u32, mtu: u64) -> SojournQueue {
        SojournQueue { port, mtu, ..SojournQueue::default() }
    }

    /// A packet arrives that starts at `start`, unless others are dropped before. Returns whether it is sent. Otherwise it has
    /// to be [held](Links::hold).
    #[inline]
    pub fn sends(&mut self, marker: &mut Marker, arriving: Leaving, start: u64) -> bool {
        let now = arriving.since;
        let wait = Time::ps(start).since(now);
        let is_empty = self.sent.front().is_none() && self.held.is_empty();
        if is_empty && marker.forgets(wait) {
            return true;
        }
        self.follows(marker, arriving, (start, wait))
    }

    /// As [`SojournQueue::sends`], of a packet of which the discipline has to hear.
    #[inline(never)]
    fn follows(
        &mut self,
        marker: &mut Marker,
        arriving: Leaving,
        (start, wait): (u64, Time),
    ) -> bool {
        let now = arriving.since;
        self.hear(marker, now.as_ps());
        if marker.forgets(Time::ZERO) && !is_passed(marker, start, wait) {
            // It has not heard of packets that it would forget, and so does not know that it may promise more.
            let (sojourn, left) = (Time::ZERO, Left::Bytes(0));
            marker.leave(&Departure { now, sojourn, left, ect: false });
        }
        let is_certain = self.held.is_empty() && is_passed(marker, start, wait);
        if is_certain {
            self.sent.push_with_memory(&Ahead { start, position: 0, leaving: arriving });
        }
        is_certain
    }

    /// The discipline hears of all packets that started before `until`.
    fn hear(&mut self, marker: &mut Marker, until: u64) {
        let mut count = 0;
        for (nth, Ahead { start, leaving, .. }) in (0..).zip(self.sent.started(until)) {
            let now = Time::ps(*start);
            let sojourn = now.since(leaving.since);
            count += 1;
            if marker.forgets(sojourn) {
                continue;
            }
            let behind = || self.sent.behind(nth, now, self.mtu) + self.held_at(0, now);
            let left = Left::Bytes(if marker.passes(sojourn) { 0 } else { behind() });
            let verdict = marker.leave(&Departure { now, sojourn, left, ect: leaving.ect });
            debug_assert_eq!(verdict, Verdict::Pass, "the discipline promised to pass it");
        }
        self.sent.remove(count);
    }

    /// The bytes of packets that are held, without the first ones, and had arrived by `until`, counted up to the first packet
    /// above the largest.
    fn held_at(&self, without: usize, until: Time) -> u64 {
        let mut bytes = 0;
        for held in self.held.iter().skip(without).take_while(|it| it.since <= until.as_ps()) {
            bytes += u64::from(held.packet.len);
            if bytes > self.mtu {
                break;
            }
        }
        bytes
    }

    /// What happens at `now` to the first packet that is held, at a port that has sent all packets at `free_at` if none is
    /// dropped.
    fn next(&mut self, marker: &mut Marker, now: u64, free_at: u64) -> Turn {
        let Some(&held) = self.held.front() else { return Turn::Nothing };
        let start = free_at - self.held_for;
        let sojourn = Time::ps(start - held.since);
        let verdict = if start > now {
            if !is_passed(marker, start, sojourn) {
                return Turn::Later(start);
            }
            let leaving = Leaving::arriving(&held.packet, Time::ps(held.since));
            self.sent.push_with_memory(&Ahead { start, position: 0, leaving });
            Verdict::Pass
        } else {
            self.hear(marker, start);
            let now = Time::ps(start);
            let (left, ect) = (Left::Bytes(self.held_at(1, now)), held.packet.has(ECT));
            marker.leave(&Departure { now, sojourn, left, ect })
        };
        self.held.pop_front();
        self.held_for -= held.takes;
        match verdict {
            Verdict::Drop => Turn::Dropped(held),
            _ => Turn::Leaves { held, start, is_marked: verdict == Verdict::Mark },
        }
    }

    /// The link fails at `now`. Returns the packets that were held.
    fn fail(&mut self, marker: &mut Marker, now: u64) -> VecDeque<Held> {
        self.hear(marker, now);
        self.sent.clear();
        (self.held_for, self.asks_at) = (0, 0);
        std::mem::take(&mut self.held)
    }
}

impl Links {
    /// The number of packets that ports hold.
    pub fn held(&self) -> u64 {
        self.cold.iter().flat_map(|cold| &cold.sojourn).map(|queue| queue.held.len() as u64).sum()
    }

    /// Holds a packet that arrived at `port`, which will have sent it when it has sent all.
    pub fn hold(&mut self, port: u32, packet: &Packet, now: u64, payloads: &mut Payloads) {
        let (line, cold) = self.line(port);
        let takes = line.time_for(packet.len);
        let Some(queue) = &mut cold.sojourn else { return };
        queue.held_for += takes;
        queue.held.push_back(Held { packet: *packet, since: now, takes });
        if queue.held.len() == 1 {
            self.decide(port, now, payloads);
        }
    }

    /// The event at which the first packet that `port` holds is decided, if its discipline decides when packets leave.
    pub fn turn(&mut self, port: u32, now: u64, payloads: &mut Payloads) {
        let (line, cold) = self.line(port);
        // Pulled ports have most of these events, and need not read the rest of their state.
        if !line.is_pulled() && cold.sojourn.is_some() {
            *self.events_of(port) -= 1;
            self.decide(port, now, payloads);
        }
    }

    /// Decides about packets that `port` holds, up to the first that has to wait for its turn.
    fn decide(&mut self, port: u32, now: u64, payloads: &mut Payloads) {
        loop {
            let (line, cold) = self.line(port);
            let (Some(queue), Some(marker)) = (&mut cold.sojourn, &mut cold.marker) else { return };
            match queue.next(marker, now, line.free_at) {
                Turn::Nothing => return,
                Turn::Later(start) => return self.ask_at(port, start),
                Turn::Dropped(held) => {
                    line.forget(held.packet.len, held.takes);
                    cold.early += 1;
                    self.lose(&held.packet, DropReason::Early, payloads);
                }
                Turn::Leaves { held, start, is_marked } => {
                    cold.marks += u64::from(is_marked);
                    let flags = held.packet.flags | (CE * u8::from(is_marked));
                    let packet = Packet { flags, ..held.packet };
                    self.start_held(port, &packet, start + held.takes, payloads);
                }
            }
        }
    }

    /// Sends a packet that `port` held, and whose last bit leaves at `end`.
    fn start_held(&mut self, port: u32, packet: &Packet, end: u64, payloads: &mut Payloads) {
        let (line, _) = self.line(port);
        let (time, to) = line.arrival(end);
        let free_at = std::mem::replace(&mut line.free_at, end);
        self.record(port, packet, time);
        self.line(port).0.free_at = free_at;
        self.deliver(time, to, packet, payloads);
    }

    /// Requests the event at which the first packet that `port` holds is decided, unless it was requested.
    fn ask_at(&mut self, port: u32, start: u64) {
        let Some(queue) = &mut self.line(port).1.sojourn else { return };
        if std::mem::replace(&mut queue.asks_at, start) != start {
            *self.events_of(port) += 1;
            let node = self.shared.layout.node[port as usize] as usize;
            let first = self.shared.layout.first[node];
            self.schedule(node, start, own::FREE, port - first);
        }
    }

    /// The number of events to come of the node of `port`.
    fn events_of(&mut self, port: u32) -> &mut u32 {
        let node = &self.shared.layout.node;
        let at = node[port as usize] - node[self.first_port as usize];
        &mut self.own_events[at as usize]
    }

    /// The link of `port` fails at `now`, and packets that it holds are lost.
    pub fn lose_held(&mut self, port: u32, now: u64, payloads: &mut Payloads) {
        let (line, cold) = self.line(port);
        let (Some(queue), Some(marker)) = (&mut cold.sojourn, &mut cold.marker) else { return };
        let lost = queue.fail(marker, now);
        lost.iter().for_each(|held| line.forget(held.packet.len, held.takes));
        lost.iter().for_each(|held| self.lose(&held.packet, DropReason::LinkDown, payloads));
    }
}

/// Whether the discipline certainly passes the next packet, which starts at `start` after a wait.
fn is_passed(marker: &Marker, start: u64, wait: Time) -> bool {
    marker.passes(wait) || Time::ps(start) < marker.passes_until()
}
