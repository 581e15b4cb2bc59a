//! A host at its place in the network, and its packets that wait in the card there.

use crate::clock::Dilation;
use crate::namespace::{GateKind, Host};
use slotline_net::id::NodeId;
use slotline_net::time::Time;
use slotline_net::units::Rate;

/// The kernel lets a connection have so much time of its data on the way to the wire (TCP small queues). With dilation this
/// is less network time, which is made up for: packets may wait long for their turn.
const SMALL_QUEUE: Time = Time::ms(1);
/// Without back-pressure, a card's queue has room for so many packets, as an interface's usually has.
const MOST_WAITING: u32 = 1_000;

/// A host, and where it is in the network.
pub struct Seat {
    pub(crate) host: Host,
    pub(crate) node: NodeId,
    rate: Rate,
    /// Packets in the queue of the card.
    waiting: u32,
    /// Bytes there that the kernel has let go of, and the most that it may.
    ahead: u64,
    most_ahead: u64,
}

impl Seat {
    /// `host` is at `node`, where its card has a rate.
    pub fn new(host: Host, node: NodeId, rate: Rate) -> Seat {
        Seat { host, node, rate, waiting: 0, ahead: 0, most_ahead: 0 }
    }

    /// The network runs slower than real time.
    pub(crate) fn dilate(&mut self, dilation: Dilation) {
        let missing = SMALL_QUEUE.as_ps() as f64 * (1.0 - 1.0 / dilation.factor());
        self.most_ahead = self.rate.inverse_rate().bytes_in(Time::ps(missing as u64));
    }

    /// Whether the card has no room. Where the kernel holds packets, it always has.
    pub(crate) fn is_full(&self) -> bool {
        self.host.gate() == GateKind::Interface && self.waiting >= MOST_WAITING
    }

    /// A packet is in the card.
    pub(crate) fn enter(&mut self) {
        self.waiting += 1;
    }

    /// Whether the kernel may let go of a packet of `len` bytes before it leaves the card.
    pub(crate) fn may_go_ahead(&mut self, len: u64) -> bool {
        let may = self.ahead + len <= self.most_ahead;
        self.ahead += if may { len } else { 0 };
        may
    }

    /// A packet is not in the card any more; the kernel had let go of `ahead` bytes of it.
    pub(crate) fn leave(&mut self, ahead: u64) {
        self.waiting -= 1;
        self.ahead -= ahead;
    }
}
