//! A host's network card: the packets that wait for it, and the room that transports have.

use crate::frame::Packet;
use crate::id::{HostId, NodeId, PortId};
use crate::node::agent::Agent;
use crate::node::class_queues::ClassQueues;
use crate::node::pool::Pool;
use crate::node::station::Loss;
use crate::node::{Change, Counters, Cx, PacketAccount};
use crate::prefetch::{prefetch, prefetch_value};
use crate::route::Routes;
use crate::time::Time;
use crate::units::{Bytes, InverseRate};
use std::collections::VecDeque;
use std::sync::Arc;

/// Where a host's packets wait for the network card.
pub enum Egress {
    /// In the driver's FIFO.
    Fifo,
    /// In eight priority classes, which pause frames can stop.
    Classes,
    /// As [`Egress::Classes`], but all packets are of one class, and no pause frame comes. The driver may keep packets that
    /// wait ([`Host::hand_over_queue`](super::Host::hand_over_queue)).
    InOrder,
    /// In a central scheduler's agent. Messages to it may be lost.
    Agent(Box<dyn Agent>, Loss),
}

/// The packets that wait for the network card.
enum Waiting {
    InDriver,
    /// In the driver, which reports each that leaves.
    Reported,
    /// By port.
    InClasses(Vec<ClassQueues>, Pool<Packet>),
    WithAgent(Box<dyn Agent>, Loss),
}

/// The ports of the network card, and the packets that wait for them.
pub struct Nic {
    node: NodeId,
    routes: Arc<Routes>,
    uplinks: Vec<Uplink>,
    waiting: Waiting,
    /// Whether packets leave in the order in which they come.
    in_order: bool,
    tsq_limit: u64,
    /// Own connections waiting for room, in turn.
    pub(super) blocked: VecDeque<u32>,
    /// Whether a wake-up for them was requested.
    pub(super) resuming: bool,
}

/// The parts of a network card.
pub struct NicConfig {
    /// The host's node.
    pub node: NodeId,
    /// Routes, for hosts with several cards.
    pub routes: Arc<Routes>,
    /// Where packets wait.
    pub egress: Egress,
    /// Whether [`Egress::Classes`] and [`Egress::InOrder`] have eight strict priorities instead of one queue.
    pub priorities: bool,
    /// The most bytes that transports put into the card's queue (TCP small queues).
    pub tsq_limit: Bytes,
}

struct Uplink {
    pace: InverseRate,
    /// For a FIFO, the time at which it will have sent everything.
    free_at: Time,
    /// For classes, and where the driver reports what leaves, the bytes that wait.
    bytes: u64,
}

impl Nic {
    /// A card with one port for each of `paces`.
    pub fn new(config: NicConfig, paces: &[InverseRate]) -> Nic {
        let in_order = matches!(config.egress, Egress::InOrder);
        let queues = || if config.priorities { ClassQueues::strict() } else { ClassQueues::fifo() };
        let uplink = |&pace: &InverseRate| Uplink { pace, free_at: Time::ZERO, bytes: 0 };
        Nic {
            node: config.node,
            routes: config.routes,
            uplinks: paces.iter().map(uplink).collect(),
            waiting: match config.egress {
                Egress::Fifo => Waiting::InDriver,
                Egress::Classes | Egress::InOrder => {
                    Waiting::InClasses(paces.iter().map(|_| queues()).collect(), Pool::default())
                }
                Egress::Agent(agent, loss) => Waiting::WithAgent(agent, loss),
            },
            in_order,
            tsq_limit: config.tsq_limit.0,
            blocked: VecDeque::new(),
            resuming: false,
        }
    }

    /// Requests what is needed soon.
    #[inline]
    pub(super) fn expect(&self) {
        prefetch_value(&self.waiting);
        prefetch_value(&self.uplinks);
        prefetch_value(&self.resuming);
    }

    /// Requests the queues, or the packets in them, with what was requested in the step before.
    #[inline]
    pub(super) fn expect_queues(&self, step: usize) {
        match &self.waiting {
            Waiting::InClasses(queues, _) if step == 1 => prefetch(queues, 0),
            Waiting::InClasses(queues, pool) => {
                queues.first().into_iter().for_each(|queue| queue.expect(pool));
            }
            Waiting::WithAgent(agent, _) => agent.expect(step - 1),
            Waiting::InDriver | Waiting::Reported => {}
        }
    }

    /// The central scheduler's agent, if there is one.
    pub fn agent(&self) -> Option<&dyn Agent> {
        match &self.waiting {
            Waiting::WithAgent(agent, _) => Some(&**agent),
            _ => None,
        }
    }

    /// The central scheduler's agent, to change it.
    pub fn agent_mut(&mut self) -> Option<&mut Box<dyn Agent>> {
        match &mut self.waiting {
            Waiting::WithAgent(agent, _) => Some(agent),
            _ => None,
        }
    }

    /// Whether a message for the agent gets lost now.
    pub fn loses(&mut self, packet: &Packet) -> bool {
        match &mut self.waiting {
            Waiting::WithAgent(_, loss) => loss.loses(packet),
            _ => false,
        }
    }

    /// Whether packets wait in classes here.
    #[inline]
    pub(super) fn has_classes(&self) -> bool {
        matches!(self.waiting, Waiting::InClasses(..))
    }

    /// Whether packets wait in the driver's FIFO.
    pub fn is_fifo(&self) -> bool {
        matches!(self.waiting, Waiting::InDriver)
    }

    /// Leaves packets that wait to the driver, if they leave in order and by one port. Returns whether they do.
    pub(super) fn hand_over_queue(&mut self) -> bool {
        let may = self.in_order && self.uplinks.len() == 1 && self.held() == 0;
        if may {
            self.waiting = Waiting::Reported;
        }
        may
    }

    /// Whether the driver reports each packet that leaves.
    #[inline]
    pub(super) fn is_reported(&self) -> bool {
        matches!(self.waiting, Waiting::Reported)
    }

    /// The driver reports that packets of `len` bytes in total have left.
    #[inline]
    pub(super) fn left(&mut self, len: u64) {
        self.uplinks[0].bytes -= len;
    }

    #[inline]
    fn port_to(&self, dst: HostId, entropy: u16) -> PortId {
        if self.uplinks.len() == 1 {
            return PortId(0);
        }
        self.routes.next(self.node, dst, entropy).unwrap_or_default()
    }

    /// Whether a transport may pass another packet. TCP small queues limits the bytes that wait in the card, so that
    /// connections share it fairly and round-trip times contain little waiting time.
    #[inline]
    pub fn has_room(&self, dst: HostId, entropy: u16, now: Time) -> bool {
        let port = self.port_to(dst, entropy).at();
        match &self.waiting {
            Waiting::InDriver => {
                let uplink = &self.uplinks[port];
                uplink.free_at.since(now) < uplink.pace.time_for(self.tsq_limit)
            }
            Waiting::Reported | Waiting::InClasses(..) => self.uplinks[port].bytes < self.tsq_limit,
            Waiting::WithAgent(agent, _) => agent.has_room(Bytes(self.tsq_limit)),
        }
    }

    /// The time at which a full FIFO will have drained by half.
    pub fn resume_at(&self) -> Time {
        let half = |u: &Uplink| u.free_at.since(u.pace.time_for(self.tsq_limit / 2));
        self.uplinks.iter().map(half).max().unwrap_or_default()
    }

    /// Takes a packet from a transport.
    #[inline(always)]
    pub fn send(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let port = self.port_to(packet.dst, packet.entropy);
        if let Waiting::InDriver = self.waiting {
            let uplink = &mut self.uplinks[port.at()];
            uplink.free_at =
                uplink.free_at.max(cx.now) + uplink.pace.time_for(u64::from(packet.len));
            return cx.send(port, packet);
        }
        self.keep(port, packet, cx);
    }

    /// Takes a packet that does not wait in the driver, or of which the driver reports when it leaves.
    #[inline(never)]
    fn keep(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        match &mut self.waiting {
            // [`Nic::send`] has passed it on.
            Waiting::InDriver => {}
            Waiting::Reported => {
                self.uplinks[0].bytes += u64::from(packet.len);
                cx.send(port, packet);
            }
            Waiting::InClasses(queues, pool) => {
                self.uplinks[port.at()].bytes += u64::from(packet.len);
                queues[port.at()].push(packet, pool);
                cx.kick(port);
            }
            Waiting::WithAgent(agent, _) => agent.enqueue(packet, cx),
        }
    }

    /// The next packet that a pulled port sends.
    pub fn transmit(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet> {
        match &mut self.waiting {
            Waiting::InDriver | Waiting::Reported => None,
            Waiting::InClasses(..) => self.take(port).copied(),
            Waiting::WithAgent(agent, _) => agent.dequeue(cx),
        }
    }

    /// The next packet that a pulled port sends, if it waits in a class.
    #[inline]
    pub(super) fn take(&mut self, port: PortId) -> Option<&Packet> {
        let Waiting::InClasses(queues, pool) = &mut self.waiting else { return None };
        let packet = queues[port.at()].pop(pool)?;
        self.uplinks[port.at()].bytes -= u64::from(packet.len);
        Some(packet)
    }

    /// As [`Nic::transmit`], which has just returned `None`, if nothing has happened since. Only agents may have a packet.
    pub(super) fn transmit_again(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        self.agent_mut()?.dequeue_again(cx)
    }

    /// Whether `port` may have a packet to send next. Agents do other work, too, when a packet has left.
    pub fn has_more(&self, port: PortId) -> bool {
        match &self.waiting {
            Waiting::InDriver | Waiting::Reported => false,
            Waiting::InClasses(queues, _) => {
                !queues[port.at()].is_empty() || !self.blocked.is_empty()
            }
            Waiting::WithAgent(agent, _) => !self.blocked.is_empty() || agent.has_more(),
        }
    }

    /// A pause frame has arrived by `port`.
    pub fn pause(&mut self, port: PortId, frame: &Packet, cx: &mut Cx<'_>) {
        if let Waiting::InClasses(queues, _) = &mut self.waiting {
            queues[port.at()].obey(frame);
            cx.kick(port);
        }
    }

    /// The surroundings of the host have changed.
    pub fn change(&mut self, change: &Change, cx: &mut Cx<'_>) {
        match change {
            Change::Routes(routes) => self.routes = Arc::clone(routes),
            Change::Rate(port, rate) => self.uplinks[port.at()].pace = rate.inverse_rate(),
            Change::Up(port) => cx.kick(*port),
            Change::Leave => self.agent_mut().into_iter().for_each(|agent| agent.leave(cx)),
            Change::Join => self.agent_mut().into_iter().for_each(|agent| agent.join(cx)),
            Change::Down(_) | Change::Elsewhere(..) | Change::Stop | Change::Restart => {}
        }
    }

    /// The account of a host that has created `created` packets and consumed `consumed`, including its card and its
    /// agent.
    pub fn account(&self, created: u64, consumed: u64) -> PacketAccount {
        let of_agent = self.agent().map_or(0, |agent| agent.account().created);
        PacketAccount { created: created + of_agent, consumed, held: self.held() }
    }

    /// Adds the agent's counters.
    pub fn add_counters(&self, counters: &mut Counters) {
        self.agent().into_iter().for_each(|agent| agent.add_counters(counters));
    }

    /// Bytes that wait for `dst` under a central scheduler, as connection `conn` sees it.
    pub fn held_for(&self, dst: HostId, conn: u32) -> u64 {
        self.agent().map_or(0, |agent| agent.queued_with(dst, conn))
    }

    /// Bytes waiting for a port here.
    pub fn queued(&self, port: PortId) -> u64 {
        match &self.waiting {
            Waiting::InClasses(..) | Waiting::Reported => self.uplinks[port.at()].bytes,
            _ => 0,
        }
    }

    /// Packets waiting here, not counting those in the driver.
    pub fn held(&self) -> u64 {
        match &self.waiting {
            Waiting::InDriver | Waiting::Reported => 0,
            Waiting::InClasses(_, pool) => pool.held(),
            Waiting::WithAgent(agent, _) => agent.account().held,
        }
    }
}
