//! What an agent does when an arbiter speaks to it, or when another arbiter leads.

use super::Agent;
use crate::clock::Local;
use crate::election::Controllers;
use slotline_net::frame::Packet;

impl Agent {
    /// Passes a message of the scheme, whose payload is in the inbox, to the node.
    pub(super) fn control(&mut self, at: usize, packet: Packet, now: Local) {
        let one = self.setup.elected.is_some_and(|(of, _)| of == Controllers::One);
        // Either of two arbiters speaks for the only controller.
        let from = self.setup.arbiters[if one { 0 } else { at }].number;
        let own = self.links.accepts(&packet, from, self.setup.me);
        let port = self.links.port(packet.flow).filter(|_| own);
        let time = self.time(now);
        if let (Some(port), Some(seat), Some(time)) = (port, &mut self.seat, time) {
            (self.leader, self.heard, self.directed) = (at, now, now);
            seat.receive(port, packet, &self.inbox, time);
        }
    }

    /// An arbiter is active. If it has taken over, the node begins anew under it, unless it knows both controllers and
    /// network time goes on.
    pub(super) fn follow(&mut self, at: usize, term: u64, now: Local) {
        let Some(leadership) = &mut self.leadership else { return };
        let (begins, leads) = (leadership.leads(at, term), leadership.is_led_by(at, term));
        if begins {
            let two = self.setup.elected.is_some_and(|(of, _)| of == Controllers::Two);
            let same_time = self.clocks[at].epoch() == self.clocks[self.leader].epoch();
            (self.leader, self.retries) = (at, now);
            if !(two && same_time) {
                self.open_up(now);
            }
        }
        if leads {
            self.heard = now;
        }
    }
}
