//! Departures from hosts that are certain when transports pass packets to the network card.
//!
//! A host with classes selects each packet when its card is free, which is a second event for each packet. If all packets
//! are of one class and none is paused, they leave in order. They then go into the calendar at once, as at a FIFO port, and those
//! that have begun to leave are reported to the host before its next event, because the bytes that wait limit its transports.
//! While connections wait for room, the port asks when each packet begins to leave. Results are those of a port that
//! always asks.

use crate::ahead_queue::{Ahead, AheadQueue, Started};
use crate::departure::leaving;
use crate::item::NONE;
use crate::links::{Links, own};
use crate::network::Place;
use crate::node_events::NodeEvent;
use crate::shard::Shard;
use slotline_net::frame::Packet;
use slotline_net::id::PortId;
use slotline_net::node::host::Host;
use slotline_net::node::{Cx, Payloads};
use slotline_net::time::Time;

impl Shard {
    /// Lets hosts whose packets leave in order decide ahead, unless links change, or all packets of a port are recorded, which are
    /// wanted when they leave.
    pub fn hosts_decide_ahead(&mut self) {
        let links = &mut self.links;
        let captures = links.recorder.as_ref().is_some_and(|recorder| recorder.captures());
        if captures || links.shared.changes {
            return;
        }
        let mut any = false;
        for place in &mut self.places {
            if let Place::Host(host) = place {
                any |= host.hand_over_queue();
            }
        }
        if any {
            links.ahead.resize_with(links.lines.len(), AheadQueue::default);
        }
    }

    /// Carries out the requests that a host made in a call at `now`. If one of its packets begins to leave, connections that
    /// wait for room have it at once. If they still wait, the port asks when the next packet begins to leave.
    #[inline]
    pub fn carry_out_ahead(&mut self, host: &mut Host, id: usize, now: u64) {
        let mut started = self.drain_to::<true>(id, now);
        while started > 0 {
            host.left(started);
            if !host.is_blocked() {
                break;
            }
            host.resume_blocked(&mut Cx::new(Time::ps(now), &mut self.effects));
            started = self.drain_to::<true>(id, now);
        }
        self.hold = Time::ZERO;
        if host.is_blocked() {
            self.ask_at_next(id);
        }
    }

    /// The port of host `id` asks when the next packet begins to leave.
    fn ask_at_next(&mut self, id: usize) {
        let base = self.links.shared.layout.first[id];
        let at = (base - self.links.first_port) as usize;
        let Some(next) = self.links.ahead[at].front().map(|next| next.start) else { return };
        if !self.links.lines[at].is_armed() {
            self.links.lines[at].arm();
            self.links.schedule(id, next, own::FREE, 0);
        }
    }

    /// At the end of the run, which reached `reached`: packets count as sent if they have begun to leave.
    pub fn finish_hosts(&mut self, reached: u64) {
        let links = &mut self.links;
        let until = links.window_end.max(reached).min(links.shared.end);
        for (at, place) in self.places.iter_mut().enumerate() {
            let Place::Host(host) = place else { continue };
            if host.is_reported() {
                let base = links.shared.layout.first[self.first_node + at];
                links.report_left(base, host, until);
                if let Some(recorder) = &mut links.recorder {
                    recorder.take_back((base - links.first_port) as usize, until);
                }
            }
        }
    }
}

impl Links {
    /// Reports the packets of `port` that have begun to leave before `until` to the host.
    #[inline]
    pub fn report_left(&mut self, port: u32, host: &mut Host, until: u64) {
        let at = (port - self.first_port) as usize;
        let (queue, mut started) = (&mut self.ahead[at], Started::default());
        queue.started(until).for_each(|ahead| started.add(ahead.leaving.len));
        if started.packets > 0 {
            queue.remove(started.packets);
            self.lines[at].count_all(&started);
            host.left(started.bytes);
        }
    }

    /// Sends a packet of a host by `port`, in a call at `now` for the event `turn`. If the port is idle, it begins to leave after
    /// `hold`. Returns its length if it does not wait for others.
    #[inline]
    pub fn send_in_order(
        &mut self,
        port: u32,
        packet: &Packet,
        turn: NodeEvent,
        (now, hold): (u64, u64),
        payloads: &mut Payloads,
    ) -> u64 {
        let at = (port - self.first_port) as usize;
        let line = &mut self.lines[at];
        // A port that is free now becomes so in its turn among the events of the same time.
        let in_turn = || NodeEvent::new(now, own::FREE, 0);
        let waits = line.free_at > now || (line.is_busy(now) && turn < in_turn());
        let start = if line.free_at < now { now + hold } else { line.free_at };
        line.free_at = start + line.time_for(packet.len);
        if !waits {
            line.count(packet.len);
        }
        let (time, to) = line.arrival(line.free_at);
        if let Some(recorder) = &mut self.recorder {
            recorder.note_ahead(at, line, packet, (waits, time), now);
        }
        self.deliver(time, to, packet, payloads);
        if !waits {
            return packet.len.into();
        }
        let leaving = leaving(packet, PortId(0), now);
        self.ahead[at].push_with_memory(&Ahead { start, position: NONE, leaving });
        0
    }
}
