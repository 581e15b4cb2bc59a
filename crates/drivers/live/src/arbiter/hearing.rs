//! What an arbiter hears: messages of agents and of other arbiters, and confirmations of circuit switches.

use super::Arbiter;
use super::scenario::is_stranger;
use super::time::time_of_node;
use crate::clock::Local;
use crate::election::Election;
use crate::message::Message;
use slotline_net::frame::{Kind, Packet};
use std::io;

impl Arbiter {
    /// Handles one message. Returns whether there was one. The clock is read after the message: an answer with an
    /// earlier time would have an error that its bound does not contain.
    pub(super) fn hear(&mut self, clock: &impl Fn() -> Local) -> io::Result<bool> {
        let Some((from, message)) = self.line.receive(clock())? else { return Ok(false) };
        let now = clock();
        let term = self.election.as_ref().and_then(Election::active);
        match message {
            // An agent that obeys another arbiter, or has yet to hear of this one.
            Message::Elected(other, ..) if Some(other) != term => {}
            Message::Control(..) if self.election.is_some() => {}
            Message::Control(packet, payload) | Message::Elected(_, packet, payload) => {
                let own = self.setup.links.accepts(&packet, from, self.setup.me);
                let own = own
                    && !(self.drained.contains_key(&from)
                        || is_stranger(&self.scenarios, from, self.setup.digest)
                        || self.topology.as_ref().is_some_and(|of| of.is_outside(from)));
                let port = self.setup.links.port(packet.flow).filter(|_| own);
                let time = time_of_node(&mut self.source, &self.election, now);
                if let (Some(port), Some(seat), Some(time)) = (port, &mut self.seat, time) {
                    self.received += 1;
                    let recorder = self.setup.recorder.iter_mut();
                    recorder.for_each(|recorder| recorder.heard(&packet, payload, time));
                    seat.receive(port, packet, payload, time);
                }
            }
            Message::TimeRequest(asked) => {
                self.tell_time(from, asked, now);
                self.stand(from, now);
            }
            Message::Standing(term, standing) if self.setup.arbiters.contains(&from) => {
                self.hear_other(term, standing, now)?;
            }
            Message::Answer(answer) => {
                self.election.iter_mut().for_each(|of| of.answered(from, &answer, now));
            }
            Message::TimeReply(reply) => self.learn_time(from, &reply, now)?,
            Message::Neighbours(page) => {
                self.topology.iter_mut().for_each(|of| of.discovery.hear(from, &page));
            }
            Message::Scenario(digest) => self.hear_scenario(from, digest),
            Message::Standing(..) | Message::Ask(_) => {}
        }
        Ok(true)
    }

    /// Passes the confirmations of circuit switches to the node. Returns whether there were any.
    pub(super) fn hear_switches(&mut self, now: Local) -> io::Result<bool> {
        let mut heard = false;
        let term = self.election.as_ref().and_then(Election::active);
        let time = self.time_of_node(now);
        let setup = &mut self.setup;
        let (Some(hook), Some(seat), Some(time)) = (&mut setup.hook, &mut self.seat, time) else {
            return Ok(false);
        };
        while let Some(done) = hook.confirmation()? {
            let flow = setup.switches.saturating_add(done.switch);
            let Some(port) = setup.links.port(flow).filter(|_| done.term == term) else { continue };
            let text = done.change.to_string().into_bytes();
            let packet = Packet { dst: setup.me, flow, kind: Kind::Control, ..Packet::default() };
            setup.recorder.iter_mut().for_each(|recorder| recorder.heard(&packet, &text, time));
            seat.receive(port, packet, &text, time);
            heard = true;
        }
        Ok(heard)
    }
}
