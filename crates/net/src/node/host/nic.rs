//! A host's network card: where packets wait, and how much room transports have.

use crate::frame::Packet;
use crate::id::{HostId, NodeId, PortId};
use crate::node::agent::Agent;
use crate::node::class_queues::ClassQueues;
use crate::node::Cx;
use crate::route::Routes;
use crate::time::Time;
use crate::units::{Bytes, Pace};
use std::collections::VecDeque;
use std::sync::Arc;

/// Where a host's packets wait for the network card.
pub enum Egress {
    /// In the driver's FIFO.
    Fifo,
    /// In eight priority classes, which pause frames can stop.
    Classes,
    /// With a central scheduler's agent.
    Agent(Box<dyn Agent>),
}

/// The network card's ports and what waits for them.
pub(super) struct Nic {
    node: NodeId,
    routes: Arc<Routes>,
    uplinks: Vec<Uplink>,
    pub egress: Egress,
    small_queue: u64,
    /// Own connections waiting for room, in turn.
    pub blocked: VecDeque<u32>,
    /// A wake-up to resume them is under way.
    pub resuming: bool,
}

/// What a network card is made of.
pub(super) struct NicConfig {
    pub node: NodeId,
    pub routes: Arc<Routes>,
    pub egress: Egress,
    pub priorities: bool,
    pub small_queue: Bytes,
}

struct Uplink {
    pace: Pace,
    /// FIFO: when it will have sent all it has.
    free_at: Time,
    classes: ClassQueues,
}

impl Nic {
    pub fn new(config: NicConfig, paces: &[Pace]) -> Nic {
        let NicConfig { node, routes, egress, priorities, small_queue } = config;
        let classes = || if priorities { ClassQueues::strict() } else { ClassQueues::fifo() };
        let uplink = |pace: &Pace| Uplink { pace: *pace, free_at: Time::ZERO, classes: classes() };
        Nic {
            node,
            routes,
            uplinks: paces.iter().map(uplink).collect(),
            egress,
            small_queue: small_queue.0,
            blocked: VecDeque::new(),
            resuming: false,
        }
    }

    #[inline]
    fn port_to(&self, dst: HostId, entropy: u16) -> PortId {
        if self.uplinks.len() == 1 {
            return PortId(0);
        }
        self.routes.next(self.node, dst, entropy).unwrap_or_default()
    }

    /// Whether a transport may hand over another packet (TCP small queues: what waits in the card is
    /// limited, so that connections share it fairly and round trips stay honest).
    #[inline]
    pub fn has_room(&self, dst: HostId, entropy: u16, now: Time) -> bool {
        let uplink = &self.uplinks[self.port_to(dst, entropy).at()];
        match &self.egress {
            Egress::Fifo => uplink.free_at.since(now) < uplink.pace.time_for(self.small_queue),
            Egress::Classes => uplink.classes.bytes() < self.small_queue,
            Egress::Agent(_) => true,
        }
    }

    /// When a blocked FIFO will have drained by half.
    pub fn resume_at(&self) -> Time {
        let half = |u: &Uplink| u.free_at.since(u.pace.time_for(self.small_queue / 2));
        self.uplinks.iter().map(half).max().unwrap_or_default()
    }

    #[inline]
    pub fn send(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let port = self.port_to(packet.dst, packet.entropy);
        let uplink = &mut self.uplinks[port.at()];
        match &mut self.egress {
            Egress::Fifo => {
                uplink.free_at = uplink.free_at.max(cx.now) + uplink.pace.time_for(u64::from(packet.len));
                cx.send(port, packet);
            }
            Egress::Classes => {
                uplink.classes.push(packet);
                cx.kick(port);
            }
            Egress::Agent(agent) => agent.enqueue(packet, cx),
        }
    }

    pub fn transmit(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet> {
        match &mut self.egress {
            Egress::Fifo => None,
            Egress::Classes => self.uplinks[port.at()].classes.pop(),
            Egress::Agent(agent) => agent.dequeue(cx),
        }
    }

    /// A pause frame came in by `port`.
    pub fn pause(&mut self, port: PortId, frame: &Packet, cx: &mut Cx<'_>) {
        self.uplinks[port.at()].classes.obey(frame);
        if matches!(self.egress, Egress::Classes) {
            cx.kick(port);
        }
    }

    pub fn set_rate(&mut self, port: PortId, pace: Pace) {
        self.uplinks[port.at()].pace = pace;
    }

    pub fn set_routes(&mut self, routes: Arc<Routes>) {
        self.routes = routes;
    }

    /// Bytes that wait for `dst` under a central scheduler.
    pub fn held_for(&self, dst: HostId) -> u64 {
        match &self.egress {
            Egress::Agent(agent) => agent.queued(dst),
            _ => 0,
        }
    }

    pub fn queued(&self, port: PortId) -> u64 {
        self.uplinks[port.at()].classes.bytes()
    }

    /// Packets waiting here, not counting the driver's FIFO.
    pub fn held(&self) -> u64 {
        let waiting = self.uplinks.iter().map(|u| u.classes.packets()).sum::<u64>();
        waiting + self.agent_census().held
    }

    pub fn agent_census(&self) -> crate::node::Census {
        match &self.egress {
            Egress::Agent(agent) => agent.census(),
            _ => crate::node::Census::default(),
        }
    }
}
