//! Updates as packets of the network (NetBump, 5.2.2: "in-band with the monitored traffic").
//!
//! A bump passes its update to the switch, which queues it at the port of the other bump's link. There the update waits
//! behind other packets of that port, takes time on the link, and is lost if the queue is full. The other bump takes it
//! off the link.

use crate::frame::{Kind, Packet};
use crate::id::{HostId, PortId};
use crate::node::switch::{Switch, SwitchPort};
use crate::node::{Cx, Node};
use crate::time::Time;
use crate::units::InverseRate;
use crate::wire::bump::OVERHEAD;

/// The token of the wake-up at which an update has crossed its link.
pub(super) const FREE: u32 = u32::MAX - 1;
/// The sender of updates, which is not a host.
const NEIGHBOUR: HostId = HostId(u32::MAX);

/// An update that crosses the link of a port: the bump that sent it, and its bytes.
struct Crossing {
    until: Time,
    from: usize,
    bytes: Box<[u8]>,
}

/// The updates of one switch's bumps that are on its links.
pub(super) struct InBand {
    /// The port of each bump.
    taps: Vec<PortId>,
    paces: Vec<InverseRate>,
    /// By port, the update that crosses its link.
    crossing: Vec<Option<Crossing>>,
    taken_off: u64,
}

impl InBand {
    pub fn new(taps: Vec<PortId>, ports: &[SwitchPort]) -> InBand {
        let paces = ports.iter().map(|link| link.tx.rate.inverse_rate()).collect();
        let crossing = ports.iter().map(|_| None).collect();
        InBand { taps, paces, crossing, taken_off: 0 }
    }

    pub fn set_pace(&mut self, port: PortId, pace: InverseRate) {
        self.paces[port.at()] = pace;
    }

    /// The number of updates that have reached the other bump.
    pub fn taken_off(&self) -> u64 {
        self.taken_off
    }

    /// Bump `from` sends an update to all others.
    pub fn send(&self, from: usize, update: &[u8], switch: &mut Switch, cx: &mut Cx<'_>) {
        let Some(&own) = self.taps.get(from) else { return };
        for &to in self.taps.iter().filter(|to| **to != own) {
            let ends = (NEIGHBOUR, HostId(from as u32));
            let packet = cx.attach(ends, update.to_vec(), OVERHEAD, 0);
            switch.inject(own, to, packet, cx);
        }
    }

    /// The next packet that the switch sends by `port`. If it is an update, it keeps the link busy and goes only to the
    /// bump there.
    pub fn transmit(
        &mut self,
        port: PortId,
        switch: &mut Switch,
        cx: &mut Cx<'_>,
    ) -> Option<Packet> {
        if self.crossing[port.at()].is_some() {
            return None;
        }
        let packet = switch.transmit(port, cx)?;
        if packet.kind != Kind::Control || packet.flow != NEIGHBOUR.0 {
            return Some(packet);
        }
        let until = cx.now + self.paces[port.at()].time_for(u64::from(packet.len));
        let bytes = cx.detach(&packet);
        self.crossing[port.at()] = Some(Crossing { until, from: packet.dst.0 as usize, bytes });
        cx.wake(until, FREE);
        None
    }

    /// Passes each update that has crossed its link to `come`, with its sender and its receiver.
    pub fn take_off(&mut self, cx: &mut Cx<'_>, mut come: impl FnMut(usize, usize, &[u8], Time)) {
        for (to, port) in self.taps.iter().enumerate() {
            let due = |crossing: &mut Crossing| crossing.until <= cx.now;
            if let Some(crossed) = self.crossing[port.at()].take_if(due) {
                self.taken_off += 1;
                come(crossed.from, to, &crossed.bytes, cx.now);
                cx.kick(*port);
            }
        }
    }
}
