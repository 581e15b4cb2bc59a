//! The requests of a node to its driver: the contract between nodes and drivers.

use super::{DropReason, Handover, Note, Payloads};
use crate::frame::Packet;
use crate::id::{NodeId, PortId};
use crate::time::Time;

/// Carries out the requests of nodes: a driver has one method for each request that a node can make with [`Cx`]. After
/// each call to a node, [`Effects::drain`] passes on the requests of that call.
///
/// No method has a default, so that every driver states what it does.
///
/// [`Cx`]: super::Cx
pub trait Sink {
    /// Delays the packets that the node sends because of this call by `span`, except at a port that is busy until then
    /// anyway. This applies to packets of [`Sink::send`] and of [`Node::transmit`]. A wall clock ignores it, because
    /// real processing takes time by itself.
    ///
    /// [`Node::transmit`]: super::Node::transmit
    fn hold(&mut self, span: Time);
    /// The far end of `port` is now port `far` of `node`, for all packets sent from now on. Packets that already wait
    /// in the FIFO of `port` still go to the earlier far end.
    fn rewire(&mut self, port: PortId, node: NodeId, far: PortId);
    /// A flow is complete: received in full (TCP), or sent in full (UDP).
    fn complete(&mut self, flow: u32);
    /// The node dropped a packet.
    fn dropped(&mut self, reason: DropReason);
    /// The node recorded a note at `at`. Called only while notes are recorded, see [`Effects::keep_notes`].
    fn note(&mut self, at: Time, note: Note);
    /// A host hands something over at `at` to applications outside of the network.
    fn hand_over(&mut self, at: Time, what: Handover);
    /// Puts `packet` at the end of the FIFO of `port`. The driver may drop it: it then counts the drop
    /// and calls [`Payloads::discard`]. `packet` is not read afterwards.
    fn send(&mut self, port: PortId, packet: &mut Packet, payloads: &mut Payloads);
    /// Calls [`Node::expire`] with `token` at `at`, never earlier, or at once if `at` is past.
    ///
    /// [`Node::expire`]: super::Node::expire
    fn wake(&mut self, at: Time, token: u32);
    /// Pulled `port` may have something to send: [`Node::transmit`] follows when it is free.
    ///
    /// [`Node::transmit`]: super::Node::transmit
    fn kick(&mut self, port: PortId);
}

/// The requests of nodes that the driver has not carried out yet.
#[derive(Default)]
pub struct Effects {
    pub(super) hold: Option<Time>,
    rare: RareEffects,
    pub(super) sends: Vec<Sending>,
    pub(super) wakes: Vec<(Time, u32)>,
    pub(super) kicks: Vec<PortId>,
    pub(super) notes_until: Time,
    pub(super) payloads: Payloads,
}

/// A packet for the FIFO of a port. The packet comes first, so that it is read in the same pieces as it is written: otherwise
/// a read would wait until all of it is in the cache.
#[repr(C)]
pub(super) struct Sending {
    pub packet: Packet,
    pub port: PortId,
}

/// The requests that nodes seldom make.
#[derive(Default)]
pub(super) struct RareEffects {
    /// Whether there is any such request.
    any: bool,
    pub rewires: Vec<(PortId, NodeId, PortId)>,
    pub completed: Vec<u32>,
    pub drops: Vec<DropReason>,
    pub notes: Vec<(Time, Note)>,
    pub handovers: Vec<(Time, Handover)>,
}

impl Effects {
    /// The lists of rare requests, to add one.
    pub(super) fn rare(&mut self) -> &mut RareEffects {
        self.rare.any = true;
        &mut self.rare
    }
    /// Keeps notes of events before `until`. Without this call no notes are kept.
    pub fn keep_notes(&mut self, until: Time) {
        self.notes_until = until;
    }
    /// The bytes of control messages, for drivers that move packets out of a process or thread.
    pub fn payloads(&mut self) -> &mut Payloads {
        &mut self.payloads
    }
    /// Whether there are no requests. This is cheaper than an empty [`Effects::drain`].
    #[inline]
    pub fn is_empty(&self) -> bool {
        let Effects { hold, rare, sends, wakes, kicks, notes_until: _, payloads: _ } = self;
        let asked = sends.len() | wakes.len() | kicks.len();
        asked == 0 && hold.is_none() && !rare.any
    }
    /// Takes the only request, if there is one and it is [`Sink::kick`].
    #[inline]
    pub fn take_lone_kick(&mut self) -> Option<PortId> {
        let Effects { hold, rare, sends, wakes, kicks, notes_until: _, payloads: _ } = self;
        let others = sends.len() | wakes.len();
        let is_lone = kicks.len() == 1 && others == 0 && hold.is_none() && !rare.any;
        if is_lone { kicks.pop() } else { None }
    }
    /// Passes all requests to `sink` and removes them. Their order is that of the methods of [`Sink`]. Requests of one
    /// kind are in the order in which the node made them.
    ///
    /// The pattern below names every field, so that a new field does not compile until it is passed on too. This method
    /// runs after every call to a node, so one branch tests for all rare requests.
    #[inline(always)]
    pub fn drain(&mut self, sink: &mut impl Sink) {
        let Effects { hold, rare, sends, wakes, kicks, notes_until: _, payloads } = self;
        if let Some(span) = hold.take() {
            sink.hold(span);
        }
        if rare.any {
            rare.drain(sink);
        }
        each(sends, |Sending { packet, port }| sink.send(*port, packet, payloads));
        each(wakes, |&mut (at, token)| sink.wake(at, token));
        each(kicks, |&mut port| sink.kick(port));
    }
}

impl RareEffects {
    #[cold]
    #[inline(never)]
    fn drain(&mut self, sink: &mut impl Sink) {
        let RareEffects { any, rewires, completed, drops, notes, handovers } = self;
        *any = false;
        each(rewires, |&mut (port, node, far)| sink.rewire(port, node, far));
        each(completed, |&mut flow| sink.complete(flow));
        each(drops, |&mut reason| sink.dropped(reason));
        each(notes, |&mut (at, note)| sink.note(at, note));
        each(handovers, |&mut (at, what)| sink.hand_over(at, what));
    }
}

/// Passes each item by reference, because a copy of every packet would cost time, and removes all.
#[inline]
fn each<T>(items: &mut Vec<T>, hand_out: impl FnMut(&mut T)) {
    if !items.is_empty() {
        items.iter_mut().for_each(hand_out);
        items.clear();
    }
}
