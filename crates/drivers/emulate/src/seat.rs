//! The place of a host in the network, and the packets that wait in its card.

use crate::clock::Dilation;
use crate::namespace::Host;
use slotline_net::id::NodeId;
use slotline_net::time::Time;
use slotline_net::units::Rate;
use std::collections::VecDeque;

/// The kernel lets each connection have data for about this much real time on the way to the wire (TCP small queues).
/// With dilation this is less network time, so the seat releases packets early to make up for the difference.
const SMALL_QUEUE: Time = Time::ms(1);
/// Without back-pressure, a card's queue has room for this number of packets, the usual value of Linux.
const MOST_WAITING: u32 = 1_000;

/// A host and its place in the network.
pub struct Seat {
    pub(crate) host: Host,
    pub(crate) node: NodeId,
    rate: Rate,
    /// Packets in the queue of the card.
    waiting: u32,
    /// Bytes in the queue that the kernel released early, and the limit for them.
    ahead: u64,
    most_ahead: u64,
    /// Handles of frames that the kernel was told to release, in that order, and whether other packets were released.
    pub(crate) awaited: VecDeque<u32>,
    pub(crate) others: bool,
}

impl Seat {
    /// A seat of `host` at `node`, with the rate at which it can send.
    pub fn new(host: Host, node: NodeId, rate: Rate) -> Seat {
        let (awaited, others) = (VecDeque::new(), false);
        Seat { host, node, rate, waiting: 0, ahead: 0, most_ahead: 0, awaited, others }
    }

    /// Sets how much slower than real time the network runs.
    pub(crate) fn dilate(&mut self, dilation: Dilation) {
        let missing = SMALL_QUEUE.as_ps() as f64 * (1.0 - 1.0 / dilation.factor());
        self.most_ahead = self.rate.inverse_rate().bytes_in(Time::ps(missing as u64));
    }

    /// Whether the card has no room for packets that the kernel does not hold.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting >= MOST_WAITING
    }

    /// Notes that a packet has entered the card.
    pub(crate) fn enter(&mut self) {
        self.waiting += 1;
    }

    /// Whether the kernel may release a packet of `len` bytes before it leaves the card.
    pub(crate) fn may_go_ahead(&mut self, len: u64) -> bool {
        let may = self.ahead + len <= self.most_ahead;
        self.ahead += if may { len } else { 0 };
        may
    }

    /// Notes that a packet has left the card. The kernel had released `ahead` bytes of it early.
    pub(crate) fn leave(&mut self, ahead: u64) {
        self.waiting -= 1;
        self.ahead -= ahead;
    }
}
