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
    /// Packets that the node sends because of this call leave `span` later, except at a port that is busy until then
    /// anyway. It applies to packets of [`Sink::send`] and of [`Node::transmit`]. A wall clock ignores
    /// it, since real processing takes its own time.
    ///
    /// [`Node::transmit`]: super::Node::transmit
    fn hold(&mut self, span: Time);
    /// The far end of `port` is now port `far` of `node`, for all packets sent from now on. Packets that
    /// wait in the FIFO of `port` go to the end that was there when they were sent.
    fn rewire(&mut self, port: PortId, node: NodeId, far: PortId);
    /// `flows` more flows are complete: received in full (TCP), or sent in full (UDP).
    fn complete(&mut self, flows: u64);
    /// The node dropped a packet.
    fn dropped(&mut self, reason: DropReason);
    /// The node recorded a note at `at`. Called only while notes are recorded, see [`Effects::keep_notes`].
    fn note(&mut self, at: Time, note: Note);
    /// A host whose applications are outside of the network hands something over at `at`.
    fn hand_over(&mut self, at: Time, what: Handover);
    /// Puts `packet` at the end of the FIFO of `port`. The driver may drop it: it then counts the drop
    /// and calls [`Payloads::discard`]. `packet` is not read afterwards.
    fn send(&mut self, port: PortId, packet: &mut Packet, payloads: &mut Payloads);
    /// Calls [`Node::expire`] with `token` at `at`, never earlier, or at once where `at` is past.
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
    pub(super) sends: Vec<(PortId, Packet)>,
    pub(super) wakes: Vec<(Time, u32)>,
    pub(super) kicks: Vec<PortId>,
    pub(super) notes_until: Time,
    pub(super) payloads: Payloads,
}

/// The requests that few calls make.
#[derive(Default)]
pub(super) struct RareEffects {
    /// Whether there is anything.
    any: bool,
    pub rewires: Vec<(PortId, NodeId, PortId)>,
    pub completed: u64,
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
    /// Notes of events before `until` are kept; without this call none are.
    pub fn keep_notes(&mut self, until: Time) {
        self.notes_until = until;
    }
    /// The bytes of control messages, for drivers that move packets out of a process or thread.
    pub fn payloads(&mut self) -> &mut Payloads {
        &mut self.payloads
    }
    /// Whether nothing was asked for: cheaper than a [`Effects::drain`] of nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        let Effects { hold, rare, sends, wakes, kicks, notes_until: _, payloads: _ } = self;
        let asked = sends.len() | wakes.len() | kicks.len();
        asked == 0 && hold.is_none() && !rare.any
    }
    /// Hands everything that was asked for to `sink`, and forgets it. The order is that of the methods of
    /// [`Sink`]; among equals it is the order in which the node asked.
    ///
    /// The pattern below names every field: a new one does not compile until it is handed over too. It
    /// runs after every call to a node, so that one branch tests for all rare requests.
    #[inline(always)]
    pub fn drain(&mut self, sink: &mut impl Sink) {
        let Effects { hold, rare, sends, wakes, kicks, notes_until: _, payloads } = self;
        if let Some(span) = hold.take() {
            sink.hold(span);
        }
        if rare.any {
            rare.drain(sink);
        }
        each(sends, |(port, packet)| sink.send(*port, packet, payloads));
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
        if *completed > 0 {
            sink.complete(std::mem::take(completed));
        }
        each(drops, |&mut reason| sink.dropped(reason));
        each(notes, |&mut (at, note)| sink.note(at, note));
        each(handovers, |&mut (at, what)| sink.hand_over(at, what));
    }
}

/// Hands out each item where it lies, since a copy of every packet would cost time, and forgets all.
#[inline]
fn each<T>(items: &mut Vec<T>, hand_out: impl FnMut(&mut T)) {
    if !items.is_empty() {
        items.iter_mut().for_each(hand_out);
        items.clear();
    }
}
