//! Ports at circuit switches that fail and work again.

use super::Tor;
use crate::node::message;
use crate::wire::Message;
use slotline_net::id::PortId;
use slotline_net::node::Cx;

impl Tor {
    /// A port at a circuit switch, of this rack or another, has failed or works again. Its circuits are down, or
    /// up again for the rest of their day.
    pub(super) fn set_port(&mut self, rack: usize, uplink: u8, works: bool, cx: &mut Cx<'_>) {
        for other in self.conditions.set_port(rack, uplink.into(), works) {
            let at = usize::from(uplink);
            let day = self.days[at].filter(|(to, _)| usize::from(*to) == other);
            if works && day.is_some() {
                self.open(uplink, cx);
            }
            if !works && let Some((_, until)) = day {
                self.open[at] = None;
                self.counters.cut_day(other, until.since(cx.now));
            }
            self.resize_queue(other, cx);
            self.notify_hosts(other, cx);
            self.update_offer(other, cx);
        }
    }

    /// The link at one of the own ports has failed or works again.
    pub(super) fn set_link(&mut self, port: PortId, works: bool, cx: &mut Cx<'_>) {
        if Some(port) == self.ports.packet() {
            // The packet switch will repeat its requests.
            self.held.fill(false);
            (0..self.voqs.len()).for_each(|to| self.update_offer(to, cx));
        }
        let uplink = u32::from(port.0).checked_sub(self.ports.circuit(0).0.into());
        let Some(uplink) = uplink.filter(|uplink| *uplink < self.config.roles.uplinks) else {
            return;
        };
        self.counters.port_failures += u64::from(!works);
        self.set_port(self.config.rack as usize, uplink as u8, works, cx);
        let news = Message::Port { rack: self.config.rack as u16, uplink: uplink as u8, works };
        self.account.created += 1;
        let packet = message(news.emit(), cx);
        cx.send(self.ports.control(), packet);
    }
}
