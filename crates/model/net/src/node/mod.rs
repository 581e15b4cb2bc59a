//! A node is told what happened and says what it wants; its driver alone knows time and I/O.

pub mod agent;
pub mod buffer;
pub mod bump;
pub mod class_queues;
pub mod egress;
pub mod fault;
pub mod host;
pub mod notify;
pub mod pfc;
pub mod reaction;
pub mod reserve;
pub mod station;
pub mod stopped;
pub mod switch;
pub mod tally;

pub use fault::{Fault, Part};
pub use stopped::Stopped;
pub use tally::Tally;

use crate::frame::{Kind, Packet};
use crate::id::{HostId, PortId};
use crate::time::Time;

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum DropReason {
    /// No room in the buffer.
    Full,
    /// Random early detection.
    Early,
    /// The link or the node was down.
    LinkDown,
    /// No route to the destination.
    NoRoute,
    /// Not addressed to the host that received it.
    Misrouted,
    /// Lost because the scenario says so.
    Injected,
    /// The node that should have handled it had stopped.
    Stopped,
}

impl DropReason {
    /// All reasons, in order.
    pub const ALL: [DropReason; 7] = [
        DropReason::Full,
        DropReason::Early,
        DropReason::LinkDown,
        DropReason::NoRoute,
        DropReason::Misrouted,
        DropReason::Injected,
        DropReason::Stopped,
    ];
    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            DropReason::Full => "buffer_full",
            DropReason::Early => "early",
            DropReason::LinkDown => "link_down",
            DropReason::NoRoute => "no_route",
            DropReason::Misrouted => "misrouted",
            DropReason::Injected => "injected",
            DropReason::Stopped => "stopped",
        }
    }
}

/// A change in a node's surroundings, from the scenario's timeline.
#[derive(Clone)]
pub enum Change {
    /// The link at this port works (again).
    Up(PortId),
    /// The link at this port failed.
    Down(PortId),
    /// The link at this port now sends at another rate.
    Rate(PortId, crate::units::Rate),
    /// The link that leaves another node by this port now sends at another rate: for stations that know
    /// the whole network.
    Elsewhere(crate::topology::End, crate::units::Rate),
    /// Other routes are in force.
    Routes(std::sync::Arc<crate::route::Routes>),
    /// A host is about to leave the network, and says so to a central scheduler.
    Leave,
    /// A host is there again.
    Join,
    /// A station stops: it forgets everything and answers nobody.
    Stop,
    /// A station starts again, without any memory.
    Restart,
}

/// Where a node's packets are: every packet is accounted for (checked at the end of each run).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Census {
    /// Packets this node brought into being.
    pub created: u64,
    /// Packets that reached their end here.
    pub consumed: u64,
    /// Packets waiting inside the node (not those the driver queues for it).
    pub held: u64,
}

/// Something that sits at one place in a network.
///
/// Calls come in time order. Effects are collected in `cx` and carried out after the call returns.
pub trait Node: Send {
    /// Once, before anything else.
    fn start(&mut self, cx: &mut Cx<'_>);
    /// A packet arrived by `port`.
    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>);
    /// A *pulled* port is free: what next? `None` leaves it idle until [`Cx::kick`].
    fn transmit(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet>;
    /// A wake-up asked for with [`Cx::wake`] is due. A wake-up is never cancelled: the node
    /// compares with the deadline it has now.
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>);
    /// Something about the node's surroundings changed.
    fn change(&mut self, _change: &Change, _cx: &mut Cx<'_>) {}
    /// Packets created, consumed and held so far.
    fn census(&self) -> Census;
    /// Adds what it has counted for a central scheme.
    fn tally(&self, _tally: &mut Tally) {}
    /// Bytes waiting for `port` inside this node, for sampling.
    fn queued(&self, _port: PortId) -> u64 {
        0
    }
    /// For reading results back after a run.
    fn as_any(&self) -> &dyn std::any::Any;
    /// The same, to take them out.
    fn as_any_mut(&mut self) -> &mut dyn std::any::Any;
}

/// What a host was permitted, for the record; nothing acts upon it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// `host` may send to `dst` until `until`, which replaces what it was told of `dst` before.
    Permitted {
        /// The sending host.
        host: HostId,
        /// The destination.
        dst: HostId,
        /// End of the permission; [`Time::MAX`] where it has none.
        until: Time,
        /// Its rate limit; `None`: as fast as its link is.
        rate: Option<crate::units::Rate>,
    },
    /// A circuit leads from one rack to another; the first host of each stands for it.
    Circuit {
        /// The first host of the rack it comes from.
        host: HostId,
        /// The first host of the rack it leads to.
        dst: HostId,
        /// When it goes down.
        until: Time,
    },
    /// `host` may no longer send to `dst`.
    Withdrawn {
        /// The sending host.
        host: HostId,
        /// The destination.
        dst: HostId,
    },
    /// `host` may no longer send to anybody but `except`.
    AllWithdrawn {
        /// The sending host.
        host: HostId,
        /// The one destination whose permission stays.
        except: Option<HostId>,
    },
}

impl Note {
    /// The sending host that it is about.
    pub fn host(&self) -> HostId {
        match *self {
            Note::Permitted { host, .. }
            | Note::Circuit { host, .. }
            | Note::Withdrawn { host, .. }
            | Note::AllWithdrawn { host, .. } => host,
        }
    }
}

/// What a node wants done; drained by its driver after every call.
#[derive(Default)]
pub struct Effects {
    /// Packets for FIFO ports, in order.
    pub sends: Vec<(PortId, Packet)>,
    /// Pulled ports that may have something to send.
    pub kicks: Vec<PortId>,
    /// Wake-ups: when, and the token handed back.
    pub wakes: Vec<(Time, u32)>,
    /// Ports whose far end changes: own port, far node and port.
    pub rewires: Vec<(PortId, crate::id::NodeId, PortId)>,
    /// How long the node takes before what it sends now starts; see [`Cx::hold`].
    pub hold: Time,
    /// Flows completed by this call: at the receiver (TCP) or fully sent (UDP).
    pub completed: u64,
    /// Packets dropped, by reason.
    pub dropped: [u64; DropReason::ALL.len()],
    /// What was noted, with its time.
    pub notes: Vec<(Time, Note)>,
    /// Until when notes are kept: a driver that wants any says so.
    pub noted_until: Time,
    /// Bytes of control messages under way; a slot is `None` when free.
    payloads: Vec<Option<Box<[u8]>>>,
    free: Vec<u32>,
}

impl Effects {
    /// Keeps a control message's bytes and returns their handle.
    pub fn keep(&mut self, bytes: Box<[u8]>) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.payloads[slot as usize] = Some(bytes);
            return slot;
        }
        self.payloads.push(Some(bytes));
        self.payloads.len() as u32 - 1
    }
    /// Whether nothing is left to carry out.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.sends.is_empty()
            && self.kicks.is_empty()
            && self.wakes.is_empty()
            && self.rewires.is_empty()
    }
    /// Gives a control message's bytes out and forgets them.
    pub fn release(&mut self, handle: u32) -> Box<[u8]> {
        let bytes = self.payloads.get_mut(handle as usize).and_then(Option::take);
        if bytes.is_some() {
            self.free.push(handle);
        }
        bytes.unwrap_or_default()
    }
}

/// The context of one call: the time, and where effects go.
pub struct Cx<'a> {
    /// The time of the event being handled.
    pub now: Time,
    effects: &'a mut Effects,
}

impl<'a> Cx<'a> {
    /// For drivers: the context of an event at `now`.
    #[inline]
    pub fn new(now: Time, effects: &'a mut Effects) -> Cx<'a> {
        Cx { now, effects }
    }
    /// Puts `packet` at the end of the FIFO of `port`, which the driver keeps and may drop from.
    #[inline]
    pub fn send(&mut self, port: PortId, packet: Packet) {
        self.effects.sends.push((port, packet));
    }
    /// Says that it takes `span` until packets sent in answer to the event being handled start, unless
    /// the port is busy until then anyway: a host's processing time. A wall clock has its own.
    #[inline]
    pub fn hold(&mut self, span: Time) {
        self.effects.hold = span;
    }
    /// Says that pulled `port` may have something to send; [`Node::transmit`] follows when it is free.
    #[inline]
    pub fn kick(&mut self, port: PortId) {
        self.effects.kicks.push(port);
    }
    /// Asks for [`Node::expire`] with `token` at `at` (at once where that is past).
    #[inline]
    pub fn wake(&mut self, at: Time, token: u32) {
        self.effects.wakes.push((at, token));
    }
    /// Puts `note` on record, where one is kept.
    #[inline]
    pub fn note(&mut self, note: Note) {
        if self.now < self.effects.noted_until {
            self.effects.notes.push((self.now, note));
        }
    }
    /// Connects the far end of `port` to another node's port, for packets sent from now on.
    pub fn rewire(&mut self, port: PortId, node: crate::id::NodeId, far: PortId) {
        self.effects.rewires.push((port, node, far));
    }
    /// Makes a control packet from `src` that carries `bytes`; `overhead` is what framing adds on the wire.
    pub fn attach(
        &mut self,
        (src, dst): (HostId, HostId),
        bytes: Vec<u8>,
        overhead: u16,
        class: u8,
    ) -> Packet {
        let len = (bytes.len() as u16).saturating_add(overhead).max(overhead + 46);
        let seq = self.effects.keep(bytes.into_boxed_slice());
        Packet { dst, flow: src.0, seq, len, class, kind: Kind::Control, ..Packet::default() }
    }
    /// The bytes of a control packet that has reached its end.
    pub fn detach(&mut self, packet: &Packet) -> Box<[u8]> {
        self.effects.release(packet.seq)
    }
    /// Says that a flow is complete.
    pub fn complete(&mut self) {
        self.effects.completed += 1;
    }
    /// Counts `packet` as dropped.
    pub fn drop(&mut self, packet: &Packet, reason: DropReason) {
        self.effects.dropped[reason as usize] += 1;
        if packet.kind == Kind::Control {
            self.effects.release(packet.seq);
        }
    }
}
