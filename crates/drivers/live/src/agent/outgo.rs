//! What the node of an agent sends: messages to arbiters, and packets that leave.

use super::probes::Probes;
use super::{Agent, NAP};
use crate::channel::Channel;
use crate::clock::Local;
use crate::election::Controllers;
use crate::links::Links;
use crate::message::Message;
use crate::role::{Departure, Role};
use crate::seat::Io;
use slotline_linux::hold::Leave;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::HostId;
use slotline_net::node::Handover;
use slotline_net::time::Time;
use slotline_net::topology::End;
use std::io;
use std::time::Duration;

/// Sends the messages of the node, and lists the packets that it sends.
struct Outlet<'a> {
    channel: &'a mut Channel,
    probes: Option<&'a mut Probes>,
    now: Local,
    me: HostId,
    links: &'a Links,
    role: &'a Role,
    /// The highest term if arbiters are elected, and the number of its arbiter if that is not the one of its controller.
    elected: Option<(u64, Option<u32>)>,
    left: &'a mut Vec<Departure>,
}

impl Io for Outlet<'_> {
    fn send(&mut self, far: End, packet: &Packet, payload: &[u8]) -> io::Result<bool> {
        if packet.kind != Kind::Control {
            // The kernel sends the packet when it is released.
            self.left.extend(self.role.leaves(packet, far));
            return Ok(true);
        }
        if let Some(probes) = &mut self.probes
            && probes.knows(packet.dst.0)
        {
            return Ok(probes.send(packet, payload, self.now));
        }
        let addressed = self.links.addressed(packet, far, self.me);
        let Some((to, packet)) = addressed else { return Ok(false) };
        let to = self.elected.and_then(|(_, number)| number).unwrap_or(to);
        let term = self.elected.map(|(term, _)| term);
        Ok(self.channel.send(to, &Message::control(term, packet, payload), self.now))
    }
}

impl Agent {
    /// The time of the node, which runs ahead.
    pub(super) fn time(&mut self, now: Local) -> Option<Time> {
        let time = self.clocks[self.leader].now(now)? + self.lead;
        self.shown = self.shown.max(time);
        Some(time)
    }

    /// Runs the node as far as something is due.
    pub(super) fn step(&mut self, now: Local) -> io::Result<Duration> {
        let (before, time) = (self.shown, self.time(now));
        let clock = &mut self.clocks[self.leader];
        let (Some(seat), Some(time)) = (&mut self.seat, time) else { return Ok(NAP) };
        let (me, links, role) = (self.setup.me, &self.links, &self.setup.role);
        let (channel, left) = (&mut self.channel, &mut self.left);
        let probes = self.probes.as_mut();
        let number = self.setup.arbiters[self.leader].number;
        let one = self.setup.elected.is_some_and(|(of, _)| of == Controllers::One);
        let elected = self.leadership.map(|of| (of.term, one.then_some(number)));
        let outlet = &mut Outlet { channel, probes, now, me, links, role, elected, left };
        let next = match self.lead {
            Time::ZERO => seat.step(time, outlet)?,
            _ => seat.step_through([before.min(time), time], self.lead, outlet)?,
        };
        for departure in self.left.drain(..) {
            match departure {
                Departure::Packet(stamp, mark) => {
                    let Some(packet) = self.held.take(stamp, now) else { continue };
                    self.counts.scheduled += 1;
                    self.grip.release(packet, mark.map_or(Leave::Now, Leave::Marked));
                }
                Departure::Order(conn, path) => self.grip.order(conn, path, now),
                Departure::Detour(host, path) => {
                    if let Role::Switch(role) = role {
                        self.grip.detour(&role.hosts, host, path, now);
                    }
                }
            }
        }
        for (at, what) in seat.handovers() {
            if let Handover::Left(packet) = what
                && let Some(ticket) = self.held.take(packet.stamp, now)
            {
                self.counts.scheduled += 1;
                let ahead = clock.until(at, now).as_nanos() as u64;
                let how = match (role.tag(&packet), self.lead) {
                    (Some(mark), _) => Leave::Marked(mark),
                    (None, Time::ZERO) => Leave::Now,
                    (None, _) => Leave::At(self.origin + now.0 + ahead),
                };
                self.grip.release(ticket, how);
            }
        }
        for stamp in seat.lost_frames() {
            let Some(packet) = self.held.take(stamp, now) else { continue };
            self.counts.dropped += 1;
            self.grip.discard(packet);
        }
        if let Some(log) = &mut self.setup.timeslots {
            seat.notes().for_each(|(_, note)| log.note(note));
            log.set_waiting(!self.held.is_empty());
        }
        Ok(clock.until(next.since(self.lead), now))
    }
}
