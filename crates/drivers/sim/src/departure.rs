//! Departures of packets from pulled ports, decided when they arrive, in the calendar.

use crate::ahead_queue::{Ahead, Started};
use crate::calendar::{Calendar, Entry};
use crate::item::Item;
use crate::line::Line;
use crate::links::{Links, own};
use slotline_net::frame::Packet;
use slotline_net::id::PortId;
use slotline_net::node::Payloads;
use slotline_net::node::egress::{Leaving, Passage, Sends, Stored};
use slotline_net::node::switch::Switch;
use slotline_net::time::Time;

/// A node whose packets wait in the calendar until they have left.
pub(crate) trait Departs {
    /// Packets left by `out`, each at a time. All packets are reported in order. `behind` is [`AheadQueue::behind`].
    fn report<'a>(
        &mut self,
        out: PortId,
        departures: impl Iterator<Item = (&'a Leaving, Time)>,
        behind: impl Fn(u32, Time, u64) -> u64,
    );
    /// Takes a packet that has not left. Packets that arrived later come first.
    fn return_to(&mut self, out: PortId, stored: Stored);
}

impl Departs for Switch {
    #[inline]
    fn report<'a>(
        &mut self,
        out: PortId,
        departures: impl Iterator<Item = (&'a Leaving, Time)>,
        behind: impl Fn(u32, Time, u64) -> u64,
    ) {
        self.left(out, departures, behind);
    }
    fn return_to(&mut self, out: PortId, stored: Stored) {
        self.take_back(out, stored);
    }
}

/// A packet that arrived by `from` at `now`.
#[inline(always)]
pub(crate) fn leaving(packet: &Packet, from: PortId, now: u64) -> Leaving {
    Leaving { from, ..Leaving::arriving(packet, Time::ps(now)) }
}

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
    /// The line of `port`, and when its present transmission ends.
    #[inline]
    pub fn sending(&self, port: u32) -> (&Line, u64) {
        let at = (port - self.first_port) as usize;
        let (line, waiting) = (&self.lines[at], self.ahead.get(at));
        let next = waiting.and_then(|waiting| waiting.front());
        (line, next.map_or(line.free_at, |next| next.start))
    }

    /// Reports the packets of `port` that started before `until` to the switch.
    #[inline]
    pub(crate) fn report_departures<S: Departs + ?Sized>(
        &mut self,
        switch: &mut S,
        base: u32,
        port: PortId,
        until: u64,
    ) {
        let at = (base + u32::from(port.0) - self.first_port) as usize;
        let waiting = &mut self.ahead[at];
        if waiting.front().is_none_or(|first| first.start >= until) {
            return;
        }
        let mut started = Started::default();
        let departures = waiting.started(until).map(|Ahead { start, leaving, .. }| {
            started.add(leaving.len);
            (leaving, Time::ps(*start))
        });
        let behind = |nth, until, enough| waiting.behind(nth, until, enough);
        switch.report(port, departures, behind);
        waiting.remove(started.packets);
        self.lines[at].count_all(&started);
    }

    /// Takes the packets of `port` that start at `now` or later back into the switch. Returns whether there were any.
    pub(crate) fn take_back<S: Departs + ?Sized>(
        &mut self,
        switch: &mut S,
        base: u32,
        port: PortId,
        now: u64,
    ) -> bool {
        self.report_departures(switch, base, port, now);
        let index = base + u32::from(port.0);
        if let Some(recorder) = &mut self.recorder {
            recorder.take_back((index - self.first_port) as usize, now);
        }
        let at = (index - self.first_port) as usize;
        let Some(first) = self.ahead[at].front() else { return false };
        self.lines[at].free_at = first.start;
        let own = self.shared.layout.own(self.shared.layout.node[index as usize] as usize);
        for Ahead { position, leaving, .. } in self.ahead[at].iter().rev() {
            let packet = self.calendar.void(*position, own);
            let Leaving { from, since, .. } = *leaving;
            switch.return_to(port, Stored { packet, from, since });
        }
        self.ahead[at].clear();
        true
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
        let departure = self.departure_after_all(at, len, now);
        let Departure { sends, arrival: (time, to), .. } = departure;
        let stays = self.lines[at].is_pulled()
            && (!sends.waits || (self.is_mine(to) && self.calendar.is_near(time)));
        stays.then_some(departure)
    }

    /// The departure of a packet of `len` bytes that is sent after all others of the port.
    #[inline(always)]
    pub(crate) fn departure_after_all(&self, at: usize, len: u16, now: u64) -> Departure {
        let line = &self.lines[at];
        let (waits, start) = (line.is_busy(now), line.free_at.max(now));
        let end = start + line.time_for(len);
        let sends = Sends { start: Time::ps(start), end: Time::ps(end), waits };
        Departure { at, sends, arrival: line.arrival(end) }
    }

    /// Puts a packet that was admitted into the calendar. Its departure is reported to the switch later, if it waits.
    #[inline(always)]
    pub(crate) fn send_ahead<S: Departs + ?Sized>(
        &mut self,
        (switch, out): (&mut S, PortId),
        departure: &Departure,
        source: &Source,
        flags: u8,
        leaving: Leaving,
        payloads: &mut Payloads,
    ) {
        let Departure { at, sends, arrival: (time, to) } = *departure;
        self.lines[at].free_at = sends.end.as_ps();
        if let Some(recorder) = &mut self.recorder {
            let (packet, now) = (source.packet(&self.calendar), leaving.since.as_ps());
            recorder.note_ahead(at, &self.lines[at], packet, (sends.waits, time), now);
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
        let ahead = Ahead { start: sends.start.as_ps(), position, leaving };
        if !self.ahead[at].push(&ahead) {
            self.push_with_space((switch, out), at, ahead);
        }
    }

    /// Forwards a packet that came by port `from` of the switch whose first port is `base`, and leaves by the port of
    /// `item`, if its departure is certain. Nothing has changed if it is not, or if there may be no room. If `THRESHOLDS`,
    /// disciplines only compare with thresholds when packets arrive.
    #[inline(always)]
    pub(crate) fn forward_on_arrival<const THRESHOLDS: bool>(
        &mut self,
        switch: &mut Switch,
        (from, base): (PortId, u32),
        item: &Item,
        payloads: &mut Payloads,
    ) -> Passage {
        let (now, out) = (item.time(self.window_start), PortId(item.out as u16));
        let at = (base + item.out - self.first_port) as usize;
        let packet = &self.calendar.get(item.position).packet;
        let leaving = leaving(packet, from, now);
        let may_wait = |end: Time| self.may_wait(at, end.as_ps());
        let passed = switch.pass_on_arrival::<THRESHOLDS>(out, packet, Time::ps(now), may_wait);
        let foreseen = match passed {
            Ok(foreseen) => foreseen,
            Err(passage) => return passage,
        };
        let line = &mut self.lines[at];
        line.free_at = foreseen.end.as_ps();
        let (time, to) = line.arrival(line.free_at);
        if let Some(recorder) = &mut self.recorder {
            let waits = foreseen.waits_until >= Time::ps(now);
            recorder.note_ahead(at, line, packet, (waits, time), now);
        }
        if !foreseen.is_reported {
            line.count(packet.len);
            self.send_at_once((time, to), item.position, foreseen.flags, payloads);
            return foreseen.passage();
        }
        let position = self.calendar.push_again(item.position, time, to, foreseen.flags);
        let ahead = Ahead { start: foreseen.waits_until.as_ps(), position, leaving };
        if !self.ahead[at].push(&ahead) {
            self.push_with_space((switch, out), at, ahead);
        }
        foreseen.passage()
    }

    /// Sends the packet at `position`, whose departure has been counted.
    #[inline(always)]
    fn send_at_once(
        &mut self,
        (time, to): (u64, u32),
        position: u32,
        flags: u8,
        payloads: &mut Payloads,
    ) {
        if self.is_mine(to) {
            self.calendar.push_again(position, time, to, flags);
        } else {
            self.send_out((time, to), position, flags, payloads);
        }
    }

    /// Sends the packet at `position` to another shard.
    #[inline(never)]
    fn send_out(
        &mut self,
        (time, to): (u64, u32),
        position: u32,
        flags: u8,
        payloads: &mut Payloads,
    ) {
        let packet = self.calendar.get(position).packet;
        self.deliver(time, to, &Packet { flags: packet.flags | flags, ..packet }, payloads);
    }

    /// Adds a packet when there is no space: what has started is forgotten.
    #[inline(never)]
    fn push_with_space<S: Departs + ?Sized>(
        &mut self,
        (switch, out): (&mut S, PortId),
        at: usize,
        ahead: Ahead,
    ) {
        let base = self.first_port + at as u32 - u32::from(out.0);
        self.report_departures(switch, base, out, ahead.leaving.since.as_ps());
        self.ahead[at].push_with_memory(&ahead);
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
