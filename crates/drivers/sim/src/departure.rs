//! Departures of packets from pulled ports, decided when they arrive, in the calendar.

use crate::calendar::{Calendar, Entry};
use crate::line::Discipline;
use crate::links::{Links, own};
use crate::shard::Item;
use slotline_net::frame::{ECT, Packet};
use slotline_net::id::PortId;
use slotline_net::node::Payloads;
use slotline_net::node::egress::{Leaving, Passage, Sends, Stored};
use slotline_net::node::switch::Switch;
use slotline_net::time::Time;
use std::collections::VecDeque;

/// A packet in the calendar that had not started when it was put there.
#[derive(Clone, Copy)]
pub(crate) struct Ahead {
    /// When its first bit leaves, ps.
    pub start: u64,
    /// Its place in the calendar.
    pub position: u32,
    pub leaving: Leaving,
}

/// A packet that arrived by `from` at `now`.
#[inline(always)]
pub(crate) fn leaving(packet: &Packet, from: PortId, now: u64) -> Leaving {
    let (len, class, ect) = (packet.len, packet.class, packet.has(ECT));
    Leaving { len, class, ect, from, since: Time::ps(now) }
}

/// The packets of a port that have not started, in order.
pub(crate) type Waiting = VecDeque<Ahead>;

/// Where a packet is while it is handled.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    /// In the calendar.
    At(u32),
    /// The switch has made it.
    Made(Packet),
}

impl Source {
    #[inline(always)]
    pub(crate) fn packet<'a>(&'a self, calendar: &'a Calendar) -> &'a Packet {
        match self {
            Source::At(position) => &calendar.get(*position).packet,
            Source::Made(packet) => packet,
        }
    }
}

impl Links {
    /// The packets of `port` that have not started.
    #[inline]
    fn waiting(&mut self, port: u32) -> &mut Waiting {
        &mut self.ahead[(port - self.first_port) as usize]
    }

    /// When the present transmission of `port` ends.
    pub fn sends_until(&self, port: u32) -> u64 {
        let at = (port - self.first_port) as usize;
        let next = self.ahead.get(at).and_then(|waiting| waiting.front());
        next.map_or(self.lines[at].free_at, |next| next.start)
    }

    /// Reports the packets of `port` that started before `until` to the switch.
    #[inline]
    pub(crate) fn report_departures(
        &mut self,
        switch: &mut Switch,
        base: u32,
        port: PortId,
        until: u64,
    ) {
        let at = (base + u32::from(port.0) - self.first_port) as usize;
        let (waiting, line) = (&mut self.ahead[at], &mut self.lines[at]);
        if waiting.front().is_some_and(|first| first.start < until) {
            let next = || {
                let first = waiting.front().filter(|first| first.start < until)?;
                let departure = (first.leaving, Time::ps(first.start));
                line.count(first.leaving.len);
                waiting.pop_front();
                Some(departure)
            };
            switch.left(port, std::iter::from_fn(next));
        }
    }

    /// Takes the packets of `port` that start at `now` or later back into the switch. Returns whether there were any.
    pub(crate) fn take_back(
        &mut self,
        switch: &mut Switch,
        base: u32,
        port: PortId,
        now: u64,
    ) -> bool {
        self.report_departures(switch, base, port, now);
        let index = base + u32::from(port.0);
        if let Some(recorder) = &mut self.recorder {
            recorder.take_back((index - self.first_port) as usize, now);
        }
        let mut waiting = std::mem::take(self.waiting(index));
        if let Some(first) = waiting.front() {
            self.line(index).0.free_at = first.start;
        }
        let any = !waiting.is_empty();
        let own = self.shared.layout.own(self.shared.layout.node[index as usize] as usize);
        for Ahead { position, leaving, .. } in waiting.drain(..) {
            let packet = self.calendar.void(position, own);
            let Leaving { from, since, .. } = leaving;
            switch.take_back(port, Stored { packet, from, since });
        }
        *self.waiting(index) = waiting;
        any
    }
}

/// The departure of a packet from a pulled port.
#[derive(Clone, Copy)]
pub(crate) struct Departure {
    /// The index of the port among those of the shard.
    at: usize,
    pub sends: Sends,
    /// When and where it arrives.
    arrival: (u64, u32),
}

impl Links {
    /// The departure of a packet of `len` bytes that arrives at `now`, if its arrival can be put into the calendar, where
    /// it must stay in its place until it has started.
    #[inline(always)]
    pub(crate) fn departure(&self, at: usize, len: u16, now: u64) -> Option<Departure> {
        let line = &self.lines[at];
        let (busy, start) = (line.is_busy(now), line.free_at.max(now));
        let end = start + line.time_for(len);
        let arrival = line.arrival(end);
        let stays = line.discipline() == Discipline::Pulled
            && (!busy || (self.is_mine(arrival.1) && self.calendar.is_near(arrival.0)));
        let sends = Sends { start: Time::ps(start), end: Time::ps(end), waits: busy };
        stays.then_some(Departure { at, sends, arrival })
    }

    /// Puts a packet that was admitted into the calendar. Its departure is reported to the switch later, if it waits.
    #[inline(always)]
    pub(crate) fn send_ahead(
        &mut self,
        (switch, out): (&mut Switch, PortId),
        departure: &Departure,
        source: &Source,
        flags: u8,
        leaving: Leaving,
        payloads: &mut Payloads,
    ) {
        let Departure { at, sends, arrival: (time, to) } = *departure;
        self.lines[at].free_at = sends.end.as_ps();
        if self.recorder.is_some() {
            let packet = *source.packet(&self.calendar);
            let packet = Packet { flags: packet.flags | flags, ..packet };
            self.record_ahead(at, &packet, (sends.waits, time), leaving.since.as_ps());
        }
        let position = match source {
            Source::At(position) if self.is_mine(to) => {
                self.calendar.push_again(*position, time, to, flags)
            }
            _ => {
                let packet = source.packet(&self.calendar);
                let packet = Packet { flags: packet.flags | flags, ..*packet };
                self.deliver(time, to, &packet, payloads)
            }
        };
        if !sends.waits {
            return self.lines[at].count(leaving.len);
        }
        if self.ahead[at].len() == self.ahead[at].capacity() {
            self.make_space(switch, out, at, leaving.since.as_ps());
        }
        self.ahead[at].push_back(Ahead { start: sends.start.as_ps(), position, leaving });
    }

    /// Forwards a packet that came by port `from` of the switch whose first port is `base`, and leaves by the port of
    /// `item`, if its departure is certain. Nothing has changed if it is not, or if there may be no room.
    #[inline(always)]
    pub(crate) fn forward_ahead(
        &mut self,
        switch: &mut Switch,
        (from, base): (PortId, u32),
        item: &Item,
        payloads: &mut Payloads,
    ) -> Passage {
        let (now, out) = (item.time(self.window_start), PortId(item.out as u16));
        let packet = &self.calendar.get(item.position).packet;
        let leaving = leaving(packet, from, now);
        let port = (base + item.out - self.first_port) as usize;
        let Some(departure) = self.departure(port, leaving.len, now) else {
            return Passage::Uncertain;
        };
        let passage = switch.pass(out, &leaving, &departure.sends, false);
        let flags = match passage {
            Passage::Sent(flags) => flags,
            Passage::Notified => 0,
            Passage::Uncertain | Passage::NoRoom | Passage::Refused(_) => return passage,
        };
        let source = Source::At(item.position);
        self.send_ahead((switch, out), &departure, &source, flags, leaving, payloads);
        passage
    }

    /// Forgets what has started, because there is no space for more.
    #[inline(never)]
    fn make_space(&mut self, switch: &mut Switch, out: PortId, at: usize, now: u64) {
        let base = self.first_port + at as u32 - u32::from(out.0);
        self.report_departures(switch, base, out, now);
    }
}

impl Links {
    /// Records a packet that was admitted at the port `at` of the shard, if it is followed: whether it waits, and when it
    /// arrives. Single values are passed, because a structure would be written for every packet.
    #[cold]
    pub(crate) fn record_ahead(
        &mut self,
        at: usize,
        packet: &Packet,
        (waits, time): (bool, u64),
        now: u64,
    ) {
        let port = self.first_port + at as u32;
        if waits { self.expect(port, packet, time, now) } else { self.record(port, packet, time) }
    }
}

impl Calendar {
    /// Turns the event at `position` into one that means nothing, of the node with the slot `own`. Returns its packet.
    fn void(&mut self, position: u32, own: u32) -> Packet {
        let entry = self.get_mut(position);
        let packet = Packet { flow: own::NOTHING, ..Packet::default() };
        let voided = Entry { time: entry.time, to: own, packet };
        std::mem::replace(entry, voided).packet
    }
}
