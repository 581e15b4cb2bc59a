//! The accounts of packets that leave a panel switch by its uplinks.

use super::PanelSwitch;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::PortId;
use slotline_net::time::Time;

/// What the accounts need of a packet that leaves by a circuit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departing {
    /// The end of the circuit.
    pub next: u16,
    /// The destination rack of a packet of an own host.
    own: Option<u16>,
    pub len: u16,
    /// The connection and the segment of an own host's data.
    data: Option<(u32, u32)>,
}

impl Departing {
    /// A packet that is to leave for the end `next` of a circuit. `own` is the destination rack of a packet of an own host.
    #[inline]
    pub fn new(next: u16, own: Option<u16>, packet: &Packet) -> Departing {
        let data = own.filter(|_| packet.kind == Kind::Data).map(|_| (packet.flow, packet.seq));
        Departing { next, own, len: packet.len, data }
    }
    /// Whether a packet of an own host reaches its rack by this circuit.
    fn is_direct(&self) -> bool {
        self.own == Some(self.next)
    }
    /// Writes the class of the path into the packet of an own host.
    #[inline]
    pub fn mark(&self, packet: &mut Packet) {
        if self.own.is_some() {
            packet.put_on_path(u8::from(self.is_direct()));
        }
    }
}

impl PanelSwitch {
    /// The destination rack of a packet that came by `from`, if its own hosts sent it.
    #[inline]
    pub(super) fn rack_of_own(&self, from: PortId, packet: &Packet) -> Option<u16> {
        self.is_host(from).then(|| self.config.roles.hosts.rack(packet.dst) as u16)
    }

    /// A packet of an own host for rack `to` arrives.
    #[inline]
    pub(super) fn comes_from_host(&mut self, to: u16, packet: &Packet, now: Time) {
        if let Some(estimator) = &mut self.config.estimator
            && packet.kind == Kind::Data
        {
            estimator.arrives(packet.flow, packet.seq, now);
        }
        self.traffic.arrived(to.into(), packet.len);
    }

    /// A packet leaves after it has `waited`, and its transmission takes `takes`. A second circuit is taken to be as fast.
    #[inline]
    pub(super) fn leave(&mut self, departing: &Departing, waited: Time, takes: Time) {
        let Departing { next, own, len, data } = *departing;
        let Some(to) = own else {
            self.counts.by_rack += u64::from(self.is_rack());
            self.counts.by_core += u64::from(!self.is_rack());
            return;
        };
        if let Some(estimator) = &mut self.config.estimator
            && let Some((conn, seq)) = data
        {
            estimator.leaves(conn, seq);
        }
        let direct = departing.is_direct();
        self.traffic.left(to.into(), len, waited, direct);
        let hop = takes + self.config.delay;
        if direct {
            self.counters.circuit(len, waited + hop);
        } else {
            self.counters.packet(len, waited + hop.times(2));
            self.counters.first_hops += u64::from(u32::from(next) < self.config.roles.racks);
        }
    }
}
