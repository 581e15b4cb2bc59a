//! The node of an arbiter: its begin and end, and what it sends.

use super::Arbiter;
use super::time::ASKS;
use crate::clock::Local;
use crate::election::Election;
use crate::hook::Hook;
use crate::line::Line;
use crate::links::Links;
use crate::message::Message;
use crate::record::{Header, Sent};
use crate::seat::{Io, Seat};
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::HostId;
use slotline_net::time::Time;
use slotline_net::topology::End;
use std::io;
use std::time::Duration;

struct Outlet<'a> {
    line: &'a mut Line,
    now: Local,
    me: HostId,
    links: &'a Links,
    hook: Option<&'a mut Hook>,
    /// The term of this arbiter, if arbiters are elected.
    term: Option<u64>,
    /// The digest of messages sent, if a log is written.
    sent: Option<Sent>,
}

impl Io for Outlet<'_> {
    fn send(&mut self, far: End, packet: &Packet, payload: &[u8]) -> io::Result<bool> {
        self.sent.iter_mut().for_each(|sent| sent.add(far, packet, payload));
        if packet.kind != Kind::Control {
            return Ok(true);
        }
        match (self.links.addressed(packet, far, self.me), &mut self.hook) {
            (Some((to, packet)), _) => {
                Ok(self.line.send(to, &Message::control(self.term, packet, payload), self.now))
            }
            (None, Some(hook)) => hook.tell(payload, self.term).map(|()| true),
            (None, None) => Ok(false),
        }
    }
}

impl Arbiter {
    /// Runs the node as far as something is due.
    pub(super) fn step(&mut self, now: Local) -> io::Result<Duration> {
        let Some(time) = self.time_of_node(now) else { return Ok(ASKS) };
        let Some(seat) = &mut self.seat else { return Ok(ASKS) };
        let recorder = self.setup.recorder.as_mut().filter(|_| !seat.is_idle(time));
        let sent = recorder.is_some().then(Sent::default);
        let (me, links, hook) = (self.setup.me, &self.setup.links, self.setup.hook.as_mut());
        let term = self.election.as_ref().and_then(Election::active);
        let mut outlet = Outlet { line: &mut self.line, now, me, links, hook, term, sent };
        let next = seat.step(time, &mut outlet)?;
        if let (Some(recorder), Some(sent)) = (recorder, outlet.sent) {
            recorder.stepped(sent, time);
        }
        Ok(Duration::from_nanos(next.since(time).as_ns()))
    }

    /// Ends the node and its log. Another one begins when it may.
    pub(super) fn end_node(&mut self, why: &str) {
        self.seat = None;
        self.setup.recorder.iter_mut().for_each(|recorder| recorder.end(why));
    }

    pub(super) fn begin(&mut self, now: Local) {
        let Some(time) = self.time_of_node(now) else { return };
        self.prepare();
        if let Some((incarnation, node)) = self.spare.take() {
            let header = self.header(incarnation, time);
            self.setup.recorder.iter_mut().for_each(|recorder| recorder.begin_next(&header));
            let mut seat = Seat::new(node, &self.setup.wires, Time::ZERO);
            seat.start(time);
            self.seat = Some(seat);
        }
    }

    pub(super) fn header(&self, incarnation: u64, began: Time) -> Header {
        let (scenario, scheme) = self.setup.scenario.clone();
        let (station, began) = (self.setup.me.0, began.as_ps());
        let program = env!("CARGO_PKG_VERSION").into();
        Header { program, scenario, scheme, station, incarnation, began }
    }
}
