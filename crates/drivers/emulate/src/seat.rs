//! The place of a host in the network, and the packets that wait in its card.

use crate::clock::Dilation;
use crate::joined::Joined;
use crate::namespace::Host;
use slotline_net::id::NodeId;
use slotline_net::time::Time;
use slotline_net::units::Rate;
use std::collections::VecDeque;

/// Without back-pressure, a card's queue has room for this number of packets, the usual value of Linux.
const MOST_LOOSE: u32 = 1_000;
/// The kernel keeps a datagram of several packets while more than this number of such packets are in the card.
const FEW: u32 = 100;

/// A host and its place in the network.
pub struct Seat {
    pub(crate) host: Host,
    pub(crate) node: NodeId,
    rate: Rate,
    /// Packets in the queue of the card that the kernel does not hold.
    loose: u32,
    /// Datagrams of several packets, which the kernel holds until the card has room for all of them.
    pub(crate) postponed: VecDeque<u32>,
    /// Bytes in the queue that the kernel released early, and the limit for them.
    ahead: u64,
    most_ahead: u64,
    /// Handles of frames that the kernel was told to release, in that order.
    pub(crate) awaited: VecDeque<u32>,
    /// Segments that have arrived, and that the host's kernel does not have yet.
    pub(crate) arrived: Joined,
}

impl Seat {
    /// A seat of `host` at `node`, with the rate at which it can send.
    pub fn new(host: Host, node: NodeId, rate: Rate) -> Seat {
        let (postponed, awaited, arrived) = Default::default();
        Seat { host, node, rate, loose: 0, postponed, ahead: 0, most_ahead: 0, awaited, arrived }
    }

    /// Sets how much slower than real time the network runs. Because what the kernel lets a connection have on the way to the
    /// wire is less network time then, the seat releases packets early to make up for the difference.
    pub(crate) fn dilate(&mut self, dilation: Dilation) {
        let missing = self.host.small_queue.as_ps() as f64 * (1.0 - 1.0 / dilation.factor());
        self.most_ahead = self.rate.inverse_rate().bytes_in(Time::ps(missing as u64));
    }

    /// Whether the card has no room for packets that the kernel does not hold.
    pub(crate) fn is_full(&self) -> bool {
        self.loose >= MOST_LOOSE
    }

    /// Takes the next datagram of several packets that the kernel may release now.
    pub(crate) fn next_postponed(&mut self) -> Option<u32> {
        self.postponed.pop_front_if(|_| self.loose < FEW)
    }

    /// Notes that a packet has entered the card, and whether the kernel does not hold it.
    pub(crate) fn enter(&mut self, loose: bool) {
        self.loose += u32::from(loose);
    }

    /// Whether the kernel may release a packet of `len` bytes before it leaves the card.
    pub(crate) fn may_go_ahead(&mut self, len: u64) -> bool {
        let may = self.ahead + len <= self.most_ahead;
        self.ahead += if may { len } else { 0 };
        may
    }

    /// Notes that a packet has left the card. The kernel had released `ahead` bytes of it early, or did not hold it.
    pub(crate) fn leave(&mut self, ahead: u64, loose: bool) {
        self.loose -= u32::from(loose);
        self.ahead -= ahead;
    }
}
