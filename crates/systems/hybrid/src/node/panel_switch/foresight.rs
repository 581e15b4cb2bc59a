//! Packets whose departures are certain when they arrive: those for own hosts, and those that leave before the circuit of their
//! uplink ends.

use super::{Departing, PanelSwitch};
use crate::AtNight;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::PortId;
use slotline_net::node::egress::{Leaving, Passage, Sends, Stored};
use slotline_net::node::{Cx, DropReason, Foresight, Way};
use slotline_net::time::Time;

impl PanelSwitch {
    /// Whether a transmission by `out` is certain to begin and end as `sends` says, as long as the circuit there is not changed.
    #[inline]
    fn is_certain(&self, out: PortId, sends: &Sends) -> bool {
        let Some(panel) = self.panel(out) else { return true };
        let Some((_, until)) = panel.open else { return false };
        match self.config.voq.at_night {
            AtNight::Hold => {
                sends.start + self.config.paces[out.at()].time_for(self.config.mtu) <= until
            }
            AtNight::Drain | AtNight::Drop => sends.end <= until,
        }
    }

    /// Accounts for a packet that arrives and leaves by `out` or is dropped. Returns its destination rack, if own hosts send it
    /// to another one.
    #[inline]
    fn arrives(
        &mut self,
        (from, out): (PortId, PortId),
        packet: &Packet,
        taken: bool,
        now: Time,
    ) -> Option<u16> {
        let own = if self.is_host(out) { None } else { self.rack_of_own(from, packet) };
        if let Some(to) = own {
            self.comes_from_host(to, packet, now);
            self.traffic.queued(to.into(), packet.len, taken);
        }
        own
    }

    /// The index of the port at a panel.
    #[inline]
    fn panel_at(&self, port: PortId) -> Option<usize> {
        self.index_of_port.get(port.at()).copied().flatten().map(usize::from)
    }

    /// A packet, of an own host if its rack is given, is to leave by the panel port `at`.
    #[inline]
    fn takes_circuit(&mut self, at: usize, own: Option<u16>, packet: &mut Packet) -> Departing {
        let next = self.panel_ports[at].open.map_or(u16::MAX, |open| open.0);
        let departing = Departing::new(next, own, packet);
        departing.mark(packet);
        departing
    }

    /// A packet starts to leave by `out`, a port at a panel.
    #[inline]
    fn starts(&mut self, out: PortId, departing: &Departing, waited: Time) {
        let bytes = departing.len.into();
        self.counters.on_circuit(departing.next.into(), bytes, Time::ZERO);
        self.leave(departing, waited, self.config.paces[out.at()].time_for(bytes));
    }
}

impl Foresight for PanelSwitch {
    #[inline]
    fn way(&self, from: PortId, packet: &Packet, now: Time) -> Way {
        if packet.kind == Kind::Pause || (packet.kind == Kind::Control && from == self.news) {
            return Way::Unknown;
        }
        let hosts = &self.config.roles.hosts;
        let to = hosts.rack(packet.dst);
        if to == self.config.seat {
            return Way::By(hosts.port(packet.dst, to), false);
        }
        if to >= self.config.roles.racks {
            return Way::Ends;
        }
        let (fresh, to) = (self.is_host(from), to as usize);
        let Some(out) = self.route(fresh, to, packet, now) else { return Way::Ends };
        Way::By(out, fresh && self.traffic.may_be_longest(to))
    }

    fn pass(
        &mut self,
        out: PortId,
        packet: &mut Packet,
        leaving: &Leaving,
        sends: &Sends,
    ) -> Passage {
        // After a packet was cut off, the port is free before its load says so.
        let wait = self.config.switch.wait_at(out, leaving.since);
        if leaving.since + wait != sends.start || !self.is_certain(out, sends) {
            return Passage::Uncertain;
        }
        let passage = self.config.switch.pass(out, leaving, sends);
        if !matches!(passage, Passage::Sent(_)) {
            return passage;
        }
        let own = self.arrives((leaving.from, out), packet, true, leaving.since);
        if let Some(at) = self.panel_at(out) {
            let departing = self.takes_circuit(at, own, packet);
            match sends.waits {
                true => self.panel_ports[at].outside.push_back(departing),
                false => self.starts(out, &departing, Time::ZERO),
            }
        }
        passage
    }

    fn refuse(
        &mut self,
        (from, out): (PortId, PortId),
        packet: &Packet,
        why: DropReason,
        cx: &mut Cx<'_>,
    ) {
        self.arrives((from, out), packet, false, cx.now);
        self.config.switch.lose(out, packet, why, cx);
    }

    fn left(&mut self, out: PortId, leaving: &Leaving, start: Time) {
        // All packets outside pass because of their short wait, so what is behind them does not matter.
        self.config.switch.left(out, std::iter::once((leaving, start)), |_, _, _| 0);
        if let Some(at) = self.panel_at(out)
            && let Some(departing) = self.panel_ports[at].outside.pop_front()
        {
            self.starts(out, &departing, start.since(leaving.since));
        }
    }

    fn take_back(&mut self, out: PortId, stored: Stored) {
        if let Some(at) = self.panel_at(out) {
            self.panel_ports[at].outside.pop_front();
        }
        self.config.switch.take_back(out, stored);
    }

    fn drained(&self, out: PortId, busy_until: Time) -> Option<Time> {
        let end = self.config.switch.drained(out, busy_until)?;
        // No packet starts later.
        self.is_certain(out, &Sends { start: end, end, waits: true }).then_some(end)
    }

    fn give_away(&mut self, out: PortId, start: Time) -> Option<Stored> {
        let mut stored = self.config.switch.give_away(out, start)?;
        if let Some(at) = self.panel_at(out) {
            let own = self.rack_of_own(stored.from, &stored.packet);
            let departing = self.takes_circuit(at, own, &mut stored.packet);
            self.panel_ports[at].outside.push_back(departing);
        }
        Some(stored)
    }
}
