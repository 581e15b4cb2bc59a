//! Notices of congestion points at FIFO ports to the senders of packets (QCN).

use crate::links::Links;
use crate::plain_switch::PlainSwitch;
use crate::shard::Shard;
use slotline_net::aqm::Feedback;
use slotline_net::frame::Packet;
use slotline_net::id::PortId;
use slotline_net::node::notify::Senders;
use slotline_net::node::{Cx, DropReason};
use slotline_net::time::Time;

/// A packet whose sender is to be notified.
struct Due {
    packet: Packet,
    /// The port that sends it.
    port: u32,
    /// The time of its arrival there, ps.
    now: u64,
    what: Feedback,
}

/// The notices of a shard's switches.
#[derive(Default)]
pub(crate) struct Notices {
    /// The senders of packets.
    pub senders: Senders,
    due: Vec<Due>,
    /// The number of notices made.
    pub made: u64,
}

impl Links {
    /// The sender of a packet that arrived at `port` is to be notified before the next packet arrives.
    pub fn notify(&mut self, port: u32, packet: &Packet, now: u64) {
        let what = self.line(port).1.feedback;
        self.notices.due.push(Due { packet: *packet, port, now, what });
    }

    /// Whether a sender is to be notified.
    #[inline]
    pub fn notifies_now(&self) -> bool {
        !self.notices.due.is_empty()
    }
}

impl Shard {
    /// Sends the notices that are due at a plain switch.
    #[inline(never)]
    pub fn send_notices(&mut self, switch: &PlainSwitch) {
        let base = self.links.shared.layout.first[switch.id.at()];
        while let Some(Due { packet, port, now, what }) = self.links.notices.due.pop() {
            let mut cx = Cx::new(Time::ps(now), &mut self.effects);
            let (senders, out) = (&self.links.notices.senders, PortId((port - base) as u16));
            let notice = senders.notice(switch.id, out, &packet, what, &mut cx);
            let Some(mut notice) = notice else { continue };
            self.links.notices.made += 1;
            let payloads = self.effects.payloads();
            match switch.exit(&notice) {
                Some(exit) => self.links.send(base + u32::from(exit.0), &mut notice, now, payloads),
                None => self.links.lose(&notice, DropReason::NoRoute, payloads),
            }
        }
    }
}
