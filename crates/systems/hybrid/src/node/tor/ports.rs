//! Ports at circuit switches that fail and work again.

use super::Tor;
use crate::node::message;
use crate::wire::Message;
use slotline_net::id::PortId;
use slotline_net::node::Cx;

impl Tor {
    /// A port at a circuit switch, of this rack or another, fails or works again: its circuits are gone, or
    /// there again for the rest of their day.
    pub(super) fn port(&mut self, (rack, uplink): (usize, u8), works: bool, cx: &mut Cx<'_>) {
        for other in self.board.port(rack, uplink.into(), works) {
            let at = usize::from(uplink);
            let day = self.days[at].filter(|(to, _)| usize::from(*to) == other);
            if works && day.is_some() {
                self.open(uplink, cx);
            }
            if !works && let Some((_, until)) = day {
                self.open[at] = None;
                self.sums.cut_day(other, until.since(cx.now));
            }
            self.fit(other, cx);
            self.tell(other, cx);
            self.offer(other, cx);
        }
    }

    /// The link at one of the own ports fails or works again.
    pub(super) fn link(&mut self, port: PortId, works: bool, cx: &mut Cx<'_>) {
        let roles = self.config.roles;
        if Some(port) == roles.packet_port() {
            // What the packet switch asked for before it will ask for again.
            self.held.fill(false);
            (0..self.voqs.len()).for_each(|to| self.offer(to, cx));
        }
        let uplink = u32::from(port.0).checked_sub(roles.circuit_port(0).0.into());
        let Some(uplink) = uplink.filter(|uplink| *uplink < roles.uplinks) else { return };
        self.sums.port_failures += u64::from(!works);
        self.port((self.config.rack as usize, uplink as u8), works, cx);
        let news = Message::Port { rack: self.config.rack as u16, uplink: uplink as u8, works };
        self.account.created += 1;
        let packet = message(news.emit(), cx);
        cx.send(roles.control_port(), packet);
    }
}
