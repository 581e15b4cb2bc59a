//! Notices from congestion points to the senders of packets.

use super::Cx;
use super::host::Plan;
use crate::aqm::Feedback;
use crate::frame::{CLASSES, Kind, Packet};
use crate::id::{HostId, NodeId, PortId};
use crate::wire::cnm::{Cnm, OVERHEAD, units};
use crate::wire::mac_control::Mac;
use std::sync::Arc;

/// Finds the senders of packets. Unlike a frame, a packet of the simulator does not name its sender.
#[derive(Clone, Default)]
pub struct Senders(Option<Arc<Plan>>);

impl Senders {
    /// The senders of a run's traffic.
    pub fn of(plan: Arc<Plan>) -> Senders {
        Senders(Some(plan))
    }

    /// The sender of `packet`; `None` for control messages and pause frames.
    pub fn of_packet(&self, packet: &Packet) -> Option<HostId> {
        let conn = self.0.as_ref()?.conn_if_any(packet.flow)?;
        match packet.kind {
            Kind::Data | Kind::Datagram => Some(conn.src),
            Kind::Ack => Some(conn.dst),
            Kind::Control | Kind::Pause => None,
        }
    }

    /// A notice for the sender of `packet`, about the queue of a switch's port.
    pub fn notice(
        &self,
        node: NodeId,
        port: PortId,
        packet: &Packet,
        what: Feedback,
        cx: &mut Cx<'_>,
    ) -> Option<Packet> {
        let sender = self.of_packet(packet)?;
        let [a, b, c, d] = node.0.to_be_bytes();
        let cnm = Cnm {
            destination: Mac::of(sender),
            source: Mac([0x02, 1, a, b, c, d]),
            flow: packet.flow as u16,
            quantised: what.quantised,
            point: u64::from(node.0) << 16 | u64::from(port.0),
            offset: units(what.offset),
            delta: units(what.delta),
            priority: packet.class,
            sampled_to: Mac::of(packet.dst),
            sample: Vec::new(),
        };
        Some(cx.attach((packet.dst, sender), cnm.emit(), OVERHEAD, CLASSES as u8 - 1))
    }
}
